/*
 * page-rows.h - the contents of a page: pictures, tables and counters
 *
 * The name of an arm is the name of one file, or of a --group of files.  Ages
 * are in nanoseconds.  The size of a page is limited even for long captures.
 * The page only counts the rows and counters that do not fit.
 */
#ifndef INNET_PLOT_PAGE_ROWS_H
#define INNET_PLOT_PAGE_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include "cmd/innet-plot/plot.h"

enum {
	PAGE_ROWS = 200,	/* maximum number of rows in a table */
	PAGE_CLUSTERS = 40,	/* maximum number of clusters shown separately
				 * for each arm */
	PAGE_ARMS = 24		/* maximum number of curves in a picture */
};

/* The columns of the table: the columns that innet-aom and innet-sim print. */
enum page_column {
	PAGE_SENT, PAGE_RECEIVED, PAGE_MERGED, PAGE_LOST, PAGE_LOSS,
	PAGE_MEAN, PAGE_P50, PAGE_P95, PAGE_P99, PAGE_MAX, PAGE_JAIN,
	PAGE_COLUMNS
};

struct page_row {
	size_t arm;
	char *cluster;		/* "all", or the name of a cluster; owned */
	size_t from;		/* position in the order of reading; if two rows
				 * describe the same arm and cluster, the later
				 * row counts */
	double value[PAGE_COLUMNS];	/* NAN: unknown */
};

/* A counter of the reports, with a value for each arm. */
struct page_counter {
	char *name;		/* "totals.delivered.packets", owned */
	double *value;		/* values by arm; NAN: no value; owned */
	size_t arms;
};

struct page_arm {
	char *name;		/* owned */
	bool has_ages;
	struct group rewards;
};

struct page {
	struct figure age, cdf, merged, rewards;
	struct page_arm *arm;
	size_t arms;
	struct page_row *row;
	size_t rows, room;
	struct page_counter *counter;
	size_t counters, more_counters;
	char *const *path;	/* the files, borrowed */
	size_t paths;
};

/* Return the column with this name in innet-aom's tables, or PAGE_COLUMNS. */
enum page_column page_column_named(const char *name);

/*
 * Return the index of the arm with this name.  If there is none, add an arm
 * with a copy of the name.
 */
size_t page_arm(struct page *p, const char *name);

/* Add a row without values. */
struct page_row *page_row(struct page *p, size_t arm, const char *cluster);

/* Add the ages of an arm to both pictures and the table. */
void page_ages(struct page *p, const char *name,
    const struct aom *const set[], char *const label[], size_t n);

/*
 * Sort the rows, and keep one row for each arm and cluster.  Call this after
 * the last file was read.
 */
void page_sort(struct page *p);

/*
 * Make a figure that shows the values of a column as bars, with a group for
 * each cluster and a series for each arm.  The figure is empty if the column
 * has no values.
 */
void page_bars(const struct page *p, enum page_column column,
    struct figure *fig);

#endif
