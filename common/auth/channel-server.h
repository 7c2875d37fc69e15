/*
 * channel-server.h - a server's channels to its clients
 *
 * A channel belongs to an address and a port.  A client opens it with a cookie
 * that this server made (cookie.h).  After that, the server keeps for the
 * channel the key of its MACs (mac.h), the last counter in each direction, and
 * the xid and Ack of the last request.  So the server can answer a repeated
 * request without executing it again (innet-wire(5)).  If no cookie is needed,
 * the server keeps only the xid and the Ack.  If the client reads a text page
 * by page, the server also keeps that text.
 *
 * All channels of members stay open.  At most CHANNEL_SERVER_OTHERS other
 * channels are open.  To make room for a new channel, the server closes the
 * least recently used one.  After that, only cookies that are newer than the
 * cookie of the closed channel can open a channel.  Rows may move in memory
 * when a row is added.  channel_server_free() frees the memory.
 */
#ifndef INNET_AUTH_CHANNEL_SERVER_H
#define INNET_AUTH_CHANNEL_SERVER_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/auth/cookie.h"
#include "common/auth/key.h"
#include "common/auth/mac.h"
#include "common/base/lru.h"
#include "common/wire/addr.h"
#include "common/wire/control.h"

enum {
	CHANNEL_SERVER_OTHERS = 1024, CHANNEL_SERVER_MOST = 1 << 23,
	CHANNEL_SERVER_TEXT_BYTES = 16 << 20	/* limit on the total size of
						 * all texts */
};

/* The conditions that a request must meet. */
struct channel_server_rules {
	const struct key *key;		/* base key of the MACs of requests that
					 * are not commands; NULL: none */
	const struct key *commands; /* base key of the MACs of commands; NULL:
				     * none */
	struct key secret;		/* secret with which the server makes
					 * cookies; if it is not set, every
					 * cookie with a time is valid */
	bool needs_cookie;		/* requests need a cookie unless they
					 * come from loopback */
};

struct channel_server_row {
	union addr at;
	bool open;			/* the channel is open; `cookie` opened
					 * it */
	uint8_t cookie[COOKIE_BYTES];
	bool commands;			/* `key` was derived from
					 * rules.commands */
	struct key key;			/* key of its MACs */
	uint64_t in, out;		/* last counter received; last counter
					 * sent */
	bool asked;			/* `xid` and `ack` are those of the last
					 * request; if not set, there was no
					 * request */
	uint32_t xid;
	uint8_t *ack;			/* owned; the last Ack, without its
					 * MAC */
	uint32_t ack_bytes;
	char *text;			/* owned; the text that the client reads
					 * page by page, made when the client
					 * read page 0 */
	uint32_t text_bytes;
};

struct channel_server {
	struct lru rows;
	struct hashmap_multiplier hash_seed;	/* seed of the hash of rows */
	bool began;			/* a first request has arrived */
	uint64_t floor_ns;		/* only cookies newer than this time can
					 * open a channel */
	uint64_t text_bytes;		/* total size of the texts of all rows,
					 * in bytes */
	/*
	 * Functions that return whether an address belongs to a member, and how
	 * many members there are.  Both pointers may be NULL.
	 */
	bool (*stays)(const void *ctx, const union addr *at);
	uint32_t (*staying)(const void *ctx);
	const void *ctx;
};

/* The result of channel_server_check(). */
enum channel_server_verdict {
	CHANNEL_SERVER_GOOD,
	CHANNEL_SERVER_CHALLENGE, /* the request has no valid cookie, so the
				   * client must be challenged */
	CHANNEL_SERVER_NO_COOKIE, /* the request has no cookie, although it
				   * needs one */
	CHANNEL_SERVER_BAD_MAC,	  /* the cookie is valid, but the MAC is
				   * wrong */
	CHANNEL_SERVER_REPLAYED,  /* the counter of the MAC is not new */
	CHANNEL_SERVER_NO_MEMORY
};

/* Return a server without channels. */
static inline struct channel_server channel_server_of(
    const struct hashmap_multiplier *hash_seed);

/* Free all rows. */
static inline void channel_server_free(struct channel_server *s);

