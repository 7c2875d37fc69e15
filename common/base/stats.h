/*
 * stats.h - small statistics: mean, spread, percentile, Jain's index
 *
 * All take n values at x; none keeps or changes them but stats_percentile(),
 * which sorts.
 */
#ifndef INNET_BASE_STATS_H
#define INNET_BASE_STATS_H

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

static inline int
stats_less(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The arithmetic mean; 0 of none. */
static inline double
stats_mean(const double *x, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += x[i];
	return n == 0 ? 0 : sum / (double)n;
}

/* The sample standard deviation; 0 of fewer than two. */
static inline double
stats_sd(const double *x, size_t n)
{
	double m = stats_mean(x, n), sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += (x[i] - m) * (x[i] - m);
	return n < 2 ? 0 : sqrt(sum / (double)(n - 1));
}

/*
 * Half the 95 % confidence interval of the mean of n independent values, by
 * Student's t; 0 of fewer than two.
 */
static inline double
stats_ci95(const double *x, size_t n)
{
	static const double t[] = { 12.706, 4.303, 3.182, 2.776, 2.571, 2.447,
	    2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
	    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
	    2.060, 2.056, 2.052, 2.048, 2.045, 2.042 };
	const size_t known = sizeof(t) / sizeof(*t);
	double q;

	if (n < 2)
		return 0;
	/* beyond the table, a series in 1 / degrees of freedom */
	q = n - 2 < known ? t[n - 2] : 1.959964 + 2.372 / (double)(n - 1) +
	    2.82 / ((double)(n - 1) * (double)(n - 1));
	return q * stats_sd(x, n) / sqrt((double)n);
}

/* The least x with at least p (0 to 1) of the values at or below; sorts x. */
static inline double
stats_percentile(double *x, size_t n, double p)
{
	size_t k;

	if (n == 0)
		return 0;
	qsort(x, n, sizeof(*x), stats_less);
	k = (size_t)ceil(p * (double)n);
	return x[k == 0 ? 0 : k > n ? n - 1 : k - 1];
}

/*
 * Jain's fairness index (sum x)^2 / (n sum x^2): 1 when all are equal, 1/n
 * when one has all; 1 of none or of zeros.
 */
static inline double
stats_jain(const double *x, size_t n)
{
	double sum = 0, squares = 0;

	for (size_t i = 0; i < n; i++) {
		sum += x[i];
		squares += x[i] * x[i];
	}
	return squares > 0 ? sum * sum / ((double)n * squares) : 1;
}

#endif
