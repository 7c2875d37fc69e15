/*
 * captures.h - write captures of the packets that nodes receive or send
 *
 * The captures are written to the folder of -w.  NAME.in.pcap has the packets
 * that arrived at the node NAME (updates, and models for workers), with the
 * times of arrival.  NAME.out.pcap has the updates that the node sent on its
 * link, with the times when their last bit left.
 *
 * A link with `capture` or `access_capture` has four captures.
 * LINK.up.out.pcap and LINK.up.in.pcap record the two ends of the pipe toward
 * the server.  LINK.down.out.pcap and LINK.down.in.pcap record the two ends of
 * the pipe toward the workers.  The `out` files have the packets that left,
 * with the times when their last bit left.  The `in` files have the packets
 * that arrived, with the times of arrival.  The frames are those that innet-gen
 * would write; their vectors are zeros.
 */
#ifndef INNET_SIM_CAPTURE_H
#define INNET_SIM_CAPTURE_H

#include "cmd/innet-sim/engine/sim.h"

/*
 * Open captures of all switches, servers and captured links in dir.  Exits 1
 * after an error, and 2 if a capture would overwrite another one, the scenario,
 * or a file that the scenario reads.
 */
void captures_open(struct sim *s, const char *dir, const char *scenario);

/* Close the captures; returns false after a warning if one is incomplete. */
bool captures_close(struct sim *s);

#endif
