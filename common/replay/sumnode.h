/*
 * sumnode.h - the nodes of a sum tree, which consist of sixteen prefix sums
 *
 * A leaf node contains the sums of its first 1, 2, ... 16 weights.  A node
 * above it contains the sums of its first 0, 1, ... 15 children.  A search for
 * a sum counts the sums in a node that are at most the given sum.  A change of
 * a child adds to all sums after this child.  In both cases no sum depends on
 * another sum, so the processor can process them in parallel.  A node of 32-bit
 * sums fills a cache line, and each of its sums is below 2^31.
 *
 * Each function works on a batch of searches or changes at one level.  Numbers
 * of nodes and leaves have 32 bits.  `x` is the part of the given sum that
 * remains within its node.  Each function has a version in plain C, which is
 * the reference, and a version for AVX2, which computes the same results.  The
 * three functions that change sums also have a version for AVX-512.
 * sumnode_plain(), sumnode_avx2() and sumnode_avx512() return tables of these
 * functions.  sumnode_best() returns the fastest table for this processor.
 *
 * This is a separate file because its functions work on arrays and do not
 * depend on the structure of the tree, which is in sumtree.h.  Only sumtree.h
 * uses these functions, and it chooses a table once for each tree.
 */
#ifndef INNET_REPLAY_SUMNODE_H
#define INNET_REPLAY_SUMNODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "common/base/prefetch.h"

enum {
	SUMNODE_K = 16,
	SUMNODE_LOG = 4,
	SUMNODE_LINE = 64,	/* size, in bytes, of a node of 32-bit sums */
	SUMNODE_AHEAD = 40,	/* number of changes by which the prefetch of
				 * nodes is ahead of the changes */
};

/* The nodes of the level below, which a search prefetches for its next step. */
struct sumnode_next {
	const void *nodes;
	size_t bytes;		/* size of each node, in bytes */
};

/*
 * The top of a tree.  For each of 256 nodes, it contains the sum of all weights
 * before that node.  For each multiple of 2^shift, it also contains the node in
 * which a search for this multiple ends.  Any search therefore needs only one
 * or two steps here.
 */
enum { SUMNODE_TOPS = SUMNODE_K * SUMNODE_K, SUMNODE_GUIDES = 512 };
struct sumnode_top {
	uint64_t before[SUMNODE_TOPS + 4];	/* sums of the top; the last
						 * four are greater than any
						 * x */
	uint8_t guide[SUMNODE_GUIDES + SUMNODE_LINE];
	unsigned shift;
};

/* The functions of one version (plain C, AVX2 or AVX-512). */
struct sumnode_form {
	bool (*within)(const uint64_t *x, size_t n, uint64_t total);
	void (*spread)(uint8_t *guide);
	void (*enter)(const struct sumnode_top *top, const uint64_t *x,
	    uint32_t *node, uint64_t *left, size_t n,
	    struct sumnode_next next);
	void (*down64)(const uint64_t *sums, uint32_t *node, uint64_t *x,
	    size_t n, struct sumnode_next next);
	void (*down32)(const uint32_t *sums, uint32_t *node, uint64_t *x,
	    size_t n, struct sumnode_next next);
	void (*leaf)(const uint32_t *leaves, const uint32_t *node,
	    const uint64_t *x, size_t n, uint32_t *at);
	void (*set)(uint32_t *leaves, const uint32_t *at,
	    const uint32_t *weight, size_t n, int32_t *delta, size_t more,
	    const uint32_t *mid);
	void (*fill)(uint32_t *leaves, const uint32_t *weight, size_t n,
	    int32_t *delta);
	void (*add64)(uint64_t *sums, const uint32_t *at, unsigned shift,
	    const int32_t *delta, size_t n);
	void (*add32)(uint32_t *sums, const uint32_t *at, unsigned shift,
	    const int32_t *delta, size_t n);
};

/* Return the functions in plain C. */
static inline const struct sumnode_form *sumnode_plain(void);

/*
 * Return the functions for AVX2, or NULL if this processor does not have AVX2.
 */
static inline const struct sumnode_form *sumnode_avx2(void);

/*
 * Return the functions for AVX-512, or NULL if this processor does not have
 * AVX-512.
 */
static inline const struct sumnode_form *sumnode_avx512(void);

/* Return the fastest functions that this processor supports. */
static inline const struct sumnode_form *sumnode_best(void);

/* Return the weight of a leaf. */
static inline uint32_t sumnode_weight(const uint32_t *leaves, size_t at);

/* Prefetch the node of a leaf and the node above it. */
static inline void sumnode_prefetch_leaf(const uint32_t *leaves,
    const uint32_t *mid, uint32_t at);

