/*
 * rollout.h - play several environments in parallel and keep all steps
 *
 * Row t * envs + e is step t of environment e.  A full rollout has `horizon`
 * steps of each environment.  It contains the advantage of each action and the
 * return after the action, computed by generalised advantage estimation
 * (Schulman et al., 2016).  If the time limit ended an episode, the reward of
 * its last step includes gamma times the value of the last observation.
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
	double *sum;		/* sum of each current episode's rewards */
	float *now;		/* envs x obs: current observations */
	/* The following arrays have one element for each row: */
	float *obs;		/* rows x kind->obs */
	union env_action *action;
	float *logp;		/* log p of the action at the time when it was
				 * taken */
	float *reward;		/* reward times hyper.scale */
	float *value, *advantage, *ret;
	bool *done;		/* the episode ended with this step */
	struct rng *rng;	/* generator for the actions; borrowed */
};

/*
 * Open the environments with seeds drawn from rng.  Exits with status 1 if
 * there is no memory.
 */
struct roll roll_open(const struct env_kind *kind,
    const struct hyperparameters *hyper, struct rng *rng);

/* Free the memory that roll_open() allocated. */
void roll_close(struct roll *r);

/*
 * Write the state of r to s, or read it back.  Call this only between two
 * learning phases.
 */
void roll_parts(struct roll *r, struct snapshot *s);

/*
 * Fill the rows by playing with the policy w, and count the steps in t.  Return
 * false as soon as training is over according to t; the rows are then useless.
 */
bool roll_fill(struct roll *r, struct ac *ac, const float *w,
    const struct hyperparameters *hyper, struct tally *t);

#endif
