/*
 * model.h - all runs of a specification up to a horizon, as formulas for Z3
 *
 * Each update that can arrive is a struct model_update.  Its formulas are in
 * units of unit_ns, the greatest time that divides all times given, so numbers
 * stay small and exact. innet-olaf(7) explains the formulas.  Facts hold in
 * every run; a question is the facts and a violation (violation.h).
 *
 * With `whole`, offsets and jitters are whole ns, like all times in the suite.
 * Otherwise they are rational numbers, which is faster and admits more runs: a
 * formula that is unsatisfiable for them is so for whole ns, too.
 *
 * No function returns an error: Z3's errors end the program.
 */
#ifndef INNET_VERIFY_MODEL_H
#define INNET_VERIFY_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd/innet-verify/model-state.h"
#include "cmd/innet-verify/spec.h"

/*
 * Open the model of all runs up to horizon_ns; o is needed for the unit only.
 */
void model_open(struct model *m, const struct spec *s,
    uint64_t horizon_ns,
    const struct objective *o, bool whole);
void model_close(struct model *m);

/*
 * Return an upper bound of the pairs of updates that can meet in the queue, or
 * through a status; memory and time grow with it.
 */
uint64_t model_pairs(const struct spec *s);

#endif
