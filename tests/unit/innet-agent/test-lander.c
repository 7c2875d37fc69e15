/*
 * Compare the bodies of the landers with closed forms, and test the results of
 * a known pilot. With a seed as its argument, the program prints only a digest
 * of that run of our own lander.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/innet-agent/env/kinds.h"
#include "cmd/innet-agent/env/env.h"
#include "cmd/innet-agent/env/lander.h"
#include "cmd/innet-agent/env/planar.h"
#include "tests/unit/tap.h"

enum { OBS = 8, EPISODES = 400 };

static const double dt = 1.0 / LANDER_FPS, gravity = 10;

/* Results of a number of episodes. */
struct flights {
	double mean, sd, good;	/* good: share of episodes worth 200 or more */
	double steps;		/* mean */
	unsigned ends[3];	/* by -100, by +100, by the time limit */
	unsigned odd;		/* ends that the observation contradicts */
	uint64_t digest;
};

static bool
is_near(double a, double b, double within)
{
	return fabs(a - b) <= within;
}

static uint64_t
add_digest(uint64_t sum, const void *data, size_t n)
{
	const unsigned char *p = data;

	for (size_t i = 0; i < n; i++)
		sum = (sum ^ p[i]) * 0x100000001b3;	/* FNV-1a */
	return sum;
}

/*
 * The pilot of Gymnasium's example: lean towards the pad, sink more slowly near
 * the ground, and only brake when the legs touch.  x: thrust and turn, -1 ...
 * 1.
 */
static union env_action
steer(const struct env_kind *kind, const float *o)
{
	const double lean = fmax(-0.4, fmin(0.4, 0.5 * o[0] + o[2]));
	const bool down = o[6] != 0 || o[7] != 0;
	const double turn = down ? 0 : 0.5 * (lean - o[4]) - o[5];
	const double lift = down ? -0.5 * o[3] :
	    0.5 * (0.55 * fabs((double)o[0]) - o[1]) - 0.5 * o[3];
	union env_action a = { 0 };

	if (kind->dims > 0) {
		a.x[0] = (float)fmax(-1, fmin(1, 20 * lift - 1));
		a.x[1] = (float)fmax(-1, fmin(1, -20 * turn));
	} else if (lift > fabs(turn) && lift > 0.05) {
		a.index = 2;
	} else if (fabs(turn) > 0.05) {
		a.index = turn < 0 ? 3 : 1;
	}
	return a;
}

static union env_action
random_action(const struct env_kind *kind, struct rng *rng)
{
	union env_action a = { 0 };

	if (kind->dims == 0)
		a.index = (unsigned)rng_below(rng, kind->actions);
	for (size_t i = 0; i < kind->dims; i++)
		a.x[i] = (float)rng_uniform(rng, -1, 1);
	return a;
}

/* Can r be the last result of an episode that ended with o? */
static bool
can_be_last(const struct env_result *r, const float *o)
{
	const bool away = fabsf(o[0]) >= 1;

	if (!r->terminated)
		return r->truncated;
	if (r->reward == 100)
		return !away && o[2] == 0 && o[3] == 0 && o[5] == 0;
	return r->reward == -100 && (away || fabsf(o[1]) < 1);
}

/* Fly that many episodes, with the pilot or with random actions. */
static struct flights
fly_episodes(const struct env_kind *kind, uint64_t seed, unsigned episodes,
    bool able)
{
	struct flights f = { .digest = 0xcbf29ce484222325 };
	struct env e = env_open(kind, seed);
	struct rng rng = rng_seed(seed + 1);
	double squares = 0;

	for (unsigned n = 0; n < episodes; n++) {
		struct env_result r = { 0 };
		double sum = 0;
		float o[OBS];

		env_reset(&e, o);
		while (!r.terminated && !r.truncated) {
			const union env_action a =
			    able ? steer(kind, o) : random_action(kind, &rng);

			r = env_step(&e, &a, o);
			sum += r.reward;
			f.digest = add_digest(f.digest, o, sizeof(o));
			f.digest = add_digest(f.digest, &r.reward,
			    sizeof(r.reward));
		}
		f.steps += (double)e.steps / episodes;
		f.mean += sum / episodes;
		squares += sum * sum / episodes;
		f.good += (sum >= 200) / (double)episodes;
		f.ends[r.terminated ? r.reward > 0 : 2]++;
		f.odd += !can_be_last(&r, o);
	}
	f.sd = sqrt(squares - f.mean * f.mean);
	env_close(&e);
	return f;
}

static void
print_flights(const char *who, const struct flights *f)
{
	note("%s: mean %.1f (sd %.1f), %.1f %% worth 200, %.0f steps",
	    who, f->mean, f->sd, 100 * f->good, f->steps);
}

/*
 * Test the pilot and random actions with one kind of lander.  Elsewhere we
 * measured with Box2D that the discrete pilot gets about 240, with nine good
 * flights in ten.  The continuous pilot has more choices and hardly ever fails.
 */
