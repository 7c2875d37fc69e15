/*
 * result.h - the results of a run: rows of figures
 *
 * There is a row for each group of workers, each cluster, or each entry of
 * traffic, and a last row for all of them.  Alternatively, there is a row for
 * each switch or training job.  Figures are doubles.  Whole numbers below 2^53
 * are exact.  These include counts, and ages of less than 104 days in ns.
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

/* Return the figures in a row of this kind; the last entry has no key. */
const struct result_figure *result_figures(enum result_by by);

/*
 * Does the scenario have this figure?  Some figures depend on a key of the
 * scenario.
 */
bool result_has_figure(const struct scenario *sc, enum result_by by,
    int figure);

/*
 * result_rows() returns the number of rows of a run, and result_name() writes
 * the name of a row to `to`.
 */
size_t result_rows(const struct scenario *sc, enum result_by by);
void result_name(const struct scenario *sc, enum result_by by, size_t row,
    char *to, size_t bytes);

/*
 * Make the rows of a run that has ended, and end its ages.  Prints a warning
 * and returns false if a constituent is not accounted for.
 */
bool result_make_rows(struct sim *s, enum result_by by, struct result_row *row);

#endif
