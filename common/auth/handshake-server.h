/*
 * handshake-server.h - accept Opens, check tagged data from workers, and tag
 *   data that is sent to them
 *
 * A worker, or a switch below this server, sends an Open before its first
 * update.  The server's Ack contains the salt.  After that, the server accepts
 * data from this address if the tag is correct under the cookie of the worker
 * or switch and the counter is new.  Data that is sent down is tagged only
 * once, because all receivers accept the same tag (tag.h).  The salt is made
 * from the time of the first Open, so data that was recorded in another run is
 * never accepted.
 *
 * The server knows at most HANDSHAKE_SERVER_MOST addresses.  If there are more,
 * it forgets the address that was used least recently.  The client at that
 * address must then send an Open again.  If a trace is replayed and its secret
 * is not known, the salt cannot be made, so every tag is accepted.  The
 * functions use no clock and no socket.  handshake_server_free() frees the
 * memory.
 */
#ifndef INNET_AUTH_HANDSHAKE_SERVER_H
#define INNET_AUTH_HANDSHAKE_SERVER_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "common/auth/cookie.h"
#include "common/auth/key.h"
#include "common/auth/quota.h"
#include "common/auth/tag.h"
#include "common/base/lru.h"
#include "common/capture/soundness.h"
#include "common/switch/program.h"

enum { HANDSHAKE_SERVER_MOST = 65536 };
static_assert((int)UPDATE_TAIL_BYTES == (int)TAG_TAIL_BYTES, "one tail");

/* An address that has sent an Open. */
struct handshake_peer {
	union addr at;
	uint8_t cookie[TAG_COOKIE_BYTES];
	struct tag_window came;		/* counters of the packets that have
					 * arrived from this address */
};

struct handshake_server {
	bool on;			/* data has tags */
	bool accepts_any_tag;		/* accept every tag, because a trace is
					 * replayed and its secret is not
					 * known */
	bool salted;			/* the salt of the key has been made */
	const struct program_place *place;	/* borrowed */
	struct tag_key key;
	uint64_t counter;		/* counter of the last packet sent
					 * down */
	struct lru rows;		/* rows of struct handshake_peer */
	struct quota *quota;		/* borrowed; quotas of addresses; NULL:
					 * no quotas */
};

/* Initialise o for a program at `place`.  `place` and `quota` are borrowed. */
static inline void handshake_server_init(struct handshake_server *o,
    const struct program_place *place, struct quota *quota);

/* Free the rows and erase the key. */
static inline void handshake_server_free(struct handshake_server *o);

/* Return the ToS byte of data. */
static inline uint8_t handshake_server_tos(const struct handshake_server *o);

/* Handle request c, which is an Open, and fill in its Ack. */
static inline void handshake_server_open(struct handshake_server *o,
    const union addr *from, const struct control *c, struct control_ack *a,
    uint64_t now_ns);

/*
 * Check the packet of `bytes` bytes at p, which came from below with this ToS
 * byte.  Returns UPDATE_OK, or the reason why it must be dropped.
 */
static inline unsigned handshake_server_check(struct handshake_server *o,
    const union addr *from, uint8_t tos, const uint8_t *p, uint32_t bytes);

/*
 * If data has tags, append the tag to the packet of `bytes` bytes at p.  The
 * buffer must have room for UPDATE_TAIL_BYTES more bytes.  Returns the new
 * length.
 */
static inline uint32_t handshake_server_tag(struct handshake_server *o,
    uint8_t *p, uint32_t bytes);

/*
 * Has this address sent an Open?  If so, its channel stays open
 * (program.is_member).
 */
static inline bool handshake_server_knows(const struct handshake_server *o,
    const union addr *at);

/* implementation */

static inline void
handshake_server_init(struct handshake_server *o,
    const struct program_place *place, struct quota *quota)
{
	*o = (struct handshake_server){.on = place->tagged,
	    .place = place,
	    .accepts_any_tag = place->replayed && !place->secret_known,
	    .quota = place->quotas ? quota : NULL,
	    .rows = lru_new(HANDSHAKE_SERVER_MOST,
		sizeof(struct handshake_peer), &place->hash_seed)};
}

static inline void
handshake_server_free(struct handshake_server *o)
{
	lru_free(&o->rows);
	explicit_bzero(&o->key, sizeof(o->key));
}

static inline uint8_t
handshake_server_tos(const struct handshake_server *o)
{
	return o->on ? UPDATE_TAGGED_TOS : UPDATE_TOS;
}

/*
 * Find the row of an address.  Returns the number of the row, or returns 0 and
 * sets *r to NULL.
 */
static inline uint32_t
handshake_server_find(const struct handshake_server *o, const union addr *at,
    struct handshake_peer **r)
{
	const uint32_t k =
	    lru_find(&o->rows, addr_key(at, &o->place->hash_seed));

