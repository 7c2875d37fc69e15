/* Test that the vector kernels agree with the plain ones to the last bit. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/innet-agent/net/kern-avx2.h"
#include "cmd/innet-agent/net/kern-avx512.h"
#include "cmd/innet-agent/net/kern-best.h"
#include "cmd/innet-agent/net/kern.h"
#include "common/base/rng.h"
#include "tests/unit/tap.h"

enum { ROOM = 260 * 260, GUARD = 64 };

static struct rng rng;

/* Fill v with n numbers in [-5, 5), and copy with the same ones. */
static void
fill_random(float *v, float *copy, size_t n)
{
	for (size_t i = 0; i < n; i++)
		v[i] = (float)rng_uniform(&rng, -5, 5);
	if (copy != NULL)
		memcpy(copy, v, n * sizeof(*v));
}

/* The values that a product starts from. */
enum from { ZERO, OWN, BIAS, FROMS };

/*
 * Compute one shape with a and b as they are or transposed; bytes after c must
 * not change.
 */
static bool
gemm_agrees(const struct kern *fast, size_t m, size_t n, size_t k,
    unsigned turn, enum from from)
{
	static float a[ROOM], b[ROOM], c[ROOM], d[ROOM], bias[ROOM];
	const size_t ldc = n + (n > 1 ? 3 : 0), all = m * ldc + GUARD;
	const struct kern_mat ma = turn & 1 ? (struct kern_mat){ a, 1, m } :
	    (struct kern_mat){ a, k, 1 };
	const struct kern_mat mb = turn & 2 ? (struct kern_mat){ b, 1, k } :
	    (struct kern_mat){ b, n + 1, 1 };
	const float *own[] = { c, d };

	fill_random(a, NULL, m * k);
	fill_random(b, NULL, k * (n + 1));
	fill_random(c, d, all);
	fill_random(bias, NULL, n);
	for (int i = 0; i < 2; i++) {
		const float *start = from == OWN ? own[i] : bias;

		(i == 0 ? &kern_plain : fast)->gemm(m, n, k, ma, mb,
		    from == ZERO ? NULL : start, from == OWN ? ldc : 0,
		    i == 0 ? c : d, ldc);
	}
	return memcmp(c, d, all * sizeof(*c)) == 0;
}

/*
 * Test the shape in all combinations; return how many are wrong, and count
 * them.
 */
static unsigned
count_wrong(const struct kern *fast, size_t m, size_t n, size_t k,
    unsigned *shapes)
{
	unsigned wrong = 0;

	for (unsigned i = 0; i < 4 * FROMS; i++) {
		++*shapes;
		if (gemm_agrees(fast, m, n, k, i / FROMS, i % FROMS))
			continue;
		if (wrong++ == 0)
			note("%zu x %zu x %zu, way %u", m, n, k, i);
	}
	return wrong;
}

static void
test_gemm(const struct kern *fast)
{
	static const size_t ms[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
		13, 23, 64, 97 };
	static const size_t ns[] = { 0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33,
		47, 64, 70, 128, 130 };
	static const size_t ks[] = { 0, 1, 4, 5, 8, 64, 255, 256, 257 };
	/* a is packed too after a band of 258 rows */
	static const struct { size_t m, n, k; } tall[] = { { 129, 64, 3 },
		{ 130, 70, 256 }, { 134, 144, 100 }, { 256, 130, 257 },
		{ 258, 64, 1 }, { 259, 65, 20 }, { 263, 80, 9 },
		{ 517, 79, 30 }, { 260, 130, 0 }, { 264, 96, 9 },
		{ 265, 66, 17 }, { 271, 64, 5 }, { 529, 97, 4 } };
	unsigned shapes = 0, wrong = 0;

	for (size_t i = 0; i < sizeof(tall) / sizeof(*tall); i++)
		wrong +=
		    count_wrong(fast, tall[i].m, tall[i].n, tall[i].k, &shapes);
	for (size_t i = 0; i < sizeof(ms) / sizeof(*ms); i++) {
		for (size_t j = 0; j < sizeof(ns) / sizeof(*ns); j++) {
			for (size_t l = 0; l < sizeof(ks) / sizeof(*ks); l++)
				wrong += count_wrong(fast, ms[i], ns[j], ks[l],
				    &shapes);
		}
	}
	ok(wrong == 0, "%s: %u products are the same to the last "
	    "bit", fast->name,
	    shapes);
}

/* Does each number of d equal that of c, or are both NaN? */
static bool
same_numbers(const float *c, const float *d, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (memcmp(c + i, d + i, sizeof(*c)) != 0 &&
		    !(isnan(c[i]) && isnan(d[i])))
			return false;
	return true;
}

/*
 * Test products of subnormal numbers, signed zeros, infinities and NaN among
 * ordinary numbers.
 */
