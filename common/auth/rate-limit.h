/*
 * rate-limit.h - how often strangers are answered
 *
 * What is sent to an address that has proved nothing may have been asked for
 * by somebody else.  So there is a limit for all together, one for each
 * neighbourhood (IPv4 /24, IPv6 /56), and what is told to a source again and
 * again is told once a second.  Neighbourhoods and sources share so many cells,
 * by a number that strangers do not know: nothing grows.  Times are ns,
 * monotonic.  A zeroed one is full.
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
	RATE_LIMIT_ALL = 20000, RATE_LIMIT_NET = 200,	/* a second */
	RATE_LIMIT_ALL_BURST = 1000, RATE_LIMIT_NET_BURST = RATE_LIMIT_NET,
	RATE_LIMIT_AGAIN_NS = 1000000000	/* between two tellings */
};

struct rate_limit {
	struct hashmap_multiplier by;
	uint64_t all_ns;		/* when its next is due */
	uint64_t net_ns[RATE_LIMIT_CELLS];
	struct { uint64_t key, ns; } repeats[RATE_LIMIT_CELLS];
};

static inline uint32_t
rate_limit_cell(const struct rate_limit *b, uint64_t key)
{
	const unsigned __int128 product = (unsigned __int128)(key ^
	    b->by.high) * (b->by.low | 1) + key * 0x9e3779b97f4a7c15;

	return (uint32_t)(product >> 52) % RATE_LIMIT_CELLS;
}

/* May one more pass, of so many a second, and so many at once? */
static inline bool
rate_limit_has_room(uint64_t due_ns, uint64_t a_second, uint64_t burst,
    uint64_t now_ns)
{
	return due_ns <= now_ns ||
	    due_ns - now_ns <= (burst - 1) * (1000000000 / a_second);
}

static inline uint64_t
rate_limit_next(uint64_t due_ns, uint64_t a_second, uint64_t now_ns)
{
	return (due_ns > now_ns ? due_ns : now_ns) + 1000000000 / a_second;
}

/* May `at` be answered now?  Loopback is limited with all others alone. */
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

/* May `at` be told something that it may have been told a moment ago? */
static inline bool
rate_limit_allow_repeat(
    struct rate_limit *b, const union addr *at, uint64_t now_ns)
{
	const uint64_t key = addr_key(at, &b->by);
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
