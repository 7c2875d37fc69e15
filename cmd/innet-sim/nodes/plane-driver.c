/* plane-driver.c - drive the data plane by events; see plane-driver.h */
#include "config.h"

#include <stdlib.h>

#include "cmd/innet-sim/nodes/plane-driver.h"
#include "common/base/message.h"
#include "common/olaf/program.h"

/* plane_driver.send_run for datagrams */
static void
send_datagrams(void *ctx, uint32_t socket, const union addr *from,
    const union addr *to, const struct post *p, uint64_t now_ns)
{
	const struct sim_plane *sp = ctx;

	(void)from;
	(void)now_ns;
	for (uint32_t k = 0; k < p->count; k++)
		sp->send(sp, socket, to, p->tos, p->p + (size_t)k * p->bytes,
		    k + 1 < p->count ? p->bytes : p->last_bytes);
}

/*
 * Schedule the end of the transmission at the port of the pipe, unless it is
 * already scheduled.
 */
static void
schedule_departure(struct sim *s, struct sim_pipe *pipe)
{
	const uint64_t due = port_deadline_ns(pipe->egress);

	if (due == pipe->leave_ns)
		return;
	pipe->leave_ns = due;
	if (due != PORT_NEVER)
		sim_schedule(s, SIM_LEAVE, pipe->index, due);
}

/* plane_driver.schedule_port */
static void
handle_busy_port(void *ctx, struct port *port)
{
	const struct sim_plane *sp = ctx;

	schedule_departure(sp->sim, sp->sim->node[port->index].up);
}

/*
 * Make a packet from slot s of the port of n.  The packet gets the cluster id
 * of the network, not that of the port.
 */
static void
make_packet(const struct sim_node *n, const struct slot *s,
    struct sim_packet *p)
{
	p->wire_bytes = s->wire_bytes;
	p->up = s->up;
	p->up.vec = NULL;
	if (s->is_update)
		p->up.cluster += n->first;
}

/* plane_driver.send_slot */
static void
handle_departure(void *ctx, struct port *port, struct slot *slot,
    uint64_t now_ns)
{
	struct sim *s = ((struct sim_plane *)ctx)->sim;
	struct sim_port *own = &s->port[port->index];
	const struct sim_node *n = &s->node[port->index];
	const uint64_t time = link_time_ns(&port->link, slot->wire_bytes) +
	    port->put_off_ns;
	struct sim_packet *p;

	own->wait_ns += now_ns - time - slot->opened_ns;
	own->busy_ns += time;
	own->served++;
	p = sim_put_in_flight(s, n->up, now_ns);
	make_packet(n, slot, p);
	if (n->out != NULL)
		sim_put_frame(s, n->out, p, now_ns);
}

/* plane_driver.lose_slot */
static void
handle_loss(void *ctx, struct port *port, const struct slot *slot)
{
	struct sim *s = ((struct sim_plane *)ctx)->sim;
	struct sim_packet p;

	make_packet(&s->node[port->index], slot, &p);
	sim_count_loss(s, &p, SIM_LOST_DOWN);
	if (slot->is_update)
		sim_cluster(s, p.up.cluster)->cleared += p.up.merged;
}

static const struct plane_driver of_datagrams = { .send_run = send_datagrams };
static const struct plane_driver of_updates = { .send_slot = handle_departure,
	.lose_slot = handle_loss, .schedule_port = handle_busy_port };

void
sim_plane_open(struct sim_plane *sp, struct sim *s, struct sim_node *n,
    const struct plane_conf *cf, sim_plane_send *send)
{
	sp->sim = s;
	sp->node = n;
	sp->send = send;
	if (!plane_init(&sp->pl, cf, send == NULL ? &of_updates :
	    &of_datagrams, sp))
		err(1, "switches");
}

void
sim_plane_open_ports(struct sim_plane *sp, struct sim *s)
{
	static const struct olaf_conf olaf;
	static const struct plane_conf cf = { .program = &olaf_program,
	    .settings = &olaf, .ports.shaped = true, .regular_queued = true };

	sim_plane_open(sp, s, NULL, &cf, NULL);
}

void
sim_plane_free(struct sim_plane *sp)
{
	if (sp != NULL)
		plane_free(&sp->pl);
	free(sp);
}

void
sim_plane_handle_departure(struct sim *s, struct sim_pipe *pipe)
{
	if (pipe->leave_ns != s->now_ns)
		return;		/* the frame was already lost */
	/*
	 * handle this event, because the end of the transmission was not
	 * postponed
	 */
	if (port_deadline_ns(pipe->egress) == s->now_ns)
		plane_send_head(&s->plane->pl, pipe->egress, s->now_ns);
	pipe->leave_ns = PORT_NEVER;
	schedule_departure(s, pipe);
}

void
sim_plane_clear_port(struct sim *s, struct sim_pipe *pipe)
{
	plane_advance(&s->plane->pl, s->now_ns);
	payload_free_lose(&s->plane->pl, pipe->egress);
	pipe->leave_ns = PORT_NEVER;
}
