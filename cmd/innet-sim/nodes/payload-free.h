/*
 * payload-free.h - pass updates without payload to a plane, for a simulator
 *
 * The driver, and not the classifier, chooses the port of an update.  The plane
 * does everything else in the same way as for packets with payload.  The driver
 * passes regular traffic to plane_enqueue(), and departures to
 * plane_send_head().
 */
#ifndef INNET_SIM_PAYLOAD_FREE_H
#define INNET_SIM_PAYLOAD_FREE_H

#include "common/switch/plane.h"

/* Receive an update, which waits in the queue of the port. */
static inline void
payload_free_update(struct plane *pl, struct port *port,
    const struct arrival *a)
{
	pl->n[PLANE_PACKETS]++;
	pl->n[PLANE_TAKEN]++;
	plane_enqueue_update_at(pl, port, a, pl->now_ns);
}

/* Receive a model with the status *s, which bypasses the queue of the port. */
static inline void
payload_free_model(struct plane *pl, struct port *port, struct update_status *s)
{
	pl->n[PLANE_PACKETS]++;
	pl->n[PLANE_TAKEN]++;
	plane_stamp_port_status(port, s, pl->now_ns);
}

/*
 * Take a port down.  Count the frames in the queue of the port as queued, and
 * then drop them.
 */
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
