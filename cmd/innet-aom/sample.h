/*
 * sample.h - how long something took, over and over: exact mean and percentiles
 *
 * A struct sum is a sum and how many are in it.  A struct sample keeps the last
 * SAMPLE_KEPT values, too, for percentiles; it owns its memory, which grows as
 * values come: sample_free().  Zeroed structs are empty.
 */
#ifndef INNET_AOM_SAMPLE_H
#define INNET_AOM_SAMPLE_H

#include <err.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

enum { SAMPLE_KEPT = 65536 };

struct sum {
	uint64_t n, sum;
};

struct sample {
	struct sum all;
	uint64_t most;
	uint64_t *v;		/* a ring of SAMPLE_KEPT, once it is full */
	size_t room;
};

static inline void
sum_add(struct sum *s, uint64_t v)
{
	s->n++;
	s->sum += v;
}

static inline void
sum_more(struct sum *s, const struct sum *of)
{
	s->n += of->n;
	s->sum += of->sum;
}

/* Rounded half up; there is one at least. */
static inline uint64_t
sum_mean(const struct sum *s)
{
	return (s->sum + s->n / 2) / s->n;
}

/* How many are kept. */
static inline size_t
sample_kept(const struct sample *s)
{
	return s->all.n < SAMPLE_KEPT ? (size_t)s->all.n : SAMPLE_KEPT;
}

static inline void
sample_add(struct sample *s, uint64_t v)
{
	if (s->all.n < SAMPLE_KEPT && s->all.n == s->room) {
		s->room = s->room == 0 ? 64 : 2 * s->room;
		s->v = realloc(s->v, s->room * sizeof(*s->v));
		if (s->v == NULL)
			err(1, "%zu times", s->room);
	}
	s->v[s->all.n % SAMPLE_KEPT] = v;
	sum_add(&s->all, v);
	if (v > s->most)
		s->most = v;
}

/* Those of another one, too. */
static inline void
sample_more(struct sample *s, const struct sample *of)
{
	struct sum all = s->all;

	for (size_t i = 0; i < sample_kept(of); i++)
		sample_add(s, of->v[i]);
	sum_more(&all, &of->all);
	s->all = all;
	if (of->most > s->most)
		s->most = of->most;
}

static inline void
sample_free(struct sample *s)
{
	free(s->v);
	*s = (struct sample){ 0 };
}

static inline int
sample_compare(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Sort what is kept, for percentiles; nothing may be added any more. */
static inline void
sample_sort(struct sample *s)
{
	if (s->all.n > 0)
		qsort(s->v, sample_kept(s), sizeof(*s->v), sample_compare);
}

/* Of a sorted one: the least with p % at or below; there is one at least. */
static inline uint64_t
sample_percentile(const struct sample *s, unsigned p)
{
	const size_t n = sample_kept(s), k = (n * p + 99) / 100;

	return s->v[k == 0 ? 0 : k - 1];
}

#endif
