/*
 * rtt.h - how long to wait for an answer: RFC 6298
 *
 * A smoothed round trip and its variation give the time-out: floor 1 ms,
 * ceiling 1 s, doubled at every time-out until something comes.  The caller
 * gives no sample of what was sent more than once (Karn).  Times are ns.
 */
#ifndef INNET_ARQ_RTT_H
#define INNET_ARQ_RTT_H

#include <stdbool.h>
#include <stdint.h>

enum {
	RTT_FLOOR_NS = 1000000,
	RTT_CEILING_NS = 1000000000,
	RTT_FIRST_NS = 20000000,	/* before any sample */
	RTT_GRAIN_NS = 100000		/* how late a sleeper wakes */
};

struct rtt {
	uint64_t srtt_ns, var_ns;	/* 0 before any sample */
	uint64_t base_ns;		/* the time-out, not doubled; 0 none */
	unsigned doubled;		/* so often since something came */
};

/* The time-out now. */
static inline uint64_t
rtt_timeout_ns(const struct rtt *r)
{
	uint64_t ns = r->base_ns == 0 ? RTT_FIRST_NS : r->base_ns;

	for (unsigned i = 0; i < r->doubled && ns < RTT_CEILING_NS; i++)
		ns *= 2;
	return ns > RTT_CEILING_NS ? RTT_CEILING_NS : ns;
}

/* A round trip took so long. */
static inline void
rtt_sample(struct rtt *r, uint64_t rtt_ns)
{
	uint64_t off;

	if (rtt_ns > RTT_CEILING_NS)
		rtt_ns = RTT_CEILING_NS;
	if (r->base_ns == 0) {
		r->srtt_ns = rtt_ns;
		r->var_ns = rtt_ns / 2;
	} else {
		off = rtt_ns > r->srtt_ns ? rtt_ns - r->srtt_ns :
		    r->srtt_ns - rtt_ns;
		r->var_ns = (3 * r->var_ns + off) / 4;
		r->srtt_ns = (7 * r->srtt_ns + rtt_ns) / 8;
	}
	off = 4 * r->var_ns;
	r->base_ns = r->srtt_ns + (off < RTT_GRAIN_NS ? RTT_GRAIN_NS : off);
	if (r->base_ns < RTT_FLOOR_NS)
		r->base_ns = RTT_FLOOR_NS;
}

/* It ran out: wait twice as long. */
static inline void
rtt_expired(struct rtt *r)
{
	if (rtt_timeout_ns(r) < RTT_CEILING_NS)
		r->doubled++;
}

/*
 * Something came: what is lost from now on is news.  But before any sample it
 * has only shown that the first time-out may be too short (Karn): without its
 * doubling all would be sent twice, and never be a sample.
 */
static inline void
rtt_heard(struct rtt *r)
{
	if (r->base_ns != 0)
		r->doubled = 0;
}

#endif
