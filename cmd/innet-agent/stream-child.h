/*
 * stream-child.h - the gradient stream of an agent that innet-worker runs
 *
 * Gradients leave on one descriptor and results arrive on the other, as
 * innet-stream(5) specifies.  Reads and writes time out, and a signal stops
 * them.
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
	uint64_t timeout_ns;	/* longest wait for the worker */
	const volatile sig_atomic_t *stop;
	bool verbose;
	struct optimizer *optimizer; /* for results that are sums; borrowed */
	size_t params;		/* floats of the agent's vectors */
	size_t elements;	/* of vectors on the stream, the rest 0 */
	float *base;		/* NULL, or the weights that deltas start
				   from; sums are added to it, models replace
				   it; borrowed */
	float *mean, *wide;	/* params and elements floats, owned */
	struct stream_in stream;
	uint64_t iteration;	/* of the weights held */
	uint64_t sent, results;	/* gradients, results read */
	uint64_t models, sums;	/* results that changed the weights */
};

/*
 * Enlarge the pipes of c->in and c->out, and send hello and the first weights
 * of l, of the iteration c->iteration.
 */
enum optimizer_status child_open(struct child *c, const struct learner *l);

/* Send BYE if bye is set, and free the memory. */
void child_close(struct child *c, bool bye);

/* Return the sink that exchanges a gradient for newer weights. */
struct gradient_sink child_sink(struct child *c);

#endif
