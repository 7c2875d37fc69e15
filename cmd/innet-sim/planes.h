/*
 * planes.h - simulate several switches of any program, with captures as input
 *
 * Each switch is a plane with the options of innet-switch.  If a switch sends a
 * packet to the address of another switch, the sender's link carries the packet
 * to that switch.  All other packets leave the network.  The driver of traces
 * (common/switch/trace.h) runs each switch, and all switches share one clock.
 * The earliest event is always handled next.
 */
#ifndef INNET_SIM_PLANES_H
#define INNET_SIM_PLANES_H

#include <stdbool.h>
#include <stdio.h>

#include "cmd/innet-sim/scenario/scenario.h"

struct planes_options {
	const struct scenario *sc;
	const char *path;	/* path of the scenario */
	const char *dir;	/* folder for captures; NULL: write none */
	bool json;
	const volatile int *stopped;	/* flag that a signal handler sets */
};

/*
 * Run the switches, and then print the report of each switch to f.  Returns the
 * exit status.
 */
int planes_run(const struct planes_options *, FILE *f);

#endif
