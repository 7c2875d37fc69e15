/*
 * active.h - how many keys were seen within the last so many nanoseconds
 *
 * Keys in order of their last sight, in a list through one array: each sight
 * and each forgetting costs the same however many there are.  This is N, the
 * active clusters, of Olaf section 5.  Keys below `plain` are places in the
 * array themselves; those above are given one by a map.  Times must not
 * go back.
 */
#ifndef INNET_ACTIVE_H
#define INNET_ACTIVE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/keymap.h"

enum { ACTIVE_PLAIN = 65536 };	/* unless told */
#define ACTIVE_NONE UINT32_MAX

struct active_node {
	uint64_t seen_ns;
	uint32_t older, newer;	/* places in node[], or ACTIVE_NONE */
};

struct active {
	struct keymap index;	/* keys from ACTIVE_PLAIN on -> place */
	struct active_node *node;	/* owned */
	uint8_t *listed;	/* owned: is the node in the list? */
	uint32_t plain;
	uint32_t room, used;	/* places: allocated, given out */
	uint32_t oldest, newest, count;
	uint64_t window_ns;
};

/*
 * Keys below plain, at least 1, are the usual ones.  False without memory;
 * active_free() in either case.
 */
static inline bool
active_init(struct active *a, uint64_t window_ns, uint32_t plain)
{
	*a = (struct active){ .window_ns = window_ns, .plain = plain,
	    .room = plain, .used = plain, .oldest = ACTIVE_NONE,
	    .newest = ACTIVE_NONE };
	a->node = calloc(a->room, sizeof(*a->node));
	a->listed = calloc(a->room, 1);
	return a->node != NULL && a->listed != NULL;
}

static inline void
active_free(struct active *a)
{
	keymap_free(&a->index);
	free(a->node);
	free(a->listed);
}

static inline void
active_unlink(struct active *a, uint32_t at)
{
	const struct active_node *n = &a->node[at];

	if (n->older != ACTIVE_NONE)
		a->node[n->older].newer = n->newer;
	else
		a->oldest = n->newer;
	if (n->newer != ACTIVE_NONE)
		a->node[n->newer].older = n->older;
	else
		a->newest = n->older;
	a->listed[at] = 0;
	a->count--;
}

/* Twice the places.  False without memory. */
static inline bool
active_grow(struct active *a)
{
	struct active_node *n = realloc(a->node, 2 * (size_t)a->room *
	    sizeof(*n));
	uint8_t *l;

	if (n == NULL)
		return false;
	a->node = n;
	l = realloc(a->listed, 2 * (size_t)a->room);
	if (l == NULL)
		return false;
	memset(l + a->room, 0, a->room);
	a->listed = l;
	a->room *= 2;
	return true;
}

/* The place of a key; ACTIVE_NONE without memory. */
static inline uint32_t
active_place(struct active *a, uint32_t key)
{
	uint32_t *at;

	if (key < a->plain)
		return key;
	if (a->used == a->room && !active_grow(a))
		return ACTIVE_NONE;
	at = keymap_put(&a->index, key, a->used);
	if (at == NULL)
		return ACTIVE_NONE;
	a->used += *at == a->used;
	return *at;
}

/* Forget keys not seen within the window that ends at now_ns; N. */
static inline uint32_t
active_count(struct active *a, uint64_t now_ns)
{
	while (a->oldest != ACTIVE_NONE &&
	    a->node[a->oldest].seen_ns + a->window_ns < now_ns)
		active_unlink(a, a->oldest);
	return a->count;
}

/* key is seen at now_ns; false without memory (it is not counted then). */
static inline bool
active_see(struct active *a, uint32_t key, uint64_t now_ns)
{
	uint32_t at = active_place(a, key);

	if (at == ACTIVE_NONE)
		return false;
	if (at == a->newest) {
		a->node[at].seen_ns = now_ns;
		return true;
	}
	if (a->listed[at])
		active_unlink(a, at);
	a->node[at] = (struct active_node){ now_ns, a->newest, ACTIVE_NONE };
	if (a->newest != ACTIVE_NONE)
		a->node[a->newest].newer = at;
	else
		a->oldest = at;
	a->newest = at;
	a->listed[at] = 1;
	a->count++;
	return true;
}

#endif