/* implementation */

/* Prefetch a node of the next level. */
__attribute__((always_inline)) static inline void
sumnode_prefetch(struct sumnode_next next, uint32_t node)
{
	const char *p = (const char *)next.nodes + next.bytes * node;

	prefetch_line(p);
	if (next.bytes > SUMNODE_LINE)
		prefetch_line(p + SUMNODE_LINE);
}

__attribute__((always_inline)) static inline void
sumnode_prefetch_leaf(const uint32_t *leaves, const uint32_t *mid, uint32_t at)
{
	prefetch_line_to_write(leaves + at);
	prefetch_line_to_write(mid + (at >> SUMNODE_LOG));
}

/* Replace each guide[i] by the greatest of guide[0] to guide[i]. */
static inline void
sumnode_spread(uint8_t *guide)
{
	uint8_t most = 0;

	for (size_t i = 0; i < SUMNODE_GUIDES; i++)
		guide[i] = most = guide[i] > most ? guide[i] : most;
}

/* Are all n numbers x below the total?  The total must be below 2^63. */
static inline bool
sumnode_within(const uint64_t *x, size_t n, uint64_t total)
{
	bool all = true;

	for (size_t i = 0; i < n; i++)
		all &= x[i] < total;
	return all;
}

/*
 * Search the top.  For each x, set `node` to the node that contains x, and
 * `left` to the remainder of x in that node.
 */
static inline void
sumnode_enter(const struct sumnode_top *top, const uint64_t *x,
    uint32_t *node, uint64_t *left, size_t n, struct sumnode_next next)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t b = top->guide[x[i] >> top->shift];

		while (top->before[b + 1] <= x[i])
			b++;
		node[i] = b;
		left[i] = x[i] - top->before[b];
		sumnode_prefetch(next, b);
	}
}

/*
 * Search one level of 64-bit sums.  For each x, replace `node` by its child
 * that contains x, and x by the remainder in that child.
 */
static inline void
sumnode_down64(const uint64_t *sums, uint32_t *node, uint64_t *x, size_t n,
    struct sumnode_next next)
{
	for (size_t i = 0; i < n; i++) {
		const uint64_t *p = sums + (size_t)node[i] * SUMNODE_K;
		uint32_t k = 0;

		for (uint32_t j = 1; j < SUMNODE_K; j++)
			k += p[j] <= x[i];
		x[i] -= p[k];
		node[i] = node[i] * SUMNODE_K + k;
		sumnode_prefetch(next, node[i]);
	}
}

/* Do the work of sumnode_down64() for one level of 32-bit sums. */
static inline void
sumnode_down32(const uint32_t *sums, uint32_t *node, uint64_t *x, size_t n,
    struct sumnode_next next)
{
	for (size_t i = 0; i < n; i++) {
		const uint32_t *p = sums + (size_t)node[i] * SUMNODE_K;
		const uint32_t y = (uint32_t)x[i];
		uint32_t k = 0;

		for (uint32_t j = 1; j < SUMNODE_K; j++)
			k += p[j] <= y;
		x[i] = y - p[k];
		node[i] = node[i] * SUMNODE_K + k;
		sumnode_prefetch(next, node[i]);
	}
}

static inline uint32_t
sumnode_weight(const uint32_t *leaves, size_t at)
{
	return leaves[at] - (at % SUMNODE_K == 0 ? 0 : leaves[at - 1]);
}

/* For each x, store the leaf that contains x. */
static inline void
sumnode_leaf(const uint32_t *leaves, const uint32_t *node, const uint64_t *x,
    size_t n, uint32_t *at)
{
	for (size_t i = 0; i < n; i++) {
		const uint32_t *p = leaves + (size_t)node[i] * SUMNODE_K;
		uint32_t k = 0;

		for (uint32_t j = 0; j < SUMNODE_K; j++)
			k += p[j] <= (uint32_t)x[i];
		at[i] = node[i] * SUMNODE_K + k;
	}
}

/*
 * Set the weights of n leaves in order, and set `delta` to the change of each
 * weight.  After the n leaves, at[] contains `more` further leaves.  The nodes
 * of these leaves on this level and on the level above are prefetched.
 */
static inline void
sumnode_set(uint32_t *leaves, const uint32_t *at, const uint32_t *weight,
    size_t n, int32_t *delta, size_t more, const uint32_t *mid)
{
	for (size_t i = 0; i < n; i++) {
		if (i + SUMNODE_AHEAD < n + more)
			sumnode_prefetch_leaf(
			    leaves, mid, at[i + SUMNODE_AHEAD]);
		const uint32_t d = weight[i] - sumnode_weight(leaves, at[i]);
		const uint32_t k = at[i] % SUMNODE_K;
		uint32_t *p = leaves + (at[i] - k);

		for (uint32_t j = 0; j < SUMNODE_K; j++)
			p[j] += j >= k ? d : 0;
		delta[i] = (int32_t)d;
	}
}

