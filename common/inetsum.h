/*
 * inetsum.h - the Internet checksum (RFC 1071)
 *
 * Partial sums are kept in 64 bits in memory order and folded at the end.
 * Plain C is the reference; the AVX2 form adds up otherwise but folds alike.
 */
#ifndef INNET_INETSUM_H
#define INNET_INETSUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* Bytes from to len - 1 added to sum as 16-bit words; from is even. */
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
enum { INETSUM_BLOCK_BYTES = 1 << 18 };	/* before 32 bits could overflow */

/* Words become signed by taking 32,768 from each, which is added back. */
__attribute__((target("avx2"))) static inline uint64_t
inetsum_avx2_block(const uint8_t *p, size_t len)
{
	const __m256i flip = _mm256_set1_epi16(INT16_MIN);
	const __m256i one = _mm256_set1_epi16(1);
	__m256i a = _mm256_setzero_si256(), b = a;
	int32_t lane[8];
	int64_t sum = (int64_t)(len / 2) * 32768;

	for (size_t i = 0; i < len; i += 64) {
		__m256i v = _mm256_loadu_si256((const void *)(p + i));
		__m256i w = _mm256_loadu_si256((const void *)(p + i + 32));

		a = _mm256_add_epi32(a, _mm256_madd_epi16(
		    _mm256_xor_si256(v, flip), one));
		b = _mm256_add_epi32(b, _mm256_madd_epi16(
		    _mm256_xor_si256(w, flip), one));
	}
	_mm256_storeu_si256((void *)lane, _mm256_add_epi32(a, b));
	for (int i = 0; i < 8; i++)
		sum += lane[i];
	return (uint64_t)sum;
}

static inline uint64_t
inetsum_avx2(uint64_t sum, const uint8_t *p, size_t len)
{
	size_t i = 0, whole = len & ~(size_t)63, n;

	for (; i < whole; i += n) {
		n = whole - i < INETSUM_BLOCK_BYTES ? whole - i :
		    INETSUM_BLOCK_BYTES;
		sum += inetsum_avx2_block(p + i, n);
	}
	return inetsum_plain(sum, p, i, len);
}
#endif

/* Add len bytes to a partial sum (0 to begin); only the last may be odd. */
static inline uint64_t
inetsum_add(uint64_t sum, const void *p, size_t len)
{
#if defined(__x86_64__)
	if (len >= 64 && __builtin_cpu_supports("avx2"))
		return inetsum_avx2(sum, p, len);
#endif
	return inetsum_plain(sum, p, 0, len);
}

/* The 16-bit sum, not complemented, as it stands in memory. */
static inline uint16_t
inetsum_fold(uint64_t sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16 & 0xffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

#endif
