/*
 * node-switch.h - a switch in a network of updates: one port of a shared plane
 */
#ifndef INNET_SIM_NODE_SWITCH_H
#define INNET_SIM_NODE_SWITCH_H

#include "cmd/innet-sim/engine/sim.h"

extern const struct sim_kind node_switch_kind;

/*
 * Create the port from n to n->up; it takes over the pipe's link.  The routes
 * of the switch n must be known.  Call this for all switches in their order in
 * sim->plane.  Returns false if out of memory.
 */
bool node_switch_open(struct sim *s, struct sim_node *n,
    const struct scenario_switch *cf);

#endif
