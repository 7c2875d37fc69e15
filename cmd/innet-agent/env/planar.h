/*
 * planar.h - a few rigid bodies in a plane, joined by hinges, above rough
 * ground
 *
 * Velocities are solved by sequential impulses, with friction and motors, and
 * each step begins with the impulses of the last one; then overlaps are removed
 * by moving the bodies (Catto, Iterative dynamics with temporal coherence,
 * 2005).  Bodies touch the ground, not each other.  Units are metres,
 * kilograms, seconds and radians counter-clockwise; y is up.  All arithmetic is
 * in double and in source order: with -ffp-contract=off all compilers give the
 * same result.
 */
#ifndef INNET_AGENT_ENV_PLANAR_H
#define INNET_AGENT_ENV_PLANAR_H

#include <stdbool.h>

enum {
	PLANAR_BODIES = 3, PLANAR_PINS = 2,
	PLANAR_CORNERS = 6,		/* of a body */
	PLANAR_POSTS = 11,		/* heights of the ground */
};

struct xy {
	double x, y;
};

/* A convex body; corners and origin are relative to its centre of mass. */
struct planar_body {
	struct xy at;			/* its centre of mass */
	double angle;
	struct xy v;			/* m/s */
	double spin;			/* rad/s */
	struct xy force;		/* N, for the next step only */
	double inv_mass, inv_inertia;	/* 1/kg, 1/(kg m^2) */
	struct xy origin; /* of the frame of its corners when made */
	struct xy corner[PLANAR_CORNERS];	/* counter-clockwise */
	unsigned corners;
	double reach;			/* distance of the farthest corner */
	/* its own, before it meets the ground */
	double friction;
	bool fragile; /* touches the ground, which does not stop it */
	bool touches;			/* the ground, before the last step */
	double still_s;			/* time for which it has hardly moved */
};

/*
 * A hinge: body b turns around a point of a, driven by a motor between two
 * stops.
 */
struct planar_pin {
	unsigned a, b;
	struct xy on_a, on_b;		/* the hinge relative to each centre */
	double rest;			/* angle of b on a that counts as 0 */
	double low, high;		/* the stops */
	double speed, torque;		/* of the motor, rad/s, N m */

	/* Impulses of the last step, the start of the next. */
	struct xy held;
	double twisted;
};

/* Impulses of a contact, along and across its normal. */
struct planar_touch {
	double normal, across;
};

struct planar {
	struct planar_body body[PLANAR_BODIES];
	struct planar_pin pin[PLANAR_PINS];
	double ground_dx;		/* distance between two posts */
	double ground[PLANAR_POSTS];
	double ground_friction;
	double gravity;			/* m/s^2, negative if it falls */
	bool asleep;			/* all still for half a second */

	/*
	 * Contacts of the last step: those of body corners, then those of
	 * ground peaks.
	 */
	struct planar_touch touch[PLANAR_BODIES][PLANAR_CORNERS + PLANAR_POSTS];
};

/*
 * Return a body at rest with the origin of its frame at (x, y), turned by
 * angle: n corners in that frame, counter-clockwise, of that density in kg/m^2.
 */
struct planar_body planar_body_of(const struct xy *corner, unsigned n,
    double density, struct xy at, double angle);

/* Return the present place of the origin of b's frame. */
struct xy planar_origin(const struct planar_body *b);

/* Apply an impulse in N s to b at a point of the world. */
void planar_hit(struct planar_body *b, struct xy impulse, struct xy point);

/* Simulate dt seconds. */
void planar_step(struct planar *w, double dt);

#endif
