/*
 * powers.h - calculate logexp_pow() of many numbers at once
 *
 * If the processor has AVX2, powers() computes four powers at a time.  The
 * operations and their order are the same as in logexp_pow(), so the results
 * have the same bits.
 */
#ifndef INNET_BASE_POWERS_H
#define INNET_BASE_POWERS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/base/logexp.h"
#include "common/base/vec.h"

#ifdef VEC_AVX2
/* Return a + b x. */
__attribute__((target("avx2"))) static inline __m256d
powers_line(double a, double b, __m256d x)
{
	return _mm256_add_pd(_mm256_set1_pd(a),
	    _mm256_mul_pd(_mm256_set1_pd(b), x));
}

/* Return a + b x for vectors a and b. */
__attribute__((target("avx2"))) static inline __m256d
powers_join(__m256d a, __m256d b, __m256d x)
{
	return _mm256_add_pd(a, _mm256_mul_pd(b, x));
}

/* Return logexp_log() of four numbers. */
__attribute__((target("avx2"))) static inline __m256d
powers_log(__m256d x)
{
	const __m256i half = _mm256_set1_epi64x(0x3fe6a09e667f3bcd);
	const __m256i odd = _mm256_setr_epi32(1, 3, 5, 7, 1, 3, 5, 7);
	const __m256d one = _mm256_set1_pd(1);
	__m256i bits = _mm256_sub_epi64(_mm256_castpd_si256(x), half);
	const __m256d k = _mm256_cvtepi32_pd(_mm256_castsi256_si128(
	    _mm256_permutevar8x32_epi32(_mm256_srai_epi32(bits, 20), odd)));
	__m256d m, s, z, z2, z4, p, q;

	bits = _mm256_and_si256(bits, _mm256_set1_epi64x(0xfffffffffffff));
	m = _mm256_castsi256_pd(_mm256_add_epi64(bits, half));
	s = _mm256_div_pd(_mm256_sub_pd(m, one), _mm256_add_pd(m, one));
	z = _mm256_mul_pd(s, s);
	z2 = _mm256_mul_pd(z, z);
	z4 = _mm256_mul_pd(z2, z2);
	p = powers_join(powers_line(2.0 / 3, 2.0 / 5, z),
	    powers_line(2.0 / 7, 2.0 / 9, z), z2);
	q = powers_join(powers_line(2.0 / 11, 2.0 / 13, z),
	    powers_line(2.0 / 15, 2.0 / 17, z), z2);
	q = powers_join(q, powers_join(powers_line(2.0 / 19, 2.0 / 21, z),
	    _mm256_set1_pd(2.0 / 23), z2), z4);
	p = _mm256_add_pd(p, _mm256_mul_pd(z4, q));
	q = _mm256_mul_pd(k, _mm256_set1_pd(LOGEXP_LN2_LO));
	q = _mm256_add_pd(_mm256_mul_pd(_mm256_mul_pd(s, z), p), q);
	q = _mm256_add_pd(_mm256_add_pd(s, s), q);
	return _mm256_add_pd(_mm256_mul_pd(k, _mm256_set1_pd(LOGEXP_LN2_HI)),
	    q);
}

/*
 * Return e^t for each of the four numbers in t, by the method of logexp_pow().
 */
__attribute__((target("avx2"))) static inline __m256d
powers_exp(__m256d t)
{
	const __m256d shift = _mm256_set1_pd(0x1.8p52);
	const __m256d k = _mm256_sub_pd(_mm256_add_pd(_mm256_mul_pd(t,
	    _mm256_set1_pd(0x1.71547652b82fep+0)), shift), shift);
	const __m256i up = _mm256_slli_epi64(_mm256_add_epi64(
	    _mm256_cvtepi32_epi64(_mm256_cvttpd_epi32(k)),
	    _mm256_set1_epi64x(1023)), 52);
	__m256d r, r2, r4, p, q;

	r = _mm256_sub_pd(t, _mm256_mul_pd(k, _mm256_set1_pd(LOGEXP_LN2_HI)));
	r = _mm256_sub_pd(r, _mm256_mul_pd(k, _mm256_set1_pd(LOGEXP_LN2_LO)));
	r2 = _mm256_mul_pd(r, r);
	r4 = _mm256_mul_pd(r2, r2);
	p = powers_join(_mm256_add_pd(_mm256_set1_pd(1), r),
	    powers_line(1.0 / 2, 1.0 / 6, r), r2);
	q = powers_join(powers_line(1.0 / 24, 1.0 / 120, r),
	    powers_line(1.0 / 720, 1.0 / 5040, r), r2);
	q = powers_join(q, powers_line(1.0 / 40320, 1.0 / 362880, r), r4);
	return _mm256_mul_pd(powers_join(p, q, r4), _mm256_castsi256_pd(up));
}

__attribute__((target("avx2"))) static inline size_t
powers_avx2(double *x, size_t n, double y)
{
	size_t i;

	for (i = 0; i + 4 <= n; i += 4)
		_mm256_storeu_pd(x + i, powers_exp(_mm256_mul_pd(
		    _mm256_set1_pd(y), powers_log(_mm256_loadu_pd(x + i)))));
	return i;
}
#endif

/* Replace each of n numbers x with logexp_pow(x, y). */
static inline void
powers(double *x, size_t n, double y)
{
	size_t i = 0;

#ifdef VEC_AVX2
	if (vec_avx2())
		i = powers_avx2(x, n, y);
#endif
	for (; i < n; i++)
		x[i] = logexp_pow(x[i], y);
}

#endif
