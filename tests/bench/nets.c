/*
 * nets IN HIDDEN OUT BATCH - measure training steps a second of processor time
 *
 * A step is forward, mean squared error, backward and Adam, on one batch, of a
 * net of two hidden layers with ReLU.  nets.py does the same with PyTorch.
 * Both begin with the same weights.  They print the steps a second, and the
 * error after 200 steps, which shows that they did the same.
 */
#include "config.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "cmd/innet-agent/net/kern-best.h"
#include "cmd/innet-agent/net/net.h"
#include "cmd/innet-agent/net/optimizer.h"
#include "common/base/num.h"

enum { WARM = 200 };

static const double seconds = 0.5;	/* the time of one measurement */

struct task {
	struct net net;
	struct optimizer optimizer;
	size_t batch;
	float *w, *grad, *x, *want, *dy;
};

/* Return the i-th of numbers that seem random, in [-1, 1). */
static float
noise(size_t i)
{
	return (float)((double)(i * 7919 % 10007) / 10007 * 2 - 1);
}

static float *
numbers(size_t n, float size)
{
	float *v = calloc(n, sizeof(*v));

	if (v == NULL)
		err(1, "%zu numbers", n);
	for (size_t i = 0; i < n; i++)
		v[i] = size * noise(i);
	return v;
}

/* Do one step; return the error before it. */
static double
step(struct task *t)
{
	const size_t n = t->batch * t->net.shape.out;
	const float *y = net_forward(&t->net, t->w, t->x, t->batch);
	float sum = 0;

	for (size_t i = 0; i < n; i++) {
		const float off = t->want[i] - y[i];

		sum += off * off;
		t->dy[i] = off * (2 / (float)n);	/* the optimizer climbs,
							 * so this is the
							 * negative gradient */
	}
	net_back(&t->net, t->w, t->x, t->batch, t->dy, t->grad, NULL);
	optimizer_step(&t->optimizer, t->w, t->grad);
	return sum / (float)n;
}

static double
cpu_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static size_t
size(const char *arg)
{
	uint64_t n;
	const char *why = num_u64(arg, 1, 4096, &n);

	if (why != NULL)
		errx(2, "invalid size '%s': %s", arg, why);
	return n;
}

int
main(int argc, char *argv[])
{
	struct task t = { 0 };
	double error = 0, begun, now;
	unsigned long steps = 0;

	if (argc != 5)
		errx(2, "usage: nets IN HIDDEN OUT BATCH");
	const struct net_shape shape = {.in = size(argv[1]),
	    .hidden = size(argv[2]),
	    .out = size(argv[3]),
	    .activation = NET_RELU};

	t.batch = size(argv[4]);
	t.net = net_open(kern_best(), &shape, t.batch);
	t.optimizer =
	    optimizer_open(OPTIMIZER_ADAM, kern_best(), 1e-3, t.net.params);
	t.w = numbers(t.net.params, 0.1f);
	t.grad = numbers(t.net.params, 0);
	t.x = numbers(t.batch * shape.in, 1);
	t.want = numbers(t.batch * shape.out, 1);
	t.dy = numbers(t.batch * shape.out, 0);
	for (int i = 0; i <= WARM; i++)
		error = step(&t);
	begun = cpu_now();
	do {
		for (int i = 0; i < 20; i++)
			step(&t);
		steps += 20;
		now = cpu_now();
	} while (now < begun + seconds);
	printf("%.1f %.4f\n", (double)steps / (now - begun), error);
	return 0;
}
