/* Unit tests of arq/loss-timer.h. */
#include <stdbool.h>

#include "common/arq/loss-timer.h"

#include "tests/unit/tap.h"

#define MS UINT64_C(1000000)

static void
test_wait(void)
{
	struct loss_timer p = { 0 };
	uint64_t now = 5 * MS;

	ok(loss_timer_ns(&p, 0) == LOSS_TIMER_QUIET_NS &&
	    loss_timer_ns(&p, 2) == 4 * LOSS_TIMER_QUIET_NS &&
	    loss_timer_ns(&p, 1000) == LOSS_TIMER_CEILING_NS,
	    "without pauses a wait is 20 ms, then twice as long each time, and "
	    "1 s at most");
	loss_timer_start(&p, now);
	loss_timer_receive(&p, now += 7 * MS);
	ok(loss_timer_ns(&p, 0) == LOSS_TIMER_QUIET_NS + 14 * MS,
	    "a pause between segments adds twice its length to the wait");
	for (int i = 0; i < 10000; i++)
		loss_timer_receive(&p, now += 1000);
	ok(loss_timer_ns(&p, 0) < LOSS_TIMER_QUIET_NS + MS / 100,
	    "the timer forgets a pause with time");
	loss_timer_receive(&p, now += LOSS_TIMER_LONGEST_NS);
	ok(loss_timer_ns(&p, 0) == LOSS_TIMER_QUIET_NS + 2 *
	    LOSS_TIMER_LONGEST_NS,
	    "a pause longer than 250 ms adds twice 250 ms");
	loss_timer_receive(&p, now + LOSS_TIMER_LONGEST_NS + 1);
	ok(loss_timer_ns(&p, 0) == LOSS_TIMER_QUIET_NS + 2 *
	    LOSS_TIMER_LONGEST_NS,
	    "a second long pause adds nothing more");
}

/* One segment in 100 is lost, and arrives 1 ms after it is requested. */
static void
losses(void)
{
	struct loss_timer p = { 0 };
	uint64_t now = 0, most = 0;

	for (int k = 0; k < 1000; k++) {
		loss_timer_start(&p, now);
		for (int i = 0; i < 99; i++)
			loss_timer_receive(&p, now);
		loss_timer_request(&p, now += loss_timer_ns(&p, 0));
		loss_timer_receive(&p, now += MS);
		most = loss_timer_ns(&p, 0) > most ? loss_timer_ns(&p, 0) :
		    most;
	}
	ok(most < LOSS_TIMER_QUIET_NS + 7 * MS,
	    "a thousand losses make a wait at most a few round trips longer: "
	    "%.1f ms", (double)most / 1e6);
}

/* Count needless requests when segments arrive only every `ns`. */
static int
spurious(uint64_t ns)
{
	struct loss_timer p = { 0 };
	int n = 0;

	for (uint64_t now = 0, at; now < 1000 * ns; now += ns) {
		unsigned times = 0;

		loss_timer_start(&p, at = now);
		for (; (at += loss_timer_ns(&p, times)) < now + ns; times++,
		    n++)
			loss_timer_request(&p, at);
		loss_timer_receive(&p, now + ns);
	}
	return n;
}

static void
test_late_segments(void)
{
	ok(spurious(20 * MS) == 0 && spurious(21 * MS) == 1 &&
	    spurious(60 * MS) == 1 && spurious(250 * MS) <= 4,
	    "the timer learns pauses after a few needless requests: 21 ms "
	    "after %d, 60 ms after %d, 250 ms after "
	    "%d", spurious(21 * MS), spurious(60 * MS),
	    spurious(250 * MS));
}

int
main(void)
{
	test_wait();
	losses();
	test_late_segments();
	return tap_end();
}
