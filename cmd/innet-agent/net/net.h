/*
 * net.h - a net of two hidden layers, its weights in one flat vector
 *
 * Each of the three layers has a matrix of inputs rows by outputs columns, and
 * its biases; gradients have the same layout.  The weights belong to the
 * caller, so one vector can hold several nets.  The work space belongs to
 * struct net and holds one batch at a time: the outputs of net_forward() are
 * borrowed until its next call.
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

/*
 * Open a net of that shape for batches up to batch_max; exits 1 without memory.
 */
struct net net_open(const struct kern *kern, const struct net_shape *shape,
    size_t batch_max);

/* Free the work space. */
void net_close(struct net *net);

/* Set the first weights: uniform, with variance gain^2 / inputs; biases 0. */
void net_init(const struct net *net, float *w, struct rng *rng);

/* Return batch x out outputs for batch x in inputs x. */
const float *net_forward(struct net *net, const float *w, const float *x,
    size_t batch);

/*
 * Compute the gradient of a loss by w, from its gradient dy by the outputs that
 * net_forward() last returned for the same x and batch, which are overwritten.
 * If dx is not NULL it gets the gradient by x, batch x in floats. grad can be
 * NULL if only that is needed.
 */
void net_back(struct net *net, const float *w, const float *x, size_t batch,
    const float *dy, float *grad, float *dx);

#endif
