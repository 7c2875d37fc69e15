/*
 * learner.h - an agent at work: what it plays, what it knows, how it rises
 *
 * An algorithm plays until there is something to learn from, and turns that
 * lesson into gradients.  To add one, write a file algo/NAME.c with a constant
 * struct algo, its row in algo/algorithms.c and its settings in presets.c.
 */
#ifndef INNET_AGENT_LEARNER_H
#define INNET_AGENT_LEARNER_H

#include "cmd/innet-agent/env/env.h"
#include "cmd/innet-agent/net/kern.h"
#include "cmd/innet-agent/net/optimizer.h"
#include "cmd/innet-agent/algo/batches.h"
#include "cmd/innet-agent/hyperparameters.h"
#include "cmd/innet-agent/snapshot.h"
#include "cmd/innet-agent/tally.h"

struct learner {
	const struct algo *algo;
	const struct env_kind *kind;
	const struct kern *kern;
	struct hyperparameters hyper;
	struct rng rng;
	void *self;		/* the algorithm's own, by its open */
	size_t params;		/* floats in the vector, by its open */
	float *w, *grad;	/* params floats each */
	struct gradient_sink sink;
	const struct optimizer *own_optimizer; /* takes the gradients at once;
				  NULL: what becomes of them is elsewhere */
	struct tally *tally;	/* borrowed */
	uint64_t interval_ns;	/* least time between what goes up */
	uint64_t deadline_ns;	/* when the next may leave */
	uint64_t compute_ns;	/* least time that each takes to compute */
	uint64_t free_ns;	/* when computing it could begin */
	/* What goes up is what a lesson changed (--send deltas), not NULL: */
	struct optimizer *local_optimizer; /* takes the gradients; borrowed */
	float *base, *delta;	/* params floats each */
	/* NULL, or: called with lesson_arg after each lesson that went well. */
	void (*lesson_done)(void *arg);
	void *lesson_arg;
};

struct algo {
	const char *name;	/* as --algo has it */
	bool discrete, continuous;	/* environments it can learn */

	/* Exit 2 with a message where settings do not add up, or NULL. */
	void (*check)(const struct hyperparameters *hyper);

	/* Set self and params; exits 1 without memory.  And give it back. */
	void (*open)(struct learner *l);
	void (*close)(struct learner *l);

	/* First weights. */
	void (*init)(struct learner *l, float *w, struct rng *rng);

	/*
	 * Name the parts of self that the next lesson depends on, after init
	 * or a lesson; of what remembers, where that is elsewhere.
	 */
	void (*parts)(struct learner *l, struct snapshot *s);

	/* Play until there is a lesson; false as soon as it is over. */
	bool (*play)(struct learner *l);

	/* Learn from it: gradients, in l->grad, go up by
	 * learner_apply_gradient(). */
	enum optimizer_status (*learn)(struct learner *l);

	/*
	 * NULL, or: the priorities that n <= set.batch experiences have by
	 * l->w alone.
	 */
	void (*prioritize)(struct learner *l, const struct rows *rows, size_t n,
	    float *priority);

	/* What the policy w does without trying anything. */
	void (*greedy)(struct learner *l, const float *w, const float *obs,
	    union env_action *a);
};

/*
 * A learner with fresh weights, of a seed of their own unless init is NULL;
 * l->up is the caller's to set.
 */
void learner_open(struct learner *l, const struct env_kind *kind,
    const struct algo *algo, const struct hyperparameters *hyper, uint64_t seed,
    const uint64_t *init, struct tally *t);

/* Send what lessons change, by that optimiser, rather than gradients. */
void learner_send_deltas(struct learner *l, struct optimizer *local);

/* Give back what learner_open() took. */
void learner_close(struct learner *l);

/*
 * Play, learn, and call each(arg) after every lesson, until it is over, or
 * has failed, as it has when each says false.
 */
enum optimizer_status learner_run(struct learner *l, bool (*each)(void *),
    void *arg);

/* l->grad, cut to set.norm, goes up. */
enum optimizer_status learner_apply_gradient(struct learner *l);

#endif
