/*
 * destinations.h - number the destinations of the updates at one port
 *
 * Trainings that do not know each other can use the same cluster behind one
 * port, and their updates must never merge.  The queue, the shapes of clusters
 * and the count of active clusters therefore use keys that contain the number
 * of a destination: its address and UDP port, IPv4 or IPv6, and the VLAN
 * of the frame.  An update without a frame has no VLAN.  Live and replayed
 * switches get their numbers here, so that they make the same decisions.
 *
 * The first destination of a port has the number 0, for which the queue has
 * its fastest tables.  Strangers can send to any number of destinations, so
 * only the most recently used ones are known.  A forgotten destination that
 * comes back gets a new number: its updates do not merge with those that
 * already wait, and no other destination ever gets its old number before 2^22
 * others have taken the same row.
 *
 * A file of its own because it is what keeps trainings apart.  Pure.  Owns its
 * memory: destinations_free().
 */
#ifndef INNET_QUEUE_DESTINATIONS_H
#define INNET_QUEUE_DESTINATIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/lru.h"
#include "common/wire/addr.h"

enum {
	DESTINATIONS_BITS = 10,
	DESTINATIONS_MOST = 1 << DESTINATIONS_BITS	/* rows */
};

#define DESTINATIONS_NONE UINT32_MAX

struct destination {
	union addr to;
	uint64_t vlan;		/* frame_vlan(); 0: none */
	uint32_t number;
};

struct destinations {
	struct destination last;	/* of the last update; family 0: none */
	struct lru rows;		/* struct destination */
	uint32_t taken[DESTINATIONS_MOST];	/* how often a row was */
	struct hashmap_multiplier hash_seed;
};

/* Initialize d; the seed is that of the maps that strangers can fill. */
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

/* Is r this destination? */
static inline bool
destinations_match(
    const struct destination *r, const union addr *to, uint64_t vlan)
{
	return addr_same(&r->to, to) && r->vlan == vlan;
}

/*
 * Do what destinations_find() does for a destination that was not the last
 * one.  If two destinations have the same key, each takes the row from the
 * other and gets a new number.
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

/* Return the number of a destination; DESTINATIONS_NONE without memory. */
static inline uint32_t
destinations_find(struct destinations *d, const union addr *to, uint64_t vlan)
{
	return destinations_match(&d->last, to, vlan) ? d->last.number :
	    destinations_search(d, to, vlan);
}

#endif
