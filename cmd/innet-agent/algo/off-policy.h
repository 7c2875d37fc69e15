/*
 * off-policy.h - learning from a replay memory: what dqn and ddpg have in
 * common
 *
 * The agent plays one environment and keeps its experiences.  After each
 * `horizon` steps, once there are enough experiences, it draws a batch of them
 * for one gradient.  Target weights value the state that follows an experience:
 * a copy of the learner's weights, taken every `target` gradients, or weights
 * that move towards them by the share tau at each gradient.  They follow the
 * learner's weights even if the gradient stream changes those.
 *
 * Experiences are kept in a memory: the agent's own (local-replay.h), unless
 * the caller gives another.
 */
#ifndef INNET_AGENT_ALGO_OFF_POLICY_H
#define INNET_AGENT_ALGO_OFF_POLICY_H

#include "cmd/innet-agent/learner.h"
#include "cmd/innet-agent/algo/local-replay.h"

/* Added to the size of an error, so that no experience has the priority 0. */
#define OFFP_PRIORITY_LEAST 1e-3f
#define OFFP_PRIORITY_MOST 1e6f		/* also for NaN */

struct memory {
	/* Is there enough to learn from? */
	bool (*ready)(void *self);

	/* Keep a copy of e. */
	void (*keep)(void *self, const struct experience *e);

	/*
	 * Draw hyper.batch experiences, borrowed until the next draw; return
	 * NULL if there are none and training is over.
	 */
	struct batch *(*draw)(void *self);

	/* Take the new priorities of the batch that was drawn last. */
	void (*set_priorities)(void *self, struct batch *b);

	void *self;
};

/* The learner's `self` begins with this. */
struct offp {
	bool begun;		/* the window and the environment are open */
	bool own;		/* the memory is `replay` */
	struct memory memory;
	struct local_replay replay;	/* if own, and the batch drawn: */
	struct batch drawn;
	struct nstep window;
	struct env env;
	double sum;		/* reward of the episode so far */
	float *now, *after;	/* observations before and after the step */
	struct batch *batch;	/* of the lesson */
	float *target;		/* l->params weights; NULL: no lesson yet */
	uint64_t lessons;
	/* Set by the algorithm's open: */
	void (*act)(struct learner *l, const float *obs,
	    union env_action *a);
	/*
	 * Set miss[i] of n rows to the value by the target weights, less the
	 * value by l->w.
	 */
	void (*misses)(struct learner *l, const float *target,
	    const struct rows *rows, size_t n);
	float *miss;		/* by row of a batch; offp_close() frees it */
};

/* Use that memory; call it before anything is played or learned. */
void offp_use(struct learner *l, const struct memory *memory);

/* Free what is open. */
void offp_close(struct offp *o);

/*
 * Name the parts (algo.parts) of a learner that plays nothing and whose memory
 * is elsewhere: all that the next lesson depends on, except the draw.
 */
void offp_parts(struct learner *l, struct snapshot *s);

/* Implement algo.play with act(), and algo.prioritize with misses(). */
bool offp_play(struct learner *l);
void offp_prioritize(struct learner *l, const struct rows *rows, size_t n,
    float *priority);

/* Compute the priorities, and miss, by those target weights. */
void offp_miss(struct learner *l, const float *target,
    const struct rows *rows, size_t n, float *priority);

/* Draw a batch to learn from; return NULL if training is over. */
struct batch *offp_draw(struct learner *l);

/* Return the power of importance weights after `lessons` lessons. */
double offp_beta(const struct hyperparameters *hyper, uint64_t lessons);

/* Return the priority of an error. */
float offp_priority(float miss);

/*
 * Return the batch's priorities to the memory, apply l->grad and let the target
 * weights follow.
 */
enum optimizer_status offp_apply_gradient(struct learner *l);

#endif
