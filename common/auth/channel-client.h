/*
 * channel-client.h - a client's channel to a server: a pass, seals and their
 * counters
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
#ifndef INNET_AUTH_CHANNEL_CLIENT_H
#define INNET_AUTH_CHANNEL_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/auth/cookie.h"
#include "common/auth/mac.h"
#include "common/wire/control.h"

enum {
	CHANNEL_CLIENT_CHALLENGE_BYTES =
	    CONTROL_HEADER_BYTES + 2 + COOKIE_BYTES,
	CHANNEL_CLIENT_PAD_BYTES = 2, /* of a body, and behind it: */
	CHANNEL_CLIENT_MORE_BYTES = COOKIE_BYTES + MAC_BYTES
};

struct channel_client {
	const struct key *key;		/* of seals, or NULL; borrowed */
	bool commands;			/* that is the key of commands */
	bool needs_cookie;			/* passes are needed at all */
	bool any;			/* challenges are another run's */
	bool asked;			/* under this pass: these xids */
	uint8_t cookie[COOKIE_BYTES];
	struct key mac_key;		/* of the pass */
	uint64_t out, in;		/* last counters */
	uint32_t first_xid, last_xid;
	bool challenged;		/* requests up to this one were: */
	uint32_t challenged_xid;
};

enum channel_client_news {
	CHANNEL_CLIENT_GOOD,	   /* from the server, and new */
	CHANNEL_CLIENT_CHALLENGED, /* ask again, under the same xid */
	CHANNEL_CLIENT_HINT,	   /* it may be: of BAD_MAC, NOT_MEMBER */
	CHANNEL_CLIENT_BAD,	   /* anybody's, or another key's */
	CHANNEL_CLIENT_OLD	   /* it came before */
};

/*
 * A channel with a key, or NULL.  passes: the server is elsewhere, or there is
 * a key.
 */
static inline void
channel_client_open(struct channel_client *ch, const struct key *key,
    bool needs_cookie, const uint8_t nonce[COOKIE_NONCE_BYTES])
{
	*ch = (struct channel_client){.key = key, .needs_cookie = needs_cookie};
	cookie_init(ch->cookie, nonce);
}

/* Has the server given us a pass? */
static inline bool
channel_client_has_cookie(const struct channel_client *ch)
{
	return cookie_time_ns(ch->cookie) != 0;
}

/* A request with that xid is under way. */
static inline void
channel_client_note_xid(struct channel_client *ch, uint32_t xid)
{
	if (!ch->asked || control_newer(ch->first_xid, xid))
		ch->first_xid = xid;
	if (!ch->asked || control_newer(xid, ch->last_xid))
		ch->last_xid = xid;
	ch->asked = true;
}

/*
 * What is asked, header and body of len bytes at msg, with room for
 * CHANNEL_CLIENT_PAD_BYTES and CHANNEL_CLIENT_MORE_BYTES more, gets what
 * belongs behind it. Its new length.
 */
static inline size_t
channel_client_protect(struct channel_client *ch, uint8_t *msg, size_t len)
{
	const bool seals = ch->key != NULL && channel_client_has_cookie(ch);

	channel_client_note_xid(ch, (uint32_t)bytes_get(msg + 4, 4));
	if (!ch->needs_cookie)
		return len;
	msg[1] |= CONTROL_HAS_COOKIE;
	while (!seals && len + COOKIE_BYTES < CHANNEL_CLIENT_CHALLENGE_BYTES)
		msg[len++] = 0;		/* no shorter than its answer */
	memcpy(msg + len, ch->cookie, COOKIE_BYTES);
	len += COOKIE_BYTES;
	if (!seals)
		return len;
	msg[1] |= (uint8_t)(CONTROL_HAS_MAC |
	    (ch->commands ? CONTROL_COMMANDS : 0));
	return mac_put(&ch->mac_key, MAC_REQUEST, ++ch->out, msg, len);
}

