/* conf.h - the settings of innet-replay, and the counters of a run */
#ifndef INNET_REPLAY_CONF_H
#define INNET_REPLAY_CONF_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cmd/innet-replay/trace.h"
#include "common/base/latency.h"
#include "common/wire/addr.h"

struct conf {
	const char *in;
	const char *out;		/* write with new stamps; NULL: send */
	union addr to;
	struct trace_want want;
	double speed;			/* factor of the pace of the trace */
	uint64_t pps;			/* packets a second; 0: as captured */
	uint64_t loops, count;		/* count 0: all */
	uint64_t duration_ns;		/* TIMER_NEVER: no end */
	bool topspeed, stamp, offload, quiet, verbose, progress;
	FILE *json;			/* stream of --json, or NULL */
	const volatile sig_atomic_t *stop;	/* the signal to stop, or 0 */
	void (*on_signal)(int sig);	/* sets it */
};

struct tally {
	uint64_t packets, bytes;	/* sent or written; of payload */
	uint64_t flows;
	uint64_t failed;		/* packets that could not be sent */
	uint64_t unreachable;		/* errors that came back */
	uint64_t elapsed_ns;
	struct latency late;		/* how late each packet was sent */
};

/*
 * Return how long after the first packet the packet k is due, with --pps or
 * --speed.  In the trace it comes deadline_ns after the first packet.
 */
static inline uint64_t
conf_due_ns(const struct conf *cf, uint64_t deadline_ns, uint64_t k)
{
	if (cf->pps > 0)
		return (uint64_t)((unsigned __int128)k * 1000000000 / cf->pps);
	return cf->speed == 1 ? deadline_ns :
	    (uint64_t)((double)deadline_ns / cf->speed);
}

/* Send the trace, or write it with new stamps; return the exit status. */
int send_trace(const struct conf *cf, struct trace *t, struct tally *n);
int retime_trace(const struct conf *cf, struct trace *t, struct tally *n);

#endif
