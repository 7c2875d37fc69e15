/*
 * relay-tag.h - tagged data at a switch that has its own address
 *
 * The switch is a server for the workers below it and a client of the switch or
 * server above it.  It checks the tags of data that arrives from one side, and
 * gives the data a new tag when it forwards it to the other side
 * (handshake-server.h, handshake-client.h).  It answers an Open from below only
 * after its own handshake with the server above is complete.  Otherwise a
 * worker would send data that the switch cannot forward.
 *
 * This is a separate file because a reviewer of the authentication looks in
 * this folder.  Only the program olaf includes the file.
 */
#ifndef INNET_AUTH_RELAY_TAG_H
#define INNET_AUTH_RELAY_TAG_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "common/auth/channel-client.h"
#include "common/auth/cookie.h"
#include "common/auth/handshake-client.h"
#include "common/auth/handshake-server.h"
#include "common/auth/key.h"
#include "common/switch/outbox.h"
#include "common/switch/program.h"

#define RELAY_TAG_PROBLEM_NS 5000000000u

struct relay_tag {
	struct handshake_server below;
	struct handshake_client above;
	struct channel_client channel;	/* channel to the switch or server
					 * above */
	uint32_t xid;			/* xid of the next request to the switch
					 * or server above */
	uint64_t reported_ns;		/* time at which a problem was last
					 * reported */
};

/*
 * Initialise h.  `addressed` says that the switch has its own address and a
 * parent.
 */
static inline void
relay_tag_init(struct relay_tag *h, const struct program_place *place,
    bool addressed, struct quota *quota)
{
	uint8_t nonce[COOKIE_NONCE_BYTES], input[6];
	struct key secret;

	handshake_server_init(&h->below, place, quota);
	h->below.on &= addressed;
	h->xid = place->xid;
	key_set(&secret, place->secret, sizeof(place->secret));
	bytes_put(bytes_put(input, 0, 2), h->xid, 4);
	key_hash_of(&secret, "innet 1 nonce", input, sizeof(input), nonce,
	    sizeof(nonce));
	channel_client_open(&h->channel, place->key, true, nonce);
	h->channel.any = h->below.accepts_any_tag;
	handshake_client_init(&h->above, h->below.on, &h->channel, place->key);
	h->above.accepts_any_tag = h->below.accepts_any_tag;
}

static inline void
relay_tag_free(struct relay_tag *h)
{
	handshake_server_free(&h->below);
}

/* Return the ToS byte of data in both directions. */
static inline uint8_t
relay_tag_tos(const struct relay_tag *h)
{
	return handshake_server_tos(&h->below);
}

/* Handle request c, which is an Open from below. */
static inline enum program_reply
relay_tag_handle_open(struct relay_tag *h, const union addr *from,
    const struct control *c, struct control_ack *a, uint64_t now_ns)
{
	if (!h->below.on)
		return PROGRAM_UNKNOWN;
	handshake_client_start(&h->above, now_ns);
	if (!handshake_client_is_ready(&h->above))
		return PROGRAM_LATER;
	handshake_server_open(&h->below, from, c, a, now_ns);
	return PROGRAM_ANSWERED;
}

/*
 * Receive a packet from above that has the ToS byte of control messages.
 * Returns false if it is not a control message.
 */
static inline bool
relay_tag_receive_control(
    struct relay_tag *h, const uint8_t *p, size_t len, uint64_t now_ns)
{
	struct control c;

	if (!control_parse(p, len, &c))
		return false;
	handshake_client_receive(&h->above,
	    channel_client_receive(&h->channel, p, len, &c), &c, now_ns);
	return true;
}

/* Post an Open to the switch or server above, if one is due. */
static inline void
relay_tag_send_open(struct relay_tag *h, struct outbox *out,
    const union addr *above, uint64_t now_ns)
{
	uint8_t msg[HANDSHAKE_CLIENT_BYTES];
	uint32_t n;

	if (now_ns < handshake_client_deadline_ns(&h->above))
		return;
	n = handshake_client_next(&h->above, h->xid++, now_ns, msg);
	outbox_copy(out, POST_ONE, 0, above, CONTROL_TOS, msg, n);
	out->post[out->n - 1].bare = true;	/* the message has its MAC
						 * already */
}

/*
 * Check a packet.  `down` says that the packet came from above.  Returns
 * UPDATE_OK, or the reason why it must be dropped.
 */
static inline unsigned
relay_tag_check(struct relay_tag *h, bool down, const struct packet *p)
{
	return down ? handshake_client_check(
			  &h->above, p->tos, p->payload, p->bytes)
		    : handshake_server_check(
			  &h->below, p->from, p->tos, p->payload, p->bytes);
}

/*
 * Replace the counter and the tag at the end of a packet for the switch or
 * server above.
 */
static inline void
relay_tag_retag_up(
    struct relay_tag *h, uint8_t *p, uint32_t bytes, uint64_t now_ns)
{
	handshake_client_tag(&h->above, p, bytes - UPDATE_TAIL_BYTES, now_ns);
}

/*
 * Replace the counter and the tag at the end of a packet for the workers below.
 * The tag is valid for all of these receivers.
 */
static inline void
relay_tag_retag_down(struct relay_tag *h, uint8_t *p, uint32_t bytes)
{
	if (h->below.on)
		handshake_server_tag(&h->below, p, bytes - UPDATE_TAIL_BYTES);
}

/*
 * If a problem with the switch or server above has lasted RELAY_TAG_PROBLEM_NS,
 * describe the problem in `text`.  While it lasts, describe it once every
 * RELAY_TAG_PROBLEM_NS.  Returns `text`, or NULL if there is nothing to report.
 */
static inline const char *
relay_tag_describe_problem(struct relay_tag *h, const union addr *above,
    char *text, size_t room, uint64_t now_ns)
{
	const char *why = handshake_client_problem(&h->above);
	char name[ADDR_NAME_BYTES];

	if (!h->above.asks ||
	    now_ns - h->above.since_ns < RELAY_TAG_PROBLEM_NS ||
	    (h->reported_ns != 0 &&
		now_ns - h->reported_ns < RELAY_TAG_PROBLEM_NS))
		return NULL;
	h->reported_ns = now_ns;
	addr_print(above, name);
	if (why != NULL)
		snprintf(text, room, "%s: refused: %s", name, why);
	else
		snprintf(text, room, "%s: no answer to an Open for %.1f s; is "
		    "a switch or server running there?",
		    name, (double)(now_ns - h->above.since_ns) / 1e9);
	return text;
}

#endif
