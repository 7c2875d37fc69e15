/*
 * plane-driver.h - drive the data plane with the simulator's events
 *
 * Other nodes deliver the packets, and the queue of events replaces the clock.
 * The plane (common/switch/plane.h) and its program make all decisions.
 *
 * All switches in a network of updates share one plane.  Each switch is one
 * port of this plane, in the order of the nodes.  This is possible because
 * program olaf keeps no state about a switch that has no address.  Packets of
 * such a network have no bytes (payload-free.h).  In a training job, each
 * switch has its own plane, and datagrams have bytes.
 */
#ifndef INNET_SIM_DRIVER_H
#define INNET_SIM_DRIVER_H

#include "cmd/innet-sim/engine/sim.h"
#include "common/switch/receive.h"
#include "cmd/innet-sim/nodes/payload-free.h"

struct sim_plane;

/* Send a datagram of a plane to its destination. */
typedef void sim_plane_send(const struct sim_plane *from, uint32_t socket,
    const union addr *to, uint8_t tos, const uint8_t *p, uint32_t len);

struct sim_plane {
	struct plane pl;
	struct sim *sim;
	struct sim_node *node;	/* node of the plane, in a training job */
	sim_plane_send *send;	/* callback that sends a datagram; NULL: updates
				 * leave through ports */
};

/*
 * Open a plane for node n with the settings *cf, which must stay valid.
 * sim_plane_open_ports() opens one plane for the ports of all switches.  Both
 * exit if out of memory.
 */
void sim_plane_open(struct sim_plane *sp, struct sim *s, struct sim_node *n,
    const struct plane_conf *cf, sim_plane_send *send);
void sim_plane_open_ports(struct sim_plane *sp, struct sim *s);

/* Free a plane; sp may be NULL. */
void sim_plane_free(struct sim_plane *sp);

/* Send all packets that the program can send now. */
static inline void
sim_plane_flush(struct sim_plane *sp)
{
	struct plane *pl = &sp->pl;

	plane_flush(pl);
	while (pl->program->has_backlog != NULL &&
	       pl->program->has_backlog(pl->state) &&
	       pl->program->send_backlog(pl->state))
		plane_flush(pl);
}

/* Pass a packet to the plane at the current time. */
static inline void
sim_plane_receive(struct sim_plane *sp, struct packet *p)
{
	plane_advance(&sp->pl, sp->sim->now_ns);
	plane_receive(&sp->pl, p);
	sim_plane_flush(sp);
}

/* Let the plane do all work that is due now. */
static inline void
sim_plane_wake(struct sim_plane *sp)
{
	plane_advance(&sp->pl, sp->sim->now_ns);
	sim_plane_flush(sp);
}

/* Has the program accounted for all packets that it received? */
static inline bool
sim_plane_is_accounted_for(const struct sim_plane *sp)
{
	const struct program *pr = sp->pl.program;

	return pr->counters_add_up == NULL || pr->counters_add_up(sp->pl.state);
}

/* Handle a SIM_LEAVE event: the port of the pipe has finished a frame. */
void sim_plane_handle_departure(struct sim *s, struct sim_pipe *pipe);

/* Remove the frames that wait for the pipe, and count them as lost. */
void sim_plane_clear_port(struct sim *s, struct sim_pipe *pipe);

#endif