static struct flights
test_pilot(const struct env_kind *kind)
{
	const bool fine = kind->dims > 0;
	const struct flights good = fly_episodes(kind, 7, EPISODES, true);
	const struct flights again = fly_episodes(kind, 7, EPISODES / 10, true);
	const struct flights same = fly_episodes(kind, 7, EPISODES / 10, true);
	const struct flights other = fly_episodes(kind, 8, EPISODES / 10, true);
	const struct flights bad = fly_episodes(kind, 7, EPISODES, false);

	print_flights(kind->name, &good);
	print_flights("by chance", &bad);
	ok(is_near(good.mean, fine ? 284 : 240, fine ? 8 : 25),
	    "%s: the mean reward of the pilot is about "
	    "%d", kind->name, fine ? 284 : 240);
	ok(is_near(good.good, fine ? 1 : 0.9, fine ? 0.02 : 0.06),
	    "%s: %s of its flights are worth 200", kind->name,
	    fine ? "nearly all" : "nine in ten");
	ok(bad.mean > -240 && bad.mean < -150 && bad.good < 0.01,
	    "%s: random actions get about -200", kind->name);
	ok(good.ends[1] >= (unsigned)(0.95 * good.good * EPISODES) &&
	    bad.ends[0] > 0.99 * EPISODES,
	    "%s: a pilot that lands falls asleep, random actions "
	    "crash", kind->name);
	ok(good.odd == 0 && bad.odd == 0,
	    "%s: every end agrees with its last observation", kind->name);
	ok(again.digest == same.digest && again.digest != other.digest,
	    "%s: the same seed gives the same run", kind->name);
	return good;
}

/* The shapes of the lander have the masses that they have in Box2D. */
static void
test_masses(const struct planar *w)
{
	ok(is_near(1 / w->body[0].inv_mass, 4.8167, 1e-4) &&
	    is_near(1 / w->body[0].inv_inertia, 0.78388, 1e-5) &&
	    is_near(w->body[0].origin.x, 0, 1e-12) &&
	    is_near(w->body[0].origin.y, -0.10131, 1e-5),
	    "the mass of the hull is right");
	ok(is_near(1 / w->body[1].inv_mass, 0.07111, 1e-5) &&
	    is_near(1 / w->body[2].inv_inertia, 0.0017909, 1e-7),
	    "the masses of the legs are right");
}

/*
 * Return the mass of all bodies, and the place *at and velocity *v of their
 * centre.
 */
static double
total_mass(const struct planar *w, struct xy *at, struct xy *v)
{
	double mass = 0;

	*at = *v = (struct xy){ 0, 0 };
	for (int i = 0; i < PLANAR_BODIES; i++)
		mass += 1 / w->body[i].inv_mass;
	for (int i = 0; i < PLANAR_BODIES; i++) {
		const struct planar_body *b = &w->body[i];
		const double share = 1 / b->inv_mass / mass;

		at->x += share * b->at.x;
		at->y += share * b->at.y;
		v->x += share * b->v.x;
		v->y += share * b->v.y;
	}
	return mass;
}

/*
 * Hinges and motors do not move the centre of mass, which falls like a stone.
 */
static void
test_fall(struct planar *w)
{
	const double ground[LANDER_POSTS] = { 0 };
	const double fx = 600, fy = -300;
	struct xy from, at, v;
	double mass, vx, vy;
	bool held = true;
	const int steps = 40;

	lander_planar.start(w, ground, fx, fy);
	mass = total_mass(w, &from, &v);
	vx = fx * dt / mass;
	vy = fy * dt / mass;
	for (int i = 1; i <= steps; i++) {
		lander_planar.step(w);
		total_mass(w, &at, &v);
		held &= is_near(v.x, vx, 1e-9) &&
		    is_near(v.y, vy - gravity * dt * i, 1e-9);
	}
	ok(held, "a force acts for one step, and gravity for all steps");
	ok(is_near(at.x, from.x + vx * dt * steps, 1e-6) &&
	    is_near(at.y, from.y + vy * dt * steps -
	    gravity * dt * dt * steps * (steps + 1) / 2, 1e-6),
	    "the centre of mass falls in a parabola");
}

/*
 * Return the height of the lander's origin when it stands with its legs spread.
 */
static double
standing_height(const struct planar *w)
{
	const double spread = w->pin[0].rest + w->pin[0].low;
	double lowest = 0;

	for (unsigned i = 0; i < w->body[1].corners; i++) {
		const struct xy c = w->body[1].corner[i];
		const struct xy pin = w->pin[0].on_b;

		lowest = fmin(lowest, sin(spread) * (c.x - pin.x) +
		    cos(spread) * (c.y - pin.y));
	}
	return -lowest;
}

/*
 * The lander, dropped from a low height, comes to rest on its legs and sleeps.
 */
