/*
 * plainsum.h - a sum tree in plain form: an array of weights and their sums.
 * Only the weights are kept between changes: plainsum_add() computes all prefix
 * sums again, and plainsum_find() bisects them.
 */
#ifndef TESTS_PLAINSUM_H
#define TESTS_PLAINSUM_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

struct plainsum {
	size_t n;
	uint32_t *w;
	uint64_t *upto;		/* w[0] + ... + w[i], by plainsum_add() */
};

static inline struct plainsum
plainsum_new(size_t n)
{
	struct plainsum s = { n, calloc(n, sizeof(*s.w)),
	    calloc(n, sizeof(*s.upto)) };

	if (s.w == NULL || s.upto == NULL)
		abort();
	return s;
}

static inline void
plainsum_free(struct plainsum *s)
{
	free(s->w);
	free(s->upto);
}

/* Compute all prefix sums; returns the total. */
static inline uint64_t
plainsum_add(struct plainsum *s)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < s->n; i++)
		s->upto[i] = sum += s->w[i];
	return sum;
}

/* Return the least i with upto[i] > x; x is below the total. */
static inline size_t
plainsum_find(const struct plainsum *s, uint64_t x)
{
	const uint64_t *p = s->upto;
	size_t n = s->n;

	while (n > 1) {
		const size_t half = n / 2;

		p += p[half - 1] <= x ? half : 0;
		n -= half;
	}
	return (size_t)(p - s->upto);
}

#endif
