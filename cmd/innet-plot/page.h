/*
 * page.h - one page of whatever files there are: pictures and tables
 *
 * An arm is what files are of one name, or behind one --group.  Each file is
 * read once; its kind is what is in it.  Ages are nanoseconds.  What does not
 * fit the page is counted on it: a page is bounded, however long the captures.
 */
#ifndef INNET_PLOT_PAGE_H
#define INNET_PLOT_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "cmd/innet-plot/plot.h"

enum {
	PAGE_ROWS = 200,	/* of a table */
	PAGE_CLUSTERS = 40,	/* of an arm that are shown one by one */
	PAGE_ARMS = 24		/* in a picture */
};

/* The columns of the table, innet-aom's and innet-sim's. */
enum page_column {
	PAGE_SENT, PAGE_RECEIVED, PAGE_MERGED, PAGE_LOST, PAGE_LOSS,
	PAGE_MEAN, PAGE_P50, PAGE_P95, PAGE_P99, PAGE_MAX, PAGE_JAIN,
	PAGE_COLUMNS
};

struct page_row {
	size_t arm;
	char *cluster;		/* "all", or a name; owned */
	size_t from;		/* of two that say the same the later holds */
	double value[PAGE_COLUMNS];	/* NAN: not known */
};

/* A counter of reports, by arm. */
struct page_counter {
	char *name;		/* "totals.delivered.packets", owned */
	double *value;		/* of each arm, NAN: none; owned */
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

/* The column of that name in innet-aom's tables, or PAGE_COLUMNS. */
enum page_column page_column_named(const char *name);

/* A place among the arms for that name; it is copied. */
size_t page_arm(struct page *p, const char *name);

/* A new row, with nothing known. */
struct page_row *page_row(struct page *p, size_t arm, const char *cluster);

/* Read a file; it exits where that cannot be. */
void page_take(struct page *p, struct figure *fig, const char *path,
    const char *name);

/* What a report counts: the numbers of root. */
struct cJSON;
void page_counters(struct page *p, size_t arm, const struct cJSON *root);

/* Ages of an arm, into both pictures and the table. */
void page_ages(struct page *p, const char *name,
    const struct aom *const set[], char *const label[], size_t n);

/* All is read: rows in order, one for each arm and cluster. */
void page_sort(struct page *p);

/* Bars of a column by cluster, an arm a series, or an empty figure. */
void page_bars(const struct page *p, enum page_column column,
    struct figure *fig);

/* Write the page to path, whole or not at all: 0, or 1 and a line. */
int page_write(struct page *p, const char *path);

void page_free(struct page *p);

#endif
