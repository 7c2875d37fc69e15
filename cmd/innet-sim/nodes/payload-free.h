/*
 * payload-free.h - updates that are known without their bytes, as a simulator
 * has them
 *
 * The driver, and not the classifier, decides on the port of an update; the
 * plane does everything else, as for packets.  Regular traffic goes to
 * plane_enqueue()'s, departures plane_send_head()'s.
 */
#ifndef INNET_SIM_PAYLOAD_FREE_H
#define INNET_SIM_PAYLOAD_FREE_H

#include "common/switch/plane.h"

/* An update comes, which waits for the port. */
static inline void
payload_free_update(struct plane *pl, struct port *port,
    const struct arrival *a)
{
	pl->n[PLANE_PACKETS]++;
	pl->n[PLANE_TAKEN]++;
	plane_enqueue_update_at(pl, port, a, pl->now_ns);
}

/* A model with that status comes, which passes the port's queue. */
static inline void
payload_free_model(struct plane *pl, struct port *port, struct update_status *s)
{
	pl->n[PLANE_PACKETS]++;
	pl->n[PLANE_TAKEN]++;
	plane_stamp_port_status(port, s, pl->now_ns);
}

/* A port goes down: what waits there, which is counted as queued, is lost. */
static inline void
payload_free_lose(struct plane *pl, struct port *port)
{
	struct slot *head;

	port_count_queued(port);
	while ((head = port_head(port)) != NULL) {
		pl->driver->lose_slot(pl->ctx, port, head);
		port_drop_head(port, pl->now_ns);
	}
}

#endif
