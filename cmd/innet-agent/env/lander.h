/*
 * lander.h - what the lunarlander environments need of a physics engine
 *
 * A world is a lander, three bodies, above ground; it does not know the rules
 * of the game.  Metres, seconds, radians; the lander is upright at 0.
 */
#ifndef INNET_AGENT_ENV_LANDER_H
#define INNET_AGENT_ENV_LANDER_H

#include <stdbool.h>
#include <stddef.h>

enum {
	LANDER_POSTS = 11,	/* heights of the ground, every 2 m */
	LANDER_LEGS = 2,
	LANDER_FPS = 50,	/* steps a second */
};

#define LANDER_SCALE 30.0	/* the shapes are drawn in 1/30 m */
#define LANDER_W (600 / LANDER_SCALE)
#define LANDER_H (400 / LANDER_SCALE)

struct lander_pose {
	double x, y, vx, vy;	/* of the hull's origin; its centre's m/s */
	double angle, spin;
	bool leg[LANDER_LEGS];	/* on the ground */
	bool crashed;		/* the hull has touched the ground */
	bool asleep;		/* all at rest for half a second */
};

#ifdef __cplusplus
extern "C" {
#endif

struct lander_physics {
	void *(*open)(void);			/* NULL without memory */
	void (*close)(void *world);

	/* A lander at the top, pushed by a force in N for the first step. */
	void (*start)(void *world, const double ground[LANDER_POSTS],
	    double fx, double fy);

	/* Hit the hull at a point of the world with an impulse in N s. */
	void (*hit)(void *world, double ix, double iy, double x, double y);

	void (*step)(void *world);		/* 1 / LANDER_FPS seconds */
	struct lander_pose (*pose)(const void *world);
	size_t bytes;		/* of a world that holds no pointer, or 0 */
};

extern const struct lander_physics lander_planar, lander_box2d;

#ifdef __cplusplus
}
#endif

#endif
