/*
 * tag.h - proofs of data: segments, updates and models that a stranger
 * cannot forge: innet-wire(5)
 *
 * A proof is the first 8 bytes of AES-128 under k2 of GMAC under k1, of a
 * context and the data.  It needs no number of its own: equal bytes have equal
 * proofs, and a repeated segment is a duplicate.  k1 and k2 come of the key
 * file and a salt that the switch tells in its Ack.  Without a key file the
 * proof is a token instead, which stops who cannot see what is sent: going up
 * the nonce of the sender's pass, going down the salt's beginning.
 *
 * A proof says in which direction (up: to a switch or server), of which job,
 * of which 2^24 iterations (epoch) and by whom; what goes down is for all
 * receivers alike.  Nothing is encrypted.
 */
#ifndef INNET_AUTH_TAG_H
#define INNET_AUTH_TAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <nettle/aes.h>
#include <nettle/gcm.h>
#include <nettle/hmac.h>
#include <nettle/memops.h>

#include "common/base/bytes.h"
#include "common/auth/ghash.h"

enum {
	PROOF_BYTES = 8,
	PROOF_COUNTER_BYTES = 8,
	PROOF_TAIL_BYTES = PROOF_COUNTER_BYTES + PROOF_BYTES,
	PROOF_SALT_BYTES = 16,
	PROOF_PASS_BYTES = 16,		/* nonce and t, of a pass */
	PROOF_CONTEXT_BYTES = 24,
	PROOF_HEAD_BYTES = PROOF_CONTEXT_BYTES + 8,
	PROOF_VERSION = 1,
	PROOF_WINDOW = 64		/* counters */
};

enum proof_way { PROOF_UP = 1, PROOF_DOWN };

/* What has to be proved: --auth. */
enum proof_auth {
	PROOF_AUTH_NONE,	/* nothing */
	PROOF_AUTH_CONTROL,	/* control messages are sealed */
	PROOF_AUTH_ALL,		/* and data is proved */
	PROOF_AUTH_UNSAID	/* what follows from the key */
};

/* A word of --auth; NULL, or what is wrong with it. */
static inline const char *
proof_auth_parse(const char *word, enum proof_auth *auth)
{
	static const char *const words[] = { "none", "control", "all" };

	for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (strcmp(word, words[i]) == 0) {
			*auth = (enum proof_auth)i;
			return NULL;
		}
	}
	return "one of none, control, all";
}

/* What it comes to with a key, or without.  NULL, or what is wrong. */
static inline const char *
proof_auth_settle(enum proof_auth *auth, bool keyed)
{
	if (*auth == PROOF_AUTH_UNSAID)
		*auth = keyed ? PROOF_AUTH_ALL : PROOF_AUTH_NONE;
	if (*auth == PROOF_AUTH_NONE && keyed)
		return "--auth none does not go with --key";
	if (*auth == PROOF_AUTH_CONTROL && !keyed)
		return "--auth control goes with --key";
	return NULL;
}

/* What proves the data of one job, or of one server. */
struct proof_key {
	bool keyed;			/* else proofs are tokens */
	uint8_t salt[PROOF_SALT_BYTES];
	bool fast;			/* ghash_able() */
	struct ghash_key powers;	/* of k1, if so */
	struct gcm_key hash;		/* of k1, else */
	struct gcm_ctx start;		/* of the fixed nonce, nothing hashed */
	uint8_t mask[GCM_BLOCK_SIZE];	/* that nonce, encrypted */
	struct aes128_ctx last;		/* k2 */
};

/* What a proof begins with: the context, then a Seg or a counter. */
struct proof_head {
	uint8_t b[PROOF_HEAD_BYTES];
};

/* nettle_cipher_func: the one block that there is was encrypted before. */
static inline void
proof_mask(const void *mask, size_t len, uint8_t *to, const uint8_t *from)
{
	(void)from;
	memcpy(to, mask, len);
}

/*
 * Derive k from a salt and the key file, that `key` is keyed with and nothing
 * hashed yet; NULL: proofs are tokens.
 */
static inline void
proof_key_set(struct proof_key *k, const struct hmac_sha256_ctx *key,
    const uint8_t salt[PROOF_SALT_BYTES])
{
	static const uint8_t label[16] = "innet 1 data", nonce[GCM_IV_SIZE];
	uint8_t kk[SHA256_DIGEST_SIZE], first[GCM_BLOCK_SIZE] = { 0 };
	uint8_t zero[GCM_BLOCK_SIZE] = { 0 };
	struct hmac_sha256_ctx h;
	struct aes128_ctx k1;

	*k = (struct proof_key){ .keyed = key != NULL };
	memcpy(k->salt, salt, PROOF_SALT_BYTES);
	if (!k->keyed)
		return;
	h = *key;
	hmac_sha256_update(&h, sizeof(label), label);
	hmac_sha256_update(&h, PROOF_SALT_BYTES, salt);
	hmac_sha256_digest(&h, sizeof(kk), kk);
	aes128_set_encrypt_key(&k1, kk);
	aes128_set_encrypt_key(&k->last, kk + AES128_KEY_SIZE);
	gcm_set_key(&k->hash, &k1, (nettle_cipher_func *)aes128_encrypt);
	gcm_set_iv(&k->start, &k->hash, sizeof(nonce), nonce);
	first[GCM_BLOCK_SIZE - 1] = 1;
	aes128_encrypt(&k1, sizeof(first), k->mask, first);
	aes128_encrypt(&k1, sizeof(zero), zero, zero);
	k->fast = ghash_able();
	if (k->fast)
		ghash_key_set(&k->powers, zero);
	explicit_bzero(zero, sizeof(zero));
	explicit_bzero(kk, sizeof(kk));
	explicit_bzero(&k1, sizeof(k1));
	explicit_bzero(&h, sizeof(h));
}

