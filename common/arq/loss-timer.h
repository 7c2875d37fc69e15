/*
 * loss-timer.h - how long a receiver waits for the next segment of a vector
 *   before it requests the missing segments
 *
 * The intervals between segments vary, because hosts have other work and links
 * are shared.  A pause indicates a loss only if it is longer than 20 ms plus
 * twice the longest earlier pause.  The longest pause decreases by 1/256 with
 * each segment.  Each request without an answer doubles the wait.
 *
 * After a request, the next segment was either lost or late.  If each loss
 * counted as a pause, the next wait would double.  If late segments did not
 * count, a slow sender would receive requests for ever.  So if a request was
 * sent during a pause, only the time since that request counts as the pause.
 * After a loss this time is one round trip.  After a late segment this time is
 * long enough to make the next wait longer than the pause.
 *
 * The functions read no clock: time is an argument, in ns.
 */
#ifndef INNET_ARQ_LOSS_TIMER_H
#define INNET_ARQ_LOSS_TIMER_H

#include <stdbool.h>
#include <stdint.h>

enum {
	LOSS_TIMER_QUIET_NS = 20000000,	   /* how long to wait if the longest
					    * pause is 0 */
	LOSS_TIMER_LONGEST_NS = 250000000, /* longer pauses count as this
					    * value */
	LOSS_TIMER_CEILING_NS = 1000000000 /* longest wait */
};

struct loss_timer {
	uint64_t since_ns;		/* time of the last segment or
					 * request */
	uint64_t longest_ns;		/* longest pause so far, which decreases
					 * with each segment */
	bool asked;			/* a request was sent since the last
					 * segment */
};

/* Return how long to wait, in ns, after `times` requests without an answer. */
static inline uint64_t
loss_timer_ns(const struct loss_timer *p, unsigned times)
{
	uint64_t ns = LOSS_TIMER_QUIET_NS + 2 * p->longest_ns;

	for (; times > 0 && ns < LOSS_TIMER_CEILING_NS; times--)
		ns *= 2;
	return ns < LOSS_TIMER_CEILING_NS ? ns : LOSS_TIMER_CEILING_NS;
}

/* Start the timer at the beginning of a vector. */
static inline void
loss_timer_start(struct loss_timer *p, uint64_t now_ns)
{
	p->since_ns = now_ns;
	p->asked = false;
}

/* Record that missing segments are being requested. */
static inline void
loss_timer_request(struct loss_timer *p, uint64_t now_ns)
{
	p->since_ns = now_ns;
	p->asked = true;
}

/* Record the arrival of another segment. */
static inline void
loss_timer_receive(struct loss_timer *p, uint64_t now_ns)
{
	uint64_t ns = now_ns - p->since_ns;

	p->longest_ns -= p->longest_ns / 256;
	if (p->asked)
		ns += p->longest_ns;
	p->asked = false;
	if (ns > p->longest_ns)
		p->longest_ns = ns < LOSS_TIMER_LONGEST_NS ? ns :
		    LOSS_TIMER_LONGEST_NS;
	p->since_ns = now_ns;
}

#endif
