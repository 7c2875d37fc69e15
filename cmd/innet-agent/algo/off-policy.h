/*
 * off-policy.h - learning from what is remembered: what dqn and ddpg have in
 * common
 *
 * One environment is played, its experiences are kept, and after each `horizon`
 * steps, once warm, a batch of them is drawn for one gradient.  What follows
 * an experience is valued by target weights: a copy of the learner's, taken
 * every `target` gradients, or one that moves towards them by the share tau at
 * each.  They follow whatever the weights are, whoever changed them.
 *
 * Experiences are kept in a memory: the agent's own (replay.h), unless another
 * is given.
 */
#ifndef INNET_AGENT_ALGO_OFF_POLICY_H
#define INNET_AGENT_ALGO_OFF_POLICY_H

#include "cmd/innet-agent/learner.h"
#include "cmd/innet-agent/algo/replay-buffer.h"

/* Added to an error's size for a priority: nothing is never drawn again. */
#define OFFP_PRIORITY_LEAST 1e-3f
#define OFFP_PRIORITY_MOST 1e6f		/* also of an error that is no number */

struct memory {
	/* Is there enough to learn from? */
	bool (*ready)(void *self);

	/* Keep a copy. */
	void (*keep)(void *self, const struct experience *e);

	/*
	 * set.batch of them, borrowed until the next draw; NULL if there are
	 * none and training is over.
	 */
	struct batch *(*draw)(void *self);

	/* The batch drawn last is learned from, its priorities are set. */
	void (*set_priorities)(void *self, struct batch *b);

	void *self;
};

/* The learner's self begins with this. */
struct offp {
	bool begun;		/* the window and the environment are open */
	bool own;		/* and a memory of ours */
	struct memory memory;
	struct replay_buffer replay;	/* own, with its draws: */
	struct batch drawn;
	struct nstep window;
	struct env env;
	double sum;		/* reward of the episode so far */
	float *now, *after;	/* what is seen, and after the step */
	struct batch *batch;	/* of the lesson */
	float *target;		/* l->params weights; NULL: no lesson yet */
	uint64_t lessons;
	/* set by the algorithm's open: */
	void (*act)(struct learner *l, const float *obs,
	    union env_action *a);
	/* into miss, of n rows, what values by l->w are short of their goals
	 * by those target weights */
	void (*misses)(struct learner *l, const float *target,
	    const struct rows *rows, size_t n);
	float *miss;		/* by row of a batch; given back here */
};

/* Use that memory, before anything is played or learned. */
void offp_use(struct learner *l, const struct memory *memory);

/* Give back what is open. */
void offp_close(struct offp *o);

/*
 * algo.parts of a learner whose memory is elsewhere and who plays nothing: what
 * the next lesson depends on but for what is drawn.
 */
void offp_parts(struct learner *l, struct snapshot *s);

/* algo.play, by act(), and algo.judge, by misses(). */
bool offp_play(struct learner *l);
void offp_prioritize(struct learner *l, const struct rows *rows, size_t n,
    float *priority);

/* As offp_judge(), and into miss, by those target weights. */
void offp_miss(struct learner *l, const float *target,
    const struct rows *rows, size_t n, float *priority);

/* set.batch experiences to learn from; NULL: it is over. */
struct batch *offp_draw(struct learner *l);

/* The importance weights' power after so many lessons. */
double offp_beta(const struct hyperparameters *hyper, uint64_t lessons);

/* From an error to a priority. */
float offp_priority(float miss);

/*
 * The batch has its priorities: the memory learns of them, l->grad goes up,
 * and the target weights follow.
 */
enum optimizer_status offp_apply_gradient(struct learner *l);

#endif
