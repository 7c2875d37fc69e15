/*
 * off-policy.c - learning from a replay memory: the parts that dqn and ddpg
 * share
 */
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

	return o->replay.added > 0 && l->tally->steps >= l->hyper.warmup;
}

static void
own_keep(void *self, const struct experience *e)
{
	struct offp *o = ((struct learner *)self)->self;

	local_replay_add(&o->replay, e, -1);
}

static struct batch *
own_draw(void *self)
{
	struct learner *l = self;
	struct offp *o = l->self;

	local_replay_draw(&o->replay, &l->rng, l->hyper.batch,
	    offp_beta(&l->hyper, o->lessons), &o->drawn);
	return &o->drawn;
}

static void
own_set_priorities(void *self, struct batch *b)
{
	const struct learner *l = self;
	struct offp *o = l->self;

	local_replay_set_priorities(&o->replay, b, l->hyper.batch);
}

void
offp_use(struct learner *l, const struct memory *memory)
{
	struct offp *o = l->self;

	o->memory = *memory;
}

/* Open the agent's own replay buffer. */
static void
open_own_memory(struct learner *l)
{
	struct offp *o = l->self;

	o->replay = local_replay_open(l->hyper.buffer, l->kind->obs,
	    l->hyper.batch, l->hyper.by_priority ? l->hyper.alpha : -1);
	o->drawn = batch_open(l->hyper.batch, l->kind->obs);
	o->own = true;
	offp_use(l, &(struct memory){.ready = own_ready,
			.keep = own_keep,
			.draw = own_draw,
			.set_priorities = own_set_priorities,
			.self = l});
}

static void
open_environment(struct learner *l)
{
	struct offp *o = l->self;
	const size_t wide = l->kind->obs;

	if (o->memory.self == NULL)
		open_own_memory(l);
	o->window = nstep_open(l->hyper.nstep, wide, l->hyper.gamma);
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
		local_replay_close(&o->replay);
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

/*
 * Take one step in the environment and keep the experiences that are now
 * complete.
 */
static void
step_environment(struct learner *l, const union env_action *a)
{
	struct offp *o = l->self;
	const struct env_result got = env_step(&o->env, a, o->after);
	struct experience e;
	float *seen = o->now;

	l->tally->steps++;
	o->sum += got.reward;
	nstep_push(&o->window, o->now, a, l->hyper.scale * got.reward);
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
		open_environment(l);
	do {
		o->act(l, o->now, &a);
		step_environment(l, &a);
		if (tally_over(l->tally))
			return false;
	} while (++steps < l->hyper.horizon ||
	    !o->memory.ready(o->memory.self));
	return true;
}

double
offp_beta(const struct hyperparameters *hyper, uint64_t lessons)
{
	if (lessons >= hyper->anneal)
		return 1;
	return hyper->beta + (1 - hyper->beta) * (double)lessons /
	    (double)hyper->anneal;
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
offp_prioritize(struct learner *l, const struct rows *rows, size_t n,
    float *priority)
{
	offp_miss(l, l->w, rows, n, priority);
}

/* Create the target weights as a copy of l->w, unless they exist. */
static void
open_target(struct learner *l)
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

	open_target(l);
	snapshot_part(s, o->target, l->params * sizeof(*o->target));
	snapshot_part(s, &o->lessons, sizeof(o->lessons));
}

struct batch *
offp_draw(struct learner *l)
{
	struct offp *o = l->self;
	uint64_t begun;

	open_target(l);
	begun = tally_now_ns();
	o->batch = o->memory.draw(o->memory.self);
	l->tally->replay_ns += tally_now_ns() - begun;
	return o->batch;
}

enum optimizer_status
offp_apply_gradient(struct learner *l)
{
	struct offp *o = l->self;
	const float tau = (float)l->hyper.tau;
	const uint64_t begun = tally_now_ns();
	enum optimizer_status rc;

	o->memory.set_priorities(o->memory.self, o->batch);
	l->tally->replay_ns += tally_now_ns() - begun;
	rc = learner_apply_gradient(l);
	o->lessons++;
	for (size_t i = 0; i < l->params && tau != 0; i++)
		o->target[i] += tau * (l->w[i] - o->target[i]);
	if (tau == 0 && o->lessons % l->hyper.target == 0)
		memcpy(o->target, l->w, l->params * sizeof(*l->w));
	return rc;
}
