/*
 * lru.h - rows for 64-bit keys: of so many, those that were used last
 *
 * A table that never has more than `most` rows: a key that is new when it is
 * full takes the row of the one that was used longest ago, which is forgotten.
 * Each use costs the same however many there are.  What a row holds is the
 * caller's; rows are zeroed when they are made and may move when one is.  Row
 * numbers are from 1 on and stay while the row does.  Owns its memory:
 * lru_free().
 */
#ifndef INNET_BASE_LRU_H
#define INNET_BASE_LRU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/hashmap.h"

struct lru_node {
	uint64_t key;
	uint32_t older, newer;	/* rows; 0 at the ends.  Free: newer is next */
};

struct lru {
	struct hashmap index;		/* key -> row */
	struct lru_node *node;	/* [0] is both ends of the list */
	uint8_t *row;			/* row_bytes each; [0] is not used */
	size_t row_bytes;
	uint32_t count, most;
	uint32_t room, made, free;	/* rows: allocated, given out, free */
};

/* A table of at most `most` rows of row_bytes; by: of its map, hashmap.h. */
static inline struct lru
lru_new(uint32_t most, size_t row_bytes, const struct hashmap_multiplier *by)
{
	struct lru r = { .most = most, .row_bytes = row_bytes };

	hashmap_seed(&r.index, by);
	return r;
}

static inline void
lru_free(struct lru *r)
{
	hashmap_free(&r->index);
	free(r->node);
	free(r->row);
	*r = (struct lru){ 0 };
}

static inline void *
lru_row(const struct lru *r, uint32_t at)
{
	return r->row + at * r->row_bytes;
}

/* The row of a key, or 0. */
static inline uint32_t
lru_find(const struct lru *r, uint64_t key)
{
	const uint32_t *at = hashmap_get(&r->index, key);

	return at == NULL ? 0 : *at;
}

/* The row that was used longest ago, or 0. */
static inline uint32_t
lru_oldest(const struct lru *r)
{
	return r->count == 0 ? 0 : r->node[0].newer;
}

static inline void
lru_unlink(struct lru *r, uint32_t at)
{
	const struct lru_node *n = &r->node[at];

	r->node[n->older].newer = n->newer;
	r->node[n->newer].older = n->older;
}

static inline void
lru_link(struct lru *r, uint32_t at)
{
	struct lru_node *n = &r->node[at], *end = &r->node[0];

	n->older = end->older;
	n->newer = 0;
	r->node[end->older].newer = at;
	end->older = at;
}

/* A row is used now. */
static inline void
lru_mark_used(struct lru *r, uint32_t at)
{
	if (r->node[0].older == at)
		return;
	lru_unlink(r, at);
	lru_link(r, at);
}

/* Forget a row; what it holds is still there until another is made. */
static inline void
lru_remove(struct lru *r, uint32_t at)
{
	lru_unlink(r, at);
	hashmap_remove(&r->index, r->node[at].key);
	r->node[at].newer = r->free;
	r->free = at;
	r->count--;
}

/* Room for one more row.  False without memory. */
static inline bool
lru_grow(struct lru *r)
{
	const uint32_t room = r->room == 0 ? 16 : r->room * 2;
	struct lru_node *node;
	uint8_t *row;

	if (r->made + 1 < r->room)
		return true;
	node = realloc(r->node, room * sizeof(*node));
	if (node == NULL)
		return false;
	r->node = node;
	row = realloc(r->row, room * r->row_bytes);
	if (row == NULL)
		return false;
	if (r->room == 0)
		node[0] = (struct lru_node){ 0 };
	r->row = row;
	r->room = room;
	return true;
}

/*
 * The row of a key that has none, as the newest; 0 without memory.  A full
 * table must first forget one.
 */
static inline uint32_t
lru_add(struct lru *r, uint64_t key)
{
	uint32_t at = r->free;

	if (r->count >= r->most || (at == 0 && !lru_grow(r)))
		return 0;
	if (at == 0)
		at = r->made + 1;
	if (hashmap_put(&r->index, key, at) == NULL)
		return 0;
	if (at > r->made)
		r->made = at;
	else
		r->free = r->node[at].newer;
	r->node[at].key = key;
	memset(lru_row(r, at), 0, r->row_bytes);
	lru_link(r, at);
	r->count++;
	return at;
}

/* The row of a key, made if need be, is used now; 0 without memory. */
static inline uint32_t
lru_find_or_add(struct lru *r, uint64_t key)
{
	const uint32_t at = lru_find(r, key);

	if (at != 0) {
		lru_mark_used(r, at);
		return at;
	}
	if (r->count >= r->most && r->count > 0)
		lru_remove(r, lru_oldest(r));
	return lru_add(r, key);
}

#endif
