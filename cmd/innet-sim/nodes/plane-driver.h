/*
 * plane-driver.h - the simulator as a driver of the data plane
 *
 * Packets come from other nodes, and the queue of events is the clock.  The
 * plane (common/switch/plane.h) and its program make all decisions.
 *
 * The switches of a network of updates are the ports of one plane, one each,
 * in the order of the nodes: program olaf keeps nothing of a switch that has no
 * address.  Their packets have no bytes (payload-free.h).  A
 * switch of a training is a plane of its own, whose datagrams have.
 */
#ifndef INNET_SIM_DRIVER_H
#define INNET_SIM_DRIVER_H

#include "cmd/innet-sim/engine/sim.h"
#include "common/switch/receive.h"
#include "cmd/innet-sim/nodes/payload-free.h"

struct sim_plane;

/* A datagram leaves, by its way. */
typedef void sim_plane_send(const struct sim_plane *from, uint32_t socket,
    const union addr *to, uint8_t tos, const uint8_t *p, uint32_t len);

struct sim_plane {
	struct plane pl;
	struct sim *sim;
	struct sim_node *node;	/* of a training */
	sim_plane_send *send;	/* NULL: updates leave by ports */
};

/*
 * Begin: a plane of node n with these settings, which stay; or one for the
 * ports of all switches.  Exit without memory.
 */
void sim_plane_open(struct sim_plane *sp, struct sim *s, struct sim_node *n,
    const struct plane_conf *cf, sim_plane_send *send);
void sim_plane_open_ports(struct sim_plane *sp, struct sim *s);

/* Free a plane; sp may be NULL. */
void sim_plane_free(struct sim_plane *sp);

/* Send all packets that the program has to send now. */
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

/* The plane receives a packet now. */
static inline void
sim_plane_receive(struct sim_plane *sp, struct packet *p)
{
	plane_advance(&sp->pl, sp->sim->now_ns);
	plane_receive(&sp->pl, p);
	sim_plane_flush(sp);
}

/* Let the plane do what is due by now. */
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

/* A SIM_LEAVE: the frame that the pipe's port sends has left. */
void sim_plane_handle_departure(struct sim *s, struct sim_pipe *pipe);

/* Lose the frames that wait for the pipe. */
void sim_plane_clear_port(struct sim *s, struct sim_pipe *pipe);

#endif
