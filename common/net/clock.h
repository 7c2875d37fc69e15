/*
 * clock.h - the clock of a live plane: monotonic, with a base
 *
 * It begins at the wall's time and never looks at it again, so that nothing
 * stands still or jumps when the wall clock is set.  The kernel stamps what it
 * receives by the wall; how long ago that was is the same on either clock, as
 * long as nobody sets the wall's in between, and the result is bounded by what
 * happened before and by now in any case.
 */
#ifndef INNET_NET_CLOCK_H
#define INNET_NET_CLOCK_H

#include <stdint.h>

#include "common/net/timer.h"

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
clock_of(const struct clock *c, uint64_t stamp_ns, uint64_t last_ns)
{
	const uint64_t ago = stamp_ns < c->wall_ns ? c->wall_ns - stamp_ns :
	    0;

	if (c->now_ns <= last_ns || ago >= c->now_ns - last_ns)
		return last_ns;
	return c->now_ns - ago;
}

#endif
