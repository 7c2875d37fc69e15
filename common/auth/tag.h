/*
 * tag.h - authentication tags of data: without the key, segments, updates and
 * models cannot be forged (innet-wire(5))
 *
 * A tag is made in two steps: GMAC with key k1 is computed over a context and
 * the data, and the result is encrypted with AES-128 under key k2.  The tag is
 * the first 8 bytes of the encrypted block.  k1 and k2 are derived from the key
 * file and from a salt that the switch sends in its Ack.  Because of the second
 * step, a tag needs no nonce.  So equal bytes have equal tags, and a segment
 * that is sent again has the same tag as before.  Updates and models contain a
 * counter, and a window of counters (struct tag_window) rejects replays.
 *
 * The context contains the direction (up is the direction to a switch or
 * server), the job, the number of the epoch (an epoch has 2^24 iterations) and
 * the sender's cookie.  Data that is sent down is for all receivers, so its
 * context contains no cookie.  The data itself is not encrypted.
 *
 * Without a key file the tag is a token.  In data that is sent up, the token is
 * the nonce of the sender's cookie.  In data that is sent down, it is the first
 * bytes of the salt.  A token stops only attackers who cannot read our packets.
 */
#ifndef INNET_AUTH_TAG_H
#define INNET_AUTH_TAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <nettle/aes.h>
#include <nettle/gcm.h>
#include <nettle/memops.h>

#include "common/auth/ghash.h"
#include "common/auth/key.h"
#include "common/base/bytes.h"

enum {
	TAG_BYTES = 8,
	TAG_COUNTER_BYTES = 8,
	TAG_TAIL_BYTES = TAG_COUNTER_BYTES + TAG_BYTES,
	TAG_SALT_BYTES = 16,
	TAG_COOKIE_BYTES = 16,		/* length of the nonce and the time of a
					 * cookie, in bytes */
	TAG_CONTEXT_BYTES = 24,
	TAG_HEAD_BYTES = TAG_CONTEXT_BYTES + 8,
	TAG_VERSION = 1,
	TAG_WINDOW = 64			/* number of counters behind the newest
					 * one that are still accepted */
};

enum tag_direction { TAG_UP = 1, TAG_DOWN };

/* The values of --auth: which packets are authenticated. */
enum tag_auth {
	TAG_AUTH_NONE,
	TAG_AUTH_CONTROL,	/* control messages have MACs */
	TAG_AUTH_ALL,		/* control messages have MACs and data has
				 * tags */
	TAG_AUTH_DEFAULT	/* --auth was not given; the value depends on
				 * whether there is a key */
};

/* The key for the data of one job, or of one server. */
struct tag_key {
	const struct key *file;		/* borrowed; NULL: the tags are
					 * tokens */
	uint32_t generation;		/* generation of *file when this key was
					 * derived from *file */
	uint8_t salt[TAG_SALT_BYTES];
	bool fast;			/* result of ghash_is_supported() */
	struct ghash_key powers;	/* powers of k1, if `fast` is set */
	struct gcm_key hash;		/* key k1, if `fast` is not set */
	struct gcm_ctx start;		/* state of GMAC with the fixed nonce,
					 * before anything is hashed */
	uint8_t mask[GCM_BLOCK_SIZE];	/* the fixed nonce, encrypted */
	struct aes128_ctx last;		/* key k2 */
};

/*
 * The bytes before the data that a tag covers: the context, then a Seg or a
 * counter.
 */
struct tag_head {
	uint8_t b[TAG_HEAD_BYTES];
};

/*
 * The counters of one sender that were accepted.  The caller must zero the
 * struct before the first use.
 */
struct tag_window {
	uint64_t top, came; /* bit i of `came`: counter top - i was accepted */
};

/* Parse a value of the option --auth.  Returns NULL or an error message. */
static inline const char *tag_auth_parse(const char *word, enum tag_auth *auth);

/*
 * Replace TAG_AUTH_DEFAULT with the value that is usual with or without a key.
 * Returns NULL, or an error message if the value is not allowed with a key
 * (none) or without a key (control).
 */
static inline const char *tag_auth_resolve(enum tag_auth *auth, bool keyed);

/*
 * Derive k from a salt and the key of the key file (NULL: the tags are tokens).
 * When that key changes, the functions below derive k again.
 */
static inline void tag_key_set(struct tag_key *k, const struct key *key,
    const uint8_t salt[TAG_SALT_BYTES]);

/*
 * Build a context.  `cookie` is the first TAG_COOKIE_BYTES of the sender's
 * cookie for data that is sent up, and NULL for data that is sent down.
 */
static inline struct tag_head tag_head(enum tag_direction direction,
    uint16_t job, uint32_t epoch, const uint8_t *cookie);

/* Compute the tag of h and the len bytes at p. */
static inline void tag_make(struct tag_key *k, const struct tag_head *h,
    const uint8_t *p, size_t len, uint8_t tag[TAG_BYTES]);

/*
 * Is `tag` the tag of h and the len bytes at p?  The check takes constant time.
 */
static inline bool tag_good(struct tag_key *k, const struct tag_head *h,
    const uint8_t *p, size_t len, const uint8_t tag[TAG_BYTES]);

/*
 * Write the tag of a segment (Seg 8 | tag 8 | vector) after the Seg at p.  The
 * floats of the segment are `bytes` bytes at vec.
 */
static inline void tag_segment_put(struct tag_key *k, struct tag_head h,
    uint8_t *p, const void *vec, size_t bytes);

/*
 * Is the tag of the segment of len bytes at p correct?  len must be more than
 * 16.
 */
static inline bool tag_segment_good(struct tag_key *k, struct tag_head h,
    const uint8_t *p, size_t len);