/* Return the row of an address, or NULL. */
static inline struct channel_server_row *channel_server_find(
    const struct channel_server *s, const union addr *at);

/*
 * Check request c, which is the len bytes at msg and came from `from`.  If the
 * result is CHANNEL_SERVER_GOOD, set *row to the channel of the request.  The
 * pointer is valid until another row is added.
 */
static inline enum channel_server_verdict channel_server_check(
    struct channel_server *s, const struct channel_server_rules *rules,
    const union addr *from, const uint8_t *msg, size_t len,
    const struct control *c, uint64_t now_ns, struct channel_server_row **row);

/*
 * Append the MAC or, without a key, the client's cookie to the message of
 * `bytes` bytes at msg.  The buffer must have room for CONTROL_MAC_BYTES more
 * bytes.  Returns the new length.
 */
static inline uint32_t channel_server_protect(struct channel_server *s,
    const struct channel_server_rules *rules, const union addr *to,
    uint8_t *msg, uint32_t bytes);

/*
 * Let the client of row r read `text` (NULL: none).  r takes ownership of text.
 * If all texts together are too long, the texts that were used least recently
 * are freed, and the clients of these texts must start again at page 0.
 */
static inline void channel_server_set_text(struct channel_server *s,
    struct channel_server_row *r, char *text);

/*
 * Keep the Ack of a request so that it can be repeated.  If there is no memory,
 * a repeated request is executed again.
 */
static inline void channel_server_keep_ack(struct channel_server_row *r,
    uint32_t xid, const uint8_t *ack, uint32_t bytes);

/* implementation */

static inline struct channel_server
channel_server_of(const struct hashmap_multiplier *hash_seed)
{
	return (struct channel_server){.hash_seed = *hash_seed,
	    .rows = lru_new(CHANNEL_SERVER_MOST,
		sizeof(struct channel_server_row), hash_seed)};
}

/* Free the text of a row. */
static inline void
channel_server_free_text(struct channel_server *s, struct channel_server_row *r)
{
	s->text_bytes -= r->text_bytes;
	free(r->text);
	r->text = NULL;
	r->text_bytes = 0;
}

/* Turn row r into an empty row of address `at`. */
static inline void
channel_server_reset_row(struct channel_server *s, struct channel_server_row *r,
    const union addr *at)
{
	channel_server_free_text(s, r);
	free(r->ack);
	explicit_bzero(r, sizeof(*r));
	r->at = *at;
}

/*
 * Close the channel of row r.  After that, only cookies that are newer than the
 * cookie of this channel can open a channel.
 */
static inline void
channel_server_close_row(struct channel_server *s, struct channel_server_row *r)
{
	if (r->open && cookie_time_ns(r->cookie) > s->floor_ns)
		s->floor_ns = cookie_time_ns(r->cookie);
	channel_server_reset_row(s, r, &(union addr){ 0 });
}

/* Close and remove a row. */
static inline void
channel_server_forget_row(struct channel_server *s, uint32_t at)
{
	channel_server_close_row(s, lru_row(&s->rows, at));
	lru_remove(&s->rows, at);
}

static inline void
channel_server_free(struct channel_server *s)
{
	for (uint32_t at; (at = lru_oldest(&s->rows)) != 0;)
		channel_server_forget_row(s, at);
	lru_free(&s->rows);
}

static inline struct channel_server_row *
channel_server_find(const struct channel_server *s, const union addr *at)
{
	const uint32_t k = lru_find(&s->rows, addr_key(at, &s->hash_seed));
	struct channel_server_row *r = k == 0 ? NULL : lru_row(&s->rows, k);

	return r != NULL && addr_same(&r->at, at) ? r : NULL;
}

/*
 * Make room for another channel of an address that does not belong to a member.
 */
static inline void
channel_server_make_room(struct channel_server *s)
{
	const uint32_t most = CHANNEL_SERVER_OTHERS + (s->staying == NULL ? 0 :
	    s->staying(s->ctx));
	struct channel_server_row *r;
	uint32_t at;

	for (uint32_t n = s->rows.count; s->rows.count >= most && n > 0; n--) {
		at = lru_oldest(&s->rows);
		r = lru_row(&s->rows, at);
		if (s->stays != NULL && s->stays(s->ctx, &r->at))
			lru_mark_used(&s->rows, at);
		else
			channel_server_forget_row(s, at);
	}
}

