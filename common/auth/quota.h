/*
 * quota.h - limits on the resources that one address and its neighbourhood may
 *   use
 *
 * Without a key, anyone who can send a datagram can join and start jobs.  So
 * there are limits on the members, jobs, bytes of job memory and routes of each
 * address (IPv4 /32, IPv6 /64) and of each neighbourhood (/24, /56).  The rest
 * remains free for other addresses.  Loopback has no limit, because local
 * processes are trusted.
 *
 * quota_charge() charges an amount to an address, or fails if a limit would be
 * exceeded.  quota_release() releases the amount.  An address has a row only
 * while something is charged to it.  quota_free() frees the memory.
 */
#ifndef INNET_AUTH_QUOTA_H
#define INNET_AUTH_QUOTA_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "common/base/lru.h"
#include "common/wire/addr.h"

enum quota_kind {
	QUOTA_MEMBERS, QUOTA_JOBS, QUOTA_BYTES, QUOTA_ROUTES, QUOTA_KINDS
};

enum { QUOTA_ROWS = 1 << 20 };

struct quota_row {
	uint64_t taken[QUOTA_KINDS];
};

/* The rows and limits for one prefix length. */
struct quota_part {
	struct lru rows;
	uint64_t most[QUOTA_KINDS];
};

struct quota {
	struct quota_part host, net;
};

/*
 * Return an empty quota for a switch that has memory_bytes bytes of memory for
 * jobs (0: no limit).
 */
static inline struct quota
quota_of(uint64_t memory_bytes, const struct hashmap_multiplier *hash_seed)
{
	const uint64_t all = memory_bytes == 0 ? UINT64_MAX : memory_bytes;
	const struct lru rows = lru_new(QUOTA_ROWS,
	    sizeof(struct quota_row), hash_seed);

	return (struct quota){
		.host = { rows, { [QUOTA_MEMBERS] = 64, [QUOTA_JOBS] = 4,
		    [QUOTA_BYTES] = all / 4, [QUOTA_ROUTES] = 64 } },
		.net = { rows, { [QUOTA_MEMBERS] = 1024, [QUOTA_JOBS] = 16,
		    [QUOTA_BYTES] = all / 2, [QUOTA_ROUTES] = 1024 } },
	};
}

static inline void
quota_free(struct quota *q)
{
	lru_free(&q->host.rows);
	lru_free(&q->net.rows);
}

/*
 * Return the prefix of an address.  If `net` is set, the prefix has 24 bits
 * (IPv4) or 56 bits (IPv6), otherwise 32 or 64 bits.
 */
static inline uint64_t
quota_key(const union addr *a, bool net)
{
	uint64_t key = 0;

	if (a->sa.sa_family != AF_INET6) {
		key = ntohl(a->in.sin_addr.s_addr);
		return net ? key >> 8 : key;
	}
	for (int i = 0; i < 8; i++)
		key = key << 8 | a->in6.sin6_addr.s6_addr[i];
	return net ? key >> 8 : key;
}

/* May the prefix `key` use n more units of this kind? */
static inline bool
quota_part_has_room(
    const struct quota_part *p, uint64_t key, enum quota_kind kind, uint64_t n)
{
	const uint32_t at = lru_find(&p->rows, key);
	const uint64_t taken = at == 0 ? 0 :
	    ((struct quota_row *)lru_row(&p->rows, at))->taken[kind];

	return taken <= p->most[kind] && n <= p->most[kind] - taken;
}

/* Charge n to the prefix `key`.  Returns false if there is no memory. */
static inline bool
quota_part_charge(struct quota_part *p, uint64_t key, enum quota_kind kind,
    uint64_t n)
{
	uint32_t at = lru_find(&p->rows, key);

	if (at == 0)
		at = lru_add(&p->rows, key);
	if (at == 0)
		return false;
	((struct quota_row *)lru_row(&p->rows, at))->taken[kind] += n;
	return true;
}

/*
 * Release n from the prefix `key`, and remove its row if nothing else is
 * charged to it.
 */
static inline void
quota_part_release(struct quota_part *p, uint64_t key, enum quota_kind kind,
    uint64_t n)
{
	static const struct quota_row nothing;
	const uint32_t at = lru_find(&p->rows, key);
	struct quota_row *row;

	if (at == 0)
		return;
	row = lru_row(&p->rows, at);
	row->taken[kind] -= n < row->taken[kind] ? n : row->taken[kind];
	if (memcmp(row, &nothing, sizeof(nothing)) == 0)
		lru_remove(&p->rows, at);
}

/*
 * Charge n to address `a` and to its neighbourhood.  If the charge would exceed
 * a limit or if there is no memory, charge nothing and return false.
 */
static inline bool
quota_charge(struct quota *q, const union addr *a, enum quota_kind kind,
    uint64_t n)
{
	const uint64_t host = quota_key(a, false), net = quota_key(a, true);

	if (n == 0 || addr_is_loopback(a))
		return true;
	if (!quota_part_has_room(&q->host, host, kind, n) ||
	    !quota_part_has_room(&q->net, net, kind, n) ||
	    !quota_part_charge(&q->host, host, kind, n))
		return false;
	if (quota_part_charge(&q->net, net, kind, n))
		return true;
	quota_part_release(&q->host, host, kind, n);
	return false;
}

/* Release the amount n, which quota_charge() charged to address `a`. */
static inline void
quota_release(struct quota *q, const union addr *a, enum quota_kind kind,
    uint64_t n)
{
	if (n == 0 || addr_is_loopback(a))
		return;
	quota_part_release(&q->host, quota_key(a, false), kind, n);
	quota_part_release(&q->net, quota_key(a, true), kind, n);
}

#endif