/* Is c a challenge to something that we have asked? */
static inline bool
channel_client_is_challenge(
    const struct channel_client *ch, const struct control *c)
{
	if (c->cookie == NULL || cookie_time_ns(c->cookie) == 0)
		return false;
	if (ch->any)
		return true;
	return ch->needs_cookie && ch->asked &&
	    memcmp(c->cookie, ch->cookie, COOKIE_NONCE_BYTES) == 0 &&
	    c->xid - ch->first_xid <= ch->last_xid - ch->first_xid;
}

/*
 * Is it one that was overtaken by another?  A server whose machine was started
 * again has earlier times, but it challenges new requests too.
 */
static inline bool
channel_client_is_late(const struct channel_client *ch, const struct control *c)
{
	const uint64_t t = cookie_time_ns(c->cookie),
		       has = cookie_time_ns(ch->cookie);

	return memcmp(c->cookie, ch->cookie, COOKIE_BYTES) == 0 || (t <= has &&
	    ch->challenged && !control_newer(c->xid, ch->challenged_xid));
}

/* The pass that the server has given us is ours from now on. */
static inline void
channel_client_adopt_cookie(
    struct channel_client *ch, const uint8_t cookie[COOKIE_BYTES])
{
	memcpy(ch->cookie, cookie, COOKIE_BYTES);
	ch->needs_cookie = true;
	if (ch->key != NULL)
		mac_channel_key(ch->key, cookie, &ch->mac_key);
	ch->out = ch->in = 0;
	ch->asked = false;
}

/* A challenge: from now on ours is that pass. */
static inline enum channel_client_news
channel_client_take_challenge(
    struct channel_client *ch, const struct control *c)
{
	if (!channel_client_is_challenge(ch, c))
		return CHANNEL_CLIENT_BAD;
	if (channel_client_is_late(ch, c))
		return CHANNEL_CLIENT_OLD;
	channel_client_adopt_cookie(ch, c->cookie);
	if (!ch->challenged || control_newer(c->xid, ch->challenged_xid))
		ch->challenged_xid = c->xid;
	ch->challenged = true;
	return CHANNEL_CLIENT_CHALLENGED;
}

/* A message that proves nothing: may it be heeded a little? */
static inline bool
channel_client_is_hint(const struct channel_client *ch, const struct control *c)
{
	if (c->action != CONTROL_ACK || c->body_bytes < 2)
		return false;
	return c->body[1] == CONTROL_NOT_MEMBER ||
	    (c->body[1] == CONTROL_BAD_MAC && c->cookie != NULL &&
	    memcmp(c->cookie, ch->cookie, COOKIE_BYTES) == 0);
}

/* What is c, of len bytes at msg, which has come from the server's address? */
static inline enum channel_client_news
channel_client_receive(struct channel_client *ch, const uint8_t *msg,
    size_t len, const struct control *c)
{
	if (c->action == CONTROL_ACK && c->body_bytes >= 2 &&
	    c->body[1] == CONTROL_CHALLENGE)
		return channel_client_take_challenge(ch, c);
	if (!ch->needs_cookie)
		return CHANNEL_CLIENT_GOOD;
	if (ch->key == NULL) {
		if (c->cookie != NULL && channel_client_has_cookie(ch) &&
		    memcmp(c->cookie, ch->cookie, COOKIE_BYTES) == 0)
			return CHANNEL_CLIENT_GOOD;
	} else if (c->has_mac && channel_client_has_cookie(ch) &&
	    mac_good(&ch->mac_key, MAC_RESPONSE, msg, len)) {
		if (c->counter <= ch->in)
			return CHANNEL_CLIENT_OLD;
		ch->in = c->counter;
		return CHANNEL_CLIENT_GOOD;
	}
	return channel_client_is_hint(ch, c) ? CHANNEL_CLIENT_HINT
					   : CHANNEL_CLIENT_BAD;
}

#endif
