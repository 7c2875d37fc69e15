/* net - forward and backward through the actor and the critic */
#include "config.h"

#include <assert.h>
#include <err.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/innet-agent/net.h"

enum { H = NET_HIDDEN };

static size_t
mlp_params(size_t in, size_t out)
{
	return in * H + H + H * H + H + H * out + out;
}

size_t
net_params(size_t obs, size_t actions)
{
	return mlp_params(obs, actions) + mlp_params(obs, 1);
}

static float *
rows(size_t batch, size_t each)
{
	float *p = calloc(batch * each, sizeof(*p));

	if (p == NULL)
		err(1, "batch of %zu", batch);
	return p;
}

static struct mlp
mlp_open(size_t in, size_t out, size_t batch)
{
	return (struct mlp){
		.in = in, .out = out,
		.h1 = rows(batch, H), .h2 = rows(batch, H),
		.y = rows(batch, out), .d = rows(batch, H),
		.flip = rows(H, out > H ? out : H),
	};
}

static void
mlp_close(struct mlp *m)
{
	free(m->h1);
	free(m->h2);
	free(m->y);
	free(m->d);
	free(m->flip);
}

struct net
net_open(const struct kern *kern, size_t obs, size_t actions, size_t batch_max)
{
	return (struct net){
		.kern = kern,
		.actor = mlp_open(obs, actions, batch_max),
		.critic = mlp_open(obs, 1, batch_max),
		.params = net_params(obs, actions),
		.batch_max = batch_max,
	};
}

void
net_close(struct net *net)
{
	mlp_close(&net->actor);
	mlp_close(&net->critic);
}

/* A layer's weights uniform with variance gain^2 / in; biases 0. */
static float *
layer_init(float *w, size_t in, size_t out, double gain, struct rng *rng)
{
	double top = gain * sqrt(3.0 / (double)in);

	for (size_t i = 0; i < in * out; i++)
		*w++ = (float)rng_uniform(rng, -top, top);
	memset(w, 0, out * sizeof(*w));
	return w + out;
}

void
net_init(const struct net *net, float *w, struct rng *rng)
{
	const struct mlp *const m[2] = { &net->actor, &net->critic };

	for (int i = 0; i < 2; i++) {
		w = layer_init(w, m[i]->in, H, 1.4, rng);
		w = layer_init(w, H, H, 1.4, rng);
		w = layer_init(w, H, m[i]->out, i == 0 ? 0.01 : 1, rng);
	}
}

/* y = x * matrix + biases; returns where the next layer's weights begin. */
static const float *
layer(const struct kern *kern, const float *w, size_t in, size_t out,
    const float *x, size_t batch, float *y)
{
	const float *bias = w + in * out;

	for (size_t i = 0; i < batch; i++)
		memcpy(y + i * out, bias, out * sizeof(*y));
	kern->gemm(batch, out, in, x, in, 1, w, out, y, out, true);
	return bias + out;
}

static const float *
mlp_forward(const struct kern *kern, struct mlp *m, const float *w,
    const float *x, size_t batch)
{
	w = layer(kern, w, m->in, H, x, batch, m->h1);
	kern->tanh(m->h1, batch * H);
	w = layer(kern, w, H, H, m->h1, batch, m->h2);
	kern->tanh(m->h2, batch * H);
	layer(kern, w, H, m->out, m->h2, batch, m->y);
	return m->y;
}

const float *
net_actor(struct net *net, const float *w, const float *obs, size_t batch)
{
	assert(batch <= net->batch_max);
	return mlp_forward(net->kern, &net->actor, w, obs, batch);
}

const float *
net_critic(struct net *net, const float *w, const float *obs, size_t batch)
{
	assert(batch <= net->batch_max);
	return mlp_forward(net->kern, &net->critic,
	    w + mlp_params(net->actor.in, net->actor.out), obs, batch);
}

/* A layer's gradient, from x that went in and dy by what came out. */
static void
layer_back(const struct kern *kern, size_t in, size_t out, const float *x,
    const float *dy, size_t batch, float *grad)
{
	static const float one = 1;

	kern->gemm(in, out, batch, x, 1, in, dy, out, grad, out, false);
	kern->gemm(1, out, batch, &one, 0, 0, dy, out, grad + in * out, out,
	    false);
}

/*
 * The gradient by a hidden layer h behind its tanh: back through the matrix w
 * of H rows and out columns, then h's slope 1 - h^2, left in h's own place.
 */
static void
hidden_back(const struct kern *kern, struct mlp *m, const float *w, size_t out,
    const float *dy, size_t batch, float *h)
{
	for (size_t i = 0; i < H; i++) {
		for (size_t j = 0; j < out; j++)
			m->flip[j * H + i] = w[i * out + j];
	}
	kern->gemm(batch, H, out, dy, out, 1, m->flip, H, m->d, H, false);
	for (size_t i = 0; i < batch * H; i++)
		h[i] = m->d[i] * (1 - h[i] * h[i]);
}

static void
mlp_back(const struct kern *kern, struct mlp *m, const float *w,
    const float *x, size_t batch, const float *dy, float *grad)
{
	const size_t second = m->in * H + H, third = second + H * H + H;

	layer_back(kern, H, m->out, m->h2, dy, batch, grad + third);
	hidden_back(kern, m, w + third, m->out, dy, batch, m->h2);
	layer_back(kern, H, H, m->h1, m->h2, batch, grad + second);
	hidden_back(kern, m, w + second, H, m->h2, batch, m->h1);
	layer_back(kern, m->in, H, x, m->h1, batch, grad);
}

void
net_back(struct net *net, const float *w, const float *obs, size_t batch,
    const float *by_logit, const float *by_value, float *grad)
{
	const size_t half = mlp_params(net->actor.in, net->actor.out);

	mlp_back(net->kern, &net->actor, w, obs, batch, by_logit, grad);
	mlp_back(net->kern, &net->critic, w + half, obs, batch, by_value,
	    grad + half);
}
