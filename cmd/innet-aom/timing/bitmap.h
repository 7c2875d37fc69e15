/*
 * bitmap.h - the set of the segments of a vector that have been seen
 *
 * A set holds indices below 2^24, in pages that are allocated when they are
 * needed.  All sets share one budget of bytes, so that no capture can make them
 * grow without limit.  bitmap_add() refuses an index that does not fit.  A
 * zeroed struct is the empty set, and bitmap_clear() frees the memory of a set.
 */
#ifndef INNET_AOM_BITMAP_H
#define INNET_AOM_BITMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
	BITMAP_LOW_BITS = 64,			/* bits of small indices, which
						 * need no page */
	BITMAP_PAGE_BYTES = 512,
	BITMAP_PAGE_BITS = 8 * BITMAP_PAGE_BYTES
};

struct bitmap {
	uint64_t low;
	uint8_t **page;		/* array and pages are owned */
	uint32_t pages;
	uint32_t n;		/* number of indices in the set */
};

/* The maximum number of bytes for all sets together, and the number in use. */
struct bitmap_budget {
	size_t most_bytes, bytes;
};

enum bitmap_result { BITMAP_NEW, BITMAP_REPEATED, BITMAP_NO_ROOM };

/*
 * Take bytes from the budget.  Return false if the budget does not have that
 * many bytes left.
 */
static inline bool
bitmap_reserve(struct bitmap_budget *b, size_t bytes)
{
	if (b->most_bytes - b->bytes < bytes)
		return false;
	b->bytes += bytes;
	return true;
}

/*
 * Return the page of index i.  Allocate the page if needed.  Return NULL if
 * there is no room.
 */
static inline uint8_t *
bitmap_page(struct bitmap *s, struct bitmap_budget *b, uint32_t i)
{
	const uint32_t k = i / BITMAP_PAGE_BITS;
	uint8_t **page;

	if (k >= s->pages) {
		const uint32_t more = k + 1 - s->pages;

		if (!bitmap_reserve(b, more * sizeof(*page)))
			return NULL;
		page = realloc(s->page, (k + 1) * sizeof(*page));
		if (page == NULL) {
			b->bytes -= more * sizeof(*page);
			return NULL;
		}
		memset(page + s->pages, 0, more * sizeof(*page));
		s->page = page;
		s->pages = k + 1;
	}
	if (s->page[k] == NULL && bitmap_reserve(b, BITMAP_PAGE_BYTES)) {
		s->page[k] = calloc(1, BITMAP_PAGE_BYTES);
		if (s->page[k] == NULL)
			b->bytes -= BITMAP_PAGE_BYTES;
	}
	return s->page[k];
}

/* Add index i, and return whether it is new. */
static inline enum bitmap_result
bitmap_add(struct bitmap *s, struct bitmap_budget *b, uint32_t i)
{
	uint8_t *page, bit;

	if (i < BITMAP_LOW_BITS) {
		if ((s->low >> i & 1) != 0)
			return BITMAP_REPEATED;
		s->low |= (uint64_t)1 << i;
		s->n++;
		return BITMAP_NEW;
	}
	page = bitmap_page(s, b, i);
	if (page == NULL)
		return BITMAP_NO_ROOM;
	page += i % BITMAP_PAGE_BITS / 8;
	bit = (uint8_t)(1u << i % 8);
	if ((*page & bit) != 0)
		return BITMAP_REPEATED;
	*page |= bit;
	s->n++;
	return BITMAP_NEW;
}

/* Return whether index 0, the start of the vector, is in the set. */
static inline bool
bitmap_has_first(const struct bitmap *s)
{
	return (s->low & 1) != 0;
}

/* Free the pages of s, and make s the empty set. */
static inline void
bitmap_clear(struct bitmap *s, struct bitmap_budget *b)
{
	for (uint32_t k = 0; k < s->pages; k++) {
		if (s->page[k] == NULL)
			continue;
		free(s->page[k]);
		b->bytes -= BITMAP_PAGE_BYTES;
	}
	b->bytes -= s->pages * sizeof(*s->page);
	free(s->page);
	*s = (struct bitmap){ 0 };
}

#endif
