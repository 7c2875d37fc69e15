/*
 * replay.h - the last experiences, and draws from them
 *
 * A ring: each experience beyond the last `size` takes the oldest one's place.
 * Draws are fair, or each experience has a priority and is drawn by it to the
 * power alpha (per.h).  An experience is known by how many were added before.
 */
#ifndef INNET_AGENT_ALGO_REPLAY_BUFFER_H
#define INNET_AGENT_ALGO_REPLAY_BUFFER_H

#include <stdbool.h>

#include "cmd/innet-agent/algo/batches.h"
#include "common/base/rng.h"
#include "common/replay/priorities.h"

struct replay_buffer {
	size_t size, wide;
	uint64_t added;
	struct rows ring;
	bool by_priority;
	/* by_priority; with work space of a draw: */
	struct priorities per;
	uint32_t *slot;
	double *prob;
};

/*
 * For draws of up to batch_max; alpha below 0: fair ones.  Exits 1 without
 * memory.
 */
struct replay_buffer replay_buffer_open(
    size_t size, size_t wide, size_t batch_max, double alpha);
void replay_buffer_close(struct replay_buffer *r);

/* How many there are. */
static inline size_t
replay_buffer_have(const struct replay_buffer *r)
{
	return r->added < r->size ? (size_t)r->added : r->size;
}

/* Of that priority, not 0; below 0: the highest yet, or 1 if none is. */
void replay_buffer_add(
    struct replay_buffer *r, const struct experience *e, float priority);

/*
 * Draw n, the same one perhaps more than once; there must be one.  Weights
 * make up for what is drawn more often, with beta 1 wholly, with 0 not at all;
 * of fair draws they are 1.
 */
void replay_buffer_draw(struct replay_buffer *r, struct rng *rng, size_t n,
    double beta, struct batch *b);

/* The first n of the draw have new priorities; one since replaced has not. */
void replay_buffer_set_priorities(
    struct replay_buffer *r, const struct batch *b, size_t n);

#endif
