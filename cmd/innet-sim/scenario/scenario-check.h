/*
 * scenario-check.h - check that the parts of a scenario go together
 *
 * Every name must exist, every switch must lead to a server, and no worker may
 * be there twice.
 */
#ifndef INNET_SIM_SCENARIO_CHECK_H
#define INNET_SIM_SCENARIO_CHECK_H

#include <stdbool.h>

#include "cmd/innet-sim/scenario/scenario.h"

/*
 * Check the scenario that was read from root; false with the reason in r->why
 * if its parts do not go together.
 */
bool scenario_check(const struct scenario *s, const cJSON *root,
    struct json_reader *r);

#endif
