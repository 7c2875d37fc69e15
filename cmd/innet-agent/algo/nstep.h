/*
 * nstep.h - sum the rewards of several steps (n-step returns; Sutton, 1988)
 *
 * A window holds the last n steps of an episode.  An experience has the
 * observation and action of one step, the sum of the discounted rewards from
 * that step on, and the observation after the last of these rewards.  A learner
 * multiplies the value of that observation by `go`.  No experience reaches
 * beyond the end of an episode.
 */
#ifndef INNET_AGENT_ALGO_NSTEP_H
#define INNET_AGENT_ALGO_NSTEP_H

#include <stdbool.h>
#include <stddef.h>

#include "cmd/innet-agent/env/env.h"

struct experience {
	const float *obs, *next;
	union env_action action;
	float reward;		/* discounted sum r0 + gamma r1 + ... */
	float go;		/* gamma^n for n rewards; 0 if the episode was
				 * terminated */
};

struct nstep {
	size_t n, wide;		/* number of rewards in a sum; number of floats
				 * in an observation */
	double gamma;
	size_t first, have;	/* index of the oldest step; number of steps */
	/* The following arrays are rings of n steps: */
	float *obs;		/* `wide` floats in each step */
	union env_action *action;
	double *reward;
};

/* Open a window.  Exits with status 1 if there is no memory. */
struct nstep nstep_open(size_t n, size_t wide, double gamma);
void nstep_close(struct nstep *s);

/*
 * Append a step: its observation, action and reward.  The window must not be
 * full.
 */
void nstep_push(struct nstep *s, const float *obs,
    const union env_action *action, double reward);

/*
 * If the oldest step's sum is complete, move that step from the window to *e.
 * A sum is complete if the window is full or the episode is over.  Return false
 * if no sum is complete.  `next` is the observation after the last step.  Until
 * the next push, *e borrows memory of the window and of `next`.  Call this
 * function until it returns false.
 */
bool nstep_pull(struct nstep *s, struct env_result end, const float *next,
    struct experience *e);

#endif
