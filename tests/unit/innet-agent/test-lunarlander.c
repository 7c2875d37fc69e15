/*
 * Test the rules of the lander on an engine that only records. The test links
 * it instead of lander-planar, so that it can choose poses.
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "cmd/innet-agent/env/kinds.h"
#include "cmd/innet-agent/env/env.h"
#include "cmd/innet-agent/env/lander.h"
#include "tests/unit/tap.h"

enum { OBS = 8, HITS = 4 };

/* The engine's arguments, and the answers that it must give. */
static struct notes {
	double ground[LANDER_POSTS], fx, fy;
	struct {
		double ix, iy, x, y;
	} hit[HITS];
	unsigned starts, steps, hits;
	struct lander_pose now, next;
} notes;

static void *
open_world(void)
{
	return &notes;
}

static void
close_world(void *world)
{
	ok(world == &notes, "the world is freed");
}

static void
start_world(void *world, const double ground[LANDER_POSTS], double fx,
    double fy)
{
	struct notes *n = world;

	memcpy(n->ground, ground, sizeof(n->ground));
	n->fx = fx;
	n->fy = fy;
	n->starts++;
}

static void
record_impulse(void *world, double ix, double iy, double x, double y)
{
	struct notes *n = world;

	if (n->hits < HITS) {
		n->hit[n->hits].ix = ix;
		n->hit[n->hits].iy = iy;
		n->hit[n->hits].x = x;
		n->hit[n->hits].y = y;
	}
	n->hits++;
}

static void
step_world(void *world)
{
	struct notes *n = world;

	n->now = n->next;
	n->steps++;
}

static struct lander_pose
read_pose(const void *world)
{
	return ((const struct notes *)world)->now;
}

const struct lander_physics lander_planar = {
    .open = open_world,
    .close = close_world,
    .start = start_world,
    .hit = record_impulse,
    .step = step_world,
    .pose = read_pose,
};

static bool
is_near(double a, double b)
{
	return fabs(a - b) <= 1e-9 * fmax(1, fabs(b));
}

/* Return the reward for going from pose to pose with action i, or x and y. */
static double
reward_between(struct env *e, struct lander_pose from, struct lander_pose to,
    unsigned i, float x, float y, bool *ended)
{
	union env_action a = { 0 };
	struct env_result r;
	float obs[OBS];

	notes.next = from;
	env_reset(e, obs);
	notes.next = to;
	notes.hits = 0;
	if (e->kind->dims > 0) {
		a.x[0] = x;
		a.x[1] = y;
	} else {
		a.index = i;
	}
	r = env_step(e, &a, obs);
	*ended = r.terminated;
	return r.reward;
}

/* Place the lander above the pad, where an observation is all zeros. */
static const struct lander_pose zero = {
	.x = 10, .y = 400 / 30.0 / 4 + 18 / 30.0,
};

static void
test_reset(struct env *e, uint64_t seed)
{
	struct rng rng = rng_seed(seed);
	double h[12], fx, fy;
	float obs[OBS];
	bool same = true;

	for (int i = 0; i < 12; i++)
		h[i] = rng_uniform(&rng, 0, 400 / 30.0 / 2);
	h[3] = h[4] = h[5] = h[6] = h[7] = 400 / 30.0 / 4;
	fx = rng_uniform(&rng, -1000, 1000);
	fy = rng_uniform(&rng, -1000, 1000);
	memset(&notes, 0, sizeof(notes));
	notes.now = notes.next = zero;
	env_reset(e, obs);
	for (int i = 0; i < 11; i++)
		same &= notes.ground[i] ==
		    0.33 * (h[(i + 11) % 12] + h[i] + h[i + 1]);
	ok(same, "the first twelve random numbers make the ground");
	ok(notes.fx == fx && notes.fy == fy, "the next two random numbers make "
	    "the force");
	rng_u64(&rng);
	rng_u64(&rng);
	ok(notes.starts == 1 && notes.steps == 1 && notes.hits == 0 &&
	    memcmp(&rng, &e->rng, sizeof(rng)) == 0,
	    "a first step with engines off draws two more random numbers");
	for (int i = 0; i < OBS; i++)
		same &= obs[i] == 0;
	ok(same, "the origin of observations is on the pad");
}

