/*
 * learner.h - an agent that learns: its environment, weights and algorithm
 *
 * An algorithm plays until it has enough experience to learn from.  In the
 * learning phase that follows, it computes gradients from this experience and
 * passes them to the learner's gradient sink (optimizer.h).  To add an
 * algorithm, write a file algo/NAME.c with a constant struct algo, and add its
 * row to algo/algorithms.c and its hyperparameters to presets.c.
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
	void *self;		/* the algorithm's state, set by its open() */
	size_t params;		/* number of floats in w; set by open() */
	float *w, *grad;	/* `params` floats each */
	struct gradient_sink sink;
	/*
	 * The optimizer that applies each gradient at once.  NULL: gradients
	 * are sent elsewhere.
	 */
	const struct optimizer *own_optimizer;
	struct tally *tally;	/* borrowed */
	uint64_t interval_ns;	/* minimum time between sending two vectors */
	uint64_t deadline_ns;	/* earliest time to send the next vector */
	uint64_t compute_ns;	/* minimum time to compute each vector */
	uint64_t free_ns;	/* time when the sink last returned; 0: never */
	/*
	 * With --send deltas, the sink gets the change that a learning phase
	 * makes to the weights, and the next three pointers are not NULL:
	 */
	struct optimizer *local_optimizer; /* applies the gradients; borrowed */
	float *base, *delta;	/* `params` floats each */
	/*
	 * If not NULL, called with lesson_arg after each learning phase that
	 * succeeded.
	 */
	void (*lesson_done)(void *arg);
	void *lesson_arg;
};

struct algo {
	const char *name;	/* name in --algo */
	bool discrete, continuous;	/* can learn such actions */

	/*
	 * Exit with status 2 and a message if the hyperparameters contradict
	 * each other.  NULL: there is no such check.
	 */
	void (*check)(const struct hyperparameters *hyper);

	/*
	 * Set l->self and l->params.  Exits with status 1 if there is no
	 * memory.  close() frees l->self.
	 */
	void (*open)(struct learner *l);
	void (*close)(struct learner *l);

	/* Set w to random initial weights. */
	void (*init)(struct learner *l, float *w, struct rng *rng);

	/*
	 * Name the parts of l->self on which the next learning phase depends.
	 * Called after init() or after a learning phase.  An algorithm with a
	 * replay memory can do this only if the memory is on a server.
	 */
	void (*parts)(struct learner *l, struct snapshot *s);

	/*
	 * Play until there is enough experience to learn from.  Return false as
	 * soon as training is over.
	 */
	bool (*play)(struct learner *l);

	/*
	 * Learn from the collected experience: compute gradients in l->grad,
	 * and call learner_apply_gradient() for each of them.
	 */
	enum optimizer_status (*learn)(struct learner *l);

	/*
	 * Compute the priorities of n <= hyper.batch experiences, using only
	 * the weights l->w.  NULL: the algorithm has no priorities.
	 */
	void (*prioritize)(struct learner *l, const struct rows *rows, size_t n,
	    float *priority);

	/*
	 * Choose the action that a policy with the weights w takes without
	 * exploration.
	 */
	void (*greedy)(struct learner *l, const float *w, const float *obs,
	    union env_action *a);
};

/*
 * Open a learner with random weights.  Their seed is *init or, if `init` is
 * NULL, `seed`.  The caller sets l->sink.
 */
void learner_open(struct learner *l, const struct env_kind *kind,
    const struct algo *algo, const struct hyperparameters *hyper, uint64_t seed,
    const uint64_t *init, struct tally *t);

/*
 * Make the learner send the change that each learning phase makes to the
 * weights, instead of gradients.  The optimizer `local` applies the gradients.
 */
void learner_send_deltas(struct learner *l, struct optimizer *local);

/* Free the memory that learner_open() and learner_send_deltas() allocated. */
void learner_close(struct learner *l);

/*
 * Play, learn, and call each(arg) after every learning phase, until training is
 * over or has failed.  Training fails if each() returns false.
 */
enum optimizer_status learner_run(struct learner *l, bool (*each)(void *),
    void *arg);

/*
 * Reduce the norm of l->grad to at most hyper.norm, and pass the gradient to
 * the sink or to the local optimizer.
 */
enum optimizer_status learner_apply_gradient(struct learner *l);

#endif
