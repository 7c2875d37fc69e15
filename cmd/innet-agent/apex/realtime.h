/*
 * realtime.h - real-time priority for exchanges with the memory
 *
 * If more agents compute than there are processors, an agent whose reply has
 * arrived waits until the others have used their time slices.  With --realtime
 * an exchange runs in the scheduler's class fifo (sched(7)), before all threads
 * that compute.
 */
#ifndef INNET_AGENT_APEX_REALTIME_H
#define INNET_AGENT_APEX_REALTIME_H

#include <sched.h>

/* The scheduling of a thread before. */
struct realtime {
	int policy;
	struct sched_param param;
};

/* Exit with status 1 if that is not permitted. */
void realtime_check(void);

/* Give the calling thread real-time priority, and restore its scheduling. */
void realtime_begin(struct realtime *before);
void realtime_end(const struct realtime *before);

#endif
