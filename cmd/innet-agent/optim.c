/* optim - one step of gradient ascent */
#include "config.h"

#include <err.h>
#include <math.h>
#include <stdlib.h>

#include "cmd/innet-agent/optim.h"
#include "cmd/innet-agent/tally.h"

const char *const optim_names[] = { "adam", "sgd", NULL };

struct optim
optim_open(enum optim_rule rule, const struct kern *kern, double rate,
    size_t params)
{
	struct optim o = {
		.rule = rule, .kern = kern, .rate = rate, .params = params,
		.m = calloc(params, sizeof(float)),
		.v = calloc(params, sizeof(float)),
	};

	if (o.m == NULL || o.v == NULL)
		err(1, "optimiser of %zu weights", params);
	return o;
}

void
optim_close(struct optim *o)
{
	free(o->m);
	free(o->v);
}

void
optim_step(struct optim *o, float *w, const float *grad)
{
	const double b1 = 0.9, b2 = 0.999, t = (double)++o->steps;
	const struct kern_adam k = {
		.b1 = (float)b1, .b2 = (float)b2, .eps = 1e-8f,
		.rate = (float)(o->rate / (1 - pow(b1, t))),
		.fix = (float)(1 / (1 - pow(b2, t))),
	};

	const uint64_t begun = tally_now_ns();

	if (o->rule == OPTIM_ADAM)
		o->kern->adam(w, o->m, o->v, grad, o->params, &k);
	for (size_t i = 0; i < o->params && o->rule == OPTIM_SGD; i++)
		w[i] += (float)o->rate * grad[i];
	o->ns += tally_now_ns() - begun;
}

static enum ascent_result
rise(void *self, float *w, const float *grad, float reward)
{
	(void)reward;
	optim_step(self, w, grad);
	return ASCENT_ON;
}

struct ascent
optim_ascent(struct optim *o)
{
	return (struct ascent){ .rise = rise, .self = o };
}
