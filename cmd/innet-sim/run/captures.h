/*
 * captures.h - what arrives at a node, and what leaves it upward, as captures
 *
 * In the folder of -w: NAME.in.pcap has what came to the node NAME (updates,
 * and models on their way back), stamped when it came; NAME.out.pcap has the
 * updates that left on its link, stamped when their last bit left.  Of links
 * with `capture` or `access_capture`, LINK.up.out.pcap and LINK.up.in.pcap are
 * the two ends of the way up, LINK.down.out.pcap and LINK.down.in.pcap those
 * of the way back: what left, stamped when its last bit did, and what came,
 * stamped when that was there.  Frames are those that innet-gen would write,
 * their vectors zeros.
 */
#ifndef INNET_SIM_CAPTURE_H
#define INNET_SIM_CAPTURE_H

#include "cmd/innet-sim/engine/sim.h"

/*
 * Open captures in dir: of all switches and servers, of links; or exit 1, and
 * 2 where one would destroy another, the scenario or what it reads.
 */
void captures_open(struct sim *s, const char *dir, const char *scenario);

/* Close them: false, and said why, if one is not whole. */
bool captures_close(struct sim *s);

#endif
