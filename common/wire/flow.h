/*
 * flow.h - convert between socket addresses and the flow of a frame
 */
#ifndef INNET_WIRE_FLOW_H
#define INNET_WIRE_FLOW_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "common/wire/addr.h"
#include "common/wire/frame.h"

/* Return the flow of a packet from address `from` to address `to`. */
static inline struct frame_flow
flow_from_addrs(const union addr *from, const union addr *to)
{
	struct frame_flow f = { .sport = addr_port(from),
	    .dport = addr_port(to), .v6 = from->sa.sa_family == AF_INET6 };

	if (f.v6) {
		memcpy(f.src, &from->in6.sin6_addr, 16);
		memcpy(f.dst, &to->in6.sin6_addr, 16);
	} else {
		memcpy(f.src, &from->in.sin_addr, 4);
		memcpy(f.dst, &to->in.sin_addr, 4);
	}
	return f;
}

/*
 * Store the port and the IP address at `ip`, which is in the format of struct
 * frame_flow, in *a.  Other fields of *a do not change.
 */
static inline void
flow_addr(union addr *a, const uint8_t ip[16], uint16_t port, bool v6)
{
	if (v6) {
		a->in6.sin6_family = AF_INET6;
		a->in6.sin6_port = htons(port);
		memcpy(&a->in6.sin6_addr, ip, 16);
	} else {
		a->in.sin_family = AF_INET;
		a->in.sin_port = htons(port);
		memcpy(&a->in.sin_addr, ip, 4);
	}
}

/*
 * Return the number of bytes of Ethernet, IP and UDP headers before a payload
 * that is sent to address `a`.
 */
static inline uint32_t
flow_head_bytes(const union addr *a)
{
	return a->sa.sa_family == AF_INET6 ? FRAME_V6_BYTES : FRAME_V4_BYTES;
}

#endif
