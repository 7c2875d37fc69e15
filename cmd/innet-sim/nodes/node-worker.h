/*
 * node-worker.h - a group of workers, which is one node
 */
#ifndef INNET_SIM_NODE_WORKER_H
#define INNET_SIM_NODE_WORKER_H

#include "cmd/innet-sim/engine/sim.h"

/* The kind of a group of workers, which is one node, a group. */
extern const struct sim_kind node_worker_kind;

/* A worker that waits for models before it computes. */
struct sim_wait {
	uint64_t deadline_ns;	/* the SIM_GENERATE that is meant */
	bool waits;		/* it is a time-out */
};

struct sim_group {
	const struct scenario_workers *cf;
	struct arrivals_conf arrivals;
	uint32_t base, n;	/* its workers in sim->worker */
	struct schedule schedule;	/* empty: by arrivals */
	size_t played;		/* rows of it */
	uint64_t stop_ns;	/* nothing from then on */
	struct txctl *control;	/* of its workers; NULL: none has any */
	struct sim_wait *wait;	/* of each; NULL: they do not; owned */
};

/* The first event of each of its workers. */
void node_worker_start(struct sim *s, struct sim_node *group);

/* A worker (of bursts: a cluster) has an update, or waits no longer. */
void node_worker_generate(struct sim *s, uint32_t worker);

#endif
