/* network.c - the network of a scenario; see network.h */
#include "config.h"

#include "cmd/innet-sim/run/network.h"

#include <stdlib.h>

#include "cmd/innet-sim/nodes/plane-driver.h"
#include "cmd/innet-sim/nodes/update-network.h"
#include "cmd/innet-sim/training/train-build.h"

struct sim *
network_new(const struct scenario *sc, uint64_t seed)
{
	struct sim *s = sim_alloc(1, sizeof(*s), "simulations");

	s->sc = sc;
	s->seed = seed;
	/* use the same random numbers as innet-gen */
	s->arrivals = rng_seed(seed + 0x776f726b6572);
	s->bursts = rng_seed(seed + 0x627572737473);
	s->control = rng_seed(seed ^ 0x636f6e74726f6c);
	s->chance = rng_seed(seed ^ 0x6368616e6365);
	if (sc->trainings.n > 0) {
		s->network = &train_network;
		train_build(s);
	} else {
		s->network = &update_network;
		update_network_build(s);
	}
	return s;
}

void
network_free(struct sim *s)
{
	train_free(s);
	for (uint32_t i = 0; i < s->nodes; i++) {
		if (s->node[i].kind->free != NULL)
			s->node[i].kind->free(&s->node[i]);
		hashmap_free(&s->node[i].cluster);
	}
	for (uint32_t i = 0; i < s->pipes; i++) {
		if (s->pipe[i].ring.item != &s->pipe[i].one)
			free(s->pipe[i].ring.item);
	}
	for (uint32_t i = 0; i < s->clusters; i++) {
		for (uint32_t k = 0; k < s->cluster[i].packets; k++)
			aom_free(&s->cluster[i].age[k]);
		free(s->cluster[i].age);
		free(s->cluster[i].range);
	}
	calendar_free(&s->events);
	sim_plane_free(s->plane);
	free(s->port);
	free(s->pipe);
	free(s->node);
	free(s->worker);
	free(s->cluster);
	free(s->cluster_of);
	free(s->route);
	free(s->source);
	free(s);
}
