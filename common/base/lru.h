/*
 * lru.h - a table with 64-bit keys that keeps the most recently used rows
 *
 * The table has at most `most` rows.  When the table is full, a new key
 * replaces the key that has not been used for the longest time.  Every
 * operation takes the same time, whatever the number of rows is.
 *
 * The caller defines the content of a row.  A row is zeroed when it is added,
 * and it may move in memory when another row is added.  Row numbers begin at 1
 * and do not change.  The table owns its memory; lru_free() frees it.
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
	uint32_t older, newer;	/* numbers of the neighbouring rows in the list;
				 * 0 at the ends of the list; `newer` also links
				 * the free rows */
};

struct lru {
	struct hashmap index;		/* map from key to row number */
	struct lru_node *node;		/* owned; by row number; node[0] is both
					 * ends of the list */
	uint8_t *row;			/* the rows, row_bytes bytes each; row 0
					 * is not used */
	size_t row_bytes;
	uint32_t count, most;
	uint32_t room;			/* number of rows allocated */
	uint32_t made;			/* highest row number ever used */
	uint32_t free;			/* number of the first free row, or 0 */
};

/* Return an empty table; `multiplier` is the multiplier of its hash map. */
static inline struct lru lru_new(uint32_t most, size_t row_bytes,
    const struct hashmap_multiplier *multiplier);

/* Free the memory.  The table is then empty. */
static inline void lru_free(struct lru *r);

/* Return the number of the row of key, or 0 if there is none. */
static inline uint32_t lru_find(const struct lru *r, uint64_t key);

/*
 * Return the number of the row of key, and mark it as the most recently used
 * one.  If key has no row, add one; if the table is full, the new row replaces
 * the least recently used row.  Returns 0 if there is no memory.
 */
static inline uint32_t lru_find_or_add(struct lru *r, uint64_t key);

/*
 * Add a row for a key that has none, mark the row as the most recently used
 * one, and return its number.  Returns 0 if there is no memory or if the table
 * is full.
 */
static inline uint32_t lru_add(struct lru *r, uint64_t key);

/* Return the row with number `at`. */
static inline void *lru_row(const struct lru *r, uint32_t at);

/* Mark row `at` as the most recently used one. */
static inline void lru_mark_used(struct lru *r, uint32_t at);

/* Return the number of the least recently used row, or 0 if there is none. */
static inline uint32_t lru_oldest(const struct lru *r);

/* Remove row `at`.  Its content stays valid until another row is added. */
static inline void lru_remove(struct lru *r, uint32_t at);

/* Return the number of bytes that a full table uses. */
static inline uint64_t lru_most_bytes(uint32_t most, size_t row_bytes);

/* implementation */

static inline struct lru
lru_new(uint32_t most, size_t row_bytes,
    const struct hashmap_multiplier *multiplier)
{
	struct lru r = { .most = most, .row_bytes = row_bytes };

	hashmap_seed(&r.index, multiplier);
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

static inline uint64_t
lru_most_bytes(uint32_t most, size_t row_bytes)
{
	uint64_t room = 16;

	while (room <= most)
		room *= 2;
	return room * (sizeof(struct lru_node) + row_bytes) +
	    hashmap_most_bytes(most);
}

static inline void *
lru_row(const struct lru *r, uint32_t at)
{
	return r->row + at * r->row_bytes;
}

static inline uint32_t
lru_find(const struct lru *r, uint64_t key)
{
	const uint32_t *at = hashmap_get(&r->index, key);

	return at == NULL ? 0 : *at;
}

static inline uint32_t
lru_oldest(const struct lru *r)
{
	return r->count == 0 ? 0 : r->node[0].newer;
}

/* Remove row `at` from the list. */
static inline void
lru_unlink(struct lru *r, uint32_t at)
{
	const struct lru_node *n = &r->node[at];

	r->node[n->older].newer = n->newer;
	r->node[n->newer].older = n->older;
}

/* Add row `at` to the list as the most recently used row. */
static inline void
lru_link(struct lru *r, uint32_t at)
{
	struct lru_node *n = &r->node[at], *end = &r->node[0];

	n->older = end->older;
	n->newer = 0;
	r->node[end->older].newer = at;
	end->older = at;
}

static inline void
lru_mark_used(struct lru *r, uint32_t at)
{
	if (r->node[0].older == at)
		return;
	lru_unlink(r, at);
	lru_link(r, at);
}

static inline void
lru_remove(struct lru *r, uint32_t at)
{
	lru_unlink(r, at);
	hashmap_remove(&r->index, r->node[at].key);
	r->node[at].newer = r->free;
	r->free = at;
	r->count--;
}

/* Make room for one more row.  Returns false if there is no memory. */
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
