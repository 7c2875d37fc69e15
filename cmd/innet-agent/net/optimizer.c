/* optimizer.c - one step of gradient ascent */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/message.h"

#include "cmd/innet-agent/net/optimizer.h"
#include "cmd/innet-agent/tally.h"

const char *const optimizer_names[] = { "adam", "sgd", NULL };

struct optimizer
optimizer_open(enum optimizer_rule rule, const struct kern *kern, double rate,
    size_t params)
{
	struct optimizer o = {
		.rule = rule, .kern = kern, .rate = rate, .params = params,
		.m = calloc(params, sizeof(float)),
		.v = calloc(params, sizeof(float)),
	};

	if (o.m == NULL || o.v == NULL)
		err(1, "no memory for the optimizer of %zu weights", params);
	return o;
}

void
optimizer_close(struct optimizer *o)
{
	free(o->m);
	free(o->v);
}

/* Return the constants of step t of Adam. */
static struct kern_adam
adam_constants(const struct optimizer *o, double t)
{
	const double b1 = 0.9, b2 = 0.999;

	return (struct kern_adam){
		.b1 = (float)b1, .b2 = (float)b2, .eps = 1e-8f,
		.rate = (float)(o->rate / (1 - pow(b1, t))),
		.fix = (float)(1 / (1 - pow(b2, t))),
	};
}

static void
step_sgd(const struct optimizer *o, float *w, const float *grad, size_t n)
{
	for (size_t i = 0; i < n; i++)
		w[i] += (float)o->rate * grad[i];
}

void
optimizer_step(struct optimizer *o, float *w, const float *grad)
{
	const struct kern_adam k = adam_constants(o, (double)++o->steps);
	const uint64_t begun = tally_now_ns();

	if (o->rule == OPTIMIZER_ADAM)
		o->kern->adam(w, o->m, o->v, grad, o->params, &k);
	else
		step_sgd(o, w, grad, o->params);
	o->ns += tally_now_ns() - begun;
}

void
optimizer_peek(const struct optimizer *o, const float *w, const float *grad,
    size_t from, size_t n, float *to, float *room)
{
	const struct kern_adam k = adam_constants(o, (double)(o->steps + 1));

	memcpy(to, w + from, n * sizeof(*to));
	if (o->rule == OPTIMIZER_SGD) {
		step_sgd(o, to, grad + from, n);
		return;
	}
	memcpy(room, o->m + from, n * sizeof(*room));
	memcpy(room + n, o->v + from, n * sizeof(*room));
	o->kern->adam(to, room, room + n, grad + from, n, &k);
}

static enum optimizer_status
apply_gradient(void *self, float *w, const float *grad, float reward)
{
	(void)reward;
	optimizer_step(self, w, grad);
	return OPTIMIZER_CONTINUE;
}

struct gradient_sink
optimizer_sink(struct optimizer *o)
{
	return (struct gradient_sink){ .apply = apply_gradient, .self = o };
}
