/*
 * capture.h - what arrives at a node, and what leaves it upward, as captures
 *
 * In the folder of -w: NAME.in.pcap has what came to the node NAME (updates,
 * and models on their way back), stamped when it came; NAME.out.pcap has the
 * updates that left on its link, stamped when their last bit left.  Frames are
 * those that innet-gen would write, their vectors zeros.
 */
#ifndef INNET_SIM_CAPTURE_H
#define INNET_SIM_CAPTURE_H

#include "cmd/innet-sim/sim.h"

/* Open captures of all switches and servers in dir, or exit 1. */
void capture_open(struct sim *s, const char *dir);

/* Put p, stamped stamp_ns, into out. */
void capture_put(const struct sim *s, struct pcapio_out *out,
    const struct sim_packet *p, uint64_t stamp_ns);

/* Close them: false, and said why, if one is not whole. */
bool capture_close(struct sim *s);

#endif
