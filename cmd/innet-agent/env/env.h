/*
 * env.h - environments: observations, actions and rewards
 *
 * Each kind of environment is a file NAME.c with a constant table of sizes and
 * functions.  To add a kind, write that file and add its row to kinds.c.  A
 * kind contains only the dynamics.  The random generator, the time limit and
 * the step count are in struct env, which is the same for all kinds.
 */
#ifndef INNET_AGENT_ENV_H
#define INNET_AGENT_ENV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/innet-agent/snapshot.h"
#include "common/base/rng.h"

enum { ENV_DIMS_MAX = 4 };

/* An action: either an index, or a few numbers. */
union env_action {
	unsigned index;			/* number of the action, for a kind with
					 * discrete actions */
	float x[ENV_DIMS_MAX];		/* components of the action, for a kind
					 * with continuous actions */
};

struct env_kind {
	const char *name;	/* name in --env */
	const char *gym;	/* name in Gymnasium or MinAtar */
	size_t obs;		/* number of floats in an observation */
	bool whole;		/* all observations are integers from 0 to
				 * 255 */
	size_t actions;		/* number of discrete actions, or 0 if actions
				 * are continuous */
	size_t dims;		/* number of floats in a continuous action, or 0
				 * if actions are discrete */
	float low, high;	/* range of each number of a continuous
				 * action */
	size_t state_bytes;	/* number of bytes in the state that the
				 * functions share */
	uint32_t limit;		/* maximum number of steps in an episode; 0: no
				 * limit */
	double solved;		/* the environment is solved if the mean reward
				 * of 100 episodes is at least this; INFINITY:
				 * no such reward is agreed on */

	/*
	 * Initialise *state, whose bytes are 0, with the given seed.  NULL if
	 * zeros are a valid initial state.  Kinds that have their own random
	 * generator or allocate memory need this function.  It exits with
	 * status 1 if there is no memory, and end() frees the memory.
	 */
	void (*begin)(void *state, uint64_t seed);
	void (*end)(void *state);

	/*
	 * Name the parts of *state.  NULL: the bytes of *state are the whole
	 * state.  If `opaque` is set, the parts cannot be named.
	 */
	void (*parts)(void *state, struct snapshot *s);
	bool opaque;

	/* Start an episode in *state and write the first observation. */
	void (*reset)(void *state, struct rng *rng, float *obs);

	/*
	 * Take one step, write the observation and *terminated, and return the
	 * reward.
	 */
	double (*step)(void *state, struct rng *rng,
	    const union env_action *action, float *obs, bool *terminated);
};

struct env {
	const struct env_kind *kind;
	struct rng rng;		/* seeded like Gymnasium's np_random */
	void *state;		/* kind->state_bytes bytes, owned */
	uint32_t steps;		/* number of steps taken in this episode */
};

struct env_result {
	double reward;
	bool terminated;	/* the environment ended the episode */
	bool truncated;		/* the time limit ended the episode */
};

/*
 * Open an environment of this kind with this seed.  Exits with status 1 if
 * there is no memory.
 */
struct env env_open(const struct env_kind *kind, uint64_t seed);

/* Free the memory that env_open() allocated. */
void env_close(struct env *e);

/* Start an episode; obs has room for kind->obs floats. */
void env_reset(struct env *e, float *obs);

/*
 * Take one step; action->index must be below kind->actions.  If the result is
 * `terminated` or `truncated`, call env_reset() next.
 */
struct env_result env_step(struct env *e, const union env_action *action,
    float *obs);

/*
 * Write the state of e to s, or read it back from s.  An environment can read
 * only the state of an environment of its own kind.
 */
void env_parts(struct env *e, struct snapshot *s);

/* Return x, clipped to the range from low to high. */
static inline double
env_clip(double x, double low, double high)
{
	return x < low ? low : x > high ? high : x;
}

#endif
