/*
 * net.h - a net of two hidden layers, its weights in one flat vector
 *
 * Three layers, in each a matrix of inputs rows by outputs columns and its
 * biases; gradients have the same layout.  The weights are the caller's, so a
 * vector may hold those of several nets one after the other.  The work space
 * is owned by struct net and holds one batch at a time: what net_forward()
 * returns is borrowed until it is called again.
 */
#ifndef INNET_AGENT_NET_H
#define INNET_AGENT_NET_H

#include <stddef.h>

#include "cmd/innet-agent/net/kern.h"
#include "common/base/rng.h"

enum net_activation { NET_TANH, NET_RELU };	/* behind the hidden layers */

struct net_shape {
	size_t in, hidden, out;		/* neurons; hidden in each layer */
	enum net_activation activation;
	double last;			/* gain of the first last layer */
};

struct net {
	const struct kern *kern;
	struct net_shape shape;
	size_t params;		/* floats in its part of the vector */
	size_t batch_max;	/* rows the work space holds */
	float *h1, *h2, *y;	/* batch rows: hidden layers, output */
	float *d;		/* batch rows: gradient by a hidden layer */
};

/* A net of that shape for batches up to batch_max; exits 1 without memory. */
struct net net_open(const struct kern *kern, const struct net_shape *shape,
    size_t batch_max);

/* Give back the work space. */
void net_close(struct net *net);

/* First weights: uniform, with variance gain^2 / inputs; biases 0. */
void net_init(const struct net *net, float *w, struct rng *rng);

/* batch x out outputs of batch x in inputs x. */
const float *net_forward(struct net *net, const float *w, const float *x,
    size_t batch);

/*
 * The gradient by w of a loss, from its gradient dy by the outputs that
 * net_forward() last returned for the same x and batch, which it spoils.
 * With dx, batch x in floats, the gradient by x too.  grad may be NULL if
 * only that is wanted.
 */
void net_back(struct net *net, const float *w, const float *x, size_t batch,
    const float *dy, float *grad, float *dx);

#endif
