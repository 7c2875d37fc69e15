/* planar.c - simulate rigid bodies in a plane by sequential impulses */
#include "config.h"

#include <math.h>
#include <string.h>

#include "cmd/innet-agent/env/planar.h"

enum {
	PUSHES = 180,			/* maximum number of iterations for
					 * velocities */
	MOVES = 60,			/* maximum number of iterations for
					 * positions */
	TOUCHES = PLANAR_BODIES * (PLANAR_CORNERS + PLANAR_POSTS),
};

static const double
	margin = 0.02,			/* distance in m below which bodies
					 * touch */
	slop = 0.005,			/* overlap that is allowed, in m */
	slop_angle = 2 * 3.141592653589793 / 180,
	move_most = 0.2,		/* maximum overlap that is removed at
					 * once, in m */
	turn_most = 8 * 3.141592653589793 / 180,
	undo = 0.2,			/* share of an overlap that is removed
					 * at once */
	settled = 1e-7,			/* N s; iterations end when all changes
					 * are smaller */
	still_v = 0.01,			/* speed in m/s below which bodies count
					 * as being at rest */
	still_spin = 2 * 3.141592653589793 / 180,
	sleep_s = 0.5;

/* A corner or side of a body that touches the ground in this step. */
struct contact {
	struct planar_body *body;
	struct planar_touch *touch;
	bool peak;			/* a peak of the ground touches a side
					 * of the body */
	unsigned part;			/* index of the corner or the side */
	unsigned post;			/* index of the left post of the
					 * segment, or of the peak */
	/*
	 * Unit normal, pointing away from the ground; offset of the contact
	 * from the centre of the body.
	 */
	struct xy normal, arm;
	double gap;			/* distance minus the margin, in m */
	double mass_normal, mass_across, friction;
};

/*
 * The state of a pin during one step.  The two ends of the pin must move
 * together, and can turn between the stops.
 */
struct hinge {
	struct planar_body *a, *b;
	struct planar_pin *pin;
	struct xy arm_a, arm_b;
	double kxx, kxy, kyy, det;	/* response of the ends of the hinge to
					 * an impulse */
	struct xy lever;		/* the ends' response to a unit twist */
	struct xy hold;			/* impulse that compensates for a unit
					 * twist */
	double axial;			/* inertia of a twist while the ends are
					 * held together */
	double low, high;		/* speed that reaches a stop in one
					 * step, in rad/s */
	double motor_most;		/* maximum twist of the motor in one
					 * step, in N m s */
};

static struct xy
add(struct xy p, struct xy q)
{
	return (struct xy){ p.x + q.x, p.y + q.y };
}

static struct xy
sub(struct xy p, struct xy q)
{
	return (struct xy){ p.x - q.x, p.y - q.y };
}

static double
dot(struct xy p, struct xy q)
{
	return p.x * q.x + p.y * q.y;
}

static double
cross(struct xy p, struct xy q)
{
	return p.x * q.y - p.y * q.x;
}

static double
clamp(double v, double low, double high)
{
	return v < low ? low : v > high ? high : v;
}

static struct xy
rotate(struct xy p, double angle)
{
	const double c = cos(angle), s = sin(angle);

	return (struct xy){ c * p.x - s * p.y, s * p.x + c * p.y };
}

/* Return the velocity of the point of b whose offset from the centre is arm. */
static struct xy
velocity_at(const struct planar_body *b, struct xy arm)
{
	return (struct xy){ b->v.x - b->spin * arm.y,
	    b->v.y + b->spin * arm.x };
}

static void
apply_impulse(struct planar_body *b, struct xy impulse, struct xy arm)
{
	b->v.x += b->inv_mass * impulse.x;
	b->v.y += b->inv_mass * impulse.y;
	b->spin += b->inv_inertia * cross(arm, impulse);
}

/* Change the position of b as apply_impulse() changes the velocity. */
static void
shift_body(struct planar_body *b, struct xy impulse, struct xy arm)
{
	b->at.x += b->inv_mass * impulse.x;
	b->at.y += b->inv_mass * impulse.y;
	b->angle += b->inv_inertia * cross(arm, impulse);
}

