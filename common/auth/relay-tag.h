/*
 * relay-tag.h - data with proofs, at a switch: below it, and above
 *
 * What comes from below is judged there (handshake-server.h) and proved anew when it
 * leaves; so is what comes down (handshake-client.h).  Who opens below is not answered
 * before the switch itself is open above: it would send what cannot go on.
 */
#ifndef INNET_AUTH_RELAY_TAG_H
#define INNET_AUTH_RELAY_TAG_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "common/auth/handshake-server.h"
#include "common/auth/handshake-client.h"

#define HOP_TROUBLE_NS 5000000000u

struct hop {
	struct openers below;
	struct opening above;
	struct channel channel;		/* to what is above */
	uint32_t xid;
	uint64_t told_ns;		/* of trouble, last */
};

/* addressed: it has an address of its own, and something above. */
static inline void
hop_init(struct hop *h, const struct program_place *place, bool addressed,
    struct quota *quota)
{
	uint8_t nonce[PASS_NONCE_BYTES], what[6];
	struct key secret;

	openers_init(&h->below, place, quota);
	h->below.on &= addressed;
	h->xid = place->xid;
	key_set(&secret, place->secret, sizeof(place->secret));
	bytes_put(bytes_put(what, 0, 2), h->xid, 4);
	key_hash_of(&secret, "innet 1 nonce", what, sizeof(what), nonce,
	    sizeof(nonce));
	channel_open(&h->channel, place->key, true, nonce);
	h->channel.any = h->below.credulous;
	opening_init(&h->above, h->below.on, &h->channel, place->key);
	h->above.credulous = h->below.credulous;
}

static inline void
hop_free(struct hop *h)
{
	openers_free(&h->below);
}

/* The ToS of data, up and down. */
static inline uint8_t
hop_tos(const struct hop *h)
{
	return openers_tos(&h->below);
}

/* The request c from below: an Open. */
static inline enum program_reply
hop_control(struct hop *h, const union addr *from, const struct control *c,
    struct control_ack *a, uint64_t now_ns)
{
	if (!h->below.on)
		return PROGRAM_UNKNOWN;
	opening_want(&h->above, now_ns);
	if (!opening_ready(&h->above))
		return PROGRAM_LATER;
	openers_open(&h->below, from, c, a, now_ns);
	return PROGRAM_ANSWERS;
}

/* A control message from above.  False if it is none. */
static inline bool
hop_told(struct hop *h, const uint8_t *p, size_t len, uint64_t now_ns)
{
	struct control c;

	if (!control_parse(p, len, &c))
		return false;
	opening_hear(&h->above, channel_take(&h->channel, p, len, &c), &c,
	    now_ns);
	return true;
}

/* Ask above if it is time. */
static inline void
hop_fire(struct hop *h, struct outbox *out, const union addr *above,
    uint64_t now_ns)
{
	uint8_t msg[OPENING_BYTES];
	uint32_t n;

	if (now_ns < opening_due(&h->above))
		return;
	n = opening_next(&h->above, h->xid++, now_ns, msg);
	outbox_copy(out, POST_ONE, 0, above, CONTROL_TOS, msg, n);
	out->post[out->n - 1].bare = true;	/* it is proved */
}

/* May it be believed?  down: it comes from above.  Else the verdict. */
static inline unsigned
hop_judge(struct hop *h, bool down, const struct packet *p)
{
	return down ? opening_judge(&h->above, p->tos, p->payload, p->bytes) :
	    openers_judge(&h->below, p->from, p->tos, p->payload, p->bytes);
}

/* It goes up with the tail that it came with, which becomes ours. */
static inline void
hop_prove_up(struct hop *h, uint8_t *p, uint32_t bytes, uint64_t now_ns)
{
	opening_prove(&h->above, p, bytes - UPDATE_TAIL_BYTES, now_ns);
}

/* The same down, to all who hear it. */
static inline void
hop_prove_down(struct hop *h, uint8_t *p, uint32_t bytes)
{
	if (h->below.on)
		openers_prove(&h->below, p, bytes - UPDATE_TAIL_BYTES);
}

/* What is wrong above for long, to be told now and then; or NULL. */
static inline const char *
hop_trouble(struct hop *h, const union addr *above, char *text, size_t room,
    uint64_t now_ns)
{
	const char *why = opening_why(&h->above);
	char name[ADDR_NAME_BYTES];

	if (!h->above.asks || now_ns - h->above.since_ns < HOP_TROUBLE_NS ||
	    (h->told_ns != 0 && now_ns - h->told_ns < HOP_TROUBLE_NS))
		return NULL;
	h->told_ns = now_ns;
	addr_print(above, name);
	if (why != NULL)
		snprintf(text, room, "%s: refused: %s", name, why);
	else
		snprintf(text, room, "%s: no answer to an Open for %.1f s",
		    name, (double)(now_ns - h->above.since_ns) / 1e9);
	return text;
}

#endif
