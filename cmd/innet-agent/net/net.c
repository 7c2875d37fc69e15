/* net.c - forward and backward passes of a net with two hidden layers */
#include "config.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/message.h"

#include "cmd/innet-agent/net/net.h"

/* Return the number of weights in a layer: its matrix and its biases. */
static size_t
layer_params(size_t in, size_t out)
{
	return in * out + out;
}

static float *
allocate_batch(size_t batch, size_t each)
{
	float *p = calloc(batch * each, sizeof(*p));

	if (p == NULL)
		err(1, "no memory for a batch of %zu inputs", batch);
	return p;
}

struct net
net_open(const struct kern *kern, const struct net_shape *shape,
    size_t batch_max)
{
	const size_t in = shape->in, h = shape->hidden, out = shape->out;

	return (struct net){
	    .kern = kern,
	    .shape = *shape,
	    .batch_max = batch_max,
	    .params =
		layer_params(in, h) + layer_params(h, h) + layer_params(h, out),
	    .h1 = allocate_batch(batch_max, h),
	    .h2 = allocate_batch(batch_max, h),
	    .y = allocate_batch(batch_max, out),
	    .d = allocate_batch(batch_max, h),
	};
}

void
net_close(struct net *net)
{
	free(net->h1);
	free(net->h2);
	free(net->y);
	free(net->d);
}

/* Set a layer's initial weights.  Return the address of the next layer. */
static float *
layer_init(float *w, size_t in, size_t out, double gain, struct rng *rng)
{
	const double top = gain * sqrt(3.0 / (double)in);

	for (size_t i = 0; i < in * out; i++)
		*w++ = (float)rng_uniform(rng, -top, top);
	memset(w, 0, out * sizeof(*w));
	return w + out;
}

void
net_init(const struct net *net, float *w, struct rng *rng)
{
	const struct net_shape *s = &net->shape;

	w = layer_init(w, s->in, s->hidden, 1.4, rng);
	w = layer_init(w, s->hidden, s->hidden, 1.4, rng);
	layer_init(w, s->hidden, s->out, s->last, rng);
}

/*
 * Set y to x * matrix + biases.  Return the address of the next layer.
 */
static const float *
layer_forward(const struct kern *kern, const float *w, size_t in, size_t out,
    const float *x, size_t batch, float *y)
{
	const struct kern_mat a = { x, in, 1 }, b = { w, out, 1 };
	const float *bias = w + in * out;

	kern->gemm(batch, out, in, a, b, bias, 0, y, out);
	return bias + out;
}

static void
activate(const struct net *net, float *x, size_t n)
{
	if (net->shape.activation == NET_TANH)
		net->kern->tanh(x, n);
	else
		net->kern->relu(x, n);
}

const float *
net_forward(struct net *net, const float *w, const float *x, size_t batch)
{
	const struct net_shape *s = &net->shape;

	assert(batch <= net->batch_max);
	w = layer_forward(net->kern, w, s->in, s->hidden, x, batch, net->h1);
	activate(net, net->h1, batch * s->hidden);
	w = layer_forward(net->kern, w, s->hidden, s->hidden, net->h1, batch,
	    net->h2);
	activate(net, net->h2, batch * s->hidden);
	layer_forward(net->kern, w, s->hidden, s->out, net->h2, batch, net->y);
	return net->y;
}

/*
 * Compute a layer's gradient from its input x and the gradient dy with respect
 * to its output.
 */
static void
layer_back(const struct kern *kern, size_t in, size_t out, const float *x,
    const float *dy, size_t batch, float *grad)
{
	static const float one = 1;
	const struct kern_mat a = { x, 1, in }, ones = { &one, 0, 0 };
	const struct kern_mat b = { dy, out, 1 };

	kern->gemm(in, out, batch, a, b, NULL, 0, grad, out);
	kern->gemm(1, out, batch, ones, b, NULL, 0, grad + in * out, out);
}

/*
 * Set dx to dy times the transpose of the matrix w, which has `in` rows and
 * `out` columns.
 */
static void
input_gradient(const struct kern *kern, const float *w, size_t in, size_t out,
    const float *dy, size_t batch, float *dx)
{
	const struct kern_mat a = { dy, out, 1 }, b = { w, 1, out };

	kern->gemm(batch, in, out, a, b, NULL, 0, dx, in);
}

/*
 * Replace h, the output of an activation, by the gradient with respect to the
 * activation's input.  The gradient with respect to the output is in net->d.
 */
static void
activate_back(const struct net *net, float *h, size_t n)
{
	if (net->shape.activation == NET_TANH)
		net->kern->tanh_back(h, net->d, n);
	else
		net->kern->relu_back(h, net->d, n);
}

void
net_back(struct net *net, const float *w, const float *x, size_t batch,
    const float *dy, float *grad, float *dx)
{
	const struct net_shape *s = &net->shape;
	const size_t h = s->hidden, second = layer_params(s->in, h);
	const size_t third = second + layer_params(h, h);

	if (grad != NULL)
		layer_back(net->kern, h, s->out, net->h2, dy, batch,
		    grad + third);
	input_gradient(net->kern, w + third, h, s->out, dy, batch, net->d);
	activate_back(net, net->h2, batch * h);
	if (grad != NULL)
		layer_back(net->kern, h, h, net->h1, net->h2, batch,
		    grad + second);
	input_gradient(net->kern, w + second, h, h, net->h2, batch, net->d);
	activate_back(net, net->h1, batch * h);
	if (grad != NULL)
		layer_back(net->kern, s->in, h, x, net->h1, batch, grad);
	if (dx != NULL)
		input_gradient(net->kern, w, s->in, h, net->h1, batch, dx);
}
