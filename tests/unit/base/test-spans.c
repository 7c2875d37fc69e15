/* Spans against what they were made of. */
#include "common/base/spans.h"
#include "tests/unit/tap.h"

int
main(void)
{
	struct spans s;

	ok(spans_init(&s), "there is memory");
	ok(spans_mean(&s) == 0 && spans_percentile(&s, 0.5) == 0,
	    "nothing of none");
	for (uint64_t i = 100; i > 0; i--)
		spans_add(&s, i);
	ok(spans_mean(&s) == 50 && s.count == 100, "the mean of 1 to 100");
	ok(spans_percentile(&s, 0.1) == 10 && spans_percentile(&s, 0.9) == 90,
	    "its percentiles");
	spans_add(&s, 1000000);
	ok(spans_percentile(&s, 0.5) == 51 && spans_percentile(&s, 1) ==
	    1000000, "asking keeps the order of coming");
	for (uint64_t i = 0; i < SPANS_KEPT; i++)
		spans_add(&s, 7);
	ok(spans_percentile(&s, 1) == 7, "the oldest go first");
	ok(s.count == SPANS_KEPT + 101, "all are counted");
	ok(spans_mean(&s) == (5050 + 1000000 + 7 * (uint64_t)SPANS_KEPT) /
	    (SPANS_KEPT + 101), "and the mean is of all");
	spans_free(&s);
	ok(s.ns == NULL, "memory is given back");
	return tap_end();
}
