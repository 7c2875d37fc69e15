/*
 * node-switch.h - a switch of a network of updates: a port of their one plane
 */
#ifndef INNET_SIM_NODE_SWITCH_H
#define INNET_SIM_NODE_SWITCH_H

#include "cmd/innet-sim/engine/sim.h"

extern const struct sim_kind node_switch_kind;

/*
 * Give n, a switch whose routes are known, its port to n->up, whose link it
 * takes over, and which is the next of sim->plane.  False without memory.
 */
bool node_switch_open(struct sim *s, struct sim_node *n,
    const struct scenario_switch *cf);

#endif
