/*
 * list.h - a list of blobs in a ring buffer
 *
 * Adding and removing at either end and reading any element take constant
 * time.  The list holds its blobs; its memory is charged to the account that
 * the caller gives.
 */
#ifndef INNET_MEMORY_STORE_LIST_H
#define INNET_MEMORY_STORE_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/innet-memory/store/blob.h"

/* Blobs in a row, in a ring: both ends and any place cost the same. */
struct list {
	struct blob **ring;
	/* places - 1, a power of two; ring NULL: none */
	size_t mask;
	size_t first, n;
};

/* Room for n more; false, with nothing changed: memory is full. */
bool list_reserve(struct list *l, struct account *bs, size_t n);

/* Add a blob, for which there is room, at one end or the other. */
void list_push(struct list *l, struct blob *b, bool left);

/* Take one away from an end of a list that has some: its holder is you. */
struct blob *list_pop(struct list *l, bool left);

/* Take those of n away that are the same bytes, the first or the last ones. */
size_t list_remove(struct list *l, struct account *bs, const uint8_t *p,
    size_t len, size_t n, bool left);

/* Give back the memory of a list without elements. */
void list_free(struct list *l, struct account *bs);

static inline struct blob *
list_get(const struct list *l, size_t i)
{
	return l->ring[(l->first + i) & l->mask];
}

#endif