struct planar_body
planar_body_of(const struct xy *corner, unsigned n, double density,
    struct xy at, double angle)
{
	struct planar_body b = { .corners = n, .angle = angle };
	struct xy centre = { 0, 0 };
	double area = 0, second = 0;

	/*
	 * Sum over the triangles from the origin to each side.  Triangles
	 * outside the body count as negative.
	 */
	for (unsigned i = 0; i < n; i++) {
		const struct xy p = corner[i], q = corner[(i + 1) % n];
		const double twice = cross(p, q);

		area += twice / 2;
		centre.x += twice / 6 * (p.x + q.x);
		centre.y += twice / 6 * (p.y + q.y);
		second += twice / 12 * (dot(p, p) + dot(p, q) + dot(q, q));
	}
	centre = (struct xy){ centre.x / area, centre.y / area };
	b.inv_mass = 1 / (density * area);
	b.inv_inertia =
	    1 / (density * (second - area * dot(centre, centre)));
	for (unsigned i = 0; i < n; i++) {
		b.corner[i] = sub(corner[i], centre);
		b.reach = fmax(b.reach, sqrt(dot(b.corner[i], b.corner[i])));
	}
	b.origin = (struct xy){ -centre.x, -centre.y };
	b.at = sub(at, rotate(b.origin, angle));
	return b;
}

struct xy
planar_origin(const struct planar_body *b)
{
	return add(b->at, rotate(b->origin, b->angle));
}

void
planar_hit(struct planar_body *b, struct xy impulse, struct xy point)
{
	apply_impulse(b, impulse, sub(point, b->at));
}

static struct xy
post_at(const struct planar *w, unsigned i)
{
	return (struct xy){ i * w->ground_dx, w->ground[i] };
}

/* Return the upward normal of the ground between post i and the next post. */
static struct xy
ground_normal(const struct planar *w, unsigned i)
{
	const double rise = w->ground[i + 1] - w->ground[i];
	const double length = sqrt(w->ground_dx * w->ground_dx + rise * rise);

	return (struct xy){ -rise / length, w->ground_dx / length };
}

/*
 * Return the post to the left of x.  The first and last segments of the ground
 * extend without limit.
 */
static unsigned
post_before(const struct planar *w, double x)
{
	return (unsigned)clamp(floor(x / w->ground_dx), 0, PLANAR_POSTS - 2);
}

/* Return the outward unit normal of b's side between corner i and the next. */
static struct xy
side_normal(const struct planar_body *b, unsigned i)
{
	const struct xy side =
	    sub(b->corner[(i + 1) % b->corners], b->corner[i]);
	const double length = sqrt(dot(side, side));

	return rotate((struct xy){ side.y / length, -side.x / length },
	    b->angle);
}

/* Update the normal, the arm and the gap of a contact. */
static void
measure_contact(const struct planar *w, struct contact *c)
{
	const struct planar_body *b = c->body;
	const struct xy part = rotate(b->corner[c->part], b->angle);
	const struct xy from = sub(add(b->at, part), post_at(w, c->post));

	if (c->peak) {
		const struct xy n = side_normal(b, c->part);

		c->normal = (struct xy){ -n.x, -n.y };
		c->arm = sub(post_at(w, c->post), b->at);
	} else {
		c->normal = ground_normal(w, c->post);
		c->arm = part;
	}
	c->gap = dot(from, c->normal) - margin;
}

/*
 * Find the side of c->body that is nearest to the ground peak c->post, and
 * measure the gap between them.
 */
static void
nearest_side(const struct planar *w, struct contact *c)
{
	struct contact best = *c;

	best.gap = -INFINITY;
	for (c->part = 0; c->part < c->body->corners; c->part++) {
		measure_contact(w, c);
		if (c->gap > best.gap)
			best = *c;
	}
	*c = best;
}

/*
 * Return the effective mass of body b for an impulse in the direction d at a
 * point whose offset from the centre of b is `arm`.
 */
