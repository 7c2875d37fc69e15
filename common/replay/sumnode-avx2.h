/*
 * sumnode-avx2.h - sumnode.h's functions for AVX2, with the same results
 *
 * Sums are below 2^31 and 2^63, so that signed comparisons are right.
 */
#ifndef INNET_REPLAY_SUMNODE_AVX2_H
#define INNET_REPLAY_SUMNODE_AVX2_H

#include <stddef.h>
#include <stdint.h>

#include "common/replay/sumnode.h"

#if defined(__x86_64__)
#include <immintrin.h>

/* How many of sixteen sums are below y. */
__attribute__((target("avx2,popcnt"))) static inline uint32_t
sumnode_below32(const uint32_t *p, uint32_t y)
{
	const __m256i v = _mm256_set1_epi32((int)y);
	const __m256i *q = (const void *)p;
	const __m256i m = _mm256_packs_epi32(
	    _mm256_cmpgt_epi32(v, _mm256_load_si256(q)),
	    _mm256_cmpgt_epi32(v, _mm256_load_si256(q + 1)));

	return (uint32_t)__builtin_popcount(
	    (unsigned)_mm256_movemask_epi8(m)) / 2;
}

__attribute__((target("avx2,popcnt"))) static inline uint32_t
sumnode_below64(const uint64_t *p, uint64_t y)
{
	const __m256i v = _mm256_set1_epi64x((long long)y);
	const __m256i *q = (const void *)p;
	const __m256i a = _mm256_packs_epi32(
	    _mm256_cmpgt_epi64(v, _mm256_load_si256(q)),
	    _mm256_cmpgt_epi64(v, _mm256_load_si256(q + 1)));
	const __m256i b = _mm256_packs_epi32(
	    _mm256_cmpgt_epi64(v, _mm256_load_si256(q + 2)),
	    _mm256_cmpgt_epi64(v, _mm256_load_si256(q + 3)));

	return (uint32_t)__builtin_popcount((unsigned)_mm256_movemask_epi8(
	    _mm256_packs_epi16(a, b))) / 2;
}

/* Four at a time: what is not below the total, or has its highest bit. */
__attribute__((target("avx2,popcnt"))) static inline bool
sumnode_within_avx2(const uint64_t *x, size_t n, uint64_t total)
{
	const __m256i most = _mm256_set1_epi64x((long long)total - 1);
	__m256i out = _mm256_setzero_si256();
	size_t i;

	for (i = 0; i + 4 <= n; i += 4) {
		const __m256i v = _mm256_loadu_si256((const void *)(x + i));

		out = _mm256_or_si256(out, v);
		out = _mm256_or_si256(out, _mm256_cmpgt_epi64(v, most));
	}
	return _mm256_movemask_pd(_mm256_castsi256_pd(out)) == 0 &&
	    sumnode_within(x + i, n - i, total);
}

/* v, each byte's left neighbours' greatest taken in; least is the floor. */
__attribute__((target("avx2,popcnt"))) static inline __m256i
sumnode_spread32(__m256i v, __m256i least)
{
	const __m256i last = _mm256_set1_epi8(15);
	__m256i low;

	v = _mm256_max_epu8(v, _mm256_slli_si256(v, 1));
	v = _mm256_max_epu8(v, _mm256_slli_si256(v, 2));
	v = _mm256_max_epu8(v, _mm256_slli_si256(v, 4));
	v = _mm256_max_epu8(v, _mm256_slli_si256(v, 8));
	low = _mm256_permute2x128_si256(v, v, 0x08);	/* 0, v's low */
	v = _mm256_max_epu8(v, _mm256_shuffle_epi8(low, last));
	return _mm256_max_epu8(v, least);
}

__attribute__((target("avx2,popcnt"))) static inline void
sumnode_spread_avx2(uint8_t *guide)
{
	const __m256i last = _mm256_set1_epi8(15);
	__m256i v, most = _mm256_setzero_si256();

	for (size_t i = 0; i < SUMNODE_GUIDES; i += 32) {
		v = _mm256_loadu_si256((const void *)(guide + i));
		v = sumnode_spread32(v, most);
		_mm256_storeu_si256((void *)(guide + i), v);
		v = _mm256_permute2x128_si256(v, v, 0x11);
		most = _mm256_shuffle_epi8(v, last);
	}
}

