/*
 * active-clusters.h - how many keys were seen within the last so many
 * nanoseconds
 *
 * Keys in order of their last sight, in a list through one array: each sight
 * and each forgetting costs the same however many there are.  This is N, the
 * active clusters, of Olaf section 5.  Keys below `plain` are places in the
 * array themselves; those above are given one by a map.  Times must not
 * go back.
 */
#ifndef INNET_QUEUE_ACTIVE_CLUSTERS_H
#define INNET_QUEUE_ACTIVE_CLUSTERS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/hashmap.h"

enum { ACTIVE_CLUSTERS_PLAIN = 65536 };	/* unless told */

struct active_clusters_node {
	uint64_t seen;		/* when, and 1 ns; 0: not in the list */
	uint32_t older, newer;	/* places; 0 at the ends */
};

struct active_clusters {
	struct hashmap index;	/* keys from plain on -> place */
	/* owned; [0] is both ends of the list */
	struct active_clusters_node *node;
	uint32_t plain;
	uint32_t room, used;	/* places: allocated, given out */
	uint32_t count;
	uint64_t window_ns;
};

/*
 * Keys below plain, at least 1, are the usual ones.  False without memory;
 * active_clusters_free() in either case.
 */
static inline bool
active_clusters_init(struct active_clusters *a, uint64_t window_ns,
    uint32_t plain)
{
	*a = (struct active_clusters){ .window_ns = window_ns, .plain = plain,
	    .room = plain + 1, .used = plain + 1 };
	a->node = calloc(a->room, sizeof(*a->node));
	return a->node != NULL;
}

static inline void
active_clusters_free(struct active_clusters *a)
{
	hashmap_free(&a->index);
	free(a->node);
}

static inline void
active_clusters_unlink(struct active_clusters *a,
    struct active_clusters_node *n)
{
	a->node[n->older].newer = n->newer;
	a->node[n->newer].older = n->older;
	n->seen = 0;
	a->count--;
}

/* Twice the places.  False without memory. */
static inline bool
active_clusters_grow(struct active_clusters *a)
{
	struct active_clusters_node *n = realloc(a->node, 2 * (size_t)a->room *
	    sizeof(*n));

	if (n == NULL)
		return false;
	memset(n + a->room, 0, a->room * sizeof(*n));
	a->node = n;
	a->room *= 2;
	return true;
}

/* The place of a key; 0 without memory. */
static inline uint32_t
active_clusters_place(struct active_clusters *a, uint32_t key)
{
	uint32_t *at;

	if (key < a->plain)
		return key + 1;
	if (a->used == a->room && !active_clusters_grow(a))
		return 0;
	at = hashmap_put(&a->index, key, a->used);
	if (at == NULL)
		return 0;
	a->used += *at == a->used;
	return *at;
}

/* Forget keys not seen within the window that ends at now_ns; N. */
static inline uint32_t
active_clusters_count(struct active_clusters *a, uint64_t now_ns)
{
	struct active_clusters_node *oldest;

	while (a->count > 0 && (oldest = &a->node[a->node[0].newer])->seen +
	    a->window_ns <= now_ns)
		active_clusters_unlink(a, oldest);
	return a->count;
}

/* key is seen at now_ns; false without memory (it is not counted then). */
static inline bool
active_clusters_see(struct active_clusters *a, uint32_t key, uint64_t now_ns)
{
	const uint32_t at = active_clusters_place(a, key);
	struct active_clusters_node *n = &a->node[at], *end = &a->node[0];

	if (at == 0)
		return false;
	if (end->older == at) {
		n->seen = now_ns + 1;
		return true;
	}
	if (n->seen != 0)
		active_clusters_unlink(a, n);
	*n = (struct active_clusters_node){ now_ns + 1, end->older, 0 };
	a->node[end->older].newer = at;
	end->older = at;
	a->count++;
	return true;
}

#endif