static double
inverse_mass_along(const struct planar_body *b, struct xy arm, struct xy d)
{
	const double lever = cross(arm, d);

	return 1 / (b->inv_mass + b->inv_inertia * lever * lever);
}

/*
 * If the body and the ground touch, mark the body, and add the contact to `all`
 * unless the body is fragile.  If they do not touch, set the contact's impulses
 * to 0.
 */
static void
keep_contact(const struct planar *w, struct contact *all, unsigned *n,
    struct contact *c)
{
	struct planar_body *b = c->body;

	if (c->gap > 0) {
		*c->touch = (struct planar_touch){ 0, 0 };
		return;
	}
	b->touches = true;
	if (b->fragile)
		return;
	c->mass_normal = inverse_mass_along(b, c->arm, c->normal);
	c->mass_across = inverse_mass_along(b, c->arm,
	    (struct xy){ c->normal.y, -c->normal.x });
	c->friction = sqrt(b->friction * w->ground_friction);
	all[(*n)++] = *c;
}

/* Find the contacts between body `body` and the ground. */
static void
touch_ground(struct planar *w, unsigned body, struct contact *all, unsigned *n)
{
	struct planar_body *b = &w->body[body];
	const unsigned left = post_before(w, b->at.x - b->reach - margin);
	const unsigned right = post_before(w, b->at.x + b->reach + margin);
	double top = fmax(w->ground[left], w->ground[right + 1]);
	struct contact c = { .body = b };

	b->touches = false;
	for (unsigned i = left + 1; i <= right; i++)
		top = fmax(top, w->ground[i]);
	if (b->at.y - b->reach > top + margin) {
		memset(w->touch[body], 0, sizeof(w->touch[body]));
		return;
	}
	for (c.part = 0; c.part < b->corners; c.part++) {
		c.touch = &w->touch[body][c.part];
		c.post = post_before(w,
		    b->at.x + rotate(b->corner[c.part], b->angle).x);
		measure_contact(w, &c);
		keep_contact(w, all, n, &c);
	}
	c.peak = true;
	for (c.post = 1; c.post < PLANAR_POSTS - 1; c.post++) {
		c.touch = &w->touch[body][PLANAR_CORNERS + c.post];
		c.gap = INFINITY;
		if (c.post > left && c.post <= right &&
		    cross(ground_normal(w, c.post - 1),
			ground_normal(w, c.post)) < -1e-9)
			nearest_side(w, &c);
		keep_contact(w, all, n, &c);
	}
}

/*
 * Apply the normal and the friction impulse of contact c.  Return the sum of
 * the changes of the two impulses.
 */
static double
push_contact(struct contact *c)
{
	const struct xy across = { c->normal.y, -c->normal.x };
	struct planar_touch *t = c->touch;
	const struct planar_touch old = *t;
	const double most = c->friction * t->normal;
	double by;

	t->across = clamp(old.across - c->mass_across *
	    dot(velocity_at(c->body, c->arm), across), -most, most);
	by = t->across - old.across;
	apply_impulse(c->body, (struct xy){by * across.x, by * across.y},
	    c->arm);
	t->normal = fmax(old.normal - c->mass_normal *
	    dot(velocity_at(c->body, c->arm), c->normal), 0);
	by = t->normal - old.normal;
	apply_impulse(c->body, (struct xy){by * c->normal.x, by * c->normal.y},
	    c->arm);
	return fabs(by) + fabs(t->across - old.across);
}

/* Update the arms of the hinge and the response of its ends to impulses. */
static void
place_hinge(struct hinge *h)
{
	const struct planar_body *a = h->a, *b = h->b;
	const double mass = a->inv_mass + b->inv_mass;
	const double ia = a->inv_inertia, ib = b->inv_inertia;
	const struct xy p = rotate(h->pin->on_a, a->angle);
	const struct xy q = rotate(h->pin->on_b, b->angle);

	h->arm_a = p;
	h->arm_b = q;
	h->kxx = mass + ia * p.y * p.y + ib * q.y * q.y;
	h->kxy = -ia * p.x * p.y - ib * q.x * q.y;
	h->kyy = mass + ia * p.x * p.x + ib * q.x * q.x;
	h->det = 1 / (h->kxx * h->kyy - h->kxy * h->kxy);
}

