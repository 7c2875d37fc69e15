/*
 * vec-avx512.h - vec.h's means for AVX-512, with the same results
 *
 * Other kernels of vec.h read what is not in the nearest cache, and gain
 * nothing by it.  Elements that are left at the end are masked.
 */
#ifndef INNET_BASE_VEC_AVX512_H
#define INNET_BASE_VEC_AVX512_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)
#include <immintrin.h>

#define VEC_AVX512 __attribute__((target("avx512f,avx512vl"))) static inline

/*
 * Does this processor have it, and not slow down for it?  Those that did have
 * none of the latter.
 */
static inline bool
vec_avx512(void)
{
	return __builtin_cpu_supports("avx512vl") &&
	    __builtin_cpu_supports("avx512vbmi2");
}

/* The greater magnitudes, as bits, of m and the elements v. */
VEC_AVX512 __m512i
vec_most16(__m512i m, __m512 v)
{
	return _mm512_max_epi32(m, _mm512_and_si512(_mm512_castps_si512(v),
	    _mm512_set1_epi32(0x7fffffff)));
}

/* Is one of those sixteen magnitudes infinite or NaN? */
VEC_AVX512 bool
vec_wild16(__m512i m)
{
	return _mm512_cmpgt_epi32_mask(m, _mm512_set1_epi32(0x7f7fffff)) != 0;
}

/* Eight means, in binary64 until they are stored. */
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

/* vec_mean2_avx2(). */
VEC_AVX512 void
vec_mean2_avx512(uint8_t *out, const uint8_t *a, const uint8_t *b, size_t n)
{
	const __m512 half = _mm512_set1_ps(0.5f);
	size_t i;

	for (i = 0; i + 16 <= n; i += 16) {
		const __m512 sum = _mm512_add_ps(_mm512_loadu_ps(a + 4 * i),
		    _mm512_loadu_ps(b + 4 * i));

		if (vec_wild16(vec_most16(_mm512_setzero_si512(), sum)))
			vec_mean_avx512(out + 4 * i, a + 4 * i, b + 4 * i, 16,
			    0.5, 0.5);
		else
			_mm512_storeu_ps(out + 4 * i,
			    _mm512_mul_ps(sum, half));
	}
	vec_mean_avx512(out + 4 * i, a + 4 * i, b + 4 * i, n - i, 0.5, 0.5);
}
#endif

#endif
