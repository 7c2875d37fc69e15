/*
 * Test deadlines at their limits, and signals that are delivered only during a
 * wait.
 */
#include <unistd.h>

#include "common/net/timer.h"
#include "tests/unit/tap.h"

static volatile sig_atomic_t got;

static void
on_signal(int sig)
{
	got = sig;
}

static void
test_deadlines(void)
{
	const uint64_t never = TIMER_NEVER;

	ok(timer_earlier(1, 2) == 1 && timer_earlier(2, 1) == 1 &&
		timer_earlier(never, 5) == 5 &&
		timer_earlier(never, never) == never,
	    "the earlier of two deadlines is chosen, and never is the latest");
	ok(timer_after(0, 0) == 0 && timer_after(5, 7) == 12,
	    "a span after now is now plus the span");
	ok(timer_after(5, never) == never, "a span after never is never");
	ok(timer_after(never - 7, 6) == never - 1,
	    "the last possible time can be a deadline");
	ok(timer_after(never - 7, 7) == never &&
	    timer_after(never - 7, 8) == never &&
	    timer_after(never, 1) == never, "a deadline beyond the last "
	    "possible time is never");
}

static bool
converts_back(uint64_t ns)
{
	const struct timespec ts = timer_to_timespec(ns);

	return ts.tv_nsec >= 0 && ts.tv_nsec < 1000000000 &&
	    timer_from_timespec(&ts) == ns;
}

static void
test_clocks(void)
{
	uint64_t a = timer_mono_ns(), b = timer_mono_ns();
	struct timespec ts;
	uint64_t wall;

	ok(converts_back(0) && converts_back(1) &&
	    converts_back(999999999) && converts_back(1000000000) &&
	    converts_back(1000000001) && converts_back(INT64_MAX),
	    "times convert to timespec and back, around a second and at the "
	    "end");
	ok(b >= a, "monotonic time does not decrease");
	clock_gettime(CLOCK_REALTIME, &ts);
	wall = timer_wall_ns();
	ok(wall / TIMER_SECOND_NS - (uint64_t)ts.tv_sec <= 60,
	    "wall time is that of the system");
}

static void
test_signals(void)
{
	static const int sigs[] = { SIGINT, SIGTERM, SIGUSR1, SIGALRM,
	    SIGCHLD };
	bool held = true, given = true;
	sigset_t wait;

	sigfillset(&wait);	/* the parent process may have blocked them */
	sigprocmask(SIG_BLOCK, &wait, NULL);
	timer_block_signals(on_signal, &wait);
	for (size_t i = 0; i < sizeof(sigs) / sizeof(*sigs); i++) {
		got = 0;
		kill(getpid(), sigs[i]);
		held = held && got == 0;
		sigsuspend(&wait);
		given = given && got == sigs[i];
	}
	ok(held, "a signal outside of a wait is held back");
	ok(given, "a signal is delivered in the wait, even if it was blocked "
	    "at the start");
	got = 0;
	raise(SIGTERM);
	timer_deliver_signals(&wait);
	ok(got == SIGTERM, "a signal is delivered as soon as it is allowed");
	got = 0;
	raise(SIGTERM);
	ok(got == 0, "afterwards a signal is held back again");
	timer_deliver_signals(&wait);
	raise(SIGPIPE);
	ok(true, "writing to a closed pipe does not end the process");
}

int
main(void)
{
	test_deadlines();
	test_clocks();
	test_signals();
	return tap_end();
}
