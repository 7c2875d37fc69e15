/*
 * control-io.h - send and receive a worker's control messages
 *
 * All control messages of a worker use one channel (auth/channel-client.h).
 * This module also sends and receives the messages of a state transfer, but
 * iswitch/state-transfer.h decides which messages to send.  These functions
 * print nothing and do not exit.
 */
#ifndef INNET_WORKER_CONTROL_IO_H
#define INNET_WORKER_CONTROL_IO_H

#include "common/iswitch/state-transfer.h"
#include "common/net/udp-transmit.h"
#include "common/auth/channel-client.h"

#include "cmd/innet-worker/worker.h"

enum { CONTROL_IO_TEXT_BYTES = 512 };

/* The channel from a worker to its switch. */
struct control_io {
	const struct worker_conf *cf;
	struct udp_transmit *out;
	struct channel_client channel;
	uint64_t *malformed, *bad_mac;	/* counters of the mode */
	bool cannot_multicast;		/* the worker could not join a group */
};

/*
 * Open the channel; malformed and bad_mac point to counters of the mode.
 * Returns false with errno set if there are no random numbers.
 */
bool control_open(struct control_io *, const struct worker_conf *,
    struct udp_transmit *, uint64_t *malformed, uint64_t *bad_mac);

/*
 * Send the request of len bytes at msg, a buffer with room for
 * CONTROL_MAX_BYTES.  Returns false if the socket refused it.
 */
bool control_send(struct control_io *, uint8_t *msg, size_t len);

/* Send the messages of a state transfer that are due. */
void control_send_transfer(struct state_transfer *h, struct control_io *v,
    struct membership *in, uint64_t now_ns);

/*
 * Write to `text` that a state was fetched, or why no state was fetched.  The
 * text is empty if there is nothing to print.
 */
void control_explain_transfer(const struct state_transfer *h,
    const struct worker_conf *cf, char text[CONTROL_IO_TEXT_BYTES]);

/*
 * Handle a packet from the switch with the ToS of control messages.  `given` is
 * the number of results so far.  Returns true if the mode must handle *c.
 * Otherwise, the message belonged to the transfer, was counted as an error, or
 * was a challenge.  After a challenge, `in` or `h` repeats its request.
 */
bool control_receive(struct control_io *, struct membership *in,
    struct state_transfer *h, uint64_t given, const struct udpio_packet *p,
    struct control *c, uint64_t now_ns);

/*
 * Join the multicast group in the last Ack, or leave a group that the Ack no
 * longer names.  If the worker cannot join the group, returns false and writes
 * the reason to `text`.  The switch then sends this worker a copy of each
 * result.
 */
bool control_join_group(struct control_io *, struct membership *in,
    char text[CONTROL_IO_TEXT_BYTES], uint64_t now_ns);

#endif
