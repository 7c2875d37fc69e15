/*
 * rollout.h - play several environments side by side and keep all steps
 *
 * Row t * envs + e is step t of environment e.  A full rollout has horizon
 * steps of each, with the advantage of each action and the return after it by
 * generalised advantage estimation (Schulman et al., 2016).  If the time limit
 * ended an episode, gamma times the value of the last observation is part of
 * the reward.
 */
#ifndef INNET_AGENT_ALGO_ROLLOUT_H
#define INNET_AGENT_ALGO_ROLLOUT_H

#include <stdbool.h>
#include <stddef.h>

#include "cmd/innet-agent/algo/actor-critic.h"
#include "cmd/innet-agent/env/env.h"
#include "cmd/innet-agent/hyperparameters.h"
#include "cmd/innet-agent/tally.h"

struct roll {
	const struct env_kind *kind;
	size_t envs, horizon, rows;	/* rows = envs * horizon */
	struct env *env;
	double *sum;		/* reward of each episode so far */
	float *now;		/* envs x obs: what each sees */
	/* by row: */
	float *obs;		/* rows x kind->obs */
	union env_action *action;
	float *logp;		/* of the action, when it was taken */
	float *reward;		/* scaled */
	float *value, *advantage, *ret;
	bool *done;		/* the episode ended with this step */
	struct rng *rng;	/* draws the actions; borrowed */
};

/* Open the environments with seeds drawn from rng; exits without memory. */
struct roll roll_open(const struct env_kind *kind,
    const struct hyperparameters *hyper, struct rng *rng);

/* Free all that roll_open() allocated. */
void roll_close(struct roll *r);

/* Between lessons: write the state of r to s, or read it back. */
void roll_parts(struct roll *r, struct snapshot *s);

/*
 * Fill the rows by the policy w and count into t.  Return false as soon as t
 * says that training is over; the rows are then useless.
 */
bool roll_fill(struct roll *r, struct ac *ac, const float *w,
    const struct hyperparameters *hyper, struct tally *t);

#endif