/*
 * Append the counter and the tag to the update, model or weights of len bytes
 * at p.  The buffer must have room for TAG_TAIL_BYTES more bytes.  Returns the
 * new length.
 */
static inline size_t tag_update_put(struct tag_key *k, struct tag_head h,
    uint8_t *p, size_t len, uint64_t counter);

/*
 * Is the tag at the end of the len bytes at p correct?  Stores the counter of
 * the message in *counter.
 */
static inline bool tag_update_good(struct tag_key *k, struct tag_head h,
    const uint8_t *p, size_t len, uint64_t *counter);

/*
 * Accept counter c of a packet whose tag is correct.  Returns false if c was
 * accepted before, or if c is less than the newest counter by TAG_WINDOW or
 * more.
 */
static inline bool tag_window_accept(struct tag_window *w, uint64_t c);

/* implementation */

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
	return "not one of none, control, all";
}

static inline const char *
tag_auth_resolve(enum tag_auth *auth, bool keyed)
{
	if (*auth == TAG_AUTH_DEFAULT)
		*auth = keyed ? TAG_AUTH_ALL : TAG_AUTH_NONE;
	if (*auth == TAG_AUTH_NONE && keyed)
		return "--auth none cannot be used with --key";
	if (*auth == TAG_AUTH_CONTROL && !keyed)
		return "--auth control needs --key";
	return NULL;
}

/* A nettle_cipher_func that copies a block that has already been encrypted. */
static inline void
tag_copy_mask(const void *mask, size_t len, uint8_t *to, const uint8_t *from)
{
	(void)from;
	memcpy(to, mask, len);
}

static inline void
tag_key_set(struct tag_key *k, const struct key *key,
    const uint8_t salt[TAG_SALT_BYTES])
{
	static const uint8_t label[16] = "innet 1 data", nonce[GCM_IV_SIZE];
	uint8_t kk[SHA256_DIGEST_SIZE], first[GCM_BLOCK_SIZE] = { 0 };
	uint8_t zero[GCM_BLOCK_SIZE] = { 0 };
	struct hmac_sha256_ctx h;
	struct aes128_ctx k1;

	*k = (struct tag_key){ .file = key };
	memcpy(k->salt, salt, TAG_SALT_BYTES);
	if (key == NULL)
		return;
	k->generation = key->generation;
	h = key->start;
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

/* Compute GMAC of h and the len bytes at p. */
static inline void
tag_gmac(struct tag_key *k, const struct tag_head *h,
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

/* Derive key k again, because its base key has changed. */
__attribute__((noinline, unused)) static void
tag_key_refresh(struct tag_key *k)
{
	uint8_t salt[TAG_SALT_BYTES];

	memcpy(salt, k->salt, sizeof(salt));
	tag_key_set(k, k->file, salt);
}

static inline void
tag_make(struct tag_key *k, const struct tag_head *h,
    const uint8_t *p, size_t len, uint8_t tag[TAG_BYTES])
{
	uint8_t gmac[GCM_BLOCK_SIZE];

	if (k->file == NULL) {
		memcpy(tag, h->b[0] == TAG_UP ? h->b + 8 : k->salt,
		    TAG_BYTES);
		return;
	}
	if (k->generation != k->file->generation)
		tag_key_refresh(k);
	tag_gmac(k, h, p, len, gmac);
	aes128_encrypt(&k->last, sizeof(gmac), gmac, gmac);
	memcpy(tag, gmac, TAG_BYTES);
}

/*
 * Is `tag` correct under the other key, which is also valid while the key
 * changes?
 */
__attribute__((noinline, unused)) static bool
tag_good_under_other(const struct tag_key *k, const struct tag_head *h,
    const uint8_t *p, size_t len, const uint8_t tag[TAG_BYTES])
{
	uint8_t right[TAG_BYTES];
	struct tag_key other;

	tag_key_set(&other, k->file->other, k->salt);
	tag_make(&other, h, p, len, right);
	explicit_bzero(&other, sizeof(other));
	return memeql_sec(right, tag, TAG_BYTES) != 0;
}

static inline bool
tag_good(struct tag_key *k, const struct tag_head *h,
    const uint8_t *p, size_t len, const uint8_t tag[TAG_BYTES])
{
	uint8_t right[TAG_BYTES];

	tag_make(k, h, p, len, right);
	if (memeql_sec(right, tag, TAG_BYTES) != 0)
		return true;
	return k->file != NULL && k->file->other != NULL &&
	    tag_good_under_other(k, h, p, len, tag);
}

static inline void
tag_segment_put(struct tag_key *k, struct tag_head h, uint8_t *p,
    const void *vec, size_t bytes)
{
	memcpy(h.b + TAG_CONTEXT_BYTES, p, 8);
	tag_make(k, &h, vec, bytes, p + 8);
}

static inline bool
tag_segment_good(struct tag_key *k, struct tag_head h,
    const uint8_t *p, size_t len)
{
	memcpy(h.b + TAG_CONTEXT_BYTES, p, 8);
	return tag_good(k, &h, p + 8 + TAG_BYTES, len - 8 - TAG_BYTES,
	    p + 8);
}

static inline size_t
tag_update_put(struct tag_key *k, struct tag_head h, uint8_t *p,
    size_t len, uint64_t counter)
{
	bytes_put(h.b + TAG_CONTEXT_BYTES, counter, TAG_COUNTER_BYTES);
	bytes_put(p + len, counter, TAG_COUNTER_BYTES);
	tag_make(k, &h, p, len, p + len + TAG_COUNTER_BYTES);
	return len + TAG_TAIL_BYTES;
}

static inline bool
tag_update_good(struct tag_key *k, struct tag_head h,
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
