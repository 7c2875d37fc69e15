/*
 * key-slot.h - the slot in which a Redis Cluster keeps a key
 *
 * There are 16384 slots.  The slot of a key is the CRC-16 of the key modulo
 * 16384.  If the key contains a { and at least one character before the next },
 * only the characters between the braces count.
 */
#ifndef INNET_AGENT_APEX_KEY_SLOT_H
#define INNET_AGENT_APEX_KEY_SLOT_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { KEYSLOT_SLOTS = 16384, KEYSLOT_TAG = 16 };

/*
 * Return the CRC-16/XMODEM of the bytes, with the polynomial 0x1021 and the
 * initial value 0.
 */
static inline uint16_t
keyslot_crc16(const char *p, size_t len)
{
	uint16_t crc = 0;

	for (size_t i = 0; i < len; i++) {
		crc ^= (uint16_t)((uint8_t)p[i] << 8);
		for (int bit = 0; bit < 8; bit++)
			crc = (uint16_t)((crc << 1) ^
			    ((crc & 0x8000) != 0 ? 0x1021 : 0));
	}
	return crc;
}

/* Return the slot of a key. */
static inline unsigned
keyslot_of(const char *key)
{
	const char *open = strchr(key, '{');
	const char *close = open == NULL ? NULL : strchr(open, '}');

	if (close != NULL && close > open + 1)
		return keyslot_crc16(open + 1, (size_t)(close - open - 1)) %
		    KEYSLOT_SLOTS;
	return keyslot_crc16(key, strlen(key)) % KEYSLOT_SLOTS;
}

/*
 * Divide all slots into `parts` equal parts, and set `tag` to the smallest
 * number in braces whose slot is in part k.  A key that ends with this tag and
 * has no other braces is in part k, too.
 */
static inline void
keyslot_tag(unsigned k, unsigned parts, char tag[KEYSLOT_TAG])
{
	unsigned slot, n = 0;

	assert(k < parts && parts <= KEYSLOT_SLOTS / 64);
	do {
		snprintf(tag, KEYSLOT_TAG, "{%u}", n++);
		slot = keyslot_of(tag);
	} while (slot < k * KEYSLOT_SLOTS / parts ||
	    slot >= (k + 1) * KEYSLOT_SLOTS / parts);
}

#endif
