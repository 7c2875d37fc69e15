/* realtime.c - real-time priority for exchanges with the memory */
#include "config.h"


#include "common/base/message.h"

#include "cmd/innet-agent/apex/realtime.h"

enum { PRIORITY = 1 };	/* lowest priority of SCHED_FIFO */

/*
 * Give the calling thread the policy SCHED_FIFO, and store its previous policy
 * in *before.  Return 0, or set errno and return -1.
 */
static int
set_fifo(struct realtime *before)
{
	const struct sched_param first = { .sched_priority = PRIORITY };
	int policy;

	before->policy = sched_getscheduler(0);
	if (before->policy == -1 || sched_getparam(0, &before->param) == -1)
		return -1;
	policy = before->policy & ~SCHED_RESET_ON_FORK;
	if (policy != SCHED_OTHER && policy != SCHED_BATCH &&
	    policy != SCHED_IDLE)
		return 0;	/* the process has a real-time priority
				 * already */
	return sched_setscheduler(0, SCHED_FIFO | (before->policy &
	    SCHED_RESET_ON_FORK), &first);
}

void
realtime_check(void)
{
	struct realtime before;

	if (set_fifo(&before) == -1)
		err(1,
		    "--realtime: cannot get a real-time priority, which needs "
		    "CAP_SYS_NICE or RLIMIT_RTPRIO");
	realtime_end(&before);
}

void
realtime_begin(struct realtime *before)
{
	if (set_fifo(before) == -1)
		before->policy = -1; /* real-time priority is no longer
				      * permitted */
}

void
realtime_end(const struct realtime *before)
{
	if (before->policy != -1)
		sched_setscheduler(0, before->policy, &before->param);
}
