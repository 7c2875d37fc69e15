/*
 * ddpg.c - deep deterministic policy gradient (Lillicrap et al., 2016)
 *
 * The vector holds the actor's weights, followed by the critic's.  Internally,
 * actions are between -1 and 1, because the actor applies the hyperbolic
 * tangent to its outputs.  The inputs of the critic are the observation,
 * followed by the action.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/innet-agent/allocate.h"
#include "cmd/innet-agent/net/net.h"
#include "cmd/innet-agent/algo/off-policy.h"
#include "cmd/innet-agent/algo/policy.h"
#include "common/base/draw.h"

struct ddpg {
	struct offp offp;
	struct net actor, critic;
	/* The following arrays have one row for each row of a batch: */
	float *act;		/* dims floats: the actor's action, -1 to 1 */
	float *in;		/* obs + dims floats: the critic's inputs */
	/* Gradients with respect to q, to `in` and to `act`. */
	float *by_q, *by_in, *by_act;
	/*
	 * The weights of the critic after its own step, followed by work space.
	 */
	float *ahead;
};

static void
close_ddpg(struct learner *l)
{
	struct ddpg *d = l->self;

	offp_close(&d->offp);
	net_close(&d->actor);
	net_close(&d->critic);
	free(d->act);
	free(d->in);
	free(d->by_q);
	free(d->by_in);
	free(d->by_act);
	free(d->ahead);
	free(d);
}

static void
init_weights(struct learner *l, float *w, struct rng *rng)
{
	const struct ddpg *d = l->self;

	net_init(&d->actor, w, rng);
	net_init(&d->critic, w + d->actor.params, rng);
}

/*
 * Compute the actions, from -1 to 1, that the actor takes in n states.  Write
 * them to d->act.
 */
static void
actor_actions(struct learner *l, const float *w, const float *obs, size_t n)
{
	struct ddpg *d = l->self;
	const size_t all = n * l->kind->dims;

	memcpy(d->act, net_forward(&d->actor, w, obs, n),
	    all * sizeof(*d->act));
	l->kern->tanh(d->act, all);
}

static void
choose_greedily(struct learner *l, const float *w, const float *obs,
    union env_action *a)
{
	const struct ddpg *d = l->self;
	const float lo = l->kind->low, hi = l->kind->high;

	actor_actions(l, w, obs, 1);
	for (size_t i = 0; i < l->kind->dims; i++)
		a->x[i] = (hi + lo) / 2 + (hi - lo) / 2 * d->act[i];
}

/*
 * During warmup, choose a random action.  After that, choose the actor's action
 * plus noise.
 */
static void
choose_action(struct learner *l, const float *obs, union env_action *a)
{
	const float lo = l->kind->low, hi = l->kind->high;
	const double noise = l->hyper.explore * (hi - lo);
	const bool cold = l->tally->steps < l->hyper.warmup;

	if (!cold)
		choose_greedily(l, l->w, obs, a);
	for (size_t i = 0; i < l->kind->dims; i++) {
		if (cold)
			a->x[i] = (float)rng_uniform(&l->rng, lo, hi);
		else
			a->x[i] += (float)(noise * draw_normal(&l->rng));
	}
	*a = policy_within(l->kind, *a);
}

/*
 * Return the critic's values for the n actions in d->act, if they are taken in
 * the states `obs`.
 */
static const float *
critic_value(struct learner *l, const float *critic, const float *obs, size_t n)
{
	struct ddpg *d = l->self;
	const size_t wide = l->kind->obs, dims = l->kind->dims;
	float *in = d->in;

	for (size_t i = 0; i < n; i++) {
		memcpy(in, obs + i * wide, wide * sizeof(*in));
		memcpy(in + wide, d->act + i * dims, dims * sizeof(*in));
		in += wide + dims;
	}
	return net_forward(&d->critic, critic, d->in, n);
}

/*
 * Implement offp.misses().  After the call, d->critic holds the values for obs.
 */
