/*
 * captures.h - write packets that arrive at nodes and leave them to captures
 *
 * In the folder of -w: NAME.in.pcap has what came to the node NAME (updates,
 * and models on their way back), stamped when it came; NAME.out.pcap has the
 * updates that left on its link, stamped when their last bit left.  For links
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
 * Open captures of all switches, servers and captured links in dir.  Exit with
 * status 1 after an error, and 2 if a capture would overwrite another one, the
 * scenario, or a file that it reads.
 */
void captures_open(struct sim *s, const char *dir, const char *scenario);

/* Close them; false after a warning if one is not complete. */
bool captures_close(struct sim *s);

#endif
