/*
 * Test the clock of a live plane: wall-clock timestamps on a clock that is not
 * the wall clock.
 */
#include "common/net/timer.h"
#include "tests/unit/tap.h"

/* Return a clock last read at 1000 s of plane time and at wall_ns. */
static struct clock
clock_read_at(uint64_t wall_ns)
{
	return (struct clock){ .now_ns = 1000000000000u, .wall_ns = wall_ns };
}

static void
test_stamps(void)
{
	const uint64_t now = 1000000000000u, wall = 50 * now, hour =
	    3600 * (uint64_t)TIMER_SECOND_NS;
	const struct clock c = clock_read_at(wall);

	ok(clock_arrival_ns(&c, wall, 0) == now,
	    "a packet stamped now arrived now");
	ok(clock_arrival_ns(&c, wall - 700, 0) == now - 700,
	    "a packet stamped 700 ns ago arrived 700 ns ago");
	ok(clock_arrival_ns(&c, wall - 700, now - 700) == now - 700 &&
	    clock_arrival_ns(&c, wall - 700, now - 699) == now - 699 &&
	    clock_arrival_ns(&c, wall - 700, now - 701) == now - 700,
	    "a packet does not arrive before the last event");
	ok(clock_arrival_ns(&c, wall + 1, 0) == now &&
	    clock_arrival_ns(&c, wall + hour, now - 5) == now,
	    "if the wall clock was set back, a packet does not arrive after "
	    "now");
	ok(clock_arrival_ns(&c, wall - hour, now - 5) == now - 5 &&
	    clock_arrival_ns(&c, 0, now - 5) == now - 5,
	    "if the wall clock was set ahead, a packet does not arrive before "
	    "the last event");
	ok(clock_arrival_ns(&c, wall - 700, now) == now &&
	    clock_arrival_ns(&c, wall, now + 9) == now + 9,
	    "an event after the reading remains the last");
}

/* Readings of the clock do not decrease. */
static void
test_readings(void)
{
	struct clock c = clock_start();
	const uint64_t base = c.base_ns, wall = timer_wall_ns();
	uint64_t last = 0;
	bool good = true;

	for (int i = 0; i < 1000; i++) {
		const uint64_t now = clock_read(&c);

		good = good && now >= last && c.now_ns == now &&
		    c.base_ns == base && clock_now(&c) >= now;
		last = now;
	}
	ok(good, "the clock does not go back");
	ok(c.now_ns + TIMER_SECOND_NS * (uint64_t)600 > wall && c.now_ns <
	    wall + TIMER_SECOND_NS * (uint64_t)600,
	    "the clock begins at the wall clock's time");
}

int
main(void)
{
	test_stamps();
	test_readings();
	return tap_end();
}
