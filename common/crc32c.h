/*
 * crc32c.h - CRC-32C (Castagnoli), as iSCSI and SSE4.2 have it
 */
#ifndef INNET_CRC32C_H
#define INNET_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Continue crc (0 to begin) over len bytes at p. */
static inline uint32_t
crc32c(uint32_t crc, const void *p, size_t len)
{
	const uint8_t *b = p;

	crc = ~crc;
	for (size_t i = 0; i < len; i++) {
		crc ^= b[i];
		for (int k = 0; k < 8; k++)
			crc = crc >> 1 ^ (0x82f63b78 & -(crc & 1));
	}
	return ~crc;
}

#endif
