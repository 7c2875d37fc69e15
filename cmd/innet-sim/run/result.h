/*
 * result.h - what came out of a run: rows of figures
 *
 * A row for each group of workers, each cluster, or each entry of traffic, and
 * a last one for all; or for each switch, or training.  Figures are doubles,
 * exact as long as they are whole numbers below 2^53: counts, and ages of less
 * than 104 days.
 */
#ifndef INNET_SIM_RESULT_H
#define INNET_SIM_RESULT_H

#include <stddef.h>

#include "cmd/innet-sim/engine/result-row.h"
#include "cmd/innet-sim/engine/sim.h"

enum result_by {
	RESULT_GROUP, RESULT_CLUSTER, RESULT_SWITCH, RESULT_TRAFFIC,
	RESULT_TRAINING
};

/* The figures of a row, by what it is of. */
const struct result_figure *result_figures(enum result_by by);

/* Is that figure one of this scenario's?  Some are of a key that is seldom. */
bool result_has_figure(const struct scenario *sc, enum result_by by,
    int figure);

/* How many rows a run of this scenario has, and how they are called. */
size_t result_rows(const struct scenario *sc, enum result_by by);
void result_name(const struct scenario *sc, enum result_by by, size_t row,
    char *to, size_t bytes);

/*
 * The rows of a run that is over; its ages end.  False: constituents are not
 * all accounted for, and said so.
 */
bool result_make_rows(struct sim *s, enum result_by by, struct result_row *row);

#endif
