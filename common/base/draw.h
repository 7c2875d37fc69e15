/*
 * draw.h - draw random numbers from distributions that need a logarithm
 *
 * The results have the same bits with every compiler, because the functions use
 * only rng.h, logexp.h and sqrt(), and IEEE 754 requires that sqrt() is rounded
 * correctly.
 */
#ifndef INNET_BASE_DRAW_H
#define INNET_BASE_DRAW_H

#include <math.h>

#include "common/base/logexp.h"
#include "common/base/rng.h"

/* Draw a number from the exponential distribution with mean 1. */
static inline double
draw_exponential(struct rng *r)
{
	return -logexp_log(1 - rng_double(r));
}

/*
 * Draw a number from the normal distribution with mean 0 and standard deviation
 * 1 (Marsaglia's polar method).
 */
static inline double
draw_normal(struct rng *r)
{
	double u, v, s;

	do {
		u = 2 * rng_double(r) - 1;
		v = 2 * rng_double(r) - 1;
		s = u * u + v * v;
	} while (s >= 1 || s < 0x1p-1000);
	return u * sqrt(-2 * logexp_log(s) / s);
}

/*
 * Draw a number from the lognormal distribution with mean 1.  `sigma` is the
 * standard deviation of the logarithm.
 */
static inline double
draw_lognormal(struct rng *r, double sigma)
{
	return logexp_exp(sigma * draw_normal(r) - sigma * sigma / 2);
}

#endif
