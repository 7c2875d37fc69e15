/*
 * mac.h - the MAC of control messages: who does not know the key commands
 * nothing
 *
 * HMAC-SHA-256 (RFC 2104) under the bytes of a key file, its first 16 bytes,
 * over all of a message before it: innet-wire(5).  A key that is not set signs
 * nothing and finds everything good.  A MAC says who wrote a message, not
 * when; old ones are told from new by their xid (control.h).
 */
#ifndef INNET_WIRE_MAC_H
#define INNET_WIRE_MAC_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <nettle/hmac.h>
#include <nettle/memops.h>

#include "common/wire/control.h"
#include "common/wire/key.h"

struct mac_key {
	bool set;			/* false in a zeroed one */
	struct hmac_sha256_ctx start;	/* keyed, nothing hashed */
};

/* Make the len bytes at p the key. */
static inline void
mac_key_set(struct mac_key *k, const void *p, size_t len)
{
	hmac_sha256_set_key(&k->start, len, p);
	k->set = true;
}

/* The MAC of the len bytes at p under a key that is set. */
static inline void
mac_of(const struct mac_key *k, const uint8_t *p, size_t len,
    uint8_t mac[CONTROL_MAC_BYTES])
{
	struct hmac_sha256_ctx h = k->start;

	assert(k->set);
	hmac_sha256_update(&h, len, p);
	hmac_sha256_digest(&h, CONTROL_MAC_BYTES, mac);
}

/*
 * Sign the message of len bytes at msg, header and body, in place; there is
 * room for CONTROL_MAC_BYTES more.  Its new length.
 */
static inline size_t
mac_sign(const struct mac_key *k, uint8_t *msg, size_t len)
{
	assert(len >= CONTROL_HEADER_BYTES);
	if (!k->set)
		return len;
	msg[1] |= 1;
	mac_of(k, msg, len, msg + len);
	return len + CONTROL_MAC_BYTES;
}

/*
 * May the message of len bytes at msg, that control_parse() read into c, be
 * acted upon?  How long the answer takes tells nothing about the right MAC.
 */
static inline bool
mac_good(const struct mac_key *k, const uint8_t *msg, size_t len,
    const struct control *c)
{
	uint8_t mac[CONTROL_MAC_BYTES];

	if (!k->set)
		return true;
	if (!c->has_mac || len < CONTROL_HEADER_BYTES + CONTROL_MAC_BYTES)
		return false;
	len -= CONTROL_MAC_BYTES;
	mac_of(k, msg, len, mac);
	return memeql_sec(mac, msg + len, CONTROL_MAC_BYTES) != 0;
}

/* For tools: the key is that file's, 1 byte at least.  Exits 1. */
static inline void
mac_load_or_exit(struct mac_key *k, const char *path)
{
	uint8_t buf[KEY_MOST_BYTES + 1];

	mac_key_set(k, buf, key_read_or_exit(path, 1, buf));
	explicit_bzero(buf, sizeof(buf));
}

#endif
