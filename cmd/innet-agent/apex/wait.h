/*
 * wait.h - wait for descriptors or an instant, and never miss a signal
 *
 * SIGINT and SIGTERM are blocked between the look at *stop and the wait, so
 * one that comes in between ends the wait at once.
 */
#ifndef INNET_AGENT_APEX_WAIT_H
#define INNET_AGENT_APEX_WAIT_H

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>

#include "common/net/timer.h"

enum wait_result { WAIT_READY, WAIT_DUE, WAIT_STOP };

/*
 * Until one of the n descriptors of p is ready (their revents say which) or
 * has failed, deadline_ns of CLOCK_MONOTONIC has come, or a handler has set
 * *stop; which may be NULL.
 */
static inline enum wait_result
wait_until(struct pollfd *p, nfds_t n, uint64_t deadline_ns,
    const volatile sig_atomic_t *stop)
{
	sigset_t ends, before;
	int got = -1;

	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, &before);
	while ((stop == NULL || *stop == 0) && got == -1) {
		const uint64_t now = timer_mono_ns();
		const uint64_t left = now < deadline_ns ? deadline_ns - now : 0;
		const struct timespec ts = timer_to_timespec(left);

		got = ppoll(p, n, &ts, &before);
		if (got == -1 && errno != EINTR)
			got = 1;	/* read or write will say it better */
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	return got == -1 ? WAIT_STOP : got == 0 ? WAIT_DUE : WAIT_READY;
}

#endif