/*
 * Return the impulse that removes a difference d between the two ends.  The
 * caller applies the impulse to body b and the opposite impulse to body a.
 */
static struct xy
joining_impulse(const struct hinge *h, struct xy d)
{
	return (struct xy){ -h->det * (h->kyy * d.x - h->kxy * d.y),
	    -h->det * (h->kxx * d.y - h->kxy * d.x) };
}

static double
angle_at(const struct hinge *h)
{
	return h->b->angle - h->a->angle - h->pin->rest;
}

static void
push_ends(struct hinge *h, struct xy impulse, double twist)
{
	apply_impulse(h->a, (struct xy){ -impulse.x, -impulse.y }, h->arm_a);
	apply_impulse(h->b, impulse, h->arm_b);
	h->a->spin -= h->a->inv_inertia * twist;
	h->b->spin += h->b->inv_inertia * twist;
}

/* Prepare the hinge for this step, and apply the impulses of the last step. */
static void
begin_pin(struct hinge *h, double dt)
{
	const double ia = h->a->inv_inertia, ib = h->b->inv_inertia;
	const struct planar_pin *p = h->pin;

	place_hinge(h);
	h->lever = (struct xy){ -ib * h->arm_b.y - ia * h->arm_a.y,
	    ib * h->arm_b.x + ia * h->arm_a.x };
	h->hold = joining_impulse(h, h->lever);
	h->axial = 1 / (ia + ib + dot(h->lever, h->hold));
	h->motor_most = p->torque * dt;
	h->low = -fmax(angle_at(h) - p->low, 0) / dt;
	h->high = fmax(p->high - angle_at(h), 0) / dt;
	push_ends(h, p->held, p->twisted);
}

/*
 * Hold the ends of the hinge together and apply a twist, in one operation.  The
 * motor's torque limits the twist towards the motor's speed, but no limit
 * applies to the twist that keeps the angle within the stops.  Return the sum
 * of the changes of the impulses.
 */
static double
push_pin(struct hinge *h)
{
	struct planar_pin *p = h->pin;
	const struct xy meet = joining_impulse(h,
	    sub(velocity_at(h->b, h->arm_b), velocity_at(h->a, h->arm_a)));
	const double spin =
	    h->b->spin - h->a->spin + dot(h->lever, meet);
	const double stop = p->twisted - h->axial * spin;
	const double motor = clamp(stop + h->axial * p->speed,
	    -h->motor_most, h->motor_most);
	const double twist = clamp(motor, stop + h->axial * h->low,
	    stop + h->axial * h->high) - p->twisted;
	const struct xy by = { meet.x + twist * h->hold.x,
	    meet.y + twist * h->hold.y };

	p->held = add(p->held, by);
	p->twisted += twist;
	push_ends(h, by, twist);
	return fabs(by.x) + fabs(by.y) + fabs(twist);
}

/*
 * Remove part of the overlap of a contact.  Return false if the overlap was
 * large.
 */
static bool
move_contact(const struct planar *w, struct contact *c)
{
	double by;

	measure_contact(w, c);
	by = -clamp(undo * (c->gap + slop), -move_most, 0) *
	    inverse_mass_along(c->body, c->arm, c->normal);
	shift_body(c->body, (struct xy){ by * c->normal.x, by * c->normal.y },
	    c->arm);
	return c->gap >= -3 * slop;
}

/*
 * Move the ends of the hinge together, and turn the bodies so that the angle is
 * between the stops.  Return false if the distance of the ends or the angle was
 * wrong by more than the tolerance.
 */
