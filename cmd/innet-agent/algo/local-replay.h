/*
 * local-replay.h - keep the last experiences and draw from them
 *
 * The buffer is a ring: once it holds `size` experiences, a new one replaces
 * the oldest.  Draws are uniform, or in proportion to priority^alpha
 * (priority-sampling.h).  The identifier of an experience is the number of
 * experiences that were added before it.
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
	/*
	 * The priorities and work space for a draw, which are used if
	 * by_priority is set.
	 */
	struct priorities per;
	uint32_t *slot;
	double *prob;
};

/*
 * Open a buffer for draws of up to batch_max experiences.  If alpha is below 0,
 * draws are uniform.  Exits with status 1 if there is no memory.
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
 * Add e with a priority that is not 0.  If the priority is below 0, e gets the
 * highest priority so far, or 1 if it is the first experience.
 */
void local_replay_add(struct local_replay *r, const struct experience *e,
    float priority);

/*
 * Draw n experiences with replacement; the buffer must not be empty.  The
 * importance weights compensate for experiences that are drawn more often than
 * others: completely if beta is 1, and not at all if beta is 0.  The weights of
 * uniform draws are 1.
 */
void local_replay_draw(struct local_replay *r, struct rng *rng, size_t n,
    double beta, struct batch *b);

/*
 * Set the priorities of the first n experiences of the draw b, except for those
 * that have been replaced since the draw.
 */
void local_replay_set_priorities(struct local_replay *r, const struct batch *b,
    size_t n);

#endif
