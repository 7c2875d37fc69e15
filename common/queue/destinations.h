/*
 * destinations.h - give a number to each destination of the updates at one port
 *
 * Independent training jobs can use the same cluster behind one port, but
 * updates of different jobs must never be merged.  Therefore the queue, the
 * table of shapes and the count of active clusters use keys that contain the
 * number of the destination.  A destination consists of an IPv4 or IPv6
 * address, a UDP port and the VLAN of the frame.  An update that arrives
 * without a frame has no VLAN.  A live switch and a replay of its traffic use
 * the same numbers, so that both make the same decisions.
 *
 * The first destination of a port gets the number 0.  For this number, the
 * queue has its fastest tables.  Untrusted hosts can send to any number of
 * destinations, so the table contains only the most recently used destinations.
 * If a destination is used again after the table has forgotten it, the
 * destination gets a new number, so its updates are not merged with updates
 * that already wait.  Its old number is used again only after 2^22 destinations
 * have used the same row.
 *
 * This is a separate file because the rule for these numbers keeps independent
 * training jobs apart.  The functions use no clock and no socket.
 * destinations_free() frees the memory.
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
	uint64_t vlan;		/* VLAN of the frames, as returned by
				 * frame_vlan(); 0: no VLAN */
	uint32_t number;
};

struct destinations {
	struct destination last;	/* destination of the last update;
					 * family 0: there was no update */
	struct lru rows;		/* rows of struct destination */
	uint32_t taken[DESTINATIONS_MOST];	/* owned; by row: number of
						 * destinations that have used
						 * the row */
	struct hashmap_multiplier hash_seed;
};

/*
 * Initialise d.  `hash_seed` is the multiplier of maps that untrusted hosts can
 * fill.
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

/* Does row r contain the destination with address `to` and VLAN `vlan`? */
static inline bool
destinations_match(
    const struct destination *r, const union addr *to, uint64_t vlan)
{
	return addr_same(&r->to, to) && r->vlan == vlan;
}

/*
 * Do the work of destinations_find() if the destination is not that of the last
 * update.  If two destinations have the same key, they use the same row.  Each
 * time the row is used for the other destination, that destination gets a new
 * number.
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
