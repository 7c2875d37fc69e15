/*
 * result-row.h - one row of figures of a run
 *
 * Figures are doubles.  Whole numbers below 2^53 are exact.  These include
 * counts, and ages of less than 104 days in ns.
 */
#ifndef INNET_SIM_RESULT_ROW_H
#define INNET_SIM_RESULT_ROW_H

enum result_unit { RESULT_COUNT, RESULT_NS, RESULT_PERCENT, RESULT_INDEX };

enum { RESULT_FIGURES = 32 };

struct result_figure {
	const char *key;	/* key in JSON and CSV; NULL ends the list */
	const char *title;	/* title in the table; NULL: no column */
	enum result_unit unit;
};

struct result_row {
	double v[RESULT_FIGURES];
};

#endif
