/*
 * destinations.h - number the destinations of the updates at one port
 *
 * Independent training jobs can use the same cluster behind one port, but their
 * updates must never be merged.  Therefore the queue, the shapes of clusters
 * and the count of active clusters use keys that contain the number of the
 * destination.  A destination is an address and UDP port, IPv4 or IPv6, and the
 * VLAN of the frame.  An update without a frame has no VLAN.  Live and replayed
 * switches use the same numbers, so that they make the same decisions.
 *
 * The first destination of a port has the number 0, for which the queue has its
 * fastest tables.  Untrusted hosts can send to any number of destinations, so
 * only the most recently used ones are known.  If a forgotten destination is
 * used again, it gets a new number, so its updates are not merged with those
 * that already wait.  Another destination gets the old number only after 2^22
 * other destinations have used the same row.
 *
 * This is a separate file because this rule separates independent training
 * jobs.  The functions use no clock and no socket.  destinations_free() frees
 * the memory.
 */
#ifndef INNET_QUEUE_DESTINATIONS_H
#define INNET_QUEUE_DESTINATIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/lru.h"
#include "common/wire/addr.h"

enum {
	DESTINATIONS_BITS = 10,
	DESTINATIONS_MOST = 1 << DESTINATIONS_BITS	/* number of rows */
};

#define DESTINATIONS_NONE UINT32_MAX

struct destination {
	union addr to;
	uint64_t vlan;		/* result of frame_vlan(); 0: none */
	uint32_t number;
};

struct destinations {
	struct destination last;	/* destination of the last update;
					 * family 0: none */
	struct lru rows;		/* rows of struct destination */
	uint32_t taken[DESTINATIONS_MOST];	/* how often each row was
						 * taken */
	struct hashmap_multiplier hash_seed;
};

/*
 * Initialise d.  hash_seed is the seed of maps that untrusted hosts can fill.
 */
static inline void
destinations_init(
    struct destinations *d, const struct hashmap_multiplier *hash_seed)
{
	d->last = (struct destination){ .number = 0 };
	d->rows = lru_new(DESTINATIONS_MOST, sizeof(struct destination),
	    hash_seed);
	d->hash_seed = *hash_seed;
}

/* Free the rows. */
static inline void
destinations_free(struct destinations *d)
{
	lru_free(&d->rows);
}

/* Does row r contain this destination? */
static inline bool
destinations_match(
    const struct destination *r, const union addr *to, uint64_t vlan)
{
	return addr_same(&r->to, to) && r->vlan == vlan;
}

/*
 * Do the work of destinations_find() for a destination other than the last one.
 * If two destinations have the same key, each use of one takes the row from the
 * other, and the destination that was used gets a new number.
 */
__attribute__((noinline, unused)) static uint32_t
destinations_search(
    struct destinations *d, const union addr *to, uint64_t vlan)
{
	const uint64_t key = addr_vlan_key(to, vlan, &d->hash_seed);
	uint32_t at = lru_find(&d->rows, key);
	struct destination *r = at == 0 ? NULL : lru_row(&d->rows, at);

	if (r != NULL && !destinations_match(r, to, vlan)) {
		lru_remove(&d->rows, at);
		r = NULL;
	}
	at = lru_find_or_add(&d->rows, key);
	if (at == 0)
		return DESTINATIONS_NONE;
	if (r == NULL) {
		r = lru_row(&d->rows, at);
		*r = (struct destination){ *to, vlan,
		    (d->taken[at - 1]++ << DESTINATIONS_BITS) + at - 1 };
	}
	d->last = *r;
	return r->number;
}

/*
 * Return the number of a destination, or DESTINATIONS_NONE if there is no
 * memory.
 */
static inline uint32_t
destinations_find(struct destinations *d, const union addr *to, uint64_t vlan)
{
	return destinations_match(&d->last, to, vlan) ? d->last.number :
	    destinations_search(d, to, vlan);
}

#endif
