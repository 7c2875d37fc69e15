/*
 * cookie.h - address cookies: a proof that a client receives packets sent to
 *   its address (as in RFC 7873)
 *
 * A server sends cookies and keeps no state for them.  A cookie consists of the
 * client's nonce, the time at which the server made it, and a tag.  The tag is
 * a hash of nonce, time, and the client's address and port, under a secret that
 * only the server knows (innet-wire(5)).  So a client that returns a valid
 * cookie has received a packet at that address.
 *
 * Times are ns on the server's monotonic clock.  A cookie can open a channel
 * for COOKIE_LIFE_NS; an open channel does not expire with its cookie.
 */
#ifndef INNET_AUTH_COOKIE_H
#define INNET_AUTH_COOKIE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <nettle/memops.h>

#include "common/auth/key.h"
#include "common/base/bytes.h"
#include "common/wire/addr.h"

enum {
	COOKIE_BYTES = 24, COOKIE_NONCE_BYTES = 8, COOKIE_TAG_BYTES = 8,
	COOKIE_TIME_AT = COOKIE_NONCE_BYTES, COOKIE_TAG_AT = COOKIE_TIME_AT + 8
};

#define COOKIE_LIFE_NS 10000000000u

/*
 * Return the time at which a server made the cookie, or 0 if a client made it.
 */
static inline uint64_t
cookie_time_ns(const uint8_t cookie[COOKIE_BYTES])
{
	return bytes_get(cookie + COOKIE_TIME_AT, 8);
}

/*
 * Make the first cookie of a client.  It contains the nonce of the client, but
 * no time and no tag.
 */
static inline void
cookie_init(
    uint8_t cookie[COOKIE_BYTES], const uint8_t nonce[COOKIE_NONCE_BYTES])
{
	memcpy(cookie, nonce, COOKIE_NONCE_BYTES);
	memset(cookie + COOKIE_TIME_AT, 0, COOKIE_BYTES - COOKIE_TIME_AT);
}

/*
 * Compute the tag of a cookie, from its nonce and time, for the client at `at`.
 */
static inline void
cookie_compute_tag(const struct key *secret, const union addr *at,
    const uint8_t cookie[COOKIE_BYTES], uint8_t tag[COOKIE_TAG_BYTES])
{
	struct key_hash h = key_hash_start(secret, "innet 1 pass");
	const bool v6 = at->sa.sa_family == AF_INET6;
	uint8_t address[1 + 16 + 2] = { v6 ? 6 : 4 };

	if (v6)
		memcpy(address + 1, &at->in6.sin6_addr, 16);
	else
		memcpy(address + 1, &at->in.sin_addr, 4);
	bytes_put(address + 17, addr_port(at), 2);
	key_hash_add(&h, address, sizeof(address));
	key_hash_add(&h, cookie, COOKIE_TAG_AT);
	key_hash_finish(&h, tag, COOKIE_TAG_BYTES);
}

/*
 * Make a server's cookie for this nonce and address at now_ns, which must not
 * be 0.
 */
static inline void
cookie_make(const struct key *secret, const union addr *at,
    const uint8_t nonce[COOKIE_NONCE_BYTES], uint64_t now_ns,
    uint8_t cookie[COOKIE_BYTES])
{
	memcpy(cookie, nonce, COOKIE_NONCE_BYTES);
	bytes_put(cookie + COOKIE_TIME_AT, now_ns, 8);
	cookie_compute_tag(secret, at, cookie, cookie + COOKIE_TAG_AT);
}

/*
 * Did this server make the cookie for the address `at`, and is the cookie newer
 * than floor_ns and at most COOKIE_LIFE_NS old?
 */
static inline bool
cookie_good(const struct key *secret, const union addr *at,
    const uint8_t cookie[COOKIE_BYTES], uint64_t floor_ns, uint64_t now_ns)
{
	const uint64_t t = cookie_time_ns(cookie);
	uint8_t tag[COOKIE_TAG_BYTES];

	if (t == 0 || t <= floor_ns || t > now_ns ||
	    now_ns - t > COOKIE_LIFE_NS)
		return false;
	cookie_compute_tag(secret, at, cookie, tag);
	return memeql_sec(tag, cookie + COOKIE_TAG_AT, sizeof(tag)) != 0;
}

#endif
