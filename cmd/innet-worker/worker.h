/*
 * worker.h - one worker of an Olaf cluster
 *
 * Gradients come from a child process or are made up; each is answered at once
 * with the newest model, and leaves as an update if transmission control and
 * the state of things let it.
 */
#ifndef INNET_WORKER_WORKER_H
#define INNET_WORKER_WORKER_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/pcapio.h"
#include "common/rng.h"
#include "common/txctl.h"
#include "common/udpio.h"

struct worker_conf {
	union addr to;			/* the switch, or the server */
	const char *to_name;		/* as given */
	uint16_t cluster;
	uint32_t worker;
	enum txctl_kind control;
	uint64_t threshold_ns;
	uint64_t mtu;			/* 0: the path's */
	uint64_t give_up_ns;		/* without what is waited for */
	uint64_t silence_ns;		/* of the child, at most */
	uint64_t duration_ns;		/* TIMER_NEVER: until the child ends */
	uint64_t count;			/* gradients; 0: no limit */
	uint32_t synthetic;		/* elements; 0: a child is run */
	uint64_t interval_ns;		/* of synthetic gradients */
	uint64_t jitter_ns;
	struct rng rng;
	char **argv;			/* the child, NULL-terminated */
	struct pcapio_out *capture;	/* of what passes, or NULL */
	volatile sig_atomic_t *stop, *tell;
	const sigset_t *wait_mask;
	bool quiet, json, progress;
};

/* Work until the end.  The exit status. */
int worker_run(const struct worker_conf *cf);

#endif
