/*
 * pending-results.h - results that arrived while the child was busy
 *
 * This is a queue of whole vectors with a limited size.  While the queue is
 * full, the worker accepts no results, and the switch keeps them.  The struct
 * owns its memory; free it with pending_results_free().
 */
#ifndef INNET_WORKER_PENDING_RESULTS_H
#define INNET_WORKER_PENDING_RESULTS_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "common/base/message.h"

enum {
	PENDING_RESULTS_MAX = 256,
	PENDING_RESULTS_MIN = 4,
	PENDING_RESULTS_BYTES = 64 << 20
};

struct pending_result {
	float *vec;
	uint32_t contributions;
	bool partial;
};

struct pending_results {
	struct pending_result r[PENDING_RESULTS_MAX];
	uint32_t first, count, max;	/* `max` is set by the memory limit */
	uint32_t elements;
	float *spare;			/* vector of the result that was removed
					 * last */
};

/* Initialize a queue for vectors of `elements` elements each. */
static inline void
pending_results_init(struct pending_results *h, uint32_t elements)
{
	uint64_t fit = PENDING_RESULTS_BYTES / (4 * (uint64_t)elements);

	*h = (struct pending_results){ .elements = elements };
	h->max = fit > PENDING_RESULTS_MAX   ? PENDING_RESULTS_MAX
		 : fit < PENDING_RESULTS_MIN ? PENDING_RESULTS_MIN
					     : (uint32_t)fit;
}

/* Free the vectors. */
static inline void
pending_results_free(struct pending_results *h)
{
	for (uint32_t i = 0; i < h->count; i++)
		free(h->r[(h->first + i) % PENDING_RESULTS_MAX].vec);
	free(h->spare);
}

/* Return the number of results in the queue. */
static inline uint32_t
pending_results_count(const struct pending_results *h)
{
	return h->count;
}

/* Is there no room for another result? */
static inline bool
pending_results_are_full(const struct pending_results *h)
{
	return h->count == h->max;
}

/*
 * Append *r with its vector to the queue, and return another vector in
 * exchange.  The queue must have room.  Exits with status 1 if out of memory.
 */
static inline float *
pending_results_put(struct pending_results *h, const struct pending_result *r)
{
	float *v = h->spare;

	h->spare = NULL;
	if (v == NULL)
		v = malloc(4 * (size_t)h->elements);
	if (v == NULL)
		err(1, "no memory for a result of %" PRIu32 " elements",
		    h->elements);
	h->r[(h->first + h->count++) % PENDING_RESULTS_MAX] = *r;
	return v;
}

/*
 * Remove the oldest result; its vector is valid until the next call.  Returns
 * false if there is none.
 */
static inline bool
pending_results_take(struct pending_results *h, struct pending_result *r)
{
	if (h->count == 0)
		return false;
	*r = h->r[h->first];
	h->first = (h->first + 1) % PENDING_RESULTS_MAX;
	h->count--;
	free(h->spare);
	h->spare = r->vec;
	return true;
}

#endif
