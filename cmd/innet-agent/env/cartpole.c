/*
 * cartpole.c - balance a pole on a cart; agrees with Gymnasium's CartPole-v1 to
 * the last bit
 *
 * The model is by Barto, Sutton and Anderson (1983), with Gymnasium's constants
 * and order of arithmetic.  This file must be compiled with -ffp-contract=off.
 */
#include "config.h"

#include <math.h>

#include "cmd/innet-agent/env/env.h"

struct cartpole {
	double x, v;		/* cart: position in m, speed in m/s */
	double angle, spin;	/* pole: rad from upright, speed in rad/s */
};

static const double
	gravity = 9.8,
	pole_mass = 0.1,
	total_mass = 0.1 + 1.0,
	half_length = 0.5,
	moment = 0.1 * 0.5,	/* mass of the pole times half its length */
	force_mag = 10.0,
	tau = 0.02,		/* seconds per step */
	x_max = 2.4,
	angle_max = 12 * 2 * 3.141592653589793 / 360;

static void
write_observation(const struct cartpole *c, float *obs)
{
	obs[0] = (float)c->x;
	obs[1] = (float)c->v;
	obs[2] = (float)c->angle;
	obs[3] = (float)c->spin;
}

static void
reset_episode(void *state, struct rng *rng, float *obs)
{
	struct cartpole *c = state;

	c->x = rng_uniform(rng, -0.05, 0.05);
	c->v = rng_uniform(rng, -0.05, 0.05);
	c->angle = rng_uniform(rng, -0.05, 0.05);
	c->spin = rng_uniform(rng, -0.05, 0.05);
	write_observation(c, obs);
}

static double
take_step(void *state, struct rng *rng, const union env_action *action,
    float *obs, bool *terminated)
{
	struct cartpole *c = state;
	const double force = action->index == 1 ? force_mag : -force_mag;
	const double co = cos(c->angle), si = sin(c->angle);
	const double push =
	    (force + moment * (c->spin * c->spin) * si) / total_mass;
	const double turn = (gravity * si - co * push) /
	    (half_length * (4.0 / 3.0 - pole_mass * (co * co) / total_mass));
	const double pull = push - moment * turn * co / total_mass;

	(void)rng;		/* there is no randomness after reset */
	c->x = c->x + tau * c->v;
	c->v = c->v + tau * pull;
	c->angle = c->angle + tau * c->spin;
	c->spin = c->spin + tau * turn;
	*terminated = c->x < -x_max || c->x > x_max ||
	    c->angle < -angle_max || c->angle > angle_max;
	write_observation(c, obs);
	return 1;
}

const struct env_kind env_cartpole = {
	.name = "cartpole",
	.gym = "CartPole-v1",
	.obs = 4,
	.actions = 2,
	.state_bytes = sizeof(struct cartpole),
	.limit = 500,
	.solved = 475,
	.reset = reset_episode,
	.step = take_step,
};
