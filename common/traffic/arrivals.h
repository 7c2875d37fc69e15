/*
 * arrivals.h - when a worker has its next update: arrival processes
 *
 * Periodic, Poisson, trains with silence between (on-off), lognormal gaps; and
 * whole clusters that burst.  One struct arrivals a worker (or a cluster that
 * bursts), one set of settings for many.  Instants are ns on the caller's
 * clock, from 0; steps are kept in 2^-32 ns, so that a rate in bits a second
 * does not drift.  Pure: the random numbers are the caller's, in its order.
 */
#ifndef INNET_TRAFFIC_ARRIVALS_H
#define INNET_TRAFFIC_ARRIVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/draw.h"
#include "common/base/rng.h"

enum arrivals_kind {
	ARRIVALS_PERIODIC, ARRIVALS_POISSON, ARRIVALS_ONOFF,
	ARRIVALS_LOGNORMAL, ARRIVALS_BURSTS
};

enum arrivals_rewards { ARRIVALS_FLAT, ARRIVALS_RISING, ARRIVALS_NOISY };

struct arrivals_conf {
	enum arrivals_kind kind;
	uint64_t burst;		/* updates in a train or burst, at least 1 */
	uint64_t jitter_ns;	/* each is late by less than that */
	double walk;		/* periodic gaps vary by that share */
	bool aligned;		/* all begin at 0, not in random phases */
};

struct arrivals {
	unsigned __int128 step;	/* between updates, on average, 2^-32 ns */
	unsigned __int128 nominal;	/* of periodic ones, before jitter */
};

/* The step of one, ns. */
static inline double
arrivals_mean_ns(const struct arrivals *a)
{
	return (double)a->step * 0x1p-32;
}

/* A share of the step, which most often fits a register. */
static inline unsigned __int128
arrivals_share(const struct arrivals *a, double share)
{
	const double at = (a->step >> 64 == 0 ? (double)(uint64_t)a->step :
	    (double)a->step) * share;

	return at < 0x1p63 ? (uint64_t)at : (unsigned __int128)at;
}

/* One every step (2^-32 ns) on average. */
static inline struct arrivals
arrivals_every(unsigned __int128 step)
{
	return (struct arrivals){ .step = step };
}

/* How long after now one of random arrivals has its next update, ns. */
static inline double
arrivals_gap(const struct arrivals_conf *cf, const struct arrivals *a,
    struct rng *r)
{
	double mean = arrivals_mean_ns(a);

	switch (cf->kind) {
	case ARRIVALS_POISSON:
		return mean * draw_exponential(r);
	case ARRIVALS_LOGNORMAL:
		return mean * draw_lognormal(r, 1);
	case ARRIVALS_ONOFF:	/* a train at four times the rate, silence */
		if (rng_below(r, cf->burst) != 0)
			return mean / 4;
		return mean / 4 + mean * 0.75 * (double)cf->burst *
		    draw_exponential(r);
	case ARRIVALS_PERIODIC:
	case ARRIVALS_BURSTS:
		break;
	}
	return mean;
}

/* To the nearest ns; what no stamp could hold becomes what none can. */
static inline uint64_t
arrivals_whole_ns(double ns)
{
	return ns < 9e18 ? (uint64_t)(ns + 0.5) : 9000000000000000000;
}

/* The nominal instant, late by the jitter. */
static inline uint64_t
arrivals_add_jitter(const struct arrivals_conf *cf, uint64_t t, struct rng *r)
{
	return cf->jitter_ns > 0 ? t + rng_below(r, cf->jitter_ns) : t;
}

/* When one that was last due at now_ns is due again. */
static inline uint64_t
arrivals_next(const struct arrivals_conf *cf, struct arrivals *a,
    struct rng *r, uint64_t now_ns)
{
	uint64_t t;

