/*
 * Test that a pacing wait sleeps until shortly before its time, and polls the
 * rest.
 */
#include "common/net/timer.h"
#include "tests/unit/tap.h"

int
main(void)
{
	const uint64_t s = PACE_SPIN_NS, most = UINT64_MAX;
	bool early = true;

	ok(pace_sleep_ns(100, 100) == 0, "a wait at its time does not sleep");
	ok(pace_sleep_ns(101, 100) == 0, "a wait after its time does not "
	    "sleep");
	ok(pace_sleep_ns(most, 0) == 0, "a wait long after its time does not "
	    "sleep");
	ok(pace_sleep_ns(100, 100 + s) == 0, "a wait shortly before its time "
	    "polls");
	ok(pace_sleep_ns(100, 99 + s) == 0, "a wait still closer to its time "
	    "polls");
	ok(pace_sleep_ns(100, 101 + s) == 1, "a wait one nanosecond earlier "
	    "sleeps for one");
	ok(pace_sleep_ns(0, most) == most - s, "the longest wait sleeps");
	for (uint64_t now = 0; now < 300000; now += 77) {
		uint64_t wake = now + pace_sleep_ns(now, 200000);

		early = early && wake >= now &&
		    (wake == now || wake + s == 200000);
	}
	ok(early, "every sleep ends shortly before the time of the wait");
	return tap_end();
}
