/*
 * reduce.h - combine the contributions to one segment into one result
 *
 * These are the five kinds of --reduce, for the slots of an aggregator:
 *
 * 	sum	add each contribution in binary32 when it arrives
 * 	ordered	keep the contributions, then add them in binary32 in an order
 * 		that the caller gives
 * 	fixed	add round(x 2^fixed_bits), ties to even, as 64-bit integers;
 * 		the sum is rounded once to binary32
 * 	median	keep the contributions, then compute the median of each
 * 		element times the number of contributions
 * 	trimmed	keep the contributions, then compute the mean of each element
 * 		without the trim smallest and largest values (robust_mean()),
 * 		times the number of contributions
 *
 * A slot consists of a result and of working memory.  The result is n
 * little-endian binary32 numbers at any address.  The working memory has
 * reduce_work_bytes() bytes and must be 32-byte aligned.  The caller owns both
 * and need not clear them.  Call reduce_first(), then reduce_add() for rows 1,
 * 2 and so on, then reduce_finish().  The result is undefined before
 * reduce_finish(), except with `sum`. x and out must not overlap.
 *
 * NaN and infinities are added as IEEE 754 requires, except with `fixed`.  With
 * `fixed`, an element of the result is NaN if one of its terms is NaN or
 * infinite.  Contributions and sums saturate at the limits of int64.  The order
 * of addition matters only if a sum saturates.  Scaling back to binary32 is
 * exact because fixed_bits is 1 to 62, so no result is subnormal.
 *
 * Median and trimmed mean (robust_*) sort the k values of each element, drop
 * the same number of values at both ends and average the rest.  The order is
 * total: -0 comes before +0, and NaNs of either sign come after +infinity.  The
 * remaining values are added in that order in binary64.  The sum is multiplied
 * by scale / m, where m is the number of remaining values (also in binary64),
 * and the product is rounded to binary32.  If the result is a NaN, its bits are
 * 7fc00000.  So every bit of the result depends on the values alone.  It does
 * not depend on the order of the vectors or on the use of AVX2, which is chosen
 * at run time for k <= 32.  Vectors are little-endian binary32 at any address,
 * and out may be one of them.  k is 1 to 65535; if k is above 32 the function
 * needs 256 KiB of stack.
 */
#ifndef INNET_ISWITCH_REDUCE_H
#define INNET_ISWITCH_REDUCE_H

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/base/num.h"
#include "common/base/vec.h"

#define REDUCE_FIXED_MAX INT64_MAX	/* the largest sum; the smallest is its
					 * negative */
#define REDUCE_FIXED_NAN INT64_MIN	/* sum of an element if one of its terms
					 * is NaN or infinite */

enum { REDUCE_BITS_MAX = 62 };

enum reduce_kind {
	REDUCE_SUM, REDUCE_ORDERED, REDUCE_FIXED, REDUCE_MEDIAN, REDUCE_TRIMMED
};

struct reduce {
	enum reduce_kind kind;
	uint32_t trim;		/* kind `trimmed`: number of smallest values,
				 * and of largest values, that are dropped */
	uint32_t fixed_bits;	/* kind `fixed`: number of bits after the binary
				 * point, 1 to REDUCE_BITS_MAX */
};

struct reduce_count {
	uint64_t nonfinite;	/* number of contributions that contain NaN or
				 * infinity */
	uint64_t saturated;	/* number of elements of contributions or sums
				 * that were saturated */
};

enum {
	ROBUST_FEW = 32, ROBUST_MANY = 65535,	/* limits on the number of
						 * rows */
	ROBUST_PAIRS = 191,	/* number of pairs in the sorting network for 32
				 * keys */
	ROBUST_NAN = 0x7fc00000
};

struct robust_rows {
	const uint8_t *const *row;	/* pointers to the vectors; NULL: the
					 * vectors begin at `base`, one every
					 * `stride` bytes */
	const uint8_t *base;		/* address of the first vector if `row`
					 * is NULL */
	size_t stride;			/* number of bytes from the start of one
					 * vector to the start of the next */
	size_t k;			/* number of vectors */
};

/*
 * Parse "sum", "ordered", "fixed", "median" or "trimmed:2" into *r.  Returns
 * NULL.  If s is not valid, the function returns an error message and leaves *r
 * unchanged.  The field fixed_bits does not change, except that 0 becomes 24.
 */
static inline const char *reduce_parse(const char *s, struct reduce *r);

/* Return the name of a kind, as --reduce has it. */
static inline const char *reduce_name(enum reduce_kind kind);

