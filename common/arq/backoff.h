/*
 * backoff.h - the wait before a request is sent again; it doubles each time
 *
 * The caller stores the wait, in ns.  It sets the wait to an initial value when
 * a new request begins, and calls backoff_take_ns() once for each packet that
 * it sends.
 */
#ifndef INNET_ARQ_BACKOFF_H
#define INNET_ARQ_BACKOFF_H

#include <stdint.h>

/* Return *wait_ns, and then double *wait_ns, up to most_ns. */
static inline uint64_t
backoff_take_ns(uint64_t *wait_ns, uint64_t most_ns)
{
	const uint64_t ns = *wait_ns;

	*wait_ns = ns * 2 < most_ns ? ns * 2 : most_ns;
	return ns;
}

#endif
