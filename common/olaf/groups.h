/*
 * groups.h - workers that the control plane moved to another cluster
 * (Olaf section 7)
 *
 * A worker goes on under the names that it knows, its own cluster and number.
 * Behind the switch it has others: what it sends upward is written anew, and so
 * is what comes back for it.  A row for each worker that was moved; owns its
 * memory, groups_free().  A zeroed struct is an empty table.
 */
#ifndef INNET_OLAF_GROUPS_H
#define INNET_OLAF_GROUPS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "common/base/hashmap.h"

enum { GROUPS_NONE = UINT32_MAX };

/* A worker, by its cluster and its number in it. */
struct groups_name {
	uint16_t cluster;
	uint32_t worker;
};

struct groups_row {
	struct groups_name own, given;	/* below the switch, and above it */
	bool used;
};

struct groups {
	struct groups_row *row;
	uint32_t count, room;		/* rows, those not used too */
	uint32_t most;			/* of them; 0: no limit */
	struct hashmap own, given;	/* name -> row */
};

static inline void
groups_free(struct groups *g)
{
	free(g->row);
	hashmap_free(&g->own);
	hashmap_free(&g->given);
}

static inline uint64_t
groups_key(struct groups_name n)
{
	return (uint64_t)n.cluster << 32 | n.worker;
}

/* What the worker is called above the switch. */
static inline struct groups_name
groups_up(const struct groups *g, struct groups_name own)
{
	const uint32_t *at = hashmap_get(&g->own, groups_key(own));

	return at == NULL ? own : g->row[*at].given;
}

/* What the worker calls itself. */
static inline struct groups_name
groups_down(const struct groups *g, struct groups_name given)
{
	const uint32_t *at = hashmap_get(&g->given, groups_key(given));

	return at == NULL ? given : g->row[*at].own;
}

/* It has its own names again. */
static inline void
groups_forget(struct groups *g, struct groups_name own)
{
	const uint32_t *at = hashmap_get(&g->own, groups_key(own));
	struct groups_row *r;

	if (at == NULL)
		return;
	r = &g->row[*at];
	r->used = false;
	hashmap_remove(&g->given, groups_key(r->given));
	hashmap_remove(&g->own, groups_key(own));
}

/* A row that is free, or GROUPS_NONE without room. */
static inline uint32_t
groups_room(struct groups *g)
{
	uint32_t room = g->room == 0 ? 16 : g->room * 2;
	struct groups_row *p;

	for (uint32_t i = 0; i < g->count; i++) {
		if (!g->row[i].used)
			return i;
	}
	if (g->most > 0 && g->count == g->most)
		return GROUPS_NONE;
	if (g->count == g->room) {
		p = realloc(g->row, room * sizeof(*p));
		if (p == NULL)
			return GROUPS_NONE;
		g->row = p;
		g->room = room;
	}
	g->row[g->count].used = false;	/* should it not come to be */
	return g->count++;
}

/*
 * Worker `own` is `given` above the switch from now on.  False without room,
 * or if another worker that was moved has that name.
 */
static inline bool
groups_move(struct groups *g, struct groups_name own,
    struct groups_name given)
{
	const uint32_t *taken = hashmap_get(&g->given, groups_key(given));
	uint32_t at;

	if (taken != NULL && groups_key(g->row[*taken].own) !=
	    groups_key(own))
		return false;
	groups_forget(g, own);
	if (groups_key(own) == groups_key(given))
		return true;
	at = groups_room(g);
	if (at == GROUPS_NONE || hashmap_put(&g->own, groups_key(own), at) ==
	    NULL)
		return false;
	if (hashmap_put(&g->given, groups_key(given), at) == NULL) {
		hashmap_remove(&g->own, groups_key(own));
		return false;
	}
	g->row[at] = (struct groups_row){ own, given, true };
	return true;
}

#endif
