/*
 * secure-channel.h - a client's channel to a server: a pass, seals and their counters
 *
 * What is asked carries a pass, at first one without a time.  The server
 * answers that with a challenge, which is a pass of its own; with that the
 * request is sent again, under the same xid.  With a key all that is asked then
 * has a seal, and so has what the server says; without one that carries our
 * pass: innet-wire(5).  To a server of this machine, without a key, nothing of
 * this is needed, and `passes` is false.
 *
 * Pure: who opens a channel draws the nonce.  Messages are judged, not acted
 * upon.
 */
#ifndef INNET_AUTH_SECURE_CHANNEL_H
#define INNET_AUTH_SECURE_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/wire/control.h"
#include "common/auth/mac.h"

enum {
	CHANNEL_CHALLENGE_BYTES = CONTROL_HEADER_BYTES + 2 + PASS_BYTES,
	CHANNEL_PAD_BYTES = 2,		/* of a body, and behind it: */
	CHANNEL_MORE_BYTES = PASS_BYTES + SEAL_BYTES
};

struct channel {
	const struct key *key;		/* of seals, or NULL; borrowed */
	bool commands;			/* that is the key of commands */
	bool passes;			/* passes are needed at all */
	bool any;			/* challenges are another run's */
	bool asked;			/* under this pass: these xids */
	uint8_t pass[PASS_BYTES];
	struct key seals;		/* of the pass */
	uint64_t out, in;		/* last counters */
	uint32_t first_xid, last_xid;
	bool challenged;		/* requests up to this one were: */
	uint32_t challenged_xid;
};

enum channel_news {
	CHANNEL_GOOD,			/* from the server, and new */
	CHANNEL_CHALLENGED,		/* ask again, under the same xid */
	CHANNEL_HINT,			/* it may be: of BAD_MAC, NOT_MEMBER */
	CHANNEL_BAD,			/* anybody's, or another key's */
	CHANNEL_OLD			/* it came before */
};

/*
 * A channel with a key, or NULL.  passes: the server is elsewhere, or there is
 * a key.
 */
static inline void
channel_open(struct channel *ch, const struct key *key, bool passes,
    const uint8_t nonce[PASS_NONCE_BYTES])
{
	*ch = (struct channel){ .key = key, .passes = passes };
	pass_first(ch->pass, nonce);
}

/* Has the server given us a pass? */
static inline bool
channel_has_pass(const struct channel *ch)
{
	return pass_time_ns(ch->pass) != 0;
}

/* A request with that xid is under way. */
static inline void
channel_note(struct channel *ch, uint32_t xid)
{
	if (!ch->asked || control_newer(ch->first_xid, xid))
		ch->first_xid = xid;
	if (!ch->asked || control_newer(xid, ch->last_xid))
		ch->last_xid = xid;
	ch->asked = true;
}

/*
 * What is asked, header and body of len bytes at msg, with room for
 * CHANNEL_PAD_BYTES and CHANNEL_MORE_BYTES more, gets what belongs behind it.
 * Its new length.
 */
static inline size_t
channel_put(struct channel *ch, uint8_t *msg, size_t len)
{
	const bool seals = ch->key != NULL && channel_has_pass(ch);

	channel_note(ch, (uint32_t)bytes_get(msg + 4, 4));
	if (!ch->passes)
		return len;
	msg[1] |= CONTROL_HAS_PASS;
	while (!seals && len + PASS_BYTES < CHANNEL_CHALLENGE_BYTES)
		msg[len++] = 0;		/* no shorter than its answer */
	memcpy(msg + len, ch->pass, PASS_BYTES);
	len += PASS_BYTES;
	if (!seals)
		return len;
	msg[1] |= (uint8_t)(CONTROL_HAS_SEAL |
	    (ch->commands ? CONTROL_COMMANDS : 0));
	return seal_put(&ch->seals, SEAL_ASKS, ++ch->out, msg, len);
}

/* Is c a challenge to something that we have asked? */
static inline bool
channel_challenged(const struct channel *ch, const struct control *c)
{
	if (c->pass == NULL || pass_time_ns(c->pass) == 0)
		return false;
	if (ch->any)
		return true;
	return ch->passes && ch->asked &&
	    memcmp(c->pass, ch->pass, PASS_NONCE_BYTES) == 0 &&
	    c->xid - ch->first_xid <= ch->last_xid - ch->first_xid;
}

/*
 * Is it one that was overtaken by another?  A server whose machine was started
 * again has earlier times, but it challenges new requests too.
 */
static inline bool
channel_late(const struct channel *ch, const struct control *c)
{
	const uint64_t t = pass_time_ns(c->pass), has = pass_time_ns(ch->pass);

	return memcmp(c->pass, ch->pass, PASS_BYTES) == 0 || (t <= has &&
	    ch->challenged && !control_newer(c->xid, ch->challenged_xid));
}

/* The pass that the server has given us is ours from now on. */
static inline void
channel_take_pass(struct channel *ch, const uint8_t pass[PASS_BYTES])
{
	memcpy(ch->pass, pass, PASS_BYTES);
	ch->passes = true;
	if (ch->key != NULL)
		seal_channel(ch->key, pass, &ch->seals);
	ch->out = ch->in = 0;
	ch->asked = false;
}

/* A challenge: from now on ours is that pass. */
static inline enum channel_news
channel_answer(struct channel *ch, const struct control *c)
{
	if (!channel_challenged(ch, c))
		return CHANNEL_BAD;
	if (channel_late(ch, c))
		return CHANNEL_OLD;
	channel_take_pass(ch, c->pass);
	if (!ch->challenged || control_newer(c->xid, ch->challenged_xid))
		ch->challenged_xid = c->xid;
	ch->challenged = true;
	return CHANNEL_CHALLENGED;
}

/* A message that proves nothing: may it be heeded a little? */
static inline bool
channel_hints(const struct channel *ch, const struct control *c)
{
	if (c->action != CONTROL_ACK || c->body_bytes < 2)
		return false;
	return c->body[1] == CONTROL_NOT_MEMBER ||
	    (c->body[1] == CONTROL_BAD_MAC && c->pass != NULL &&
	    memcmp(c->pass, ch->pass, PASS_BYTES) == 0);
}

/* What is c, of len bytes at msg, which has come from the server's address? */
static inline enum channel_news
channel_take(struct channel *ch, const uint8_t *msg, size_t len,
    const struct control *c)
{
	if (c->action == CONTROL_ACK && c->body_bytes >= 2 &&
	    c->body[1] == CONTROL_PROVE)
		return channel_answer(ch, c);
	if (!ch->passes)
		return CHANNEL_GOOD;
	if (ch->key == NULL) {
		if (c->pass != NULL && channel_has_pass(ch) &&
		    memcmp(c->pass, ch->pass, PASS_BYTES) == 0)
			return CHANNEL_GOOD;
	} else if (c->sealed && channel_has_pass(ch) &&
	    seal_good(&ch->seals, SEAL_ANSWERS, msg, len)) {
		if (c->counter <= ch->in)
			return CHANNEL_OLD;
		ch->in = c->counter;
		return CHANNEL_GOOD;
	}
	return channel_hints(ch, c) ? CHANNEL_HINT : CHANNEL_BAD;
}

#endif
