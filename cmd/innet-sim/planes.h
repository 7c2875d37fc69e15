/*
 * planes.h - switches of any program in one time, fed by captures
 *
 * Each is a plane with the options of innet-switch.  What one sends to the
 * address of another arrives there behind its link; all else leaves the
 * network.  The driver of traces (common/switch/trace.h) runs each of them, and
 * the next event of all is taken.
 */
#ifndef INNET_SIM_PLANES_H
#define INNET_SIM_PLANES_H

#include <stdbool.h>
#include <stdio.h>

#include "cmd/innet-sim/scenario/scenario.h"

struct planes_options {
	const struct scenario *sc;
	const char *path;	/* of the scenario */
	const char *dir;	/* captures into it; NULL: none */
	bool json;
	const volatile int *stopped;	/* a signal came */
};

/* Run them and print the account of each on f.  The exit status. */
int planes_run(const struct planes_options *, FILE *f);

#endif
