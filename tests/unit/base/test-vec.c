/* Compare float32 kernels in plain C with AVX2, bit for bit, at any address. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/rng.h"
#include "common/base/vec.h"
#include "tests/unit/tap.h"

static const uint32_t odd[] = {
	0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff, 0x00800000,
	0x3f800000, 0xbf800000, 0x3f800001, 0x33800000, 0x7f7fffff, 0xff7fffff,
	0x7f800000, 0xff800000, 0x7fc00000, 0xffc00000, 0x7f800001, 0x7fc12345,
};
enum { ODD = sizeof(odd) / sizeof(*odd), LENGTHS = 71, MANY = 45 };

struct trio {
	uint8_t *a, *b, *out;	/* n float32 each, `off` bytes after malloc's
				 * address */
	size_t off;
};

static struct trio
trio_new(size_t n, size_t off)
{
	const size_t bytes = off + 4 * n + (off + n == 0);

	return (struct trio){ (uint8_t *)malloc(bytes) + off,
	    (uint8_t *)malloc(bytes) + off, (uint8_t *)malloc(bytes) + off,
	    off };
}

static void
trio_free(struct trio *t)
{
	free(t->a - t->off);
	free(t->b - t->off);
	free(t->out - t->off);
}

static void
put_bits(uint8_t *p, size_t i, uint32_t u)
{
	float f;

	memcpy(&f, &u, 4);
	vec_set(p, i, f);
}

/*
 * Fill with numbers: one in three is special or none; the others are any finite
 * number.
 */
static void
fill_vector(struct rng *r, uint8_t *p, size_t n, bool finite)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t u = (uint32_t)rng_u64(r);

		if (rng_below(r, 3) == 0)
			u = odd[rng_below(r, finite ? 12 : ODD)];
		else if ((u & 0x7f800000) == 0x7f800000)
			u &= 0xbfffffff;
		put_bits(p, i, u);
	}
}

#ifdef VEC_AVX2
static bool
same_finite(const struct trio *t, size_t n)
{
	return vec_finite_from(t->a, 0, n) == vec_finite_avx2(t->a, n) &&
	    vec_finite(t->a, n) == vec_finite_avx2(t->a, n);
}

/*
 * Are the bits equal?  Two NaNs count as equal, because C does not define which
 * one a sum has.
 */
static bool
same_bits(const struct trio *t, const uint8_t *twin, size_t n, const char *op)
{
	bool same = true;

	for (size_t i = 0; i < n; i++) {
		if (vec_bits(twin, i) == vec_bits(t->out, i) ||
		    (isnan(vec_get(t->a, i)) && isnan(vec_get(t->b, i)) &&
		    isnan(vec_get(twin, i)) && isnan(vec_get(t->out, i))))
			continue;
		same = false;
		note("%08x %s %08x: %08x plain, %08x AVX2",
		    vec_bits(t->a, i), op, vec_bits(t->b, i),
		    vec_bits(twin, i), vec_bits(t->out, i));
	}
	return same;
}

static bool
same_add(const struct trio *t, size_t n)
{
	uint8_t *twin = malloc(4 * n + 1);
	bool same;

	memcpy(twin, t->a, 4 * n);
	memcpy(t->out, t->a, 4 * n);
	vec_add_from(twin, t->b, 0, n);
	vec_add_avx2(t->out, t->b, n);
	same = same_bits(t, twin, n, "plus");
	free(twin);
	return same;
}

/* Is the checked sum equal to the sum, and the check to that of vec_finite? */
static bool
same_check(const struct trio *t, size_t n)
{
	uint8_t *twin = malloc(4 * n + 1);
	const bool finite = vec_finite_from(t->b, 0, n);
	bool same;

	memcpy(twin, t->a, 4 * n);
	memcpy(t->out, t->a, 4 * n);
	same = vec_add_check_from(twin, t->b, 0, n) == finite &&
	    vec_add_check_avx2(t->out, t->b, n) == finite &&
	    same_bits(t, twin, n, "plus, checked,");
	memset(twin, 1, 4 * n);
	memset(t->out, 2, 4 * n);
	same = same && vec_copy_check_from(twin, t->b, 0, n) == finite &&
	    vec_copy_check_avx2(t->out, t->b, n) == finite &&
	    memcmp(twin, t->b, 4 * n) == 0 && memcmp(t->out, t->b, 4 * n) == 0;
	free(twin);
	return same;
}

