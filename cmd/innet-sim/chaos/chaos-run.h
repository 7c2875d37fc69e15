/* chaos-run.h - run one random training job and check its results */
#ifndef INNET_SIM_CHAOS_RUN_H
#define INNET_SIM_CHAOS_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd/innet-sim/chaos/chaos-draw.h"
#include "cmd/innet-sim/training/link-faults.h"

/* Counters over all runs. */
struct chaos_tally {
	uint64_t runs, findings, events, packets, results;
	uint64_t refused; /* number of runs that ended because a switch lacked
			   * memory */
	uint64_t link_faults[LINK_FAULTS_COUNTS];
	uint64_t fault[CHAOS_KINDS];
};

/*
 * Run the plan p and add its counters to *n.  If a check fails, write the
 * reason to `wrong` and return false.
 */
bool chaos_run_one(const struct chaos_plan *p, struct chaos_tally *n,
    char wrong[SIM_WRONG_BYTES]);

#endif
