/*
 * handshake-server.h - who sends us data with proofs, and what is proved for
 * them
 *
 * A worker, or a switch below, asks a switch or server by Open before its first
 * update.  From the Ack it knows the salt, and from then on what comes from its
 * address is believed if it is proved under its pass, and each counter once;
 * what goes down is proved once for all who hear it (tag.h).  The salt is
 * made at the first Open, of that time, so that nothing of another run is
 * believed.
 *
 * Of addresses HANDSHAKE_SERVER_MOST are known: who was heard longest ago has
 * to open again.  In a trace without the secret the salt is not known, and all
 * proofs are good.  Pure.  Owns its memory: handshake_server_free().
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

struct handshake_peer {
	union addr at;
	uint8_t cookie[TAG_COOKIE_BYTES];
	struct tag_window came;
};

struct handshake_server {
	bool on;			/* data has proofs */
	bool accepts_any_tag;			/* all of them are good */
	bool salted;			/* the key has its salt */
	const struct program_place *place;
	struct tag_key key;
	uint64_t counter;		/* of what went down last */
	struct lru rows;
	struct quota *quota;		/* of addresses; NULL: none */
};

/* Of a program at that place, which is borrowed, as is the quota. */
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

/* The ToS of data. */
static inline uint8_t
handshake_server_tos(const struct handshake_server *o)
{
	return o->on ? UPDATE_TAGGED_TOS : UPDATE_TOS;
}

/* The number of an address's row, which is at *r; 0 and NULL: it has none. */
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

static inline void
handshake_server_forget_row(struct handshake_server *o, uint32_t at)
{
	const struct handshake_peer *r = lru_row(&o->rows, at);

	if (o->quota != NULL)
		quota_release(o->quota, &r->at, QUOTA_MEMBERS, 1);
	lru_remove(&o->rows, at);
}

/* The row of an address, made if it is new; NULL without room. */
static inline struct handshake_peer *
handshake_server_use_row(struct handshake_server *o, const union addr *at)
{
	const uint64_t key = addr_key(at, &o->place->hash_seed);
	uint32_t k = lru_find(&o->rows, key);
	struct handshake_peer *r;

	if (handshake_server_find(o, at, &r) != 0)
		return r;
	if (k != 0)			/* of the same key */
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

/* The salt, from now on. */
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
	tag_key_set(&o->key, place->key == NULL ? NULL :
	    &place->key->start, salt);
	o->salted = true;
}

/* The request c, which is an Open: its Ack. */
static inline void
handshake_server_open(struct handshake_server *o, const union addr *from,
    const struct control *c, struct control_ack *a, uint64_t now_ns)
{
	struct handshake_peer *r;

	if (c->cookie == NULL) {		/* proofs are of a pass */
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

/* handshake_server_check() where packets are proved: apart, as they seldom are.
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

/*
 * May a packet of data with that ToS, so many bytes at p, be believed?
 * UPDATE_OK, or the verdict.
 */
static inline unsigned
handshake_server_check(struct handshake_server *o, const union addr *from,
    uint8_t tos, const uint8_t *p, uint32_t bytes)
{
	if ((tos & 0xfc) != handshake_server_tos(o))
		return SOUNDNESS_BAD_TAG;
	return !o->on || o->accepts_any_tag ? UPDATE_OK :
	    handshake_server_check_tag(o, from, p, bytes);
}

/*
 * The packet of so many bytes at p, which has room for UPDATE_TAIL_BYTES more,
 * goes down: it is proved if it has to be.  Its length.
 */
static inline uint32_t
handshake_server_tag(struct handshake_server *o, uint8_t *p, uint32_t bytes)
{
	return !o->on ? bytes : (uint32_t)tag_update_put(&o->key,
	    tag_head(TAG_DOWN, 0, 0, NULL), p, bytes, ++o->counter);
}

/* program.is_member: its channel stays. */
static inline bool
handshake_server_knows(const struct handshake_server *o, const union addr *at)
{
	struct handshake_peer *r;

	return handshake_server_find(o, at, &r) != 0;
}

#endif