static bool
same_descend(const struct trio *t, size_t n, float q)
{
	uint8_t *twin = malloc(4 * n + 1);
	bool same;

	memcpy(twin, t->a, 4 * n);
	memcpy(t->out, t->a, 4 * n);
	vec_descend_from(twin, t->b, 0, n, q);
	vec_descend_avx2(t->out, t->b, n, q);
	same = same_bits(t, twin, n, "minus q times");
	free(twin);
	return same;
}

static bool
same_mean(const struct trio *t, size_t n, double wa)
{
	uint8_t *twin = calloc(1, 4 * n + 1);
	bool same;

	vec_mean_from(twin, t->a, t->b, 0, n, wa, 1 - wa);
	vec_mean_avx2(t->out, t->a, t->b, n, wa, 1 - wa);
	same = same_bits(t, twin, n, "mean");
	if (wa == 0.5) {
		vec_mean2_avx2(t->out, t->a, t->b, n);
		same = same_bits(t, twin, n, "mean of two") && same;
	}
	if (vec_avx512()) {
		vec_mean_avx512(t->out, t->a, t->b, n, wa, 1 - wa);
		same = same_bits(t, twin, n, "mean, AVX-512") && same;
	}
	vec_mean(t->out, t->a, t->b, n, wa, 1 - wa);
	same = same_bits(t, twin, n, "mean by any way") && same;
	free(twin);
	return same;
}

static void
test_twins(struct rng *r)
{
	bool finite = true, add = true, check = true, mean = true;
	bool descend = true;

	for (size_t n = 0; n < LENGTHS; n++) {
		for (size_t off = 0; off < 9; off++) {
			struct trio t = trio_new(n, off);

			fill_vector(r, t.a, n, off % 3 == 0);
			fill_vector(r, t.b, n, off % 3 == 0);
			finite = finite && same_finite(&t, n);
			add = add && same_add(&t, n);
			check = check && same_check(&t, n);
			descend = descend && same_descend(&t, n, 0.1f) &&
			    same_descend(&t, n, -3e-5f);
			mean = mean && same_mean(&t, n, 0.5) &&
			    same_mean(&t, n, rng_double(r));
			trio_free(&t);
		}
	}
	ok(finite, "vec_finite: C and AVX2 agree for 0 to 70 unaligned "
	    "elements");
	ok(add, "vec_add: C and AVX2 agree");
	ok(check, "vec_add_check, vec_copy_check: C and AVX2 agree");
	ok(mean, "vec_mean: C and AVX2 agree");
	ok(descend, "vec_descend: C and AVX2 agree");
}

/*
 * Test sums of two numbers with any distance of exponents, whose halves must be
 * rounded.
 */
static void
test_halves(struct rng *r)
{
	const size_t n = 4096;
	struct trio t = trio_new(n, 0);
	bool same = true;

	for (uint32_t far = 0; far < 254; far++) {
		for (size_t i = 0; i < n; i++) {
			uint32_t e = (uint32_t)rng_below(r, 255 - far);
			uint32_t u = (uint32_t)rng_u64(r) & 0x807fffff;
			uint32_t v = (uint32_t)rng_u64(r) & 0x807fffff;

			/* many end in zeros or ones: ties and near ties */
			if (i % 4 == 1)
				v &= ~0u << far % 24;
			else if (i % 4 == 2)
				v |= ~(~0u << far % 24);
			put_bits(t.a, i, u | (e + far) << 23);
			put_bits(t.b, i, v | e << 23);
		}
		same = same_mean(&t, n, 0.5) && same;
	}
	ok(same, "the mean of two floats is the same in binary32 and in "
	    "binary64");
	trio_free(&t);
}

/* Combine every special number with every other, in both lanes and tails. */
static void
test_pairs(void)
{
	const size_t n = ODD * ODD;
	bool add = true, mean = true;

	for (size_t off = 0; off < 4; off++) {
		struct trio t = trio_new(n, off);

		for (size_t i = 0; i < n; i++) {
			put_bits(t.a, i, odd[i / ODD]);
			put_bits(t.b, i, odd[i % ODD]);
		}
		for (size_t part = n - 9; part <= n; part++) {
			add = add && same_add(&t, part);
			mean = mean && same_mean(&t, part, 0.25);
		}
		for (size_t i = 0; i < n; i++) {	/* tails only */
			struct trio one = { t.a + 4 * i, t.b + 4 * i,
			    t.out, 0 };

			add = add && same_add(&one, i + 3 <= n ? 3 : 1);
			mean = mean && same_mean(&one, 1, 0.25);
		}
		trio_free(&t);
	}
	ok(add, "vec_add: C and AVX2 agree for all pairs of NaN, infinity, "
	    "zeros and denormals");
	ok(mean, "vec_mean: C and AVX2 agree for these pairs");
}
#endif

