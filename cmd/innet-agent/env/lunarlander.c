/*
 * lunarlander.c - land on the pad: the rules of Gymnasium's LunarLander-v3
 *
 * Ground, engines, observation, reward and the order of random numbers are
 * Gymnasium's, without wind.  A physics engine behind lander.h computes the
 * motion of the bodies.  This engine is Box2D in the kinds with Box2D in their
 * names, and planar.h in the others.  This file must be compiled with
 * -ffp-contract=off.
 */
#include "config.h"

#include <math.h>
#include <stddef.h>

#include "common/base/message.h"

#include "cmd/innet-agent/env/env.h"
#include "cmd/innet-agent/env/lander.h"

struct lunarlander {
	const struct lander_physics *physics;
	void *world;		/* owned */
	double shaping;		/* shaping reward for the last pose */
};

static const double
	pad_y = LANDER_H / 4,
	throw_n = 1000,		/* limit on the initial force along each axis,
				 * in N */
	main_power = 13, main_below = 4 / LANDER_SCALE, main_cost = 0.30,
	side_power = 0.6, side_away = 12 / LANDER_SCALE, side_cost = 0.03,
	side_back = 17 / LANDER_SCALE, side_up = 14 / LANDER_SCALE,
	leg_down = 18 / LANDER_SCALE;

static void
begin_with(struct lunarlander *l, const struct lander_physics *physics)
{
	l->physics = physics;
	l->world = physics->open();
	if (l->world == NULL)
		err(1, "lunarlander");
}

static void
open_state(void *state, uint64_t seed)
{
	(void)seed;		/* all random numbers come from struct env */
	begin_with(state, &lander_planar);
}

#ifdef HAVE_BOX2D
static void
begin_box2d(void *state, uint64_t seed)
{
	(void)seed;
	begin_with(state, &lander_box2d);
}
#endif

static void
close_state(void *state)
{
	struct lunarlander *l = state;

	l->physics->close(l->world);
}

static void
name_parts(void *state, struct snapshot *s)
{
	struct lunarlander *l = state;

	snapshot_part(s, &l->shaping, sizeof(l->shaping));
	snapshot_part(s, l->world, l->physics->bytes);
}

/*
 * Draw twelve random heights, make the ground flat around the pad, and smooth
 * the twelve heights into LANDER_POSTS heights.
 */
static void
draw_ground(struct rng *rng, double y[LANDER_POSTS])
{
	double h[LANDER_POSTS + 1];

	for (int i = 0; i < LANDER_POSTS + 1; i++)
		h[i] = rng_uniform(rng, 0, LANDER_H / 2);
	for (int i = 3; i <= 7; i++)
		h[i] = pad_y;
	for (int i = 0; i < LANDER_POSTS; i++)
		y[i] = 0.33 *
		    (h[i > 0 ? i - 1 : LANDER_POSTS] + h[i] + h[i + 1]);
}

/*
 * Fire the main engine with `power`, which is from 0 to 1, and a side engine
 * with `side`, which is from -1 to 1.  A random offset is added to the position
 * of each engine.
 */
static void
fire_engines(struct lunarlander *l, struct rng *rng, double power, double side)
{
	const struct lander_pose at = l->physics->pose(l->world);
	const double sx = sin(at.angle), cy = cos(at.angle);
	const double d0 = rng_uniform(rng, -1, 1) / LANDER_SCALE;
	const double d1 = rng_uniform(rng, -1, 1) / LANDER_SCALE;
	double ox, oy, out, f;

	if (power > 0) {
		out = main_below + 2 * d0;
		ox = sx * out - cy * d1;
		oy = -cy * out - sx * d1;
		f = main_power * power;
		l->physics->hit(l->world, -ox * f, -oy * f,
		    at.x + ox, at.y + oy);
	}
	if (side != 0) {
		out = 3 * d1 + copysign(side_away, side);
		ox = sx * d0 - cy * out;
		oy = -cy * d0 - sx * out;
		f = side_power * fabs(side);
		l->physics->hit(l->world, -ox * f, -oy * f,
		    at.x + ox - sx * side_back, at.y + oy + cy * side_up);
	}
}

