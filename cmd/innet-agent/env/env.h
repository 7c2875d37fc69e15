/*
 * env.h - environments: what an agent observes, does and is paid for
 *
 * A kind is one file, NAME.c: a constant table of sizes and its functions.
 * To add one, write that file and its row in kinds.c.  Kinds know the dynamics
 * only; the random stream, the time limit and the counting of steps are in
 * struct env, the same for all.
 */
#ifndef INNET_AGENT_ENV_H
#define INNET_AGENT_ENV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/innet-agent/snapshot.h"
#include "common/base/rng.h"

enum { ENV_DIMS_MAX = 4 };

/* What an agent does: one of a few things, or a few numbers. */
union env_action {
	unsigned index;			/* of a kind with actions */
	float x[ENV_DIMS_MAX];		/* of a kind with dims */
};

struct env_kind {
	const char *name;	/* as --env has it */
	const char *gym;	/* as Gymnasium or MinAtar calls the same */
	size_t obs;		/* floats in an observation */
	bool whole;		/* which are whole numbers from 0 to 255 */
	size_t actions;		/* discrete: 0 ... actions - 1; else 0 */
	size_t dims;		/* continuous: numbers in an action; else 0 */
	float low, high;	/* continuous: what such a number may be */
	size_t state_bytes;	/* what reset and step keep between calls */
	uint32_t limit;		/* steps after which it is cut off; 0: none */
	double solved;		/* mean reward of 100 episodes that solves it;
				   INFINITY: none is agreed on */

	/*
	 * NULL, or: *state, all bytes 0, is new and of that seed; for kinds
	 * that draw from a generator of their own or own memory, which end
	 * gives back.  begin exits 1 without memory.
	 */
	void (*begin)(void *state, uint64_t seed);
	void (*end)(void *state);

	/*
	 * NULL where *state is all there is, or: name the parts of it.  opaque
	 * where they cannot be named.
	 */
	void (*parts)(void *state, struct snapshot *s);
	bool opaque;

	/* Begin an episode in *state; write the first observation. */
	void (*reset)(void *state, struct rng *rng, float *obs);

	/* One step: the reward; writes the observation and *terminated. */
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

/* An environment of that kind and seed; exits 1 without memory. */
struct env env_open(const struct env_kind *kind, uint64_t seed);

/* Give back what env_open() took. */
void env_close(struct env *e);

/* Begin an episode; obs has room for kind->obs floats. */
void env_reset(struct env *e, float *obs);

/* Take one step, index < kind->actions; reset when either flag is set. */
struct env_result env_step(struct env *e, const union env_action *action,
    float *obs);

/* Write where e is to s, or read it back into an e of the same kind. */
void env_parts(struct env *e, struct snapshot *s);

/* x, or the bound that it is beyond. */
static inline double
env_clip(double x, double low, double high)
{
	return x < low ? low : x > high ? high : x;
}

#endif
