/*
 * scenario-read.h - read a scenario from JSON; see innet-scenario(5)
 *
 * scenario_read() fills in the whole struct, including defaults, and checks
 * it.  It trusts nothing in the JSON and does not exit.
 */
#ifndef INNET_SIM_SCENARIO_READ_H
#define INNET_SIM_SCENARIO_READ_H

#include <stdbool.h>

#include "cmd/innet-sim/scenario/scenario.h"

/* All keys of a scenario, for --list-keys and for error messages. */
extern const struct json_reader_section scenario_keys;

/*
 * Read a scenario from root.  If it is wrong, write the reason to r->why and
 * return false.  Call scenario_free() in either case.
 */
bool scenario_read(struct scenario *s, const cJSON *root,
    struct json_reader *r);

/* Free what scenario_read() allocated. */
void scenario_free(struct scenario *s);

#endif