/*
 * Return the smallest number of contributions that is enough for a result, if
 * there are at most `all` contributions.  The kind trimmed:b tolerates b wrong
 * contributions among 2b + 1.  A median tolerates one wrong contribution among
 * three, if there are three.
 */
static inline uint32_t reduce_needs(const struct reduce *r, uint32_t all);

/*
 * Return the number of bytes of working memory of a slot with n elements and at
 * most `rows` contributions.
 */
static inline size_t reduce_work_bytes(const struct reduce *r, uint32_t rows,
    uint32_t n);

/* Begin a slot with its first contribution, row 0. */
static inline void reduce_first(const struct reduce *r, uint8_t *out,
    uint8_t *work, uint32_t n, const uint8_t *x, struct reduce_count *c);

/* Add the contribution with number `row`.  The second contribution is row 1. */
static inline void reduce_add(const struct reduce *r, uint8_t *out,
    uint8_t *work, uint32_t row, uint32_t n, const uint8_t *x,
    struct reduce_count *c);

/*
 * Compute the result from one or more rows, which together contain the vectors
 * of `contributions` workers.  `order` is a permutation of the row numbers.
 * Only the kind `ordered` uses it.
 */
static inline void reduce_finish(const struct reduce *r, uint8_t *out,
    const uint8_t *work, uint32_t rows, const uint32_t order[], uint32_t n,
    uint32_t contributions, struct reduce_count *c);

/*
 * Set out[i] to `scale` times the median of row[0..k-1][i].  If k is even, the
 * median is the mean of the middle two values.
 */
static inline void robust_median(uint8_t *out, const uint8_t *const row[],
    size_t k, size_t n, float scale);

/*
 * Set out[i] to `scale` times the mean of row[0..k-1][i] without the `trim`
 * smallest and the `trim` largest values.  If no value would be left, use the
 * median instead of the mean.
 */
static inline void robust_trimmed(uint8_t *out, const uint8_t *const row[],
    size_t k, size_t n, size_t trim, float scale);

/*
 * Do the work of robust_trimmed() for the vectors that r describes, each of
 * which has n elements.
 */
static inline void robust_mean(uint8_t *out, const struct robust_rows *r,
    size_t n, size_t trim, float scale);

/*
 * Compute elements `from` to n - 1 of the result of robust_mean() in plain C.
 * This is the reference implementation.  `key` must have room for all rows.
 */
static inline void robust_mean_plain(uint8_t *out, const struct robust_rows *r,
    size_t from, size_t n, size_t trim, double weight, int32_t *key);

/*
 * Add elements `from` to n - 1 of x to `sum` for the kind `fixed`, in plain C.
 * This is the reference implementation.  Returns whether all elements were
 * finite.
 */
static inline bool reduce_fixed_plain(int64_t *sum, const uint8_t *x,
    size_t from, size_t n, bool first, double times, struct reduce_count *c);

/* implementation */

static inline const uint8_t *
robust_row(const struct robust_rows *r, size_t j)
{
	return r->row != NULL ? r->row[j] : r->base + j * r->stride;
}

/* Return the sort key of the element with bits u. */
static inline int32_t
robust_key(uint32_t u)
{
	if ((u & 0x7fffffff) > 0x7f800000)
		return ROBUST_NAN;
	return (int32_t)(u ^ -(u >> 31) >> 1);
}

/* Return the element with the given sort key. */
static inline float
robust_value(int32_t key)
{
	uint32_t u = (uint32_t)key;
	float f;

	u ^= -(u >> 31) >> 1;
	memcpy(&f, &u, sizeof(f));
	return f;
}

/* Sort k keys with Shell's sort, which is insertion sort for small k. */
static inline void
robust_sort(int32_t *key, size_t k)
{
	size_t gap = 1;

	while (gap < k / 9)
		gap = 3 * gap + 1;
	for (; gap > 0; gap /= 3) {
		for (size_t i = gap; i < k; i++) {
			const int32_t x = key[i];
			size_t j = i;

			for (; j >= gap && key[j - gap] > x; j -= gap)
				key[j] = key[j - gap];
			key[j] = x;
		}
	}
}

