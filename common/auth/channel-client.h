/*
 * channel-client.h - a client's channel to a server: cookie, MACs, counters
 *
 * Each request contains a cookie (cookie.h).  The first cookie contains no
 * time.  If a request has such a cookie, the server answers with a challenge,
 * which is an Ack that contains a cookie made by the server.  The client adopts
 * the server's cookie and sends the request again with the same xid.  With a
 * key, every later message in both directions has a MAC (mac.h).  Without a
 * key, the server returns the client's cookie (innet-wire(5)).  If there is no
 * key and the server is on loopback, neither cookies nor MACs are needed, so
 * `needs_cookie` is false.
 *
 * The functions use no socket and no random numbers: the caller draws the nonce
 * (nonce.h).  channel_client_receive() only classifies a message; the caller
 * acts on it.
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
	CHANNEL_CLIENT_PAD_BYTES = 2,	/* maximum number of padding bytes in a
					 * body */
	/* maximum number of bytes after the body */
	CHANNEL_CLIENT_MORE_BYTES = COOKIE_BYTES + MAC_BYTES
};

struct channel_client {
	const struct key *key;		/* borrowed; base key of the MACs, or
					 * NULL */
	bool commands;			/* `key` is the key of commands */
	bool needs_cookie;		/* the server requires cookies */
	bool any;			/* accept challenges that were made in
					 * another run, because a trace is
					 * replayed */
	bool asked;			/* requests with `cookie` were sent;
					 * their xids are first_xid to
					 * last_xid */
	uint8_t cookie[COOKIE_BYTES];
	struct key mac_key;		/* key of the MACs with this cookie */
	uint64_t out, in;		/* last counter sent; last counter
					 * received */
	uint32_t first_xid, last_xid;
	bool challenged;		/* a challenge arrived that answers the
					 * requests up to challenged_xid */
	uint32_t challenged_xid;
	bool answered;			/* since the last challenge, a request
					 * was sent again */
	bool repeated;			/* since the last challenge, requests
					 * were sent again at least twice */
};

/* The kinds of messages from the server's address. */
enum channel_client_news {
	CHANNEL_CLIENT_GOOD,	   /* the message is from the server, and is
				    * new */
	CHANNEL_CLIENT_CHALLENGED, /* a challenge: send the request again with
				    * the same xid */
	CHANNEL_CLIENT_HINT,	   /* an Ack with status BAD_MAC or NOT_MEMBER
				    * that is not authenticated */
	CHANNEL_CLIENT_BAD,	   /* the message is from another sender, or was
				    * made with another key */
	CHANNEL_CLIENT_OLD	   /* a replayed message, or a late challenge */
};

/*
 * Open a channel.  `key` may be NULL.  `needs_cookie` says that the server is
 * on another machine or that there is a key.
 */
static inline void channel_client_open(struct channel_client *ch, const struct
    key *key, bool needs_cookie, const uint8_t nonce[COOKIE_NONCE_BYTES]);

/*
 * Become a new client: forget the cookie, and use the next nonce.  The server
 * then sees the next request as a request of another process at this address.
 */
static inline void channel_client_renew(struct channel_client *ch);

/* Has the server sent us a cookie? */
static inline bool channel_client_has_cookie(const struct channel_client *ch);

/*
 * Append the cookie, and the MAC if there is a key, to the request of len bytes
 * at msg.  The buffer must have room for CHANNEL_CLIENT_PAD_BYTES +
 * CHANNEL_CLIENT_MORE_BYTES more bytes.  Returns the new length.
 */
static inline size_t channel_client_protect(struct channel_client *ch, uint8_t
    *msg, size_t len);

/*
 * Use this cookie of the server from now on.  The counters of the channel start
 * from 0 again.
 */
static inline void channel_client_adopt_cookie( struct channel_client *ch, const
    uint8_t cookie[COOKIE_BYTES]);

/*
 * Classify message c, which is the len bytes at msg and came from the server's
 * address.
 */
static inline enum channel_client_news channel_client_receive(struct
    channel_client *ch, const uint8_t *msg, size_t len, const struct control
    *c);

/* implementation */

static inline void
channel_client_open(struct channel_client *ch, const struct key *key,
    bool needs_cookie, const uint8_t nonce[COOKIE_NONCE_BYTES])
{
	*ch = (struct channel_client){.key = key, .needs_cookie = needs_cookie};
	cookie_init(ch->cookie, nonce);
}

static inline void
channel_client_renew(struct channel_client *ch)
{
	const struct channel_client old = *ch;
	uint8_t nonce[COOKIE_NONCE_BYTES];
	size_t i = COOKIE_NONCE_BYTES;

	memcpy(nonce, old.cookie, sizeof(nonce));
	while (i > 0 && ++nonce[--i] == 0)
		;
	channel_client_open(ch, old.key, old.needs_cookie, nonce);
	ch->commands = old.commands;
	ch->any = old.any;
}

