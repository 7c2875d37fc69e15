/* replay.h - the command line of innet-replay, and what a run counts */
#ifndef INNET_REPLAY_REPLAY_H
#define INNET_REPLAY_REPLAY_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cmd/innet-replay/trace.h"
#include "common/base/latency.h"
#include "common/wire/addr.h"

struct conf {
	const char *in, *out;		/* out: re-time into it; NULL: send */
	union addr to;
	struct trace_want want;
	double speed;			/* times the trace's own */
	uint64_t pps;			/* packets a second; 0: as captured */
	uint64_t loops, count;		/* count 0: all */
	uint64_t duration_ns;		/* TIMER_NEVER: no end */
	bool topspeed, stamp, offload, quiet, verbose, progress;
	FILE *json;			/* where it goes; NULL: nowhere */
};

struct tally {
	uint64_t packets, bytes;	/* left, of payload */
	uint64_t flows;
	uint64_t failed, unreachable;	/* of those that were sent */
	uint64_t elapsed_ns;
	struct latency late;		/* behind its time, each packet */
};

extern volatile sig_atomic_t stopped;

/*
 * When packet k, deadline_ns after the first in the trace, is due after the
 * first: at --pps or --speed.
 */
static inline uint64_t
replay_due_ns(const struct conf *cf, uint64_t deadline_ns, uint64_t k)
{
	if (cf->pps > 0)
		return (uint64_t)((unsigned __int128)k * 1000000000 / cf->pps);
	return cf->speed == 1 ? deadline_ns :
	    (uint64_t)((double)deadline_ns / cf->speed);
}

/* Send the trace, or write it with new stamps.  The exit status. */
int send_trace(const struct conf *cf, struct trace *t, struct tally *n);
int retime_trace(const struct conf *cf, struct trace *t, struct tally *n);

#endif
