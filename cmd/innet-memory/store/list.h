/*
 * list.h - a list of blobs in a ring buffer
 *
 * Adding or removing an element at an end and reading any element take constant
 * time.  The list holds its blobs.  The memory of the list is charged to the
 * account that the caller passes.
 */
#ifndef INNET_MEMORY_STORE_LIST_H
#define INNET_MEMORY_STORE_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/innet-memory/store/blob.h"

struct list {
	struct blob **ring;
	/* size of the ring minus 1; the size is a power of two */
	size_t mask;
	size_t first, n;
};

/*
 * Make room for n more elements.  If there is no memory, return false and
 * change nothing.
 */
bool list_reserve(struct list *l, struct account *bs, size_t n);

/* Add a blob at the left or right end.  list_reserve() must have made room. */
void list_push(struct list *l, struct blob *b, bool left);

/*
 * Remove a blob from an end of a list that is not empty, and return it.  The
 * list's hold of the blob passes to the caller.
 */
struct blob *list_pop(struct list *l, bool left);

/*
 * Remove up to n elements that are equal to the len bytes at p, beginning at
 * the left or the right end.  Return the number of removed elements.
 */
size_t list_remove(struct list *l, struct account *bs, const uint8_t *p,
    size_t len, size_t n, bool left);

/* Free the memory of a list without elements. */
void list_free(struct list *l, struct account *bs);

/* Return element i, counted from the left. */
static inline struct blob *
list_get(const struct list *l, size_t i)
{
	return l->ring[(l->first + i) & l->mask];
}

#endif
