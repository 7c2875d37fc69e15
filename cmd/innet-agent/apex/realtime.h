/*
 * realtime.h - real-time priority for exchanges with the memory
 *
 * If more agents than processors compute, an agent whose reply has arrived must
 * wait until the others have used their time slices.  With --realtime, an
 * exchange runs with the scheduling policy SCHED_FIFO (sched(7)), which takes
 * precedence over all threads that compute.
 */
#ifndef INNET_AGENT_APEX_REALTIME_H
#define INNET_AGENT_APEX_REALTIME_H

#include <sched.h>

/* The previous scheduling of a thread. */
struct realtime {
	int policy;
	struct sched_param param;
};

/* Exit with status 1 if the process may not use real-time priority. */
void realtime_check(void);

/*
 * realtime_begin() gives the calling thread real-time priority, and stores the
 * previous scheduling in *before.  realtime_end() restores this scheduling.
 */
void realtime_begin(struct realtime *before);
void realtime_end(const struct realtime *before);

#endif
