/*
 * active.h - how many keys were seen within the last so many nanoseconds
 *
 * Keys in order of their last sight, in a list through one array: each sight
 * and each forgetting costs the same however many there are.  This is N, the
 * active clusters, of Olaf section 5.  Times must not go back.
 */
#ifndef INNET_ACTIVE_H
#define INNET_ACTIVE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "common/keymap.h"

#define ACTIVE_NONE UINT32_MAX

struct active_node {
	uint64_t key, seen_ns;
	uint32_t older, newer;	/* places in node[], or ACTIVE_NONE */
};

struct active {
	struct keymap index;	/* key -> place in node[] */
	struct active_node *node;	/* owned */
	uint32_t room, oldest, newest, spare;
	uint64_t window_ns;
};

static inline struct active
active_over(uint64_t window_ns)
{
	return (struct active){ .window_ns = window_ns,
	    .oldest = ACTIVE_NONE, .newest = ACTIVE_NONE,
	    .spare = ACTIVE_NONE };
}

static inline void
active_free(struct active *a)
{
	keymap_free(&a->index);
	free(a->node);
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
}

/* A free node: a spare one, or room for more; ACTIVE_NONE without memory. */
static inline uint32_t
active_node(struct active *a)
{
	uint32_t at = a->spare, room = a->room == 0 ? 64 : a->room * 2;
	struct active_node *p;

	if (at == ACTIVE_NONE) {
		p = realloc(a->node, room * sizeof(*p));
		if (p == NULL)
			return ACTIVE_NONE;
		a->node = p;
		for (at = room; at-- > a->room;) {
			p[at].newer = a->spare;
			a->spare = at;
		}
		a->room = room;
		at = a->spare;
	}
	a->spare = a->node[at].newer;
	return at;
}

/* Forget keys not seen within the window that ends at now_ns; N. */
static inline uint32_t
active_count(struct active *a, uint64_t now_ns)
{
	while (a->oldest != ACTIVE_NONE &&
	    a->node[a->oldest].seen_ns + a->window_ns < now_ns) {
		uint32_t at = a->oldest;

		active_unlink(a, at);
		keymap_remove(&a->index, a->node[at].key);
		a->node[at].newer = a->spare;
		a->spare = at;
	}
	return (uint32_t)a->index.count;
}

/* key is seen at now_ns; false without memory (it is not counted then). */
static inline bool
active_see(struct active *a, uint64_t key, uint64_t now_ns)
{
	uint32_t *have, at;

	if (a->newest != ACTIVE_NONE && a->node[a->newest].key == key) {
		a->node[a->newest].seen_ns = now_ns;
		return true;
	}
	have = keymap_get(&a->index, key);
	if (have != NULL) {
		at = *have;
		active_unlink(a, at);
	} else {
		active_count(a, now_ns);	/* room is found first here */
		at = active_node(a);
		if (at == ACTIVE_NONE ||
		    keymap_put(&a->index, key, at) == NULL)
			return false;
	}
	a->node[at] = (struct active_node){ key, now_ns, a->newest,
	    ACTIVE_NONE };
	if (a->newest != ACTIVE_NONE)
		a->node[a->newest].newer = at;
	else
		a->oldest = at;
	a->newest = at;
	return true;
}

#endif
