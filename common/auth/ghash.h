/*
 * ghash.h - GHASH (SP 800-38D) with carry-less multiplication, eight or sixteen
 * blocks at a time
 *
 * Nettle hashes one block at a time, and most of the time for a tag (tag.h) is
 * spent there.  This file adds the products of eight blocks before one
 * reduction.  Processors with VPCLMULQDQ process sixteen blocks, four in each
 * instruction.  The bytes of the blocks and of the key are reversed, so that
 * their bits are in the order in which the processor multiplies.  Products are
 * reduced as in POLYVAL (RFC 8452, appendix A).
 *
 * If ghash_is_supported() is false, the caller must use Nettle instead.
 *
 * This is a separate file because it is arithmetic with intrinsics and has its
 * own test vectors, independent of the rules of tags.
 */
#ifndef INNET_AUTH_GHASH_H
#define INNET_AUTH_GHASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { GHASH_BLOCK = 16, GHASH_TOGETHER = 8, GHASH_POWERS = 16 };

struct ghash_key {
	uint8_t h[GHASH_POWERS][GHASH_BLOCK];	/* powers of the key, the
						 * highest power first */
	bool fours;		/* multiply four blocks in one instruction */
};

/* Can this processor run the functions below? */
static inline bool ghash_is_supported(void);

/* Compute the powers of the key h, which is an encrypted block of zeros. */
static inline void ghash_key_set(struct ghash_key *key,
    const uint8_t h[GHASH_BLOCK]);

/*
 * Hash `blocks` whole blocks at `head` and then the len bytes at p.  All these
 * bytes are authenticated data.
 */
static inline void ghash(const struct ghash_key *key, const uint8_t *head,
    size_t blocks, const uint8_t *p, size_t len, uint8_t hash[GHASH_BLOCK]);

/* implementation */

#if defined(__x86_64__)
#include <immintrin.h>

#define GHASH_TARGET __attribute__((target("pclmul,ssse3")))
#define GHASH_INLINE \
	__attribute__((target("pclmul,ssse3"), always_inline)) static inline

#define GHASH_FOURS __attribute__((target("pclmul,ssse3,avx512f,avx512bw," \
	"avx512vl,vpclmulqdq")))

static inline bool
ghash_is_supported(void)
{
	return __builtin_cpu_supports("pclmul") != 0 &&
	    __builtin_cpu_supports("ssse3") != 0;
}

static inline bool
ghash_has_fours(void)
{
	return ghash_is_supported() &&
	       __builtin_cpu_supports("avx512bw") != 0 &&
	       __builtin_cpu_supports("avx512vl") != 0 &&
	       __builtin_cpu_supports("vpclmulqdq") != 0;
}

/* A product of 256 bits, or the sum of several products. */
struct ghash_wide {
	__m128i low, middle, high;	/* `middle` is the middle term of
					 * Karatsuba's method */
};

GHASH_INLINE __m128i
ghash_reverse(__m128i x)
{
	return _mm_shuffle_epi8(x, _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
	    10, 11, 12, 13, 14, 15));
}

/* Add the product of a and b to w. */
GHASH_INLINE void
ghash_multiply_add(struct ghash_wide *w, __m128i a, __m128i b)
{
	w->low = _mm_xor_si128(w->low, _mm_clmulepi64_si128(a, b, 0x00));
	w->high = _mm_xor_si128(w->high, _mm_clmulepi64_si128(a, b, 0x11));
	w->middle = _mm_xor_si128(w->middle, _mm_clmulepi64_si128(
	    _mm_xor_si128(a, _mm_shuffle_epi32(a, 0x4e)),
	    _mm_xor_si128(b, _mm_shuffle_epi32(b, 0x4e)), 0x00));
}

/* Return w / x^128, modulo x^128 + x^127 + x^126 + x^121 + 1. */
GHASH_INLINE __m128i
ghash_reduce(const struct ghash_wide *w)
{
	const __m128i poly = _mm_set_epi64x((long long)0xc200000000000000u,
	    0);
	const __m128i middle = _mm_xor_si128(w->middle, _mm_xor_si128(w->low,
	    w->high));
	__m128i low = _mm_xor_si128(w->low, _mm_slli_si128(middle, 8));
	const __m128i high = _mm_xor_si128(w->high, _mm_srli_si128(middle, 8));

	for (int i = 0; i < 2; i++)
		low = _mm_xor_si128(_mm_shuffle_epi32(low, 0x4e),
		    _mm_clmulepi64_si128(low, poly, 0x10));
	return _mm_xor_si128(low, high);
}

GHASH_TARGET static inline void
ghash_key_set(struct ghash_key *key, const uint8_t h[GHASH_BLOCK])
{
	const struct ghash_wide none = { _mm_setzero_si128(),
	    _mm_setzero_si128(), _mm_setzero_si128() };
	uint64_t low = 0, high = 0, carry;
	__m128i first, power;

	for (int i = 0; i < 8; i++) {
		high = high << 8 | h[i];
		low = low << 8 | h[8 + i];
	}
	carry = 0 - (high >> 63);		/* multiply by x */
	high = (high << 1 | low >> 63) ^ (carry & 0xc200000000000000u);
	low = low << 1 ^ (carry & 1);
	first = power = _mm_set_epi64x((long long)high, (long long)low);
	key->fours = ghash_has_fours();
	for (int i = GHASH_POWERS - 1; i >= 0; i--) {
		struct ghash_wide w = none;

		_mm_storeu_si128((__m128i *)(void *)key->h[i], power);
		ghash_multiply_add(&w, power, first);
		power = ghash_reduce(&w);
	}
}

