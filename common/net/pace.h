/*
 * pace.h - be on time: sleep short of the mark, spin the rest
 *
 * A sleeping process wakes 30 to 130 us late.  Who must act at deadline_ns asks
 * how long to sleep, and is told 0 (poll, do not sleep) near the mark.
 */
#ifndef INNET_NET_PACE_H
#define INNET_NET_PACE_H

#include <stdint.h>

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
