/*
 * rows-print.h - print the rows of one run or of two, and ages over time
 *
 * The caller checks the stream for write errors.
 */
#ifndef INNET_AOM_ROWS_PRINT_H
#define INNET_AOM_ROWS_PRINT_H

#include <stdio.h>

#include "cmd/innet-aom/ages/rows.h"

/* Print rows as a table, as one JSON object per line, or as CSV. */
void rows_print_table(FILE *f, const struct rows *rows);
void rows_print_json(FILE *f, const struct rows *rows);
void rows_print_csv(FILE *f, const struct rows *rows);

/* Print two runs side by side, with the ratio a / b of each figure. */
void rows_compare_table(FILE *f, const struct rows *a, const struct rows *b);
void rows_compare_json(FILE *f, const struct rows *a, const struct rows *b);
void rows_compare_csv(FILE *f, const struct rows *a, const struct rows *b);

/* Print the age of every flow over time as CSV: cluster,time_ns,age_ns. */
void rows_print_series(FILE *f, const struct run *r);

#endif