static void
compute_misses(struct learner *l, const float *target, const struct rows *rows,
    size_t n)
{
	struct ddpg *d = l->self;
	const size_t dims = l->kind->dims;
	const float lo = l->kind->low, hi = l->kind->high;
	const float *q;

	actor_actions(l, target, rows->next, n);
	q = critic_value(l, target + d->actor.params, rows->next, n);
	for (size_t i = 0; i < n; i++)
		d->offp.miss[i] = rows->reward[i] + rows->go[i] * q[i];
	for (size_t i = 0; i < n * dims; i++)
		d->act[i] = (rows->action[i / dims].x[i % dims] -
		    (hi + lo) / 2) / ((hi - lo) / 2);
	q = critic_value(l, l->w + d->actor.params, rows->obs, n);
	for (size_t i = 0; i < n; i++)
		d->offp.miss[i] -= q[i];
}

/*
 * Compute the gradient that moves the critic towards the rewards plus the
 * values computed with the target weights.
 */
static void
learn_critic(struct learner *l, struct batch *b)
{
	struct ddpg *d = l->self;
	const size_t n = l->hyper.batch;

	offp_miss(l, d->offp.target, &b->rows, n, b->priority);
	for (size_t i = 0; i < n; i++)
		d->by_q[i] = b->weight[i] * d->offp.miss[i] / (float)n;
	net_back(&d->critic, l->w + d->actor.params, d->in, n, d->by_q,
	    l->grad + d->actor.params, NULL);
}

/*
 * Return the critic that the actor's gradient follows.  This is either the
 * current critic (Meng's lagged critic), or the critic as it will be after its
 * own step (Lillicrap's order).
 */
static const float *
critic_to_follow(struct learner *l)
{
	struct ddpg *d = l->self;
	const size_t n = d->critic.params;

	if (l->hyper.lagged != 0 || l->own_optimizer == NULL)
		return l->w + d->actor.params;
	optimizer_peek(l->own_optimizer, l->w, l->grad, d->actor.params, n,
	    d->ahead, d->ahead + n);
	return d->ahead;
}

/* Compute the gradient that moves the actor towards actions of higher value. */
static void
learn_actor(struct learner *l, const struct rows *rows)
{
	const float *critic = critic_to_follow(l);
	struct ddpg *d = l->self;
	const size_t n = l->hyper.batch, dims = l->kind->dims;
	const size_t in = l->kind->obs + dims;

	actor_actions(l, l->w, rows->obs, n);
	critic_value(l, critic, rows->obs, n);
	for (size_t i = 0; i < n; i++)
		d->by_q[i] = 1 / (float)n;
	net_back(&d->critic, critic, d->in, n, d->by_q, NULL, d->by_in);
	for (size_t i = 0; i < n * dims; i++)
		d->by_act[i] = (1 - d->act[i] * d->act[i]) *
		    d->by_in[i / dims * in + l->kind->obs + i % dims];
	net_back(&d->actor, l->w, rows->obs, n, d->by_act, l->grad, NULL);
}

static enum optimizer_status
learn_batch(struct learner *l)
{
	struct batch *b = offp_draw(l);

	if (b == NULL)
		return OPTIMIZER_END;
	learn_critic(l, b);
	learn_actor(l, &b->rows);
	return offp_apply_gradient(l);
}

static void
open_ddpg(struct learner *l)
{
	const size_t n = l->hyper.batch, obs = l->kind->obs;
	const size_t dims = l->kind->dims;
	struct ddpg *d = allocate(1, sizeof(*d));

	d->actor = net_open(l->kern, &(struct net_shape){ obs, l->hyper.hidden,
	    dims, NET_RELU, 0.1 }, n);
	d->critic = net_open(l->kern, &(struct net_shape){ obs + dims,
	    l->hyper.hidden, 1, NET_RELU, 1 }, n);
	d->act = allocate(n * dims, sizeof(float));
	d->in = allocate(n * (obs + dims), sizeof(float));
	d->by_q = allocate(n, sizeof(float));
	d->by_in = allocate(n * (obs + dims), sizeof(float));
	d->by_act = allocate(n * dims, sizeof(float));
	d->ahead = allocate(3 * d->critic.params, sizeof(float));
	d->offp.act = choose_action;
	d->offp.misses = compute_misses;
	d->offp.miss = allocate(n, sizeof(float));
	l->self = d;
	l->params = d->actor.params + d->critic.params;
}

const struct algo algo_ddpg = {
	.name = "ddpg",
	.continuous = true,
	.open = open_ddpg,
	.close = close_ddpg,
	.init = init_weights,
	.parts = offp_parts,
	.play = offp_play,
	.learn = learn_batch,
	.prioritize = offp_prioritize,
	.greedy = choose_greedily,
};