static void
test_observation(struct env *e)
{
	float obs[OBS];
	const float want[OBS] = { 0.3f, -0.2f, 0.8f, -0.4f, 0.7f, -0.6f, 0, 1 };
	struct lander_pose p = zero;

	p.x += 3;
	p.y -= 0.2 * 400 / 60;
	p.vx = 4;
	p.vy = -3;
	p.angle = 0.7;
	p.spin = -1.5;
	p.leg[1] = true;
	notes.next = p;
	env_reset(e, obs);
	for (int i = 0; i < OBS; i++)
		ok(fabsf(obs[i] - want[i]) < 1e-6f, "observation %d", i);
}

static void
test_reward(struct env *e)
{
	struct lander_pose p = zero;
	bool ended;

	p.x = 16;
	p.y += 0.8 * 400 / 60;
	ok(is_near(reward_between(e, zero, p, 0, 0, 0, &ended), -100) && !ended,
	    "a unit of distance costs 100");
	p = zero;
	p.vx = 3;
	p.vy = 6;
	ok(is_near(reward_between(e, p, zero, 0, 0, 0, &ended), 100),
	    "a unit of speed costs 100");
	p = zero;
	p.angle = -0.5;
	ok(is_near(reward_between(e, zero, p, 0, 0, 0, &ended), -50),
	    "a radian costs 100");
	p = zero;
	p.spin = 9;
	ok(is_near(reward_between(e, zero, p, 0, 0, 0, &ended), 0),
	    "spin costs nothing");
	p = zero;
	p.leg[0] = true;
	ok(is_near(reward_between(e, zero, p, 0, 0, 0, &ended), 10) && !ended,
	    "a leg on the ground gives 10");
	p.leg[1] = true;
	ok(is_near(reward_between(e, p, zero, 0, 0, 0, &ended), -20),
	    "a leg that leaves the ground costs 10");
	ok(is_near(reward_between(e, zero, zero, 1, 0, 0, &ended), -0.03) &&
	    is_near(reward_between(e, zero, zero, 2, 0, 0, &ended), -0.3) &&
	    is_near(reward_between(e, zero, zero, 3, 0, 0, &ended), -0.03),
	    "engines cost reward");
}

static void
test_ends(struct env *e)
{
	struct lander_pose p = zero;
	bool ended;

	p.crashed = true;
	ok(reward_between(e, zero, p, 2, 0, 0, &ended) == -100 && ended,
	    "a crash gives -100");
	p.asleep = true;
	ok(reward_between(e, zero, p, 2, 0, 0, &ended) == 100 && ended,
	    "a lander that sleeps gets 100 although it has crashed");
	p.crashed = false;
	ok(reward_between(e, zero, p, 0, 0, 0, &ended) == 100 && ended,
	    "a lander that sleeps gets 100");
	p = zero;
	p.x = 20;
	ok(reward_between(e, zero, p, 0, 0, 0, &ended) == -100 && ended,
	    "a lander that leaves on the right gets -100");
	p.x = nextafter(20, 0);
	ok(is_near(reward_between(e, zero, p, 0, 0, 0, &ended), -100) && !ended,
	    "a lander just within the bounds continues");
	p.x = 0;
	ok(reward_between(e, zero, p, 0, 0, 0, &ended) == -100 && ended,
	    "a lander that leaves on the left gets -100");
	ok(e->kind->limit == 1000 && e->kind->solved == 200,
	    "the time limit and the reward of a solved task are right");
}

/* Return the two random numbers of the next step, drawn from a copy. */
static void
peek_random(const struct env *e, double d[2])
{
	struct rng rng = e->rng;

	for (int i = 0; i < 2; i++)
		d[i] = rng_uniform(&rng, -1, 1) / 30;
}

