/*
 * rtt.h - round trip time and retransmission time-out, as in RFC 6298
 *
 * The time-out is computed from a smoothed round trip time and from the
 * variation of round trip times.  It doubles whenever it expires.  All parts of
 * innet use this estimator, but each part passes its own limits as a struct
 * rtt_limits.  Workers of iswitch use rtt_usual; arq/retransmit.h and
 * dlp/worker.h define other limits.
 *
 * The caller must not pass the round trip time of a packet that was sent more
 * than once (Karn's rule).  Times are in ns.  A zeroed struct rtt has no sample
 * yet.
 */
#ifndef INNET_ARQ_RTT_H
#define INNET_ARQ_RTT_H

#include <stdbool.h>
#include <stdint.h>

struct rtt_limits {
	uint64_t first_ns;	/* the time-out before the first sample */
	uint64_t floor_ns;	/* the smallest time-out */
	uint64_t ceiling_ns;	/* the largest time-out, also after doubling; at
				 * most 2^62 */
	uint64_t grain_ns;	/* lower limit of the variation */
	uint64_t sample_ns;	/* longer samples count as this value */
	unsigned variations;	/* number by which the variation is multiplied:
				 * 4 in the RFC */
};

/*
 * Limits for a local network.  The grain is the delay with which a sleeping
 * process wakes up.
 */
static const struct rtt_limits rtt_usual = { .first_ns = 20000000,
	.floor_ns = 1000000, .ceiling_ns = 1000000000, .grain_ns = 100000,
	.sample_ns = 1000000000, .variations = 4 };

struct rtt {
	uint64_t srtt_ns, var_ns;	/* 0 before the first sample */
	uint64_t base_ns;		/* the time-out before any doubling; 0:
					 * no sample yet */
	unsigned doubled;		/* number of times the time-out has
					 * expired since the last answer */
};

/* Return the current time-out, in ns. */
static inline uint64_t
rtt_timeout_ns(const struct rtt *r, const struct rtt_limits *l)
{
	uint64_t ns = r->base_ns == 0 ? l->first_ns : r->base_ns;

	for (unsigned i = 0; i < r->doubled && ns < l->ceiling_ns; i++)
		ns *= 2;
	return ns > l->ceiling_ns ? l->ceiling_ns : ns;
}

/* Add a sample: a round trip of rtt_ns, which is at least 1 ns. */
static inline void
rtt_sample(struct rtt *r, const struct rtt_limits *l, uint64_t rtt_ns)
{
	uint64_t off;

	rtt_ns = rtt_ns > l->sample_ns ? l->sample_ns : rtt_ns;
	rtt_ns = rtt_ns > 0 ? rtt_ns : 1;
	if (r->base_ns == 0) {
		r->srtt_ns = rtt_ns;
		r->var_ns = rtt_ns / 2;
	} else {
		off = rtt_ns > r->srtt_ns ? rtt_ns - r->srtt_ns :
		    r->srtt_ns - rtt_ns;
		r->var_ns = (3 * r->var_ns + off) / 4;
		r->srtt_ns = (7 * r->srtt_ns + rtt_ns) / 8;
	}
	off = l->variations * r->var_ns;
	r->base_ns = r->srtt_ns + (off < l->grain_ns ? l->grain_ns : off);
	if (r->base_ns < l->floor_ns)
		r->base_ns = l->floor_ns;
}

/* Double the time-out, up to the ceiling, because it has expired. */
static inline void
rtt_expire(struct rtt *r, const struct rtt_limits *l)
{
	if (rtt_timeout_ns(r, l) < l->ceiling_ns)
		r->doubled++;
}

/*
 * End the doubling, because an answer has arrived.  Before the first sample the
 * doubled time-out is kept, because the initial time-out may be shorter than a
 * round trip.  In that case every packet would be sent twice, and there would
 * never be a sample (Karn's rule).
 */
static inline void
rtt_restore(struct rtt *r)
{
	if (r->base_ns != 0)
		r->doubled = 0;
}

#endif
