/*
 * wait.h - wait for descriptors or a deadline without missing a signal
 *
 * SIGINT and SIGTERM are blocked from the check of *stop until the wait begins,
 * so a signal that arrives in between ends the wait at once.
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
 * Wait until one of the n descriptors in p is ready or has failed (see
 * revents), until the CLOCK_MONOTONIC time deadline_ns, or until a signal
 * handler has set *stop; stop may be NULL.
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
			got = 1;	/* the next read or write reports the
					 * error */
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	return got == -1 ? WAIT_STOP : got == 0 ? WAIT_DUE : WAIT_READY;
}

#endif
