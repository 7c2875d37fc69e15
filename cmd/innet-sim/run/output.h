/* output.h - print results as a table, as JSON or as CSV */
#ifndef INNET_SIM_OUTPUT_H
#define INNET_SIM_OUTPUT_H

#include <stdio.h>

#include "common/base/columns.h"

#include "cmd/innet-sim/run/runner.h"

/* The rows and columns to show; made by output_view(). */
struct output_view {
	bool total;		/* the row of all alone */
	bool chosen;		/* columns are as --columns has them */
	struct columns_choice shows;	/* of the figures of the rows */
};

/*
 * Show all figures of these rows that the scenario has, or those of the list
 * unless that is NULL.  NULL, or what is wrong with the list.
 */
const char *output_choose(struct output_view *v, const struct runner *r,
    const char *list);

/*
 * One table: a column for each value that is swept, for the row's name, and for
 * each figure the mean over runs, with more than one and half its 95 %
 * confidence interval.
 */
void output_table(FILE *f, const struct runner *r,
    const struct output_view *v);

/* An object a row, a line each. */
void output_json(FILE *f, const struct runner *r,
    const struct output_view *v);

/* A line a row, under a heading. */
void output_csv(FILE *f, const struct runner *r,
    const struct output_view *v);

#endif
