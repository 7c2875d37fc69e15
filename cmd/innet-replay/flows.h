/*
 * flows.h - one socket for each five-tuple of a trace, all to the same address
 *
 * Each socket has its own port, so the receiver can distinguish the flows, as
 * the receiver of the original packets could.  The sockets only send.  Replies
 * are never read, so their receive buffers are small.  A struct flows owns its
 * sockets; flows_close() closes them.
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
	union addr from;	/* source address; its port is 0 */
	bool offload;
	struct flow *flow;
	uint32_t count, room;
	struct hashmap by_hash;
};

/*
 * Open an empty table of sockets that send to an address.  Exit with status 1
 * if there is no route.
 */
void flows_open(struct flows *s, const union addr *to, bool offload);
void flows_close(struct flows *s);

/*
 * Return the number of the socket for a five-tuple.  If there is no such
 * socket, open one.  If that fails, exit with status 1.
 */
uint32_t flows_find(struct flows *s, const struct frame_flow *id);

/* Return the number of errors that all sockets have received. */
uint64_t flows_unreachable(struct flows *s);

#endif
