/*
 * Compare means and percentiles of durations with the values that were added.
 */
#include "common/base/durations.h"
#include "tests/unit/tap.h"

int
main(void)
{
	struct durations s = { 0 };

	ok(durations_reserve(&s), "there is memory");
	ok(durations_mean(&s) == 0 && durations_percentile(&s, 50) == 0,
	    "nothing of none");
	for (uint64_t i = 100; i > 0; i--)
		durations_add(&s, i);
	ok(durations_mean(&s) == 50 && s.all.count == 100,
	    "the mean of 1 to 100");
	ok(durations_percentile(&s, 10) == 10 &&
		durations_percentile(&s, 90) == 90,
	    "its percentiles");
	durations_add(&s, 1000000);
	ok(durations_percentile(&s, 50) == 51 &&
		durations_percentile(&s, 100) == 1000000,
	    "asking keeps the order of coming");
	for (uint64_t i = 0; i < DURATIONS_KEPT; i++)
		durations_add(&s, 7);
	ok(durations_percentile(&s, 100) == 7, "the oldest go first");
	ok(s.all.count == DURATIONS_KEPT + 101, "all are counted");
	ok(durations_mean(&s) ==
		(5050 + 1000000 + 7 * (uint64_t)DURATIONS_KEPT) /
		    (DURATIONS_KEPT + 101),
	    "and the mean is of all");
	durations_free(&s);
	ok(s.ring == NULL, "memory is given back");
	return tap_end();
}
