/* output.h - what came out, for people, as JSON or as CSV */
#ifndef INNET_SIM_OUTPUT_H
#define INNET_SIM_OUTPUT_H

#include <stdio.h>

#include "cmd/innet-sim/runner.h"

/* Means over runs; with more than one, 95 % confidence intervals. */
void output_table(FILE *f, const struct runner *r);

/* An object a row, a line each. */
void output_json(FILE *f, const struct runner *r);

/* A line a row, under a heading. */
void output_csv(FILE *f, const struct runner *r);

#endif
