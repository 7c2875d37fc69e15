/*
 * scenario-check.h - check that the parts of a scenario fit together
 *
 * Every name must exist, every switch must lead to a server, and no worker may
 * exist twice.
 */
#ifndef INNET_SIM_SCENARIO_CHECK_H
#define INNET_SIM_SCENARIO_CHECK_H

#include <stdbool.h>

#include "cmd/innet-sim/scenario/scenario.h"

/*
 * Check the scenario that was read from root.  If its parts do not fit
 * together, write the reason to r->why and return false.
 */
bool scenario_check(const struct scenario *s, const cJSON *root,
    struct json_reader *r);

#endif
