/* Unit tests of sample-ratio.h: its limits, and that it cannot deadlock. */
#include <string.h>

#include "common/base/rng.h"
#include "cmd/innet-memory/store/sample-ratio.h"

#include "tests/unit/tap.h"

/* Under random limits inserts and samples are never both refused. */
static bool
test_no_deadlock(uint64_t seed, bool even, bool changing)
{
	struct rng rng = rng_seed(seed);
	uint64_t inserted = 0, sampled = 0, inserts = 0, samples = 0;
	const uint64_t slack = 2 + rng_below(&rng, 200);
	const uint64_t n_max = 1 + rng_below(&rng, slack - 1);
	struct sample_ratio l = { .slack = slack };
	uint64_t b_max = 0;
	bool both = false;

	for (int i = 0; i < 20000; i++) {
		uint64_t n = 1 + rng_below(&rng, n_max), b;

		if (i == 0 || (changing && i % 5000 == 0)) {
			l.hi = (double)(1 + rng_below(&rng, 500)) / 10;
			l.lo = even ? l.hi : l.hi * rng_double(&rng);
			b_max = (uint64_t)(l.hi * (double)(slack - n_max));
		}
		b = 1 + rng_below(&rng, b_max + !b_max);
		/* one side acts more often, then the other */
		if (rng_below(&rng, 8) < (i / 512 % 2 == 0 ? 1u : 7u) &&
		    sample_ratio_allows_insert(&l, inserted, sampled, n)) {
			inserted += n;
			inserts++;
		} else if (sample_ratio_allows_sample(&l, inserted, sampled,
		    b)) {
			sampled += b;
			samples++;
		}
		/* a bound below 1 allows no sample */
		both |= b_max > 0 &&
		    !sample_ratio_allows_insert(&l, inserted, sampled, n_max) &&
		    !sample_ratio_allows_sample(&l, inserted, sampled, b_max);
	}
	return !both && inserts > 100 && (samples > 100 || b_max == 0);
}

/* Samples beyond the bound (18 here) can be refused for ever. */
static bool
test_over_bound(void)
{
	const struct sample_ratio l = { .lo = 2, .hi = 2, .slack = 10 };
	uint64_t inserted = 0, sampled = 0;

	while (sample_ratio_allows_insert(&l, inserted, sampled, 1))
		inserted++;
	return inserted == 10 && sample_ratio_allows_sample(&l, 10, 0, 18) &&
	       sample_ratio_allows_sample(&l, 10, 0, 20) &&
	       !sample_ratio_allows_sample(&l, 10, 0, 21);
}

int
main(void)
{
	struct sample_ratio l = { .lo = 2, .hi = 4, .slack = 100 };
	const struct sample_ratio none = { 0 };
	bool held = true;
	char why[160];

	ok(sample_ratio_allows_insert(&l, 0, 0, 100),
	    "inserts up to the slack are always allowed");
	ok(!sample_ratio_allows_insert(&l, 0, 0, 101),
	    "one insert more is refused");
	ok(sample_ratio_allows_insert(&l, 190, 200, 10),
	    "an insert at the lower limit is allowed");
	ok(!sample_ratio_allows_insert(&l, 190, 199, 10),
	    "an insert below the lower limit is refused");
	ok(sample_ratio_allows_insert(&l, 190, 201, 10),
	    "an insert above the lower limit is allowed");
	ok(sample_ratio_allows_sample(&l, 100, 390, 10),
	    "a sample at the upper limit is allowed");
	ok(!sample_ratio_allows_sample(&l, 100, 391, 10),
	    "a sample above the upper limit is refused");
	ok(sample_ratio_allows_sample(&l, 100, 389, 10),
	    "a sample below the upper limit is allowed");
	ok(!sample_ratio_allows_sample(&l, 0, 0, 1),
	    "a sample before the first insert is refused");
	ok(sample_ratio_allows_insert(&none, 1u << 30, 0, 1000) &&
		sample_ratio_allows_sample(&none, 0, 1u << 30, 1000),
	    "limits of 0 and 0 allow everything");
	l.lo = 0;
	ok(sample_ratio_allows_insert(&l, 1u << 30, 0, 1000),
	    "without the lower limit, all inserts are allowed");
	l.hi = 0;
	ok(sample_ratio_allows_sample(&l, 0, 0, 1),
	    "without the upper limit, all samples are allowed");

	l = (struct sample_ratio){ .lo = 1, .hi = 4, .slack = 100 };
	sample_ratio_explain(&l, true, 1000, 250, 64, why, sizeof(why));
	ok(strcmp(why, "LIMIT 0.25 samples per insert, but at least 1.00 are "
	    "required: 1000 inserted, 250 sampled, 64 more requested") == 0,
	    "the reason for a refused insert is right: %s", why);
	sample_ratio_explain(&l, false, 0, 0, 1, why, sizeof(why));
	ok(strcmp(why, "LIMIT 0.00 samples per insert, but at most 4.00 are "
	    "required: 0 inserted, 0 sampled, 1 more requested") == 0,
	    "the reason for a refused sample is right: %s", why);

	ok(sample_ratio_check(&l) == NULL && sample_ratio_check(&none) == NULL,
	    "these limits are valid");
	l.lo = 4;
	ok(sample_ratio_check(&l) == NULL, "equal limits are valid");
	l.lo = nextafter(4, 5);
	ok(sample_ratio_check(&l) != NULL, "a lower limit above the upper is "
	    "invalid");
	l.hi = 0;
	ok(sample_ratio_check(&l) == NULL, "a lower limit without an upper is "
	    "valid");
	l.lo = -1;
	ok(sample_ratio_check(&l) != NULL, "a negative limit is invalid");
	l.lo = NAN;
	ok(sample_ratio_check(&l) != NULL, "a limit that is not a number is "
	    "invalid");

	for (uint64_t seed = 0; seed < 100; seed++)
		held = held && test_no_deadlock(seed, seed % 4 == 0, false);
	ok(held, "inserts and samples up to the bound are never both refused");
	ok(test_over_bound(), "inserts and samples well above the bound can "
	    "both be refused");
	held = true;
	for (uint64_t seed = 100; seed < 150; seed++)
		held = held && test_no_deadlock(seed, seed % 4 == 0, true);
	ok(held, "inserts and samples are never both refused while limits "
	    "change");
	return tap_end();
}
