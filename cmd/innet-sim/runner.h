/*
 * runner.h - many runs: points by seeds, on all cores
 *
 * Each run is one simulation in one of several processes; they take the next
 * run that is left and put its rows where all can see them.
 */
#ifndef INNET_SIM_RUNNER_H
#define INNET_SIM_RUNNER_H

#include "cmd/innet-sim/result.h"

/* A point of the sweep: its scenario, the values set, its rows. */
struct point {
	struct scenario sc;
	cJSON *values;		/* or NULL */
	size_t rows;
	struct result_row *row;	/* runs times rows */
};

struct runner {
	struct point *point;
	size_t points, runs;	/* of each */
	uint64_t seed;		/* of the first run; the others follow */
	enum result_by by;
	size_t jobs;		/* processes */
	const char *dir;	/* captures of the only run, or NULL */
	const char *scenario;	/* the file */
	bool progress;
	const volatile int *stopped;
	uint64_t events;	/* of all runs, when they are done */
	double apart;		/* likewise: by how much of itself a mean age
				 * would differ by the other rule of its end */
};

/* Do them all.  0, or 1: something failed and was said. */
int runner_run(struct runner *r);

/* Free the rows. */
void runner_free(struct runner *r);

/* bytes of zeroes that processes forked later share, never freed; exits 1
 * where there are none. */
void *runner_share(size_t bytes);

#endif
