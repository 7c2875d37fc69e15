/* Test how long a process polls before it sleeps. */
#include <time.h>
#include <unistd.h>

#include "common/net/spin.h"
#include "tests/unit/tap.h"

enum { MS = 1000000 };

static void
test_time(void)
{
	struct spin s = { .ns = 5 * MS };

	ok(!spin_is_on(&s, 100 * MS), "before the first packet it sleeps");
	spin_note(&s, 100 * MS);
	ok(spin_is_on(&s, 105 * MS - 1) && !spin_is_on(&s, 105 * MS),
	    "it polls for the given time after a packet, and then it sleeps");
	s = (struct spin){ 0 };
	spin_note(&s, 100 * MS);
	ok(!spin_is_on(&s, 100 * MS), "with time 0 it never polls");
}

static void
test_one_processor(void)
{
	cpu_set_t all, one;
	int first = 0;

	sched_getaffinity(0, sizeof(all), &all);
	while (!CPU_ISSET(first, &all))
		first++;
	CPU_ZERO(&one);
	CPU_SET(first, &one);
	sched_setaffinity(0, sizeof(one), &one);
	ok(spin_for(5 * MS).ns == 0, "with one processor it never polls");
	sched_setaffinity(0, sizeof(all), &all);
	ok(spin_for(5 * MS).ns == (CPU_COUNT(&all) > 1 ? 5 * MS : 0),
	    "with more processors it does");
}

/* Return the processor time of this process, in ns. */
static uint64_t
used_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return timer_from_timespec(&ts);
}

/* Return the processor time of a wait of 50 ms, in which s polls or sleeps. */
static uint64_t
wait_for_nothing(struct spin *s)
{
	const uint64_t begin = used_ns();
	sigset_t none;

	sigemptyset(&none);
	spin_poll(s, NULL, 0, 50 * MS, &none, timer_mono_ns());
	return used_ns() - begin;
}

static void
test_processor_time(void)
{
	struct spin s = { .ns = 50 * MS };
	const uint64_t sleeping = wait_for_nothing(&s);
	uint64_t polling;

	spin_note(&s, timer_mono_ns());
	polling = wait_for_nothing(&s);
	ok(polling > 5 * sleeping, "polling takes more processor time than "
	    "sleeping");
	note("%.3f ms and %.3f ms", (double)polling / MS,
	    (double)sleeping / MS);
}

static void
test_poll(void)
{
	const uint64_t begin = timer_mono_ns();
	struct spin s = { .ns = 2 * MS };
	struct pollfd p = { .events = POLLIN };
	sigset_t none;
	int fd[2];

	sigemptyset(&none);
	if (pipe(fd) == -1)
		return;
	p.fd = fd[0];
	ok(spin_poll(&s, &p, 1, 3 * MS, &none, begin) == 0 &&
	    timer_mono_ns() - begin >= 3 * MS && s.until_ns == 0,
	    "if nothing arrives, it waits for the whole time");
	spin_note(&s, timer_mono_ns());
	ok(spin_poll(&s, &p, 1, 0, &none, timer_mono_ns()) == 0,
	    "it does not poll for longer than it may wait");
	ok(write(fd[1], "x", 1) == 1 && spin_poll(&s, &p, 1, 1000 * MS, &none,
	    timer_mono_ns()) == 1 && (p.revents & POLLIN) != 0,
	    "it finds what has arrived");
	ok(s.until_ns > begin + 2 * MS, "then it polls again");
	close(fd[0]);
	close(fd[1]);
}

int
main(void)
{
	test_time();
	test_one_processor();
	test_processor_time();
	test_poll();
	return tap_end();
}
