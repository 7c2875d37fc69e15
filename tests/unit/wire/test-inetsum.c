/* Compare the Internet checksum with a sum of 16-bit words, one by one. */
#include <stdlib.h>
#include <string.h>

#include "common/base/rng.h"
#include "common/wire/inetsum.h"
#include "tests/unit/tap.h"

/*
 * Compute the sum as RFC 1071 says: big-endian words, with carries added at
 * once.
 */
static uint16_t
sum_slowly(const uint8_t *p, size_t len)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < len; i += 2) {
		sum += (uint32_t)p[i] << 8 | (i + 1 < len ? p[i + 1] : 0);
		sum = (sum & 0xffff) + (sum >> 16);
	}
	return (uint16_t)sum;
}

/* Compute it with inetsum_fold(), which keeps the byte order of memory. */
static uint16_t
host_sum(uint64_t sum)
{
	uint8_t b[2];
	uint16_t v = inetsum_fold(sum);

	memcpy(b, &v, 2);
	return (uint16_t)(b[0] << 8 | b[1]);
}

/* Do all forms agree on the len bytes at p? */
static bool
forms_agree(const uint8_t *p, size_t len)
{
	const uint16_t want = sum_slowly(p, len);
	bool good = host_sum(inetsum_plain(0, p, 0, len)) == want &&
	    host_sum(inetsum_add(0, p, len)) == want;

#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx2"))
		good = good && inetsum_fold(inetsum_avx2(0, p, len)) ==
		    inetsum_fold(inetsum_plain(0, p, 0, len));
#endif
	return good;
}

int
main(void)
{
	static const uint8_t rfc[] = { 0, 1, 0xf2, 3, 0xf4, 0xf5, 0xf6, 0xf7 };
	struct rng r = rng_seed(1);
	bool good = true;
	uint8_t *p;

	ok(host_sum(inetsum_add(0, rfc, sizeof(rfc))) == 0xddf2,
	    "the example of RFC 1071 has the sum ddf2");
	ok(inetsum_fold(0) == 0 && inetsum_fold(0xffff) == 0xffff &&
	    inetsum_fold(0x10000) == 1, "carries are added again");
	ok(inetsum_fold(UINT64_MAX) == 0xffff, "the carries of all 64 bits are "
	    "added");

	for (size_t len = 0; len <= 200; len++) {
		for (size_t off = 0; off < 4; off++) {
			/*
			 * exact size, so that ASan detects a read past the end
			 */
			p = malloc(off + len + (off + len == 0));
			for (size_t i = 0; i < len; i++)
				p[off + i] = (uint8_t)rng_u64(&r);
			good = good && forms_agree(p + off, len);
			free(p);
		}
	}
	ok(good, "plain C, AVX2 and the slow form agree on 0 to 200 unaligned "
	    "bytes");

	good = true;
	for (int run = 0; run < 300; run++) {
		size_t len = rng_below(&r, 65536);

		p = malloc(len + 1);
		memset(p, 0xff, len + 1);
		for (size_t i = 0; run % 3 != 0 && i < len; i++)
			p[i] = (uint8_t)rng_u64(&r);
		good = good && forms_agree(p, len);
		free(p);
	}
	ok(good, "they agree on random lengths up to 64 KiB, also of ones");

	p = malloc(400);
	for (size_t i = 0; i < 400; i++)
		p[i] = (uint8_t)rng_u64(&r);
	good = true;
	for (size_t cut = 0; cut <= 400; cut += 2)
		good = good && host_sum(inetsum_add(inetsum_add(0, p, cut),
		    p + cut, 400 - cut)) == sum_slowly(p, 400);
	ok(good, "the sum of two parts equals the sum of the whole");
	free(p);
	return tap_end();
}
