/* optim - one step of gradient ascent */
#include "config.h"

#include <err.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/innet-agent/net/optimizer.h"
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

/* The constants of step t of Adam. */
static struct kern_adam
constants(const struct optim *o, double t)
{
	const double b1 = 0.9, b2 = 0.999;

	return (struct kern_adam){
		.b1 = (float)b1, .b2 = (float)b2, .eps = 1e-8f,
		.rate = (float)(o->rate / (1 - pow(b1, t))),
		.fix = (float)(1 / (1 - pow(b2, t))),
	};
}

static void
sgd(const struct optim *o, float *w, const float *grad, size_t n)
{
	for (size_t i = 0; i < n; i++)
		w[i] += (float)o->rate * grad[i];
}

void
optim_step(struct optim *o, float *w, const float *grad)
{
	const struct kern_adam k = constants(o, (double)++o->steps);
	const uint64_t begun = tally_now_ns();

	if (o->rule == OPTIM_ADAM)
		o->kern->adam(w, o->m, o->v, grad, o->params, &k);
	else
		sgd(o, w, grad, o->params);
	o->ns += tally_now_ns() - begun;
}

void
optim_peek(const struct optim *o, const float *w, const float *grad,
    size_t from, size_t n, float *to, float *room)
{
	const struct kern_adam k = constants(o, (double)(o->steps + 1));

	memcpy(to, w + from, n * sizeof(*to));
	if (o->rule == OPTIM_SGD) {
		sgd(o, to, grad + from, n);
		return;
	}
	memcpy(room, o->m + from, n * sizeof(*room));
	memcpy(room + n, o->v + from, n * sizeof(*room));
	o->kern->adam(to, room, room + n, grad + from, n, &k);
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
