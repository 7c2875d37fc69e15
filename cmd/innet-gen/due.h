/*
 * due.h - who is due next: a heap of (time, id)
 *
 * Equal times come in the order of their ids.  Four children a node: the
 * path is half as deep as with two, and due_new() lays the four into one
 * cache line.
 */
#ifndef INNET_GEN_DUE_H
#define INNET_GEN_DUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

enum { DUE_LINE = 64, DUE_SKIP = 3 };	/* bytes; entries before the first */

struct due {
	uint64_t at_ns;
	uint32_t id;
};

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

static inline bool
due_before(const struct due *a, const struct due *b)
{
	return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->id < b->id;
}

/* Let x sink from place i of the heap of n at h. */
static inline void
due_sink(struct due *h, size_t n, size_t i, struct due x)
{
	size_t c, end, least;

	while ((c = 4 * i + 1) < n) {
		end = c + 4 < n ? c + 4 : n;
		for (least = c++; c < end; c++) {
			if (due_before(&h[c], &h[least]))
				least = c;
		}
		if (due_before(&x, &h[least]))
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
	due_sink(h, n, 0, (struct due){ at_ns, h[0].id });
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
