/*
 * rate-limit.h - limit answers to unauthenticated addresses
 *
 * The source address of a request may be forged, so the host that receives the
 * answer may be a victim that never sent a request.  There is one limit for all
 * answers together and one limit for each neighbourhood (IPv4 /24, IPv6 /56).
 * The same hint is sent to a source at most once a second.  Neighbourhoods and
 * sources share RATE_LIMIT_CELLS cells through a keyed hash that an attacker
 * cannot predict, so the memory never grows.  Times are in ns on a monotonic
 * clock.  In a zeroed struct no answer has been counted yet.
 */
#ifndef INNET_AUTH_RATE_LIMIT_H
#define INNET_AUTH_RATE_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/auth/quota.h"
#include "common/base/hashmap.h"
#include "common/wire/addr.h"

enum {
	RATE_LIMIT_CELLS = 4096,
	RATE_LIMIT_ALL = 20000, RATE_LIMIT_NET = 200,	/* maximum number of
							 * answers per second:
							 * to all addresses
							 * together; to one
							 * neighbourhood */
	RATE_LIMIT_ALL_BURST = 1000, RATE_LIMIT_NET_BURST = RATE_LIMIT_NET,
	RATE_LIMIT_AGAIN_NS = 1000000000	/* shortest time between equal
						 * hints to one source */
};

struct rate_limit {
	struct hashmap_multiplier hash_seed;	/* seed of the keyed hash */
	uint64_t all_ns;		/* if answers were sent at the maximum
					 * rate: time of the next answer to any
					 * address */
	uint64_t net_ns[RATE_LIMIT_CELLS];	/* by cell, if answers were sent
						 * to the neighbourhood at its
						 * maximum rate: time of the
						 * next answer */
	/* by cell: address of the last hint, and time of this hint */
	struct { uint64_t key, ns; } repeats[RATE_LIMIT_CELLS];
};

/* Return the cell for the address or prefix `key`. */
static inline uint32_t
rate_limit_cell(const struct rate_limit *b, uint64_t key)
{
	const unsigned __int128 product =
	    (unsigned __int128)(key ^ b->hash_seed.high) *
		(b->hash_seed.low | 1) +
	    key * 0x9e3779b97f4a7c15;

	return (uint32_t)(product >> 52) % RATE_LIMIT_CELLS;
}

/*
 * Does a limit of `a_second` events per second, with bursts of up to `burst`
 * events, allow another event now?
 */
static inline bool
rate_limit_has_room(uint64_t due_ns, uint64_t a_second, uint64_t burst,
    uint64_t now_ns)
{
	return due_ns <= now_ns ||
	    due_ns - now_ns <= (burst - 1) * (1000000000 / a_second);
}

/* Return the new value of due_ns after an event at now_ns. */
static inline uint64_t
rate_limit_next(uint64_t due_ns, uint64_t a_second, uint64_t now_ns)
{
	return (due_ns > now_ns ? due_ns : now_ns) + 1000000000 / a_second;
}

/*
 * May the address `at` be answered now?  If so, the answer is counted.  Answers
 * to loopback are subject only to the limit for all answers together.
 */
static inline bool
rate_limit_allow(struct rate_limit *b, const union addr *at, uint64_t now_ns)
{
	uint64_t *net = &b->net_ns[rate_limit_cell(b, quota_key(at, true))];
	const bool near = addr_is_loopback(at);

	if (!rate_limit_has_room(
		b->all_ns, RATE_LIMIT_ALL, RATE_LIMIT_ALL_BURST, now_ns) ||
	    (!near && !rate_limit_has_room(
			  *net, RATE_LIMIT_NET, RATE_LIMIT_NET_BURST, now_ns)))
		return false;
	b->all_ns = rate_limit_next(b->all_ns, RATE_LIMIT_ALL, now_ns);
	if (!near)
		*net = rate_limit_next(*net, RATE_LIMIT_NET, now_ns);
	return true;
}

/*
 * May a hint be sent to `at` now?  Returns false if the same hint may have been
 * sent to `at` within the last second.
 */
static inline bool
rate_limit_allow_repeat(
    struct rate_limit *b, const union addr *at, uint64_t now_ns)
{
	const uint64_t key = addr_key(at, &b->hash_seed);
	const uint32_t k = rate_limit_cell(b, key);

	if (b->repeats[k].key == key && b->repeats[k].ns != 0 &&
	    now_ns - b->repeats[k].ns < RATE_LIMIT_AGAIN_NS)
		return false;
	if (!rate_limit_allow(b, at, now_ns))
		return false;
	b->repeats[k].key = key;
	b->repeats[k].ns = now_ns;
	return true;
}

#endif