__attribute__((target("avx2,popcnt"))) static inline void
sumnode_enter_avx2(const struct sumnode_top *top, const uint64_t *x,
    uint32_t *node, uint64_t *left, size_t n, struct sumnode_next next)
{
	for (size_t i = 0; i < n; i++) {
		const __m256i v = _mm256_set1_epi64x((long long)x[i]);
		uint32_t b = top->guide[x[i] >> top->shift];
		int above;

		while ((above = _mm256_movemask_pd(_mm256_castsi256_pd(
		    _mm256_cmpgt_epi64(_mm256_loadu_si256(
		    (const void *)&top->before[b + 1]), v)))) == 0)
			b += 4;
		b += (uint32_t)__builtin_ctz((unsigned)above);
		node[i] = b;
		left[i] = x[i] - top->before[b];
		sumnode_fetch(next, b);
	}
}

__attribute__((target("avx2,popcnt"))) static inline void
sumnode_down64_avx2(const uint64_t *sums, uint32_t *node, uint64_t *x,
    size_t n, struct sumnode_next next)
{
	for (size_t i = 0; i < n; i++) {
		const uint64_t *p = sums + (size_t)node[i] * SUMNODE_K;
		const uint32_t k = sumnode_below64(p, x[i] + 1) - 1;

		x[i] -= p[k];
		node[i] = node[i] * SUMNODE_K + k;
		sumnode_fetch(next, node[i]);
	}
}

__attribute__((target("avx2,popcnt"))) static inline void
sumnode_down32_avx2(const uint32_t *sums, uint32_t *node, uint64_t *x,
    size_t n, struct sumnode_next next)
{
	for (size_t i = 0; i < n; i++) {
		const uint32_t *p = sums + (size_t)node[i] * SUMNODE_K;
		const uint32_t k = sumnode_below32(p, (uint32_t)x[i] + 1) - 1;

		x[i] -= p[k];
		node[i] = node[i] * SUMNODE_K + k;
		sumnode_fetch(next, node[i]);
	}
}

__attribute__((target("avx2,popcnt"))) static inline void
sumnode_leaf_avx2(const uint32_t *leaves, const uint32_t *node,
    const uint64_t *x, size_t n, uint32_t *at)
{
	for (size_t i = 0; i < n; i++)
		at[i] = node[i] * SUMNODE_K + sumnode_below32(leaves +
		    (size_t)node[i] * SUMNODE_K, (uint32_t)x[i] + 1);
}

/* All ones from the 16th on: from 16 - k on, a mask for j >= k. */
#define SUMNODE_MASK { [SUMNODE_K] = \
	-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1 }

/* p[j] += d for j >= k. */
__attribute__((target("avx2,popcnt"))) static inline void
sumnode_raise32(uint32_t *p, uint32_t k, uint32_t d)
{
	static const int32_t ones[2 * SUMNODE_K] = SUMNODE_MASK;
	const __m256i *mask = (const void *)(ones + SUMNODE_K - k);
	const __m256i v = _mm256_set1_epi32((int)d);
	__m256i *q = (void *)p;

	for (int j = 0; j < 2; j++)
		_mm256_store_si256(q + j, _mm256_add_epi32(
		    _mm256_load_si256(q + j), _mm256_and_si256(v,
		    _mm256_loadu_si256(mask + j))));
}

__attribute__((target("avx2,popcnt"))) static inline void
sumnode_raise64(uint64_t *p, uint32_t k, int64_t d)
{
	static const int64_t ones[2 * SUMNODE_K] = SUMNODE_MASK;
	const __m256i *mask = (const void *)(ones + SUMNODE_K - k);
	const __m256i v = _mm256_set1_epi64x(d);
	__m256i *q = (void *)p;

	for (int j = 0; j < 4; j++)
		_mm256_store_si256(q + j, _mm256_add_epi64(
		    _mm256_load_si256(q + j), _mm256_and_si256(v,
		    _mm256_loadu_si256(mask + j))));
}

