/*
 * chaos.h - run random training jobs under random faults, and check them
 *
 * A seed determines a training job: chaos-draw.h derives its topology, sizes
 * and faults from the seed alone.  chaos-run.h runs the training job and
 * reports what is wrong: a sum that is not exact, results or weights that
 * differ, counters that do not add up, a process that waits forever, packets
 * that never stop, or memory that grows.
 */
#ifndef INNET_SIM_CHAOS_H
#define INNET_SIM_CHAOS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/auth/tag.h"

struct chaos_options {
	uint64_t seed, runs, jobs;
	enum tag_auth auth;
	bool kills_racks;	/* run asynchronous training jobs whose racks
				 * are killed */
	bool ring;	/* run synchronous training jobs with a ring */
	bool severe;	/* draw more faults, many of them at the same time */
	bool json, quiet, verbose;
	const volatile int *stopped;
};

/* Run the seeds that *cf selects; return 0, or 1 if there were findings. */
int chaos_run(const struct chaos_options *cf);

#endif