static inline void
robust_mean_plain(uint8_t *out, const struct robust_rows *r, size_t from,
    size_t n, size_t trim, double weight, int32_t *key)
{
	for (size_t i = from; i < n; i++) {
		double sum;
		float f;

		for (size_t j = 0; j < r->k; j++)
			key[j] = robust_key(vec_bits(robust_row(r, j), i));
		robust_sort(key, r->k);
		sum = robust_value(key[trim]);
		for (size_t j = trim + 1; j < r->k - trim; j++)
			sum += robust_value(key[j]);
		f = (float)(sum * weight);
		vec_set(out, i, isnan(f) ? robust_value(ROBUST_NAN) : f);
	}
}

/* Compute all n elements of the result of at most ROBUST_FEW vectors. */
static inline void
robust_mean_few(uint8_t *out, const struct robust_rows *r, size_t n,
    size_t trim, double weight)
{
	int32_t key[ROBUST_FEW];

	robust_mean_plain(out, r, 0, n, trim, weight, key);
}

#ifdef VEC_AVX2
/*
 * The pairs of positions that Batcher's merge exchange (Knuth 5.2.2 M) puts in
 * order, one after another.
 */
struct robust_net {
	uint8_t lo[ROBUST_PAIRS], hi[ROBUST_PAIRS];
	unsigned first, pairs;	/* the sorting network consists of pairs `first`
				 * to `pairs` - 1 */
};

static inline void
robust_make_net(struct robust_net *net, size_t k)
{
	size_t top = 1, r, d;

	net->pairs = 0;
	while (2 * top < k)
		top *= 2;
	for (size_t p = top; p > 0; p /= 2) {
		r = 0;
		d = p;
		for (size_t q = top;; q /= 2) {
			for (size_t i = 0; i + d < k; i++) {
				if ((i & p) != r)
					continue;
				net->lo[net->pairs] = (uint8_t)i;
				net->hi[net->pairs++] = (uint8_t)(i + d);
			}
			if (q == p)
				break;
			d = q - p;
			r = p;
		}
	}
}

/*
 * Remove the pairs that do not affect the keys at positions `trim` to k - 1 -
 * `trim`.
 */
static inline void
robust_prune_net(struct robust_net *net, size_t k, size_t trim)
{
	uint64_t live = ((uint64_t)1 << (k - trim)) - ((uint64_t)1 << trim);
	unsigned to = net->pairs;

	for (unsigned c = net->pairs; c-- > 0;) {
		const uint64_t pair = (uint64_t)1 << net->lo[c] |
		    (uint64_t)1 << net->hi[c];

		if ((live & pair) == 0)
			continue;
		live |= pair;
		to--;
		net->lo[to] = net->lo[c];
		net->hi[to] = net->hi[c];
	}
	net->first = to;
}

__attribute__((target("avx2"))) static inline __m256i
robust_flip8(__m256i v)
{
	return _mm256_xor_si256(v,
	    _mm256_srli_epi32(_mm256_srai_epi32(v, 31), 1));
}

__attribute__((target("avx2"))) static inline __m256i
robust_key8(__m256i u)
{
	const __m256i most = _mm256_and_si256(u,
	    _mm256_set1_epi32(0x7fffffff));

	return _mm256_blendv_epi8(robust_flip8(u),
	    _mm256_set1_epi32(ROBUST_NAN),
	    _mm256_cmpgt_epi32(most, _mm256_set1_epi32(0x7f800000)));
}

/*
 * Multiply four sums by weight and round the products to binary32.  Replace
 * each NaN by the NaN with the bits 7fc00000.
 */
__attribute__((target("avx2"))) static inline __m128
robust_round4(__m256d sum, __m256d weight)
{
	const __m128 f = _mm256_cvtpd_ps(_mm256_mul_pd(sum, weight));
	const __m128i nan = _mm_set1_epi32(ROBUST_NAN);

	return _mm_blendv_ps(f, _mm_castsi128_ps(nan), _mm_cmpunord_ps(f, f));
}

/*
 * Add n keys of eight elements in order, starting at key[0], and multiply the
 * sums by weight.
 */
__attribute__((target("avx2"))) static inline __m256
robust_mean8(const __m256i (*key)[4], size_t lane, size_t n, double weight)
{
	const __m256d w = _mm256_set1_pd(weight);
	__m256 v = _mm256_castsi256_ps(robust_flip8(key[0][lane]));
	__m256d lo = _mm256_cvtps_pd(_mm256_castps256_ps128(v));
	__m256d hi = _mm256_cvtps_pd(_mm256_extractf128_ps(v, 1));

	for (size_t j = 1; j < n; j++) {
		v = _mm256_castsi256_ps(robust_flip8(key[j][lane]));
		lo = _mm256_add_pd(lo,
		    _mm256_cvtps_pd(_mm256_castps256_ps128(v)));
		hi = _mm256_add_pd(hi,
		    _mm256_cvtps_pd(_mm256_extractf128_ps(v, 1)));
	}
	return _mm256_set_m128(robust_round4(hi, w), robust_round4(lo, w));
}

