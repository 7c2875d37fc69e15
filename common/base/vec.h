/*
 * vec.h - add, copy, check and average float32 vectors in the format of packets
 *
 * A vector consists of little-endian binary32 numbers.  It may begin at any
 * address, because a payload begins directly after the headers.  n is a number
 * of elements, not of bytes.
 *
 * Each function has a version in plain C, which is the reference, and a version
 * for AVX2.  The functions for means also have a version for AVX-512.  The
 * version is chosen at run time according to the features of the processor.
 * All versions compute the same bits, with one exception: the sum or mean of
 * two NaNs is a NaN, but C lets the compiler choose the payload of this NaN.
 */
#ifndef INNET_BASE_VEC_H
#define INNET_BASE_VEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#define VEC_AVX2 1
#include <immintrin.h>
#endif

/* Does this processor have AVX2? */
static inline bool vec_avx2(void);

/* Return the bits of element i of the vector at p, in host order. */
static inline uint32_t vec_bits(const uint8_t *p, size_t i);

/* Return element i of the vector at p. */
static inline float vec_get(const uint8_t *p, size_t i);

/* Set element i of the vector at p to f. */
static inline void vec_set(uint8_t *p, size_t i, float f);

/* Are all n elements finite? */
static inline bool vec_finite(const uint8_t *p, size_t n);

/* Add b to a, element by element.  Each sum is rounded to binary32. */
static inline void vec_add(uint8_t *a, const uint8_t *b, size_t n);

/* Add b to a like vec_add().  Returns whether all elements of b were finite. */
static inline bool vec_add_check(uint8_t *a, const uint8_t *b, size_t n);

/*
 * Copy x to `out`, which must not overlap x.  Returns whether all elements were
 * finite.
 */
static inline bool vec_copy_check(uint8_t *out, const uint8_t *x, size_t n);

/*
 * Subtract q * g[i] from w[i], for each element i.  The product and the
 * difference are each rounded to binary32, so that every machine computes the
 * same bits.
 */
static inline void vec_descend(uint8_t *w, const uint8_t *g, size_t n, float q);

/*
 * Set out[i] to a[i] * wa + b[i] * wb, for each element i, computed in binary64
 * and rounded once to binary32.  So the means of finite elements (wa + wb = 1)
 * are finite.  `out` may be `a` or `b`.
 */
static inline void vec_mean(uint8_t *out, const uint8_t *a, const uint8_t *b,
    size_t n, double wa, double wb);

/* implementation */

static inline bool
vec_avx2(void)
{
#ifdef VEC_AVX2
	return __builtin_cpu_supports("avx2");
#else
	return false;
#endif
}

static inline uint32_t
vec_bits(const uint8_t *p, size_t i)
{
	uint32_t u;

	memcpy(&u, p + 4 * i, sizeof(u));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	u = __builtin_bswap32(u);
#endif
	return u;
}

static inline float
vec_get(const uint8_t *p, size_t i)
{
	uint32_t u = vec_bits(p, i);
	float f;

	memcpy(&f, &u, sizeof(f));
	return f;
}

static inline void
vec_set(uint8_t *p, size_t i, float f)
{
	uint32_t u;

	memcpy(&u, &f, sizeof(u));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	u = __builtin_bswap32(u);
#endif
	memcpy(p + 4 * i, &u, sizeof(u));
}

/*
 * The functions whose names end in _from are the versions in plain C.  They
 * process the elements from `from` to n - 1.
 */
static inline bool
vec_finite_from(const uint8_t *p, size_t from, size_t n)
{
	bool bad = false;

	for (size_t i = from; i < n; i++)
		bad |= (vec_bits(p, i) & 0x7f800000) == 0x7f800000;
	return !bad;
}

static inline void
vec_add_from(uint8_t *a, const uint8_t *b, size_t from, size_t n)
{
	for (size_t i = from; i < n; i++)
		vec_set(a, i, vec_get(a, i) + vec_get(b, i));
}

static inline bool
vec_add_check_from(uint8_t *a, const uint8_t *b, size_t from, size_t n)
{
	const bool finite = vec_finite_from(b, from, n);

	vec_add_from(a, b, from, n);
	return finite;
}

static inline bool
vec_copy_check_from(uint8_t *out, const uint8_t *x, size_t from, size_t n)
{
	if (n > from)
		memcpy(out + 4 * from, x + 4 * from, 4 * (n - from));
	return vec_finite_from(x, from, n);
}

static inline void
vec_descend_from(uint8_t *w, const uint8_t *g, size_t from, size_t n, float q)
{
	for (size_t i = from; i < n; i++) {
		const float step = q * vec_get(g, i);

		vec_set(w, i, vec_get(w, i) - step);
	}
}

