/*
 * send-limit.h - find nodes that send without progress
 *
 * A protocol that recovers from faults must not flood the network while it
 * waits.  This check counts the packets of each node in each second of
 * simulated time.  A packet counts for the node that has written it, once for
 * each link that transports it.  The count begins again whenever a worker gets
 * a result, because a fast network transports any number of results in a
 * second.
 *
 * It is a separate file because only chaos runs use it.
 */
#ifndef INNET_SIM_SEND_LIMIT_H
#define INNET_SIM_SEND_LIMIT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

struct send_limit_node {
	uint64_t second;	/* the second of simulated time */
	uint64_t results;	/* number of results when the count began */
	uint64_t sent;
};

struct send_limit {
	uint64_t most;		/* limit on `sent` */
	struct send_limit_node *node;	/* owned; by index of the node */
};

/* Initialise l for a number of nodes.  Returns false if there is no memory. */
static inline bool
send_limit_init(struct send_limit *l, uint32_t nodes, uint64_t most)
{
	*l = (struct send_limit){ .most = most,
	    .node = calloc(nodes, sizeof(*l->node)) };
	return l->node != NULL;
}

static inline void
send_limit_free(struct send_limit *l)
{
	free(l->node);
	l->node = NULL;
}

/*
 * Count a packet of the node with this index at now_ns.  `results` is the
 * number of results so far.  Returns false if the node has exceeded the limit.
 */
static inline bool
send_limit_count(struct send_limit *l, uint32_t index, uint64_t now_ns,
    uint64_t results)
{
	struct send_limit_node *n = &l->node[index];
	const uint64_t second = now_ns / 1000000000;

	if (n->second != second || n->results != results)
		*n = (struct send_limit_node){ second, results, 0 };
	return ++n->sent <= l->most;
}

#endif
