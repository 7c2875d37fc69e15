/* env.c - the part of environments that all kinds share */
#include "config.h"

#include <assert.h>
#include <stdlib.h>

#include "common/base/message.h"

#include "cmd/innet-agent/env/env.h"

struct env
env_open(const struct env_kind *kind, uint64_t seed)
{
	struct env e = { .kind = kind, .rng = rng_seed(seed) };

	e.state = calloc(1, kind->state_bytes);
	if (e.state == NULL)
		err(1, "%s", kind->name);
	if (kind->begin != NULL)
		kind->begin(e.state, seed);
	return e;
}

void
env_close(struct env *e)
{
	if (e->state != NULL && e->kind->end != NULL)
		e->kind->end(e->state);
	free(e->state);
	*e = (struct env){ 0 };
}

void
env_reset(struct env *e, float *obs)
{
	e->steps = 0;
	e->kind->reset(e->state, &e->rng, obs);
}

struct env_result
env_step(struct env *e, const union env_action *action, float *obs)
{
	struct env_result r = { 0 };

	assert(e->kind->actions == 0 || action->index < e->kind->actions);
	r.reward = e->kind->step(e->state, &e->rng, action, obs,
	    &r.terminated);
	e->steps++;
	r.truncated = e->kind->limit != 0 && e->steps >= e->kind->limit;
	return r;
}

void
env_parts(struct env *e, struct snapshot *s)
{
	snapshot_part(s, &e->rng, sizeof(e->rng));
	snapshot_part(s, &e->steps, sizeof(e->steps));
	if (e->kind->parts != NULL)
		e->kind->parts(e->state, s);
	else
		snapshot_part(s, e->state, e->kind->state_bytes);
}
