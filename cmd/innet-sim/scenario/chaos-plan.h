/*
 * chaos-plan.h - a random training, and what a scenario cannot say about it
 *
 * chaos/chaos-draw.h draws it from a seed; the training reads it through
 * scenario->chaos.
 */
#ifndef INNET_SIM_CHAOS_PLAN_H
#define INNET_SIM_CHAOS_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd/innet-sim/scenario/scenario.h"

enum { CHAOS_FAULTS = 8 };

/* Faults of one direction of a link; all are shares of its packets. */
struct link_fault_rates {
	double loss;
	double burst, calm;		/* one begins; one ends */
	double burst_loss;
	double twice, late;
	uint64_t late_ns;		/* most that either takes longer */
};

struct chaos_plan {
	uint64_t seed;
	struct scenario sc;		/* of one training; points to: */
	struct scenario_training t;
	struct scenario_fault fault[CHAOS_FAULTS];
	struct link_fault_rates rates;
	double share; /* of directions that have those faults */
	uint32_t first;			/* first iteration, if synchronous */
	uint32_t old;			/* bit: a worker that does not repair */
	bool killed;			/* a switch or a worker is */
	bool kills_racks;		/* of an asynchronous training */
	uint32_t flaps;			/* bit: a fault that is one of some */
	uint64_t memory_bytes;		/* that a switch may take; 0: any */
};

#endif
