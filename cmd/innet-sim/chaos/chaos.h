/*
 * chaos.h - random trainings under random faults, and what must hold of them
 *
 * A seed is a training: chaos-draw.h makes its topology, sizes and faults from
 * it alone.  chaos-run.h runs it and reports what is wrong: a sum that is not
 * exact, results or weights that differ, counters that do not add up, something
 * that waits for ever, packets without end, memory that grows.
 */
#ifndef INNET_SIM_CHAOS_H
#define INNET_SIM_CHAOS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/auth/tag.h"

struct chaos_options {
	uint64_t seed, runs, jobs;
	enum tag_auth auth;
	bool kills_racks;		/* of asynchronous trainings */
	bool json, quiet, verbose;
	const volatile int *stopped;
};

/* Run these seeds; return 0, or 1 if there were findings. */
int chaos_run(const struct chaos_options *cf);

#endif
