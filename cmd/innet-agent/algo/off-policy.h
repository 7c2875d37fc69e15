/*
 * off-policy.h - learning from a replay memory: the parts that dqn and ddpg
 * share
 *
 * The agent plays one environment and keeps its experiences.  After each
 * `horizon` steps, if there are enough experiences, it draws a batch of them
 * for one gradient.  The value of the state after an experience is computed
 * with target weights.  These are either a copy of the learner's weights, taken
 * every `target` gradients, or weights that move towards the learner's weights
 * by the share tau at each gradient.  The target weights also follow the
 * changes that the gradient stream makes to the learner's weights.
 *
 * Experiences are kept in a memory.  The agent uses its own memory
 * (local-replay.h), unless the caller provides another one.
 */
#ifndef INNET_AGENT_ALGO_OFF_POLICY_H
#define INNET_AGENT_ALGO_OFF_POLICY_H

#include "cmd/innet-agent/learner.h"
#include "cmd/innet-agent/algo/local-replay.h"

/*
 * OFFP_PRIORITY_LEAST is added to the size of each error, so that no experience
 * has the priority 0.  OFFP_PRIORITY_MOST is the limit on the size of an error.
 * An error that is NaN counts as this limit.
 */
#define OFFP_PRIORITY_LEAST 1e-3f
#define OFFP_PRIORITY_MOST 1e6f

struct memory {
	/* Return whether there are enough experiences to learn from. */
	bool (*ready)(void *self);

	/* Keep a copy of e. */
	void (*keep)(void *self, const struct experience *e);

	/*
	 * Draw hyper.batch experiences, which are borrowed until the next draw.
	 * Return NULL if there are too few experiences and training is over.
	 */
	struct batch *(*draw)(void *self);

	/* Store the new priorities of the batch that was drawn last. */
	void (*set_priorities)(void *self, struct batch *b);

	void *self;
};

/*
 * The state that dqn and ddpg share, at the beginning of the learner's `self`.
 */
struct offp {
	bool begun;		/* the environment and the window are open */
	bool own;		/* `memory` is the agent's own buffer
				 * `replay` */
	struct memory memory;
	struct local_replay replay;	/* `replay` and `drawn` are used if
					 * `own` is true */
	struct batch drawn;
	struct nstep window;
	struct env env;
	double sum;		/* sum of the current episode's rewards */
	float *now, *after;	/* observations before and after the step */
	struct batch *batch;	/* the batch that was drawn last */
	float *target;		/* l->params weights; NULL before the first
				 * gradient */
	uint64_t lessons;
	/* Set by the algorithm's open(): */
	void (*act)(struct learner *l, const float *obs,
	    union env_action *a);
	/*
	 * For n rows, set miss[i] to the value computed with the target weights
	 * minus the value computed with l->w.
	 */
	void (*misses)(struct learner *l, const float *target,
	    const struct rows *rows, size_t n);
	float *miss;		/* error of each row; offp_close() frees it */
};

/* Make l use `memory`.  Call this before the learner plays or learns. */
void offp_use(struct learner *l, const struct memory *memory);

/* Free the memory, the environment and the buffers that are open. */
void offp_close(struct offp *o);

/*
 * Name the parts (algo.parts) of a learner that does not play and whose memory
 * is on a server.  These are all the parts on which the next gradient depends,
 * except the experiences that are drawn for it.
 */
void offp_parts(struct learner *l, struct snapshot *s);

/* Implement algo.play with act(), and algo.prioritize with misses(). */
bool offp_play(struct learner *l);
void offp_prioritize(struct learner *l, const struct rows *rows, size_t n,
    float *priority);

/* Compute o->miss and the priorities with the target weights `target`. */
void offp_miss(struct learner *l, const float *target,
    const struct rows *rows, size_t n, float *priority);

/* Draw a batch to learn from.  Return NULL if training is over. */
struct batch *offp_draw(struct learner *l);

/* Return the exponent of the importance weights after `lessons` gradients. */
double offp_beta(const struct hyperparameters *hyper, uint64_t lessons);

/* Return the priority of an experience with the error `miss`. */
float offp_priority(float miss);

/*
 * Return the batch's priorities to the memory, apply l->grad, and update the
 * target weights.
 */
enum optimizer_status offp_apply_gradient(struct learner *l);

#endif
