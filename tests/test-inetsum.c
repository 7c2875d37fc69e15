/* the Internet checksum: RFC 1071's example, and AVX2 beside plain C */
#include <stdlib.h>
#include <string.h>

#include "common/inetsum.h"
#include "common/rng.h"
#include "common/vec.h"
#include "tests/tap.h"

static void
known(void)
{
	const uint8_t rfc[] = { 0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7 };
	const uint8_t odd[] = { 0x01, 0x02, 0x03 };
	uint16_t sum = inetsum_fold(inetsum_add(0, rfc, sizeof(rfc)));

	ok(memcmp(&sum, "\xdd\xf2", 2) == 0, "RFC 1071's example: ddf2");
	sum = inetsum_fold(inetsum_add(0, odd, sizeof(odd)));
	ok(memcmp(&sum, "\x04\x02", 2) == 0, "an odd byte counts high");
	ok(inetsum_fold(inetsum_add(0, rfc, 0)) == 0, "of nothing: 0");
}

#if defined(__x86_64__)
enum { BIG = 3 * INETSUM_BLOCK_BYTES + 77 };

static void
twins(void)
{
	struct rng g = rng_seed(3);
	uint8_t *p = malloc(BIG + 1);
	int bad = 0;

	for (size_t i = 0; i < BIG + 1; i++)
		p[i] = (uint8_t)rng_u64(&g);
	for (size_t len = 0; len < 2000; len++)
		bad += inetsum_fold(inetsum_avx2(7, p + len % 2, len)) !=
		    inetsum_fold(inetsum_plain(7, p + len % 2, 0, len));
	ok(bad == 0, "lengths 0 to 1999 agree");
	ok(inetsum_fold(inetsum_avx2(0, p, BIG)) ==
	    inetsum_fold(inetsum_plain(0, p, 0, BIG)), "blocks agree");
	for (int v = 0; v < 256; v += 51) {
		memset(p, v, BIG);
		bad += inetsum_fold(inetsum_avx2(0, p, BIG)) !=
		    inetsum_fold(inetsum_plain(0, p, 0, BIG));
	}
	ok(bad == 0, "so do zeros, ones, and what lies between");
	free(p);
}

static void
not_finite(void)
{
	static const uint32_t edge[] = { 0x7f7fffff, 0xff7fffff, 0x80000000,
	    0x00000001, 0x7f800000, 0xff800000, 0x7fc00000, 0xffffffff };
	uint8_t p[4 * 67] = { 0 };
	int bad = 0;

	for (size_t n = 1; n <= 67; n++) {
		for (size_t i = 0; i < n; i++) {
			for (size_t e = 0; e < 8; e++) {
				memcpy(p + 4 * i, &edge[e], 4);
				bad += vec_finite_avx2(p, n) != (e < 4);
				bad += vec_finite_from(p, 0, n) != (e < 4);
			}
			memset(p + 4 * i, 0, 4);
		}
	}
	ok(bad == 0, "one number that is not finite is found anywhere");
}
#endif

int
main(void)
{
	known();
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx2")) {
		twins();
		not_finite();
	}
#endif
	return tap_end();
}