__attribute__((target("avx2"))) static inline void
robust_order8(__m256i *lo, __m256i *hi)
{
	const __m256i a = *lo, b = *hi;

	*lo = _mm256_min_epi32(a, b);
	*hi = _mm256_max_epi32(a, b);
}

/*
 * Compute a block of 32 elements, so that the processor has other work to do
 * between the store of a key and its next load.
 */
__attribute__((target("avx2"))) static inline void
robust_mean_block(uint8_t *out, const uint8_t *const row[], size_t at, size_t k,
    size_t trim, double weight, const struct robust_net *net)
{
	__m256i key[ROBUST_FEW][4];

	for (size_t j = 0; j < k; j++)
		for (size_t v = 0; v < 4; v++)
			key[j][v] = robust_key8(_mm256_loadu_si256(
			    (const void *)(row[j] + at + 32 * v)));
	for (unsigned c = net->first; c < net->pairs; c++) {
		__m256i *lo = key[net->lo[c]], *hi = key[net->hi[c]];

		robust_order8(lo, hi);
		robust_order8(lo + 1, hi + 1);
		robust_order8(lo + 2, hi + 2);
		robust_order8(lo + 3, hi + 3);
	}
	for (size_t v = 0; v < 4; v++)
		_mm256_storeu_ps((void *)(out + 32 * v), robust_mean8(
		    (const __m256i (*)[4])key + trim, v, k - 2 * trim,
		    weight));
}

/*
 * Compute the elements in blocks of 32.  Copy the remaining elements to buffers
 * in which 32 elements can be read and written.
 */
__attribute__((target("avx2"))) static inline void
robust_mean_avx2(uint8_t *out, const struct robust_rows *r, size_t n,
    size_t trim, double weight)
{
	uint8_t rest[ROBUST_FEW][128], last[128];
	const uint8_t *row[ROBUST_FEW];
	struct robust_net net;
	size_t at = 0;

	robust_make_net(&net, r->k);
	robust_prune_net(&net, r->k, trim);
	for (size_t j = 0; j < r->k; j++)
		row[j] = robust_row(r, j);
	for (; at + 128 <= 4 * n; at += 128)
		robust_mean_block(out + at, row, at, r->k, trim, weight, &net);
	if (at == 4 * n)
		return;
	for (size_t j = 0; j < r->k; j++) {
		memset(rest[j], 0, 128);
		memcpy(rest[j], row[j] + at, 4 * n - at);
		row[j] = rest[j];
	}
	robust_mean_block(last, row, 0, r->k, trim, weight, &net);
	memcpy(out + at, last, 4 * n - at);
}
#endif

/*
 * This function is not inline, so that calls with few vectors do not need the
 * stack for its large array.
 */
__attribute__((noinline, unused)) static void
robust_mean_many(uint8_t *out, const struct robust_rows *r, size_t n,
    size_t trim, double weight)
{
	int32_t key[ROBUST_MANY];

	robust_mean_plain(out, r, 0, n, trim, weight, key);
}

static inline void
robust_mean(uint8_t *out, const struct robust_rows *r, size_t n, size_t trim,
    float scale)
{
	double weight;

	assert(r->k >= 1 && r->k <= ROBUST_MANY);
	if (trim > (r->k - 1) / 2)
		trim = (r->k - 1) / 2;
	weight = (double)scale / (double)(r->k - 2 * trim);
	if (r->k > ROBUST_FEW)
		robust_mean_many(out, r, n, trim, weight);
#ifdef VEC_AVX2
	else if (vec_avx2())
		robust_mean_avx2(out, r, n, trim, weight);
#endif
	else
		robust_mean_few(out, r, n, trim, weight);
}

static inline void
robust_median(uint8_t *out, const uint8_t *const row[], size_t k, size_t n,
    float scale)
{
	const struct robust_rows r = { .row = row, .k = k };

	robust_mean(out, &r, n, k, scale);
}

static inline void
robust_trimmed(uint8_t *out, const uint8_t *const row[], size_t k, size_t n,
    size_t trim, float scale)
{
	const struct robust_rows r = { .row = row, .k = k };

	robust_mean(out, &r, n, trim, scale);
}

