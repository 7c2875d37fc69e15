/*
 * kern.h - the few loops in which training spends most of its time
 *
 * Every set of loops does the same operations in the same order on each
 * element.  gemm() rounds each product and its sum once, as fmaf() does; all
 * other products and sums are rounded separately.  So the results of all sets
 * agree to the last bit, and a seed gives the same training on every machine.
 * Only the bits of a NaN can differ.
 */
#ifndef INNET_AGENT_NET_KERN_H
#define INNET_AGENT_NET_KERN_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The constants of one Adam step (Kingma and Ba, 2015), with bias correction.
 */
struct kern_adam {
	float b1, b2;		/* decay rates of the two means */
	float rate;		/* learning rate / (1 - b1^t) */
	float fix;		/* 1 / (1 - b2^t) */
	float eps;
};

/* An input matrix, whose element (y, x) is p[y * row + x * col]. */
struct kern_mat {
	const float *p;
	size_t row, col;
};

struct kern {
	const char *name;

	/*
	 * Compute c = from + a * b; c is m x n, a is m x k and b is k x n.  The
	 * k products of an element of c are added in order, each with fmaf(),
	 * beginning with the element of `from`, or with 0 if `from` is NULL.
	 * The elements of a row of c are contiguous, and the rows are ldc
	 * floats apart.  The rows of `from` are ldf floats apart; if ldf is 0,
	 * all rows of c begin with the same row of `from`.  `from` and c can be
	 * one matrix, but a and b must not overlap c.  A matrix whose `row` and
	 * `col` are both 0 has the same number everywhere.
	 */
	void (*gemm)(size_t m, size_t n, size_t k, struct kern_mat a,
	    struct kern_mat b, const float *from, size_t ldf, float *c,
	    size_t ldc);

	/* Set x[i] to 0 if it is not above 0. */
	void (*relu)(float *x, size_t n);

	/*
	 * Set x[i] to tanh(x[i]), computed with a rational function that is
	 * accurate to 1e-4.
	 */
	void (*tanh)(float *x, size_t n);

	/*
	 * Compute the derivatives.  Each x[i] is a result of relu() or tanh(),
	 * and by[i] is the gradient with respect to that result.  Replace x[i]
	 * by the gradient with respect to the argument of relu() or tanh().
	 */
	void (*relu_back)(float *x, const float *by, size_t n);
	void (*tanh_back)(float *x, const float *by, size_t n);

	/*
	 * Add one Adam step along the gradient g to w; m and v are Adam's
	 * means.
	 */
	void (*adam)(float *w, float *m, float *v, const float *g, size_t n,
	    const struct kern_adam *k);
};

/* The set in plain C, which runs on every processor. */
extern const struct kern kern_plain;

#endif
