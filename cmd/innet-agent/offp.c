/* offp - learning from what is remembered: what dqn and ddpg have in common */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/innet-agent/offp.h"

static void
begin(struct learner *l)
{
	struct offp *o = l->self;
	const size_t wide = l->kind->obs;

	o->replay = replay_open(l->set.buffer, wide, l->set.batch);
	o->window = nstep_open(l->set.nstep, wide, l->set.gamma);
	o->now = learner_room(wide, sizeof(*o->now));
	o->after = learner_room(wide, sizeof(*o->after));
	o->target = learner_room(l->params, sizeof(*o->target));
	o->env = env_open(l->kind, rng_u64(&l->rng));
	env_reset(&o->env, o->now);
	o->begun = true;
}

void
offp_close(struct offp *o)
{
	if (!o->begun)
		return;
	replay_close(&o->replay);
	nstep_close(&o->window);
	env_close(&o->env);
	free(o->now);
	free(o->after);
	free(o->target);
}

/* One step of the environment, and what is remembered of it. */
static void
step(struct learner *l, const union env_action *a)
{
	struct offp *o = l->self;
	const struct env_result got = env_step(&o->env, a, o->after);
	struct experience e;
	float *seen = o->now;

	l->tally->steps++;
	o->sum += got.reward;
	nstep_push(&o->window, o->now, a, l->set.scale * got.reward);
	while (nstep_pull(&o->window, got, o->after, &e))
		replay_add(&o->replay, &e);
	o->now = o->after;
	o->after = seen;
	if (!got.terminated && !got.truncated)
		return;
	tally_episode(l->tally, o->sum);
	o->sum = 0;
	env_reset(&o->env, o->now);
}

bool
offp_play(struct learner *l, void (*act)(struct learner *l, const float *obs,
    union env_action *a))
{
	struct offp *o = l->self;
	union env_action a;
	uint64_t steps = 0;

	if (!o->begun)
		begin(l);
	do {
		act(l, o->now, &a);
		step(l, &a);
		if (tally_over(l->tally))
			return false;
	} while (++steps < l->set.horizon || o->replay.have == 0 ||
	    l->tally->steps < l->set.warmup);
	return true;
}

const struct rows *
offp_draw(struct learner *l)
{
	struct offp *o = l->self;

	if (o->lessons == 0)
		memcpy(o->target, l->w, l->params * sizeof(*l->w));
	return replay_draw(&o->replay, &l->rng, l->set.batch);
}

enum ascent_result
offp_rise(struct learner *l)
{
	struct offp *o = l->self;
	const enum ascent_result rc = learner_rise(l);
	const float tau = (float)l->set.tau;

	o->lessons++;
	for (size_t i = 0; i < l->params && tau != 0; i++)
		o->target[i] += tau * (l->w[i] - o->target[i]);
	if (tau == 0 && o->lessons % l->set.target == 0)
		memcpy(o->target, l->w, l->params * sizeof(*l->w));
	return rc;
}
