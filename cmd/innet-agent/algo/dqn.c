/*
 * dqn.c - deep Q-learning (Mnih et al., 2015), optionally double (van Hasselt
 * et al., 2016) and dueling (Wang et al., 2016)
 *
 * The loss is half the squared error.  With the Huber loss of the paper and
 * rewards that were not scaled, the values diverged.
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
	struct net net, target_net;	/* networks for l->w and for the target
					 * weights */
	float *q;		/* values of all actions in one state */
	size_t *best;		/* best next action for each row of a batch */
	float *by_out;		/* gradient of each output, for each row */
};

/*
 * Return the values of all actions in one state, computed from the net's
 * outputs.
 */
static const float *
action_values(const struct learner *l, const float *out, float *q)
{
	const size_t n = l->kind->actions;
	float mean = 0;

	if (l->hyper.dueling == 0)
		return out;
	for (size_t i = 0; i < n; i++)
		mean += out[i] / (float)n;
	for (size_t i = 0; i < n; i++)
		q[i] = out[n] + out[i] - mean;
	return q;
}

/*
 * Propagate a gradient back through action_values(): `pull` is the gradient
 * with respect to the value of action a.  Set by_out to the gradient with
 * respect to each output.
 */
static void
spread_pull(const struct learner *l, size_t a, float pull, float *by_out)
{
	const size_t n = l->kind->actions;

	for (size_t i = 0; i < n; i++)
		by_out[i] = i == a ? pull : 0;
	if (l->hyper.dueling == 0)
		return;
	for (size_t i = 0; i < n; i++)
		by_out[i] -= pull / (float)n;
	by_out[n] = pull;
}

/*
 * Return the best action for the outputs in one state.  If several actions are
 * equally good, return the first.
 */
static size_t
best_action(const struct learner *l, const float *out)
{
	union env_action a;

	/* A dueling net adds the same number to all outputs. */
	policy_best(l->kind, out, &a);
	return a.index;
}

static void
close_dqn(struct learner *l)
{
	struct dqn *d = l->self;

	offp_close(&d->offp);
	net_close(&d->net);
	net_close(&d->target_net);
	free(d->q);
	free(d->best);
	free(d->by_out);
	free(d);
}

static void
init_weights(struct learner *l, float *w, struct rng *rng)
{
	const struct dqn *d = l->self;

	net_init(&d->net, w, rng);
}

static void
choose_greedily(struct learner *l, const float *w, const float *obs,
    union env_action *a)
{
	struct dqn *d = l->self;

	a->index = (unsigned)best_action(l, net_forward(&d->net, w, obs, 1));
}

/*
 * Choose a random action with a probability that falls from 1 to hyper.explore.
 * Otherwise choose the best action.
 */
static void
choose_action(struct learner *l, const float *obs, union env_action *a)
{
	const struct hyperparameters *s = &l->hyper;
	double chance = s->explore;

	if (l->tally->steps < s->explore_steps)
		chance = 1 - (1 - s->explore) * (double)l->tally->steps /
		    (double)s->explore_steps;
	if (rng_double(&l->rng) < chance)
		a->index = (unsigned)rng_below(&l->rng, l->kind->actions);
	else
		choose_greedily(l, l->w, obs, a);
}

/*
 * For each row, choose the best action in the state after the row's action.
 * With double Q-learning, the values are computed with l->w.  Otherwise they
 * are the outputs `after` of the target net.
 */
static void
choose_next_actions(struct learner *l, const struct rows *rows, size_t n,
    const float *after)
{
	struct dqn *d = l->self;
	const size_t out = d->net.shape.out;

	if (l->hyper.twin != 0)
		after = net_forward(&d->net, l->w, rows->next, n);
	for (size_t i = 0; i < n; i++)
		d->best[i] = best_action(l, after + i * out);
}

/*
 * Implement offp.misses().  After the call, d->net holds the outputs for obs.
 */
static void
compute_misses(struct learner *l, const float *target, const struct rows *rows,
    size_t n)
{
	struct dqn *d = l->self;
	const size_t out = d->net.shape.out;
	const float *after = net_forward(&d->target_net, target, rows->next, n);
	const float *now;

	choose_next_actions(l, rows, n, after);
	now = net_forward(&d->net, l->w, rows->obs, n);
	for (size_t i = 0; i < n; i++) {
		const unsigned a = rows->action[i].index;
		const float next = action_values(l, after + i * out,
		    d->q)[d->best[i]];
		const float goal = rows->reward[i] + rows->go[i] * next;

		d->offp.miss[i] =
		    goal - action_values(l, now + i * out, d->q)[a];
	}
}

static enum optimizer_status
learn_batch(struct learner *l)
{
	struct dqn *d = l->self;
	struct batch *b = offp_draw(l);
	const size_t n = l->hyper.batch, out = d->net.shape.out;

	if (b == NULL)
		return OPTIMIZER_END;
	offp_miss(l, d->offp.target, &b->rows, n, b->priority);
	for (size_t i = 0; i < n; i++)
		spread_pull(l, b->rows.action[i].index, b->weight[i] *
		    d->offp.miss[i] / (float)n, d->by_out + i * out);
	net_back(&d->net, l->w, b->rows.obs, n, d->by_out, l->grad, NULL);
	return offp_apply_gradient(l);
}

static void
open_dqn(struct learner *l)
{
	struct dqn *d = allocate(1, sizeof(*d));
	const struct net_shape shape = {
		.in = l->kind->obs, .hidden = l->hyper.hidden,
		.out = l->kind->actions + (l->hyper.dueling != 0),
		.activation = NET_RELU, .last = 1,
	};

	d->net = net_open(l->kern, &shape, l->hyper.batch);
	d->target_net = net_open(l->kern, &shape, l->hyper.batch);
	d->q = allocate(l->kind->actions, sizeof(*d->q));
	d->best = allocate(l->hyper.batch, sizeof(*d->best));
	d->by_out = allocate(l->hyper.batch * shape.out,
	    sizeof(*d->by_out));
	d->offp.act = choose_action;
	d->offp.misses = compute_misses;
	d->offp.miss = allocate(l->hyper.batch, sizeof(float));
	l->self = d;
	l->params = d->net.params;
}

const struct algo algo_dqn = {
	.name = "dqn",
	.discrete = true,
	.open = open_dqn,
	.close = close_dqn,
	.init = init_weights,
	.parts = offp_parts,
	.play = offp_play,
	.learn = learn_batch,
	.prioritize = offp_prioritize,
	.greedy = choose_greedily,
};