/*
 * Return the row of an address, and mark this row as the most recently used
 * one.  If the address has no row, add one.  Returns NULL if there is no
 * memory.
 */
static inline struct channel_server_row *
channel_server_use_row(struct channel_server *s, const union addr *at)
{
	const uint64_t key = addr_key(at, &s->hash_seed);
	uint32_t k = lru_find(&s->rows, key);
	struct channel_server_row *r;

	if (k == 0) {
		channel_server_make_room(s);
		k = lru_add(&s->rows, key);
		if (k == 0)
			return NULL;
		r = lru_row(&s->rows, k);
		r->at = *at;
		return r;
	}
	lru_mark_used(&s->rows, k);
	r = lru_row(&s->rows, k);
	if (!addr_same(&r->at, at)) {	/* a different address has the same hash
					 * key */
		channel_server_close_row(s, r);
		r->at = *at;
	}
	return r;
}

/*
 * May this cookie open a channel?  The new channel replaces the channel of row
 * r, if r is not NULL.
 */
static inline bool
channel_server_may_open(const struct channel_server *s,
    const struct channel_server_rules *rules,
    const struct channel_server_row *r, const union addr *from,
    const uint8_t cookie[COOKIE_BYTES], uint64_t now_ns)
{
	if (r != NULL && r->open &&
	    cookie_time_ns(cookie) <= cookie_time_ns(r->cookie))
		return false;
	return rules->secret.set ? cookie_good(&rules->secret, from, cookie,
	    s->floor_ns, now_ns) : cookie_time_ns(cookie) > s->floor_ns;
}

/*
 * Open a channel with the cookie of request c.  The channel forgets the xid and
 * the Ack of the last request.
 */
static inline struct channel_server_row *
channel_server_open_row(struct channel_server *s, const union addr *from,
    const struct control *c, const struct key *key)
{
	struct channel_server_row *r = channel_server_use_row(s, from);

	if (r == NULL)
		return NULL;
	channel_server_reset_row(s, r, from);
	r->open = true;
	memcpy(r->cookie, c->cookie, COOKIE_BYTES);
	r->commands = c->commands;
	if (key != NULL)
		r->key = *key;
	return r;
}

/* Check a request without a cookie. */
static inline enum channel_server_verdict
channel_server_check_bare(struct channel_server *s,
    const struct channel_server_rules *rules, const union addr *from,
    struct channel_server_row **row)
{
	const bool near = addr_is_loopback(from);

	if (rules->key != NULL)
		return near ? CHANNEL_SERVER_BAD_MAC : CHANNEL_SERVER_NO_COOKIE;
	if (rules->needs_cookie && !near)
		return CHANNEL_SERVER_NO_COOKIE;
	*row = channel_server_use_row(s, from);
	return *row == NULL ? CHANNEL_SERVER_NO_MEMORY : CHANNEL_SERVER_GOOD;
}

/*
 * Reject the cookies of an earlier run that had the same secret, so that
 * requests of that run cannot be replayed.  Call this function at the first
 * request.
 */
static inline void
channel_server_set_floor(struct channel_server *s, uint64_t now_ns)
{
	s->began = true;
	if (now_ns > 0 && s->floor_ns < now_ns - 1)
		s->floor_ns = now_ns - 1;
}

/*
 * Is the MAC of request c, which is the len bytes at msg, correct under the key
 * of its channel?  Stores that key in *key.  `row` is the open channel, or NULL
 * if c opens the channel.
 */
static inline bool
channel_server_check_mac(const struct key *base,
    const struct channel_server_row *row, const uint8_t *msg, size_t len,
    const struct control *c, struct key *key)
{
	if (row != NULL && row->key.generation == base->generation) {
		*key = row->key;
		if (mac_good(key, MAC_REQUEST, msg, len))
			return true;
		if (base->other == NULL)
			return false;
	}
	return mac_find_key(base, c->cookie, MAC_REQUEST, msg, len, key);
}

