/*
 * runner.h - many runs: points by seeds, on all cores
 *
 * Each run is one simulation in one of several processes.  A process takes the
 * next run that is left and writes its rows to shared memory.  Only the runs of
 * the shard are done; the other rows stay untouched.
 */
#ifndef INNET_SIM_RUNNER_H
#define INNET_SIM_RUNNER_H

#include "cmd/innet-sim/run/result.h"

/* A point of the sweep: its scenario, the values set, its rows. */
struct point {
	struct scenario sc;
	cJSON *values;		/* or NULL */
	size_t rows;
	struct result_row *row;	/* runs times rows, of the runner's */
};

/* The runs whose number modulo `of` is `at`. */
struct runner_shard {
	uint64_t at, of;
};

struct runner {
	struct point *point;
	size_t points, runs;	/* of each */
	uint64_t seed;		/* of the first run; the others follow */
	struct runner_shard shard;	/* { 0, 1 }: all */
	enum result_by by;
	struct result_row *row;	/* of all points, by runner_rows() */
	size_t row_bytes;
	size_t jobs;		/* processes */
	const char *dir;	/* captures of the only run, or NULL */
	const char *scenario;	/* the file */
	bool progress;
	const volatile int *stopped;
	uint64_t events;	/* of all runs, when they are done */
	double apart;		/* likewise: by how much of itself a mean age
				 * would differ by the other rule of its end */
};

/* Return how many runs are in the shard. */
uint64_t runner_count_runs(const struct runner *r);

/* Allocate the rows of all points, or exit. */
void runner_rows(struct runner *r);

/* Do the runs of the shard; return 0, or 1 after a warning. */
int runner_run(struct runner *r);

/* Free the points and their rows. */
void runner_free(struct runner *r);

/*
 * Allocate zeroed bytes that processes forked later share; the caller unmaps
 * them.  Exit without memory.
 */
void *runner_alloc_shared(size_t bytes);

#endif