static void
test_odd_products(const struct kern *fast)
{
	static const float odd[] = { 0.f, -0.f, 1e-45f, -1e-45f, 1e-39f,
		-1e-39f, 1e-20f, -1e-20f, 3e38f, -3e38f, 1, -1, INFINITY,
		-INFINITY, NAN };
	static float a[37 * 37], b[37 * 37], c[37 * 37], d[37 * 37];
	bool same = true;

	for (int turn = 0; turn < 400; turn++) {
		/* half of the runs have no infinities */
		const size_t some = turn % 2 ? 15 : 8;
		const size_t m = 1 + rng_below(&rng, 37);
		const size_t n = 1 + rng_below(&rng, 37);
		const size_t k = turn % 4 < 2 ? 3 : 37;

		for (size_t i = 0; i < 37 * 37; i++) {
			a[i] = odd[rng_below(&rng, some)];
			b[i] = odd[rng_below(&rng, some)];
			c[i] = d[i] = odd[rng_below(&rng, some)];
		}
		for (int i = 0; i < 2; i++)
			(i == 0 ? &kern_plain : fast)->gemm(m, n, k,
			    (struct kern_mat){ a, 37, 1 },
			    (struct kern_mat){ b, 37, 1 }, i == 0 ? c : d, 37,
			    i == 0 ? c : d, 37);
		same = same && same_numbers(c, d, 37 * 37);
	}
	ok(same, "%s: products of subnormals, zeros, infinities and NaN are "
	    "the same",
	    fast->name);
}

/* Fill with numbers that comparisons often get wrong. */
static void
fill_odd(float *v, float *copy)
{
	v[0] = copy[0] = INFINITY;
	v[1] = copy[1] = -INFINITY;
	v[2] = copy[2] = NAN;
	v[3] = copy[3] = -0.f;
}

static void
test_elements(const struct kern *fast)
{
	const struct kern_adam k = { 0.9f, 0.999f, 0.02f, 1000, 1e-8f };
	static float x[4][128], y[4][128];
	bool relus = true, tanhs = true, adams = true;

	for (size_t n = 0; n <= 100; n++) {
		for (int i = 0; i < 4; i++)
			fill_random(x[i], y[i], 128);
		for (size_t i = 0; i < 128; i++)
			x[2][i] = y[2][i] = fabsf(x[2][i]);
		kern_plain.adam(x[0], x[1], x[2], x[3], n, &k);
		fast->adam(y[0], y[1], y[2], y[3], n, &k);
		adams = adams && memcmp(x, y, sizeof(x)) == 0;
		fill_odd(x[0], y[0]);
		kern_plain.tanh(x[0], n);
		fast->tanh(y[0], n);
		kern_plain.tanh_back(x[0], x[1], n);
		fast->tanh_back(y[0], y[1], n);
		tanhs = tanhs && memcmp(x[0], y[0], sizeof(x[0])) == 0;
		fill_odd(x[3], y[3]);
		kern_plain.relu(x[3], n);
		fast->relu(y[3], n);
		relus = relus && memcmp(x[3], y[3], sizeof(x[3])) == 0;
		fill_odd(x[3], y[3]);
		kern_plain.relu_back(x[3], x[1], n);
		fast->relu_back(y[3], y[1], n);
		relus = relus && memcmp(x[3], y[3], sizeof(x[3])) == 0;
	}
	ok(relus, "%s: ReLU and its gradient are the same for 0 to 100 "
	    "numbers", fast->name);
	ok(tanhs, "%s: tanh and its gradient are the same for 0 to 100 "
	    "numbers", fast->name);
	ok(adams, "%s: Adam is the same for 0 to 100 weights", fast->name);
}

/*
 * (1 + 2^-12)^2 - (1 + 2^-11) is 2^-24 if it is rounded once, and 0 if the
 * product is rounded first.
 */
static void
test_one_rounding(const struct kern *set)
{
	const float a = 1 + 0x1p-12f, from = -(1 + 0x1p-11f);
	float c = 0;

	set->gemm(1, 1, 1, (struct kern_mat){ &a, 1, 1 },
	    (struct kern_mat){ &a, 1, 1 }, &from, 1, &c, 1);
	ok(c == 0x1p-24f, "%s: a product and its sum are rounded once",
	    set->name);
}

/* Check the plain kernels against closed forms. */
static void
test_plain(void)
{
	const float a[6] = { 1, 2, 3, 4, 5, 6 }, b[6] = { 7, 8, 9, 1, 2, 3 };
	float c[4] = { 1, 1, 1, 1 }, worst = 0;

	kern_plain.gemm(2, 2, 3, (struct kern_mat){ a, 3, 1 },
	    (struct kern_mat){ b, 2, 1 }, NULL, 0, c, 2);
	ok(c[0] == 31 && c[1] == 19 && c[2] == 85 && c[3] == 55,
	    "a product of 2 x 3 and 3 x 2 matrices is right");
	for (float x = -10; x <= 10; x += 0.001f) {
		float y = x;

		kern_plain.tanh(&y, 1);
		worst = fmaxf(worst, fabsf(y - tanhf(x)));
	}
	ok(worst < 1e-4f, "tanh is within 1e-4 of libm (%g)", (double)worst);
}

int
main(void)
{
	const struct kern *const sets[] = { kern_avx2(), kern_avx512() };
	const struct kern *best = &kern_plain;

	rng = rng_seed(1);
	test_plain();
	test_one_rounding(&kern_plain);
	for (size_t i = 0; i < sizeof(sets) / sizeof(*sets); i++) {
		if (sets[i] == NULL)
			continue;
		best = sets[i];
		test_one_rounding(sets[i]);
		test_gemm(sets[i]);
		test_odd_products(sets[i]);
		test_elements(sets[i]);
	}
	ok(strcmp(kern_best()->name, best->name) == 0,
	    "the fastest kernels of this processor are selected: "
	    "%s", best->name);
	return tap_end();
}