/* Return the sum of the four lanes. */
GHASH_FOURS static inline __m128i
ghash_fold(__m512i x)
{
	const __m256i two = _mm256_xor_si256(_mm512_castsi512_si256(x),
	    _mm512_extracti64x4_epi64(x, 1));

	return _mm_xor_si128(_mm256_castsi256_si128(two),
	    _mm256_extracti128_si256(two, 1));
}

/*
 * Do the work of ghash_blocks() for as many blocks as form whole groups of
 * four, and store the number of remaining blocks in *n.  The middle terms are
 * computed directly, without Karatsuba's method.
 */
GHASH_FOURS static inline __m128i
ghash_fours(const struct ghash_key *key, __m128i y, const uint8_t *p, size_t *n)
{
	const __m512i turn = _mm512_broadcast_i32x4(_mm_set_epi8(0, 1, 2, 3, 4,
	    5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));

	while (*n >= 4) {
		const size_t some = *n < GHASH_POWERS ? *n & ~(size_t)3 :
		    GHASH_POWERS;
		const uint8_t *h = key->h[GHASH_POWERS - some];
		__m512i low = _mm512_setzero_si512(), middle = low, high = low;
		struct ghash_wide w;

		for (size_t i = 0; i < some * GHASH_BLOCK; i += 64) {
			__m512i x = _mm512_shuffle_epi8(_mm512_loadu_si512(p +
			    i), turn);
			const __m512i k = _mm512_loadu_si512(h + i);

			if (i == 0)
				x = _mm512_xor_si512(x,
				    _mm512_zextsi128_si512(y));
			low = _mm512_xor_si512(low,
			    _mm512_clmulepi64_epi128(x, k, 0x00));
			high = _mm512_xor_si512(high,
			    _mm512_clmulepi64_epi128(x, k, 0x11));
			middle = _mm512_ternarylogic_epi64(middle,
			    _mm512_clmulepi64_epi128(x, k, 0x01),
			    _mm512_clmulepi64_epi128(x, k, 0x10), 0x96);
		}
		w.low = ghash_fold(low);
		w.high = ghash_fold(high);
		w.middle = _mm_xor_si128(ghash_fold(middle),
		    _mm_xor_si128(w.low, w.high));
		y = ghash_reduce(&w);
		p += some * GHASH_BLOCK;
		*n -= some;
	}
	return y;
}

/* Hash n whole blocks at p into y, which is byte-reversed. */
GHASH_TARGET static inline __m128i
ghash_blocks(const struct ghash_key *key, __m128i y, const uint8_t *p, size_t n)
{
	if (key->fours && n >= 4) {
		size_t left = n;

		y = ghash_fours(key, y, p, &left);
		p += (n - left) * GHASH_BLOCK;
		n = left;
	}
	while (n > 0) {
		const size_t some = n < GHASH_TOGETHER ? n : GHASH_TOGETHER;
		struct ghash_wide w = { _mm_setzero_si128(),
		    _mm_setzero_si128(), _mm_setzero_si128() };

		for (size_t i = 0; i < some; i++) {
			const __m128i x = ghash_reverse(_mm_loadu_si128(
			    (const __m128i *)(const void *)(p +
			    i * GHASH_BLOCK)));

			ghash_multiply_add(&w, i == 0 ? _mm_xor_si128(x, y) : x,
			    _mm_loadu_si128((const __m128i *)(const void *)
			    key->h[GHASH_POWERS - some + i]));
		}
		y = ghash_reduce(&w);
		p += some * GHASH_BLOCK;
		n -= some;
	}
	return y;
}

GHASH_TARGET static inline void
ghash(const struct ghash_key *key, const uint8_t *head, size_t blocks,
    const uint8_t *p, size_t len, uint8_t hash[GHASH_BLOCK])
{
	const uint64_t bits = 8 * (blocks * GHASH_BLOCK + len);
	const size_t whole = len / GHASH_BLOCK, rest = len % GHASH_BLOCK;
	uint8_t last[2 * GHASH_BLOCK] = { 0 }, *end = last;
	__m128i y = ghash_blocks(key, _mm_setzero_si128(), head, blocks);

	y = ghash_blocks(key, y, p, whole);
	if (rest > 0) {
		memcpy(last, p + whole * GHASH_BLOCK, rest);
		end += GHASH_BLOCK;
	}
	for (int i = 0; i < 8; i++)
		end[i] = (uint8_t)(bits >> (56 - 8 * i));
	y = ghash_blocks(key, y, last, rest > 0 ? 2 : 1);
	_mm_storeu_si128((__m128i *)(void *)hash, ghash_reverse(y));
}

#else

static inline bool
ghash_is_supported(void)
{
	return false;
}

static inline void
ghash_key_set(struct ghash_key *key, const uint8_t h[GHASH_BLOCK])
{
	memcpy(key->h[0], h, GHASH_BLOCK);
}

/* This is never called, because ghash_is_supported() is false. */
static inline void
ghash(const struct ghash_key *key, const uint8_t *head, size_t blocks,
    const uint8_t *p, size_t len, uint8_t hash[GHASH_BLOCK])
{
	(void)head;
	(void)blocks;
	(void)p;
	(void)len;
	memcpy(hash, key->h[0], GHASH_BLOCK);
}

#endif

#endif
