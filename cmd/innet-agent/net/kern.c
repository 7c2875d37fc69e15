/* kern.c - the loops of training in plain C, a reference for the fast sets */
#include "config.h"

#include <math.h>

#include "cmd/innet-agent/net/kern.h"

static void
plain_gemm(size_t m, size_t n, size_t k, struct kern_mat a, struct kern_mat b,
    const float *from, size_t ldf, float *c, size_t ldc)
{
	for (size_t y = 0; y < m; y++) {
		float *row = c + y * ldc;

		for (size_t x = 0; x < n; x++)
			row[x] = from == NULL ? 0 : from[y * ldf + x];
		for (size_t i = 0; i < k; i++) {
			const float f = a.p[y * a.row + i * a.col];
			const float *of = b.p + i * b.row;

			for (size_t x = 0; x < n; x++)
				row[x] = fmaf(f, of[x * b.col], row[x]);
		}
	}
}

static void
plain_relu(float *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		x[i] = x[i] > 0 ? x[i] : 0;
}

static void
plain_relu_back(float *x, const float *by, size_t n)
{
	for (size_t i = 0; i < n; i++)
		x[i] = x[i] > 0 ? by[i] : 0;
}

static void
plain_tanh_back(float *x, const float *by, size_t n)
{
	for (size_t i = 0; i < n; i++)
		x[i] = by[i] * (1 - x[i] * x[i]);
}

/*
 * Approximate tanh by the seventh convergent of its continued fraction.  The
 * result is constant for |x| >= 4.97.
 */
static void
plain_tanh(float *x, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		float t = x[i] < 4.97f ? x[i] : 4.97f, y;

		t = t > -4.97f ? t : -4.97f;
		y = t * t;
		x[i] = t * (135135 + y * (17325 + y * (378 + y))) /
		    (135135 + y * (62370 + y * (3150 + y * 28)));
	}
}

static void
plain_adam(float *w, float *m, float *v, const float *g, size_t n,
    const struct kern_adam *k)
{
	for (size_t i = 0; i < n; i++) {
		m[i] = k->b1 * m[i] + (1 - k->b1) * g[i];
		v[i] = k->b2 * v[i] + (1 - k->b2) * (g[i] * g[i]);
		w[i] += k->rate * m[i] / (sqrtf(v[i] * k->fix) + k->eps);
	}
}

const struct kern kern_plain = {
	.name = "plain C",
	.gemm = plain_gemm,
	.relu = plain_relu,
	.tanh = plain_tanh,
	.relu_back = plain_relu_back,
	.tanh_back = plain_tanh_back,
	.adam = plain_adam,
};
