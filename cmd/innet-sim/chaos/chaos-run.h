/*
 * chaos-run.h - run one random training and check what must hold of it
 */
#ifndef INNET_SIM_CHAOS_RUN_H
#define INNET_SIM_CHAOS_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd/innet-sim/chaos/chaos-draw.h"
#include "cmd/innet-sim/training/link-faults.h"

/* Counts of all runs. */
struct chaos_tally {
	uint64_t runs, findings, events, packets, results;
	uint64_t refused;		/* runs that ended for want of memory */
	uint64_t link_faults[LINK_FAULTS_COUNTS];
	uint64_t fault[CHAOS_KINDS];
};

/* Run p and add to *n; false, with the reason, if something is wrong. */
bool chaos_run_one(const struct chaos_plan *p, struct chaos_tally *n,
    char wrong[SIM_WRONG_BYTES]);

#endif
