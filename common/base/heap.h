/*
 * heap.h - who is due next: a heap of (time, id)
 *
 * Equal times come in the order of their ids, so the bits of an id above
 * those that name somebody can say what comes first at one instant.  Four
 * children a node: the path is half as deep as with two, and due_new() lays
 * the four into one cache line.  The heap is an array of the caller's, to be
 * read and changed by these functions alone; due_new() and due_free() make it
 * and give it back.
 */
#ifndef INNET_BASE_HEAP_H
#define INNET_BASE_HEAP_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

enum { DUE_LINE = 64, DUE_SKIP = 3 };	/* bytes; entries before the first */

struct due {
	unsigned __int128 key;	/* time in ns, and the id in the low 32 bits */
};

static inline struct due
due_make(uint64_t at_ns, uint32_t id)
{
	return (struct due){ (unsigned __int128)at_ns << 32 | id };
}

static inline uint64_t
due_ns(const struct due *d)
{
	return (uint64_t)(d->key >> 32);
}

static inline uint32_t
due_id(const struct due *d)
{
	return (uint32_t)d->key;
}

/* Room for n, to be filled and ordered; NULL if there is none. */
static inline struct due *
due_new(size_t n)
{
	size_t bytes = (n + DUE_SKIP) * sizeof(struct due);
	struct due *base = aligned_alloc(DUE_LINE,
	    (bytes + DUE_LINE - 1) / DUE_LINE * DUE_LINE);

	return base == NULL ? NULL : base + DUE_SKIP;
}

static inline void
due_free(struct due *h)
{
	if (h != NULL)
		free(h - DUE_SKIP);
}

/*
 * The least of the children from c on.  Which it is cannot be predicted, so
 * whole families are compared without a branch.
 */
static inline size_t
due_least(const struct due *h, size_t n, size_t c)
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
due_sink(struct due *h, size_t n, size_t i, struct due x)
{
	size_t c, least;

	while ((c = 4 * i + 1) < n) {
		if (4 * c + 16 < n) {	/* fetch all grandchildren at once */
			for (size_t k = 4 * c + 1; k < 4 * c + 17; k += 4)
				__builtin_prefetch(&h[k]);
		}
		least = due_least(h, n, c);
		if (x.key < h[least].key)
			break;
		h[i] = h[least];
		i = least;
	}
	h[i] = x;
}

/* Make a heap of any n; h[0] is then the first due. */
static inline void
due_order(struct due *h, size_t n)
{
	for (size_t i = n; i-- > 0;)
		due_sink(h, n, i, h[i]);
}

/* The first is due again then. */
static inline void
due_again(struct due *h, size_t n, uint64_t at_ns)
{
	due_sink(h, n, 0, due_make(at_ns, due_id(&h[0])));
}

/* One more, in a heap of n with room for it: the heap's new size. */
static inline size_t
due_push(struct due *h, size_t n, struct due x)
{
	size_t i = n;

	for (; i > 0 && x.key < h[(i - 1) / 4].key; i = (i - 1) / 4)
		h[i] = h[(i - 1) / 4];
	h[i] = x;
	return n + 1;
}

/* The first is not due again: the heap's new size. */
static inline size_t
due_drop(struct due *h, size_t n)
{
	if (--n > 0)
		due_sink(h, n, 0, h[n]);
	return n;
}

#endif
