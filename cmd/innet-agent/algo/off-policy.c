/* offp - learning from what is remembered: what dqn and ddpg have in common */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/innet-agent/allocate.h"
#include "cmd/innet-agent/algo/off-policy.h"

static bool
own_ready(void *self)
{
	const struct learner *l = self;
	const struct offp *o = l->self;

	return o->replay.added > 0 && l->tally->steps >= l->set.warmup;
}

static void
own_keep(void *self, const struct experience *e)
{
	struct offp *o = ((struct learner *)self)->self;

	replay_add(&o->replay, e, -1);
}

static struct batch *
own_draw(void *self)
{
	struct learner *l = self;
	struct offp *o = l->self;

	replay_draw(&o->replay, &l->rng, l->set.batch,
	    offp_beta(&l->set, o->lessons), &o->drawn);
	return &o->drawn;
}

static void
own_judge(void *self, struct batch *b)
{
	const struct learner *l = self;
	struct offp *o = l->self;

	replay_judge(&o->replay, b, l->set.batch);
}

void
offp_use(struct learner *l, const struct memory *memory)
{
	struct offp *o = l->self;

	o->memory = *memory;
}

/* A memory of our own. */
static void
own(struct learner *l)
{
	struct offp *o = l->self;

	o->replay = replay_open(l->set.buffer, l->kind->obs, l->set.batch,
	    l->set.by_priority ? l->set.alpha : -1);
	o->drawn = batch_open(l->set.batch, l->kind->obs);
	o->own = true;
	offp_use(l, &(struct memory){ .ready = own_ready, .keep = own_keep,
	    .draw = own_draw, .judge = own_judge, .self = l });
}

static void
begin(struct learner *l)
{
	struct offp *o = l->self;
	const size_t wide = l->kind->obs;

	if (o->memory.self == NULL)
		own(l);
	o->window = nstep_open(l->set.nstep, wide, l->set.gamma);
	o->now = allocate(wide, sizeof(*o->now));
	o->after = allocate(wide, sizeof(*o->after));
	o->env = env_open(l->kind, rng_u64(&l->rng));
	env_reset(&o->env, o->now);
	o->begun = true;
}

void
offp_close(struct offp *o)
{
	if (o->own) {
		replay_close(&o->replay);
		batch_close(&o->drawn);
	}
	free(o->target);
	free(o->miss);
	if (!o->begun)
		return;
	nstep_close(&o->window);
	env_close(&o->env);
	free(o->now);
	free(o->after);
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
		o->memory.keep(o->memory.self, &e);
	o->now = o->after;
	o->after = seen;
	if (!got.terminated && !got.truncated)
		return;
	tally_episode(l->tally, o->sum);
	o->sum = 0;
	env_reset(&o->env, o->now);
}

bool
offp_play(struct learner *l)
{
	struct offp *o = l->self;
	union env_action a;
	uint64_t steps = 0;

	if (!o->begun)
		begin(l);
	do {
		o->act(l, o->now, &a);
		step(l, &a);
		if (tally_over(l->tally))
			return false;
	} while (++steps < l->set.horizon ||
	    !o->memory.ready(o->memory.self));
	return true;
}

double
offp_beta(const struct settings *set, uint64_t lessons)
{
	if (lessons >= set->anneal)
		return 1;
	return set->beta + (1 - set->beta) * (double)lessons /
	    (double)set->anneal;
}

float
offp_priority(float miss)
{
	return fminf(fabsf(miss), OFFP_PRIORITY_MOST) + OFFP_PRIORITY_LEAST;
}

void
offp_miss(struct learner *l, const float *target, const struct rows *rows,
    size_t n, float *priority)
{
	const struct offp *o = l->self;

	o->misses(l, target, rows, n);
	for (size_t i = 0; i < n; i++)
		priority[i] = offp_priority(o->miss[i]);
}

void
offp_judge(struct learner *l, const struct rows *rows, size_t n,
    float *priority)
{
	offp_miss(l, l->w, rows, n, priority);
}

/* There are target weights: at first the learner's own. */
static void
aim(struct learner *l)
{
	struct offp *o = l->self;

	if (o->target != NULL)
		return;
	o->target = allocate(l->params, sizeof(*o->target));
	memcpy(o->target, l->w, l->params * sizeof(*l->w));
}

void
offp_parts(struct learner *l, struct snapshot *s)
{
	struct offp *o = l->self;

	aim(l);
	snapshot_part(s, o->target, l->params * sizeof(*o->target));
	snapshot_part(s, &o->lessons, sizeof(o->lessons));
}

struct batch *
offp_draw(struct learner *l)
{
	struct offp *o = l->self;
	uint64_t begun;

	aim(l);
	begun = tally_now_ns();
	o->batch = o->memory.draw(o->memory.self);
	l->tally->replay_ns += tally_now_ns() - begun;
	return o->batch;
}

enum ascent_result
offp_rise(struct learner *l)
{
	struct offp *o = l->self;
	const float tau = (float)l->set.tau;
	const uint64_t begun = tally_now_ns();
	enum ascent_result rc;

	o->memory.judge(o->memory.self, o->batch);
	l->tally->replay_ns += tally_now_ns() - begun;
	rc = learner_apply_gradient(l);
	o->lessons++;
	for (size_t i = 0; i < l->params && tau != 0; i++)
		o->target[i] += tau * (l->w[i] - o->target[i]);
	if (tau == 0 && o->lessons % l->set.target == 0)
		memcpy(o->target, l->w, l->params * sizeof(*l->w));
	return rc;
}
