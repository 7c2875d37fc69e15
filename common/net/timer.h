/*
 * timer.h - clocks and deadlines for live tools
 *
 * The only header that reads a clock.  Wall time (CLOCK_REALTIME, ns since the
 * epoch) stamps packets and drives the machines, as the kernel's own stamps
 * do; monotonic time measures waits.
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

static inline uint64_t
timer_from_timespec(const struct timespec *ts)
{
	return (uint64_t)ts->tv_sec * TIMER_SECOND_NS + (uint64_t)ts->tv_nsec;
}

static inline uint64_t
timer_wall_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return timer_from_timespec(&ts);
}

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

/* The earlier of two deadlines. */
static inline uint64_t
timer_earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* now + span, TIMER_NEVER if span is or the sum would pass it. */
static inline uint64_t
timer_after(uint64_t now_ns, uint64_t span_ns)
{
	return span_ns > TIMER_NEVER - now_ns ? TIMER_NEVER : now_ns + span_ns;
}

/*
 * Block SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGALRM and SIGCHLD but inside
 * ppoll(2), so that none is lost between a test and a wait.  The mask to give
 * ppoll is in *wait.
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
 * Let in the signals that wait.  ppoll() does so only when it has to sleep: a
 * loop that always finds a packet would not hear that it is to stop.
 */
static inline void
timer_deliver_signals(const sigset_t *wait)
{
	sigset_t had;

	sigprocmask(SIG_SETMASK, wait, &had);
	sigprocmask(SIG_SETMASK, &had, NULL);
}

struct clock {
	uint64_t base_ns;	/* wall - monotonic, at the start */
	uint64_t now_ns, wall_ns;	/* both, read together last */
};

static inline uint64_t
clock_now(const struct clock *c)
{
	return timer_mono_ns() + c->base_ns;
}

/* Read both clocks: now, for what was received of late. */
static inline uint64_t
clock_read(struct clock *c)
{
	c->wall_ns = timer_wall_ns();
	c->now_ns = clock_now(c);
	return c->now_ns;
}

static inline struct clock
clock_start(void)
{
	struct clock c = { .base_ns = timer_wall_ns() - timer_mono_ns() };

	clock_read(&c);
	return c;
}

/*
 * When a packet came that the kernel stamped by the wall clock: not before
 * `last_ns`, and not after the last reading.
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

/* How long to sleep at now_ns so as to wake before deadline_ns, but not by
 * much. */
static inline uint64_t
pace_sleep_ns(uint64_t now_ns, uint64_t deadline_ns)
{
	if (deadline_ns <= now_ns || deadline_ns - now_ns <= PACE_SPIN_NS)
		return 0;
	return deadline_ns - now_ns - PACE_SPIN_NS;
}

#endif
