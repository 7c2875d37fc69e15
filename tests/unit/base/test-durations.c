/*
 * Compare means and percentiles of durations with the values that were added.
 */
#include "common/base/durations.h"
#include "tests/unit/tap.h"

int
main(void)
{
	struct durations s = { 0 };

	ok(durations_reserve(&s), "memory can be reserved");
	ok(durations_mean(&s) == 0 && durations_percentile(&s, 50) == 0,
	    "without durations, mean and percentile are 0");
	for (uint64_t i = 100; i > 0; i--)
		durations_add(&s, i);
	ok(durations_mean(&s) == 50 && s.all.count == 100,
	    "the mean of 1 to 100 is 50");
	ok(durations_percentile(&s, 10) == 10 &&
		durations_percentile(&s, 90) == 90,
	    "the percentiles of 1 to 100 are right");
	durations_add(&s, 1000000);
	ok(durations_percentile(&s, 50) == 51 &&
		durations_percentile(&s, 100) == 1000000,
	    "a percentile does not change the order of the durations");
	for (uint64_t i = 0; i < DURATIONS_KEPT; i++)
		durations_add(&s, 7);
	ok(durations_percentile(&s, 100) == 7, "the oldest durations leave "
	    "first");
	ok(s.all.count == DURATIONS_KEPT + 101, "all durations are counted");
	ok(durations_mean(&s) ==
		(5050 + 1000000 + 7 * (uint64_t)DURATIONS_KEPT) /
		    (DURATIONS_KEPT + 101),
	    "the mean is that of all durations");
	durations_free(&s);
	ok(s.ring == NULL, "the memory is freed");
	return tap_end();
}