static inline void
vec_mean_from(uint8_t *out, const uint8_t *a, const uint8_t *b, size_t from,
    size_t n, double wa, double wb)
{
	for (size_t i = from; i < n; i++)
		vec_set(out, i, (float)((double)vec_get(a, i) * wa +
		    (double)vec_get(b, i) * wb));
}

#ifdef VEC_AVX2
__attribute__((target("avx2"))) static inline void
vec_add_avx2(uint8_t *a, const uint8_t *b, size_t n)
{
	size_t i;

	for (i = 0; i + 8 <= n; i += 8)
		_mm256_storeu_ps((void *)(a + 4 * i), _mm256_add_ps(
		    _mm256_loadu_ps((const void *)(a + 4 * i)),
		    _mm256_loadu_ps((const void *)(b + 4 * i))));
	vec_add_from(a, b, i, n);
}

/*
 * Return, for each of eight elements, the larger of the magnitude in m and the
 * magnitude of the element in v.  A magnitude consists of the bits of an
 * element without its sign.
 */
__attribute__((target("avx2"))) static inline __m256i
vec_max_magnitudes(__m256i m, __m256 v)
{
	return _mm256_max_epi32(m, _mm256_and_si256(_mm256_castps_si256(v),
	    _mm256_set1_epi32(0x7fffffff)));
}

/* Are all 32 magnitudes finite? */
__attribute__((target("avx2"))) static inline bool
vec_all_finite(const __m256i m[4])
{
	const __m256i bad = _mm256_cmpgt_epi32(_mm256_max_epi32(
	    _mm256_max_epi32(m[0], m[1]), _mm256_max_epi32(m[2], m[3])),
	    _mm256_set1_epi32(0x7f7fffff));

	return _mm256_testz_si256(bad, bad);
}

__attribute__((target("avx2"))) static inline __m256
vec_load8(const uint8_t *p)
{
	return _mm256_loadu_ps((const void *)p);
}

__attribute__((target("avx2"))) static inline bool
vec_finite_avx2(const uint8_t *p, size_t n)
{
	__m256i m[4] = { _mm256_setzero_si256() };
	size_t i = 0;

	m[1] = m[2] = m[3] = m[0];
	for (; i + 32 <= n; i += 32) {
		m[0] = vec_max_magnitudes(m[0], vec_load8(p + 4 * i));
		m[1] = vec_max_magnitudes(m[1], vec_load8(p + 4 * i + 32));
		m[2] = vec_max_magnitudes(m[2], vec_load8(p + 4 * i + 64));
		m[3] = vec_max_magnitudes(m[3], vec_load8(p + 4 * i + 96));
	}
	for (; i + 8 <= n; i += 8)
		m[0] = vec_max_magnitudes(m[0], vec_load8(p + 4 * i));
	if (n < 8)
		return vec_finite_from(p, 0, n);
	/* Check the last eight elements.  Some of them were already checked. */
	m[0] = vec_max_magnitudes(m[0], vec_load8(p + 4 * (n - 8)));
	return vec_all_finite(m);
}

__attribute__((target("avx2"))) static inline __m256
vec_add8(uint8_t *a, const uint8_t *b)
{
	const __m256 v = _mm256_loadu_ps((const void *)b);

	_mm256_storeu_ps((void *)a, _mm256_add_ps(
	    _mm256_loadu_ps((const void *)a), v));
	return v;
}

__attribute__((target("avx2"))) static inline __m256
vec_copy8(uint8_t *out, const uint8_t *x)
{
	const __m256 v = _mm256_loadu_ps((const void *)x);

	_mm256_storeu_ps((void *)out, v);
	return v;
}

__attribute__((target("avx2"))) static inline bool
vec_add_check_avx2(uint8_t *a, const uint8_t *b, size_t n)
{
	__m256i m[4] = { _mm256_setzero_si256() };
	size_t i = 0;

	m[1] = m[2] = m[3] = m[0];
	for (; i + 32 <= n; i += 32) {
		uint8_t *to = a + 4 * i;
		const uint8_t *p = b + 4 * i;

		m[0] = vec_max_magnitudes(m[0], vec_add8(to, p));
		m[1] = vec_max_magnitudes(m[1], vec_add8(to + 32, p + 32));
		m[2] = vec_max_magnitudes(m[2], vec_add8(to + 64, p + 64));
		m[3] = vec_max_magnitudes(m[3], vec_add8(to + 96, p + 96));
	}
	for (; i + 8 <= n; i += 8)
		m[0] = vec_max_magnitudes(m[0], vec_add8(a + 4 * i, b + 4 * i));
	return vec_add_check_from(a, b, i, n) && vec_all_finite(m);
}

