/* output.h - print results as a table, as JSON or as CSV */
#ifndef INNET_SIM_OUTPUT_H
#define INNET_SIM_OUTPUT_H

#include <stdio.h>

#include "common/base/columns.h"

#include "cmd/innet-sim/run/runner.h"

/* Which rows and columns to show; output_choose() sets the columns. */
struct output_view {
	bool total;		/* show only the row for the total */
	bool chosen;		/* columns were chosen by --columns */
	struct columns_choice shows;	/* the figures of a row to show */
};

/*
 * Show the figures in `list`, or all figures that the scenario has if `list` is
 * NULL.  Returns NULL, or an error message about the list.
 */
const char *output_choose(struct output_view *v, const struct runner *r,
    const char *list);

/*
 * Print a table.  It has a column for each swept value, the row's name, and the
 * mean of each figure over the runs.  With more than one run, half the width of
 * the 95 % confidence interval follows the mean.
 */
void output_table(FILE *f, const struct runner *r,
    const struct output_view *v);

/* Print each row as a JSON object on one line. */
void output_json(FILE *f, const struct runner *r,
    const struct output_view *v);

/*
 * Print the rows as CSV: a line with the headings, then one line for each row.
 */
void output_csv(FILE *f, const struct runner *r,
    const struct output_view *v);

#endif
