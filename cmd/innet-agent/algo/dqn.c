/*
 * algo-dqn - deep Q-learning (Mnih et al., 2015), by choice double (van
 * Hasselt et al., 2016) and dueling (Wang et al., 2016)
 *
 * The loss is half the squared error: with Huber's, as in the paper, and
 * rewards as they come, values ran away.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/innet-agent/allocate.h"
#include "cmd/innet-agent/net/net.h"
#include "cmd/innet-agent/algo/off-policy.h"
#include "cmd/innet-agent/algo/policy.h"

struct dqn {
	struct offp offp;
	struct net net, still;	/* by l->w and by the target weights */
	float *q;		/* what each action is worth in one state */
	size_t *best;		/* by row of a batch, in the next state */
	float *by_out;		/* by row, for each output */
};

/* One state's values: from the net's outputs to what actions are worth. */
static const float *
worth(const struct learner *l, const float *out, float *q)
{
	const size_t n = l->kind->actions;
	float mean = 0;

	if (l->set.dueling == 0)
		return out;
	for (size_t i = 0; i < n; i++)
		mean += out[i] / (float)n;
	for (size_t i = 0; i < n; i++)
		q[i] = out[n] + out[i] - mean;
	return q;
}

/* And back: how the outputs should change for action a to rise by pull. */
static void
pull_on(const struct learner *l, size_t a, float pull, float *by_out)
{
	const size_t n = l->kind->actions;

	for (size_t i = 0; i < n; i++)
		by_out[i] = i == a ? pull : 0;
	if (l->set.dueling == 0)
		return;
	for (size_t i = 0; i < n; i++)
		by_out[i] -= pull / (float)n;
	by_out[n] = pull;
}

/* The best action by one state's outputs, the first of equals. */
static size_t
best(const struct learner *l, const float *out)
{
	union env_action a;

	policy_best(l->kind, out, &a);	/* dueling shifts all by the same */
	return a.index;
}

static void
close_(struct learner *l)
{
	struct dqn *d = l->self;

	offp_close(&d->offp);
	net_close(&d->net);
	net_close(&d->still);
	free(d->q);
	free(d->best);
	free(d->by_out);
	free(d);
}

static void
init(struct learner *l, float *w, struct rng *rng)
{
	const struct dqn *d = l->self;

	net_init(&d->net, w, rng);
}

static void
greedy(struct learner *l, const float *w, const float *obs,
    union env_action *a)
{
	struct dqn *d = l->self;

	a->index = (unsigned)best(l, net_forward(&d->net, w, obs, 1));
}

/* Anything, with a chance that falls from 1 to set.explore; or the best. */
static void
act(struct learner *l, const float *obs, union env_action *a)
{
	const struct settings *s = &l->set;
	double chance = s->explore;

	if (l->tally->steps < s->explore_steps)
		chance = 1 - (1 - s->explore) * (double)l->tally->steps /
		    (double)s->explore_steps;
	if (rng_double(&l->rng) < chance)
		a->index = (unsigned)rng_below(&l->rng, l->kind->actions);
	else
		greedy(l, l->w, obs, a);
}

/* Which action to take after each row: by w itself, or by the target. */
static void
choose(struct learner *l, const struct rows *rows, size_t n,
    const float *after)
{
	struct dqn *d = l->self;
	const size_t out = d->net.shape.out;

	if (l->set.twin != 0)
		after = net_forward(&d->net, l->w, rows->next, n);
	for (size_t i = 0; i < n; i++)
		d->best[i] = best(l, after + i * out);
}

/* offp.misses; d->net was last at obs. */
static void
misses(struct learner *l, const float *target, const struct rows *rows,
    size_t n)
{
	struct dqn *d = l->self;
	const size_t out = d->net.shape.out;
	const float *after = net_forward(&d->still, target, rows->next, n);
	const float *now;

	choose(l, rows, n, after);
	now = net_forward(&d->net, l->w, rows->obs, n);
	for (size_t i = 0; i < n; i++) {
		const unsigned a = rows->action[i].index;
		const float next = worth(l, after + i * out,
		    d->q)[d->best[i]];
		const float goal = rows->reward[i] + rows->go[i] * next;

		d->offp.miss[i] = goal - worth(l, now + i * out, d->q)[a];
	}
}

static enum ascent_result
learn(struct learner *l)
{
	struct dqn *d = l->self;
	struct batch *b = offp_draw(l);
	const size_t n = l->set.batch, out = d->net.shape.out;

	if (b == NULL)
		return ASCENT_END;
	offp_miss(l, d->offp.target, &b->rows, n, b->priority);
	for (size_t i = 0; i < n; i++)
		pull_on(l, b->rows.action[i].index, b->weight[i] *
		    d->offp.miss[i] / (float)n, d->by_out + i * out);
	net_back(&d->net, l->w, b->rows.obs, n, d->by_out, l->grad, NULL);
	return offp_rise(l);
}

static void
open_(struct learner *l)
{
	struct dqn *d = allocate(1, sizeof(*d));
	const struct net_shape shape = {
		.in = l->kind->obs, .hidden = l->set.hidden,
		.out = l->kind->actions + (l->set.dueling != 0),
		.bend = NET_RELU, .last = 1,
	};

	d->net = net_open(l->kern, &shape, l->set.batch);
	d->still = net_open(l->kern, &shape, l->set.batch);
	d->q = allocate(l->kind->actions, sizeof(*d->q));
	d->best = allocate(l->set.batch, sizeof(*d->best));
	d->by_out = allocate(l->set.batch * shape.out,
	    sizeof(*d->by_out));
	d->offp.act = act;
	d->offp.misses = misses;
	d->offp.miss = allocate(l->set.batch, sizeof(float));
	l->self = d;
	l->params = d->net.params;
}

const struct algo algo_dqn = {
	.name = "dqn",
	.discrete = true,
	.open = open_,
	.close = close_,
	.init = init,
	.parts = offp_parts,
	.play = offp_play,
	.learn = learn,
	.judge = offp_judge,
	.greedy = greedy,
};
