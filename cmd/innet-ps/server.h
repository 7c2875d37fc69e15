/* server.h - the parameter server on a UDP socket */
#ifndef INNET_PS_SERVER_H
#define INNET_PS_SERVER_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/psrule.h"
#include "common/udpio.h"

struct server_conf {
	union addr listen;
	struct psrule_conf rule;
	bool reply_worker;		/* to the sender alone */
	uint64_t duration_ns;		/* TIMER_NEVER: until a signal */
	uint64_t save_every_ns;
	uint64_t memory_bytes;		/* for all vectors */
	const char *save, *load, *port_file;	/* NULL: none */
	struct pcapio_out *capture;	/* of what comes, or NULL */
	volatile sig_atomic_t *stop, *tell;
	const sigset_t *wait_mask;
	bool no_offload;		/* without UDP_SEGMENT and UDP_GRO */
	bool quiet, verbose, json, progress;
};

/* Serve until the end.  The exit status. */
int server_run(const struct server_conf *cf);

#endif