__attribute__((target("avx2,popcnt"))) static inline void
sumnode_set_avx2(uint32_t *leaves, const uint32_t *at,
    const uint32_t *weight, size_t n, int32_t *delta, size_t more,
    const uint32_t *mid)
{
	for (size_t i = 0; i < n; i++) {
		const uint32_t k = at[i] % SUMNODE_K;
		const uint32_t below = leaves[at[i] - (k != 0)] &
		    (0 - (uint32_t)(k != 0));
		const uint32_t d = weight[i] - (leaves[at[i]] - below);

		if (i + SUMNODE_AHEAD < n + more)
			sumnode_fetch_leaf(leaves, mid, at[i + SUMNODE_AHEAD]);
		sumnode_raise32(leaves + at[i] - k, k, d);
		delta[i] = (int32_t)d;
	}
}

__attribute__((target("avx2,popcnt"))) static inline void
sumnode_add32_avx2(uint32_t *sums, const uint32_t *at, unsigned shift,
    const int32_t *delta, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const uint32_t child = at[i] >> shift, k = child % SUMNODE_K;

		sumnode_raise32(sums + child - k, k + 1, (uint32_t)delta[i]);
	}
}

__attribute__((target("avx2,popcnt"))) static inline void
sumnode_add64_avx2(uint64_t *sums, const uint32_t *at, unsigned shift,
    const int32_t *delta, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const uint32_t child = at[i] >> shift, k = child % SUMNODE_K;

		sumnode_raise64(sums + child - k, k + 1, delta[i]);
	}
}

/* Prefix sums of eight. */
__attribute__((target("avx2,popcnt"))) static inline __m256i
sumnode_prefix8(__m256i v)
{
	__m256i low;

	v = _mm256_add_epi32(v, _mm256_slli_si256(v, 4));
	v = _mm256_add_epi32(v, _mm256_slli_si256(v, 8));
	low = _mm256_permute2x128_si256(v, v, 0x08);	/* 0, v's low */
	return _mm256_add_epi32(v, _mm256_shuffle_epi32(low, 0xff));
}

__attribute__((target("avx2,popcnt"))) static inline void
sumnode_fill_avx2(uint32_t *leaves, const uint32_t *weight, size_t n,
    int32_t *delta)
{
	const __m256i last = _mm256_set1_epi32(7);

	for (size_t i = 0; i < n; i++) {
		const __m256i *w = (const void *)(weight + i * SUMNODE_K);
		uint32_t *p = leaves + i * SUMNODE_K;
		const uint32_t old = p[SUMNODE_K - 1];
		const __m256i a = sumnode_prefix8(_mm256_loadu_si256(w));
		const __m256i b = sumnode_prefix8(_mm256_loadu_si256(w + 1));

		_mm256_store_si256((void *)p, a);
		_mm256_store_si256((void *)(p + 8), _mm256_add_epi32(b,
		    _mm256_permutevar8x32_epi32(a, last)));
		delta[i] = (int32_t)(p[SUMNODE_K - 1] - old);
	}
}
#endif

/* This processor's form, or NULL. */
static inline const struct sumnode_form *
sumnode_avx2(void)
{
#if defined(__x86_64__)
	static const struct sumnode_form avx2 = {
		.within = sumnode_within_avx2,
		.spread = sumnode_spread_avx2,
		.enter = sumnode_enter_avx2,
		.down64 = sumnode_down64_avx2,
		.down32 = sumnode_down32_avx2,
		.leaf = sumnode_leaf_avx2,
		.set = sumnode_set_avx2,
		.fill = sumnode_fill_avx2,
		.add64 = sumnode_add64_avx2,
		.add32 = sumnode_add32_avx2,
	};

	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt"))
		return &avx2;
#endif
	return NULL;
}

#endif
