/*
 * key.h - keys, and the keyed hash H(k, label, x) of innet-wire(5)
 *
 * H is HMAC-SHA-256 (RFC 2104) over a label and x.  The label is ASCII, padded
 * with zeros to 16 bytes, and names the purpose of the hash, so that a hash
 * made for one purpose is never valid for another.  Cookies, control MACs,
 * channel keys and salts are all made with H.
 *
 * A zeroed struct key contains no key.  To hash with it is a programming error.
 */
#ifndef INNET_AUTH_KEY_H
#define INNET_AUTH_KEY_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <nettle/hmac.h>
#include <nettle/memops.h>

enum {
	KEY_LEAST_BYTES = 16, KEY_MOST_BYTES = 4096,	/* limits on the length
							 * of a key file */
	KEY_HASH_BYTES = 32, KEY_LABEL_BYTES = 16
};

struct key {
	bool set;			/* the struct contains a key */
	uint32_t generation;		/* different after each change of the
					 * key; a derived key has the generation
					 * of its base key */
	struct hmac_sha256_ctx start;	/* state of HMAC with the key, before
					 * anything is hashed */
	const struct key *other;	/* second key that is also valid while
					 * the key changes (key-change.h), or
					 * NULL */
};

/* A hash that is being computed. */
struct key_hash {
	struct hmac_sha256_ctx h;
};

/* Use the len bytes at p as key k. */
static inline void
key_set(struct key *k, const void *p, size_t len)
{
	*k = (struct key){ .set = true };
	hmac_sha256_set_key(&k->start, len, p);
}

/* Start a hash under k with a label of at most KEY_LABEL_BYTES. */
static inline struct key_hash
key_hash_start(const struct key *k, const char *label)
{
	struct key_hash h = { k->start };
	uint8_t padded[KEY_LABEL_BYTES] = { 0 };
	const size_t len = strlen(label);

	assert(k->set && len <= sizeof(padded));
	memcpy(padded, label, len);
	hmac_sha256_update(&h.h, sizeof(padded), padded);
	return h;
}

/* Add the len bytes at p to the hash. */
static inline void
key_hash_add(struct key_hash *h, const void *p, size_t len)
{
	hmac_sha256_update(&h->h, len, p);
}

/*
 * Store the first `bytes` bytes (at most KEY_HASH_BYTES) of the hash.  After
 * this, h must not be used.
 */
static inline void
key_hash_finish(struct key_hash *h, uint8_t *hash, size_t bytes)
{
	hmac_sha256_digest(&h->h, bytes, hash);
}

/*
 * Store the first `bytes` bytes of H(k, label, x), where x is the len bytes at
 * p.
 */
static inline void
key_hash_of(const struct key *k, const char *label, const void *p, size_t len,
    uint8_t *hash, size_t bytes)
{
	struct key_hash h = key_hash_start(k, label);

	key_hash_add(&h, p, len);
	key_hash_finish(&h, hash, bytes);
}

/*
 * Derive a key from all bytes of H(k, label, x), where x is the len bytes at p.
 */
static inline void
key_derive(const struct key *k, const char *label, const void *p, size_t len,
    struct key *derived)
{
	uint8_t hash[KEY_HASH_BYTES];

	key_hash_of(k, label, p, len, hash, sizeof(hash));
	key_set(derived, hash, sizeof(hash));
	explicit_bzero(hash, sizeof(hash));
}

/* Are a and b the same key? */
static inline bool
key_same(const struct key *a, const struct key *b)
{
	uint8_t x[KEY_HASH_BYTES], y[KEY_HASH_BYTES];

	key_hash_of(a, "innet 1 same", "", 0, x, sizeof(x));
	key_hash_of(b, "innet 1 same", "", 0, y, sizeof(y));
	return memeql_sec(x, y, sizeof(x)) != 0;
}

#endif
