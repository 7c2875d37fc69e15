/* local-replay.c - keep the last experiences and draw from them */
#include "config.h"

#include <assert.h>
#include <stdlib.h>

#include "common/base/message.h"

#include "cmd/innet-agent/allocate.h"
#include "cmd/innet-agent/algo/local-replay.h"

struct local_replay
local_replay_open(size_t size, size_t wide, size_t batch_max, double alpha)
{
	struct local_replay r = {
		.size = size, .wide = wide,
		.ring = rows_open(size, wide), .by_priority = alpha >= 0,
	};

	if (!r.by_priority)
		return r;
	r.slot = allocate(batch_max, sizeof(*r.slot));
	r.prob = allocate(batch_max, sizeof(*r.prob));
	if (!priorities_open(&r.per, size, alpha))
		err(1, "no memory for the priorities of %zu experiences", size);
	return r;
}

void
local_replay_close(struct local_replay *r)
{
	rows_close(&r->ring);
	if (r->by_priority)
		priorities_close(&r->per);
	free(r->slot);
	free(r->prob);
}

void
local_replay_add(struct local_replay *r, const struct experience *e,
    float priority)
{
	const size_t at = (size_t)(r->added % r->size);

	rows_put(&r->ring, at, r->wide, e);
	r->added++;
	if (!r->by_priority)
		return;
	if (priority < 0)
		priority = r->per.highest > 0 ? r->per.highest : 1;
	priorities_insert(&r->per, at, &priority, 1);
}

/* Choose n slots and set their importance weights. */
static void
choose_slots(struct local_replay *r, struct rng *rng, size_t n, double beta,
    float *weight)
{
	const bool drawn = priorities_draw(&r->per, rng, beta, true, n, r->slot,
	    r->prob, weight);

	assert(drawn);	/* a draw cannot fail, because no priority is 0 */
	(void)drawn;
}

void
local_replay_draw(struct local_replay *r, struct rng *rng, size_t n,
    double beta, struct batch *b)
{
	const size_t have = local_replay_have(r);

	assert(have > 0);
	if (r->by_priority)
		choose_slots(r, rng, n, beta, b->weight);
	for (size_t i = 0; i < n; i++) {
		const size_t at = r->by_priority ? r->slot[i] :
		    (size_t)rng_below(rng, have);
		const uint64_t age = (r->added - 1 - at) % r->size;
		const struct experience e = rows_get(&r->ring, at, r->wide);

		rows_put(&b->rows, i, r->wide, &e);
		b->id[i] = r->added - 1 - age;
		if (!r->by_priority)
			b->weight[i] = 1;
	}
}

void
local_replay_set_priorities(struct local_replay *r, const struct batch *b,
    size_t n)
{
	for (size_t i = 0; i < n && r->by_priority; i++) {
		const uint32_t at = (uint32_t)(b->id[i] % r->size);

		if (r->added - b->id[i] <= r->size)
			priorities_set(&r->per, &at, &b->priority[i], 1);
	}
}
