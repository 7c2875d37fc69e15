/*
 * local-replay.h - the last experiences, and draws from them
 *
 * A ring: each experience beyond the last `size` replaces the oldest one.
 * Draws are uniform, or in proportion to the priority to the power alpha
 * (priority-sampling.h).  The identifier of an experience is the number of
 * those added before it.
 */
#ifndef INNET_AGENT_ALGO_LOCAL_REPLAY_H
#define INNET_AGENT_ALGO_LOCAL_REPLAY_H

#include <stdbool.h>

#include "cmd/innet-agent/algo/batches.h"
#include "common/base/rng.h"
#include "common/replay/priority-sampling.h"

struct local_replay {
	size_t size, wide;
	uint64_t added;
	struct rows ring;
	bool by_priority;
	/* with by_priority, and the work space of a draw: */
	struct priorities per;
	uint32_t *slot;
	double *prob;
};

/*
 * Open a buffer for draws of up to batch_max; alpha below 0: uniform draws.
 * Exits 1 without memory.
 */
struct local_replay local_replay_open(size_t size, size_t wide,
    size_t batch_max, double alpha);
void local_replay_close(struct local_replay *r);

/* Return the number of experiences in the buffer. */
static inline size_t
local_replay_have(const struct local_replay *r)
{
	return r->added < r->size ? (size_t)r->added : r->size;
}

/*
 * Add e with that priority, which is not 0; below 0 it gets the highest
 * priority so far, or 1 if there is none.
 */
void local_replay_add(struct local_replay *r, const struct experience *e,
    float priority);

/*
 * Draw n experiences, with replacement; the buffer must not be empty.  The
 * weights compensate for experiences that are drawn more often: completely with
 * beta 1, not at all with 0.  Uniform draws have the weight 1.
 */
void local_replay_draw(struct local_replay *r, struct rng *rng, size_t n,
    double beta, struct batch *b);

/*
 * Set the priorities of the first n of the draw, except for experiences that
 * were replaced since.
 */
void local_replay_set_priorities(struct local_replay *r, const struct batch *b,
    size_t n);

#endif
