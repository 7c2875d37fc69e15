/*
 * flow.h - a sequence of updates that has its own age
 *
 * A flow has the updates of one cluster, or of one worker in a cluster, for one
 * range of the vector.
 */
#ifndef INNET_AOM_FLOW_H
#define INNET_AOM_FLOW_H

#include <stdint.h>

#include "common/olaf/aom.h"

/* The number of packets, and the number of constituents in these packets. */
struct update_count {
	uint64_t packets, constituents;
};

struct flow {
	uint64_t key;		/* cluster:16 worker:32 following:16 bits */
	struct update_count got, sent;
	struct aom age;
	struct aom *freshest;	/* age under the assumption that each ambiguous
				 * delivery is its newest candidate; owned */
	uint64_t last_ns;	/* time of the last packet of the flow, sent or
				 * received */
	double reward;		/* sum of the rewards of received packets */
	uint32_t latest; /* index + 1 of the newest sent item of the flow; 0:
			  * none */
};

static inline unsigned
flow_cluster(const struct flow *f)
{
	return (unsigned)(f->key >> 48);
}

static inline uint32_t
flow_worker(const struct flow *f)
{
	return (uint32_t)(f->key >> 16);
}

#endif
