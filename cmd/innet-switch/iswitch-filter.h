/*
 * iswitch-filter.h - the aggregation switch as a filter
 *
 * The switch has an address in the trace: segments and control messages to it
 * are input, those from it are skipped, for this run sends its own.  The
 * stamps of the captures are the clock.  Each host that the switch sends to is
 * behind a port of its own, a link of the given rate; a frame's stamp is when
 * its last bit left.  What the switch decides is in common/job.h.
 */
#ifndef INNET_SWITCH_ISWITCH_FILTER_H
#define INNET_SWITCH_ISWITCH_FILTER_H

#include <stddef.h>
#include <stdint.h>

#include "common/aggport.h"
#include "common/judge.h"
#include "common/pcapio.h"

#include "cmd/innet-switch/feed.h"

struct iswitch_filter_conf {
	struct iswitch_conf iswitch;
	union addr listen;		/* the switch's in the trace */
	union addr parent;		/* if iswitch.job.child */
	uint64_t rate_bps;		/* of each port */
	uint32_t extra_bytes;		/* of a frame on the wire */
	uint64_t propagation_ns;
	struct feed_conf feed;
};

/* What is not in the counters of struct iswitch. */
struct iswitch_passed {
	uint64_t packets;		/* read; each is one of: */
	uint64_t taken;			/* to the switch */
	uint64_t own;			/* from the switch, skipped */
	uint64_t regular;		/* of another codepoint, or not UDP */
	uint64_t passed;		/* of ours, between others */
	uint64_t ignored[JUDGE_VERDICTS];
	uint64_t out;			/* frames that the switch sent */
	uint64_t queued;		/* had not left by --until */
	uint64_t too_long;		/* for an IPv4 datagram: not sent */
	uint64_t time_backwards;
	/* live alone: */
	struct aggport_account port;
};

/*
 * The port from which a child speaks of a job to its parent: the one that is
 * so far behind its own.  A job for which there is none is refused.
 */
static inline uint32_t
iswitch_job_port(const union addr *listen, uint16_t job)
{
	return (uint32_t)addr_port(listen) + 1 + job;
}

/*
 * Run n open captures through s, which is made here and the caller's to free
 * (iswitch_free()), into out, or nowhere if it is NULL.  The exit status, 0 or
 * 1; what was wrong has been said.
 */
int iswitch_filter_run(const struct iswitch_filter_conf *cf,
    struct iswitch *s, struct iswitch_passed *passed, struct pcapio_in *in,
    size_t n, struct pcapio_out *out);

#endif
