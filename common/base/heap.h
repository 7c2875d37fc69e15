/*
 * heap.h - who is due next: a heap of (time, id)
 *
 * Equal times come in the order of their ids, so the bits of an id above
 * those that name somebody can say what comes first at one instant.  Four
 * children a node: the path is half as deep as with two, and heap_new() lays
 * the four into one cache line.  The heap is an array of the caller's, to be
 * read and changed by these functions alone; heap_new() and heap_free() make it
 * and give it back.
 */
#ifndef INNET_BASE_HEAP_H
#define INNET_BASE_HEAP_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

enum { HEAP_LINE = 64, HEAP_SKIP = 3 };	/* bytes; entries before the first */

struct heap {
	unsigned __int128 key;	/* time in ns, and the id in the low 32 bits */
};

static inline struct heap
heap_make(uint64_t at_ns, uint32_t id)
{
	return (struct heap){ (unsigned __int128)at_ns << 32 | id };
}

static inline uint64_t
heap_ns(const struct heap *d)
{
	return (uint64_t)(d->key >> 32);
}

static inline uint32_t
heap_id(const struct heap *d)
{
	return (uint32_t)d->key;
}

/* Room for n, to be filled and ordered; NULL if there is none. */
static inline struct heap *
heap_new(size_t n)
{
	size_t bytes = (n + HEAP_SKIP) * sizeof(struct heap);
	struct heap *base = aligned_alloc(HEAP_LINE,
	    (bytes + HEAP_LINE - 1) / HEAP_LINE * HEAP_LINE);

	return base == NULL ? NULL : base + HEAP_SKIP;
}

static inline void
heap_free(struct heap *h)
{
	if (h != NULL)
		free(h - HEAP_SKIP);
}

/*
 * The least of the children from c on.  Which it is cannot be predicted, so
 * whole families are compared without a branch.
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

/* Let x sink from place i of the heap of n at h. */
static inline void
heap_sink(struct heap *h, size_t n, size_t i, struct heap x)
{
	size_t c, least;

	while ((c = 4 * i + 1) < n) {
		if (4 * c + 16 < n) {	/* fetch all grandchildren at once */
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

/* Make a heap of any n; h[0] is then the first due. */
static inline void
heap_order(struct heap *h, size_t n)
{
	for (size_t i = n; i-- > 0;)
		heap_sink(h, n, i, h[i]);
}

/* The first is due again then. */
static inline void
heap_again(struct heap *h, size_t n, uint64_t at_ns)
{
	heap_sink(h, n, 0, heap_make(at_ns, heap_id(&h[0])));
}

/* One more, in a heap of n with room for it: the heap's new size. */
static inline size_t
heap_push(struct heap *h, size_t n, struct heap x)
{
	size_t i = n;

	for (; i > 0 && x.key < h[(i - 1) / 4].key; i = (i - 1) / 4)
		h[i] = h[(i - 1) / 4];
	h[i] = x;
	return n + 1;
}

/* The first is not due again: the heap's new size. */
static inline size_t
heap_drop(struct heap *h, size_t n)
{
	if (--n > 0)
		heap_sink(h, n, 0, h[n]);
	return n;
}

#endif
