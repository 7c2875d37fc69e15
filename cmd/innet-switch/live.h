/*
 * live.h - the switch on a UDP socket
 *
 * Workers send to it, it sends on to one upstream (a server, or the next
 * switch) through an emulated link, and models come back through it.  The
 * kernel's receive stamps are the clock of arrivals.
 */
#ifndef INNET_SWITCH_LIVE_H
#define INNET_SWITCH_LIVE_H

#include "common/impair.h"
#include "common/udpio.h"

#include "cmd/innet-switch/filter.h"

struct live_conf {
	union addr listen, upstream;
	uint64_t duration_ns;		/* TIMER_NEVER: until a signal */
	struct impair impair;
	const char *port_file;		/* NULL: none */
	struct pcapio_out *ingress, *egress;	/* captures, or NULL */
	volatile sig_atomic_t *stop, *tell;	/* set by signals */
	const sigset_t *wait_mask;	/* signals let in while waiting */
	bool no_offload;		/* without UDP_SEGMENT and UDP_GRO */
	bool quiet, verbose, json, progress;
};

/*
 * Serve until the end; packets leave as e (made with its own settings) says.
 * The exit status.
 */
int live_run(const struct live_conf *cf, struct egress *e,
    struct filter_passed *passed);

#endif
