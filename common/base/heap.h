/*
 * heap.h - a heap of pairs (time, id); the earliest pair comes first
 *
 * Entries with equal times are in the order of their ids.  So a caller can use
 * the high bits of an id to order entries that have the same time.  Each node
 * has four children, so the tree is half as deep as a binary tree.  heap_new()
 * places the four children in one cache line.  The array belongs to the caller,
 * but only these functions may read and change it.  heap_new() and heap_free()
 * allocate and free it.
 */
#ifndef INNET_BASE_HEAP_H
#define INNET_BASE_HEAP_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

enum { HEAP_LINE = 64, HEAP_SKIP = 3 };	/* number of bytes in a cache line;
					 * number of unused entries before the
					 * first entry of a heap */

struct heap {
	unsigned __int128 key;	/* the low 32 bits are the id, and the bits
				 * above are the time in ns */
};

/* Return an entry with this time and id. */
static inline struct heap
heap_make(uint64_t at_ns, uint32_t id)
{
	return (struct heap){ (unsigned __int128)at_ns << 32 | id };
}

/* Return the time of an entry. */
static inline uint64_t
heap_ns(const struct heap *d)
{
	return (uint64_t)(d->key >> 32);
}

/* Return the id of an entry. */
static inline uint32_t
heap_id(const struct heap *d)
{
	return (uint32_t)d->key;
}

/*
 * Allocate room for n entries.  The caller fills them and then calls
 * heap_order().  Returns NULL if there is no memory.
 */
static inline struct heap *
heap_new(size_t n)
{
	size_t bytes = (n + HEAP_SKIP) * sizeof(struct heap);
	struct heap *base = aligned_alloc(HEAP_LINE,
	    (bytes + HEAP_LINE - 1) / HEAP_LINE * HEAP_LINE);

	return base == NULL ? NULL : base + HEAP_SKIP;
}

/* Free a heap that heap_new() allocated. */
static inline void
heap_free(struct heap *h)
{
	if (h != NULL)
		free(h - HEAP_SKIP);
}

/*
 * Return the index of the child with the smallest key; c is the index of the
 * first child.  The comparisons are written without branches, because their
 * outcome is unpredictable.
 */
static inline size_t
heap_least(const struct heap *h, size_t n, size_t c)
{
	size_t a, b;

	if (c + 4 <= n) {
		a = c + (h[c + 1].key < h[c].key);
		b = c + 2 + (h[c + 3].key < h[c + 2].key);
		return a + (b - a) * (h[b].key < h[a].key);
	}
	for (a = c++; c < n; c++) {
		if (h[c].key < h[a].key)
			a = c;
	}
	return a;
}

/*
 * Store x in the heap h of n entries, at index i or at one of its descendants.
 */
static inline void
heap_sink(struct heap *h, size_t n, size_t i, struct heap x)
{
	size_t c, least;

	while ((c = 4 * i + 1) < n) {
		if (4 * c + 16 < n) {	/* prefetch all grandchildren at once */
			for (size_t k = 4 * c + 1; k < 4 * c + 17; k += 4)
				__builtin_prefetch(&h[k]);
		}
		least = heap_least(h, n, c);
		if (x.key < h[least].key)
			break;
		h[i] = h[least];
		i = least;
	}
	h[i] = x;
}

/*
 * Turn n entries in any order into a heap.  After this, h[0] is the earliest
 * entry.
 */
static inline void
heap_order(struct heap *h, size_t n)
{
	for (size_t i = n; i-- > 0;)
		heap_sink(h, n, i, h[i]);
}

/* Change the time of the first entry of a heap. */
static inline void
heap_again(struct heap *h, size_t n, uint64_t at_ns)
{
	heap_sink(h, n, 0, heap_make(at_ns, heap_id(&h[0])));
}

/*
 * Add an entry to a heap of n entries that has room for it.  Returns the new
 * size.
 */
static inline size_t
heap_push(struct heap *h, size_t n, struct heap x)
{
	size_t i = n;

	for (; i > 0 && x.key < h[(i - 1) / 4].key; i = (i - 1) / 4)
		h[i] = h[(i - 1) / 4];
	h[i] = x;
	return n + 1;
}

/* Remove the first entry.  Returns the new size. */
static inline size_t
heap_drop(struct heap *h, size_t n)
{
	if (--n > 0)
		heap_sink(h, n, 0, h[n]);
	return n;
}

#endif
