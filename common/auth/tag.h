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

#include "common/auth/ghash.h"
#include "common/base/bytes.h"

enum {
	TAG_BYTES = 8,
	TAG_COUNTER_BYTES = 8,
	TAG_TAIL_BYTES = TAG_COUNTER_BYTES + TAG_BYTES,
	TAG_SALT_BYTES = 16,
	TAG_COOKIE_BYTES = 16,		/* nonce and t, of a pass */
	TAG_CONTEXT_BYTES = 24,
	TAG_HEAD_BYTES = TAG_CONTEXT_BYTES + 8,
	TAG_VERSION = 1,
	TAG_WINDOW = 64		/* counters */
};

enum tag_direction { TAG_UP = 1, TAG_DOWN };

/* What has to be proved: --auth. */
enum tag_auth {
	TAG_AUTH_NONE,	/* nothing */
	TAG_AUTH_CONTROL,	/* control messages are sealed */
	TAG_AUTH_ALL,		/* and data is proved */
	TAG_AUTH_DEFAULT	/* what follows from the key */
};

/* A word of --auth; NULL, or what is wrong with it. */
static inline const char *
tag_auth_parse(const char *word, enum tag_auth *auth)
{
	static const char *const words[] = { "none", "control", "all" };

	for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (strcmp(word, words[i]) == 0) {
			*auth = (enum tag_auth)i;
			return NULL;
		}
	}
	return "one of none, control, all";
}

/* What it comes to with a key, or without.  NULL, or what is wrong. */
static inline const char *
tag_auth_resolve(enum tag_auth *auth, bool keyed)
{
	if (*auth == TAG_AUTH_DEFAULT)
		*auth = keyed ? TAG_AUTH_ALL : TAG_AUTH_NONE;
	if (*auth == TAG_AUTH_NONE && keyed)
		return "--auth none does not go with --key";
	if (*auth == TAG_AUTH_CONTROL && !keyed)
		return "--auth control goes with --key";
	return NULL;
}

/* What proves the data of one job, or of one server. */
struct tag_key {
	bool keyed;			/* else proofs are tokens */
	uint8_t salt[TAG_SALT_BYTES];
	bool fast;			/* ghash_is_supported() */
	struct ghash_key powers;	/* of k1, if so */
	struct gcm_key hash;		/* of k1, else */
	struct gcm_ctx start;		/* of the fixed nonce, nothing hashed */
	uint8_t mask[GCM_BLOCK_SIZE];	/* that nonce, encrypted */
	struct aes128_ctx last;		/* k2 */
};

/* What a proof begins with: the context, then a Seg or a counter. */
struct tag_head {
	uint8_t b[TAG_HEAD_BYTES];
};

/* nettle_cipher_func: the one block that there is was encrypted before. */
static inline void
tag_copy_mask(const void *mask, size_t len, uint8_t *to, const uint8_t *from)
{
	(void)from;
	memcpy(to, mask, len);
}

/*
 * Derive k from a salt and the key file, that `key` is keyed with and nothing
 * hashed yet; NULL: proofs are tokens.
 */
static inline void
tag_key_set(struct tag_key *k, const struct hmac_sha256_ctx *key,
    const uint8_t salt[TAG_SALT_BYTES])
{
	static const uint8_t label[16] = "innet 1 data", nonce[GCM_IV_SIZE];
	uint8_t kk[SHA256_DIGEST_SIZE], first[GCM_BLOCK_SIZE] = { 0 };
	uint8_t zero[GCM_BLOCK_SIZE] = { 0 };
	struct hmac_sha256_ctx h;
	struct aes128_ctx k1;

	*k = (struct tag_key){ .keyed = key != NULL };
	memcpy(k->salt, salt, TAG_SALT_BYTES);
	if (!k->keyed)
		return;
	h = *key;
	hmac_sha256_update(&h, sizeof(label), label);
	hmac_sha256_update(&h, TAG_SALT_BYTES, salt);
	hmac_sha256_digest(&h, sizeof(kk), kk);
	aes128_set_encrypt_key(&k1, kk);
	aes128_set_encrypt_key(&k->last, kk + AES128_KEY_SIZE);
	gcm_set_key(&k->hash, &k1, (nettle_cipher_func *)aes128_encrypt);
	gcm_set_iv(&k->start, &k->hash, sizeof(nonce), nonce);
	first[GCM_BLOCK_SIZE - 1] = 1;
	aes128_encrypt(&k1, sizeof(first), k->mask, first);
	aes128_encrypt(&k1, sizeof(zero), zero, zero);
	k->fast = ghash_is_supported();
	if (k->fast)
		ghash_key_set(&k->powers, zero);
	explicit_bzero(zero, sizeof(zero));
	explicit_bzero(kk, sizeof(kk));
	explicit_bzero(&k1, sizeof(k1));
	explicit_bzero(&h, sizeof(h));
}

