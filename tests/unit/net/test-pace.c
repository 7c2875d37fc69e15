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

	ok(pace_sleep_ns(100, 100) == 0, "at the mark: no sleep");
	ok(pace_sleep_ns(101, 100) == 0, "past it: no sleep");
	ok(pace_sleep_ns(most, 0) == 0, "long past it: no sleep");
	ok(pace_sleep_ns(100, 100 + s) == 0, "near it: no sleep, poll");
	ok(pace_sleep_ns(100, 99 + s) == 0, "nearer: no sleep either");
	ok(pace_sleep_ns(100, 101 + s) == 1, "one earlier: sleep for one");
	ok(pace_sleep_ns(0, most) == most - s, "as far off as can be");
	for (uint64_t now = 0; now < 300000; now += 77) {
		uint64_t wake = now + pace_sleep_ns(now, 200000);

		early = early && wake >= now &&
		    (wake == now || wake + s == 200000);
	}
	ok(early, "any sleep ends so long before the mark, never after");
	return tap_end();
}
