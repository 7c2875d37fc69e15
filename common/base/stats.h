/*
 * stats.h - small statistics: mean, spread, percentile, Jain's index
 *
 * The functions with parameters x and n read the n values at x and keep no
 * pointer to them; stats_percentile() also sorts the values.  If values arrive
 * one by one and only their mean is needed, use a struct stats_sum.  A zeroed
 * struct stats_sum is empty.
 */
#ifndef INNET_BASE_STATS_H
#define INNET_BASE_STATS_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

struct stats_sum {
	uint64_t count;
	uint64_t total;		/* sum of the values, in the unit of the
				 * values */
};

/* Add a value to the sum. */
static inline void
stats_sum_add(struct stats_sum *s, uint64_t v)
{
	s->count++;
	s->total += v;
}

/* Add all values in `from` to `to`. */
static inline void
stats_sum_merge(struct stats_sum *to, const struct stats_sum *from)
{
	to->count += from->count;
	to->total += from->total;
}

/* Return the mean, rounded half up, of at least one value. */
static inline uint64_t
stats_sum_mean(const struct stats_sum *s)
{
	return (s->total + s->count / 2) / s->count;
}

/* Compare two doubles; this function is an argument of qsort(). */
static inline int
stats_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Return the arithmetic mean, or 0 if there are no values. */
static inline double
stats_mean(const double *x, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += x[i];
	return n == 0 ? 0 : sum / (double)n;
}

/*
 * Return the sample standard deviation, or 0 if there are fewer than two
 * values.
 */
static inline double
stats_sd(const double *x, size_t n)
{
	double m = stats_mean(x, n), sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += (x[i] - m) * (x[i] - m);
	return n < 2 ? 0 : sqrt(sum / (double)(n - 1));
}

/*
 * Return half the width of the 95 % confidence interval of the mean of n
 * independent values, from Student's t.  Returns 0 if there are fewer than two
 * values.
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
	/*
	 * For more degrees of freedom than the table has, use a series in 1 /
	 * (degrees of freedom).
	 */
	q = n - 2 < known ? t[n - 2] : 1.959964 + 2.372 / (double)(n - 1) +
	    2.82 / ((double)(n - 1) * (double)(n - 1));
	return q * stats_sd(x, n) / sqrt((double)n);
}

/*
 * Sort the values at x.  Return the least value that at least a share p (0 to
 * 1) of the values do not exceed, or 0 if there are no values.
 */
static inline double
stats_percentile(double *x, size_t n, double p)
{
	size_t k;

	if (n == 0)
		return 0;
	qsort(x, n, sizeof(*x), stats_compare);
	k = (size_t)ceil(p * (double)n);
	return x[k == 0 ? 0 : k > n ? n - 1 : k - 1];
}

/*
 * Return Jain's fairness index (sum x)^2 / (n sum x^2).  The index is 1 if all
 * values are equal, and 1/n if only one value is not 0.  It is also 1 if there
 * are no values or if all values are 0.
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
