/* urgent - exchanges before play */
#include "config.h"

#include <err.h>

#include "cmd/innet-agent/apex/realtime.h"

enum { PRIORITY = 1 };	/* the least of class fifo: others may be before it */

static int
change(struct urgent *before)
{
	const struct sched_param first = { .sched_priority = PRIORITY };
	int policy;

	before->policy = sched_getscheduler(0);
	if (before->policy == -1 || sched_getparam(0, &before->param) == -1)
		return -1;
	policy = before->policy & ~SCHED_RESET_ON_FORK;
	if (policy != SCHED_OTHER && policy != SCHED_BATCH &&
	    policy != SCHED_IDLE)
		return 0;	/* it is urgent as it is */
	return sched_setscheduler(0, SCHED_FIFO | (before->policy &
	    SCHED_RESET_ON_FORK), &first);
}

void
urgent_check(void)
{
	struct urgent before;

	if (change(&before) == -1)
		err(1,
		    "--realtime: class fifo (CAP_SYS_NICE or RLIMIT_RTPRIO)");
	urgent_end(&before);
}

void
urgent_begin(struct urgent *before)
{
	if (change(before) == -1)
		before->policy = -1;	/* allowed before, and not now */
}

void
urgent_end(const struct urgent *before)
{
	if (before->policy != -1)
		sched_setscheduler(0, before->policy, &before->param);
}
