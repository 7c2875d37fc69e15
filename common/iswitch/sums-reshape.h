/*
 * sums-reshape.h - more memory for the segments of a job, all of them kept
 *
 * For a vector that is longer than was known, more members, more contributions
 * or more results: sums.h.
 */
#ifndef INNET_ISWITCH_SUMS_RESHAPE_H
#define INNET_ISWITCH_SUMS_RESHAPE_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "common/iswitch/sums.h"

/* The slot of the larger b that has the place of slot `at` of a. */
static inline uint32_t
sums_moved(const struct sums *b, const struct sums *a, uint32_t at)
{
	return a->s.span != 0 ? at :
	    at / a->s.segs * b->s.segs + at % a->s.segs;
}

/* Copy what a holds into the larger b: slots, bitmaps, rows, results. */
static inline void
sums_copy(struct sums *b, const struct sums *a)
{
	for (uint32_t at = a->oldest; at != SUMS_NONE; at = a->slot[at].after) {
		const uint32_t to = sums_moved(b, a, at);

		b->slot[to].began_ns = a->slot[at].began_ns;
		b->slot[to].index = a->slot[at].index;
		sums_link(b, to);
	}
	for (uint32_t from = 0; from < sums_slots(&a->s); from++) {
		const uint32_t at = sums_moved(b, a, from);
		const size_t ta = sums_table_bytes(&a->reduce, a->s.rows);
		const size_t tb = sums_table_bytes(&b->reduce, b->s.rows);
		struct sums_slot *s = &b->slot[at];
		uint32_t before = s->before, after = s->after;

		*s = a->slot[from];
		s->before = before;
		s->after = after;
		memcpy(sums_bits(b, at), sums_bits(a, from),
		    a->s.words * sizeof(uint64_t));
		if (s->state == SUMS_EMPTY)
			continue;
		memcpy(sums_packet(b, at), sums_packet(a, from), a->stride);
		if (a->work == NULL)
			continue;
		memcpy(sums_work(b, at), sums_work(a, from), ta);
		memcpy(sums_work(b, at) + tb, sums_work(a, from) + ta,
		    reduce_work_bytes(&a->reduce, s->rows, s->n));
	}
	for (size_t k = 0; k < sums_places(&a->s); k++) {
		const int64_t t = a->kept[k].iteration;
		const uint32_t i = a->kept[k].index;

		if (t == SUMS_NEVER)
			continue;
		memcpy(sums_place(b, t, i), sums_place(a, t, i), a->stride);
		*sums_kept(b, t, i) = a->kept[k];
	}
	memcpy(b->ready, a->ready, a->s.ways * sizeof(*b->ready));
	b->count = a->count;
}

/*
 * Lay the memory out for the larger shape s, and keep all that is there.
 * False without memory, and then nothing has changed.  The caller has settled
 * the outbox.  Nothing of s may be smaller than it was.
 */
static inline bool
sums_reshape(struct sums *a, const struct sums_shape *s)
{
	struct sums b;

	assert(s->segs >= a->s.segs && s->floats >= a->s.floats &&
	    s->depth >= a->s.depth && s->words >= a->s.words &&
	    s->rows >= a->s.rows && s->ways == a->s.ways &&
	    s->apart == a->s.apart && s->span == a->s.span &&
	    s->proof == a->s.proof &&
	    (s->span == 0 || s->segs == a->s.segs));
	if (!sums_init(&b, &a->reduce, s))
		return false;
	sums_copy(&b, a);
	sums_free(a);
	*a = b;
	return true;
}

#endif
