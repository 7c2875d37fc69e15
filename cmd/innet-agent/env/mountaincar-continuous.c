/*
 * mountaincar-continuous.c - drive a weak car with variable power out of a
 * valley; agrees with Gymnasium's MountainCarContinuous-v0 to the last bit
 *
 * Gymnasium keeps the state as floats between steps and as doubles within a
 * step; the first state of an episode is still in doubles.  Gymnasium clips the
 * action, but the reward depends on the action before clipping.  This file must
 * be compiled with -fno-tree-slp-vectorize, because gcc 12 otherwise omits the
 * rounding of a pair of floats.
 */
#include "config.h"

#include <math.h>

#include "cmd/innet-agent/env/env.h"

struct car {
	double x, v;		/* position, and its change per step */
};

static const double
	power = 0.0015,
	gravity = 0.0025,
	v_max = 0.07,
	x_min = -1.2,
	x_max = 0.6,
	x_goal = 0.45;

static void
reset_episode(void *state, struct rng *rng, float *obs)
{
	struct car *c = state;

	c->x = rng_uniform(rng, -0.6, -0.4);
	c->v = 0;
	obs[0] = (float)c->x;
	obs[1] = 0;
}

static double
take_step(void *state, struct rng *rng, const union env_action *action,
    float *obs, bool *terminated)
{
	struct car *c = state;
	const double asked = action->x[0];
	const double push = env_clip(asked, -1, 1);
	double x = c->x, v = c->v, reward;

	(void)rng;		/* there is no randomness after reset */
	v += push * power - gravity * cos(3 * x);
	v = env_clip(v, -v_max, v_max);
	x += v;
	x = env_clip(x, x_min, x_max);
	if (x == x_min && v < 0)
		v = 0;
	*terminated = x >= x_goal && v >= 0;
	reward = *terminated ? 100 : 0;
	reward -= asked * asked * 0.1;	/* the square of a float is exact */
	c->x = obs[0] = (float)x;
	c->v = obs[1] = (float)v;
	return reward;
}

const struct env_kind env_mountaincar_continuous = {
	.name = "mountaincar-continuous",
	.gym = "MountainCarContinuous-v0",
	.obs = 2,
	.dims = 1,
	.low = -1,
	.high = 1,
	.state_bytes = sizeof(struct car),
	.limit = 999,
	.solved = 90,
	.reset = reset_episode,
	.step = take_step,
};
