/* The net's gradient against finite differences; optimisers by hand. */
#include <math.h>
#include <stdlib.h>

#include "cmd/innet-agent/net.h"
#include "cmd/innet-agent/optim.h"
#include "tests/tap.h"

enum { OBS = 3, ACTIONS = 5, BATCH = 7 };

static float obs[BATCH * OBS], by_logit[BATCH * ACTIONS], by_value[BATCH];

/* A loss that is linear in the outputs: its gradients are the factors. */
static double
loss(struct net *net, const float *w)
{
	const float *y = net_actor(net, w, obs, BATCH);
	const float *v = net_critic(net, w, obs, BATCH);
	double sum = 0;

	for (int i = 0; i < BATCH * ACTIONS; i++)
		sum += (double)y[i] * by_logit[i];
	for (int i = 0; i < BATCH; i++)
		sum += (double)v[i] * by_value[i];
	return sum;
}

static void
fill(float *v, size_t n, struct rng *rng)
{
	for (size_t i = 0; i < n; i++)
		v[i] = (float)rng_uniform(rng, -1, 1);
}

static void
test_gradient(void)
{
	struct net net = net_open(kern_best(), OBS, ACTIONS, BATCH);
	struct rng rng = rng_seed(1);
	float *w = calloc(net.params, sizeof(*w));
	float *grad = calloc(net.params, sizeof(*w));
	double worst = 0, longest = 0;

	net_init(&net, w, &rng);
	fill(obs, BATCH * OBS, &rng);
	fill(by_logit, BATCH * ACTIONS, &rng);
	fill(by_value, BATCH, &rng);
	loss(&net, w);
	net_back(&net, w, obs, BATCH, by_logit, by_value, grad);
	for (size_t i = 0; i < net.params; i++) {
		const float keep = w[i], h = 0x1p-7f;
		double up, down;

		w[i] = keep + h;
		up = loss(&net, w);
		w[i] = keep - h;
		down = loss(&net, w);
		w[i] = keep;
		worst = fmax(worst, fabs((up - down) / (2 * h) - grad[i]));
		longest = fmax(longest, fabs((double)grad[i]));
	}
	ok(net.params == net_params(OBS, ACTIONS) && longest > 1,
	    "%zu weights, longest slope %.2f", net.params, longest);
	ok(worst < 2e-3 * longest, "all slopes as finite differences have them"
	    " (worst %.1e)", worst);
	free(w);
	free(grad);
	net_close(&net);
}

static void
test_optim(void)
{
	const float g[2] = { 3, -0.001f };
	float w[2] = { 1, 1 };
	struct optim o = optim_open(OPTIM_ADAM, &kern_plain, 0.1, 2);

	optim_step(&o, w, g);
	ok(fabsf(w[0] - 1.1f) < 1e-5f && fabsf(w[1] - 0.9f) < 1e-5f,
	    "Adam's first step is the rate, whatever the gradient");
	optim_step(&o, w, g);
	ok(fabsf(w[0] - 1.2f) < 1e-5f && fabsf(w[1] - 0.8f) < 1e-5f,
	    "and so is the second along the same gradient");
	optim_close(&o);
	o = optim_open(OPTIM_SGD, &kern_plain, 0.5, 2);
	w[0] = 1;
	optim_step(&o, w, g);
	ok(w[0] == 2.5f, "gradient ascent adds rate times gradient");
	optim_close(&o);
}

int
main(void)
{
	ok(net_params(4, 2) == 9155, "CartPole's net is 9155 weights");
	test_gradient();
	test_optim();
	return tap_end();
}
