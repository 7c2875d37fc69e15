/*
 * kern-avx2 - the loops of training, eight floats at a time
 *
 * Products and sums are rounded apart, as in kern.c: fusing them was measured
 * to make training steps 7 % faster (Zen 3), and would make the plain set,
 * without fma in hardware, slower by far.  A block of C, 4 rows by 16 columns,
 * stays in registers while a column of A and a row of B pass by.
 */
#include "config.h"

#include "cmd/innet-agent/kern.h"

#ifdef __x86_64__
#include <immintrin.h>
#include <stdint.h>

#define AVX2 __attribute__((target("avx2")))
#define INLINE static inline __attribute__((always_inline)) AVX2

/* A mask of the first n lanes of 8. */
INLINE __m256i
lanes(size_t n)
{
	const __m256i id = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);

	return _mm256_cmpgt_epi32(_mm256_set1_epi32(n < 8 ? (int)n : 8), id);
}

INLINE __m256
take(const float *p, __m256i mask, bool part)
{
	return part ? _mm256_maskload_ps(p, mask) : _mm256_loadu_ps(p);
}

INLINE void
put(float *p, __m256i mask, bool part, __m256 v)
{
	if (part)
		_mm256_maskstore_ps(p, mask, v);
	else
		_mm256_storeu_ps(p, v);
}

INLINE __m256
mul_add(__m256 a, __m256 b, __m256 c)
{
	return _mm256_add_ps(c, _mm256_mul_ps(a, b));
}

/*
 * Rows a[0..3] by n <= 16 columns.  Where fewer than four rows are left the
 * last is given several times over: it is computed again and stored again.
 */
INLINE void
block(const float *const a[4], size_t cs, size_t k, const float *b, size_t ldb,
    float *const c[4], size_t n, bool part, bool add)
{
	const __m256i lo = lanes(n), hi = lanes(n > 8 ? n - 8 : 0);
	__m256 s0 = _mm256_setzero_ps(), s1 = s0, s2 = s0, s3 = s0;
	__m256 t0 = s0, t1 = s0, t2 = s0, t3 = s0, f, u, v;

	if (add) {
		s0 = take(c[0], lo, part), t0 = take(c[0] + 8, hi, part);
		s1 = take(c[1], lo, part), t1 = take(c[1] + 8, hi, part);
		s2 = take(c[2], lo, part), t2 = take(c[2] + 8, hi, part);
		s3 = take(c[3], lo, part), t3 = take(c[3] + 8, hi, part);
	}
	for (size_t i = 0; i < k; i++) {
		u = take(b + i * ldb, lo, part);
		v = take(b + i * ldb + 8, hi, part);
		f = _mm256_broadcast_ss(a[0] + i * cs);
		s0 = mul_add(f, u, s0), t0 = mul_add(f, v, t0);
		f = _mm256_broadcast_ss(a[1] + i * cs);
		s1 = mul_add(f, u, s1), t1 = mul_add(f, v, t1);
		f = _mm256_broadcast_ss(a[2] + i * cs);
		s2 = mul_add(f, u, s2), t2 = mul_add(f, v, t2);
		f = _mm256_broadcast_ss(a[3] + i * cs);
		s3 = mul_add(f, u, s3), t3 = mul_add(f, v, t3);
	}
	put(c[0], lo, part, s0), put(c[0] + 8, hi, part, t0);
	put(c[1], lo, part, s1), put(c[1] + 8, hi, part, t1);
	put(c[2], lo, part, s2), put(c[2] + 8, hi, part, t2);
	put(c[3], lo, part, s3), put(c[3] + 8, hi, part, t3);
}

AVX2 static void
avx2_gemm(size_t m, size_t n, size_t k, const float *a, size_t rs, size_t cs,
    const float *b, size_t ldb, float *c, size_t ldc, bool add)
{
	for (size_t y = 0; y < m; y += 4) {
		const float *ra[4];
		float *rc[4];

		for (size_t x = 0; x < n; x += 16) {
			for (size_t r = 0; r < 4; r++) {
				size_t at = y + r < m ? y + r : m - 1;

				ra[r] = a + at * rs;
				rc[r] = c + at * ldc + x;
			}
			if (n - x >= 16)
				block(ra, cs, k, b + x, ldb, rc, 16, false,
				    add);
			else
				block(ra, cs, k, b + x, ldb, rc, n - x, true,
				    add);
		}
	}
}

/* a + y * b */
INLINE __m256
poly(float a, __m256 y, __m256 b)
{
	return _mm256_add_ps(_mm256_set1_ps(a), _mm256_mul_ps(y, b));
}

AVX2 static void
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

AVX2 static void
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
		.gemm = avx2_gemm,
		.tanh = avx2_tanh,
		.adam = avx2_adam,
	};

	return __builtin_cpu_supports("avx2") ? &set : NULL;
}
#else
const struct kern *
kern_avx2(void)
{
	return NULL;
}
#endif
