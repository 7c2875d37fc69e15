/*
 * chance.h - environments of pure chance, to test learning algorithms with
 *
 * Actions have no effect: observations, rewards and ends are random.  Episodes
 * also end by the time limit, often enough to test both kinds of end.
 */
#ifndef TESTS_CHANCE_H
#define TESTS_CHANCE_H

#include "cmd/innet-agent/env/env.h"

enum { CHANCE_OBS = 3 };

static void
chance_reset(void *state, struct rng *rng, float *obs)
{
	(void)state;
	for (int i = 0; i < CHANCE_OBS; i++)
		obs[i] = (float)rng_uniform(rng, -1, 1);
}

static double
chance_step(void *state, struct rng *rng, const union env_action *action,
    float *obs, bool *terminated)
{
	(void)action;
	chance_reset(state, rng, obs);
	*terminated = rng_below(rng, 5) == 0;
	return rng_uniform(rng, -1, 1);
}

static const struct env_kind choices = {
	.name = "choices", .obs = CHANCE_OBS, .actions = 3, .state_bytes = 1,
	.limit = 7, .reset = chance_reset, .step = chance_step,
};
static const struct env_kind numbers = {
	.name = "numbers", .obs = CHANCE_OBS, .dims = 2, .low = -1, .high = 3,
	.state_bytes = 1, .limit = 7, .reset = chance_reset,
	    .step = chance_step,
};

#endif
