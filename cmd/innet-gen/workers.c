/* workers.c - independent workers, each with its own arrivals; see sources.h */
#include "config.h"

#include <stdlib.h>

#include "cmd/innet-gen/sources.h"
#include "common/base/heap.h"
#include "common/base/message.h"
#include "common/traffic/arrivals.h"

typedef unsigned __int128 fixed;	/* 2^-32 ns */

struct worker {
	struct arrivals arrivals;
	uint32_t put;		/* number of updates sent so far */
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

struct arrivals_conf
source_arrivals(const struct conf *cf)
{
	return (struct arrivals_conf){ .kind = cf->arrivals,
	    .burst = cf->burst, .jitter_ns = cf->jitter_ns,
	    .aligned = cf->aligned };
}

struct arrivals *
source_pace(const struct conf *cf, size_t n, struct rng *r)
{
	struct arrivals *v = malloc(n * sizeof(*v));
	double *speed = malloc(n * sizeof(*speed));

	if (v == NULL || speed == NULL)
		err(1, "no memory for %zu workers", n);
	if (cf->speeds > 0)
		arrivals_speeds(speed, n, cf->speeds, cf->rate != 0, r);
	for (size_t i = 0; i < n; i++) {
		fixed step = source_step(cf, (uint32_t)(i / cf->workers + 1));

		v[i] = arrivals_every(cf->speeds > 0 ?
		    (fixed)((double)step / speed[i]) : step);
	}
	free(speed);
	return v;
}

void
source_workers(const struct conf *cf, struct writer *w)
{
	const uint32_t workers = (uint32_t)cf->workers;
	const struct arrivals_conf kind = source_arrivals(cf);
	size_t n = cf->clusters * cf->workers;
	struct worker *v = calloc(n, sizeof(*v));
	struct heap *h = heap_new(n);
	struct rng r = rng_seed(cf->seed + 0x776f726b6572);
	struct arrivals *pace = source_pace(cf, n, &r);

	if (v == NULL || h == NULL)
		err(1, "no memory for %zu workers", n);
	for (size_t i = 0; i < n; i++) {
		v[i].arrivals = pace[i];
		h[i] = heap_make(arrivals_first(&kind, &v[i].arrivals, &r),
		    (uint32_t)i);
	}
	free(pace);
	heap_order(h, n);
	while (n > 0 && heap_ns(&h[0]) < cf->duration_ns) {
		struct worker *k = &v[heap_id(&h[0])];
		struct ready u = { .deadline_ns = heap_ns(&h[0]),
		    .cluster = heap_id(&h[0]) / workers + 1,
		    .worker = heap_id(&h[0]) % workers,
		    .sequence = ++k->put };

		/* prefetch these workers, because one of them sends next */
		for (size_t i = 1; i <= 4 && i < n; i++)
			__builtin_prefetch(&v[heap_id(&h[i])]);
		u.reward = writer_reward(w, u.sequence);
		if (!writer_put(w, &u))
			break;
		if (k->put == cf->count)
			n = heap_drop(h, n);
		else
			heap_again(h, n, arrivals_next(&kind, &k->arrivals,
			    &r, heap_ns(&h[0])));
	}
	heap_free(h);
	free(v);
}
