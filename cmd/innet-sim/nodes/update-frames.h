/*
 * update-frames.h - write packets of a network of updates to captures
 *
 * The frames are those that innet-gen would write; their vectors are zeros.
 */
#ifndef INNET_SIM_UPDATE_FRAMES_H
#define INNET_SIM_UPDATE_FRAMES_H

#include "cmd/innet-sim/engine/sim.h"

/* Write packet p to `out` with the timestamp stamp_ns. */
void update_frames_put(const struct sim *s, struct pcapio_out *out,
    const struct sim_packet *p, uint64_t stamp_ns);

#endif