static inline enum channel_server_verdict
channel_server_check(struct channel_server *s,
    const struct channel_server_rules *rules, const union addr *from,
    const uint8_t *msg, size_t len, const struct control *c, uint64_t now_ns,
    struct channel_server_row **row)
{
	const struct key *base = c->commands ? rules->commands : rules->key;
	struct channel_server_row *r = channel_server_find(s, from);
	struct key key = { 0 };
	bool opens;

	if (!s->began && rules->secret.set)
		channel_server_set_floor(s, now_ns);
	if (c->cookie == NULL)
		return channel_server_check_bare(s, rules, from, row);
	opens = r == NULL || !r->open ||
	    memcmp(r->cookie, c->cookie, COOKIE_BYTES) != 0;
	if (opens &&
	    !channel_server_may_open(s, rules, r, from, c->cookie, now_ns))
		return CHANNEL_SERVER_CHALLENGE;
	if (rules->key != NULL) {
		if (!c->has_mac || base == NULL ||
		    (!opens && r->commands != c->commands))
			return CHANNEL_SERVER_BAD_MAC;
		if (!channel_server_check_mac(base, opens ? NULL : r, msg, len,
		    c, &key))
			return CHANNEL_SERVER_BAD_MAC;
		if (c->counter <= (opens ? 0 : r->in))
			return CHANNEL_SERVER_REPLAYED;
	}
	if (opens) {
		r = channel_server_open_row(s, from, c, &key);
		if (r != NULL && cookie_time_ns(r->cookie) <= s->floor_ns) {
			/*
			 * The cookie is too old: it is not newer than the
			 * cookie of a channel that was closed to make room.
			 */
			channel_server_forget_row(s, lru_find(&s->rows,
			    addr_key(from, &s->hash_seed)));
			return CHANNEL_SERVER_CHALLENGE;
		}
	} else {
		r = channel_server_use_row(s, from);
	}
	if (r == NULL)
		return CHANNEL_SERVER_NO_MEMORY;
	if (rules->key != NULL)
		r->key = key;		/* the key under which the MAC is
					 * correct */
	r->in = c->counter;
	*row = r;
	return CHANNEL_SERVER_GOOD;
}

static inline uint32_t
channel_server_protect(struct channel_server *s,
    const struct channel_server_rules *rules, const union addr *to,
    uint8_t *msg, uint32_t bytes)
{
	struct channel_server_row *r = channel_server_find(s, to);
	const struct key *base;

	if (r == NULL || !r->open)
		return bytes;
	if (rules->key != NULL) {
		base = r->commands ? rules->commands : rules->key;
		if (r->key.generation != base->generation)
			mac_channel_key(base, r->cookie, &r->key);
		msg[1] |= CONTROL_HAS_MAC;
		return (uint32_t)mac_put(&r->key, MAC_RESPONSE, ++r->out, msg,
		    bytes);
	}
	msg[1] |= CONTROL_HAS_COOKIE;
	memcpy(msg + bytes, r->cookie, COOKIE_BYTES);
	return bytes + COOKIE_BYTES;
}

static inline void
channel_server_set_text(
    struct channel_server *s, struct channel_server_row *r, char *text)
{
	channel_server_free_text(s, r);
	r->text = text;
	r->text_bytes = text == NULL ? 0 : (uint32_t)strlen(text);
	s->text_bytes += r->text_bytes;
	for (uint32_t at = lru_oldest(&s->rows); at != 0 &&
	    s->text_bytes > CHANNEL_SERVER_TEXT_BYTES;
	    at = s->rows.node[at].newer) {
		if (lru_row(&s->rows, at) != (void *)r)
			channel_server_free_text(s, lru_row(&s->rows, at));
	}
}

static inline void
channel_server_keep_ack(struct channel_server_row *r, uint32_t xid,
    const uint8_t *ack, uint32_t bytes)
{
	uint8_t *p = realloc(r->ack, bytes);

	r->asked = p != NULL;
	if (p == NULL)
		return;
	r->ack = p;
	r->ack_bytes = bytes;
	r->xid = xid;
	memcpy(p, ack, bytes);
}

#endif
