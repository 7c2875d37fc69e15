/*
 * key.h - keys, and the keyed hash H(k, label, x) of innet-wire(5)
 *
 * H is HMAC-SHA-256 (RFC 2104) over a label and x.  The label is ASCII, padded
 * with zeros to 16 bytes, and names the purpose of the hash, so that a hash
 * made for one purpose is never valid for another.  Cookies, control MACs,
 * channel keys and salts are all made with H.
 *
 * A zeroed struct key is not set; hashing with it is a programming error.
 */
#ifndef INNET_AUTH_KEY_H
#define INNET_AUTH_KEY_H

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nettle/hmac.h>

#include "common/base/file-open.h"
#include "common/base/message.h"

enum {
	KEY_LEAST_BYTES = 16, KEY_MOST_BYTES = 4096,	/* of a key file */
	KEY_HASH_BYTES = 32, KEY_LABEL_BYTES = 16,
	KEY_WHY = PATH_MAX + 128	/* bytes of a text that names a file */
};

struct key {
	bool set;			/* false: there is no key */
	struct hmac_sha256_ctx start;	/* keyed, with nothing hashed yet */
};

/* A hash that is being computed. */
struct key_hash {
	struct hmac_sha256_ctx h;
};

/* Use the len bytes at p as key k. */
static inline void
key_set(struct key *k, const void *p, size_t len)
{
	hmac_sha256_set_key(&k->start, len, p);
	k->set = true;
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
 * Store the first `bytes` (at most KEY_HASH_BYTES) of the hash; h is used up.
 */
static inline void
key_hash_finish(struct key_hash *h, uint8_t *hash, size_t bytes)
{
	hmac_sha256_digest(&h->h, bytes, hash);
}

/* Store the first `bytes` of H(k, label, the len bytes at p). */
static inline void
key_hash_of(const struct key *k, const char *label, const void *p, size_t len,
    uint8_t *hash, size_t bytes)
{
	struct key_hash h = key_hash_start(k, label);

	key_hash_add(&h, p, len);
	key_hash_finish(&h, hash, bytes);
}

/* Derive a key: all bytes of H(k, label, the len bytes at p). */
static inline void
key_derive(const struct key *k, const char *label, const void *p, size_t len,
    struct key *derived)
{
	uint8_t hash[KEY_HASH_BYTES];

	key_hash_of(k, label, p, len, hash, sizeof(hash));
	key_set(derived, hash, sizeof(hash));
	explicit_bzero(hash, sizeof(hash));
}

/*
 * Return whether users beyond the owner and the group may open the file of fd.
 * A pipe and a file without a name in any folder are safe.
 */
static inline bool
key_is_exposed(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    st.st_nlink > 0 && (st.st_mode & (S_IROTH | S_IWOTH)) != 0;
}

/* Are all len bytes at p zero?  Such a key can be guessed. */
static inline bool
key_is_zero(const uint8_t *p, size_t len)
{
	uint8_t any = 0;

	for (size_t i = 0; i < len; i++)
		any |= p[i];
	return any == 0;
}

/* Store in why what is wrong with the `have` bytes of a key file, or "". */
static inline void
key_check(const uint8_t *buf, size_t have, size_t least, char why[KEY_WHY])
{
	if (have == 0)
		snprintf(why, KEY_WHY, "the file is empty, so it has no key");
	else if (have < least)
		snprintf(why, KEY_WHY, "the file has %zu byte%s, but a key has "
		    "at least %zu", have, have == 1 ? "" : "s", least);
	else if (have > KEY_MOST_BYTES)
		snprintf(why, KEY_WHY, "the file has more than %d bytes, which "
		    "is too long for a key", KEY_MOST_BYTES);
	else if (key_is_zero(buf, have))
		snprintf(why, KEY_WHY, "all bytes of the file are zero; make a "
		    "key with head -c 32 /dev/urandom");
	else
		why[0] = '\0';
}

/*
 * Read a key file of `least` to KEY_MOST_BYTES bytes into buf and return its
 * length.  A newline at the end is part of the key.  Otherwise, also if other
 * users may read the file, store in why what is wrong and return 0.
 */
static inline size_t
key_read(const char *path, size_t least, uint8_t buf[KEY_MOST_BYTES + 1],
    char why[KEY_WHY])
{
	const int fd = file_open_read(path);
	size_t have = 0;
	ssize_t n = 1;

	if (fd == -1) {
		snprintf(why, KEY_WHY, "%s", strerror(errno));
		return 0;
	}
	if (key_is_exposed(fd)) {
		snprintf(why, KEY_WHY, "other users can read or write this "
		    "file; run chmod 600 %s", path);
		close(fd);
		return 0;
	}
	while (n != 0 && have < KEY_MOST_BYTES + 1) {
		n = read(fd, buf + have, KEY_MOST_BYTES + 1 - have);
		if (n == -1 && errno != EINTR) {
			snprintf(why, KEY_WHY, "%s", strerror(errno));
			close(fd);
			return 0;
		}
		have += n > 0 ? (size_t)n : 0;
	}
	close(fd);
	key_check(buf, have, least, why);
	return why[0] == '\0' ? have : 0;
}

/* Like key_read(), but print what is wrong and exit 1. */
static inline size_t
key_read_or_exit(const char *path, size_t least,
    uint8_t buf[KEY_MOST_BYTES + 1])
{
	char why[KEY_WHY];
	const size_t n = key_read(path, least, buf, why);

	if (n == 0)
		errx(1, "%s: %s", path, why);
	return n;
}

/* Set k from a key file; see key_read_or_exit(). */
static inline void
key_load_or_exit(struct key *k, const char *path, size_t least)
{
	uint8_t buf[KEY_MOST_BYTES + 1];

	key_set(k, buf, key_read_or_exit(path, least, buf));
	explicit_bzero(buf, sizeof(buf));
}

#endif
