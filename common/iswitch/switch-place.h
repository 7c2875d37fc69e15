/*
 * switch-place.h - how far a job is, and from where on its results are kept
 *
 * By iteration in step, by round out of step; a segment may be ahead of others.
 */
#ifndef INNET_ISWITCH_SWITCH_PLACE_H
#define INNET_ISWITCH_SWITCH_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/iswitch/job.h"

/* Has there been a result of all of t? */
static inline bool
iswitch_done(const struct job *j, int64_t t)
{
	for (uint32_t i = 0; i < j->a.s.segs; i++) {
		const uint32_t at = sums_at(&j->a, t, i);
		const int is = sums_compare(&j->a, at, t, i);

		if (j->cf->async ? sums_result(&j->a, t, i) == NULL :
		    is < 0 ||
		    (is == 0 && j->a.slot[at].state != SUMS_COMPLETE))
			return false;
	}
	return true;
}

/*
 * The first iteration that is not wholly done: the newest or, where one is
 * given once more while segments behind it are still on their way, the one
 * before.
 */
static inline int64_t
iswitch_next(const struct job *j)
{
	int64_t t = j->newest > j->start ? j->newest - 1 : j->start;

	t = t > j->fresh ? t : j->fresh;
	while (t <= j->newest && iswitch_done(j, t))
		t++;
	return t;
}

/* Asynchronous: the first round of segment i whose result is not there. */
static inline int64_t
iswitch_undone(const struct job *j, uint32_t i)
{
	const struct sums_slot *s = &j->a.slot[i];

	if (j->a.s.apart) {	/* what came down; the next may be amid */
		int64_t t = j->newest;

		while (t >= j->start && j->newest - t < (int64_t)j->a.s.depth &&
		    sums_result(&j->a, t, i) == NULL)
			t--;
		return t + 1;
	}
	return s->state == SUMS_EMPTY ? j->start :
	    s->iteration + (s->state == SUMS_COMPLETE);
}

/* Is every result from n on, as far as it is done, still kept? */
static inline bool
iswitch_keeps(const struct job *j, int64_t n)
{
	const int64_t next = j->cf->async ? 0 : iswitch_next(j);

	if (n > j->newest + 1 || j->newest - n > (int64_t)j->a.s.depth)
		return false;
	for (uint32_t i = 0; i < j->a.s.segs; i++) {
		const int64_t undone = j->cf->async ? iswitch_undone(j, i) :
		    next;

		for (int64_t t = n; t < undone; t++) {
			if (sums_result(&j->a, t, i) == NULL)
				return false;
		}
	}
	return true;
}

/*
 * Is the result of a segment of n kept no more, though the iteration is not
 * done?  So it is where slots are fewer than segments: who lacks all of n
 * cannot get it.
 */
static inline bool
iswitch_misses(const struct job *j, int64_t n)
{
	for (uint32_t i = 0; j->a.s.span != 0 && i < j->a.s.segs; i++) {
		if (sums_compare(&j->a, sums_at(&j->a, n, i), n, i) > 0)
			return true;
	}
	return false;
}

#endif
