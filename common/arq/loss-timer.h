/*
 * loss-timer.h - how long a vector may pause before what misses of it is asked
 * for
 *
 * Segments follow one another, but not evenly: hosts have other things to do
 * and links are shared.  A silence shows a loss only when it is longer than
 * pauses are of late: than 20 ms and twice the longest, which fades by 1/256
 * a segment.  Asked in vain, it may last twice as long.
 *
 * What an asking ends was a loss, or a segment that was late after all.  Taken
 * for a pause, each loss would make the next wait twice as long; taken for
 * none, who is always late would always be asked.  So the longest pause grows
 * by what has passed since the asking: by a round trip if it was a loss; and
 * if it was late, the next wait is longer than this pause has been.
 * Pure: time is an argument, ns.
 */
#ifndef INNET_ARQ_LOSS_TIMER_H
#define INNET_ARQ_LOSS_TIMER_H

#include <stdbool.h>
#include <stdint.h>

enum {
	LOSS_TIMER_QUIET_NS = 20000000,	/* beside the pauses */
	LOSS_TIMER_LONGEST_NS = 250000000,	/* longer ones count as this */
	LOSS_TIMER_CEILING_NS = 1000000000	/* of the wait */
};

struct loss_timer {
	uint64_t since_ns;		/* last segment, or asking after it */
	uint64_t longest_ns;		/* of late */
	bool asked;			/* since then */
};

/* How long to wait when it has been asked in vain so many times. */
static inline uint64_t
loss_timer_ns(const struct loss_timer *p, unsigned times)
{
	uint64_t ns = LOSS_TIMER_QUIET_NS + 2 * p->longest_ns;

	for (; times > 0 && ns < LOSS_TIMER_CEILING_NS; times--)
		ns *= 2;
	return ns < LOSS_TIMER_CEILING_NS ? ns : LOSS_TIMER_CEILING_NS;
}

/* A vector begins. */
static inline void
loss_timer_since(struct loss_timer *p, uint64_t now_ns)
{
	p->since_ns = now_ns;
	p->asked = false;
}

/* What misses of it is asked for. */
static inline void
loss_timer_ask(struct loss_timer *p, uint64_t now_ns)
{
	p->since_ns = now_ns;
	p->asked = true;
}

/* Another segment of it has come. */
static inline void
loss_timer_took(struct loss_timer *p, uint64_t now_ns)
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
