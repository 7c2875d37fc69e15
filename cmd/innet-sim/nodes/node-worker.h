/*
 * node-worker.h - a group of workers, which is one node
 */
#ifndef INNET_SIM_NODE_WORKER_H
#define INNET_SIM_NODE_WORKER_H

#include "cmd/innet-sim/engine/sim.h"

/* The kind of node that is a group of workers. */
extern const struct sim_kind node_worker_kind;

/* The state of a worker that waits for a model before it computes again. */
struct sim_wait {
	uint64_t deadline_ns;	/* time of the worker's event; other events are
				 * ignored */
	bool waits;		/* the event is a time-out, not an update */
};

struct sim_group {
	const struct scenario_workers *cf;
	struct arrivals_conf arrivals;
	uint32_t base, n; /* index of the first worker; number of workers */
	struct schedule schedule;	/* if the schedule is empty, `arrivals`
					 * is used */
	size_t played;		/* number of rows of the schedule done so far */
	uint64_t stop_ns;	/* workers make no updates from this time on */
	struct txctl *control;	/* state of transmission control for each
				 * worker; NULL: no transmission control */
	struct sim_wait *wait; /* state for each worker, owned; NULL: no worker
				* waits */
};

/* Schedule the first event of each worker of the group. */
void node_worker_start(struct sim *s, struct sim_node *group);

/*
 * Make the next update of a worker, or end its wait for a model.  If the group
 * sends bursts, `worker` is the first of its cluster.
 */
void node_worker_generate(struct sim *s, uint32_t worker);

#endif
