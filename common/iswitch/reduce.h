/*
 * reduce.h - how contributions to one segment become one result
 *
 * The five kinds of --reduce, for the slots of an aggregator:
 *
 *	sum	added in binary32 as they arrive
 *	ordered	kept, added in binary32 in an order the caller gives at the end
 *	fixed	round(x 2^fixed_bits), ties to even, added as 64-bit integers;
 *		the sum is rounded once to binary32
 *	median	kept; the median of each element times the contributions
 *	trimmed	kept; the mean without the trim smallest and largest of each
 *		element (robust.h) times the contributions
 *
 * A slot is a result, n little-endian binary32 at any address, and
 * reduce_work_bytes() of working memory, 32-byte aligned; both are the
 * caller's and need no clearing: reduce_first(), reduce_add() for rows 1, 2 and
 * so on, reduce_finish().  Only of sum does the result hold anything before
 * the finish.  x and out do not overlap.
 *
 * NaN and infinities are added as IEEE 754 says.  Fixed refuses them: with one
 * of either an element of the result is NaN, whatever else came.  There a
 * contribution and the sum stay at the limits of int64 when they would pass
 * them, and only then the order matters.  Its scaling back to binary32 is
 * exact: bits are 1 to 62, so no result is subnormal.
 */
#ifndef INNET_ISWITCH_REDUCE_H
#define INNET_ISWITCH_REDUCE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/base/num.h"
#include "common/base/vec.h"
#include "common/iswitch/robust.h"

#define REDUCE_FIXED_MAX INT64_MAX	/* and its negative */
#define REDUCE_FIXED_NAN INT64_MIN	/* a sum with what is no number */

enum reduce_kind {
	REDUCE_SUM, REDUCE_ORDERED, REDUCE_FIXED, REDUCE_MEDIAN, REDUCE_TRIMMED
};

struct reduce {
	enum reduce_kind kind;
	uint32_t trim;		/* trimmed: values dropped at either end */
	uint32_t fixed_bits;	/* fixed: bits behind the point, 1 to 62 */
};

struct reduce_count {
	uint64_t nonfinite;	/* contributions with a NaN or infinity */
	uint64_t saturated;	/* elements cut, of a contribution or a sum */
};

/*
 * "sum", "ordered", "fixed", "median" or "trimmed:2": NULL, or what is wrong
 * and *r is as it was.  fixed_bits is kept, but 0 becomes 24.
 */
static inline const char *
reduce_parse(const char *s, struct reduce *r)
{
	static const char *const name[] = {
		"sum", "ordered", "fixed", "median", NULL
	};
	uint64_t trim = 0;
	const char *why;
	unsigned k = 0;

	while (name[k] != NULL && strcmp(s, name[k]) != 0)
		k++;
	if (name[k] == NULL) {
		if (strcmp(s, "trimmed") == 0)
			return "lacks how many to drop, as in trimmed:2";
		if (strncmp(s, "trimmed:", 8) != 0)
			return "not sum, ordered, fixed, median or trimmed:N";
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

/*
 * Contributions without which there is no answer, of `all` at most: trimmed:b
 * stands b that lie among 2b + 1, a median one among three, if there are three.
 */
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

/* Working memory of one slot of n elements and at most so many rows. */
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

/* x times 2^bits as an integer; if x is not finite, so is *finite. */
static inline int64_t
reduce_fix(float x, double times, bool *finite, struct reduce_count *c)
{
	const double v = (double)x * times;	/* exact */

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

/* Two integers that stand for elements: what stands for their sum. */
static inline int64_t
reduce_fixed_sum(int64_t a, int64_t b, struct reduce_count *c)
{
	int64_t sum;

	if (a == REDUCE_FIXED_NAN || b == REDUCE_FIXED_NAN)
		return REDUCE_FIXED_NAN;
	if (!__builtin_add_overflow(a, b, &sum) && sum != REDUCE_FIXED_NAN)
		return sum;
	c->saturated++;
	return b < 0 ? -REDUCE_FIXED_MAX : REDUCE_FIXED_MAX;
}

/* Elements from to n - 1 of fixed, plain: were all finite? */
static inline bool
reduce_fixed_from(int64_t *sum, const uint8_t *x, size_t from, size_t n,
    bool first, double times, struct reduce_count *c)
{
	bool finite = true;

	for (size_t i = from; i < n; i++) {
		const int64_t v = reduce_fix(vec_get(x, i), times, &finite, c);

		sum[i] = first ? v : reduce_fixed_sum(sum[i], v, c);
	}
	return finite;
}

#ifdef VEC_AVX2
/*
 * Four elements of fixed, unless one of them is 2^51 or more, or a sum passes
 * its limits or is no number: then nothing is done and the answer is false.
 * Added to 1.5 2^52 a number is rounded to an integer, which is then in its low
 * bits.
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
		    !reduce_fixed_from(sum, x, i, i + 4, first, times, c))
			finite = false;
	return reduce_fixed_from(sum, x, i, n, first, times, c) && finite;
}
#endif

static inline bool
reduce_fixed(const struct reduce *r, uint8_t *work, const uint8_t *x, size_t n,
    bool first, struct reduce_count *c)
{
	const double times = (double)((uint64_t)1 << r->fixed_bits);
	int64_t *sum = (void *)work;

#ifdef VEC_AVX2
	if (vec_avx2())
		return reduce_fixed_avx2(sum, x, n, first, times, c);
#endif
	return reduce_fixed_from(sum, x, 0, n, first, times, c);
}

/* The first contribution of a slot, which begins anew: row 0. */
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
		finite = reduce_fixed(r, work, x, n, true, c);
		break;
	default:
		finite = vec_copy_check(work, x, n);
	}
	c->nonfinite += !finite;
}

/* One more contribution, the row-th: 1 is the second. */
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
		finite = reduce_fixed(r, work, x, n, false, c);
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

/*
 * The result, of rows contributions kept (at least one) which stand for so many
 * of workers.  order, for ordered alone, has the number of each row once.
 */
static inline void
reduce_finish(const struct reduce *r, uint8_t *out, const uint8_t *work,
    uint32_t rows, const uint32_t order[], uint32_t n, uint32_t contributions,
    struct reduce_count *c)
{
	const struct robust_rows kept = { .base = work,
	    .stride = (size_t)4 * n, .k = rows };
	const float unit = 1 / (float)((uint64_t)1 << r->fixed_bits);
	const int64_t *sum = (const void *)work;

	(void)c;	/* nothing is cut here */
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