__attribute__((target("avx2"))) static inline bool
vec_copy_check_avx2(uint8_t *out, const uint8_t *x, size_t n)
{
	__m256i m[4] = { _mm256_setzero_si256() };
	size_t i = 0;

	m[1] = m[2] = m[3] = m[0];
	for (; i + 32 <= n; i += 32) {
		uint8_t *to = out + 4 * i;
		const uint8_t *p = x + 4 * i;

		m[0] = vec_max_magnitudes(m[0], vec_copy8(to, p));
		m[1] = vec_max_magnitudes(m[1], vec_copy8(to + 32, p + 32));
		m[2] = vec_max_magnitudes(m[2], vec_copy8(to + 64, p + 64));
		m[3] = vec_max_magnitudes(m[3], vec_copy8(to + 96, p + 96));
	}
	for (; i + 8 <= n; i += 8)
		m[0] =
		    vec_max_magnitudes(m[0], vec_copy8(out + 4 * i, x + 4 * i));
	return vec_copy_check_from(out, x, i, n) && vec_all_finite(m);
}

__attribute__((target("avx2"))) static inline void
vec_descend_avx2(uint8_t *w, const uint8_t *g, size_t n, float q)
{
	const __m256 by = _mm256_set1_ps(q);
	size_t i;

	for (i = 0; i + 8 <= n; i += 8)
		_mm256_storeu_ps((void *)(w + 4 * i), _mm256_sub_ps(
		    _mm256_loadu_ps((const void *)(w + 4 * i)),
		    _mm256_mul_ps(by,
		    _mm256_loadu_ps((const void *)(g + 4 * i)))));
	vec_descend_from(w, g, i, n, q);
}

__attribute__((target("avx2"))) static inline void
vec_mean_avx2(uint8_t *out, const uint8_t *a, const uint8_t *b, size_t n,
    double wa, double wb)
{
	const __m256d va = _mm256_set1_pd(wa), vb = _mm256_set1_pd(wb);
	size_t i;

	for (i = 0; i + 4 <= n; i += 4) {
		__m256d x = _mm256_cvtps_pd(
		    _mm_loadu_ps((const void *)(a + 4 * i)));
		__m256d y = _mm256_cvtps_pd(
		    _mm_loadu_ps((const void *)(b + 4 * i)));

		_mm_storeu_ps((void *)(out + 4 * i), _mm256_cvtpd_ps(
		    _mm256_add_pd(_mm256_mul_pd(x, va),
		    _mm256_mul_pd(y, vb))));
	}
	vec_mean_from(out, a, b, i, n, wa, wb);
}

/*
 * Set out to (a + b) / 2, computed in binary32.  The bits are the same as with
 * binary64: rounding the sum to 53 bits first would change nothing, and halving
 * is exact.  Sums that overflow binary32 are computed in binary64.
 */
__attribute__((target("avx2"))) static inline void
vec_mean2_avx2(uint8_t *out, const uint8_t *a, const uint8_t *b, size_t n)
{
	const __m256 half = _mm256_set1_ps(0.5f);
	const __m256i exp = _mm256_set1_epi32(0x7f800000);
	size_t i;

	for (i = 0; i + 8 <= n; i += 8) {
		__m256 sum = _mm256_add_ps(
		    _mm256_loadu_ps((const void *)(a + 4 * i)),
		    _mm256_loadu_ps((const void *)(b + 4 * i)));
		__m256i s = _mm256_and_si256(_mm256_castps_si256(sum), exp);

		if (_mm256_movemask_epi8(_mm256_cmpeq_epi32(s, exp)) != 0)
			vec_mean_avx2(out + 4 * i, a + 4 * i, b + 4 * i, 8,
			    0.5, 0.5);
		else
			_mm256_storeu_ps((void *)(out + 4 * i),
			    _mm256_mul_ps(sum, half));
	}
	vec_mean_from(out, a, b, i, n, 0.5, 0.5);
}

#define VEC_AVX512 __attribute__((target("avx512f,avx512vl"))) static inline

/*
 * Does this processor have AVX-512, and can it use AVX-512 without lowering its
 * clock frequency?  Processors that lower it do not have VBMI2.  Only
 * vec_mean() uses AVX-512.  The other functions wait for memory, so AVX-512
 * would not make them faster.  Masks handle the elements that remain at the
 * end.
 */
static inline bool
vec_avx512(void)
{
	return __builtin_cpu_supports("avx512vl") &&
	    __builtin_cpu_supports("avx512vbmi2");
}

VEC_AVX512 __m512i
vec_max_magnitudes16(__m512i m, __m512 v)
{
	return _mm512_max_epi32(m, _mm512_and_si512(_mm512_castps_si512(v),
	    _mm512_set1_epi32(0x7fffffff)));
}

