/*
 * relay-tag.h - data with proofs, at a switch: below it, and above
 *
 * What comes from below is judged there (handshake-server.h) and proved anew
 * when it leaves; so is what comes down (handshake-client.h).  Who opens below
 * is not answered before the switch itself is open above: it would send what
 * cannot go on.
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
	struct channel_client channel;		/* to what is above */
	uint32_t xid;
	uint64_t reported_ns;		/* of trouble, last */
};

/* addressed: it has an address of its own, and something above. */
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

/* The ToS of data, up and down. */
static inline uint8_t
relay_tag_tos(const struct relay_tag *h)
{
	return handshake_server_tos(&h->below);
}

/* The request c from below: an Open. */
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

/* A control message from above.  False if it is none. */
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

/* Ask above if it is time. */
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
	out->post[out->n - 1].bare = true;	/* it is proved */
}

/* May it be believed?  down: it comes from above.  Else the verdict. */
static inline unsigned
relay_tag_check(struct relay_tag *h, bool down, const struct packet *p)
{
	return down ? handshake_client_check(
			  &h->above, p->tos, p->payload, p->bytes)
		    : handshake_server_check(
			  &h->below, p->from, p->tos, p->payload, p->bytes);
}

/* It goes up with the tail that it came with, which becomes ours. */
static inline void
relay_tag_retag_up(
    struct relay_tag *h, uint8_t *p, uint32_t bytes, uint64_t now_ns)
{
	handshake_client_tag(&h->above, p, bytes - UPDATE_TAIL_BYTES, now_ns);
}

/* The same down, to all who hear it. */
static inline void
relay_tag_retag_down(struct relay_tag *h, uint8_t *p, uint32_t bytes)
{
	if (h->below.on)
		handshake_server_tag(&h->below, p, bytes - UPDATE_TAIL_BYTES);
}

/* What is wrong above for long, to be told now and then; or NULL. */
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
		snprintf(text, room, "%s: no answer to an Open for %.1f s",
		    name, (double)(now_ns - h->above.since_ns) / 1e9);
	return text;
}

#endif
