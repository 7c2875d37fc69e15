/* A switch: updates go up through its port, models down: sim.h. */
#include "config.h"

#include <err.h>
#include <stdlib.h>

#include "cmd/innet-sim/sim.h"

/* How many clusters n may have routes to, from n->first on. */
static uint32_t
clusters_of(struct sim_node *n)
{
	uint32_t last = 0;

	n->first = n->cluster.count == 0 ? 0 : UINT16_MAX;
	for (size_t i = 0; n->cluster.cell != NULL && i <= n->cluster.mask;
	    i++) {
		const struct keymap_cell *cell = &n->cluster.cell[i];

		if (cell->used && cell->key < n->first)
			n->first = (uint16_t)cell->key;
		if (cell->used && cell->key > last)
			last = (uint32_t)cell->key;
	}
	return last - n->first + 1;
}

bool
sim_switch_open(struct sim_node *n, const struct scenario_switch *cf)
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
		.clusters = clusters_of(n),
	};
	struct sim_port *port = n->own;

	n->up->egress = &port->egress;
	port->cf = cf;
	return port_init(&port->egress, &ec) &&
	    port_open_updates(&port->egress);
}

static void
arrive(struct sim *s, struct sim_node *n, struct sim_pipe *by,
    const struct sim_packet *p)
{
	struct sim_port *port = n->own;
	struct update_status own;
	struct sim_packet model;

	(void)by;
	if (p->up.kind != UPDATE_MODEL) {
		sim_offer(s, n->up, p);
		return;
	}
	model = *p;
	if (port->cf->queue != SCENARIO_PLAIN) {
		own = port_status(&port->egress, s->now_ns);
		txctl_stamp(&model.up.status, &own);
	}
	sim_pass_down(s, n, &model, s->now_ns);
}

/* What it holds is lost, and which clusters it has seen. */
static void
fail(struct sim *s, struct sim_node *n, bool down)
{
	struct sim_port *port = n->own;
	const uint64_t window = port->egress.updates->active.window_ns;
	const uint32_t plain = port->egress.updates->active.plain;

	if (!down)
		return;
	for (uint32_t i = 0; i < s->pipes; i++) {
		if (s->pipe[i].from == n)
			sim_clear(s, &s->pipe[i], false);
	}
	active_clusters_free(&port->egress.updates->active);
	if (!active_clusters_init(&port->egress.updates->active, window, plain))
		err(1, "switch %s", n->name);
}

static void
end(struct sim_node *n)
{
	struct sim_port *port = n->own;

	port_free(&port->egress);
}

const struct sim_kind sim_switch = { "switch", arrive, NULL, fail, end };
