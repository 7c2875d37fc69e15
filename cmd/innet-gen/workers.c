/* Workers, each with arrivals of its own: sources.h. */
#include "config.h"

#include <err.h>
#include <stdlib.h>

#include "cmd/innet-gen/due.h"
#include "cmd/innet-gen/sources.h"
#include "common/draw.h"

typedef unsigned __int128 fixed;	/* 2^-32 ns */

struct worker {
	fixed step;		/* between updates, on average */
	fixed nominal;		/* of periodic arrivals, before jitter */
	double mean_ns;		/* step, for the others */
	uint32_t put;		/* updates so far */
};

fixed
source_step(const struct conf *cf, uint32_t cluster)
{
	if (cf->rate != 0)
		return ((fixed)(writer_update_bits(cf) * cf->clusters) *
		    cf->workers * 1000000000 << 32) / cf->rate;
	for (size_t i = 0; i < cf->groups; i++) {
		if (cluster >= cf->group[i].from && cluster <= cf->group[i].to)
			return (fixed)cf->group[i].interval_ns << 32;
	}
	return (fixed)cf->interval_ns << 32;
}

/* How long after now a worker of random arrivals has its next update. */
static double
gap(const struct conf *cf, const struct worker *w, struct rng *r)
{
	double mean = w->mean_ns;

	switch (cf->arrivals) {
	case POISSON:
		return mean * draw_exponential(r);
	case LOGNORMAL:
		return mean * draw_lognormal(r, 1);
	case ONOFF:	/* a train at four times the rate, then silence */
		if (rng_below(r, cf->burst) != 0)
			return mean / 4;
		return mean / 4 + mean * 0.75 * (double)cf->burst *
		    draw_exponential(r);
	case PERIODIC:
	case BURSTS:
		break;
	}
	return mean;
}

/* To the nearest ns; what no stamp could hold becomes what none can. */
static uint64_t
whole_ns(double ns)
{
	return ns < 9e18 ? (uint64_t)(ns + 0.5) : 9000000000000000000;
}

/* When w, last due at now_ns, is due again. */
static uint64_t
again(const struct conf *cf, struct worker *w, struct rng *r, uint64_t now_ns)
{
	uint64_t t;

	if (cf->arrivals != PERIODIC) {
		t = now_ns + whole_ns(gap(cf, w, r));
	} else {
		w->nominal += w->step;
		t = (uint64_t)(w->nominal >> 32);
	}
	if (cf->jitter_ns > 0)
		t += rng_below(r, cf->jitter_ns);
	return t < now_ns ? now_ns : t;		/* it never overtakes itself */
}

/* When w is due first. */
static uint64_t
first(const struct conf *cf, struct worker *w, struct rng *r)
{
	uint64_t t;

	if (cf->aligned)
		w->nominal = 0;
	else if (cf->arrivals == POISSON)
		w->nominal = (fixed)whole_ns(gap(cf, w, r)) << 32;
	else
		w->nominal = (fixed)((double)w->step * rng_double(r));
	t = (uint64_t)(w->nominal >> 32);
	return cf->jitter_ns > 0 ? t + rng_below(r, cf->jitter_ns) : t;
}

/* Divide every worker's step by its speed. */
static void
spread(const struct conf *cf, struct worker *v, size_t n, struct rng *r)
{
	double *speed = malloc(n * sizeof(*speed)), sum = 0;

	if (speed == NULL)
		err(1, "%zu workers", n);
	for (size_t i = 0; i < n; i++) {
		speed[i] = rng_uniform(r, 1 - cf->speeds, 1 + cf->speeds);
		sum += speed[i];
	}
	for (size_t i = 0; i < n; i++) {
		if (cf->rate != 0)	/* in all, as asked for */
			speed[i] *= (double)n / sum;
		v[i].step = (fixed)((double)v[i].step / speed[i]);
	}
	free(speed);
}

void
source_workers(const struct conf *cf, struct writer *w)
{
	const uint32_t workers = (uint32_t)cf->workers;
	size_t n = cf->clusters * cf->workers;
	struct worker *v = calloc(n, sizeof(*v));
	struct due *h = due_new(n);
	struct rng r = rng_seed(cf->seed + 0x776f726b6572);

	if (v == NULL || h == NULL)
		err(1, "%zu workers", n);
	for (size_t i = 0; i < n; i++)
		v[i].step = source_step(cf, (uint32_t)(i / cf->workers + 1));
	if (cf->speeds > 0)
		spread(cf, v, n, &r);
	for (size_t i = 0; i < n; i++) {
		v[i].mean_ns = (double)v[i].step * 0x1p-32;
		h[i] = due_make(first(cf, &v[i], &r), (uint32_t)i);
	}
	due_order(h, n);
	while (n > 0 && due_ns(&h[0]) < cf->duration_ns) {
		struct worker *k = &v[due_id(&h[0])];
		struct ready u = { .due_ns = due_ns(&h[0]),
		    .cluster = due_id(&h[0]) / workers + 1,
		    .worker = due_id(&h[0]) % workers,
		    .sequence = ++k->put };

		for (size_t i = 1; i <= 4 && i < n; i++)	/* one is next */
			__builtin_prefetch(&v[due_id(&h[i])]);
		u.reward = writer_reward(w, u.sequence);
		if (!writer_put(w, &u))
			break;
		if (k->put == cf->count)
			n = due_drop(h, n);
		else
			due_again(h, n, again(cf, k, &r, due_ns(&h[0])));
	}
	due_free(h);
	free(v);
}
