/*
 * planar.h - a few rigid bodies in a plane, pinned together, above rough ground
 *
 * Velocities are solved by sequential impulses, friction and motors included,
 * each step beginning with the impulses of the last; then overlaps are undone
 * by moving the bodies (Catto, Iterative dynamics with temporal coherence,
 * 2005).  Bodies touch the ground, not each other.  Metres, kilograms,
 * seconds, radians counter-clockwise; y is up.  Arithmetic is double in source
 * order: with -ffp-contract=off all compilers give the same.
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

/* A convex body; corners and origin are seen from its centre of mass. */
struct planar_body {
	struct xy at;			/* its centre of mass */
	double angle;
	struct xy v;			/* m/s */
	double spin;			/* rad/s */
	struct xy force;		/* N, for the next step only */
	double inv_mass, inv_inertia;	/* 1/kg, 1/(kg m^2) */
	struct xy origin;		/* of the frame it was described in */
	struct xy corner[PLANAR_CORNERS];	/* counter-clockwise */
	unsigned corners;
	double reach;			/* no corner is farther away */
	/* its own, before it meets the ground */
	double friction;
	bool fragile;			/* touches, but is not held up */
	bool touches;			/* the ground, before the last step */
	double still_s;			/* how long it has hardly moved */
};

/* Body b hangs on a, turned by a motor between two stops. */
struct planar_pin {
	unsigned a, b;
	struct xy on_a, on_b;		/* the pin from either centre */
	double rest;			/* angle of b on a that counts as 0 */
	double low, high;		/* the stops */
	double speed, torque;		/* what the motor wants, rad/s, N m */

	/* Impulses of the last step, to begin with. */
	struct xy held;
	double twisted;
};

/* Impulses of a body's touching feature, along and across its normal. */
struct planar_touch {
	double normal, across;
};

struct planar {
	struct planar_body body[PLANAR_BODIES];
	struct planar_pin pin[PLANAR_PINS];
	double ground_dx;		/* post i stands at i times that */
	double ground[PLANAR_POSTS];
	double ground_friction;
	double gravity;			/* m/s^2, negative if it falls */
	bool asleep;			/* all still for half a second */

	/* Of the last step: a body's corners, then the ground's peaks. */
	struct planar_touch touch[PLANAR_BODIES][PLANAR_CORNERS + PLANAR_POSTS];
};

/*
 * A body at rest with its frame's origin at (x, y) and turned by angle: n
 * corners of that frame, counter-clockwise, of that density in kg/m^2.
 */
struct planar_body planar_body_of(const struct xy *corner, unsigned n,
    double density, struct xy at, double angle);

/* Where the origin of b's frame is now. */
struct xy planar_origin(const struct planar_body *b);

/* Hit b at a point of the world with an impulse in N s. */
void planar_hit(struct planar_body *b, struct xy impulse, struct xy point);

/* Let dt seconds pass. */
void planar_step(struct planar *w, double dt);

#endif