static inline const char *
reduce_name(enum reduce_kind kind)
{
	static const char *const name[] = {
		"sum", "ordered", "fixed", "median", "trimmed"
	};

	return name[kind];
}

static inline const char *
reduce_parse(const char *s, struct reduce *r)
{
	uint64_t trim = 0;
	const char *why;
	unsigned k = 0;

	while (k < REDUCE_TRIMMED && strcmp(s, reduce_name(k)) != 0)
		k++;
	if (k == REDUCE_TRIMMED) {
		if (strcmp(s, "trimmed") == 0)
			return "the number of values to drop is missing, as in "
			    "trimmed:2";
		if (strncmp(s, "trimmed:", 8) != 0)
			return "not one of sum, ordered, fixed, median, "
			    "trimmed:N";
		why = num_u64(s + 8, 0, UINT16_MAX, &trim);
		if (why != NULL)
			return why;
	}
	r->kind = (enum reduce_kind)k;
	r->trim = (uint32_t)trim;
	if (r->fixed_bits == 0)
		r->fixed_bits = 24;
	return NULL;
}

static inline uint32_t
reduce_needs(const struct reduce *r, uint32_t all)
{
	switch (r->kind) {
	case REDUCE_MEDIAN:
		return all < 3 ? all : 3;
	case REDUCE_TRIMMED:
		return 2 * r->trim + 1;
	default:
		return 1;
	}
}

static inline size_t
reduce_work_bytes(const struct reduce *r, uint32_t rows, uint32_t n)
{
	switch (r->kind) {
	case REDUCE_SUM:
		return 0;
	case REDUCE_FIXED:
		return sizeof(int64_t) * n;
	default:
		return (size_t)4 * rows * n;
	}
}

/*
 * Return x times 2^fixed_bits as an integer.  `times` is 2^fixed_bits.  Clear
 * *finite if x is not finite.
 */
static inline int64_t
reduce_to_fixed(float x, double times, bool *finite, struct reduce_count *c)
{
	const double v = (double)x * times;	/* the product is exact */

	if (!isfinite(v)) {
		*finite = false;
		return REDUCE_FIXED_NAN;
	}
	if (v >= 0x1p63 || v <= -0x1p63) {
		c->saturated++;
		return v < 0 ? -REDUCE_FIXED_MAX : REDUCE_FIXED_MAX;
	}
	return (int64_t)nearbyint(v);
}

/*
 * Return the sum of two elements in fixed point, limited to the range of a sum.
 */
static inline int64_t
reduce_add_fixed(int64_t a, int64_t b, struct reduce_count *c)
{
	int64_t sum;

	if (a == REDUCE_FIXED_NAN || b == REDUCE_FIXED_NAN)
		return REDUCE_FIXED_NAN;
	if (!__builtin_add_overflow(a, b, &sum) && sum != REDUCE_FIXED_NAN)
		return sum;
	c->saturated++;
	return b < 0 ? -REDUCE_FIXED_MAX : REDUCE_FIXED_MAX;
}

static inline bool
reduce_fixed_plain(int64_t *sum, const uint8_t *x, size_t from, size_t n,
    bool first, double times, struct reduce_count *c)
{
	bool finite = true;

	for (size_t i = from; i < n; i++) {
		const int64_t v =
		    reduce_to_fixed(vec_get(x, i), times, &finite, c);

		sum[i] = first ? v : reduce_add_fixed(sum[i], v, c);
	}
	return finite;
}

#ifdef VEC_AVX2
/*
 * Add four elements for the kind `fixed`.  If an element is 2^51 or more, or if
 * a sum exceeds its limits or is not a number, change nothing and return false.
 * Adding 1.5 * 2^52 rounds a number to an integer and leaves this integer in
 * the low bits.
 */