static bool
move_pin(struct hinge *h)
{
	const double angle = angle_at(h);
	double wrong = 0, turn = 0;
	struct xy apart, by;

	if (angle <= h->pin->low) {
		wrong = h->pin->low - angle;
		turn = clamp(wrong - slop_angle, 0, turn_most);
	} else if (angle >= h->pin->high) {
		wrong = angle - h->pin->high;
		turn = -clamp(wrong - slop_angle, 0, turn_most);
	}
	turn /= h->a->inv_inertia + h->b->inv_inertia;
	h->a->angle -= h->a->inv_inertia * turn;
	h->b->angle += h->b->inv_inertia * turn;
	place_hinge(h);
	apart = sub(add(h->b->at, h->arm_b), add(h->a->at, h->arm_a));
	by = joining_impulse(h, apart);
	shift_body(h->a, (struct xy){ -by.x, -by.y }, h->arm_a);
	shift_body(h->b, by, h->arm_b);
	return wrong <= slop_angle && sqrt(dot(apart, apart)) <= slop;
}

/*
 * Iterate over velocities until the impulses no longer change, at most PUSHES
 * times.
 */
static void
solve_velocities(struct hinge *hinge, struct contact *contact, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		const struct contact *c = &contact[i];
		const double x = c->touch->across, y = c->touch->normal;

		apply_impulse(c->body, (struct xy){
		    x * c->normal.y + y * c->normal.x,
		    -x * c->normal.x + y * c->normal.y }, c->arm);
	}
	for (int round = 0; round < PUSHES; round++) {
		double change = 0;

		for (unsigned i = 0; i < PLANAR_PINS; i++)
			change += push_pin(&hinge[i]);
		for (unsigned i = 0; i < n; i++)
			change += push_contact(&contact[i]);
		if (change < settled)
			break;
	}
}

/*
 * Iterate over positions, at most MOVES times.  Return false if overlaps
 * remain.
 */
static bool
solve_positions(const struct planar *w, struct hinge *hinge,
    struct contact *contact, unsigned n)
{
	bool good = false;

	for (int round = 0; round < MOVES && !good; round++) {
		good = true;
		for (unsigned i = 0; i < n; i++)
			good &= move_contact(w, &contact[i]);
		for (unsigned i = 0; i < PLANAR_PINS; i++)
			good &= move_pin(&hinge[i]);
	}
	return good;
}

/*
 * Put all bodies to sleep if all of them have been at rest for sleep_s seconds
 * and no large overlaps remain.
 */
static void
fall_asleep(struct planar *w, double dt, bool solved)
{
	double least = INFINITY;

	for (unsigned i = 0; i < PLANAR_BODIES; i++) {
		struct planar_body *b = &w->body[i];

		if (dot(b->v, b->v) > still_v * still_v ||
		    fabs(b->spin) > still_spin)
			b->still_s = 0;
		else
			b->still_s += dt;
		least = fmin(least, b->still_s);
	}
	w->asleep = least >= sleep_s && solved;
	for (unsigned i = 0; w->asleep && i < PLANAR_BODIES; i++) {
		w->body[i].v = (struct xy){ 0, 0 };
		w->body[i].spin = 0;
	}
}

void
planar_step(struct planar *w, double dt)
{
	struct contact contact[TOUCHES];
	struct hinge hinge[PLANAR_PINS];
	unsigned n = 0;

	for (unsigned i = 0; i < PLANAR_BODIES; i++) {
		struct planar_body *b = &w->body[i];

		touch_ground(w, i, contact, &n);
		b->v.x += dt * (b->inv_mass * b->force.x);
		b->v.y += dt * (w->gravity + b->inv_mass * b->force.y);
		b->force = (struct xy){ 0, 0 };
	}
	for (unsigned i = 0; i < PLANAR_PINS; i++) {
		struct planar_pin *p = &w->pin[i];

		hinge[i] = (struct hinge){ .pin = p,
		    .a = &w->body[p->a], .b = &w->body[p->b] };
		begin_pin(&hinge[i], dt);
	}
	solve_velocities(hinge, contact, n);
	for (unsigned i = 0; i < PLANAR_BODIES; i++) {
		struct planar_body *b = &w->body[i];

		b->at.x += dt * b->v.x;
		b->at.y += dt * b->v.y;
		b->angle += dt * b->spin;
	}
	fall_asleep(w, dt, solve_positions(w, hinge, contact, n));
}
