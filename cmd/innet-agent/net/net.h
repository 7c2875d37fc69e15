/*
 * net.h - a net with two hidden layers and its weights in one flat vector
 *
 * Each of the three layers has a matrix, with a row for each input and a column
 * for each output, and a vector of biases.  Gradients have the same layout.
 * The weights belong to the caller, so one vector can hold several nets.  The
 * work space belongs to struct net and holds one batch at a time: the outputs
 * of net_forward() are borrowed until its next call.
 */
#ifndef INNET_AGENT_NET_H
#define INNET_AGENT_NET_H

#include <stddef.h>

#include "cmd/innet-agent/net/kern.h"
#include "common/base/rng.h"

enum net_activation { NET_TANH, NET_RELU };	/* of the hidden layers */

struct net_shape {
	size_t in, hidden, out;		/* neurons; `hidden` in both layers */
	enum net_activation activation;
	double last;			/* gain of the output layer at first */
};

struct net {
	const struct kern *kern;
	struct net_shape shape;
	size_t params;		/* floats that its weights take in the vector */
	size_t batch_max;	/* largest batch for the work space */
	float *h1, *h2, *y;	/* by row of a batch: hidden layers, output */
	float *d;		/* by row: gradient of a hidden layer */
};

/*
 * Open a net of that shape for batches of up to batch_max rows.  Exits 1
 * without memory.
 */
struct net net_open(const struct kern *kern, const struct net_shape *shape,
    size_t batch_max);

/* Free the work space. */
void net_close(struct net *net);

/*
 * Set the first weights to uniform random numbers of variance gain^2 / inputs,
 * and the biases to 0.
 */
void net_init(const struct net *net, float *w, struct rng *rng);

/*
 * Return the outputs, batch x out floats, for the inputs x, batch x in floats.
 */
const float *net_forward(struct net *net, const float *w, const float *x,
    size_t batch);

/*
 * Compute into grad the gradient of a loss with respect to w.  The argument dy
 * is the gradient with respect to the outputs that net_forward() last returned,
 * which must have been for the same x and batch; the hidden layers of that call
 * are overwritten.  If dx is not NULL, it gets the gradient with respect to x,
 * batch x in floats.  If only dx is needed, grad can be NULL.
 */
void net_back(struct net *net, const float *w, const float *x, size_t batch,
    const float *dy, float *grad, float *dx);

#endif
