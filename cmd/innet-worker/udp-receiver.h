/*
 * udp-receiver.h - the datagrams that arrive at a socket, one after the other
 *
 * A receiver reads batches of messages.  If the caller knows which parts of a
 * vector come next, the receiver lets the kernel write them to their place in
 * the vector (udp-scatter.h).  The caller waits for messages itself, and calls
 * udp_receiver_waited() after each wait.
 */
#ifndef INNET_WORKER_UDP_RECEIVER_H
#define INNET_WORKER_UDP_RECEIVER_H

#include <stdbool.h>
#include <stddef.h>

#include "cmd/innet-worker/udp-scatter.h"
#include "common/net/udp-io.h"

enum {
	UDP_RECEIVER_BATCHES = 64, /* number of batches before other work is
				    * done */
	UDP_RECEIVER_MISSES = 16 /* after a wrong guess, number of messages
				  * whose place is not guessed */
};

/*
 * The caller sets the first members, and all others are 0.  find_place stores
 * the place in the vector for the data of the next message, or returns false if
 * the place is not known.  matches_place returns true if the message has the
 * expected headers.  find_place is NULL if no place is ever known.
 */
struct udp_receiver {
	struct udpio *u;		/* borrowed */
	bool (*find_place)(void *ctx, struct udp_scatter *l);
	bool (*matches_place)(void *ctx, const struct udpio_message *m);
	void *ctx;			/* argument of both functions */
	int got, next;	/* number of messages received in u; index of the
			 * current message */
	size_t at;			/* offset in the current message */
	struct udp_scatter place; /* place in the vector for the data of the
				   * message, if `placed` is true */
	bool placed;
	unsigned misses;	/* number of further messages whose place is not
				 * guessed */
	unsigned batches; /* number of batches received since the last wait */
};

/*
 * Store the next datagram in *p.  Returns false if there is none now.  During a
 * flood, the function stops after UDP_RECEIVER_BATCHES batches, so that other
 * work is done, too.
 */
bool udp_receiver_next(struct udp_receiver *r, struct udpio_packet *p);

/* Record that the caller has waited, so more batches can be received. */
static inline void
udp_receiver_waited(struct udp_receiver *r)
{
	r->batches = 0;
}

#endif
