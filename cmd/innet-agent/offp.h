/*
 * offp.h - learning from what is remembered: what dqn and ddpg have in common
 *
 * One environment is played, its experiences are kept, and after each `horizon`
 * steps, once warm, a batch of them is drawn for one gradient.  What follows
 * an experience is valued by target weights: a copy of the learner's, taken
 * every `target` gradients, or one that moves towards them by the share tau at
 * each.  They follow whatever the weights are, whoever changed them.
 */
#ifndef INNET_AGENT_OFFP_H
#define INNET_AGENT_OFFP_H

#include "cmd/innet-agent/learner.h"
#include "cmd/innet-agent/replay.h"

/* The learner's self begins with this. */
struct offp {
	bool begun;		/* what follows is open */
	struct replay replay;
	struct nstep window;
	struct env env;
	double sum;		/* reward of the episode so far */
	float *now, *after;	/* what is seen, and after the step */
	float *target;		/* l->params weights */
	uint64_t lessons;
};

/* Give back what is open. */
void offp_close(struct offp *o);

/* Play, by what act does where obs is seen, until there is a lesson. */
bool offp_play(struct learner *l, void (*act)(struct learner *l,
    const float *obs, union env_action *a));

/* set.batch experiences to learn from. */
const struct rows *offp_draw(struct learner *l);

/* l->grad goes up, and the target weights follow. */
enum ascent_result offp_rise(struct learner *l);

#endif
