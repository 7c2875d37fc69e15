/*
 * arrivals.h - arrival processes, which determine the times at which a worker
 *   has its updates
 *
 * There are five processes: periodic updates, Poisson arrivals, trains of
 * updates with silence between the trains (on-off), lognormal gaps, and bursts
 * of whole clusters.  Each worker, or each cluster that sends bursts, has a
 * struct arrivals; several of them share one struct arrivals_conf.  Times are
 * in ns on the caller's clock, which begins at 0.  Steps are in 2^-32 ns, so
 * that a rate in bits per second does not drift.  The functions have no other
 * state.  They draw random numbers from the caller's generator in the order of
 * the calls.
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
	uint64_t burst;		/* number of updates in a train or burst, at
				 * least 1 */
	uint64_t jitter_ns;	/* each update is delayed by a random time that
				 * is less than this time */
	double walk;		/* largest deviation of the gaps between
				 * periodic updates, as a share of the mean
				 * gap */
	bool aligned;		/* all workers begin at time 0; if not set, they
				 * begin at random phases */
};

struct arrivals {
	unsigned __int128 step;	/* mean time between updates, in 2^-32 ns */
	unsigned __int128 nominal; /* time of the next periodic update without
				    * jitter, in 2^-32 ns */
};

/*
 * A function that is called for each update of a burst, with the worker k and
 * the sequence number of the update.  The function returns false to end the
 * burst.
 */
typedef bool arrivals_put_fn(void *to, uint32_t k, uint32_t sequence);

/* Return a process with one update every `step` (in 2^-32 ns) on average. */
static inline struct arrivals arrivals_every(unsigned __int128 step);

/* Return the time of the first update. */
static inline uint64_t arrivals_first(const struct arrivals_conf *cf,
    struct arrivals *a, struct rng *r);

/*
 * Return the time of the update that follows the update at now_ns.  This time
 * is never before now_ns.
 */
static inline uint64_t arrivals_next(const struct arrivals_conf *cf,
    struct arrivals *a, struct rng *r, uint64_t now_ns);

/* Return time t plus a random delay that is less than the jitter. */
static inline uint64_t arrivals_add_jitter(const struct arrivals_conf *cf,
    uint64_t t, struct rng *r);

/* Return the mean time between updates, in ns. */
static inline double arrivals_mean_ns(const struct arrivals *a);

/* Round `ns` to a whole number of nanoseconds.  The result is at most 9e18. */
static inline uint64_t arrivals_whole_ns(double ns);

/*
 * Draw n speeds from the uniform distribution between 1 - spread and 1 +
 * spread.  If `in_all` is true, scale the speeds so that their sum is n.
 */
static inline void arrivals_speeds(double *speed, size_t n, double spread,
    bool in_all, struct rng *r);

/*
 * Return the reward of a worker's update.  Depending on `kind`, the reward is
 * always 1, rises with the sequence number, or rises with the sequence number
 * and has noise.
 */
static inline float arrivals_reward(enum arrivals_rewards kind,
    uint32_t sequence, struct rng *r);

/*
 * Call `put` for the updates of a burst, in the order in which they are sent.
 * Each worker sends n updates, whose sequence numbers begin with `from`.  If
 * `put` returns false, stop and return false.
 *
 * Table 1 of Olaf does not state how its traffic was generated.  This order was
 * found by a search, and it reproduces the numbers of updates and of merges in
 * the table.  In 30.5 % of the bursts one worker sends all its updates before
 * the other workers, and in 25 % one worker sends all its updates after the
 * other workers.  In the remaining bursts all workers take turns.
 */
static inline bool arrivals_put_burst(struct rng *r, uint32_t workers,
    uint32_t from, uint32_t n, arrivals_put_fn *put, void *to);

/* implementation */

static inline double
arrivals_mean_ns(const struct arrivals *a)
{
	return (double)a->step * 0x1p-32;
}

/*
 * Return `step` times `share`.  The step usually fits into a register, so this
 * case is computed faster.
 */
static inline unsigned __int128
arrivals_share(const struct arrivals *a, double share)
{
	const double at = (a->step >> 64 == 0 ? (double)(uint64_t)a->step :
	    (double)a->step) * share;

	return at < 0x1p63 ? (uint64_t)at : (unsigned __int128)at;
}

static inline struct arrivals
arrivals_every(unsigned __int128 step)
{
	return (struct arrivals){ .step = step };
}

/* Draw the time from one random arrival to the next, in ns. */
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
	case ARRIVALS_ONOFF:	/* send a train at four times the mean rate,
				 * then be silent */
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

static inline uint64_t
arrivals_whole_ns(double ns)
{
	return ns < 9e18 ? (uint64_t)(ns + 0.5) : 9000000000000000000;
}

static inline uint64_t
arrivals_add_jitter(const struct arrivals_conf *cf, uint64_t t, struct rng *r)
{
	return cf->jitter_ns > 0 ? t + rng_below(r, cf->jitter_ns) : t;
}

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
	return t < now_ns ? now_ns : t;		/* no update may come before an
						 * earlier update of the
						 * worker */
}

static inline uint64_t
arrivals_first(const struct arrivals_conf *cf, struct arrivals *a,
    struct rng *r)
{
	/* Clusters that send bursts begin early in their cycle. */
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
 * Call `put` for n updates of each worker except `alone`.  The workers take
 * turns.
 */
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

/* Call `put` for n updates of worker k, one after the other. */
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
