/*
 * update-frames.h - packets of a network of updates as frames of captures
 *
 * The frames are those that innet-gen would write, their vectors zeros.
 */
#ifndef INNET_SIM_UPDATE_FRAMES_H
#define INNET_SIM_UPDATE_FRAMES_H

#include "cmd/innet-sim/engine/sim.h"

/* Write p, stamped stamp_ns, to out. */
void update_frames_put(const struct sim *s, struct pcapio_out *out,
    const struct sim_packet *p, uint64_t stamp_ns);

#endif
