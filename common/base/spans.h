/*
 * spans.h - how long something took, over and over
 *
 * Keeps the last SPANS_KEPT spans for percentiles, and the sum of all for the
 * mean.  Owns its memory: spans_init() makes it, spans_free() gives it back.
 */
#ifndef INNET_BASE_SPANS_H
#define INNET_BASE_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "common/base/stats.h"

enum { SPANS_KEPT = 65536 };

struct spans {
	double *ns;			/* a ring of SPANS_KEPT */
	uint64_t count;			/* of all there were */
	double sum_ns;
};

/* False without memory. */
static inline bool
spans_init(struct spans *s)
{
	*s = (struct spans){ .ns = calloc(SPANS_KEPT, sizeof(*s->ns)) };
	return s->ns != NULL;
}

static inline void
spans_free(struct spans *s)
{
	free(s->ns);
	*s = (struct spans){ 0 };
}

static inline void
spans_add(struct spans *s, uint64_t ns)
{
	s->ns[s->count++ % SPANS_KEPT] = (double)ns;
	s->sum_ns += (double)ns;
}

/* The mean of all; 0 of none. */
static inline uint64_t
spans_mean(const struct spans *s)
{
	return s->count == 0 ? 0 : (uint64_t)(s->sum_ns / (double)s->count);
}

/* The p-th percentile (0 to 1) of those kept; 0 of none or without memory. */
static inline uint64_t
spans_percentile(const struct spans *s, double p)
{
	const size_t n = s->count < SPANS_KEPT ? s->count : SPANS_KEPT;
	double *sorted = malloc(n * sizeof(*sorted)), at = 0;

	for (size_t i = 0; i < n && sorted != NULL; i++)
		sorted[i] = s->ns[i];
	if (sorted != NULL)
		at = stats_percentile(sorted, n, p);
	free(sorted);
	return (uint64_t)at;
}

#endif
