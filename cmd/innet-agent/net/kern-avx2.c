/*
 * kern-avx2.c - the loops of training, eight floats at a time
 *
 * As in kern.c, the products of gemm() are fused, and all other products and
 * sums are rounded separately.  A block of a product uses 15 of the 16
 * registers: 12 sums, 2 vectors of B and 1 number of A.
 */
#include "config.h"

#include "cmd/innet-agent/net/kern-avx2.h"

#ifdef __x86_64__
#include <immintrin.h>
#include <stdint.h>

#define GEMM_TARGET __attribute__((target("avx2,fma")))
#define AVX2 __attribute__((target("avx2")))
#define FAST static inline __attribute__((always_inline))
#define GEMM_LANES 8
#define GEMM_HIGH 6

typedef __m256 gemm_vec;
typedef __m256i gemm_mask;

FAST GEMM_TARGET __m256i
gemm_lanes(size_t n)
{
	const __m256i id = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);

	return _mm256_cmpgt_epi32(_mm256_set1_epi32(n < 8 ? (int)n : 8), id);
}

FAST GEMM_TARGET __m256
gemm_take(const float *p, __m256i mask, bool part)
{
	return part ? _mm256_maskload_ps(p, mask) : _mm256_loadu_ps(p);
}

FAST GEMM_TARGET void
gemm_put(float *p, __m256i mask, bool part, __m256 v)
{
	if (part)
		_mm256_maskstore_ps(p, mask, v);
	else
		_mm256_storeu_ps(p, v);
}

FAST GEMM_TARGET __m256
gemm_same(float f)
{
	return _mm256_set1_ps(f);
}

FAST GEMM_TARGET __m256
gemm_fma(__m256 a, __m256 b, __m256 c)
{
	return _mm256_fmadd_ps(a, b, c);
}

#include "cmd/innet-agent/net/gemm.h"

AVX2 void
avx2_relu(float *x, size_t n)
{
	const __m256 zero = _mm256_setzero_ps();
	size_t i;

	for (i = 0; i + 8 <= n; i += 8)
		_mm256_storeu_ps(x + i,
		    _mm256_max_ps(_mm256_loadu_ps(x + i), zero));
	kern_plain.relu(x + i, n - i);
}

AVX2 void
avx2_relu_back(float *x, const float *by, size_t n)
{
	const __m256 zero = _mm256_setzero_ps();
	size_t i;

	for (i = 0; i + 8 <= n; i += 8) {
		const __m256 on = _mm256_cmp_ps(_mm256_loadu_ps(x + i), zero,
		    _CMP_GT_OQ);

		_mm256_storeu_ps(x + i,
		    _mm256_and_ps(_mm256_loadu_ps(by + i), on));
	}
	kern_plain.relu_back(x + i, by + i, n - i);
}

AVX2 void
avx2_tanh_back(float *x, const float *by, size_t n)
{
	size_t i;

	for (i = 0; i + 8 <= n; i += 8) {
		__m256 y = _mm256_loadu_ps(x + i);

		y = _mm256_sub_ps(_mm256_set1_ps(1), _mm256_mul_ps(y, y));
		_mm256_storeu_ps(x + i,
		    _mm256_mul_ps(_mm256_loadu_ps(by + i), y));
	}
	kern_plain.tanh_back(x + i, by + i, n - i);
}

/* Return a + y * b. */
FAST AVX2 __m256
poly(float a, __m256 y, __m256 b)
{
	return _mm256_add_ps(_mm256_set1_ps(a), _mm256_mul_ps(y, b));
}

AVX2 void
avx2_tanh(float *x, size_t n)
{
	const __m256 top = _mm256_set1_ps(4.97f), low = _mm256_set1_ps(-4.97f);
	size_t i;

	for (i = 0; i + 8 <= n; i += 8) {
		__m256 t = _mm256_loadu_ps(x + i), y, p, q;

		t = _mm256_max_ps(_mm256_min_ps(t, top), low);
		y = _mm256_mul_ps(t, t);
		p = poly(378, y, _mm256_set1_ps(1));
		p = poly(135135, y, poly(17325, y, p));
		q = poly(3150, y, _mm256_set1_ps(28));
		q = poly(135135, y, poly(62370, y, q));
		_mm256_storeu_ps(x + i, _mm256_div_ps(_mm256_mul_ps(t, p), q));
	}
	kern_plain.tanh(x + i, n - i);
}

AVX2 void
avx2_adam(float *w, float *m, float *v, const float *g, size_t n,
    const struct kern_adam *k)
{
	const __m256 b1 = _mm256_set1_ps(k->b1), b2 = _mm256_set1_ps(k->b2);
	const __m256 c1 = _mm256_set1_ps(1 - k->b1);
	const __m256 c2 = _mm256_set1_ps(1 - k->b2);
	const __m256 rate = _mm256_set1_ps(k->rate);
	const __m256 fix = _mm256_set1_ps(k->fix);
	const __m256 eps = _mm256_set1_ps(k->eps);
	size_t i;

	for (i = 0; i + 8 <= n; i += 8) {
		__m256 f = _mm256_loadu_ps(g + i), s, t, d;

		s = _mm256_mul_ps(b1, _mm256_loadu_ps(m + i));
		s = _mm256_add_ps(s, _mm256_mul_ps(c1, f));
		t = _mm256_mul_ps(b2, _mm256_loadu_ps(v + i));
		t = _mm256_add_ps(t, _mm256_mul_ps(c2, _mm256_mul_ps(f, f)));
		_mm256_storeu_ps(m + i, s);
		_mm256_storeu_ps(v + i, t);
		d = _mm256_sqrt_ps(_mm256_mul_ps(t, fix));
		d = _mm256_div_ps(_mm256_mul_ps(rate, s),
		    _mm256_add_ps(d, eps));
		_mm256_storeu_ps(w + i,
		    _mm256_add_ps(_mm256_loadu_ps(w + i), d));
	}
	kern_plain.adam(w + i, m + i, v + i, g + i, n - i, k);
}

const struct kern *
kern_avx2(void)
{
	static const struct kern set = {
		.name = "AVX2",
		.gemm = gemm,
		.relu = avx2_relu,
		.tanh = avx2_tanh,
		.relu_back = avx2_relu_back,
		.tanh_back = avx2_tanh_back,
		.adam = avx2_adam,
	};

	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ?
	    &set : NULL;
}
#else
const struct kern *
kern_avx2(void)
{
	return NULL;
}
#endif
