/*
 * durations.h - collect durations and calculate their exact mean and
 * percentiles
 *
 * For the mean, the struct keeps the number and the sum of all durations.  It
 * also keeps the longest duration.  For percentiles, it keeps the last
 * DURATIONS_KEPT durations in a ring.  Durations are in ns, and the sum of all
 * durations must stay below 2^64 ns (584 years).
 *
 * A zeroed struct is empty.  It owns its ring, which grows as durations are
 * added; durations_free() frees it.  A caller that must not run out of memory
 * later calls durations_reserve() first.  If a precision of 12.5 % is enough,
 * use latency.h, which never allocates memory.
 */
#ifndef INNET_BASE_DURATIONS_H
#define INNET_BASE_DURATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/stats.h"

enum { DURATIONS_KEPT = 65536 };

struct durations {
	struct stats_sum all;	/* number and sum of all durations, including
				 * those that are no longer in the ring */
	uint64_t longest_ns;
	uint64_t *ring;			/* owned; duration i, counted from 0, is
					 * at index i % DURATIONS_KEPT */
	size_t room;			/* size of the ring, in durations */
};

/*
 * Enlarge the ring to `room` durations.  Returns false if there is no memory.
 */
static inline bool
durations_grow_(struct durations *d, size_t room)
{
	uint64_t *ring = realloc(d->ring, room * sizeof(*ring));

	if (ring == NULL)
		return false;
	d->ring = ring;
	d->room = room;
	return true;
}

/*
 * Allocate the whole ring, so that durations_add() cannot fail later.  Returns
 * false if there is no memory.
 */
static inline bool
durations_reserve(struct durations *d)
{
	return durations_grow_(d, DURATIONS_KEPT);
}

/* Free the ring.  After this, d is empty. */
static inline void
durations_free(struct durations *d)
{
	free(d->ring);
	*d = (struct durations){ 0 };
}

/* Return the number of durations in the ring. */
static inline size_t
durations_kept(const struct durations *d)
{
	return d->all.count < DURATIONS_KEPT ? (size_t)d->all.count :
	    DURATIONS_KEPT;
}

/*
 * Add a duration.  If there is no memory, the duration is not added and the
 * result is false.
 */
static inline bool
durations_add(struct durations *d, uint64_t ns)
{
	const size_t n = durations_kept(d);

	if (n == d->room && n < DURATIONS_KEPT &&
	    !durations_grow_(d, n == 0 ? 64 : 2 * n))
		return false;
	d->ring[d->all.count % DURATIONS_KEPT] = ns;
	stats_sum_add(&d->all, ns);
	if (ns > d->longest_ns)
		d->longest_ns = ns;
	return true;
}

/*
 * Add the durations in `from` to `to`: add the number and the sum of all of
 * them, and add those in the ring of `from` to the ring of `to`.  Returns false
 * if there is no memory.
 */
static inline bool
durations_merge(struct durations *to, const struct durations *from)
{
	struct stats_sum all = to->all;

	for (size_t i = 0; i < durations_kept(from); i++) {
		if (!durations_add(to, from->ring[i]))
			return false;
	}
	stats_sum_merge(&all, &from->all);
	to->all = all;
	if (from->longest_ns > to->longest_ns)
		to->longest_ns = from->longest_ns;
	return true;
}

/* Return the mean of all durations, rounded down, or 0 if there are none. */
static inline uint64_t
durations_mean(const struct durations *d)
{
	return d->all.count == 0 ? 0 : d->all.total / d->all.count;
}

static inline int
durations_compare_(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/*
 * Sort the ring for durations_sorted().  After this call no duration may be
 * added.
 */
static inline void
durations_sort(struct durations *d)
{
	if (d->all.count > 0)
		qsort(d->ring, durations_kept(d), sizeof(*d->ring),
		    durations_compare_);
}

/*
 * Return a percentile of the durations in the ring: the shortest duration that
 * `percent` percent of these durations do not exceed.  The ring must be sorted
 * and must not be empty.
 */
static inline uint64_t
durations_sorted(const struct durations *d, unsigned percent)
{
	const size_t k = (durations_kept(d) * percent + 99) / 100;

	return d->ring[k == 0 ? 0 : k - 1];
}

/*
 * Return a percentile of the durations in the ring: the shortest duration that
 * `percent` percent of these durations do not exceed.  Returns 0 if the ring is
 * empty, or if there is no memory for a sorted copy.
 */
static inline uint64_t
durations_percentile(const struct durations *d, unsigned percent)
{
	const size_t n = durations_kept(d), bytes = n * sizeof(*d->ring);
	struct durations copy = { .all = d->all };
	uint64_t ns;

	copy.ring = n == 0 ? NULL : malloc(bytes);
	if (copy.ring == NULL)
		return 0;
	memcpy(copy.ring, d->ring, bytes);
	durations_sort(&copy);
	ns = durations_sorted(&copy, percent);
	free(copy.ring);
	return ns;
}

#endif
