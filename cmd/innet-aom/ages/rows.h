/*
 * rows.h - the figures of a run: one row for each cluster or worker, and a
 * total
 */
#ifndef INNET_AOM_ROWS_H
#define INNET_AOM_ROWS_H

#include "common/base/columns.h"

#include "cmd/innet-aom/ages/captured-run.h"

enum figure {
	RECEIVED, MERGED, SENT, LOST, LOSS_PERCENT, SUPERSEDED, DROPPED,
	MEAN, P50, P95, P99, MAX, MEAN_PEAK, MAX_PEAK, REWARD, JAIN, FIGURES
};

enum unit { COUNT, PERCENT, NS, INDEX };

struct value {
	bool known;
	int64_t whole;		/* value of units COUNT and NS */
	double real;		/* value of units PERCENT, INDEX and rewards */
};

struct row {
	unsigned cluster;
	uint32_t worker;
	struct value v[FIGURES];
};

/* The choice of rows and figures to show. */
struct view {
	bool total;		/* print only the total */
	bool chosen;		/* --columns chose the columns */
	struct columns_choice shows;	/* columns, by enum figure */
};

struct rows {
	const struct view *view;	/* borrowed */
	struct row *row;	/* rows, sorted by cluster and worker, with the
				   * total last; owned */
	size_t n;		/* number of rows, including the total */
	enum age_grouping grouping;
	const struct names *clusters,
	    *workers;		/* tables of names, borrowed; NULL: names are
				 * numbers */
	int64_t packets_lost;	/* number of sent packets minus received
				 * packets, valid if packets_known is set */
	bool packets_known;
};

/* The names and the unit of a figure, in the order of enum figure. */
struct figure_name {
	const char *key;	/* name in JSON and CSV */
	const char *title;	/* heading in the table */
	enum unit unit;
};

extern const struct figure_name figure_name[FIGURES];

/* Return a choice of all figures except the reward. */
struct view view_all(void);

/* Add the reward to the chosen figures. */
void view_add_reward(struct view *v);

/*
 * Choose the figures of a list such as "mean_age_ns,lost".  Return NULL or an
 * error text.
 */
const char *view_parse(struct view *v, const char *list);

/* Return the rows of r, whose flows are sorted.  The caller frees rows.row. */
struct rows rows_make(const struct run *r, const struct view *v);

#endif
