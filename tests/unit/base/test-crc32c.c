/*
 * Compare CRC-32C with the values of RFC 3720 B.4 and with a division bit by
 * bit.
 */
#include <string.h>

#include "common/base/crc32c.h"
#include "common/base/rng.h"
#include "tests/unit/tap.h"

/*
 * Return the remainder of the message's polynomial by 0x11edc6f41, computed in
 * the other direction: most significant bit first, with mirrored bytes.
 */
static uint32_t
divide_polynomial(const uint8_t *p, size_t len)
{
	uint32_t rem = 0xffffffff, out = 0;

	for (size_t i = 0; i < 8 * len; i++) {
		uint32_t bit = p[i / 8] >> i % 8 & 1u;

		bit ^= rem >> 31;
		rem = rem << 1 ^ (bit != 0 ? 0x1edc6f41 : 0);
	}
	for (int i = 0; i < 32; i++)
		out |= (rem >> i & 1) << (31 - i);
	return ~out;
}

typedef uint32_t crc32c_kind(uint32_t crc, const void *p, size_t len);

/*
 * Does the function agree with a division bit by bit, for all lengths and
 * offsets in 8 bytes, in one part or two?
 */
static bool
as_reference(crc32c_kind *fast, const uint8_t *p, size_t most)
{
	bool same = true;

	for (size_t at = 0; at < 8; at++) {
		for (size_t n = 0; n + at <= most; n++)
			same = same && fast(0, p + at, n) ==
			    crc32c_bitwise(0, p + at, n) &&
			    fast(0x12345678, p + at, n) ==
			    crc32c_bitwise(0x12345678, p + at, n);
	}
	return same;
}

int
main(void)
{
	uint8_t p[257] = { 0 };
	struct rng r = rng_seed(1);
	bool same = true, whole = true, flips = true;
	uint32_t all;

	ok(crc32c(0, "123456789", 9) == 0xe3069283,
	    "123456789 has the check value of the catalogue");
	ok(crc32c(0, p, 0) == 0, "the CRC of no bytes is 0");
	memset(p, 0, 32);
	ok(crc32c(0, p, 32) == 0x8a9136aa, "the CRC of 32 zeros is right");
	memset(p, 0xff, 32);
	ok(crc32c(0, p, 32) == 0x62a8ab43, "the CRC of 32 ones is right");
	for (uint8_t i = 0; i < 32; i++)
		p[i] = i;
	ok(crc32c(0, p, 32) == 0x46dd794e, "the CRC of 32 rising bytes is "
	    "right");
	for (uint8_t i = 0; i < 32; i++)
		p[i] = (uint8_t)(31 - i);
	ok(crc32c(0, p, 32) == 0x113fdb5c, "the CRC of 32 falling bytes is "
	    "right");

	for (size_t i = 0; i < sizeof(p); i++)
		p[i] = (uint8_t)rng_u64(&r);
	for (size_t n = 0; n <= sizeof(p); n++)
		same = same && crc32c(0, p, n) == divide_polynomial(p, n);
	ok(same, "0 to %zu random bytes agree with a long division",
	    sizeof(p));
	ok(as_reference(crc32c_table, p, sizeof(p)),
	    "the table and a division bit by bit agree");
	ok(as_reference(crc32c, p, sizeof(p)),
	    "the function chosen at run time and a division bit by bit agree");
	all = crc32c(0, p, sizeof(p));
	for (size_t n = 0; n <= sizeof(p); n++)
		whole = whole && all == crc32c(crc32c(0, p, n), p + n,
		    sizeof(p) - n);
	ok(whole, "the CRC of two parts equals the CRC of the whole");
	for (size_t i = 0; i < 8 * sizeof(p); i++) {
		p[i / 8] ^= (uint8_t)(1 << i % 8);
		flips = flips && crc32c(0, p, sizeof(p)) != all;
		p[i / 8] ^= (uint8_t)(1 << i % 8);
	}
	ok(flips, "any single flipped bit changes the CRC");
	return tap_end();
}
