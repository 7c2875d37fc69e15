/*
 * node-switch.c - a switch, which is one port of a plane that all switches
 * share; see node-switch.h
 */
#include "config.h"

#include <stdlib.h>

#include "common/base/message.h"

#include "cmd/innet-sim/nodes/node-switch.h"
#include "cmd/innet-sim/nodes/node-traffic.h"
#include "cmd/innet-sim/nodes/plane-driver.h"

/*
 * Return the size of the range of cluster ids to which n has routes, and set
 * n->first to the lowest id in this range.
 */
static uint32_t
count_clusters(struct sim_node *n)
{
	uint32_t last = 0;

	n->first = n->cluster.count == 0 ? 0 : UINT16_MAX;
	for (size_t i = 0; n->cluster.cell != NULL && i <= n->cluster.mask;
	    i++) {
		const struct hashmap_cell *cell = &n->cluster.cell[i];

		if (cell->used && cell->key < n->first)
			n->first = (uint16_t)cell->key;
		if (cell->used && cell->key > last)
			last = (uint32_t)cell->key;
	}
	return last - n->first + 1;
}

bool
node_switch_open(struct sim *s, struct sim_node *n,
    const struct scenario_switch *cf)
{
	const struct port_conf ec = {
		.queue = cf->queue == SCENARIO_OLAF ? PORT_OLAF :
		    PORT_FIFO,
		.slots = (uint32_t)cf->slots,
		.rate_bps = n->up->link.rate_bps,
		.extra_bytes = n->up->link.extra_bytes,
		.frame_ns = n->up->link.frame_ns,
		.merge_ns = cf->merge_ns,
		.combine = (enum olaf_queue_combine)cf->combine,
		.threshold = cf->reward_threshold < 0 ? NAN :
		    cf->reward_threshold,
		.active_window_ns = cf->active_window_ns,
		.clusters = count_clusters(n),
		.silent = cf->queue == SCENARIO_PLAIN,
	};
	struct ports *ports = &s->plane->pl.ports;
	struct sim_port *port = n->own;

	if (ports_make_port(ports, &ec) != n->index)
		return false;
	n->up->egress = port->egress = ports->port[n->index];
	port->cf = cf;
	return port_allocate_updates(port->egress);
}

/* Queue a packet that is on its way to the server. */
static void
receive_from_below(struct sim *s, struct sim_node *n,
    const struct sim_packet *p)
{
	/* a pointer that is valid for vectors without elements */
	static const uint8_t nothing[64];
	struct plane *pl = &s->plane->pl;
	struct port *port = n->up->egress;
	const uint64_t dropped = port->n[PORT_REGULAR].dropped;
	struct update u = p->up;
	struct arrival a = { .bytes = nothing, .have = 1,
	    .wire_bytes = p->wire_bytes, .is_update = true, .up = &u };

	u.vec = nothing + 1;
	if (u.kind == UPDATE_UPDATE) {
		u.cluster -= n->first;	/* this keeps the tables of the port
					 * short */
		payload_free_update(pl, port, &a);
		return;
	}
	a.is_update = false;
	a.framed = true;
	plane_enqueue(pl, port, &a);
	s->source[u.worker].dropped += port->n[PORT_REGULAR].dropped -
	    dropped;
}

static void
receive_packet(struct sim *s, struct sim_node *n, struct sim_pipe *by,
    const struct sim_packet *p)
{
	struct sim_packet model;

	(void)by;
	plane_advance(&s->plane->pl, s->now_ns);
	if (p->up.kind == UPDATE_MODEL) {
		model = *p;
		payload_free_model(&s->plane->pl, n->up->egress,
		    &model.up.status);
		sim_send_model(s, n, &model, s->now_ns);
	} else if (n->up->down) {
		sim_count_loss(s, p, SIM_LOST_DOWN);
	} else {
		receive_from_below(s, n, p);
	}
}

/*
 * Fail or restore a switch.  A switch that fails loses its queue and the state
 * of all clusters.
 */
static void
set_failed(struct sim *s, struct sim_node *n, bool down)
{
	struct sim_port *port = n->own;

	if (!down)
		return;
	for (uint32_t i = 0; i < s->pipes; i++) {
		if (s->pipe[i].from == n)
			sim_clear_pipe(s, &s->pipe[i], false);
	}
	if (!port_forget_clusters(port->egress))
		err(1, "switch %s", n->name);
}

const struct sim_kind node_switch_kind = {
    .name = "switch", .arrive = receive_packet, .fail = set_failed };
