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

#include "common/base/hashmap.h"
#include "common/auth/quota.h"
#include "common/wire/addr.h"

enum {
	BUCKETS = 4096,
	BUCKETS_ALL = 20000, BUCKETS_NET = 200,	/* a second */
	BUCKETS_ALL_BURST = 1000, BUCKETS_NET_BURST = BUCKETS_NET,
	BUCKETS_AGAIN_NS = 1000000000	/* between two tellings */
};

struct buckets {
	struct keymap_number by;
	uint64_t all_ns;		/* when its next is due */
	uint64_t net_ns[BUCKETS];
	struct { uint64_t key, ns; } told[BUCKETS];
};

static inline uint32_t
buckets_cell(const struct buckets *b, uint64_t key)
{
	const unsigned __int128 product = (unsigned __int128)(key ^
	    b->by.high) * (b->by.low | 1) + key * 0x9e3779b97f4a7c15;

	return (uint32_t)(product >> 52) % BUCKETS;
}

/* May one more pass, of so many a second, and so many at once? */
static inline bool
buckets_room(uint64_t due_ns, uint64_t a_second, uint64_t burst,
    uint64_t now_ns)
{
	return due_ns <= now_ns ||
	    due_ns - now_ns <= (burst - 1) * (1000000000 / a_second);
}

static inline uint64_t
buckets_after(uint64_t due_ns, uint64_t a_second, uint64_t now_ns)
{
	return (due_ns > now_ns ? due_ns : now_ns) + 1000000000 / a_second;
}

/* May `at` be answered now?  Loopback is limited with all others alone. */
static inline bool
buckets_take(struct buckets *b, const union addr *at, uint64_t now_ns)
{
	uint64_t *net = &b->net_ns[buckets_cell(b, quota_key(at, true))];
	const bool near = addr_is_loopback(at);

	if (!buckets_room(b->all_ns, BUCKETS_ALL, BUCKETS_ALL_BURST, now_ns) ||
	    (!near && !buckets_room(*net, BUCKETS_NET, BUCKETS_NET_BURST,
	    now_ns)))
		return false;
	b->all_ns = buckets_after(b->all_ns, BUCKETS_ALL, now_ns);
	if (!near)
		*net = buckets_after(*net, BUCKETS_NET, now_ns);
	return true;
}

/* May `at` be told something that it may have been told a moment ago? */
static inline bool
buckets_tell(struct buckets *b, const union addr *at, uint64_t now_ns)
{
	const uint64_t key = addr_key(at, &b->by);
	const uint32_t k = buckets_cell(b, key);

	if (b->told[k].key == key && b->told[k].ns != 0 &&
	    now_ns - b->told[k].ns < BUCKETS_AGAIN_NS)
		return false;
	if (!buckets_take(b, at, now_ns))
		return false;
	b->told[k].key = key;
	b->told[k].ns = now_ns;
	return true;
}

#endif