static void
test_rest(struct planar *w)
{
	double ground[LANDER_POSTS];
	struct lander_pose p;
	unsigned steps = 0, still = 0;
	const unsigned most = 500;

	for (int i = 0; i < LANDER_POSTS; i++)
		ground[i] = LANDER_H - standing_height(w) - 0.1;
	lander_planar.start(w, ground, 0, 0);
	do {
		lander_planar.step(w);
		p = lander_planar.pose(w);
		still = hypot(p.vx, p.vy) <= 0.01 &&
		    fabs(p.spin) <= 2 * 3.1416 / 180 ? still + 1 : 0;
	} while (++steps < most && !p.asleep && !p.crashed);
	note("asleep after %u steps, the last %u still", steps, still);
	ok(p.asleep && p.leg[0] && p.leg[1] && !p.crashed &&
	    p.vx == 0 && p.vy == 0 && p.spin == 0, "the lander comes to rest");
	ok(still >= LANDER_FPS / 2, "the lander sleeps after half a second "
	    "without motion");
	/* two degrees of play at the stops, 5 to 20 mm of air below */
	ok(is_near(p.y, ground[0] + standing_height(w) + 0.015, 0.035) &&
	    is_near(p.x, LANDER_W / 2, 0.01) && is_near(p.angle, 0, 0.01),
	    "the lander stands upright on its legs");
}

/* The hull stops at a peak that is far from its corners. */
static void
test_peak(struct planar *w)
{
	double ground[LANDER_POSTS] = { 0 };
	const double bottom = LANDER_H - 10 / LANDER_SCALE;

	ground[LANDER_POSTS / 2] = bottom - 0.03;
	lander_planar.start(w, ground, 0, 0);
	lander_planar.step(w);
	ok(!lander_planar.pose(w).crashed, "a peak 30 mm below the hull does "
	    "not touch it");
	ground[LANDER_POSTS / 2] = bottom - 0.01;
	lander_planar.start(w, ground, 0, 0);
	lander_planar.step(w);
	ok(lander_planar.pose(w).crashed, "a peak 10 mm below the hull touches "
	    "it");
}

/* The lander slides on a slope that is steeper than friction can hold. */
static void
test_slope(struct planar *w)
{
	const double slope = 0.3, mu = sqrt(0.2 * 0.1);
	const double along = 1 / sqrt(1 + slope * slope);
	const double a = gravity * along * (slope - mu);
	double ground[LANDER_POSTS], speed[2];
	struct xy at, v;

	for (int i = 0; i < LANDER_POSTS; i++)
		ground[i] = LANDER_H - 1.5 - slope * 2 * (i - 5);
	lander_planar.start(w, ground, 0, 0);
	for (int i = 0; i < 2; i++) {
		for (int n = 0; n < 50; n++)
			lander_planar.step(w);
		total_mass(w, &at, &v);
		speed[i] = along * (v.x - slope * v.y);
	}
	note("it gains %.3f m/s in a second, by the formula %.3f",
	    speed[1] - speed[0], a);
	ok(is_near(speed[1] - speed[0], a, 0.03 * a),
	    "friction is sqrt(0.2 x 0.1) of the weight");
}

/* Two kinds fly equally well, as far as this number of flights can show. */
static void
compare_flights(const struct env_kind *kind, const struct flights *a,
    const struct flights *b)
{
	const double n = EPISODES;
	const double share = (a->good + b->good) / 2;

	ok(is_near(a->mean, b->mean,
	    4 * sqrt((a->sd * a->sd + b->sd * b->sd) / n)) &&
	    is_near(a->good, b->good,
	    4 * sqrt(2 * share * (1 - share) / n) + 1 / n),
	    "the same pilot flies %s equally well", kind->name);
}

/* Test all landers, and compare those of other engines with our own. */
static void
test_flights(void)
{
	struct flights own[2], f;

	for (size_t i = 0; env_kinds[i] != NULL; i++) {
		const struct env_kind *k = env_kinds[i];

		if (strncmp(k->name, "lunarlander", 11) != 0)
			continue;
		f = test_pilot(k);
		if (k == &env_lunarlander || k == &env_lunarlander_continuous)
			own[k->dims > 0] = f;
		else
			compare_flights(k, &own[k->dims > 0], &f);
	}
}


int
main(int argc, char *argv[])
{
	struct planar w;
	struct flights run;

	if (argc > 1) {
		run = fly_episodes(&env_lunarlander, strtoull(argv[1], NULL,
		    10), 20, true);
		printf("%016llx\n", (unsigned long long)run.digest);
		return 0;
	}
	lander_planar.start(&w, (double[LANDER_POSTS]){ 0 }, 0, 0);
	test_masses(&w);
	test_fall(&w);
	test_rest(&w);
	test_slope(&w);
	test_peak(&w);
	test_flights();
	return tap_end();
}
