/* The vector kernels against the plain ones, to the last bit. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/innet-agent/kern.h"
#include "common/rng.h"
#include "tests/tap.h"

enum { ROOM = 300 * 80, GUARD = 64 };

static struct rng rng;

/* n numbers in [-5, 5), and the same ones in copy. */
static void
fill(float *v, float *copy, size_t n)
{
	for (size_t i = 0; i < n; i++)
		v[i] = (float)rng_uniform(&rng, -5, 5);
	if (copy != NULL)
		memcpy(copy, v, n * sizeof(*v));
}

/* One shape, a as it is or transposed; what lies past c must stay. */
static bool
gemm_agrees(const struct kern *fast, size_t m, size_t n, size_t k, bool turn,
    bool add)
{
	static float a[ROOM], b[ROOM], c[ROOM], d[ROOM];
	const size_t ldc = n + 3, ldb = n + 1, all = m * ldc + GUARD;

	fill(a, NULL, m * k);
	fill(b, NULL, k * ldb);
	fill(c, d, all);
	kern_plain.gemm(m, n, k, a, turn ? 1 : k, turn ? m : 1, b, ldb, c,
	    ldc, add);
	fast->gemm(m, n, k, a, turn ? 1 : k, turn ? m : 1, b, ldb, d, ldc,
	    add);
	return memcmp(c, d, all * sizeof(*c)) == 0;
}

static void
test_gemm(const struct kern *fast)
{
	static const size_t ms[] = { 0, 1, 2, 3, 4, 5, 64, 67, 256 };
	static const size_t ns[] = { 0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 64, 70 };
	static const size_t ks[] = { 0, 1, 4, 5, 64 };
	unsigned shapes = 0, wrong = 0;

	for (size_t i = 0; i < sizeof(ms) / sizeof(*ms); i++) {
		for (size_t j = 0; j < sizeof(ns) / sizeof(*ns); j++) {
			for (size_t l = 0; l < 4 * (sizeof(ks) / sizeof(*ks));
			    l++) {
				shapes++;
				if (gemm_agrees(fast, ms[i], ns[j], ks[l / 4],
				    l & 1, l & 2))
					continue;
				if (wrong++ == 0)
					note("%zu x %zu x %zu", ms[i], ns[j],
					    ks[l / 4]);
			}
		}
	}
	ok(wrong == 0, "%s: %u products the same to the last bit", fast->name,
	    shapes);
}

static void
test_elements(const struct kern *fast)
{
	const struct kern_adam k = { 0.9f, 0.999f, 0.02f, 1000, 1e-8f };
	static float x[4][128], y[4][128];
	bool tanhs = true, adams = true;

	for (size_t n = 0; n <= 100; n++) {
		for (int i = 0; i < 4; i++)
			fill(x[i], y[i], 128);
		for (size_t i = 0; i < 128; i++)
			x[2][i] = y[2][i] = fabsf(x[2][i]);
		kern_plain.adam(x[0], x[1], x[2], x[3], n, &k);
		fast->adam(y[0], y[1], y[2], y[3], n, &k);
		adams = adams && memcmp(x, y, sizeof(x)) == 0;
		x[0][0] = y[0][0] = INFINITY;
		x[0][1] = y[0][1] = -INFINITY;
		x[0][2] = y[0][2] = NAN;
		kern_plain.tanh(x[0], n);
		fast->tanh(y[0], n);
		tanhs = tanhs && memcmp(x[0], y[0], sizeof(x[0])) == 0;
	}
	ok(tanhs, "%s: tanh of 0 to 100 numbers", fast->name);
	ok(adams, "%s: Adam on 0 to 100 weights", fast->name);
}

/* Against the closed forms. */
static void
test_plain(void)
{
	const float a[6] = { 1, 2, 3, 4, 5, 6 }, b[6] = { 7, 8, 9, 1, 2, 3 };
	float c[4] = { 1, 1, 1, 1 }, worst = 0;

	kern_plain.gemm(2, 2, 3, a, 3, 1, b, 2, c, 2, false);
	ok(c[0] == 31 && c[1] == 19 && c[2] == 85 && c[3] == 55,
	    "2 x 3 times 3 x 2 by hand");
	for (float x = -10; x <= 10; x += 0.001f) {
		float y = x;

		kern_plain.tanh(&y, 1);
		worst = fmaxf(worst, fabsf(y - tanhf(x)));
	}
	ok(worst < 1e-4f, "tanh within 1e-4 of libm's (%g)", (double)worst);
}

int
main(void)
{
	const struct kern *fast = kern_avx2();

	rng = rng_seed(1);
	test_plain();
	if (fast == NULL) {
		ok(kern_best() == &kern_plain, "no AVX2 here: plain C it is");
		return tap_end();
	}
	test_gemm(fast);
	test_elements(fast);
	return tap_end();
}
