/*
 * rows.h - the figures of a run: a row a cluster, and one of all
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
	int64_t whole;		/* COUNT and NS */
	double real;		/* PERCENT, INDEX and rewards */
};

struct row {
	unsigned cluster;
	uint32_t worker;
	struct value v[FIGURES];
};

/* Which rows and figures are shown. */
struct view {
	bool total;		/* the row of all alone */
	bool chosen;		/* columns are as --columns has them */
	struct columns_choice shows;	/* of enum figure */
};

struct rows {
	const struct view *view;	/* borrowed */
	struct row *row;	/* rising (cluster, worker); all, the last */
	size_t n;		/* the last counted */
	enum age_grouping grouping;
	const struct names *clusters, *workers;	/* borrowed; NULL: numbers */
	int64_t packets_lost;	/* sent less received; if known */
	bool packets_known;
};

/* How a figure is called and what it counts, by enum figure. */
struct figure_name {
	const char *key;	/* in JSON and CSV */
	const char *title;	/* in the table */
	enum unit unit;
};

extern const struct figure_name figure_name[FIGURES];

/* All figures, in their order, but for the reward. */
struct view view_all(void);

/* The reward too. */
void view_add_reward(struct view *v);

/* Those of "mean_age_ns,lost"; NULL, or what is wrong with it. */
const char *view_parse(struct view *v, const char *list);

/* The rows of r, whose flows are sorted; it may exit. */
struct rows rows_make(const struct run *r, const struct view *v);

#endif
