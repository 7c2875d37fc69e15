/*
 * planar.h - simulate a few rigid bodies in a plane, with hinges and rough
 * ground
 *
 * Velocities are solved by sequential impulses, with friction and motors, and
 * each step starts with the impulses of the previous step.  After that, the
 * bodies are moved to remove overlaps (Catto, Iterative dynamics with temporal
 * coherence, 2005).  Bodies touch the ground, but not each other.  Units are
 * metres, kilograms, seconds and radians.  Angles are counter-clockwise, and y
 * points up.  All arithmetic is in double precision and in source order, so
 * with -ffp-contract=off all compilers give the same result.
 */
#ifndef INNET_AGENT_ENV_PLANAR_H
#define INNET_AGENT_ENV_PLANAR_H

#include <stdbool.h>

enum {
	PLANAR_BODIES = 3, PLANAR_PINS = 2,
	PLANAR_CORNERS = 6,		/* maximum number of a body's corners */
	PLANAR_POSTS = 11,		/* points that define the ground */
};

struct xy {
	double x, y;
};

/* A convex body.  Its corners and origin are relative to its centre of mass. */
struct planar_body {
	struct xy at;			/* position of the centre of mass, in
					 * m */
	double angle;
	struct xy v;			/* m/s */
	double spin;			/* rad/s */
	struct xy force;		/* force that is applied only in the
					 * next step, in N */
	double inv_mass, inv_inertia;	/* 1/kg, 1/(kg m^2) */
	/* The origin of the frame in which the caller gave the corners. */
	struct xy origin;
	struct xy corner[PLANAR_CORNERS];	/* listed counter-clockwise */
	unsigned corners;
	double reach;			/* distance from the centre to the
					 * farthest corner, in m */
	/* friction coefficient of the body alone, without that of the ground */
	double friction;
	/*
	 * The body reports contact with the ground, but the ground does not
	 * stop it.
	 */
	bool fragile;
	bool touches;			/* the body touched the ground in the
					 * last step */
	double still_s;			/* time since the body last moved
					 * noticeably, in s */
};

/*
 * A hinge: body b turns around a point of body a between two stops, driven by a
 * motor.
 */
struct planar_pin {
	unsigned a, b;
	struct xy on_a, on_b;		/* offset of the hinge from each centre,
					 * in m */
	double rest;			/* angle between a and b that counts as
					 * 0 */
	double low, high;		/* angles of the stops, in rad */
	double speed, torque;		/* motor: speed in rad/s; maximum torque
					 * in N m */

	/* Impulses of the last step, with which the next step starts. */
	struct xy held;
	double twisted;
};

/* The impulses of a contact, along its normal and across it. */
struct planar_touch {
	double normal, across;
};

struct planar {
	struct planar_body body[PLANAR_BODIES];
	struct planar_pin pin[PLANAR_PINS];
	double ground_dx;		/* m, between two posts */
	double ground[PLANAR_POSTS];
	double ground_friction;
	double gravity;			/* m/s^2; negative points down */
	bool asleep;			/* all bodies were at rest for 0.5 s */

	/*
	 * Contacts of the last step: first the contacts of body corners, then
	 * the contacts of ground peaks.
	 */
	struct planar_touch touch[PLANAR_BODIES][PLANAR_CORNERS + PLANAR_POSTS];
};

/*
 * Return a body at rest.  The origin of its frame is at `at`, and the frame is
 * turned by angle.  The body has n corners in that frame, listed
 * counter-clockwise, and the given density in kg/m^2.
 */
struct planar_body planar_body_of(const struct xy *corner, unsigned n,
    double density, struct xy at, double angle);

/* Return the current place of the origin of b's frame. */
struct xy planar_origin(const struct planar_body *b);

/* Apply an impulse in N s to b at a point in world coordinates. */
void planar_hit(struct planar_body *b, struct xy impulse, struct xy point);

/* Simulate the next dt seconds. */
void planar_step(struct planar *w, double dt);

#endif
