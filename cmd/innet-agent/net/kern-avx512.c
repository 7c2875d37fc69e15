/*
 * kern-avx512.c - products of matrices, 16 floats at a time
 *
 * A block of a product uses 26 of the 32 registers, for 24 sums and 2 vectors
 * of B; the numbers of A come from memory.  The other loops are those of AVX2,
 * because their speed is limited by memory or by divisions.
 */
#include "config.h"

#include "cmd/innet-agent/net/kern-avx2.h"
#include "cmd/innet-agent/net/kern-avx512.h"

#ifdef __x86_64__
#include <immintrin.h>
#include <stdint.h>

#define GEMM_TARGET __attribute__((target("avx512f,avx2,fma")))
#define FAST static inline __attribute__((always_inline)) GEMM_TARGET
#define GEMM_LANES 16
#define GEMM_HIGH 12

typedef __m512 gemm_vec;
typedef __mmask16 gemm_mask;

FAST __mmask16
gemm_lanes(size_t n)
{
	return (__mmask16)(n < 16 ? (1u << n) - 1 : 0xffff);
}

FAST __m512
gemm_take(const float *p, __mmask16 mask, bool part)
{
	return part ? _mm512_maskz_loadu_ps(mask, p) : _mm512_loadu_ps(p);
}

FAST void
gemm_put(float *p, __mmask16 mask, bool part, __m512 v)
{
	if (part)
		_mm512_mask_storeu_ps(p, mask, v);
	else
		_mm512_storeu_ps(p, v);
}

FAST __m512
gemm_same(float f)
{
	return _mm512_set1_ps(f);
}

FAST __m512
gemm_fma(__m512 a, __m512 b, __m512 c)
{
	return _mm512_fmadd_ps(a, b, c);
}

#include "cmd/innet-agent/net/gemm.h"

const struct kern *
kern_avx512(void)
{
	static const struct kern set = {
		.name = "AVX-512",
		.gemm = gemm,
		.relu = avx2_relu,
		.tanh = avx2_tanh,
		.relu_back = avx2_relu_back,
		.tanh_back = avx2_tanh_back,
		.adam = avx2_adam,
	};

	return kern_avx2() != NULL && __builtin_cpu_supports("avx512f") ?
	    &set : NULL;
}
#else
const struct kern *
kern_avx512(void)
{
	return NULL;
}
#endif
