/* Compare log and exp with libm, and random draws with their moments. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "common/base/draw.h"
#include "common/base/logexp.h"
#include "common/base/powers.h"
#include "common/base/stats.h"
#include "tests/unit/tap.h"

enum { DRAWS = 200000 };

static double x[DRAWS];

/* Return the distance of a from b in units of b's last place. */
static double
ulps_between(double a, double b)
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
		e = ulps_between(logexp_log(v), log(v));
		if (e > worst)
			worst = e;
	}
	ok(worst <= 3, "log is within 3 ulp of libm (%.2f)", worst);
	ok(logexp_log(1) == 0, "log 1 is 0");
	ok(ulps_between(logexp_log(0x1p-53), log(0x1p-53)) <= 3,
	    "the log of the smallest draw is within 3 ulp of libm");
}

static void
test_exp(void)
{
	struct rng r = rng_seed(2);
	double worst = 0, v, e;

	for (int i = 0; i < 1000000; i++) {
		v = rng_uniform(&r, i % 2 ? -700 : -1, i % 2 ? 700 : 1);
		e = ulps_between(logexp_exp(v), exp(v));
		if (e > worst)
			worst = e;
	}
	ok(worst <= 3, "exp is within 3 ulp of libm (%.2f)", worst);
	ok(logexp_exp(0) == 1, "exp 0 is 1");
	ok(logexp_exp(-746) == 0 && logexp_exp(-744) > 0,
	    "exp of a small number underflows to 0");
	ok(isinf(logexp_exp(710)) && isfinite(logexp_exp(709)),
	    "exp of a large number overflows to infinity");
}

static void
test_pow(void)
{
	struct rng r = rng_seed(5);
	double worst = 0, v, y, e;

	for (int i = 0; i < 1000000; i++) {
		v = ldexp(rng_uniform(&r, 0.5, 1), (int)rng_below(&r, 270) -
		    140);
		y = i % 4 == 0 ? 0.6 : rng_uniform(&r, -4, 4);
		e = fabs(logexp_pow(v, y) / pow(v, y) - 1);
		worst = e > worst ? e : worst;
	}
	ok(worst <= 1e-11, "pow is within 1e-11 of libm (%.1e)", worst);
	ok(logexp_pow(1, 0.6) == 1 && logexp_pow(7, 0) == 1,
	    "1 to any power and any number to the power 0 are 1");
}

/* Powers computed together have the same bits as those computed one by one. */
static void
test_powers(void)
{
	enum { MANY = 1003 };
	struct rng r = rng_seed(6);
	double v[MANY], each[MANY];
	size_t bad = 0;

	for (int round = 0; round < 1000; round++) {
		const double y = rng_uniform(&r, -4, 4);
		const size_t n = rng_below(&r, MANY + 1);

		for (size_t i = 0; i < n; i++) {
			v[i] = ldexp(rng_uniform(&r, 0.5, 1),
			    (int)rng_below(&r, 280) - 150);
			each[i] = logexp_pow(v[i], y);
		}
		powers(v, n, y);
		bad += memcmp(v, each, n * sizeof(*v)) != 0;
	}
	ok(bad == 0, "powers computed together equal powers computed one by "
	    "one, to the bit");
}

/* Return the share of the draws that are at most `at`. */
static double
share_below(double at)
{
	size_t n = 0;

	for (size_t i = 0; i < DRAWS; i++)
		n += x[i] <= at;
	return (double)n / DRAWS;
}

static bool
is_near(double a, double b, double by)
{
	return fabs(a - b) <= by;
}

static void
test_draws(void)
{
	struct rng r = rng_seed(3);

	for (size_t i = 0; i < DRAWS; i++)
		x[i] = draw_exponential(&r);
	ok(is_near(stats_mean(x, DRAWS), 1, 0.01),
	    "exponential draws have mean 1");
	ok(is_near(stats_sd(x, DRAWS), 1, 0.015),
	    "exponential draws have standard deviation 1");
	ok(is_near(share_below(1), 1 - exp(-1), 0.005),
	    "the share of exponential draws up to 1 is right");
	for (size_t i = 0; i < DRAWS; i++)
		x[i] = draw_normal(&r);
	ok(is_near(stats_mean(x, DRAWS), 0, 0.01), "normal draws have mean 0");
	ok(is_near(stats_sd(x, DRAWS), 1, 0.01),
	    "normal draws have standard deviation 1");
	ok(is_near(share_below(-1.959964), 0.025, 0.002),
	    "the share of normal draws up to -1.96 is right");
	for (size_t i = 0; i < DRAWS; i++)
		x[i] = draw_lognormal(&r, 1);
	ok(is_near(stats_mean(x, DRAWS), 1, 0.03),
	    "lognormal draws have mean 1");
	ok(is_near(share_below(exp(-0.5)), 0.5, 0.005),
	    "lognormal draws have median e^-1/2");
}

/* Draws have the same known bits on every machine. */
static void
test_bits(void)
{
	struct rng r = rng_seed(7);
	uint64_t sum = 0, pows = 0, bits;
	double v;

	for (int i = 0; i < 30000; i++) {
		v = i % 3 == 0 ? draw_exponential(&r) :
		    i % 3 == 1 ? draw_normal(&r) : draw_lognormal(&r, 0.5);
		memcpy(&bits, &v, sizeof(bits));
		sum = (sum << 5 | sum >> 59) ^ bits;
	}
	for (int i = 0; i < 10000; i++) {
		v = logexp_pow(rng_double(&r) + 0x1p-60, 0.6);
		memcpy(&bits, &v, sizeof(bits));
		pows = (pows << 5 | pows >> 59) ^ bits;
	}
	ok(pows == 0xc10006d6fe5a3dfe, "powers have known bits (%#llx)",
	    (unsigned long long)pows);
	ok(sum == 0x6723781ba6b95aaf, "draws have known bits (%#llx)",
	    (unsigned long long)sum);
}

int
main(void)
{
	test_log();
	test_exp();
	test_pow();
	test_powers();
	test_draws();
	test_bits();
	return tap_end();
}
