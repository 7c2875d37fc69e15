/*
 * stream-child.h - the gradient stream of an agent that innet-worker runs
 *
 * The agent writes gradients to one descriptor and reads results from the
 * other, as innet-stream(5) specifies.  Reads and writes have a time limit, and
 * a signal stops them.
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
	struct optimizer *optimizer; /* applies sums; borrowed */
	size_t params;		/* number of floats in the agent's vectors */
	size_t elements;	/* number of floats in a vector on the stream,
				 * including padding */
	float *base;		/* weights before the current delta, borrowed; a
				 * sum is added to these weights, and a model
				 * replaces them; NULL: send gradients */
	float *mean, *wide;	/* `params` and `elements` floats; owned */
	struct stream_in stream;
	uint64_t iteration;	/* iteration of the current weights */
	uint64_t sent, results;	/* number of gradients sent; number of results
				 * read */
	uint64_t models, sums;	/* number of results that changed the weights,
				 * by kind */
};

/*
 * Enlarge the pipes of c->in and c->out.  Send the hello and the weights of l,
 * which belong to iteration c->iteration.
 */
enum optimizer_status child_open(struct child *c, const struct learner *l);

/* Send BYE if bye is set, and free the memory. */
void child_close(struct child *c, bool bye);

/* Return a sink that sends each gradient and receives newer weights. */
struct gradient_sink child_sink(struct child *c);

#endif
