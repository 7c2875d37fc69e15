/*
 * nstep.h - sums of the next few rewards (n-step returns; Sutton, 1988)
 *
 * A window over the last n steps of an episode.  An experience consists of the
 * observation and action of one step, the discounted rewards from there on, and
 * the observation after the last of them, whose value counts `go` times.  No
 * experience reaches beyond the end of an episode.
 */
#ifndef INNET_AGENT_ALGO_NSTEP_H
#define INNET_AGENT_ALGO_NSTEP_H

#include <stdbool.h>
#include <stddef.h>

#include "cmd/innet-agent/env/env.h"

struct experience {
	const float *obs, *next;
	union env_action action;
	float reward;		/* r0 + gamma r1 + ... */
	float go;		/* gamma^rewards; 0: the episode terminated */
};

struct nstep {
	size_t n, wide;		/* rewards in a sum; floats observed */
	double gamma;
	size_t first, have;	/* oldest step in the window; their number */
	/* rings of n: */
	float *obs;		/* wide floats each */
	union env_action *action;
	double *reward;
};

/* Open a window; exits 1 without memory. */
struct nstep nstep_open(size_t n, size_t wide, double gamma);
void nstep_close(struct nstep *s);

/*
 * Append a step: observation, action and reward.  The window must not be full.
 */
void nstep_push(struct nstep *s, const float *obs,
    const union env_action *action, double reward);

/*
 * Move the oldest step out of the window into *e, once its sum is complete: the
 * window is full, or the episode is over.  Return false if none is.  *e borrows
 * next, the observation after the last step, and the window's own memory until
 * the next push.  Call it until it returns false.
 */
bool nstep_pull(struct nstep *s, struct env_result end, const float *next,
    struct experience *e);

#endif
