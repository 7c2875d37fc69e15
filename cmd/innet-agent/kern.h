/*
 * kern.h - the few loops in which training spends its time
 *
 * Each set does the same operations in the same order on every element, and
 * none contracts a product and a sum into one rounding, so all sets agree to
 * the last bit and a seed gives the same training on every machine.
 */
#ifndef INNET_AGENT_KERN_H
#define INNET_AGENT_KERN_H

#include <stdbool.h>
#include <stddef.h>

/* One Adam step's constants (Kingma and Ba, 2015), bias corrections in. */
struct kern_adam {
	float b1, b2;		/* decay of the means */
	float rate;		/* learning rate / (1 - b1^t) */
	float fix;		/* 1 / (1 - b2^t) */
	float eps;
};

struct kern {
	const char *name;

	/*
	 * c[m][n] = or += sum over i < k, in order, of a[m][i] * b[i][n].
	 * a's element (m, i) is at a[m * rs + i * cs], so a may be read
	 * transposed, or, with both 0, be a single number; rows of b and c
	 * are contiguous and ldb and ldc floats apart.  No overlap with c.
	 */
	void (*gemm)(size_t m, size_t n, size_t k, const float *a, size_t rs,
	    size_t cs, const float *b, size_t ldb, float *c, size_t ldc,
	    bool add);

	/* x[i] = tanh(x[i]), a rational function good to 1e-4. */
	void (*tanh)(float *x, size_t n);

	/* w += Adam's step up the gradient g; m and v are its means. */
	void (*adam)(float *w, float *m, float *v, const float *g, size_t n,
	    const struct kern_adam *k);
};

extern const struct kern kern_plain;

/* The set in AVX2, or NULL where compiler or processor lack it. */
const struct kern *kern_avx2(void);

/* The fastest set this processor runs. */
const struct kern *kern_best(void);

#endif
