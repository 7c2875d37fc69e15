/* replay - the last experiences, and a fair draw from them */
#include "config.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/innet-agent/learner.h"
#include "cmd/innet-agent/replay.h"

static struct rows
rows_open(size_t n, size_t wide)
{
	return (struct rows){
		.obs = learner_room(n, wide * sizeof(float)),
		.next = learner_room(n, wide * sizeof(float)),
		.action = learner_room(n, sizeof(union env_action)),
		.reward = learner_room(n, sizeof(float)),
		.go = learner_room(n, sizeof(float)),
	};
}

static void
rows_close(struct rows *r)
{
	free(r->obs);
	free(r->next);
	free(r->action);
	free(r->reward);
	free(r->go);
}

static void
put(struct rows *r, size_t i, size_t wide, const struct experience *e)
{
	memcpy(r->obs + i * wide, e->obs, wide * sizeof(*r->obs));
	memcpy(r->next + i * wide, e->next, wide * sizeof(*r->next));
	r->action[i] = e->action;
	r->reward[i] = e->reward;
	r->go[i] = e->go;
}

static struct experience
get(const struct rows *r, size_t i, size_t wide)
{
	return (struct experience){
		.obs = r->obs + i * wide, .next = r->next + i * wide,
		.action = r->action[i], .reward = r->reward[i],
		.go = r->go[i],
	};
}

struct replay
replay_open(size_t size, size_t wide, size_t batch_max)
{
	return (struct replay){
		.size = size, .wide = wide,
		.ring = rows_open(size, wide),
		.batch = rows_open(batch_max, wide),
	};
}

void
replay_close(struct replay *r)
{
	rows_close(&r->ring);
	rows_close(&r->batch);
}

void
replay_add(struct replay *r, const struct experience *e)
{
	put(&r->ring, r->at, r->wide, e);
	r->at = (r->at + 1) % r->size;
	r->have += r->have < r->size;
}

const struct rows *
replay_draw(struct replay *r, struct rng *rng, size_t n)
{
	assert(r->have > 0);
	for (size_t i = 0; i < n; i++) {
		const struct experience e = get(&r->ring,
		    rng_below(rng, r->have), r->wide);

		put(&r->batch, i, r->wide, &e);
	}
	return &r->batch;
}