static void
test_places(void)
{
	uint8_t *p = calloc(MANY, 4);
	uint8_t *q = calloc(MANY, 4);
	bool good = vec_finite(p, MANY), add = true, copy = true;

	for (size_t n = 1; n <= MANY; n++) {
		for (size_t i = 0; i < MANY; i++) {
			vec_set(p, i, i % 2 ? -INFINITY : NAN);
			good = good && vec_finite(p, n) == (i >= n);
			add = add && vec_add_check(q, p, n) == (i >= n);
			copy = copy && vec_copy_check(q, p, n) == (i >= n) &&
			    memcmp(p, q, 4 * n) == 0;
			vec_set(p, i, FLT_MAX);
		}
	}
	ok(good, "vec_finite finds one bad element at any place");
	ok(add && copy, "vec_add_check and vec_copy_check find one bad element "
	    "at any of 1 to 45 places");
	vec_set(p, 0, 1.5f);
	ok(memcmp(p, "\0\0\300\77", 4) == 0 && vec_get(p, 0) == 1.5f &&
	    vec_bits(p, 0) == 0x3fc00000, "elements are little-endian");
	free(p);
	free(q);
}

/*
 * 1 - 0x1.000002p-1 * 0x1.000002p0: with a fused multiply-add 2^-48 would
 * remain; here nothing remains.
 */
static void
test_steps(void)
{
	uint8_t w[4 * 9], g[4 * 9];
	bool twice = true;

	for (size_t i = 0; i < 9; i++) {
		vec_set(w, i, 0x1.000004p-1f);
		vec_set(g, i, 0x1.000002p0f);
	}
	vec_descend(w, g, 9, 0x1.000002p-1f);
	for (size_t i = 0; i < 9; i++)
		twice = twice && vec_bits(w, i) == 0;
	ok(twice, "vec_descend rounds the product before it subtracts");
}

/* Use the weights of the queue: k constituents of m. */
static void
test_means(struct rng *r)
{
	struct trio t = trio_new(64, 1);
	bool finite = true, between = true;

	for (int run = 0; run < 3000; run++) {
		uint32_t m = 2 + (uint32_t)rng_below(r, 65534);
		uint32_t k = 1 + (uint32_t)rng_below(r, m - 1);
		double wa = (double)k / m, wb = (double)(m - k) / m;

		fill_vector(r, t.a, 64, true);
		fill_vector(r, t.b, 64, true);
		for (size_t i = 0; i < 8; i++)	/* extreme values with like
						 * signs */
			vec_set(t.b, i, run % 2 ? FLT_MAX : -FLT_MAX);
		memcpy(t.a, t.b, 32);
		vec_mean(t.out, t.a, t.b, 64, wa, wb);
		finite = finite && vec_finite(t.out, 64);
		for (size_t i = 0; i < 64; i++) {
			float x = vec_get(t.a, i), y = vec_get(t.b, i);
			float z = vec_get(t.out, i);

			between = between && z >= fminf(x, y) &&
			    z <= fmaxf(x, y);
		}
	}
	ok(finite, "means of finite numbers are finite, also of FLT_MAX");
	ok(between, "a mean lies between the two numbers");
	vec_set(t.a, 0, 1);
	vec_set(t.b, 0, 4);
	vec_mean(t.a, t.a, t.b, 1, 2 / 3., 1 / 3.);
	ok(vec_get(t.a, 0) == 2, "the mean of two updates of 1 and one of 4 is "
	    "2, in place");
	vec_mean(t.a, t.b, t.a, 1, 0.5, 0.5);
	ok(vec_get(t.a, 0) == 3, "the mean can replace the second vector");
	vec_add(t.a, t.b, 1);
	ok(vec_get(t.a, 0) == 7, "3 + 4 = 7");
	trio_free(&t);
}

int
main(void)
{
	struct rng r = rng_seed(2);

	test_places();
	test_steps();
	test_means(&r);
#ifdef VEC_AVX2
	if (vec_avx2()) {
		test_twins(&r);
	test_halves(&r);
		test_pairs();
		return tap_end();
	}
#endif
	ok(true, "the twins agree # SKIP no AVX2");
	return tap_end();
}
