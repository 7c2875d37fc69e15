/*
 * node-switch.h - a switch in a network of updates: one port of a shared plane
 */
#ifndef INNET_SIM_NODE_SWITCH_H
#define INNET_SIM_NODE_SWITCH_H

#include "cmd/innet-sim/engine/sim.h"

extern const struct sim_kind node_switch_kind;

/*
 * Create the port of switch n, which takes over the link of the pipe n->up.
 * The routes of n must be known.  Call this function for the switches in the
 * order of their nodes.  Returns false if out of memory.
 */
bool node_switch_open(struct sim *s, struct sim_node *n,
    const struct scenario_switch *cf);

#endif
