/*
 * result-row.h - one row of figures of a run
 *
 * Figures are doubles, exact as long as they are whole numbers below 2^53:
 * counts, and ages of less than 104 days.
 */
#ifndef INNET_SIM_RESULT_ROW_H
#define INNET_SIM_RESULT_ROW_H

enum result_unit { RESULT_COUNT, RESULT_NS, RESULT_PERCENT, RESULT_INDEX };

enum { RESULT_FIGURES = 32 };

struct result_figure {
	const char *key;	/* in JSON and CSV; NULL ends the list */
	const char *title;	/* in the table; NULL: not there */
	enum result_unit unit;
};

struct result_row {
	double v[RESULT_FIGURES];
};

#endif
