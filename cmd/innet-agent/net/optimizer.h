/*
 * optimizer.h - an optimizer: plain gradient ascent, or Adam (Kingma and Ba)
 *
 * Gradients point up: adding one raises the agent's objective.  A gradient has
 * two possible sinks: the agent's own optimizer, or the gradient stream
 * (stream-child.h), from which results come back.
 */
#ifndef INNET_AGENT_NET_OPTIMIZER_H
#define INNET_AGENT_NET_OPTIMIZER_H

#include <stddef.h>
#include <stdint.h>

#include "cmd/innet-agent/net/kern.h"

enum optimizer_status {
	OPTIMIZER_CONTINUE,	/* go on with the weights as they are now */
	OPTIMIZER_END,		/* training is over, in good order */
	OPTIMIZER_FAILED	/* it is over, and a message was printed */
};

/* Something that turns gradients into new weights. */
struct gradient_sink {
	/*
	 * Take the gradient computed from w, and the recent mean reward; leave
	 * in w the weights to go on with.
	 */
	enum optimizer_status (*apply)(void *self, float *w, const float *grad,
	    float reward);
	void *self;
};

enum optimizer_rule { OPTIMIZER_ADAM, OPTIMIZER_SGD };

struct optimizer {
	enum optimizer_rule rule;
	const struct kern *kern;
	double rate;		/* learning rate */
	size_t params;
	float *m, *v;		/* Adam's two means; owned */
	uint64_t steps;
	uint64_t ns;		/* time spent in them */
};

/*
 * The names of the rules, in the order of enum optimizer_rule, ended by NULL.
 */
extern const char *const optimizer_names[];

/* Open an optimizer of vectors of params floats; exits 1 without memory. */
struct optimizer optimizer_open(enum optimizer_rule rule,
    const struct kern *kern, double rate, size_t params);

/* Free what optimizer_open() allocated. */
void optimizer_close(struct optimizer *o);

/* Take one step up the gradient: w changes in place. */
void optimizer_step(struct optimizer *o, float *w, const float *grad);

/*
 * Compute n weights from `from` on as they will be after the next step, from
 * their part of the gradient, into to.  The step is not taken.  `room` is work
 * space for 2 n floats.
 */
void optimizer_peek(const struct optimizer *o, const float *w,
    const float *grad, size_t from, size_t n, float *to, float *room);

/* Return the gradient sink of an agent that trains alone. */
struct gradient_sink optimizer_sink(struct optimizer *o);

#endif
