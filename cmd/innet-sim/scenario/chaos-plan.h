/*
 * chaos-plan.h - a random training job, and settings that a scenario cannot
 * express
 *
 * chaos/chaos-draw.h draws the plan from a seed.  The training job reads it
 * through scenario->chaos.
 */
#ifndef INNET_SIM_CHAOS_PLAN_H
#define INNET_SIM_CHAOS_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd/innet-sim/scenario/scenario.h"

enum { CHAOS_FAULTS = 8 };

/* Faults of one direction of a link; all rates are shares of its packets. */
struct link_fault_rates {
	double loss;
	double burst, calm;		/* shares of packets at which a burst of
					 * losses begins, and at which it
					 * ends */
	double burst_loss;
	double twice, late;
	uint64_t late_ns;		/* longest delay of a packet that is
					 * late or arrives twice */
};

struct chaos_plan {
	uint64_t seed;
	struct scenario sc; /* the scenario has one training job, and points to
			     * `t` and `fault` */
	struct scenario_training t;
	struct scenario_fault fault[CHAOS_FAULTS];
	struct link_fault_rates rates;
	double share; /* share of all link directions that have these faults */
	uint32_t first;	/* first iteration; with kills_racks and severe, first
			 * round */
	uint32_t old;	/* bit set of workers that do not repair losses */
	bool killed;			/* a switch or a worker is killed */
	bool kills_racks; /* racks of an asynchronous training job are killed */
	bool ring;	/* the gradients of workers are pieces of a ring */
	bool severe;	/* more faults at the same time */
	uint32_t flaps;	/* bit set of faults that are part of a series */
	uint64_t memory_bytes;	/* memory limit of a switch; 0: no limit */
};

#endif
