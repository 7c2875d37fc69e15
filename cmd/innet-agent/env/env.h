/*
 * env.h - environments: observations, actions and rewards
 *
 * A kind is one file, NAME.c: a constant table of sizes and functions.  To add
 * one, write that file and its row in kinds.c.  Kinds know the dynamics only;
 * the random generator, the time limit and the count of steps are in struct
 * env, the same for all.
 */
#ifndef INNET_AGENT_ENV_H
#define INNET_AGENT_ENV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/innet-agent/snapshot.h"
#include "common/base/rng.h"

enum { ENV_DIMS_MAX = 4 };

/* An action: one of a few, or a few numbers. */
union env_action {
	unsigned index;			/* of a kind with actions */
	float x[ENV_DIMS_MAX];		/* of a kind with dims */
};

struct env_kind {
	const char *name;	/* as --env has it */
	const char *gym;	/* as Gymnasium or MinAtar calls the same */
	size_t obs;		/* floats in an observation */
	bool whole;		/* all are whole numbers from 0 to 255 */
	size_t actions;		/* discrete: 0 ... actions - 1; else 0 */
	size_t dims;		/* continuous: numbers in an action; else 0 */
	float low, high;	/* continuous: what such a number may be */
	size_t state_bytes;	/* what reset and step keep between calls */
	uint32_t limit;		/* steps that end an episode; 0: no limit */
	double solved;		/* mean reward of 100 episodes that solves it;
				   INFINITY: none is agreed on */

	/*
	 * NULL, or: initialise *state, whose bytes are 0, with that seed, for
	 * kinds that have a generator of their own or allocate memory, which
	 * `end` frees. begin exits 1 without memory.
	 */
	void (*begin)(void *state, uint64_t seed);
	void (*end)(void *state);

	/*
	 * NULL if the bytes of *state are the whole state, or: name its parts.
	 * opaque: they cannot be named.
	 */
	void (*parts)(void *state, struct snapshot *s);
	bool opaque;

	/* Begin an episode in *state; write the first observation. */
	void (*reset)(void *state, struct rng *rng, float *obs);

	/*
	 * Take one step: write the observation and *terminated, return the
	 * reward.
	 */
	double (*step)(void *state, struct rng *rng,
	    const union env_action *action, float *obs, bool *terminated);
};

struct env {
	const struct env_kind *kind;
	struct rng rng;		/* as Gymnasium's np_random after reset(seed) */
	void *state;		/* kind->state_bytes, owned */
	uint32_t steps;		/* of this episode */
};

struct env_result {
	double reward;
	bool terminated;	/* the episode ended by itself */
	bool truncated;		/* the time limit ended it */
};

/* Open an environment of that kind and seed; exits 1 without memory. */
struct env env_open(const struct env_kind *kind, uint64_t seed);

/* Free what env_open() allocated. */
void env_close(struct env *e);

/* Begin an episode; obs has room for kind->obs floats. */
void env_reset(struct env *e, float *obs);

/*
 * Take one step, with index < kind->actions; reset it when either flag is set.
 */
struct env_result env_step(struct env *e, const union env_action *action,
    float *obs);

/* Write the state of e to s, or read it back into an e of the same kind. */
void env_parts(struct env *e, struct snapshot *s);

/* Return x, or the bound that it exceeds. */
static inline double
env_clip(double x, double low, double high)
{
	return x < low ? low : x > high ? high : x;
}

#endif
