/*
 * pending-results.h - results that came while the child was busy
 *
 * A queue of whole vectors.  What is held is bounded; who would hold more
 * waits, and the switch keeps its own.  Owns its memory: held_free().
 */
#ifndef INNET_WORKER_PENDING_RESULTS_H
#define INNET_WORKER_PENDING_RESULTS_H

#include <err.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

enum { HELD_MAX = 256, HELD_MIN = 4, HELD_BYTES = 64 << 20 };

struct held_result {
	float *vec;
	uint32_t contributions;
	bool partial;
};

struct held {
	struct held_result r[HELD_MAX];
	uint32_t first, count, max;
	uint32_t elements;
	float *spare;			/* the vector that was taken last */
};

static inline void
held_init(struct held *h, uint32_t elements)
{
	uint64_t fit = HELD_BYTES / (4 * (uint64_t)elements);

	*h = (struct held){ .elements = elements };
	h->max = fit > HELD_MAX ? HELD_MAX : fit < HELD_MIN ? HELD_MIN :
	    (uint32_t)fit;
}

static inline void
held_free(struct held *h)
{
	for (uint32_t i = 0; i < h->count; i++)
		free(h->r[(h->first + i) % HELD_MAX].vec);
	free(h->spare);
}

static inline uint32_t
held_count(const struct held *h)
{
	return h->count;
}

/* Is there no room for another? */
static inline bool
held_full(const struct held *h)
{
	return h->count == h->max;
}

/* Hold *r, its vector too; another vector in its place.  There is room. */
static inline float *
held_put(struct held *h, const struct held_result *r)
{
	float *v = h->spare;

	h->spare = NULL;
	if (v == NULL)
		v = malloc(4 * (size_t)h->elements);
	if (v == NULL)
		err(1, "a result of %" PRIu32 " elements", h->elements);
	h->r[(h->first + h->count++) % HELD_MAX] = *r;
	return v;
}

/* The oldest into *r, its vector good until the next; false if none is held. */
static inline bool
held_take(struct held *h, struct held_result *r)
{
	if (h->count == 0)
		return false;
	*r = h->r[h->first];
	h->first = (h->first + 1) % HELD_MAX;
	h->count--;
	free(h->spare);
	h->spare = r->vec;
	return true;
}

#endif
