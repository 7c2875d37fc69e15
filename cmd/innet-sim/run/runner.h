/*
 * runner.h - run each point with each seed, on all cores
 *
 * Each run is one simulation, done by one of several processes.  A process
 * takes the next run that no process has taken, and writes the rows of the run
 * to shared memory.  Only the runs of the shard are done; the other rows are
 * not touched.
 */
#ifndef INNET_SIM_RUNNER_H
#define INNET_SIM_RUNNER_H

#include "cmd/innet-sim/run/result.h"

/*
 * A point of the sweep: its scenario, the values that were set, and its rows.
 */
struct point {
	struct scenario sc;
	cJSON *values;		/* the swept values, or NULL */
	size_t rows;
	struct result_row *row;	/* rows of all runs of the point; owned by the
				 * runner */
};

/* A shard: the runs whose number modulo `of` is `at`. */
struct runner_shard {
	uint64_t at, of;
};

struct runner {
	struct point *point;
	size_t points, runs;	/* number of points; number of runs of each
				 * point */
	uint64_t seed;	/* seed of the first run; the seed of each next run is
			 * greater by 1 */
	struct runner_shard shard;	/* the shard to run; { 0, 1 } means all
					 * runs */
	enum result_by by;
	struct result_row *row;	/* rows of all points, allocated by
				 * runner_rows() */
	size_t row_bytes;
	size_t jobs;		/* number of processes */
	const char *dir; /* folder for captures of the only run, or NULL */
	const char *scenario;	/* path of the scenario */
	bool progress;
	const volatile int *stopped;
	uint64_t events; /* number of events in all runs; set at the end */
	double apart;		/* largest difference that the other value of
				 * ages_to would make, as a share of the mean
				 * age; set at the end */
};

/* Return the number of runs in the shard. */
uint64_t runner_count_runs(const struct runner *r);

/* Allocate the rows of all points, or exit. */
void runner_rows(struct runner *r);

/* Perform the runs of the shard; return 0, or 1 after a warning. */
int runner_run(struct runner *r);

/* Free the points and their rows. */
void runner_free(struct runner *r);

/*
 * Allocate zeroed memory that is shared with processes forked later.  The
 * caller unmaps it.  Exits if out of memory.
 */
void *runner_alloc_shared(size_t bytes);

#endif
