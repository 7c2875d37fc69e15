/*
 * actor-critic.h - the weights of an actor, a critic and a policy in one vector
 *
 * The vector that is sent and saved holds the actor's weights and then the
 * critic's.  If actions are continuous, the logarithms of the policy's standard
 * deviations follow.
 */
#ifndef INNET_AGENT_ALGO_ACTOR_CRITIC_H
#define INNET_AGENT_ALGO_ACTOR_CRITIC_H

#include "cmd/innet-agent/env/env.h"
#include "cmd/innet-agent/net/net.h"
#include "cmd/innet-agent/algo/policy.h"

struct ac {
	const struct env_kind *kind;
	struct net actor, critic;
	size_t params;		/* number of floats in the vector */
};

/*
 * Open the actor and the critic for batches of up to batch_max rows.  Exits
 * with status 1 if there is no memory.
 */
static inline struct ac
ac_open(const struct kern *kern, const struct env_kind *kind, size_t hidden,
    size_t batch_max)
{
	const size_t out = policy_outputs(kind);
	struct ac ac = {
		.kind = kind,
		.actor = net_open(kern, &(struct net_shape){ kind->obs,
		    hidden, out, NET_TANH, 0.01 }, batch_max),
		.critic = net_open(kern, &(struct net_shape){ kind->obs,
		    hidden, 1, NET_TANH, 1 }, batch_max),
	};

	ac.params = ac.actor.params + ac.critic.params + kind->dims;
	return ac;
}

static inline void
ac_close(struct ac *ac)
{
	net_close(&ac->actor);
	net_close(&ac->critic);
}

/*
 * Return the index in the vector at which the logarithms of the standard
 * deviations begin.
 */
static inline size_t
ac_log_std(const struct ac *ac)
{
	return ac->actor.params + ac->critic.params;
}

/*
 * Set the initial weights so that the policy is almost uniform and its standard
 * deviations are 1.
 */
static inline void
ac_init(const struct ac *ac, float *w, struct rng *rng)
{
	net_init(&ac->actor, w, rng);
	net_init(&ac->critic, w + ac->actor.params, rng);
	for (size_t i = 0; i < ac->kind->dims; i++)
		w[ac_log_std(ac) + i] = 0;
}

/*
 * Return the actor's outputs for `batch` observations, in the form that the
 * functions of policy.h expect.
 */
static inline const float *
ac_act(struct ac *ac, const float *w, const float *obs, size_t batch)
{
	return net_forward(&ac->actor, w, obs, batch);
}

/* Return the critic's values of `batch` observations. */
static inline const float *
ac_value(struct ac *ac, const float *w, const float *obs, size_t batch)
{
	return net_forward(&ac->critic, w + ac->actor.params, obs, batch);
}

/*
 * Compute the gradient of an objective with respect to the weights.  The
 * arguments by_out and by_value are the objective's gradients with respect to
 * the outputs that ac_act() and ac_value() last returned for obs and batch.
 */
static inline void
ac_back(struct ac *ac, const float *w, const float *obs, size_t batch,
    const float *by_out, const float *by_value, float *grad)
{
	const size_t half = ac->actor.params;

	net_back(&ac->actor, w, obs, batch, by_out, grad, NULL);
	net_back(&ac->critic, w + half, obs, batch, by_value, grad + half,
	    NULL);
}

#endif
