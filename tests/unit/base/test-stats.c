/* Compare small statistics with closed forms and integers. */
#include <stdint.h>

#include "common/base/rng.h"
#include "common/base/stats.h"
#include "tests/unit/tap.h"

/*
 * Is the p-th percentile (in hundredths) of 1 ... n the one that a count gives?
 */
static bool
percentile_is_counted(double *x, size_t n, unsigned p)
{
	size_t k = 1;

	for (size_t i = 0; i < n; i++)
		x[i] = (double)(n - i);
	while (k * 100 < p * n)
		k++;
	return stats_percentile(x, n, p / 100.0) == (double)k;
}

int
main(void)
{
	double x[1000] = { 4, 1, 3, 2 };
	struct rng r = rng_seed(3);
	bool good = true;

	ok(stats_mean(x, 0) == 0 && stats_sd(x, 0) == 0 &&
	    stats_percentile(x, 0, 0.5) == 0, "without values, mean, deviation "
	    "and percentile are 0");
	ok(stats_mean(x, 4) == 2.5, "the mean of 1 to 4 is 2.5");
	ok(stats_sd(x, 1) == 0, "the standard deviation of one value is 0");
	ok(fabs(stats_sd(x, 4) - sqrt(5 / 3.)) < 1e-15,
	    "the standard deviation of 1 to 4 is the root of 5/3");
	ok(stats_percentile(x, 4, 0) == 1 && x[3] == 4,
	    "percentile 0 is the smallest value, and the function sorts the "
	    "values");
	ok(stats_percentile(x, 4, 0.5) == 2 &&
	    stats_percentile(x, 4, 0.51) == 3,
	    "the median of four values is the second, and the next percentile "
	    "the third");
	ok(stats_percentile(x, 4, 1) == 4, "percentile 1 is the largest value");
	for (size_t n = 1; n <= 1000; n++)
		good = good && percentile_is_counted(x, n, 50) &&
		       percentile_is_counted(x, n, 95) &&
		       percentile_is_counted(x, n, 99) &&
		       percentile_is_counted(x, n, 100);
	ok(good, "p50, p95 and p99 of 1 to 1000 values are right");

	ok(stats_jain(x, 0) == 1, "Jain's index of no values is 1");
	for (size_t i = 0; i < 8; i++)
		x[i] = 3;
	ok(stats_jain(x, 8) == 1, "Jain's index of equal values is 1");
	for (size_t i = 1; i < 8; i++)
		x[i] = 0;
	ok(stats_jain(x, 8) == 0.125, "Jain's index is 1/n if one of n values "
	    "is not 0");
	ok(stats_jain(x + 1, 7) == 1, "Jain's index of zeros is 1");
	x[0] = x[1] = 1;
	x[2] = 4;
	ok(stats_jain(x, 3) == 36 / 54., "Jain's index of 1, 1 and 4 is two "
	    "thirds");
	good = true;
	for (int run = 0; run < 100; run++) {
		double index, twin;

		for (size_t i = 0; i < 9; i++)
			x[i] = rng_uniform(&r, 0, 1e9);
		index = stats_jain(x, 9);
		for (size_t i = 0; i < 9; i++)
			x[i] *= 1024;
		twin = stats_jain(x, 9);
		good = good && index == twin && index >= 1 / 9. && index <= 1;
	}
	ok(good, "Jain's index lies between 1/n and 1 and does not depend on "
	    "the unit");
	return tap_end();
}
