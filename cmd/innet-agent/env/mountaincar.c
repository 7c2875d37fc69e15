/*
 * mountaincar.c - drive a weak car out of a valley; agrees with Gymnasium's
 * MountainCar-v0 to the last bit
 *
 * The model is Moore's (1990), with Gymnasium's constants and order of
 * arithmetic.
 */
#include "config.h"

#include <math.h>

#include "cmd/innet-agent/env/env.h"

struct mountaincar {
	double x, v;		/* position, and its change per step */
};

static const double
	force = 0.001,
	gravity = 0.0025,
	v_max = 0.07,
	x_min = -1.2,
	x_max = 0.6,
	x_goal = 0.5;

static void
write_observation(const struct mountaincar *c, float *obs)
{
	obs[0] = (float)c->x;
	obs[1] = (float)c->v;
}

static void
reset_episode(void *state, struct rng *rng, float *obs)
{
	struct mountaincar *c = state;

	c->x = rng_uniform(rng, -0.6, -0.4);
	c->v = 0;
	write_observation(c, obs);
}

static double
take_step(void *state, struct rng *rng, const union env_action *action,
    float *obs, bool *terminated)
{
	struct mountaincar *c = state;
	const double push = (double)action->index - 1;	/* left, none, right */

	(void)rng;		/* there is no randomness after reset */
	c->v += push * force + cos(3 * c->x) * -gravity;
	c->v = env_clip(c->v, -v_max, v_max);
	c->x += c->v;
	c->x = env_clip(c->x, x_min, x_max);
	if (c->x == x_min && c->v < 0)
		c->v = 0;
	*terminated = c->x >= x_goal && c->v >= 0;
	write_observation(c, obs);
	return -1;
}

const struct env_kind env_mountaincar = {
	.name = "mountaincar",
	.gym = "MountainCar-v0",
	.obs = 2,
	.actions = 3,
	.state_bytes = sizeof(struct mountaincar),
	.limit = 200,
	.solved = -110,
	.reset = reset_episode,
	.step = take_step,
};
