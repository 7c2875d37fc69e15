/*
 * mac.h - seals: who said it knows the key, now, and to me
 *
 * The last 24 bytes of a control message: a counter, and 16 bytes of a hash
 * under the key of the channel, of all before and the direction
 * (innet-wire(5)).  The counter tells what comes again from what is new.
 */
#ifndef INNET_AUTH_MAC_H
#define INNET_AUTH_MAC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <nettle/memops.h>

#include "common/base/bytes.h"
#include "common/auth/key.h"
#include "common/auth/cookie.h"

enum {
	SEAL_COUNTER_BYTES = 8, SEAL_MAC_BYTES = 16,
	SEAL_BYTES = SEAL_COUNTER_BYTES + SEAL_MAC_BYTES
};

/* Who speaks: who asks, or who answers and gives notice. */
enum seal_way { SEAL_ASKS = 1, SEAL_ANSWERS };

/* The key of the channel that this pass has opened. */
static inline void
seal_channel(const struct key *k, const uint8_t pass[PASS_BYTES],
    struct key *channel)
{
	key_derive(k, "innet 1 channel", pass, PASS_BYTES, channel);
}

/* The hash of the len bytes at p, the counter among them. */
static inline void
seal_mac(const struct key *channel, enum seal_way way, const uint8_t *p,
    size_t len, uint8_t mac[SEAL_MAC_BYTES])
{
	struct key_hash h = key_begin(channel, "innet 1 control");
	const uint8_t direction = (uint8_t)way;

	key_add(&h, &direction, 1);
	key_add(&h, p, len);
	key_end(&h, mac, SEAL_MAC_BYTES);
}

/*
 * Seal the message of len bytes at p, whose flags say so already and which has
 * room for SEAL_BYTES more.  Its new length.
 */
static inline size_t
seal_put(const struct key *channel, enum seal_way way, uint64_t counter,
    uint8_t *p, size_t len)
{
	bytes_put(p + len, counter, SEAL_COUNTER_BYTES);
	len += SEAL_COUNTER_BYTES;
	seal_mac(channel, way, p, len, p + len);
	return len + SEAL_MAC_BYTES;
}

/* Is the seal at the end of the len bytes at p right? */
static inline bool
seal_good(const struct key *channel, enum seal_way way, const uint8_t *p,
    size_t len)
{
	uint8_t mac[SEAL_MAC_BYTES];

	if (len < SEAL_BYTES)
		return false;
	len -= SEAL_MAC_BYTES;
	seal_mac(channel, way, p, len, mac);
	return memeql_sec(mac, p + len, SEAL_MAC_BYTES) != 0;
}

#endif