/* pass: its TAG_COOKIE_BYTES first, going up; NULL going down. */
static inline struct tag_head
tag_head(enum tag_direction direction, uint16_t job, uint32_t epoch,
    const uint8_t *cookie)
{
	struct tag_head h = { { (uint8_t)direction, TAG_VERSION } };

	bytes_put(h.b + 2, job, 2);
	bytes_put(h.b + 4, epoch, 4);
	if (cookie != NULL)
		memcpy(h.b + 8, cookie, TAG_COOKIE_BYTES);
	return h;
}

/* GMAC of h and the len bytes at p. */
static inline void
tag_gmac(const struct tag_key *k, const struct tag_head *h,
    const uint8_t *p, size_t len, uint8_t tag[GCM_BLOCK_SIZE])
{
	struct gcm_ctx g;

	if (k->fast) {
		ghash(&k->powers, h->b, TAG_HEAD_BYTES / GHASH_BLOCK, p,
		    len, tag);
		for (int i = 0; i < GCM_BLOCK_SIZE; i++)
			tag[i] ^= k->mask[i];
		return;
	}
	g = k->start;
	gcm_update(&g, &k->hash, TAG_HEAD_BYTES, h->b);
	gcm_update(&g, &k->hash, len, p);
	gcm_digest(&g, &k->hash, k->mask, tag_copy_mask, GCM_BLOCK_SIZE, tag);
}

/* The proof of h and the len bytes at p. */
static inline void
tag_make(const struct tag_key *k, const struct tag_head *h,
    const uint8_t *p, size_t len, uint8_t tag[TAG_BYTES])
{
	uint8_t gmac[GCM_BLOCK_SIZE];

	if (!k->keyed) {
		memcpy(tag, h->b[0] == TAG_UP ? h->b + 8 : k->salt,
		    TAG_BYTES);
		return;
	}
	tag_gmac(k, h, p, len, gmac);
	aes128_encrypt(&k->last, sizeof(gmac), gmac, gmac);
	memcpy(tag, gmac, TAG_BYTES);
}

/* Is that its proof?  The time it takes tells nothing about the right one. */
static inline bool
tag_good(const struct tag_key *k, const struct tag_head *h,
    const uint8_t *p, size_t len, const uint8_t tag[TAG_BYTES])
{
	uint8_t right[TAG_BYTES];

	tag_make(k, h, p, len, right);
	return memeql_sec(right, tag, TAG_BYTES) != 0;
}

/*
 * A segment, Seg 8 | proof 8 | vector: the proof of the floats at vec goes
 * behind the Seg at p.
 */
static inline void
tag_segment_put(const struct tag_key *k, struct tag_head h, uint8_t *p,
    const void *vec, size_t bytes)
{
	memcpy(h.b + TAG_CONTEXT_BYTES, p, 8);
	tag_make(k, &h, vec, bytes, p + 8);
}

/* May the segment of len bytes at p, more than 16, be believed? */
static inline bool
tag_segment_good(const struct tag_key *k, struct tag_head h,
    const uint8_t *p, size_t len)
{
	memcpy(h.b + TAG_CONTEXT_BYTES, p, 8);
	return tag_good(k, &h, p + 8 + TAG_BYTES, len - 8 - TAG_BYTES,
	    p + 8);
}

/*
 * Write counter and proof behind the packet of len bytes at p (an update, a
 * model or weights), which has room for TAG_TAIL_BYTES more; its length.
 */
static inline size_t
tag_update_put(const struct tag_key *k, struct tag_head h, uint8_t *p,
    size_t len, uint64_t counter)
{
	bytes_put(h.b + TAG_CONTEXT_BYTES, counter, TAG_COUNTER_BYTES);
	bytes_put(p + len, counter, TAG_COUNTER_BYTES);
	tag_make(k, &h, p, len, p + len + TAG_COUNTER_BYTES);
	return len + TAG_TAIL_BYTES;
}

/* May the packet at p, whose len bytes end so, be believed?  Its counter. */
static inline bool
tag_update_good(const struct tag_key *k, struct tag_head h,
    const uint8_t *p, size_t len, uint64_t *counter)
{
	const uint8_t *tail;

	if (len < TAG_TAIL_BYTES)
		return false;
	len -= TAG_TAIL_BYTES;
	tail = p + len;
	memcpy(h.b + TAG_CONTEXT_BYTES, tail, TAG_COUNTER_BYTES);
	*counter = bytes_get(tail, TAG_COUNTER_BYTES);
	return tag_good(k, &h, p, len, tail + TAG_COUNTER_BYTES);
}

/* Counters of one sender: each once, none TAG_WINDOW before the newest. */
struct tag_window {
	uint64_t top, came;		/* came: bit i is of top - i */
};

/* Is counter c, of a good proof, one that has not come?  Then it has. */
static inline bool
tag_window_accept(struct tag_window *w, uint64_t c)
{
	const uint64_t ahead = c - w->top, behind = w->top - c;

	if (c == 0)
		return false;
	if (c > w->top) {
		w->came = ahead < TAG_WINDOW ? w->came << ahead | 1 : 1;
		w->top = c;
		return true;
	}
	if (behind >= TAG_WINDOW || (w->came >> behind & 1) != 0)
		return false;
	w->came |= (uint64_t)1 << behind;
	return true;
}

#endif
