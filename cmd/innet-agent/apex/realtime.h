/*
 * realtime.h - exchanges before play: a class of the scheduler for a while
 *
 * Where more agents than processors compute, one whose answer has come waits
 * until those have had their slices.  With --realtime an exchange with the
 * memory is of class fifo (sched(7)), which runs before all that computes.
 */
#ifndef INNET_AGENT_APEX_REALTIME_H
#define INNET_AGENT_APEX_REALTIME_H

#include <sched.h>

/* What the thread was before. */
struct realtime {
	int policy;
	struct sched_param param;
};

/* Exits 1 where that is not allowed. */
void realtime_check(void);

/* The calling thread is urgent, until the end. */
void realtime_begin(struct realtime *before);
void realtime_end(const struct realtime *before);

#endif
