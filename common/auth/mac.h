/*
 * mac.h - message authentication codes of control messages
 *
 * A MAC is the last 24 bytes of a control message: a counter of 8 bytes and 16
 * bytes of a hash under the channel's key (innet-wire(5)).  The hash covers the
 * whole message, the counter and the direction.  So a correct MAC proves that
 * the sender has the key and made the message for this channel.  A receiver
 * accepts each counter only once, so replays are rejected.
 */
#ifndef INNET_AUTH_MAC_H
#define INNET_AUTH_MAC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <nettle/memops.h>

#include "common/auth/cookie.h"
#include "common/auth/key.h"
#include "common/base/bytes.h"

enum {
	MAC_COUNTER_BYTES = 8, MAC_HASH_BYTES = 16,
	MAC_BYTES = MAC_COUNTER_BYTES + MAC_HASH_BYTES
};

/*
 * Requests are sent to the server; answers and notices are sent by the server.
 */
enum mac_direction { MAC_REQUEST = 1, MAC_RESPONSE };

/* From key k, derive the key of the channel that this cookie opens. */
static inline void
mac_channel_key(const struct key *k, const uint8_t cookie[COOKIE_BYTES],
    struct key *channel)
{
	key_derive(k, "innet 1 channel", cookie, COOKIE_BYTES, channel);
	channel->generation = k->generation;
}

/*
 * Compute the hash of the len bytes at p.  The last 8 of these bytes are the
 * counter.
 */
static inline void
mac_compute(const struct key *channel, enum mac_direction direction,
    const uint8_t *p, size_t len, uint8_t mac[MAC_HASH_BYTES])
{
	struct key_hash h = key_hash_start(channel, "innet 1 control");
	const uint8_t first = (uint8_t)direction;

	key_hash_add(&h, &first, 1);
	key_hash_add(&h, p, len);
	key_hash_finish(&h, mac, MAC_HASH_BYTES);
}

/*
 * Append the counter and the hash to the message of len bytes at p.  The buffer
 * must have room for MAC_BYTES more bytes, and the flags of the message must
 * already contain CONTROL_HAS_MAC.  Returns the new length.
 */
static inline size_t
mac_put(const struct key *channel, enum mac_direction direction,
    uint64_t counter, uint8_t *p, size_t len)
{
	bytes_put(p + len, counter, MAC_COUNTER_BYTES);
	len += MAC_COUNTER_BYTES;
	mac_compute(channel, direction, p, len, p + len);
	return len + MAC_HASH_BYTES;
}

/*
 * Is the MAC at the end of the len bytes at p correct?  The check takes
 * constant time.
 */
static inline bool
mac_good(const struct key *channel, enum mac_direction direction,
    const uint8_t *p, size_t len)
{
	uint8_t mac[MAC_HASH_BYTES];

	if (len < MAC_BYTES)
		return false;
	len -= MAC_HASH_BYTES;
	mac_compute(channel, direction, p, len, mac);
	return memeql_sec(mac, p + len, MAC_HASH_BYTES) != 0;
}

/*
 * Derive the key of the channel that this cookie opens, from k or, while k
 * changes, from the other key.  The function chooses the key under which the
 * MAC at the end of the len bytes at p is correct.  It returns false if there
 * is no such key.
 */
static inline bool
mac_find_key(const struct key *k, const uint8_t cookie[COOKIE_BYTES],
    enum mac_direction direction, const uint8_t *p, size_t len,
    struct key *channel)
{
	mac_channel_key(k, cookie, channel);
	if (mac_good(channel, direction, p, len))
		return true;
	if (k->other == NULL)
		return false;
	mac_channel_key(k->other, cookie, channel);
	channel->generation = k->generation;
	return mac_good(channel, direction, p, len);
}

#endif
