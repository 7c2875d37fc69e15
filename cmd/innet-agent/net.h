/*
 * net.h - an actor and a critic, each 64-64 tanh, in one flat vector
 *
 * The vector is what travels: the actor's weights, then the critic's; in each
 * three layers, a matrix of inputs rows by outputs columns and its biases.
 * Gradients have the same layout.  The work space is owned by struct net and
 * holds one batch at a time: what net_actor() and net_critic() return is
 * borrowed until they are called again.
 */
#ifndef INNET_AGENT_NET_H
#define INNET_AGENT_NET_H

#include <stddef.h>

#include "cmd/innet-agent/kern.h"
#include "common/rng.h"

enum { NET_HIDDEN = 64 };

struct mlp {
	size_t in, out;
	float *h1, *h2, *y;	/* batch rows: hidden layers, output */
	float *d;		/* batch rows: gradient by a hidden layer */
	float *flip;		/* a layer's matrix, transposed */
};

struct net {
	const struct kern *kern;
	struct mlp actor, critic;
	size_t params;		/* floats in the vector */
	size_t batch_max;	/* rows the work space holds */
};

/* A net for those sizes and batches up to batch_max; exits 1 without memory. */
struct net net_open(const struct kern *kern, size_t obs, size_t actions,
    size_t batch_max);

/* Give back the work space. */
void net_close(struct net *net);

/* Floats in the vector of a net for those sizes. */
size_t net_params(size_t obs, size_t actions);

/* First weights: uniform, the policy nearly indifferent. */
void net_init(const struct net *net, float *w, struct rng *rng);

/* Batch x actions logits of batch x obs observations. */
const float *net_actor(struct net *net, const float *w, const float *obs,
    size_t batch);

/* Batch values. */
const float *net_critic(struct net *net, const float *w, const float *obs,
    size_t batch);

/*
 * The gradient by w of a loss, from its gradients by the logits and values
 * that net_actor() and net_critic() last returned for the same obs and batch.
 */
void net_back(struct net *net, const float *w, const float *obs, size_t batch,
    const float *by_logit, const float *by_value, float *grad);

#endif
