/*
 * control-io.h - a worker's control messages: what it says and hears by its
 * channel
 */
#ifndef INNET_WORKER_CONTROL_IO_H
#define INNET_WORKER_CONTROL_IO_H

#include "common/iswitch/state-transfer.h"
#include "common/net/udp-transmit.h"
#include "common/auth/channel-client.h"

#include "cmd/innet-worker/worker.h"

struct control_io {
	const struct worker_conf *cf;
	struct udp_transmit *out;
	struct channel_client channel;
	uint64_t *malformed, *bad_mac;	/* counters of the mode's */
	bool cannot_multicast;		/* to groups: there is no hearing one */
};

/* Exits 1 without random numbers. */
void control_open(struct control_io *, const struct worker_conf *,
    struct udp_transmit *, uint64_t *malformed, uint64_t *bad_mac);

/* Say the len bytes at msg, which has room for CONTROL_MAX_BYTES. */
bool control_send(struct control_io *, uint8_t *msg, size_t len);

/* Send what is due. */
void control_send_transfer(struct state_transfer *h, struct control_io *v,
    struct membership *in, uint64_t now_ns);

/* Why the fetch has failed, in a line of its own; or what has come. */
void control_report_transfer(
    const struct state_transfer *h, const struct worker_conf *cf);

/*
 * A packet with the ToS of control has come from the switch, after so many
 * results.  True: c is the mode's.  Else it was h's, or counted, or a
 * challenge, which has `in` or h say again what they have said.
 */
bool control_receive(struct control_io *, struct membership *in,
    struct state_transfer *h, uint64_t given, const struct udpio_packet *p,
    struct control *c, uint64_t now_ns);

/* Hear the group to which results come too, if the last Ack has named one. */
void control_join_group(
    struct control_io *, struct membership *in, uint64_t now_ns);

#endif