	*r = k == 0 ? NULL : lru_row(&o->rows, k);
	if (*r != NULL && addr_same(&(*r)->at, at))
		return k;
	*r = NULL;
	return 0;
}

/* Remove a row and release its quota. */
static inline void
handshake_server_forget_row(struct handshake_server *o, uint32_t at)
{
	const struct handshake_peer *r = lru_row(&o->rows, at);

	if (o->quota != NULL)
		quota_release(o->quota, &r->at, QUOTA_MEMBERS, 1);
	lru_remove(&o->rows, at);
}

/*
 * Return the row of an address.  If the address has no row, add one.  Returns
 * NULL if there is no memory or if the address has used up its quota.
 */
static inline struct handshake_peer *
handshake_server_use_row(struct handshake_server *o, const union addr *at)
{
	const uint64_t key = addr_key(at, &o->place->hash_seed);
	uint32_t k = lru_find(&o->rows, key);
	struct handshake_peer *r;

	if (handshake_server_find(o, at, &r) != 0)
		return r;
	if (k != 0)			/* a different address has the same hash
					 * key */
		handshake_server_forget_row(o, k);
	if (o->quota != NULL && !quota_charge(o->quota, at, QUOTA_MEMBERS, 1))
		return NULL;
	if (o->rows.count == o->rows.most)
		handshake_server_forget_row(o, lru_oldest(&o->rows));
	k = lru_add(&o->rows, key);
	if (k == 0) {
		if (o->quota != NULL)
			quota_release(o->quota, at, QUOTA_MEMBERS, 1);
		return NULL;
	}
	r = lru_row(&o->rows, k);
	r->at = *at;
	return r;
}

/* Make the salt from now_ns, the time of the first Open. */
static inline void
handshake_server_make_salt(struct handshake_server *o, uint64_t now_ns)
{
	const struct program_place *place = o->place;
	uint8_t input[8], salt[TAG_SALT_BYTES];
	struct key secret;

	key_set(&secret, place->secret, sizeof(place->secret));
	bytes_put(input, now_ns, sizeof(input));
	key_hash_of(&secret, "innet 1 salt", input, sizeof(input), salt,
	    sizeof(salt));
	tag_key_set(&o->key, place->key, salt);
	o->salted = true;
}

static inline void
handshake_server_open(struct handshake_server *o, const union addr *from,
    const struct control *c, struct control_ack *a, uint64_t now_ns)
{
	struct handshake_peer *r;

	if (c->cookie == NULL) {		/* without the client's cookie,
						 * its tags cannot be checked */
		a->status = CONTROL_REFUSED;
		return;
	}
	r = handshake_server_use_row(o, from);
	if (r == NULL) {
		a->status = CONTROL_NO_ROOM;
		return;
	}
	if (!o->salted)
		handshake_server_make_salt(o, now_ns);
	if (memcmp(r->cookie, c->cookie, TAG_COOKIE_BYTES) != 0) {
		memcpy(r->cookie, c->cookie, TAG_COOKIE_BYTES);
		r->came = (struct tag_window){ 0 };
	}
	memcpy(a->salt, o->key.salt, sizeof(a->salt));
}

/*
 * Check the tag.  This function is separate from handshake_server_check(),
 * because most packets have no tag.
 */
__attribute__((noinline, unused)) static unsigned
handshake_server_check_tag(struct handshake_server *o, const union addr *from,
    const uint8_t *p, uint32_t bytes)
{
	struct handshake_peer *r;
	uint64_t counter;
	uint32_t k;

	k = handshake_server_find(o, from, &r);
	if (k == 0 || !tag_update_good(&o->key, tag_head(TAG_UP, 0,
	    0, r->cookie), p, bytes, &counter))
		return SOUNDNESS_BAD_TAG;
	if (!tag_window_accept(&r->came, counter))
		return SOUNDNESS_REPLAYED;
	lru_mark_used(&o->rows, k);
	return UPDATE_OK;
}

static inline unsigned
handshake_server_check(struct handshake_server *o, const union addr *from,
    uint8_t tos, const uint8_t *p, uint32_t bytes)
{
	if ((tos & 0xfc) != handshake_server_tos(o))
		return SOUNDNESS_BAD_TAG;
	return !o->on || o->accepts_any_tag ? UPDATE_OK :
	    handshake_server_check_tag(o, from, p, bytes);
}

static inline uint32_t
handshake_server_tag(struct handshake_server *o, uint8_t *p, uint32_t bytes)
{
	return !o->on ? bytes : (uint32_t)tag_update_put(&o->key,
	    tag_head(TAG_DOWN, 0, 0, NULL), p, bytes, ++o->counter);
}

static inline bool
handshake_server_knows(const struct handshake_server *o, const union addr *at)
{
	struct handshake_peer *r;

	return handshake_server_find(o, at, &r) != 0;
}

#endif
