/* Whole clusters that burst through one port: sources.h. */
#include "config.h"

#include <err.h>
#include <stdlib.h>

#include "cmd/innet-gen/due.h"
#include "cmd/innet-gen/sources.h"

/*
 * Olaf's Table 1 does not say how its traffic was made.  These three give
 * the counts and merges of a search for traffic that reproduces it: clusters
 * begin in the first part of their cycle; in most bursts all workers take
 * turns, in the rest one of them sends before the others, or after them.
 */
static const double phase_window = 0.82;
static const double leads = 0.305, trails = 0.25;

struct cluster {
	unsigned __int128 nominal, step;	/* of bursts, in 2^-32 ns */
	uint32_t put;				/* updates per worker */
};

/* One update of worker k. */
static bool
put_one(struct writer *w, struct ready *u, uint32_t k, uint32_t sequence)
{
	u->worker = k;
	u->sequence = sequence;
	u->reward = writer_reward(w, sequence);
	return writer_put(w, u);
}

/* n updates of worker k in a row. */
static bool
put_train(struct writer *w, struct ready *u, uint32_t k, uint32_t from,
    uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (!put_one(w, u, k, from + i))
			return false;
	}
	return true;
}

/* n updates of each worker but the one out of step. */
static bool
put_turns(struct writer *w, struct ready *u, uint32_t alone, uint32_t from,
    uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t k = 0; k < w->cf->workers; k++) {
			if (k != alone && !put_one(w, u, k, from + i))
				return false;
		}
	}
	return true;
}

static bool
put_burst(struct writer *w, struct rng *r, struct ready *u, uint32_t from,
    uint32_t n)
{
	double x = rng_double(r);
	uint32_t alone = (uint32_t)rng_below(r, w->cf->workers);

	if (x < leads)
		return put_train(w, u, alone, from, n) &&
		    put_turns(w, u, alone, from, n);
	if (x < leads + trails)
		return put_turns(w, u, alone, from, n) &&
		    put_train(w, u, alone, from, n);
	return put_turns(w, u, UINT32_MAX, from, n);
}

static uint64_t
jittered(const struct conf *cf, const struct cluster *c, struct rng *r)
{
	uint64_t t = (uint64_t)(c->nominal >> 32);

	return cf->jitter_ns > 0 ? t + rng_below(r, cf->jitter_ns) : t;
}

void
source_bursts(const struct conf *cf, struct writer *w)
{
	size_t n = cf->clusters;
	struct cluster *v = calloc(n, sizeof(*v));
	struct due *h = due_new(n);
	struct rng r = rng_seed(cf->seed + 0x627572737473);
	uint64_t t;

	if (v == NULL || h == NULL)
		err(1, "%zu clusters", n);
	for (size_t i = 0; i < n; i++) {
		v[i].step = source_step(cf, (uint32_t)i + 1) * cf->burst;
		if (!cf->aligned)
			v[i].nominal = (unsigned __int128)(phase_window *
			    rng_double(&r) * (double)v[i].step);
		h[i] = due_make(jittered(cf, &v[i], &r), (uint32_t)i);
	}
	due_order(h, n);
	while (n > 0 && due_ns(&h[0]) < cf->duration_ns) {
		struct cluster *c = &v[due_id(&h[0])];
		struct ready u = { .due_ns = due_ns(&h[0]),
		    .cluster = due_id(&h[0]) + 1 };
		uint64_t left = cf->count - c->put;

		if (left > cf->burst)
			left = cf->burst;
		if (!put_burst(w, &r, &u, c->put + 1, (uint32_t)left))
			break;
		c->put += (uint32_t)left;
		c->nominal += c->step;
		t = jittered(cf, c, &r);
		if (c->put == cf->count)
			n = due_drop(h, n);
		else
			due_again(h, n, t < due_ns(&h[0]) ? due_ns(&h[0]) : t);
	}
	due_free(h);
	free(v);
}