/*
 * Set the weights of the leaves of n consecutive whole nodes, and set `delta`
 * to the change of the sum of each node.
 */
static inline void
sumnode_fill(uint32_t *leaves, const uint32_t *weight, size_t n,
    int32_t *delta)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t *p = leaves + i * SUMNODE_K, sum = 0;

		delta[i] = (int32_t)-p[SUMNODE_K - 1];
		for (size_t j = 0; j < SUMNODE_K; j++)
			p[j] = sum += weight[i * SUMNODE_K + j];
		delta[i] += (int32_t)sum;
	}
}

/*
 * For each of the n leaves at[i], add delta[i] to the sums of this level that
 * come after child at[i] >> shift.
 */
static inline void
sumnode_add64(uint64_t *sums, const uint32_t *at, unsigned shift,
    const int32_t *delta, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const uint32_t child = at[i] >> shift, k = child % SUMNODE_K;
		const uint64_t d = (uint64_t)(int64_t)delta[i];
		uint64_t *p = sums + (child - k);

		for (uint32_t j = 0; j < SUMNODE_K; j++)
			p[j] += j > k ? d : 0;
	}
}

/* Do the work of sumnode_add64() for 32-bit sums. */
static inline void
sumnode_add32(uint32_t *sums, const uint32_t *at, unsigned shift,
    const int32_t *delta, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const uint32_t child = at[i] >> shift, k = child % SUMNODE_K;
		const uint32_t d = (uint32_t)delta[i];
		uint32_t *p = sums + (child - k);

		for (uint32_t j = 0; j < SUMNODE_K; j++)
			p[j] += j > k ? d : 0;
	}
}

static inline const struct sumnode_form *
sumnode_plain(void)
{
	static const struct sumnode_form plain = {
		.within = sumnode_within,
		.spread = sumnode_spread,
		.enter = sumnode_enter,
		.down64 = sumnode_down64,
		.down32 = sumnode_down32,
		.leaf = sumnode_leaf,
		.set = sumnode_set,
		.fill = sumnode_fill,
		.add64 = sumnode_add64,
		.add32 = sumnode_add32,
	};

	return &plain;
}

#if defined(__x86_64__)
/*
 * The version for AVX2.  The 32-bit sums are below 2^31 and the 64-bit sums are
 * below 2^63, so signed comparisons give the right result.
 */

/* Return the number of sums, out of sixteen 32-bit sums, that are below y. */
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

/* Return the number of sums, out of sixteen 64-bit sums, that are below y. */
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

/*
 * Do the work of sumnode_within(), but test four numbers at a time.  A number
 * fails the test if it is not below the total or if its highest bit is set.
 */
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

/*
 * Return v with each byte replaced by the greatest of `least`, of this byte and
 * of all bytes before it.
 */
__attribute__((target("avx2,popcnt"))) static inline __m256i
sumnode_spread32(__m256i v, __m256i least)
{
	const __m256i last = _mm256_set1_epi8(15);
	__m256i low;

	v = _mm256_max_epu8(v, _mm256_slli_si256(v, 1));
	v = _mm256_max_epu8(v, _mm256_slli_si256(v, 2));
	v = _mm256_max_epu8(v, _mm256_slli_si256(v, 4));
	v = _mm256_max_epu8(v, _mm256_slli_si256(v, 8));
	low = _mm256_permute2x128_si256(v, v, 0x08);	/* the low half is 0,
							 * and the high half is
							 * the low half of v */
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
		sumnode_prefetch(next, b);
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
		sumnode_prefetch(next, node[i]);
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
		sumnode_prefetch(next, node[i]);
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

/*
 * An array with ones from position 16 on.  The sixteen elements from position
 * 16 - k on are a mask for the elements j >= k.
 */
#define SUMNODE_MASK { [SUMNODE_K] = \
	-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1 }

/* Add d to p[j] for j >= k. */
__attribute__((target("avx2,popcnt"))) static inline void
sumnode_raise32_avx2(uint32_t *p, uint32_t k, uint32_t d)
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
sumnode_raise64_avx2(uint64_t *p, uint32_t k, int64_t d)
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