/* Return the shaping reward for the observation s of a pose. */
static double
shape_reward(const double s[8])
{
	return -100 * sqrt(s[0] * s[0] + s[1] * s[1]) -
	    100 * sqrt(s[2] * s[2] + s[3] * s[3]) - 100 * fabs(s[4]) +
	    10 * s[6] + 10 * s[7];
}

static double
advance_lander(struct lunarlander *l, struct rng *rng, double power,
    double side, float *obs, bool *terminated)
{
	const double before = l->shaping;
	struct lander_pose p;
	double reward;

	fire_engines(l, rng, power, side);
	l->physics->step(l->world);
	p = l->physics->pose(l->world);

	const double s[8] = {
		(p.x - LANDER_W / 2) / (LANDER_W / 2),
		(p.y - (pad_y + leg_down)) / (LANDER_H / 2),
		p.vx * (LANDER_W / 2) / LANDER_FPS,
		p.vy * (LANDER_H / 2) / LANDER_FPS,
		p.angle, 20 * p.spin / LANDER_FPS, p.leg[0], p.leg[1],
	};

	for (int i = 0; i < 8; i++)
		obs[i] = (float)s[i];
	l->shaping = shape_reward(s);
	reward = l->shaping - before - main_cost * power -
	    side_cost * fabs(side);
	if (p.crashed || fabs(s[0]) >= 1)
		reward = -100;
	if (p.asleep)
		reward = 100;
	*terminated = p.crashed || fabs(s[0]) >= 1 || p.asleep;
	return reward;
}

static void
reset_episode(void *state, struct rng *rng, float *obs)
{
	struct lunarlander *l = state;
	double ground[LANDER_POSTS], fx, fy;
	bool terminated;

	draw_ground(rng, ground);
	fx = rng_uniform(rng, -throw_n, throw_n);
	fy = rng_uniform(rng, -throw_n, throw_n);
	l->physics->start(l->world, ground, fx, fy);
	advance_lander(l, rng, 0, 0, obs, &terminated);
}

/* Take a step with action 0 (no engine), 1 (left), 2 (main) or 3 (right). */
static double
take_step(void *state, struct rng *rng, const union env_action *action,
    float *obs, bool *terminated)
{
	static const struct {
		double power, side;
	} does[] = { { 0, 0 }, { 0, -1 }, { 1, 0 }, { 0, 1 } };

	return advance_lander(state, rng, does[action->index].power,
	    does[action->index].side, obs, terminated);
}

/*
 * Take a step with two numbers.  If the first number is above 0, the main
 * engine runs with half power or more.  If the second number is below -0.5 or
 * above 0.5, a side engine runs.
 */
static double
step_continuous(void *state, struct rng *rng, const union env_action *action,
    float *obs, bool *terminated)
{
	const double up = fmax(fmin((double)action->x[0], 1), -1);
	const double side = fmax(fmin((double)action->x[1], 1), -1);

	return advance_lander(state, rng, up > 0 ? (up + 1) * 0.5 : 0,
	    fabs(side) > 0.5 ? side : 0, obs, terminated);
}

/*
 * COMMON has the members that all kinds share.  DISCRETE and CONTINUOUS add the
 * members that all discrete and all continuous kinds share.
 */
#define COMMON .obs = 8, .state_bytes = sizeof(struct lunarlander), \
	.limit = 1000, .solved = 200, .end = close_state, .reset = reset_episode
#define DISCRETE                                                               \
	COMMON, .gym = "LunarLander-v3", .actions = 4, .step = take_step
#define CONTINUOUS COMMON, .gym = "LunarLanderContinuous-v3", .dims = 2, \
	.low = -1, .high = 1, .step = step_continuous

const struct env_kind env_lunarlander = {
	.name = "lunarlander", .begin = open_state, .parts = name_parts,
	DISCRETE
};

const struct env_kind env_lunarlander_continuous = {
	.name = "lunarlander-continuous", .begin = open_state,
	.parts = name_parts, CONTINUOUS
};

#ifdef HAVE_BOX2D
const struct env_kind env_lunarlander_box2d = {
	.name = "lunarlander-box2d", .begin = begin_box2d,
	.opaque = true, DISCRETE
};

const struct env_kind env_lunarlander_continuous_box2d = {
	.name = "lunarlander-continuous-box2d", .begin = begin_box2d,
	.opaque = true, CONTINUOUS
};
#endif
