/*
 * Compare the gradient of a net with finite differences, and optimizers with
 * calculations by hand.
 */
#include <math.h>
#include <stdlib.h>

#include "cmd/innet-agent/net/kern-best.h"
#include "cmd/innet-agent/env/kinds.h"
#include "cmd/innet-agent/algo/actor-critic.h"
#include "cmd/innet-agent/net/optimizer.h"
#include "tests/unit/tap.h"

enum { IN = 3, HIDDEN = 24, OUT = 5, BATCH = 7 };

static float x[BATCH * IN], by_out[BATCH * OUT];

/*
 * Return a loss that is linear in the outputs: its gradients are the factors.
 */
static double
linear_loss(struct net *net, const float *w)
{
	const float *y = net_forward(net, w, x, BATCH);
	double sum = 0;

	for (int i = 0; i < BATCH * OUT; i++)
		sum += (double)y[i] * by_out[i];
	return sum;
}

static void
fill_random(float *v, size_t n, struct rng *rng)
{
	for (size_t i = 0; i < n; i++)
		v[i] = (float)rng_uniform(rng, -1, 1);
}

/*
 * Return the largest difference between slopes by v[0..n) and the gradients in
 * got.
 */
static double
worst_of(struct net *net, const float *w, float *v, size_t n,
    const float *got)
{
	double worst = 0;

	for (size_t i = 0; i < n; i++) {
		const float keep = v[i], h = 0x1p-9f;
		double up, down;

		v[i] = keep + h;
		up = linear_loss(net, w);
		v[i] = keep - h;
		down = linear_loss(net, w);
		v[i] = keep;
		worst = fmax(worst, fabs((up - down) / (2 * h) - got[i]));
	}
	return worst;
}

static void
test_gradient(enum net_activation bend, const char *name)
{
	struct net net = net_open(kern_best(), &(struct net_shape){ IN, HIDDEN,
	    OUT, bend, 1 }, BATCH);
	struct rng rng = rng_seed(1);
	float *w = calloc(net.params, sizeof(*w)), by_x[BATCH * IN];
	float *grad = calloc(net.params, sizeof(*w)), longest = 0;
	double by_w;

	net_init(&net, w, &rng);
	fill_random(x, BATCH * IN, &rng);
	fill_random(by_out, BATCH * OUT, &rng);
	linear_loss(&net, w);
	net_back(&net, w, x, BATCH, by_out, grad, by_x);
	for (size_t i = 0; i < net.params; i++)
		longest = fmaxf(longest, fabsf(grad[i]));
	by_w = worst_of(&net, w, w, net.params, grad);
	ok(longest > 1 && by_w < 5e-3 * longest,
	    "%s: slopes by weights agree with finite differences (worst %.1e "
	    "of %.1f)", name, by_w,
	    (double)longest);
	ok(worst_of(&net, w, x, BATCH * IN, by_x) < 5e-3,
	    "%s: slopes by inputs agree with finite differences", name);
	free(w);
	free(grad);
	net_close(&net);
}

static void
test_optimizer(void)
{
	const float g[2] = { 3, -0.001f };
	float w[2] = { 1, 1 };
	struct optimizer o =
	    optimizer_open(OPTIMIZER_ADAM, &kern_plain, 0.1, 2);

	optimizer_step(&o, w, g);
	ok(fabsf(w[0] - 1.1f) < 1e-5f && fabsf(w[1] - 0.9f) < 1e-5f,
	    "the first step of Adam is the learning rate, whatever the "
	    "gradient");
	optimizer_step(&o, w, g);
	ok(fabsf(w[0] - 1.2f) < 1e-5f && fabsf(w[1] - 0.8f) < 1e-5f,
	    "the second step along the same gradient is also the learning "
	    "rate");
	optimizer_close(&o);
	o = optimizer_open(OPTIMIZER_SGD, &kern_plain, 0.5, 2);
	w[0] = 1;
	optimizer_step(&o, w, g);
	ok(w[0] == 2.5f, "gradient ascent adds the rate times the gradient");
	optimizer_close(&o);
}

int
main(void)
{
	struct ac ac = ac_open(&kern_plain, &env_cartpole, 64, 1);

	ok(ac.params == 9155, "the actor and critic of CartPole have 9155 "
	    "weights");
	ac_close(&ac);
	test_gradient(NET_TANH, "tanh");
	test_gradient(NET_RELU, "relu");
	test_optimizer();
	return tap_end();
}
