/*
 * hyperparameter-options.h - the options that set hyperparameters
 *
 * The table in hyperparameter-options.c has a row for each option.  The help
 * texts are in conf.c.
 */
#ifndef INNET_AGENT_HYPERPARAMETER_OPTIONS_H
#define INNET_AGENT_HYPERPARAMETER_OPTIONS_H

#include <stdbool.h>

#include "cmd/innet-agent/learner.h"
#include "common/base/opt.h"

/* The codes of all long options of innet-agent. */
enum {
	O_ACTOR = OPT_LONG, O_ALGO, O_ALONE, O_ALPHA, O_ANNEAL, O_BATCH,
	O_BATCHES, O_BETA, O_BUFFER, O_CLEAR,
	O_CLIP, O_DOUBLE, O_DUELING, O_ENTROPY, O_ENV,
	O_ENVS, O_EPISODES, O_EPOCHS, O_EVAL, O_EXPERIENCE,
	 O_EXPLORE, O_EXPLORE_STEPS,
	O_GAMMA, O_GRADIENTS, O_HIDDEN, O_HORIZON, O_INIT_SEED, O_INTERVAL,
	O_JSON, O_LAGGED, O_LAMBDA, O_LOAD, O_LOG, O_MEMORY, O_NORM,
	O_NO_PREFETCH, O_NSTEP, O_OPTIMIZER, O_PASSWORD, O_PUBLISH, O_PULL,
	O_PUSH, O_RATE, O_RATIO, O_REDIS, O_REPLAY, O_REPORT, O_ROLE, O_SAVE,
	O_SAVE_EVERY, O_SCALE, O_SEED, O_SEND, O_SOLVE, O_STEPS, O_TARGET,
	O_TAU, O_COMPUTE, O_GIVE_UP, O_REALTIME, O_VECTOR, O_WARMUP
};

enum { HYPERPARAMETERS = 26 };

struct hyperparameter_options {
	struct hyperparameters hyper;
	const char
	    *option[HYPERPARAMETERS]; /* the option's name; NULL: not given */
};

/*
 * Process option ch, whose name is `name` and whose argument is in optarg.
 * Return false if the option sets no hyperparameter.  Exits with status 2 if
 * the argument is wrong.
 */
bool hyperparameter_options_take(struct hyperparameter_options *g, int ch,
    const char *name);

/* Return whether option ch was given. */
bool hyperparameter_options_given(const struct hyperparameter_options *g,
    int ch);

/*
 * Set *hyper to the preset for the algorithm and the environment.  Then replace
 * each value for which an option was given.  Exits with status 2 if an option
 * does not apply to this algorithm.
 */
void hyperparameter_options_apply(const struct hyperparameter_options *g,
    const struct algo *algo, const struct env_kind *kind,
    struct hyperparameters *hyper);

#endif
