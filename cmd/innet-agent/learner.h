/*
 * learner.h - an agent at work: what it plays, what it knows, how it rises
 *
 * An algorithm turns a full roll into gradients.  To add one, write a file
 * algo-NAME.c with a constant struct algo and its row in learner.c.
 */
#ifndef INNET_AGENT_LEARNER_H
#define INNET_AGENT_LEARNER_H

#include "cmd/innet-agent/ascent.h"
#include "cmd/innet-agent/net.h"
#include "cmd/innet-agent/roll.h"
#include "cmd/innet-agent/settings.h"
#include "cmd/innet-agent/tally.h"

struct learner {
	const struct algo *algo;
	struct settings set;
	struct rng rng;
	struct net net;
	struct roll roll;
	float *w, *grad;	/* net.params floats each */
	struct ascent up;
	struct tally *tally;	/* borrowed */
	uint64_t interval_ns;	/* least time between gradients */
	uint64_t due_ns;	/* when the next one may leave */
	/* A minibatch of set.batch rows, gathered from the roll: */
	float *obs, *by_logit, *by_value;
	size_t *order;		/* rows of the roll, for shuffling */
};

struct algo {
	const char *name;	/* as --algo has it */
	struct settings defaults;

	/* Learn from a full roll: gradients go up by learner_rise(). */
	enum ascent_result (*learn)(struct learner *l);
};

/* All algorithms, ended by NULL, and their names in the same order. */
extern const struct algo *const algo_all[];
const char *const *algo_names(void);

/*
 * A learner with fresh weights, of a seed of their own unless init is NULL;
 * l->up is the caller's to set.
 */
void learner_open(struct learner *l, const struct env_kind *kind,
    const struct algo *algo, const struct settings *set, uint64_t seed,
    const uint64_t *init, struct tally *t);

/* Give back what learner_open() took. */
void learner_close(struct learner *l);

/* Play, learn, and call each(arg) after every roll, until it is over. */
enum ascent_result learner_run(struct learner *l, void (*each)(void *),
    void *arg);

/*
 * Add to row i of the minibatch, of `rows`: its observation, and how the
 * objective changes with its logits and value.  The objective is the mean of
 * pull * log p(action) + entropy * H(p) - (value - ret)^2 / 2.
 */
void learner_row(struct learner *l, size_t i, size_t rows, unsigned action,
    const double *logp, double pull, double miss);

/* The minibatch's gradient by the weights, cut to set.norm, goes up. */
enum ascent_result learner_rise(struct learner *l, size_t rows);

extern const struct algo algo_a2c, algo_ppo;

#endif
