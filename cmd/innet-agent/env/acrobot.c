/*
 * acrobot.c - swing up the tip of two links with a motor in the joint; agrees
 * with Gymnasium's Acrobot-v1 to the last bit
 *
 * The model is Sutton's (1996), with the equations of the book by Sutton and
 * Barto and with Gymnasium's constants and order of arithmetic.  Each link has
 * length 1, mass 1, its centre of mass at 0.5, and moment of inertia 1.
 * Squares of variables are computed as pow(x, 2), as in Gymnasium.  This can
 * differ from x * x in the last bit, so this file must be compiled with
 * -fno-builtin-pow.
 */
#include "config.h"

#include <math.h>

#include "cmd/innet-agent/env/env.h"

enum { ANGLE1, ANGLE2, SPIN1, SPIN2, N };

struct acrobot {
	double s[N];		/* angles in rad: link 1 from hanging down, link
				   2 from link 1; speeds in rad/s */
};

static const double
	pi = 3.141592653589793,
	gravity = 9.8,
	dt = 0.2;		/* seconds per step */

/* Compute the time derivative of s under the given torque. */
static void
compute_slope(const double s[N], double torque, double ds[N])
{
	const double co = cos(s[ANGLE2]), si = sin(s[ANGLE2]);
	const double w1 = s[SPIN1], w2 = s[SPIN2];
	const double d1 = 0.25 + (1.25 + co) + 1 + 1;
	const double d2 = (0.25 + 0.5 * co) + 1;
	const double phi2 = 0.5 * gravity *
	    cos(s[ANGLE1] + s[ANGLE2] - pi / 2);
	const double phi1 = -0.5 * pow(w2, 2) * si - w2 * w1 * si +
	    1.5 * gravity * cos(s[ANGLE1] - pi / 2) + phi2;

	ds[ANGLE1] = w1;
	ds[ANGLE2] = w2;
	ds[SPIN2] = (torque + d2 / d1 * phi1 - 0.5 * pow(w1, 2) * si - phi2) /
	    (1.25 - pow(d2, 2) / d1);
	ds[SPIN1] = -(d2 * ds[SPIN2] + phi1) / d1;
}

/* Take one step of the fourth-order Runge-Kutta method. */
static void
advance_state(double s[N], double torque)
{
	double k1[N], k2[N], k3[N], k4[N], at[N];

	compute_slope(s, torque, k1);
	for (int i = 0; i < N; i++)
		at[i] = s[i] + dt / 2 * k1[i];
	compute_slope(at, torque, k2);
	for (int i = 0; i < N; i++)
		at[i] = s[i] + dt / 2 * k2[i];
	compute_slope(at, torque, k3);
	for (int i = 0; i < N; i++)
		at[i] = s[i] + dt * k3[i];
	compute_slope(at, torque, k4);
	for (int i = 0; i < N; i++)
		s[i] += dt / 6 * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]);
}

static double
wrap_angle(double angle)
{
	while (angle > pi)
		angle -= 2 * pi;
	while (angle < -pi)
		angle += 2 * pi;
	return angle;
}

static void
write_observation(const struct acrobot *a, float *obs)
{
	obs[0] = (float)cos(a->s[ANGLE1]);
	obs[1] = (float)sin(a->s[ANGLE1]);
	obs[2] = (float)cos(a->s[ANGLE2]);
	obs[3] = (float)sin(a->s[ANGLE2]);
	obs[4] = (float)a->s[SPIN1];
	obs[5] = (float)a->s[SPIN2];
}

/*
 * Return numpy's cosine of a float, for |x| <= 0.1.  Gymnasium computes the
 * first observation of an episode in floats; numpy's float cosine and sine
 * sometimes differ from rounded double results.
 */
static float
cos_float(float x)
{
	const float xx = x * x;
	float y = fmaf(0x1.98e616p-16f, xx, -0x1.6c06dcp-10f);

	y = fmaf(y, xx, 0x1.55553cp-5f);
	y = fmaf(y, xx, -0.5f);
	return fmaf(y, xx, 1);
}

static float
sin_float(float x)
{
	const float xx = x * x;
	float y = fmaf(0x1.7d3bbcp-19f, xx, -0x1.a06bbap-13f);

	y = fmaf(y, xx, 0x1.11119ap-7f);
	y = fmaf(y, xx, -0x1.555556p-3f);
	return fmaf(y * xx, x, x);
}

static void
reset_episode(void *state, struct rng *rng, float *obs)
{
	struct acrobot *a = state;

	float s[N];

	for (int i = 0; i < N; i++)
		a->s[i] = s[i] = (float)rng_uniform(rng, -0.1, 0.1);
	obs[0] = cos_float(s[ANGLE1]);
	obs[1] = sin_float(s[ANGLE1]);
	obs[2] = cos_float(s[ANGLE2]);
	obs[3] = sin_float(s[ANGLE2]);
	obs[4] = s[SPIN1];
	obs[5] = s[SPIN2];
}

static double
take_step(void *state, struct rng *rng, const union env_action *action,
    float *obs, bool *terminated)
{
	struct acrobot *a = state;
	double *const s = a->s;

	(void)rng;		/* there is no randomness after reset */
	advance_state(s, (double)action->index - 1);
	s[ANGLE1] = wrap_angle(s[ANGLE1]);
	s[ANGLE2] = wrap_angle(s[ANGLE2]);
	s[SPIN1] = env_clip(s[SPIN1], -4 * pi, 4 * pi);
	s[SPIN2] = env_clip(s[SPIN2], -9 * pi, 9 * pi);
	*terminated = -cos(s[ANGLE1]) - cos(s[ANGLE2] + s[ANGLE1]) > 1;
	write_observation(a, obs);
	return *terminated ? 0 : -1;
}

const struct env_kind env_acrobot = {
	.name = "acrobot",
	.gym = "Acrobot-v1",
	.obs = 6,
	.actions = 3,
	.state_bytes = sizeof(struct acrobot),
	.limit = 500,
	.solved = -100,
	.reset = reset_episode,
	.step = take_step,
};
