/*
 * flows.h - a socket for each five-tuple of a trace, all to one address
 *
 * Who receives tells them apart as who received the trace did: each has a port
 * of its own.  They only send: what comes back is not read, and room for it is
 * small.  A struct flows owns its sockets; flows_close().
 */
#ifndef INNET_REPLAY_FLOWS_H
#define INNET_REPLAY_FLOWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/hashmap.h"
#include "common/net/udp-io.h"
#include "common/wire/addr.h"
#include "common/wire/frame.h"

struct flow {
	struct frame_flow id;
	struct udpio u;
};

struct flows {
	union addr from;	/* our address towards the receiver, port 0 */
	bool offload;
	struct flow *flow;
	uint32_t count, room;
	struct hashmap by_hash;
};

/* Exits 1 where there is no way to the address. */
void flows_open(struct flows *s, const union addr *to, bool offload);
void flows_close(struct flows *s);

/* The number of the five-tuple's socket; exits 1 if none can be had. */
uint32_t flows_find(struct flows *s, const struct frame_flow *id);

/* Errors that came back to any of them. */
uint64_t flows_unreachable(struct flows *s);

#endif
