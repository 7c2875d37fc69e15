/*
 * optimizer.h - an optimizer: plain gradient ascent, or Adam (Kingma and Ba)
 *
 * The agent maximises its objective, so a gradient is added to the weights.  A
 * gradient has two possible sinks: the agent's own optimizer, or the gradient
 * stream (stream-child.h), which returns results.
 */
#ifndef INNET_AGENT_NET_OPTIMIZER_H
#define INNET_AGENT_NET_OPTIMIZER_H

#include <stddef.h>
#include <stdint.h>

#include "cmd/innet-agent/net/kern.h"

enum optimizer_status {
	OPTIMIZER_CONTINUE,	/* continue with the current weights */
	OPTIMIZER_END,		/* training has ended normally */
	OPTIMIZER_FAILED	/* training failed; a message was printed */
};

/* An object that turns gradients into new weights. */
struct gradient_sink {
	/*
	 * Take the gradient that was computed from w, and the recent mean
	 * reward.  Set w to the weights with which training continues.
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
	float *m, *v;		/* Adam's means, `params` floats each; owned */
	uint64_t steps;
	uint64_t ns;		/* time spent in the steps of this optimizer */
};

/*
 * The names of the rules in the order of enum optimizer_rule, followed by NULL.
 */
extern const char *const optimizer_names[];

/*
 * Open an optimizer for vectors of `params` floats.  Exits with status 1 if
 * there is no memory.
 */
struct optimizer optimizer_open(enum optimizer_rule rule,
    const struct kern *kern, double rate, size_t params);

/* Free the memory that optimizer_open() allocated. */
void optimizer_close(struct optimizer *o);

/* Take one step along the gradient; w is changed in place. */
void optimizer_step(struct optimizer *o, float *w, const float *grad);

/*
 * Compute n weights, beginning at index `from`, as they will be after the next
 * step, and write them to `to`.  Only the n elements of the gradient with the
 * same indices are read.  Neither w nor o changes.  `room` is work space for
 * 2 n floats.
 */
void optimizer_peek(const struct optimizer *o, const float *w,
    const float *grad, size_t from, size_t n, float *to, float *room);

/* Return the gradient sink of an agent that trains alone. */
struct gradient_sink optimizer_sink(struct optimizer *o);

#endif
