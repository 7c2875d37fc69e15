/*
 * spin.h - wait for packets: first by polling for a bounded time, then by
 * sleeping
 *
 * The kernel needs some microseconds to wake a process that sleeps.  While
 * packets follow each other quickly, a process with a processor of its own
 * answers sooner if it keeps polling.  It polls only for a bounded time after
 * the last packet, so an idle process always sleeps.  On a machine with one
 * processor it never polls, because the other end could not run.
 */
#ifndef INNET_NET_SPIN_H
#define INNET_NET_SPIN_H

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/net/timer.h"

#define SPIN_MAX_NS TIMER_SECOND_NS	/* longest time of --spin */

struct spin {
	uint64_t ns;			/* how long to poll after the last
					 * packet; 0: never */
	uint64_t until_ns;		/* monotonic time; poll until then */
};

/*
 * Poll for ns after a packet, but never if this process may use only one
 * processor.
 */
static inline struct spin spin_for(uint64_t ns);

/* Is it still worth polling at now_ns (monotonic)? */
static inline bool spin_is_on(const struct spin *s, uint64_t now_ns);

/* Packets arrived at now_ns (monotonic), so poll for some time from now on. */
static inline void spin_note(struct spin *s, uint64_t now_ns);

/*
 * Wait like ppoll(2) for at most sleep_ns.  now_ns is the monotonic time.  The
 * result and errno are those of ppoll(2).
 */
static inline int spin_poll(struct spin *s, struct pollfd *p, nfds_t n,
    uint64_t sleep_ns, const sigset_t *mask, uint64_t now_ns);

/* implementation */

static inline struct spin
spin_for(uint64_t ns)
{
	cpu_set_t set;

	if (ns > 0 && sched_getaffinity(0, sizeof(set), &set) == 0 &&
	    CPU_COUNT(&set) == 1)
		ns = 0;
	return (struct spin){ .ns = ns };
}

static inline bool
spin_is_on(const struct spin *s, uint64_t now_ns)
{
	return now_ns < s->until_ns;
}

static inline void
spin_note(struct spin *s, uint64_t now_ns)
{
	s->until_ns = now_ns + s->ns;
}

static inline int
spin_poll(struct spin *s, struct pollfd *p, nfds_t n, uint64_t sleep_ns,
    const sigset_t *mask, uint64_t now_ns)
{
	const uint64_t due_ns = timer_after(now_ns, sleep_ns);
	struct timespec ts = { 0 };
	int got;

	while (spin_is_on(s, now_ns) && now_ns < due_ns) {
		got = ppoll(p, n, &ts, mask);
		now_ns = timer_mono_ns();
		if (got > 0)
			spin_note(s, now_ns);
		if (got != 0)
			return got;
	}
	ts = timer_to_timespec(due_ns > now_ns ? due_ns - now_ns : 0);
	got = ppoll(p, n, &ts, mask);
	if (got > 0 && s->ns > 0)
		spin_note(s, timer_mono_ns());
	return got;
}

#endif
