/*
 * lander.h - the interface between the lunarlander environments and a physics
 * engine
 *
 * A world consists of a lander, which has three bodies, and the ground.  It
 * does not know the rules of the game.  Units are metres, seconds and radians;
 * the angle of an upright lander is 0.
 */
#ifndef INNET_AGENT_ENV_LANDER_H
#define INNET_AGENT_ENV_LANDER_H

#include <stdbool.h>
#include <stddef.h>

enum {
	LANDER_POSTS = 11,	/* points that define the ground, 2 m apart */
	LANDER_LEGS = 2,
	LANDER_FPS = 50,	/* steps per second */
};

#define LANDER_SCALE 30.0	/* units of the shapes per metre */
#define LANDER_W (600 / LANDER_SCALE)
#define LANDER_H (400 / LANDER_SCALE)

struct lander_pose {
	double x, y, vx, vy;	/* hull: position of its origin in m; velocity
				 * of its centre in m/s */
	double angle, spin;
	bool leg[LANDER_LEGS];	/* the leg touches the ground */
	bool crashed;		/* the hull has touched the ground */
	bool asleep;		/* no body has moved for half a second */
};

#ifdef __cplusplus
extern "C" {
#endif

struct lander_physics {
	void *(*open)(void);			/* NULL: no memory */
	void (*close)(void *world);

	/*
	 * Put a lander at the top.  In the first step, push it with the force
	 * (fx, fy) in N.
	 */
	void (*start)(void *world, const double ground[LANDER_POSTS],
	    double fx, double fy);

	/*
	 * Apply an impulse in N s to the hull at a point in world coordinates.
	 */
	void (*hit)(void *world, double ix, double iy, double x, double y);

	void (*step)(void *world);		/* 1 / LANDER_FPS seconds */
	struct lander_pose (*pose)(const void *world);
	size_t bytes;		/* size of a world in bytes; 0: a world contains
				 * pointers */
};

extern const struct lander_physics lander_planar, lander_box2d;

#ifdef __cplusplus
}
#endif

#endif
