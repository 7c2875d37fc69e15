/*
 * key-change.h - change the key of a running program
 *
 * After SIGHUP a program reads its key file again.  If the key has changed,
 * both keys are valid for KEY_CHANGE_BOTH_NS.  The program uses the old key to
 * send in the first half of that time, and the new key in the second half.  So
 * if two programs read the file within half of that time of each other, they
 * always accept each other's messages.  They need not send each other messages
 * about the change.  No new handshake is needed, because each side derives the
 * new keys of channels and tags from the new key of the file and from the
 * cookie or salt that it already has.
 *
 * A key that was read from a pipe is not read again.  There is only one change
 * at a time: if a third key is read during a change, the oldest key becomes
 * invalid at once.
 */
#ifndef INNET_AUTH_KEY_CHANGE_H
#define INNET_AUTH_KEY_CHANGE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include "common/auth/key-file.h"
#include "common/base/message.h"

#define KEY_CHANGE_BOTH_NS (120 * (uint64_t)1000000000)

struct key_change {
	struct key *key;		/* borrowed; the key that the program
					 * uses */
	const char *path;		/* path of the program's key file; NULL:
					 * the key is read only once */
	struct key other;		/* the second key; it is valid if
					 * key->other is not NULL */
	uint64_t swap_ns, drop_ns;	/* time when `other` and the key in use
					 * are exchanged; time when `other`
					 * becomes invalid; 0: never */
};

/*
 * Initialise c for key k.  `path` is the file from which k was read, or NULL if
 * there is no file.
 */
static inline void
key_change_init(struct key_change *c, struct key *k, const char *path)
{
	struct stat st;

	*c = (struct key_change){ .key = k };
	if (path != NULL && stat(path, &st) == 0 && S_ISREG(st.st_mode))
		c->path = path;
}

/*
 * Begin to change to the key `fresh`.  Returns false if `fresh` is already the
 * key in use, or if the change to `fresh` has already begun.
 */
static inline bool
key_change_begin(struct key_change *c, const struct key *fresh,
    uint64_t now_ns)
{
	if (c->swap_ns != 0 && key_same(&c->other, fresh))
		return false;
	if (key_same(c->key, fresh)) {
		if (c->swap_ns == 0)
			return false;
		c->swap_ns = 0;		/* the file contains the old key again,
					 * so keep the old key */
		return true;
	}
	c->other = *fresh;
	c->key->other = &c->other;
	c->key->generation++;
	c->swap_ns = now_ns + KEY_CHANGE_BOTH_NS / 2;
	c->drop_ns = now_ns + KEY_CHANGE_BOTH_NS;
	return true;
}

/*
 * Switch to the new key or drop the old key, if it is time to do so.  Returns
 * whether a key has become invalid.
 */
static inline bool
key_change_step(struct key_change *c, uint64_t now_ns)
{
	if (c->swap_ns != 0 && now_ns >= c->swap_ns) {
		const struct hmac_sha256_ctx former = c->key->start;

		c->key->start = c->other.start;
		c->other.start = former;
		c->key->generation++;
		c->swap_ns = 0;
	}
	if (c->drop_ns == 0 || now_ns < c->drop_ns)
		return false;
	c->key->other = NULL;
	c->key->generation++;
	explicit_bzero(&c->other, sizeof(c->other));
	c->drop_ns = 0;
	return true;
}

/*
 * Call key_change_step() and print a line when a key has expired.  Call this
 * function once a second.
 */
static inline void
key_change_tick(struct key_change *c, uint64_t now_ns)
{
	if (key_change_step(c, now_ns))
		warnx("%s: the former key is no longer valid", c->path);
}

/*
 * Read the key file again and print what changes.  If the file cannot be used,
 * the key does not change.  Returns false if the key is the same as before.
 */
static inline bool
key_change_reload(struct key_change *c, uint64_t now_ns)
{
	uint8_t buf[KEY_MOST_BYTES + 1];
	char why[KEY_WHY] = "not a regular file";
	struct key fresh;
	struct stat st;
	size_t n = 0;
	bool changed;

	if (c->path == NULL)
		return false;
	if (stat(c->path, &st) == -1 || S_ISREG(st.st_mode))
		n = key_read(c->path, KEY_LEAST_BYTES, buf, why);
	if (n == 0) {
		warnx("%s: %s; the key was not changed", c->path, why);
		return true;
	}
	key_set(&fresh, buf, n);
	explicit_bzero(buf, sizeof(buf));
	changed = key_change_begin(c, &fresh, now_ns);
	explicit_bzero(&fresh, sizeof(fresh));
	if (changed)
		warnx("%s: the key was read again; the former key is used for "
		    "another 60 s and accepted for another 120 s", c->path);
	return changed;
}

#endif
