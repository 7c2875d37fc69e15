/*
 * violation.h - formulas that say that a run violates an objective
 */
#ifndef INNET_VERIFY_VIOLATION_H
#define INNET_VERIFY_VIOLATION_H

#include "cmd/innet-verify/model-state.h"

/*
 * Return the formula that the run violates o.  For fairness this compares
 * clusters that have averages only.
 */
Z3_ast violation(struct model *m, const struct objective *o);

/*
 * Return the formula that o is fairness and a cluster has no second delivery,
 * so that it has no average to compare.
 */
Z3_ast violation_without_average(const struct model *m,
    const struct objective *o);

#endif
