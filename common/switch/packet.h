/*
 * packet.h - a packet on its way through a switch
 *
 * What a driver hands to the data plane, and the plane to a program.  All of
 * it is borrowed for the call, the bytes until the plane is flushed.
 *
 * Over sockets there is the payload of a datagram alone.  In traces and on
 * interfaces there is a frame around it, which a queue keeps whole.  In the
 * simulator an update is known without any bytes.
 */
#ifndef INNET_SWITCH_PACKET_H
#define INNET_SWITCH_PACKET_H

#include <stdbool.h>
#include <stdint.h>

#include "common/wire/addr.h"
#include "common/wire/frame.h"
#include "common/wire/update.h"

enum { PACKET_WAY_OWN = 0 };	/* the switch's own address */

/*
 * What is set for each packet, and then, in whole words, what is 0 but for
 * frames: what was written in parts that overlap is not read back at once.
 */
struct packet {
	const union addr *from, *to;	/* port 0 where there is none */
	uint8_t *payload;		/* of the datagram */
	uint32_t bytes;
	uint32_t wire_bytes;		/* of its frame, on a link */
	uint8_t tos;
	uint32_t way;			/* at which of the switch's addresses
					 * it came: plane.h */
	const struct update *update;	/* already parsed; or NULL */

	/* the frame: */
	const struct frame *frame;	/* where all is in it; NULL: no frame */
	uint8_t *data;			/* Ethernet, as it came */
	enum frame_is is;
	enum frame_sums sums;		/* as it came, if they were asked */
	uint32_t have, len;		/* bytes there; before it was cut */
	bool changed;			/* the payload is: it is to be sealed */
	bool bare;			/* an update as the paper has it, */
	uint16_t cluster;		/* of this one */
};

#endif
