/* node-server.h - a parameter server in a network of updates */
#ifndef INNET_SIM_NODE_SERVER_H
#define INNET_SIM_NODE_SERVER_H

#include "cmd/innet-sim/engine/sim.h"

extern const struct sim_kind node_server_kind;

#endif
