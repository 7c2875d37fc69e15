/* Compare decimal numbers with strtod(3) and printf(3). */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/decimal.h"
#include "common/base/rng.h"
#include "tests/unit/tap.h"

enum { ROUNDS = 400000 };

/* Compare with strtod(3); count the texts that the module leaves to it. */
static bool
reads_as_strtod(const char *s, unsigned *left)
{
	double got = -1;
	const double want = strtod(s, NULL);

	if (!decimal_read(s, &got)) {
		*left += 1;
		return true;
	}
	if (memcmp(&got, &want, sizeof(got)) == 0)
		return true;
	fprintf(stderr, "# %s: %a, not %a\n", s, got, want);
	return false;
}

/* Print x in one of six ways, which `way` chooses. */
static void
print_number(char *s, size_t room, unsigned way, double x)
{
	switch (way % 6) {
	case 0: snprintf(s, room, "%.9g", x); break;
	case 1: snprintf(s, room, "%.17g", x); break;
	case 2: snprintf(s, room, "%.3f", x); break;
	case 3: snprintf(s, room, "%.0f", x); break;
	case 4: snprintf(s, room, "%.5e", x); break;
	default: snprintf(s, room, "%g", x); break;
	}
}

static void
test_read(void)
{
	struct rng rng = rng_seed(5);
	unsigned left = 0;
	bool good = true;
	char s[400];

	for (unsigned i = 0; i < ROUNDS; i++) {
		const double x = ldexp(rng_double(&rng),
		    (int)rng_below(&rng, 160) - 80);

		print_number(s, sizeof(s), i, x);
		good &= reads_as_strtod(s, &left);
	}
	ok(good, "%u texts give the same numbers as strtod(3)", ROUNDS);
	ok(left < ROUNDS / 2, "the module converts most texts itself (not "
	    "%u)", left);
}

static void
test_edges(void)
{
	static const char *const numbers[] = { "0", "0.0", "5.", ".5", "1e22",
	    "1e-22", "1E+5", "900719925474098", "90071992547409.1e3",
	    "0.000000000000000000001", "3e0", "007", "123456789e-11" };
	static const char *const none[] = { "", ".", "e5", "-1", "+1", "1e",
	    "1e+", "1.2.3", "1x", " 1", "1 ", "nan", "inf", "0x1", "1e23",
	    "1e-23", "99999999999999999999", "1e100", "1-1",
	    "1e99999999999999999999", "0.99999999999999999999" };
	unsigned left = 0;
	bool good = true;
	double v = 7;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		good &= reads_as_strtod(numbers[i], &left);
	ok(good && left == 0, "numbers at the limits are right");
	good = true;
	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++)
		good &= !decimal_read(none[i], &v) && v == 7;
	ok(good, "the module leaves other texts to strtod(3)");
}

/* Compare with printf(3), and read the text again. */
static bool
writes_as_printf(float x)
{
	char got[DECIMAL_TEXT], want[40];
	const size_t n = decimal_put(got, x);

	snprintf(want, sizeof(want), "%.9g", (double)x);
	if (n == strlen(want) && strcmp(got, want) == 0 &&
	    (x != x || strtof(got, NULL) == x))
		return true;
	fprintf(stderr, "# %s, not %s\n", got, want);
	return false;
}

static void
test_put(void)
{
	struct rng rng = rng_seed(6);
	bool good = true;
	float x;

	for (unsigned i = 0; i < ROUNDS; i++) {
		const uint32_t bits = (uint32_t)rng_below(&rng, UINT32_MAX);

		memcpy(&x, &bits, sizeof(x));
		good &= writes_as_printf(x) &&
			writes_as_printf((float)rng_double(&rng)) &&
			writes_as_printf((float)rng_below(&rng, 1 << 20) / 64);
	}
	ok(good, "%u floats are printed as by printf(3)", 3 * ROUNDS);
	good = writes_as_printf(0) && writes_as_printf(-0.0f) &&
	       writes_as_printf(INFINITY) && writes_as_printf(NAN) &&
	       writes_as_printf(FLT_MAX) && writes_as_printf(FLT_MIN) &&
	       writes_as_printf(FLT_TRUE_MIN) && writes_as_printf(16777216) &&
	       writes_as_printf(0.5f);
	for (int e = -45; e <= 38; e++) {
		x = (float)pow(10, e);
		good &= writes_as_printf(x) &&
			writes_as_printf(nextafterf(x, 0)) &&
			writes_as_printf(nextafterf(x, INFINITY));
	}
	ok(good, "numbers at the limits and powers of ten are printed as by "
	    "printf(3)");
}

int
main(void)
{
	test_read();
	test_edges();
	test_put();
	return tap_end();
}
