/*
 * olaf-worker-model.h - a worker's copy of the model, which arrives in ranges
 *
 * The server answers a vector of several packets range by range.  Each range
 * has its own version, and the worker keeps the newest version of each range
 * (Olaf section 2.1).  The functions are pure: the caller passes the time.  The
 * struct owns its vector; free it with worker_model_free().
 */
#ifndef INNET_WORKER_OLAF_WORKER_MODEL_H
#define INNET_WORKER_OLAF_WORKER_MODEL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/wire/update.h"

/*
 * If no model has arrived for this time, the worker accepts any version,
 * because the server may have restarted.
 */
#define WORKER_MODEL_RESTART_NS 1000000000u

struct worker_model_range {
	uint32_t version;
	bool have;		/* a model of this range has arrived */
	uint64_t came_ns;
};

struct worker_model {
	uint32_t elements, n;	/* number of elements in the vector; number in
				 * each packet except the last */
	uint32_t ranges, whole;	/* number of packets in a vector; number of
				 * ranges that have arrived */
	float *w;		/* owned */
	struct worker_model_range *range;	/* owned */
	uint64_t taken;		/* number of models accepted so far */
	uint64_t stale;		/* number of models that were not newer */
};

/*
 * Allocate a zeroed vector that is split into packets of n elements.  Returns
 * false if out of memory.
 */
static inline bool
worker_model_init(struct worker_model *m, uint32_t elements, uint32_t n)
{
	*m = (struct worker_model){ .elements = elements,
	    .n = n < elements ? n : elements };
	m->ranges = update_packets(elements, m->n);
	m->w = calloc(elements, sizeof(*m->w));
	m->range = calloc(m->ranges, sizeof(*m->range));
	return m->w != NULL && m->range != NULL;
}

/* Free the vector. */
static inline void
worker_model_free(struct worker_model *m)
{
	free(m->w);
	free(m->range);
	*m = (struct worker_model){ 0 };
}

/*
 * Return the number of elements of range r, and set *first to the index of its
 * first element in the vector.
 */
static inline uint32_t
worker_model_range(const struct worker_model *m, uint32_t r, uint32_t *first)
{
	*first = r * m->n;
	return r + 1 < m->ranges ? m->n : m->elements - *first;
}

/* Have all ranges arrived from the server? */
static inline bool
worker_model_whole(const struct worker_model *m)
{
	return m->ranges > 0 && m->whole == m->ranges;
}

/* Return the lowest version of all ranges, or 0 before the first model. */
static inline uint32_t
worker_model_version(const struct worker_model *m)
{
	uint32_t least = m->range[0].version;

	for (uint32_t r = 1; r < m->ranges; r++) {
		if ((int32_t)(m->range[r].version - least) < 0)
			least = m->range[r].version;
	}
	return least;
}

/*
 * Copy a model packet that arrived at now_ns into the model.  Returns false if
 * the lengths in the packet differ from those of the model, or if the version
 * of the packet is not newer.
 */
static inline bool
worker_model_take(struct worker_model *m, const struct update *u,
    uint64_t now_ns)
{
	uint32_t r = m->n == 0 ? 0 : u->first / m->n, first;
	struct worker_model_range *it;

	if (u->elements != m->elements || r >= m->ranges ||
	    worker_model_range(m, r, &first) != u->n || first != u->first)
		return false;
	it = &m->range[r];
	if (it->have && (int32_t)(u->sequence - it->version) <= 0 &&
	    now_ns < it->came_ns + WORKER_MODEL_RESTART_NS) {
		m->stale++;
		return false;
	}
	for (uint32_t i = 0; i < u->n; i++)
		m->w[first + i] = vec_get(u->vec, i);
	m->whole += !it->have;
	*it = (struct worker_model_range){ u->sequence, true, now_ns };
	m->taken++;
	return true;
}

#endif
