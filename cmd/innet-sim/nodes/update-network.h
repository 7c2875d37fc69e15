/*
 * update-network.h - a network of workers, switches and servers that carries
 * updates
 */
#ifndef INNET_SIM_UPDATE_NETWORK_H
#define INNET_SIM_UPDATE_NETWORK_H

#include "cmd/innet-sim/engine/sim.h"

/* The functions that the engine calls. */
extern const struct sim_network update_network;

/* Make the nodes and pipes of the scenario, and the first events. */
void update_network_build(struct sim *s);

#endif
