/*
 * planes.h - switches of any program in one time, fed by captures
 *
 * Each switch is a plane with the options of innet-switch.  A packet that one
 * sends to the address of another arrives there over its link; other packets
 * leave the network.  The driver of traces (common/switch/trace.h) runs each
 * switch, and the earliest event of all is next.
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

/* Run the switches, print the report of each to f; return the exit status. */
int planes_run(const struct planes_options *, FILE *f);

#endif
