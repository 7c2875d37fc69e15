/* env - the table of environments, and what they have in common */
#include "config.h"

#include <assert.h>
#include <err.h>
#include <stdlib.h>

#include "cmd/innet-agent/env/env.h"

const struct env_kind *const env_kinds[] = {
	&env_cartpole,
	&env_mountaincar,
	&env_mountaincar_continuous,
	&env_acrobot,
	&env_pendulum,
	&env_breakout,
	&env_lunarlander,
	&env_lunarlander_continuous,
#ifdef HAVE_BOX2D
	&env_lunarlander_box2d,
	&env_lunarlander_continuous_box2d,
#endif
	NULL
};

const char *const *
env_names(void)
{
	static const char *names[sizeof(env_kinds) / sizeof(*env_kinds)];

	for (size_t i = 0; env_kinds[i] != NULL; i++)
		names[i] = env_kinds[i]->name;
	return names;
}

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
