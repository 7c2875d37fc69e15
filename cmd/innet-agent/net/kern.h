/*
 * kern.h - the few loops in which training spends its time
 *
 * Each set of them does the same operations in the same order on every element,
 * and none contracts a product and a sum into one rounding.  So all sets agree
 * to the last bit, and a seed gives the same training on every machine.
 */
#ifndef INNET_AGENT_NET_KERN_H
#define INNET_AGENT_NET_KERN_H

#include <stdbool.h>
#include <stddef.h>

/* One Adam step's constants (Kingma and Ba, 2015), bias corrections in. */
struct kern_adam {
	float b1, b2;		/* decay of the means */
	float rate;		/* learning rate / (1 - b1^t) */
	float fix;		/* 1 / (1 - b2^t) */
	float eps;
};

/* A matrix to read: element (y, x) is p[y * row + x * col]. */
struct kern_mat {
	const float *p;
	size_t row, col;
};

struct kern {
	const char *name;

	/*
	 * c = from + a * b, m x n from m x k and k x n, each element's sum
	 * over k in order, from its number in from, or 0 if that is NULL.
	 * Rows of c are contiguous and ldc floats apart, those of from ldf:
	 * 0 where all are alike, and from may be c itself.  Neither a nor b
	 * overlaps c; with row and col 0 they are one number everywhere.
	 */
	void (*gemm)(size_t m, size_t n, size_t k, struct kern_mat a,
	    struct kern_mat b, const float *from, size_t ldf, float *c,
	    size_t ldc);

	/* x[i] = x[i], or 0 if that is not above it. */
	void (*relu)(float *x, size_t n);

	/* x[i] = tanh(x[i]), a rational function good to 1e-4. */
	void (*tanh)(float *x, size_t n);

	/*
	 * The derivatives: by[i] is the gradient by the result of one of the
	 * above, x[i] is that result; replace x[i] by the gradient by its
	 * argument.
	 */
	void (*relu_back)(float *x, const float *by, size_t n);
	void (*tanh_back)(float *x, const float *by, size_t n);

	/* Add Adam's step up the gradient g to w; m and v are its means. */
	void (*adam)(float *w, float *m, float *v, const float *g, size_t n,
	    const struct kern_adam *k);
};

/* The set in plain C, which runs everywhere. */
extern const struct kern kern_plain;

#endif
