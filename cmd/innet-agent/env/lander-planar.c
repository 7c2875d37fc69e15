/* lander-planar.c - simulate the lander with the bodies of planar.h */
#include "config.h"

#include <stdlib.h>

#include "cmd/innet-agent/env/lander.h"
#include "cmd/innet-agent/env/planar.h"

_Static_assert((int)LANDER_POSTS == (int)PLANAR_POSTS, "one ground");

#define M(x) ((x) / LANDER_SCALE)

static const struct xy hull[] = {
	{ M(-14), M(17) }, { M(-17), M(0) }, { M(-17), M(-10) },
	{ M(17), M(-10) }, { M(17), M(0) }, { M(14), M(17) },
};
static const struct xy leg[] = {
	{ M(-2), M(-8) }, { M(2), M(-8) }, { M(2), M(8) }, { M(-2), M(8) },
};

static void *
open_world(void)
{
	return calloc(1, sizeof(struct planar));
}

/*
 * Attach leg n.  As in Gymnasium, `side` is -1 for the leg on the right and +1
 * for the leg on the left.
 */
static void
attach_leg(struct planar *w, unsigned n, double side)
{
	struct planar_body *b = &w->body[n];
	const double angle = 0.05 * side;
	struct xy pin = { M(20) * side, M(18) };

	*b = planar_body_of(leg, 4, 1,
	    (struct xy){ LANDER_W / 2 - M(20) * side, LANDER_H }, angle);
	b->friction = 0.2;
	w->pin[n - 1] = (struct planar_pin){
		.a = 0, .b = n, .on_a = w->body[0].origin,
		.on_b = { b->origin.x + pin.x, b->origin.y + pin.y },
		.rest = angle, .speed = 0.3 * side, .torque = 40,
		.low = side < 0 ? 0.4 : -0.9, .high = side < 0 ? 0.9 : -0.4,
	};
}

static void
start_world(void *world, const double ground[LANDER_POSTS], double fx,
    double fy)
{
	struct planar *w = world;

	*w = (struct planar){
		.gravity = -10,
		.ground_dx = LANDER_W / (LANDER_POSTS - 1),
		.ground_friction = 0.1,
	};
	for (unsigned i = 0; i < LANDER_POSTS; i++)
		w->ground[i] = ground[i];
	w->body[0] = planar_body_of(hull, 6, 5,
	    (struct xy){ LANDER_W / 2, LANDER_H }, 0);
	w->body[0].fragile = true;
	w->body[0].force = (struct xy){ fx, fy };
	attach_leg(w, 1, -1);
	attach_leg(w, 2, 1);
}

static void
apply_impulse(void *world, double ix, double iy, double x, double y)
{
	struct planar *w = world;

	planar_hit(&w->body[0], (struct xy){ ix, iy }, (struct xy){ x, y });
}

static void
step_world(void *world)
{
	planar_step(world, 1.0 / LANDER_FPS);
}

static struct lander_pose
read_pose(const void *world)
{
	const struct planar *w = world;
	const struct planar_body *b = &w->body[0];
	const struct xy at = planar_origin(b);

	return (struct lander_pose){
		.x = at.x, .y = at.y, .vx = b->v.x, .vy = b->v.y,
		.angle = b->angle, .spin = b->spin,
		.leg = { w->body[1].touches, w->body[2].touches },
		.crashed = b->touches, .asleep = w->asleep,
	};
}

const struct lander_physics lander_planar = {
	.open = open_world,
	.close = free,
	.start = start_world,
	.hit = apply_impulse,
	.step = step_world,
	.pose = read_pose,
	.bytes = sizeof(struct planar),
};
