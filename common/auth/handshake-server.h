/*
 * handshake-server.h - who sends us data with proofs, and what is proved for them
 *
 * A worker, or a switch below, asks a switch or server by Open before its first
 * update.  From the Ack it knows the salt, and from then on what comes from its
 * address is believed if it is proved under its pass, and each counter once;
 * what goes down is proved once for all who hear it (tag.h).  The salt is
 * made at the first Open, of that time, so that nothing of another run is
 * believed.
 *
 * Of addresses OPENERS_MOST are known: who was heard longest ago has to open
 * again.  In a trace without the secret the salt is not known, and all proofs
 * are good.  Pure.  Owns its memory: openers_free().
 */
#ifndef INNET_AUTH_HANDSHAKE_SERVER_H
#define INNET_AUTH_HANDSHAKE_SERVER_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "common/base/lru.h"
#include "common/capture/soundness.h"
#include "common/switch/program.h"
#include "common/auth/quota.h"
#include "common/auth/tag.h"

enum { OPENERS_MOST = 65536 };
static_assert((int)UPDATE_TAIL_BYTES == (int)PROOF_TAIL_BYTES, "one tail");

struct opener {
	union addr at;
	uint8_t pass[PROOF_PASS_BYTES];
	struct proof_window came;
};

struct openers {
	bool on;			/* data has proofs */
	bool credulous;			/* all of them are good */
	bool salted;			/* the key has its salt */
	const struct program_place *place;
	struct proof_key key;
	uint64_t counter;		/* of what went down last */
	struct recent rows;
	struct quota *quota;		/* of addresses; NULL: none */
};

/* Of a program at that place, which is borrowed, as is the quota. */
static inline void
openers_init(struct openers *o, const struct program_place *place,
    struct quota *quota)
{
	*o = (struct openers){ .on = place->proves, .place = place,
	    .credulous = place->replayed && !place->secret_known,
	    .quota = place->quotas ? quota : NULL,
	    .rows = recent_of(OPENERS_MOST, sizeof(struct opener),
	    &place->by) };
}

static inline void
openers_free(struct openers *o)
{
	recent_free(&o->rows);
	explicit_bzero(&o->key, sizeof(o->key));
}

/* The ToS of data. */
static inline uint8_t
openers_tos(const struct openers *o)
{
	return o->on ? UPDATE_PROVED_TOS : UPDATE_TOS;
}

/* The number of an address's row, which is at *r; 0 and NULL: it has none. */
static inline uint32_t
openers_find(const struct openers *o, const union addr *at, struct opener **r)
{
	const uint32_t k = recent_find(&o->rows, addr_key(at, &o->place->by));

	*r = k == 0 ? NULL : recent_row(&o->rows, k);
	if (*r != NULL && addr_same(&(*r)->at, at))
		return k;
	*r = NULL;
	return 0;
}

static inline void
openers_forget(struct openers *o, uint32_t at)
{
	const struct opener *r = recent_row(&o->rows, at);

	if (o->quota != NULL)
		quota_give(o->quota, &r->at, QUOTA_MEMBERS, 1);
	recent_forget(&o->rows, at);
}

/* The row of an address, made if it is new; NULL without room. */
static inline struct opener *
openers_make(struct openers *o, const union addr *at)
{
	const uint64_t key = addr_key(at, &o->place->by);
	uint32_t k = recent_find(&o->rows, key);
	struct opener *r;

	if (openers_find(o, at, &r) != 0)
		return r;
	if (k != 0)			/* of the same key */
		openers_forget(o, k);
	if (o->quota != NULL && !quota_take(o->quota, at, QUOTA_MEMBERS, 1))
		return NULL;
	if (o->rows.count == o->rows.most)
		openers_forget(o, recent_oldest(&o->rows));
	k = recent_make(&o->rows, key);
	if (k == 0) {
		if (o->quota != NULL)
			quota_give(o->quota, at, QUOTA_MEMBERS, 1);
		return NULL;
	}
	r = recent_row(&o->rows, k);
	r->at = *at;
	return r;
}

/* The salt, from now on. */
static inline void
openers_salt(struct openers *o, uint64_t now_ns)
{
	const struct program_place *place = o->place;
	uint8_t what[8], salt[PROOF_SALT_BYTES];
	struct key secret;

	key_set(&secret, place->secret, sizeof(place->secret));
	bytes_put(what, now_ns, sizeof(what));
	key_hash_of(&secret, "innet 1 salt", what, sizeof(what), salt,
	    sizeof(salt));
	proof_key_set(&o->key, place->key == NULL ? NULL :
	    &place->key->start, salt);
	o->salted = true;
}

/* The request c, which is an Open: its Ack. */
static inline void
openers_open(struct openers *o, const union addr *from,
    const struct control *c, struct control_ack *a, uint64_t now_ns)
{
	struct opener *r;

	if (c->pass == NULL) {		/* proofs are of a pass */
		a->status = CONTROL_REFUSED;
		return;
	}
	r = openers_make(o, from);
	if (r == NULL) {
		a->status = CONTROL_NO_ROOM;
		return;
	}
	if (!o->salted)
		openers_salt(o, now_ns);
	if (memcmp(r->pass, c->pass, PROOF_PASS_BYTES) != 0) {
		memcpy(r->pass, c->pass, PROOF_PASS_BYTES);
		r->came = (struct proof_window){ 0 };
	}
	memcpy(a->salt, o->key.salt, sizeof(a->salt));
}

/* openers_judge() where packets are proved: apart, as they seldom are. */
__attribute__((noinline, unused)) static unsigned
openers_judge_proof(struct openers *o, const union addr *from,
    const uint8_t *p, uint32_t bytes)
{
	struct opener *r;
	uint64_t counter;
	uint32_t k;

	k = openers_find(o, from, &r);
	if (k == 0 || !proof_update_good(&o->key, proof_head(PROOF_UP, 0,
	    0, r->pass), p, bytes, &counter))
		return SOUNDNESS_BAD_PROOF;
	if (!proof_window_take(&r->came, counter))
		return SOUNDNESS_REPLAYED;
	recent_touch(&o->rows, k);
	return UPDATE_OK;
}

/*
 * May a packet of data with that ToS, so many bytes at p, be believed?
 * UPDATE_OK, or the verdict.
 */
static inline unsigned
openers_judge(struct openers *o, const union addr *from, uint8_t tos,
    const uint8_t *p, uint32_t bytes)
{
	if ((tos & 0xfc) != openers_tos(o))
		return SOUNDNESS_BAD_PROOF;
	return !o->on || o->credulous ? UPDATE_OK :
	    openers_judge_proof(o, from, p, bytes);
}

/*
 * The packet of so many bytes at p, which has room for UPDATE_TAIL_BYTES more,
 * goes down: it is proved if it has to be.  Its length.
 */
static inline uint32_t
openers_prove(struct openers *o, uint8_t *p, uint32_t bytes)
{
	return !o->on ? bytes : (uint32_t)proof_update_put(&o->key,
	    proof_head(PROOF_DOWN, 0, 0, NULL), p, bytes, ++o->counter);
}

/* program.is_member: its channel stays. */
static inline bool
openers_has(const struct openers *o, const union addr *at)
{
	struct opener *r;

	return openers_find(o, at, &r) != 0;
}

#endif
