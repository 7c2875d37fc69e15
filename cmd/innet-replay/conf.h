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
	const char *out;	/* file to which the trace is written with new
				 * timestamps; NULL: send the trace */
	union addr to;
	struct trace_want want;
	double speed;			/* factor by which the replay is faster
					 * than the trace */
	uint64_t pps;			/* number of packets per second; 0: as
					 * captured */
	uint64_t loops, count;		/* maximum number of packets; if `count`
					 * is 0, there is no limit */
	uint64_t duration_ns;		/* TIMER_NEVER: no limit */
	bool topspeed, stamp, offload, quiet, verbose, progress;
	FILE *json;			/* output of --json, or NULL */
	const volatile sig_atomic_t *stop;	/* signal to stop, or 0 */
	void (*on_signal)(int sig);	/* sets *stop */
};

struct tally {
	uint64_t packets, bytes;	/* number of packets sent or written;
					 * number of bytes in their payloads */
	uint64_t flows;
	uint64_t failed;		/* number of packets that could not be
					 * sent */
	uint64_t unreachable;		/* number of ICMP errors received */
	uint64_t elapsed_ns;
	struct latency late;		/* delay of each packet */
};

/*
 * The longest time after the first packet, about 146 years.  It is longer than
 * the times that a pcap file can hold, so that such a file never contains a
 * packet that is due at this time.  The sum of this time and a time in a pcap
 * file fits into 64 bits.
 */
#define CONF_DUE_MAX_NS ((uint64_t)1 << 62)

/*
 * Return the time at which packet k is due, in ns after the first packet, with
 * --pps or --speed.  `deadline_ns` is the time of packet k in the trace, also
 * in ns after the first packet.  The result is at most CONF_DUE_MAX_NS.
 */
static inline uint64_t
conf_due_ns(const struct conf *cf, uint64_t deadline_ns, uint64_t k)
{
	double ns;

	if (cf->pps > 0)
		return (uint64_t)((unsigned __int128)k * 1000000000 / cf->pps);
	if (cf->speed == 1)
		return deadline_ns < CONF_DUE_MAX_NS ? deadline_ns :
		    CONF_DUE_MAX_NS;
	ns = (double)deadline_ns / cf->speed;
	return ns < (double)CONF_DUE_MAX_NS ? (uint64_t)ns : CONF_DUE_MAX_NS;
}

/* Send the trace, or write it with new timestamps.  Return the exit status. */
int send_trace(const struct conf *cf, struct trace *t, struct tally *n);
int retime_trace(const struct conf *cf, struct trace *t, struct tally *n);

#endif