__attribute__((target("avx2"))) static inline bool
reduce_fixed4(int64_t *sum, const uint8_t *x, bool first, __m256d times)
{
	const __m256d big = _mm256_set1_pd(0x1.8p52);
	const __m256d v = _mm256_mul_pd(_mm256_cvtps_pd(
	    _mm_loadu_ps((const void *)x)), times);
	const __m256d calm = _mm256_cmp_pd(_mm256_andnot_pd(
	    _mm256_set1_pd(-0.0), v), _mm256_set1_pd(0x1p51), _CMP_LT_OQ);
	const __m256i add = _mm256_sub_epi64(_mm256_castpd_si256(
	    _mm256_add_pd(v, big)), _mm256_castpd_si256(big));
	const __m256i old = first ? _mm256_setzero_si256() :
	    _mm256_loadu_si256((const void *)sum);
	const __m256i now = _mm256_add_epi64(old, add);
	const __m256i nan = _mm256_set1_epi64x(REDUCE_FIXED_NAN);
	const __m256i past = _mm256_or_si256(_mm256_or_si256(
	    _mm256_cmpeq_epi64(old, nan), _mm256_cmpeq_epi64(now, nan)),
	    _mm256_and_si256(_mm256_xor_si256(old, now),
	    _mm256_xor_si256(add, now)));

	if (_mm256_movemask_pd(_mm256_andnot_pd(_mm256_castsi256_pd(past),
	    calm)) != 15)
		return false;
	_mm256_storeu_si256((void *)sum, now);
	return true;
}

__attribute__((target("avx2"))) static inline bool
reduce_fixed_avx2(int64_t *sum, const uint8_t *x, size_t n, bool first,
    double times, struct reduce_count *c)
{
	const __m256d by = _mm256_set1_pd(times);
	bool finite = true;
	size_t i;

	for (i = 0; i + 4 <= n; i += 4)
		if (!reduce_fixed4(sum + i, x + 4 * i, first, by) &&
		    !reduce_fixed_plain(sum, x, i, i + 4, first, times, c))
			finite = false;
	return reduce_fixed_plain(sum, x, i, n, first, times, c) && finite;
}
#endif

static inline bool
reduce_fixed_row(const struct reduce *r, uint8_t *work, const uint8_t *x,
    size_t n, bool first, struct reduce_count *c)
{
	const double times = (double)((uint64_t)1 << r->fixed_bits);
	int64_t *sum = (void *)work;

#ifdef VEC_AVX2
	if (vec_avx2())
		return reduce_fixed_avx2(sum, x, n, first, times, c);
#endif
	return reduce_fixed_plain(sum, x, 0, n, first, times, c);
}

static inline void
reduce_first(const struct reduce *r, uint8_t *out, uint8_t *work, uint32_t n,
    const uint8_t *x, struct reduce_count *c)
{
	bool finite;

	switch (r->kind) {
	case REDUCE_SUM:
		finite = vec_copy_check(out, x, n);
		break;
	case REDUCE_FIXED:
		finite = reduce_fixed_row(r, work, x, n, true, c);
		break;
	default:
		finite = vec_copy_check(work, x, n);
	}
	c->nonfinite += !finite;
}

static inline void
reduce_add(const struct reduce *r, uint8_t *out, uint8_t *work, uint32_t row,
    uint32_t n, const uint8_t *x, struct reduce_count *c)
{
	bool finite;

	switch (r->kind) {
	case REDUCE_SUM:
		finite = vec_add_check(out, x, n);
		break;
	case REDUCE_FIXED:
		finite = reduce_fixed_row(r, work, x, n, false, c);
		break;
	default:
		finite = vec_copy_check(work + (size_t)4 * row * n, x, n);
	}
	c->nonfinite += !finite;
}

static inline void
reduce_ordered(uint8_t *out, const uint8_t *work, uint32_t rows,
    const uint32_t order[], size_t n)
{
	memcpy(out, work + 4 * n * order[0], 4 * n);
	for (uint32_t j = 1; j < rows; j++)
		vec_add(out, work + 4 * n * order[j], n);
}

static inline void
reduce_finish(const struct reduce *r, uint8_t *out, const uint8_t *work,
    uint32_t rows, const uint32_t order[], uint32_t n, uint32_t contributions,
    struct reduce_count *c)
{
	const struct robust_rows kept = { .base = work,
	    .stride = (size_t)4 * n, .k = rows };
	const float unit = 1 / (float)((uint64_t)1 << r->fixed_bits);
	const int64_t *sum = (const void *)work;

	(void)c;	/* nothing is saturated here */
	switch (r->kind) {
	case REDUCE_SUM:
		break;
	case REDUCE_ORDERED:
		reduce_ordered(out, work, rows, order, n);
		break;
	case REDUCE_FIXED:
		for (size_t i = 0; i < n; i++)
			vec_set(out, i, sum[i] == REDUCE_FIXED_NAN ? NAN :
			    (float)sum[i] * unit);
		break;
	case REDUCE_MEDIAN:
		robust_mean(out, &kept, n, rows, (float)contributions);
		break;
	case REDUCE_TRIMMED:
		robust_mean(out, &kept, n, r->trim, (float)contributions);
		break;
	}
}

#endif
