/*
 * Compiler optimizations that change the results of environments.  This file is
 * built with the flags of cmd/innet-agent/env, which prevent them.
 * tests/unit/env-compilers.sh builds it at every -O, with and without these
 * flags.
 */
#include <math.h>

#include "tests/unit/tap.h"

static volatile double tenth = 0.1, third = 1.0 / 3;

/* gcc 12 stores the doubles without rounding if it stores two at once. */
__attribute__((noinline)) static void
round_pair(double s[2], double x, double v)
{
	s[0] = (float)x;
	s[1] = (float)v;
}

__attribute__((noinline)) static double
square(double x)
{
	return pow(x, 2);
}

__attribute__((noinline)) static double
multiply_add(double x, double y, double z)
{
	return x * y + z;
}

/* Find the least x = 1 + n / 2^20 whose pow(x, 2) is not x * x. */
static double
odd_square(void)
{
	double (*volatile real)(double, double) = pow;
	double x = 1;

	for (int n = 0; n < 1 << 20; n++) {
		volatile double xx;

		x = 1 + (n + third) / (1 << 20);
		xx = x * x;
		if (real(x, 2) != xx)
			break;
	}
	return x;
}

int
main(void)
{
	double (*volatile real)(double, double) = pow;
	const double odd = odd_square();
	volatile float x = (float)tenth, v = (float)third;
	volatile double product = tenth * third, sum = product - third / 10;
	double s[2];

	round_pair(s, tenth, third);
	ok(s[0] == x && s[1] == v,
	    "a pair of doubles is rounded to floats (-fno-tree-slp-vectorize)");
	ok(square(odd) == real(odd, 2),
	    "pow(x, 2) calls the library (-fno-builtin-pow)");
	ok(multiply_add(tenth, third, -third / 10) == sum,
	    "a product is rounded before it is added (-ffp-contract=off)");
	return tap_end();
}