static inline bool
channel_client_has_cookie(const struct channel_client *ch)
{
	return cookie_time_ns(ch->cookie) != 0;
}

/* Record that a request with this xid has been sent. */
static inline void
channel_client_note_xid(struct channel_client *ch, uint32_t xid)
{
	if (!ch->asked || control_newer(ch->first_xid, xid))
		ch->first_xid = xid;
	if (!ch->asked || control_newer(xid, ch->last_xid))
		ch->last_xid = xid;
	ch->asked = true;
}

/* Derive the key of the MACs again if the base key has changed. */
static inline void
channel_client_refresh_key(struct channel_client *ch)
{
	if (ch->mac_key.generation != ch->key->generation)
		mac_channel_key(ch->key, ch->cookie, &ch->mac_key);
}

static inline size_t
channel_client_protect(struct channel_client *ch, uint8_t *msg, size_t len)
{
	const bool seals = ch->key != NULL && channel_client_has_cookie(ch);
	const uint32_t xid = (uint32_t)bytes_get(msg + 4, 4);

	channel_client_note_xid(ch, xid);
	if (ch->challenged && xid == ch->challenged_xid) {
		ch->repeated = ch->answered;
		ch->answered = true;
	}
	if (!ch->needs_cookie)
		return len;
	msg[1] |= CONTROL_HAS_COOKIE;
	while (!seals && len + COOKIE_BYTES < CHANNEL_CLIENT_CHALLENGE_BYTES)
		msg[len++] = 0;		/* pad the request, so that it is at
					 * least as long as its answer */
	memcpy(msg + len, ch->cookie, COOKIE_BYTES);
	len += COOKIE_BYTES;
	if (!seals)
		return len;
	msg[1] |= (uint8_t)(CONTROL_HAS_MAC |
	    (ch->commands ? CONTROL_COMMANDS : 0));
	channel_client_refresh_key(ch);
	return mac_put(&ch->mac_key, MAC_REQUEST, ++ch->out, msg, len);
}

/* Is message c a challenge that answers one of our requests? */
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
 * Is challenge c out of date, because a newer challenge has arrived or because
 * c answers a copy of a request that was already challenged?  If the server's
 * machine has restarted, the times in cookies are smaller than before, but then
 * the server also challenges new requests.  If the client answers a challenge
 * and then repeats the request, the server may challenge this request again,
 * because the server may have restarted.
 */
static inline bool
channel_client_is_late(const struct channel_client *ch, const struct control *c)
{
	const uint64_t t = cookie_time_ns(c->cookie),
		       has = cookie_time_ns(ch->cookie);

	return memcmp(c->cookie, ch->cookie, COOKIE_BYTES) == 0 ||
	    (ch->challenged && !control_newer(c->xid, ch->challenged_xid) &&
	    (t <= has || !ch->repeated));
}

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

/* Adopt the cookie of a challenge. */
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
	ch->answered = ch->repeated = false;
	return CHANNEL_CLIENT_CHALLENGED;
}

/* Can message c, which has no valid MAC, be used as a hint? */
static inline bool
channel_client_is_hint(const struct channel_client *ch, const struct control *c)
{
	if (c->action != CONTROL_ACK || c->body_bytes < 2)
		return false;
	return c->body[1] == CONTROL_NOT_MEMBER ||
	    (c->body[1] == CONTROL_BAD_MAC && c->cookie != NULL &&
	    memcmp(c->cookie, ch->cookie, COOKIE_BYTES) == 0);
}

/*
 * Is the MAC of a message correct under the key or, while the key changes,
 * under the other key?
 */
static inline bool
channel_client_mac_good(struct channel_client *ch, const uint8_t *msg,
    size_t len)
{
	struct key other;

	channel_client_refresh_key(ch);
	if (mac_good(&ch->mac_key, MAC_RESPONSE, msg, len))
		return true;
	if (ch->key->other == NULL)
		return false;
	mac_channel_key(ch->key->other, ch->cookie, &other);
	return mac_good(&other, MAC_RESPONSE, msg, len);
}

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
	    channel_client_mac_good(ch, msg, len)) {
		if (c->counter <= ch->in)
			return CHANNEL_CLIENT_OLD;
		ch->in = c->counter;
		return CHANNEL_CLIENT_GOOD;
	}
	return channel_client_is_hint(ch, c) ? CHANNEL_CLIENT_HINT
					   : CHANNEL_CLIENT_BAD;
}

#endif