/* Is impulse i (-ox f, -oy f) at (x + ox, y + oy), plus a small part? */
static bool
is_hit(unsigned i, struct lander_pose p, double ox, double oy, double f,
    double mx, double my)
{
	return is_near(notes.hit[i].ix, -ox * f) &&
	    is_near(notes.hit[i].iy, -oy * f) &&
	    is_near(notes.hit[i].x, p.x + ox + mx) &&
	    is_near(notes.hit[i].y, p.y + oy + my);
}

/*
 * Make one step from a tilted pose.  `main` and `side` are power and direction
 * that Gymnasium derives from the action.  Are the impulses right?
 */
static bool
test_firing(struct env *e, union env_action a, double main_m, double side_s)
{
	struct lander_pose p = { .x = 7, .y = 9, .angle = 0.4 };
	const double tip[2] = { sin(p.angle), cos(p.angle) };
	const double side[2] = { -tip[1], tip[0] };
	double d[2], ox, oy, q;
	unsigned n = 0;
	bool right = true;
	float obs[OBS];

	notes.next = p;
	env_reset(e, obs);
	notes.hits = 0;
	peek_random(e, d);
	env_step(e, &a, obs);
	if (main_m > 0) {
		q = 4 / 30.0 + 2 * d[0];
		ox = tip[0] * q + side[0] * d[1];
		oy = -tip[1] * q - side[1] * d[1];
		right &= is_hit(n++, p, ox, oy, 13 * main_m, 0, 0);
	}
	if (side_s != 0) {
		q = 3 * d[1] + (side_s > 0 ? 1 : -1) * 12 / 30.0;
		ox = tip[0] * d[0] + side[0] * q;
		oy = -tip[1] * d[0] - side[1] * q;
		right &= is_hit(n++, p, ox, oy, 0.6 * fabs(side_s),
		    -tip[0] * 17 / 30, tip[1] * 14 / 30);
	}
	return right && notes.hits == n;
}

static void
test_engines(struct env *e)
{
	ok(test_firing(e, (union env_action){ .index = 0 }, 0, 0),
	    "action 0 fires no engine");
	ok(test_firing(e, (union env_action){ .index = 1 }, 0, -1),
	    "action 1 fires the left engine");
	ok(test_firing(e, (union env_action){ .index = 2 }, 1, 0),
	    "action 2 fires the main engine");
	ok(test_firing(e, (union env_action){ .index = 3 }, 0, 1),
	    "action 3 fires the right engine");
}

static void
test_continuous(struct env *e)
{
	static const struct {
		float x[2];
		double main, side;
	} t[] = {
		{ { 0, 0.5f }, 0, 0 }, { { -1, -0.5f }, 0, 0 },
		{ { 0.5f, 0 }, 0.75, 0 }, { { 1, 1 }, 1, 1 },
		{ { 7, -7 }, 1, -1 }, { { -7, 0.625f }, 0, 0.625 },
		{ { 0.25f, -0.75f }, 0.625, -0.75 },
	};
	bool ended;

	for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++) {
		const union env_action a = { .x = { t[i].x[0], t[i].x[1] } };
		const double cost = 0.3 * t[i].main + 0.03 * fabs(t[i].side);

		ok(test_firing(e, a, t[i].main, t[i].side) &&
			is_near(reward_between(
				    e, zero, zero, 0, a.x[0], a.x[1], &ended),
			    -cost),
		    "(%g, %g)", a.x[0], a.x[1]);
	}
}

int
main(void)
{
	const uint64_t seed = 5;
	struct env e = env_open(&env_lunarlander, seed);

	test_reset(&e, seed);
	test_observation(&e);
	test_reward(&e);
	test_ends(&e);
	test_engines(&e);
	env_close(&e);
	e = env_open(&env_lunarlander_continuous, seed);
	test_reset(&e, seed);
	test_ends(&e);
	test_continuous(&e);
	env_close(&e);
	return tap_end();
}
