/*
 * host.h - Redis as the host of the PER commands; see per-host.h
 */
#ifndef INNET_MEMORY_MODULE_HOST_H
#define INNET_MEMORY_MODULE_HOST_H

#include "cmd/innet-memory/commands/per-host.h"
#include "cmd/innet-memory/module/client.h"

/* Seed the random number generator of host_rng(). */
void host_seed(uint64_t seed);

#endif
