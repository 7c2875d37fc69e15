/*
 * learner.h - an agent that learns: its environment, its weights, its algorithm
 *
 * An algorithm plays until it has enough experience for a lesson, and turns the
 * lesson into gradients, which go into the learner's gradient sink
 * (optimizer.h).  To add one, write a file algo/NAME.c with a constant struct
 * algo, its row in algo/algorithms.c and its hyperparameters in presets.c.
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
	void *self;		/* the algorithm's state, from its open */
	size_t params;		/* floats in the vector, from its open */
	float *w, *grad;	/* params floats each */
	struct gradient_sink sink;
	const struct optimizer *own_optimizer; /* takes the gradients at once;
				  NULL: what becomes of them is elsewhere */
	struct tally *tally;	/* borrowed */
	uint64_t interval_ns;	/* least time between two vectors sent */
	uint64_t deadline_ns;	/* when the next may leave */
	uint64_t compute_ns;	/* least time to compute each */
	uint64_t free_ns;	/* when the next computation could begin */
	/*
	 * With --send deltas the sink gets the change of the weights by a
	 * lesson, and these are not NULL:
	 */
	struct optimizer *local_optimizer; /* takes the gradients; borrowed */
	float *base, *delta;	/* params floats each */
	/* NULL, or: called with lesson_arg after each lesson that went well. */
	void (*lesson_done)(void *arg);
	void *lesson_arg;
};

struct algo {
	const char *name;	/* as --algo has it */
	bool discrete, continuous;	/* environments it can learn */

	/*
	 * NULL, or: exit with status 2 and a message if hyperparameters
	 * contradict each other.
	 */
	void (*check)(const struct hyperparameters *hyper);

	/*
	 * Set self and params, or exit with status 1 without memory; and free
	 * them.
	 */
	void (*open)(struct learner *l);
	void (*close)(struct learner *l);

	/* Set the first weights w. */
	void (*init)(struct learner *l, float *w, struct rng *rng);

	/*
	 * Name the parts of self that the next lesson depends on, after init or
	 * a lesson.  An algorithm with a replay memory can do so only if that
	 * is elsewhere.
	 */
	void (*parts)(struct learner *l, struct snapshot *s);

	/*
	 * Play until there is a lesson; return false as soon as training is
	 * over.
	 */
	bool (*play)(struct learner *l);

	/*
	 * Learn from the lesson: put gradients into l->grad and pass each on
	 * with learner_apply_gradient().
	 */
	enum optimizer_status (*learn)(struct learner *l);

	/*
	 * NULL, or: compute the priorities of n <= hyper.batch experiences from
	 * l->w alone.
	 */
	void (*prioritize)(struct learner *l, const struct rows *rows, size_t n,
	    float *priority);

	/* Choose the action that the policy w takes without exploration. */
	void (*greedy)(struct learner *l, const float *w, const float *obs,
	    union env_action *a);
};

/*
 * Open a learner with fresh weights, from the seed *init if that is not NULL.
 * The caller sets l->sink.
 */
void learner_open(struct learner *l, const struct env_kind *kind,
    const struct algo *algo, const struct hyperparameters *hyper, uint64_t seed,
    const uint64_t *init, struct tally *t);

/*
 * Send the change of the weights by each lesson, made by that optimizer, rather
 * than gradients.
 */
void learner_send_deltas(struct learner *l, struct optimizer *local);

/* Free what learner_open() allocated. */
void learner_close(struct learner *l);

/*
 * Play, learn, and call each(arg) after every lesson, until training is over or
 * has failed; it fails if each() returns false.
 */
enum optimizer_status learner_run(struct learner *l, bool (*each)(void *),
    void *arg);

/*
 * Shorten l->grad to hyper.norm and pass it to the sink or the local optimizer.
 */
enum optimizer_status learner_apply_gradient(struct learner *l);

#endif
