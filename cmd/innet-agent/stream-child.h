/*
 * stream-child.h - be the process that innet-worker carries: the gradient
 * stream
 *
 * Gradients leave on one descriptor, results come on the other, as
 * innet-stream(5) says.  Reading and writing give up after a time-out and
 * stop at a signal.
 */
#ifndef INNET_AGENT_STREAM_CHILD_H
#define INNET_AGENT_STREAM_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "cmd/innet-agent/learner.h"
#include "cmd/innet-agent/net/optimizer.h"
#include "common/wire/stream.h"

struct child {
	int in, out;
	uint64_t timeout_ns;	/* longest wait for the other end */
	const volatile sig_atomic_t *stop;
	bool verbose;
	struct optimizer *optimizer; /* for results that are sums; borrowed */
	size_t params;		/* floats of the agent's vectors */
	size_t elements;	/* of those on the stream: more, the rest 0 */
	float *base;		/* NULL, or: vectors are what w has gained
				   since; sums are added to it, models take
				   its place; borrowed */
	float *mean, *wide;	/* params and elements floats, owned */
	struct stream_in stream;
	uint64_t iteration;	/* of the weights held */
	uint64_t sent, results;	/* gradients, results read */
	uint64_t models, sums;	/* results that changed the weights */
};

/*
 * Make the pipes of c->in and c->out roomy, send hello and l's first weights,
 * those of c->iteration.
 */
enum optimizer_status child_open(struct child *c, const struct learner *l);

/* Say bye if the other end still listens, and give back memory. */
void child_close(struct child *c, bool bye);

/* The way up of a child: exchange a gradient for newer weights. */
struct gradient_sink child_sink(struct child *c);

#endif