/* pass: its PROOF_PASS_BYTES first, going up; NULL going down. */
static inline struct proof_head
proof_head(enum proof_way way, uint16_t job, uint32_t epoch,
    const uint8_t *pass)
{
	struct proof_head h = { { (uint8_t)way, PROOF_VERSION } };

	bytes_put(h.b + 2, job, 2);
	bytes_put(h.b + 4, epoch, 4);
	if (pass != NULL)
		memcpy(h.b + 8, pass, PROOF_PASS_BYTES);
	return h;
}

/* GMAC of h and the len bytes at p. */
static inline void
proof_tag(const struct proof_key *k, const struct proof_head *h,
    const uint8_t *p, size_t len, uint8_t tag[GCM_BLOCK_SIZE])
{
	struct gcm_ctx g;

	if (k->fast) {
		ghash(&k->powers, h->b, PROOF_HEAD_BYTES / GHASH_BLOCK, p,
		    len, tag);
		for (int i = 0; i < GCM_BLOCK_SIZE; i++)
			tag[i] ^= k->mask[i];
		return;
	}
	g = k->start;
	gcm_update(&g, &k->hash, PROOF_HEAD_BYTES, h->b);
	gcm_update(&g, &k->hash, len, p);
	gcm_digest(&g, &k->hash, k->mask, proof_mask, GCM_BLOCK_SIZE, tag);
}

/* The proof of h and the len bytes at p. */
static inline void
proof_of(const struct proof_key *k, const struct proof_head *h,
    const uint8_t *p, size_t len, uint8_t proof[PROOF_BYTES])
{
	uint8_t tag[GCM_BLOCK_SIZE];

	if (!k->keyed) {
		memcpy(proof, h->b[0] == PROOF_UP ? h->b + 8 : k->salt,
		    PROOF_BYTES);
		return;
	}
	proof_tag(k, h, p, len, tag);
	aes128_encrypt(&k->last, sizeof(tag), tag, tag);
	memcpy(proof, tag, PROOF_BYTES);
}

/* Is that its proof?  The time it takes tells nothing about the right one. */
static inline bool
proof_good(const struct proof_key *k, const struct proof_head *h,
    const uint8_t *p, size_t len, const uint8_t proof[PROOF_BYTES])
{
	uint8_t right[PROOF_BYTES];

	proof_of(k, h, p, len, right);
	return memeql_sec(right, proof, PROOF_BYTES) != 0;
}

/*
 * A segment, Seg 8 | proof 8 | vector: the proof of the floats at vec goes
 * behind the Seg at p.
 */
static inline void
proof_segment_put(const struct proof_key *k, struct proof_head h, uint8_t *p,
    const void *vec, size_t bytes)
{
	memcpy(h.b + PROOF_CONTEXT_BYTES, p, 8);
	proof_of(k, &h, vec, bytes, p + 8);
}

/* May the segment of len bytes at p, more than 16, be believed? */
static inline bool
proof_segment_good(const struct proof_key *k, struct proof_head h,
    const uint8_t *p, size_t len)
{
	memcpy(h.b + PROOF_CONTEXT_BYTES, p, 8);
	return proof_good(k, &h, p + 8 + PROOF_BYTES, len - 8 - PROOF_BYTES,
	    p + 8);
}

/*
 * Write counter and proof behind the packet of len bytes at p (an update, a
 * model or weights), which has room for PROOF_TAIL_BYTES more; its length.
 */
static inline size_t
proof_update_put(const struct proof_key *k, struct proof_head h, uint8_t *p,
    size_t len, uint64_t counter)
{
	bytes_put(h.b + PROOF_CONTEXT_BYTES, counter, PROOF_COUNTER_BYTES);
	bytes_put(p + len, counter, PROOF_COUNTER_BYTES);
	proof_of(k, &h, p, len, p + len + PROOF_COUNTER_BYTES);
	return len + PROOF_TAIL_BYTES;
}

/* May the packet at p, whose len bytes end so, be believed?  Its counter. */
static inline bool
proof_update_good(const struct proof_key *k, struct proof_head h,
    const uint8_t *p, size_t len, uint64_t *counter)
{
	const uint8_t *tail;

	if (len < PROOF_TAIL_BYTES)
		return false;
	len -= PROOF_TAIL_BYTES;
	tail = p + len;
	memcpy(h.b + PROOF_CONTEXT_BYTES, tail, PROOF_COUNTER_BYTES);
	*counter = bytes_get(tail, PROOF_COUNTER_BYTES);
	return proof_good(k, &h, p, len, tail + PROOF_COUNTER_BYTES);
}

/* Counters of one sender: each once, none PROOF_WINDOW before the newest. */
struct proof_window {
	uint64_t top, came;		/* came: bit i is of top - i */
};

/* Is counter c, of a good proof, one that has not come?  Then it has. */
static inline bool
proof_window_take(struct proof_window *w, uint64_t c)
{
	const uint64_t ahead = c - w->top, behind = w->top - c;

	if (c == 0)
		return false;
	if (c > w->top) {
		w->came = ahead < PROOF_WINDOW ? w->came << ahead | 1 : 1;
		w->top = c;
		return true;
	}
	if (behind >= PROOF_WINDOW || (w->came >> behind & 1) != 0)
		return false;
	w->came |= (uint64_t)1 << behind;
	return true;
}

#endif
