/*
 * timer.h - clocks, deadlines and signals for live tools
 *
 * This is the only header that reads a clock.  Like the timestamps of the
 * kernel, the timestamps of packets are wall-clock times (CLOCK_REALTIME, in ns
 * since the epoch).  Waits are measured in monotonic time.
 *
 * A live data plane uses a struct clock, which starts at the wall-clock time
 * and then follows the monotonic clock.  So it does not jump when the wall
 * clock is set.  The kernel uses the wall clock for the timestamps of received
 * packets.  To convert such a timestamp, clock_arrival_ns() subtracts the age
 * of the packet from the current time.  The age is the same on both clocks
 * unless the wall clock was set after the packet arrived.  The converted time
 * is never before the last event and never after the current time.
 *
 * A sleeping process wakes up 30 to 130 us late.  A loop that must act exactly
 * at a deadline sleeps for pace_sleep_ns() and then polls until the deadline.
 */
#ifndef INNET_NET_TIMER_H
#define INNET_NET_TIMER_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define TIMER_NEVER UINT64_MAX
#define TIMER_SECOND_NS 1000000000u
#define TIMER_SIGNALS_NS 10000000u	/* longest delay of a signal, in ns */

static inline uint64_t
timer_from_timespec(const struct timespec *ts)
{
	return (uint64_t)ts->tv_sec * TIMER_SECOND_NS + (uint64_t)ts->tv_nsec;
}

/* Return the wall-clock time in ns since the epoch. */
static inline uint64_t
timer_wall_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return timer_from_timespec(&ts);
}

/* Return the monotonic time in ns. */
static inline uint64_t
timer_mono_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return timer_from_timespec(&ts);
}

static inline struct timespec
timer_to_timespec(uint64_t ns)
{
	return (struct timespec){ (time_t)(ns / TIMER_SECOND_NS),
	    (long)(ns % TIMER_SECOND_NS) };
}

/* Return the earlier of two deadlines. */
static inline uint64_t
timer_earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/*
 * Return now_ns + span_ns.  Returns TIMER_NEVER if span_ns is TIMER_NEVER or if
 * the sum would be larger than TIMER_NEVER.
 */
static inline uint64_t
timer_after(uint64_t now_ns, uint64_t span_ns)
{
	return span_ns > TIMER_NEVER - now_ns ? TIMER_NEVER : now_ns + span_ns;
}

/*
 * Block SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGALRM and SIGCHLD except inside
 * ppoll(2), so that no signal is lost between a test and a wait.  `handler`
 * handles these signals.  Sets *wait to the signal mask for ppoll().  SIGPIPE
 * is ignored.
 */
static inline void
timer_block_signals(void (*handler)(int), sigset_t *wait)
{
	const int sigs[] = { SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGALRM,
	    SIGCHLD };
	struct sigaction sa = { .sa_handler = handler };
	sigset_t block;

	sigemptyset(&block);
	for (size_t i = 0; i < sizeof(sigs) / sizeof(*sigs); i++) {
		sigaddset(&block, sigs[i]);
		sigaction(sigs[i], &sa, NULL);
	}
	signal(SIGPIPE, SIG_IGN);
	sigprocmask(SIG_BLOCK, &block, wait);
	for (size_t i = 0; i < sizeof(sigs) / sizeof(*sigs); i++)
		sigdelset(wait, sigs[i]);
}

/*
 * Deliver the pending signals.  ppoll() delivers signals only if it sleeps.  So
 * if a loop always finds a packet, it would never notice without this function
 * that it must stop.
 */
static inline void
timer_deliver_signals(const sigset_t *wait)
{
	sigset_t had;

	sigprocmask(SIG_SETMASK, wait, &had);
	sigprocmask(SIG_SETMASK, &had, NULL);
}

/*
 * Deliver the pending signals, but at most once in TIMER_SIGNALS_NS, to save
 * two system calls for each packet.  *last_ns is the time of the last delivery,
 * which this function updates; the caller sets it to 0 at first.
 */
static inline void
timer_deliver_signals_now_and_then(const sigset_t *wait, uint64_t now_ns,
    uint64_t *last_ns)
{
	if (*last_ns != 0 && now_ns - *last_ns < TIMER_SIGNALS_NS)
		return;
	*last_ns = now_ns;
	timer_deliver_signals(wait);
}

struct clock {
	uint64_t base_ns; /* wall-clock time minus monotonic time */
	uint64_t now_ns, wall_ns;	/* at the last clock_read() */
};

/* Return the current time of the clock. */
static inline uint64_t
clock_now(const struct clock *c)
{
	return timer_mono_ns() + c->base_ns;
}

/*
 * Read the wall clock and clock c, so that clock_arrival_ns() can convert the
 * timestamps of packets that were just received.  Returns the time of clock c.
 */
static inline uint64_t
clock_read(struct clock *c)
{
	c->wall_ns = timer_wall_ns();
	c->now_ns = clock_now(c);
	return c->now_ns;
}

/* Return a clock that starts now at the wall-clock time. */
static inline struct clock
clock_start(void)
{
	struct clock c = { .base_ns = timer_wall_ns() - timer_mono_ns() };

	clock_read(&c);
	return c;
}

/*
 * Convert a kernel timestamp to the time of the clock.  The result is not
 * before last_ns and not after the last clock_read().
 */
static inline uint64_t
clock_arrival_ns(const struct clock *c, uint64_t stamp_ns, uint64_t last_ns)
{
	const uint64_t ago = stamp_ns < c->wall_ns ? c->wall_ns - stamp_ns :
	    0;

	if (c->now_ns <= last_ns || ago >= c->now_ns - last_ns)
		return last_ns;
	return c->now_ns - ago;
}

enum { PACE_SPIN_NS = 60000 };

/*
 * Return how long a process that falls asleep at now_ns must sleep in order to
 * wake up shortly before deadline_ns.  Returns 0 if the deadline is near or has
 * passed.
 */
static inline uint64_t
pace_sleep_ns(uint64_t now_ns, uint64_t deadline_ns)
{
	if (deadline_ns <= now_ns || deadline_ns - now_ns <= PACE_SPIN_NS)
		return 0;
	return deadline_ns - now_ns - PACE_SPIN_NS;
}

#endif
