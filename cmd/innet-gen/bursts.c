/*
 * bursts.c - clusters whose workers send bursts through one port; see sources.h
 */
#include "config.h"

#include <stdlib.h>

#include "cmd/innet-gen/sources.h"
#include "common/base/heap.h"
#include "common/base/message.h"
#include "common/traffic/arrivals.h"

struct cluster {
	struct arrivals arrivals;	/* of the cluster's bursts */
	uint32_t put;	/* number of updates that each worker has sent */
};

/* A burst: its cluster and time, and the writer for its updates. */
struct burst {
	struct writer *w;
	struct ready u;
};

/* Pass one update of worker k to the writer. */
static bool
put_update(void *to, uint32_t k, uint32_t sequence)
{
	struct burst *b = to;

	b->u.worker = k;
	b->u.sequence = sequence;
	b->u.reward = writer_reward(b->w, sequence);
	return writer_put(b->w, &b->u);
}

void
source_bursts(const struct conf *cf, struct writer *w)
{
	const struct arrivals_conf kind = source_arrivals(cf);
	size_t n = cf->clusters;
	struct cluster *v = calloc(n, sizeof(*v));
	struct heap *h = heap_new(n);
	struct rng r = rng_seed(cf->seed + 0x627572737473);

	if (v == NULL || h == NULL)
		err(1, "no memory for %zu clusters", n);
	for (size_t i = 0; i < n; i++) {
		v[i].arrivals = arrivals_every(source_step(cf,
		    (uint32_t)i + 1) * cf->burst);
		h[i] = heap_make(arrivals_first(&kind, &v[i].arrivals, &r),
		    (uint32_t)i);
	}
	heap_order(h, n);
	while (n > 0 && heap_ns(&h[0]) < cf->duration_ns) {
		struct cluster *c = &v[heap_id(&h[0])];
		struct burst b = { w, { .deadline_ns = heap_ns(&h[0]),
		    .cluster = heap_id(&h[0]) + 1 } };
		uint64_t left = cf->count - c->put, t;

		if (left > cf->burst)
			left = cf->burst;
		if (!arrivals_put_burst(&r, (uint32_t)cf->workers, c->put + 1,
		    (uint32_t)left, put_update, &b))
			break;
		c->put += (uint32_t)left;
		t = arrivals_next(&kind, &c->arrivals, &r, b.u.deadline_ns);
		if (c->put == cf->count)
			n = heap_drop(h, n);
		else
			heap_again(h, n, t);
	}
	heap_free(h);
	free(v);
}
