/*
 * net.h - a net with two hidden layers and its weights in one flat vector
 *
 * Each of the three layers has a matrix, with a row for each input and a column
 * for each output, and a vector of biases.  Gradients have the same layout.
 * The weights belong to the caller, so one vector can hold several nets.  The
 * work space belongs to struct net and holds one batch at a time.  Therefore
 * the outputs of net_forward() are borrowed until the next call of this
 * function.
 */
#ifndef INNET_AGENT_NET_H
#define INNET_AGENT_NET_H

#include <stddef.h>

#include "cmd/innet-agent/net/kern.h"
#include "common/base/rng.h"

/* The activation function of the hidden layers. */
enum net_activation { NET_TANH, NET_RELU };

struct net_shape {
	size_t in, hidden, out;		/* number of neurons in each layer */
	enum net_activation activation;
	double last;			/* initial gain of the output layer */
};

struct net {
	const struct kern *kern;
	struct net_shape shape;
	size_t params;		/* number of floats in the net's weights */
	size_t batch_max;	/* maximum number of rows in a batch */
	float *h1, *h2, *y;	/* outputs of the layers, for each row */
	float *d;		/* gradient of a hidden layer, for each row */
};

/*
 * Open a net of the given shape for batches of up to batch_max rows.  Exits
 * with status 1 if there is no memory.
 */
struct net net_open(const struct kern *kern, const struct net_shape *shape,
    size_t batch_max);

/* Free the work space. */
void net_close(struct net *net);

/*
 * Set the initial weights to uniform random numbers of variance
 * gain^2 / inputs, and the biases to 0.
 */
void net_init(const struct net *net, float *w, struct rng *rng);

/*
 * Return the outputs for the inputs x.  There are `batch` rows.  A row of x has
 * shape.in floats, and a row of the outputs has shape.out floats.
 */
const float *net_forward(struct net *net, const float *w, const float *x,
    size_t batch);

/*
 * Compute the gradient of a loss with respect to w, and write it to `grad`.  dy
 * is the gradient with respect to the outputs of the last net_forward(), which
 * must have had the same x and batch.  The hidden layers of that call are
 * overwritten.  If dx is not NULL, write the gradient with respect to x, which
 * is as long as x, to dx.  If only dx is needed, `grad` can be NULL.
 */
void net_back(struct net *net, const float *w, const float *x, size_t batch,
    const float *dy, float *grad, float *dx);

#endif
