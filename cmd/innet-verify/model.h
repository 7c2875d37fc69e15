/*
 * model.h - all runs of a specification up to a horizon, as formulas for Z3
 *
 * Each update that can arrive is a struct model_update.  The formulas count
 * time in units of unit_ns, the greatest common divisor of all given times.
 * This keeps the numbers small and exact.  innet-olaf(7) explains the formulas.
 * Facts are formulas that are true in every run.  A question combines the facts
 * with a violation (violation.h).
 *
 * If `whole` is set, offsets and jitters are whole ns, like all times in the
 * suite.  Otherwise, they are rational numbers, which is faster and allows more
 * runs.  A formula that is unsatisfiable for rational numbers is also
 * unsatisfiable for whole ns.
 *
 * No function returns an error, because an error of Z3 ends the program.
 */
#ifndef INNET_VERIFY_MODEL_H
#define INNET_VERIFY_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd/innet-verify/model-state.h"
#include "cmd/innet-verify/spec.h"

/*
 * Open the model of all runs up to horizon_ns.  The objective `o` is only used
 * to choose the unit of time.
 */
void model_open(struct model *m, const struct spec *s,
    uint64_t horizon_ns,
    const struct objective *o, bool whole);
void model_close(struct model *m);

/*
 * Return an upper bound for the number of pairs of updates that can meet in the
 * queue or affect each other through a status.  Memory and time grow with this
 * number.
 */
uint64_t model_pairs(const struct spec *s);

#endif
