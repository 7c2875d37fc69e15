/*
 * network.h - make the network of a scenario, for updates or for training jobs
 */
#ifndef INNET_SIM_NETWORK_H
#define INNET_SIM_NETWORK_H

#include "cmd/innet-sim/engine/sim.h"

/*
 * Make the network of a scenario; free it with network_free().  Exits if out of
 * memory.
 */
struct sim *network_new(const struct scenario *sc, uint64_t seed);

/* Free a network and its results. */
void network_free(struct sim *s);

#endif