/* Return the prefix sums of eight numbers. */
__attribute__((target("avx2,popcnt"))) static inline __m256i
sumnode_prefix8(__m256i v)
{
	__m256i low;

	v = _mm256_add_epi32(v, _mm256_slli_si256(v, 4));
	v = _mm256_add_epi32(v, _mm256_slli_si256(v, 8));
	low = _mm256_permute2x128_si256(v, v, 0x08);	/* the low half is 0,
							 * and the high half is
							 * the low half of v */
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

/*
 * The version for AVX-512, in which a vector contains a whole node of 32-bit
 * sums.
 */

__attribute__((target("avx512f,avx2,popcnt"))) static inline void
sumnode_raise32_avx512(uint32_t *p, uint32_t k, uint32_t d)
{
	const __m512i v = _mm512_load_si512(p);

	_mm512_store_si512(p, _mm512_mask_add_epi32(v,
	    (__mmask16)(0xffffu << k), v, _mm512_set1_epi32((int)d)));
}

__attribute__((target("avx512f,avx2,popcnt"))) static inline void
sumnode_raise64_avx512(uint64_t *p, uint32_t k, int64_t d)
{
	const uint32_t mask = 0xffffu << k;
	const __m512i v = _mm512_load_si512(p), w = _mm512_load_si512(p + 8);
	const __m512i all = _mm512_set1_epi64(d);

	_mm512_store_si512(p, _mm512_mask_add_epi64(v, (__mmask8)mask, v, all));
	_mm512_store_si512(p + 8, _mm512_mask_add_epi64(w,
	    (__mmask8)(mask >> 8), w, all));
}

/*
 * Define the functions that change sums, in the version `form` for the
 * instructions `features`.
 */
#define SUMNODE_DEFINE_CHANGES(form, features)				\
__attribute__((target(features))) static inline void			\
sumnode_set_##form(uint32_t *leaves, const uint32_t *at,		\
    const uint32_t *weight, size_t n, int32_t *delta, size_t more,	\
    const uint32_t *mid)						\
{									\
	for (size_t i = 0; i < n; i++) {				\
		const uint32_t k = at[i] % SUMNODE_K;			\
		const uint32_t below = leaves[at[i] - (k != 0)] &	\
		    (0 - (uint32_t)(k != 0));				\
		const uint32_t d = weight[i] - (leaves[at[i]] - below);	\
									\
		if (i + SUMNODE_AHEAD < n + more)			\
			sumnode_prefetch_leaf(leaves, mid,		\
			    at[i + SUMNODE_AHEAD]);			\
		sumnode_raise32_##form(leaves + at[i] - k, k, d);	\
		delta[i] = (int32_t)d;					\
	}								\
}									\
									\
__attribute__((target(features))) static inline void			\
sumnode_add32_##form(uint32_t *sums, const uint32_t *at,		\
    unsigned shift, const int32_t *delta, size_t n)			\
{									\
	for (size_t i = 0; i < n; i++) {				\
		const uint32_t child = at[i] >> shift;			\
		const uint32_t k = child % SUMNODE_K;			\
									\
		sumnode_raise32_##form(sums + child - k, k + 1,		\
		    (uint32_t)delta[i]);				\
	}								\
}									\
									\
__attribute__((target(features))) static inline void			\
sumnode_add64_##form(uint64_t *sums, const uint32_t *at,		\
    unsigned shift, const int32_t *delta, size_t n)			\
{									\
	for (size_t i = 0; i < n; i++) {				\
		const uint32_t child = at[i] >> shift;			\
		const uint32_t k = child % SUMNODE_K;			\
									\
		sumnode_raise64_##form(sums + child - k, k + 1,		\
		    delta[i]);						\
	}								\
}

SUMNODE_DEFINE_CHANGES(avx2, "avx2,popcnt")
SUMNODE_DEFINE_CHANGES(avx512, "avx512f,avx2,popcnt")
#endif

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

static inline const struct sumnode_form *
sumnode_avx512(void)
{
#if defined(__x86_64__)
	static const struct sumnode_form avx512 = {
		.within = sumnode_within_avx2,
		.spread = sumnode_spread_avx2,
		.enter = sumnode_enter_avx2,
		.down64 = sumnode_down64_avx2,
		.down32 = sumnode_down32_avx2,
		.leaf = sumnode_leaf_avx2,
		.set = sumnode_set_avx512,
		.fill = sumnode_fill_avx2,
		.add64 = sumnode_add64_avx512,
		.add32 = sumnode_add32_avx512,
	};

	if (sumnode_avx2() != NULL && __builtin_cpu_supports("avx512f"))
		return &avx512;
#endif
	return NULL;
}

static inline const struct sumnode_form *
sumnode_best(void)
{
	if (sumnode_avx512() != NULL)
		return sumnode_avx512();
	return sumnode_avx2() != NULL ? sumnode_avx2() : sumnode_plain();
}

#endif
