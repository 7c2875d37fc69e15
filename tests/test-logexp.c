/* log and exp against libm; draws against their moments. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "common/draw.h"
#include "common/logexp.h"
#include "common/stats.h"
#include "tests/tap.h"

enum { DRAWS = 200000 };

static double x[DRAWS];

/* How far a is from b, in units of b's last place. */
static double
ulps(double a, double b)
{
	if (a == b)
		return 0;
	return fabs(a - b) / (nextafter(fabs(b), HUGE_VAL) - fabs(b));
}

static void
test_log(void)
{
	struct rng r = rng_seed(1);
	double worst = 0, v, e;

	for (int i = 0; i < 1000000; i++) {
		v = rng_double(&r) + 0x1p-60;
		if (i % 3 == 1)
			v = 1 + (v - 0.5) * 0x1p-20;
		if (i % 3 == 2)
			v = ldexp(v + 0.5, (int)rng_below(&r, 2040) - 1020);
		e = ulps(logexp_log(v), log(v));
		if (e > worst)
			worst = e;
	}
	ok(worst <= 3, "log is within 3 ulp of libm (%.2f)", worst);
	ok(logexp_log(1) == 0, "log 1 is 0");
	ok(ulps(logexp_log(0x1p-53), log(0x1p-53)) <= 3,
	    "log of the least draw");
}

static void
test_exp(void)
{
	struct rng r = rng_seed(2);
	double worst = 0, v, e;

	for (int i = 0; i < 1000000; i++) {
		v = rng_uniform(&r, i % 2 ? -700 : -1, i % 2 ? 700 : 1);
		e = ulps(logexp_exp(v), exp(v));
		if (e > worst)
			worst = e;
	}
	ok(worst <= 3, "exp is within 3 ulp of libm (%.2f)", worst);
	ok(logexp_exp(0) == 1, "exp 0 is 1");
	ok(logexp_exp(-746) == 0 && logexp_exp(-744) > 0, "exp underflows");
	ok(isinf(logexp_exp(710)) && isfinite(logexp_exp(709)),
	    "exp overflows");
}

/* The share of the draws at or below at. */
static double
below(double at)
{
	size_t n = 0;

	for (size_t i = 0; i < DRAWS; i++)
		n += x[i] <= at;
	return (double)n / DRAWS;
}

static bool
near(double a, double b, double by)
{
	return fabs(a - b) <= by;
}

static void
test_draws(void)
{
	struct rng r = rng_seed(3);

	for (size_t i = 0; i < DRAWS; i++)
		x[i] = draw_exponential(&r);
	ok(near(stats_mean(x, DRAWS), 1, 0.01), "exponential: mean 1");
	ok(near(stats_sd(x, DRAWS), 1, 0.015), "exponential: deviation 1");
	ok(near(below(1), 1 - exp(-1), 0.005), "exponential: P(x <= 1)");
	for (size_t i = 0; i < DRAWS; i++)
		x[i] = draw_normal(&r);
	ok(near(stats_mean(x, DRAWS), 0, 0.01), "normal: mean 0");
	ok(near(stats_sd(x, DRAWS), 1, 0.01), "normal: deviation 1");
	ok(near(below(-1.959964), 0.025, 0.002), "normal: P(x <= -1.96)");
	for (size_t i = 0; i < DRAWS; i++)
		x[i] = draw_lognormal(&r, 1);
	ok(near(stats_mean(x, DRAWS), 1, 0.03), "lognormal: mean 1");
	ok(near(below(exp(-0.5)), 0.5, 0.005), "lognormal: median e^-1/2");
}

/* Draws are the same bits wherever they are made: known ones. */
static void
test_bits(void)
{
	struct rng r = rng_seed(7);
	uint64_t sum = 0, bits;
	double v;

	for (int i = 0; i < 30000; i++) {
		v = i % 3 == 0 ? draw_exponential(&r) :
		    i % 3 == 1 ? draw_normal(&r) : draw_lognormal(&r, 0.5);
		memcpy(&bits, &v, sizeof(bits));
		sum = (sum << 5 | sum >> 59) ^ bits;
	}
	ok(sum == 0x6723781ba6b95aaf, "30000 draws are known to the bit (%#llx)",
	    (unsigned long long)sum);
}

int
main(void)
{
	test_log();
	test_exp();
	test_draws();
	test_bits();
	return tap_end();
}