/* Is any of the sixteen magnitudes infinite or a NaN? */
VEC_AVX512 bool
vec_any_nonfinite16(__m512i m)
{
	return _mm512_cmpgt_epi32_mask(m, _mm512_set1_epi32(0x7f7fffff)) != 0;
}

/* Return eight means, computed in binary64. */
VEC_AVX512 __m256
vec_mean8(__m256 a, __m256 b, __m512d wa, __m512d wb)
{
	return _mm512_cvtpd_ps(_mm512_add_pd(
	    _mm512_mul_pd(_mm512_cvtps_pd(a), wa),
	    _mm512_mul_pd(_mm512_cvtps_pd(b), wb)));
}

VEC_AVX512 void
vec_mean_avx512(uint8_t *out, const uint8_t *a, const uint8_t *b, size_t n,
    double wa, double wb)
{
	const __m512d va = _mm512_set1_pd(wa), vb = _mm512_set1_pd(wb);
	__mmask8 rest;
	size_t i;

	for (i = 0; i + 8 <= n; i += 8)
		_mm256_storeu_ps((void *)(out + 4 * i), vec_mean8(
		    _mm256_loadu_ps((const void *)(a + 4 * i)),
		    _mm256_loadu_ps((const void *)(b + 4 * i)), va, vb));
	rest = (__mmask8)((1u << (n - i)) - 1);
	if (rest != 0)
		_mm256_mask_storeu_ps(out + 4 * i, rest, vec_mean8(
		    _mm256_maskz_loadu_ps(rest, a + 4 * i),
		    _mm256_maskz_loadu_ps(rest, b + 4 * i), va, vb));
}

VEC_AVX512 void
vec_mean2_avx512(uint8_t *out, const uint8_t *a, const uint8_t *b, size_t n)
{
	const __m512 half = _mm512_set1_ps(0.5f);
	size_t i;

	for (i = 0; i + 16 <= n; i += 16) {
		const __m512 sum = _mm512_add_ps(_mm512_loadu_ps(a + 4 * i),
		    _mm512_loadu_ps(b + 4 * i));

		if (vec_any_nonfinite16(
			vec_max_magnitudes16(_mm512_setzero_si512(), sum)))
			vec_mean_avx512(out + 4 * i, a + 4 * i, b + 4 * i, 16,
			    0.5, 0.5);
		else
			_mm512_storeu_ps(out + 4 * i,
			    _mm512_mul_ps(sum, half));
	}
	vec_mean_avx512(out + 4 * i, a + 4 * i, b + 4 * i, n - i, 0.5, 0.5);
}
#endif

static inline bool
vec_finite(const uint8_t *p, size_t n)
{
#ifdef VEC_AVX2
	if (vec_avx2())
		return vec_finite_avx2(p, n);
#endif
	return vec_finite_from(p, 0, n);
}

static inline void
vec_add(uint8_t *a, const uint8_t *b, size_t n)
{
#ifdef VEC_AVX2
	if (vec_avx2()) {
		vec_add_avx2(a, b, n);
		return;
	}
#endif
	vec_add_from(a, b, 0, n);
}

static inline bool
vec_add_check(uint8_t *a, const uint8_t *b, size_t n)
{
#ifdef VEC_AVX2
	if (vec_avx2())
		return vec_add_check_avx2(a, b, n);
#endif
	return vec_add_check_from(a, b, 0, n);
}

static inline bool
vec_copy_check(uint8_t *out, const uint8_t *x, size_t n)
{
#ifdef VEC_AVX2
	if (vec_avx2())
		return vec_copy_check_avx2(out, x, n);
#endif
	return vec_copy_check_from(out, x, 0, n);
}

static inline void
vec_descend(uint8_t *w, const uint8_t *g, size_t n, float q)
{
#ifdef VEC_AVX2
	if (vec_avx2()) {
		vec_descend_avx2(w, g, n, q);
		return;
	}
#endif
	vec_descend_from(w, g, 0, n, q);
}

static inline void
vec_mean(uint8_t *out, const uint8_t *a, const uint8_t *b, size_t n,
    double wa, double wb)
{
#ifdef VEC_AVX2
	if (vec_avx512()) {
		if (wa == 0.5 && wb == 0.5)
			vec_mean2_avx512(out, a, b, n);
		else
			vec_mean_avx512(out, a, b, n, wa, wb);
		return;
	}
	if (vec_avx2()) {
		if (wa == 0.5 && wb == 0.5)
			vec_mean2_avx2(out, a, b, n);
		else
			vec_mean_avx2(out, a, b, n, wa, wb);
		return;
	}
#endif
	vec_mean_from(out, a, b, 0, n, wa, wb);
}

#endif
