/*
 * nstep.h - sums of the next few rewards (n-step returns; Sutton, 1988)
 *
 * A window over the last n steps of an episode.  An experience is what was
 * seen and done at one of them, the discounted rewards from there on, and what
 * was seen after the last of these, which is worth `go` times its value.  None
 * reaches beyond the end of an episode.
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
	size_t n, wide;		/* rewards in a sum; floats seen */
	double gamma;
	size_t first, have;	/* the oldest step in the window; how many */
	/* rings of n: */
	float *obs;		/* wide floats each */
	union env_action *action;
	double *reward;
};

/* Exits 1 without memory. */
struct nstep nstep_open(size_t n, size_t wide, double gamma);
void nstep_close(struct nstep *s);

/* One step more: obs, action, the reward.  The window must not be full. */
void nstep_push(struct nstep *s, const float *obs,
    const union env_action *action, double reward);

/*
 * The oldest step leaves the window as *e once its sum is whole: the window is
 * full, or the episode is over.  False if none does.  next, what was seen after
 * the last step, and the window's own part are borrowed by *e until the next
 * push.  Call until it says false.
 */
bool nstep_pull(struct nstep *s, struct env_result end, const float *next,
    struct experience *e);

#endif
