/* optim.h - an optimiser: plain gradient ascent, or Adam (Kingma and Ba) */
#ifndef INNET_AGENT_NET_OPTIM_H
#define INNET_AGENT_NET_OPTIM_H

#include <stddef.h>
#include <stdint.h>

#include "cmd/innet-agent/net/optimizer-status.h"
#include "cmd/innet-agent/net/kern.h"

enum optim_rule { OPTIM_ADAM, OPTIM_SGD };

struct optim {
	enum optim_rule rule;
	const struct kern *kern;
	double rate;		/* learning rate */
	size_t params;
	float *m, *v;		/* Adam's means; owned */
	uint64_t steps;
	uint64_t ns;		/* that they have taken */
};

/* Names of the rules, in the order of enum optim_rule, ended by NULL. */
extern const char *const optim_names[];

/* An optimiser of vectors of params floats; exits 1 without memory. */
struct optim optim_open(enum optim_rule rule, const struct kern *kern,
    double rate, size_t params);

/* Give back what optim_open() took. */
void optim_close(struct optim *o);

/* One step up: w changes in place. */
void optim_step(struct optim *o, float *w, const float *grad);

/*
 * Where n weights from `from` on will be after the next step, by their part of
 * the gradient: at to.  The step is not taken.  room is for 2 n floats.
 */
void optim_peek(const struct optim *o, const float *w, const float *grad,
    size_t from, size_t n, float *to, float *room);

/* The way up of an agent that trains alone. */
struct ascent optim_ascent(struct optim *o);

#endif
