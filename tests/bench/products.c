/*
 * products - compare the products of a net's layer with OpenBLAS
 *
 * A layer has SIDE inputs and outputs, and a batch has as many rows.  There are
 * three products: forward, backward and gradient, which read their matrices
 * along rows, across and down.  The program prints a line for each: its name,
 * our rate and that of OpenBLAS, in 1e9 operations a second.  The two take
 * turns, and the rates are medians.  Without OpenBLAS the exit status is 77.
 */
#include "config.h"

#include <dlfcn.h>
#include <err.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "cmd/innet-agent/net/kern-best.h"
#include "cmd/innet-agent/net/kern.h"

enum { SIDE = 256, TURNS = 31, REPEATS = 12 };

/* As in cblas.h: rows in order, read as they are or transposed. */
enum { ROWS = 101, AS_IS = 111, TRANSPOSED = 112 };
typedef void (*sgemm_fn)(int order, int ta, int tb, int m, int n, int k,
    float alpha, const float *a, int lda, const float *b, int ldb, float beta,
    float *c, int ldc);

static const struct product {
	const char *name;
	bool a_across, b_across;	/* read by columns */
} products[] = {
	{ "forward", false, false },
	{ "back", false, true },
	{ "gradient", true, false },
};

static float a[SIDE * SIDE], b[SIDE * SIDE], ours[SIDE * SIDE];
static float theirs[SIDE * SIDE];

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static struct kern_mat
mat(const float *p, bool across)
{
	return across ? (struct kern_mat){ p, 1, SIDE } :
	    (struct kern_mat){ p, SIDE, 1 };
}

/*
 * Return the seconds that REPEATS products take, with our kernels or with sgemm
 * if it is given.
 */
static double
once(const struct product *p, sgemm_fn sgemm)
{
	const struct kern *kern = kern_best();
	const double begun = now();

	for (int i = 0; i < REPEATS; i++)
		if (sgemm != NULL)
			sgemm(ROWS, p->a_across ? TRANSPOSED : AS_IS,
			    p->b_across ? TRANSPOSED : AS_IS, SIDE, SIDE, SIDE,
			    1, a, SIDE, b, SIDE, 0, theirs, SIDE);
		else
			kern->gemm(SIDE, SIDE, SIDE, mat(a, p->a_across),
			    mat(b, p->b_across), NULL, 0, ours, SIDE);
	return now() - begun;
}

static int
by_size(const void *x, const void *y)
{
	const double d = *(const double *)x - *(const double *)y;

	return (d > 0) - (d < 0);
}

static void
measure(const struct product *p, sgemm_fn sgemm)
{
	const double work = 2.0 * SIDE * SIDE * SIDE * REPEATS * 1e-9;
	double t[2][TURNS];

	for (int i = -4; i < TURNS; i++)	/* four rounds to warm up */
		for (int who = 0; who < 2; who++) {
			const double s = once(p, who == 0 ? NULL : sgemm);

			if (i >= 0)
				t[who][i] = s;
		}
	for (int i = 0; i < SIDE * SIDE; i++)
		if (!(fabsf(ours[i] - theirs[i]) < 1e-2f))
			errx(1, "%s: element %d is %g, OpenBLAS's %g", p->name,
			    i, (double)ours[i], (double)theirs[i]);
	for (int who = 0; who < 2; who++)
		qsort(t[who], TURNS, sizeof(t[who][0]), by_size);
	printf("%s %.1f %.1f\n", p->name, work / t[0][TURNS / 2],
	    work / t[1][TURNS / 2]);
}

int
main(void)
{
	void *blas = dlopen("libopenblas.so.0", RTLD_NOW);
	sgemm_fn sgemm = NULL;

	if (blas != NULL)
		*(void **)&sgemm = dlsym(blas, "cblas_sgemm");
	if (sgemm == NULL) {
		warnx("no OpenBLAS: %s", dlerror());
		return 77;
	}
	for (int i = 0; i < SIDE * SIDE; i++) {
		a[i] = (float)(i * 7919 % 10007) / 10007 * 2 - 1;
		b[i] = (float)(i * 104729L % 10009) / 10009 * 2 - 1;
	}
	for (size_t i = 0; i < sizeof(products) / sizeof(*products); i++)
		measure(&products[i], sgemm);
	return 0;
}