	if (cf->kind == ARRIVALS_PERIODIC || cf->kind == ARRIVALS_BURSTS) {
		a->nominal += cf->walk > 0 ? arrivals_share(a, rng_uniform(r,
		    1 - cf->walk, 1 + cf->walk)) : a->step;
		t = (uint64_t)(a->nominal >> 32);
	} else {
		t = now_ns + arrivals_whole_ns(arrivals_gap(cf, a, r));
	}
	t = arrivals_add_jitter(cf, t, r);
	return t < now_ns ? now_ns : t;		/* it never overtakes itself */
}

/* When it is due first. */
static inline uint64_t
arrivals_first(const struct arrivals_conf *cf, struct arrivals *a,
    struct rng *r)
{
	/* of bursts, clusters begin in the first part of their cycle */
	const double window = cf->kind == ARRIVALS_BURSTS ? 0.82 : 1;

	if (cf->aligned)
		a->nominal = 0;
	else if (cf->kind == ARRIVALS_POISSON)
		a->nominal = (unsigned __int128)arrivals_whole_ns(
		    arrivals_gap(cf, a, r)) << 32;
	else
		a->nominal = (unsigned __int128)(window * rng_double(r) *
		    (double)a->step);
	return arrivals_add_jitter(cf, (uint64_t)(a->nominal >> 32), r);
}

/*
 * n speeds, 1 - spread to 1 + spread; made to add up to n where the rate in
 * all is given.
 */
static inline void
arrivals_speeds(double *speed, size_t n, double spread, bool in_all,
    struct rng *r)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++) {
		speed[i] = rng_uniform(r, 1 - spread, 1 + spread);
		sum += speed[i];
	}
	for (size_t i = 0; i < n && in_all; i++)
		speed[i] *= (double)n / sum;
}

/* The reward of a worker's update: always 1, learnt, or learnt with noise. */
static inline float
arrivals_reward(enum arrivals_rewards kind, uint32_t sequence, struct rng *r)
{
	const double learnt = sequence / (sequence + 100.0);

	switch (kind) {
	case ARRIVALS_FLAT:
		break;
	case ARRIVALS_RISING:
		return (float)learnt;
	case ARRIVALS_NOISY:
		return (float)(learnt + 0.1 * draw_normal(r));
	}
	return 1;
}

/*
 * Where the updates of a burst go: worker k's number `sequence`.  False: no
 * more of them.
 */
typedef bool arrivals_put_fn(void *to, uint32_t k, uint32_t sequence);

/* n updates of each worker by turns, but of `alone` none. */
static inline bool
arrivals_put_turns(uint32_t workers, uint32_t alone, uint32_t from, uint32_t n,
    arrivals_put_fn *put, void *to)
{
	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t k = 0; k < workers; k++) {
			if (k != alone && !put(to, k, from + i))
				return false;
		}
	}
	return true;
}

/* n updates of worker k in a row. */
static inline bool
arrivals_put_train(uint32_t k, uint32_t from, uint32_t n, arrivals_put_fn *put,
    void *to)
{
	for (uint32_t i = 0; i < n; i++) {
		if (!put(to, k, from + i))
			return false;
	}
	return true;
}

/*
 * The order of a burst: n updates of each worker from sequence `from` on.
 * Olaf's Table 1 does not say how its traffic was made; this gives the counts
 * and merges of a search for traffic that reproduces it: in most bursts all
 * workers take turns, in the rest one of them sends before the others (in
 * 30.5 % of all) or after them (in 25 %).
 */
static inline bool
arrivals_put_burst(struct rng *r, uint32_t workers, uint32_t from, uint32_t n,
    arrivals_put_fn *put, void *to)
{
	const double leads = 0.305, trails = 0.25, x = rng_double(r);
	const uint32_t alone = (uint32_t)rng_below(r, workers);

	if (x < leads)
		return arrivals_put_train(alone, from, n, put, to) &&
		    arrivals_put_turns(workers, alone, from, n, put, to);
	if (x < leads + trails)
		return arrivals_put_turns(workers, alone, from, n, put, to) &&
		    arrivals_put_train(alone, from, n, put, to);
	return arrivals_put_turns(workers, UINT32_MAX, from, n, put, to);
}

#endif
