/*
 * pendulum.c - swing up a rod and balance it; agrees with Gymnasium's
 * Pendulum-v1 to the last bit
 *
 * The constants and the order of arithmetic are Gymnasium's.  This file must be
 * compiled with -fno-builtin-pow, because pow(x, 2) can differ from x * x in
 * the last bit.
 */
#include "config.h"

#include <math.h>

#include "cmd/innet-agent/env/env.h"

struct pendulum {
	double angle, spin;	/* rad from upright, rad/s */
};

static const double
	pi = 3.141592653589793,
	pull = 15.0,		/* 3 g / (2 l), with g = 10 and l = 1 */
	turn = 3.0,		/* 3 / (m l^2), with m = 1 */
	dt = 0.05,		/* seconds per step */
	spin_max = 8;

static void
write_observation(const struct pendulum *p, float *obs)
{
	obs[0] = (float)cos(p->angle);
	obs[1] = (float)sin(p->angle);
	obs[2] = (float)p->spin;
}

/* Return the angle wrapped to [-pi, pi), with a remainder as in Python. */
static double
wrap_angle(double angle)
{
	double m = fmod(angle + pi, 2 * pi);

	if (m < 0)
		m += 2 * pi;
	return m - pi;
}

static void
reset_episode(void *state, struct rng *rng, float *obs)
{
	struct pendulum *p = state;

	p->angle = rng_uniform(rng, -pi, pi);
	p->spin = rng_uniform(rng, -1, 1);
	write_observation(p, obs);
}

static double
take_step(void *state, struct rng *rng, const union env_action *action,
    float *obs, bool *terminated)
{
	struct pendulum *p = state;
	const double u = env_clip(action->x[0], -2, 2);	/* torque */
	const double cost = pow(wrap_angle(p->angle), 2) +
	    0.1 * pow(p->spin, 2) + 0.001 * (u * u);

	(void)rng;		/* there is no randomness after reset */
	p->spin += (pull * sin(p->angle) + turn * u) * dt;
	p->spin = env_clip(p->spin, -spin_max, spin_max);
	p->angle += p->spin * dt;
	*terminated = false;
	write_observation(p, obs);
	return -cost;
}

const struct env_kind env_pendulum = {
	.name = "pendulum",
	.gym = "Pendulum-v1",
	.obs = 3,
	.dims = 1,
	.low = -2,
	.high = 2,
	.state_bytes = sizeof(struct pendulum),
	.limit = 200,
	.solved = -200,		/* Gymnasium defines none */
	.reset = reset_episode,
	.step = take_step,
};
