/*
 * inetsum.h - the Internet checksum (RFC 1071)
 *
 * Partial sums have 64 bits and are in memory order; they are folded at the
 * end.  The function in plain C is the reference; the function that uses AVX2
 * computes the same sums.
 */
#ifndef INNET_WIRE_INETSUM_H
#define INNET_WIRE_INETSUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/*
 * Add the bytes p[from] to p[len - 1], as 16-bit words, to a partial sum.
 * `from` must be even.
 */
static inline uint64_t
inetsum_plain(uint64_t sum, const uint8_t *p, size_t from, size_t len)
{
	uint32_t w;
	uint16_t h = 0;
	size_t i;

	for (i = from; i + 4 <= len; i += 4) {
		memcpy(&w, p + i, 4);
		sum += w;
	}
	if (i + 2 <= len) {
		memcpy(&h, p + i, 2);
		sum += h;
		i += 2;
	}
	if (i < len) {
		h = 0;
		memcpy(&h, p + i, 1);
		sum += h;
	}
	return sum;
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static inline uint64_t
inetsum_avx2(uint64_t sum, const uint8_t *p, size_t len)
{
	const __m256i low = _mm256_set1_epi64x(0xffffffff);
	__m256i a = _mm256_setzero_si256(), b = a;
	uint64_t lane[4];
	size_t i;

	for (i = 0; i + 32 <= len; i += 32) {
		__m256i v = _mm256_loadu_si256((const void *)(p + i));

		a = _mm256_add_epi64(a, _mm256_and_si256(v, low));
		b = _mm256_add_epi64(b, _mm256_srli_epi64(v, 32));
	}
	_mm256_storeu_si256((void *)lane, _mm256_add_epi64(a, b));
	sum += lane[0] + lane[1] + lane[2] + lane[3];
	return inetsum_plain(sum, p, i, len);
}
#endif

/*
 * Add the len bytes at p to a partial sum, which is 0 at first.  If data is
 * added in several parts, only the last part may have an odd length.
 */
static inline uint64_t
inetsum_add(uint64_t sum, const void *p, size_t len)
{
#if defined(__x86_64__)
	if (len >= 64 && __builtin_cpu_supports("avx2"))
		return inetsum_avx2(sum, p, len);
#endif
	return inetsum_plain(sum, p, 0, len);
}

/*
 * Fold a partial sum to 16 bits.  The result is in memory order and not
 * complemented.  The method is to add a number to itself with its halves
 * swapped: the upper half of the result is then the sum of both halves plus the
 * carry of this sum.
 */
static inline uint16_t
inetsum_fold(uint64_t sum)
{
	uint32_t half;

	sum += sum >> 32 | sum << 32;
	half = (uint32_t)(sum >> 32);
	half += half >> 16 | half << 16;
	return (uint16_t)(half >> 16);
}

#endif
