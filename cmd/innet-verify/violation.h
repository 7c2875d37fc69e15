/* violation.h - formulas that are true if a run violates an objective */
#ifndef INNET_VERIFY_VIOLATION_H
#define INNET_VERIFY_VIOLATION_H

#include "cmd/innet-verify/model-state.h"

/*
 * Return a formula that is true if the run violates o.  For fairness, it
 * compares only clusters that have averages.
 */
Z3_ast violation(struct model *m, const struct objective *o);

/*
 * Return a formula that is true if o is fairness and a cluster has no second
 * delivery, so that the cluster has no average to compare.
 */
Z3_ast violation_without_average(const struct model *m,
    const struct objective *o);

#endif
