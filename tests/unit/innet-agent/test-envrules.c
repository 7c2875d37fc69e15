/* Test the contract of all environments, and the rules of each one. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/innet-agent/env/kinds.h"
#include "cmd/innet-agent/env/env.h"
#include "tests/unit/tap.h"

enum { STEPS = 20000, OBS_MAX = 400 };

/* The bounds of the observed numbers; the last bound holds for the rest. */
static const struct {
	const struct env_kind *kind;
	float most[6];
	float reward_low, reward_high;
} bound[] = {
	{ &env_cartpole, { 2.5F, 10, 0.3F, 10 }, 1, 1 },
	{ &env_mountaincar, { 1.2F, 0.07F }, -1, -1 },
	{ &env_mountaincar_continuous, { 1.2F, 0.07F }, -0.1F, 100 },
	{ &env_acrobot, { 1, 1, 1, 1, 12.566371F, 28.274334F }, -1, 0 },
	{ &env_pendulum, { 1, 1, 8 }, -16.273605F, 0 },
	{ &env_breakout, { 1, 1, 1, 1, 1, 1 }, 0, 1 },
};

static union env_action
random_action(const struct env_kind *k, struct rng *rng)
{
	union env_action a = { 0 };

	if (k->actions > 0)
		a.index = (unsigned)rng_below(rng, k->actions);
	for (size_t d = 0; d < k->dims; d++)
		a.x[d] = (float)rng_uniform(rng, k->low, k->high);
	return a;
}

/* Random play stays within the bounds of row b and within the time limit. */
static void
test_bounds(size_t b)
{
	const struct env_kind *k = bound[b].kind;
	struct env e = env_open(k, b);
	struct rng rng = rng_seed(b);
	float obs[OBS_MAX];
	bool in = true, paid = true, timed = true;
	struct env_result r = { .terminated = true };

	for (int n = 0; n < STEPS; n++) {
		const union env_action a = random_action(k, &rng);

		if (r.terminated || r.truncated)
			env_reset(&e, obs);
		for (size_t i = 0; i < k->obs; i++)
			in = in &&
			    fabsf(obs[i]) <= bound[b].most[i < 6 ? i : 5];
		r = env_step(&e, &a, obs);
		paid = paid && r.reward >= (double)bound[b].reward_low &&
		    r.reward <= (double)bound[b].reward_high;
		timed = timed && r.truncated ==
		    (k->limit > 0 && e.steps == k->limit);
	}
	ok(in, "%s: observations stay within their bounds", k->name);
	ok(paid, "%s: rewards stay within their bounds", k->name);
	ok(timed, "%s: episodes end at the time limit", k->name);
	env_close(&e);
}

/*
 * Two environments with one seed do the same, and one with another seed does
 * not.
 */
static void
test_seeds(const struct env_kind *k)
{
	struct env e[3] = { env_open(k, 5), env_open(k, 5),
	    env_open(k, (uint64_t)5 << 32) };
	struct rng rng = rng_seed(1);
	float obs[3][OBS_MAX];
	bool same = true, other = false;
	struct env_result r[3];

	for (int i = 0; i < 3; i++)
		env_reset(&e[i], obs[i]);
	for (int n = 0; n < 500; n++) {
		const union env_action a = random_action(k, &rng);

		for (int i = 0; i < 3; i++) {
			r[i] = env_step(&e[i], &a, obs[i]);
			if (r[i].terminated || r[i].truncated)
				env_reset(&e[i], obs[i]);
		}
		same = same && r[0].reward == r[1].reward &&
		    memcmp(obs[0], obs[1], k->obs * sizeof(float)) == 0;
		other = other ||
		    memcmp(obs[0], obs[2], k->obs * sizeof(float)) != 0;
	}
	ok(same, "%s: the same seed gives the same steps", k->name);
	ok(other, "%s: another seed gives other steps", k->name);
	for (int i = 0; i < 3; i++)
		env_close(&e[i]);
}

/*
 * An action beyond the bounds acts like the bound; the car still pays for it.
 */
static void
test_clipping(const struct env_kind *k, double cost)
{
	struct env e[2] = { env_open(k, 3), env_open(k, 3) };
	const union env_action a[2] = { { .x = { k->high } },
	    { .x = { 3 * k->high } } };
	const double x = (double)k->high;
	float obs[2][OBS_MAX];
	bool same = true;
	double extra = 0;

	for (int i = 0; i < 2; i++)
		env_reset(&e[i], obs[i]);
	for (int n = 0; n < 10; n++) {
		struct env_result r[2];

		for (int i = 0; i < 2; i++)
			r[i] = env_step(&e[i], &a[i], obs[i]);
		same = same &&
		    memcmp(obs[0], obs[1], k->obs * sizeof(float)) == 0;
		extra += r[0].reward - r[1].reward;
	}
	ok(same && fabs(extra - 10 * cost * 8 * x * x) < 1e-9,
	    "%s: an action beyond the bound moves like the bound", k->name);
	for (int i = 0; i < 2; i++)
		env_close(&e[i]);
}

/*
 * Return the steps until an episode ends by itself, with the sum of its
 * rewards, or 0 if the time limit came first.
 */
static uint32_t
play_to_goal(const struct env_kind *k, union env_action (*act)(const float *),
    double *sum, float *obs)
{
	struct env e = env_open(k, 11);
	struct env_result r = { 0 };
	uint32_t steps;

	env_reset(&e, obs);
	for (*sum = 0; !r.terminated && !r.truncated; *sum += r.reward) {
		const union env_action a = act(obs);

		r = env_step(&e, &a, obs);
	}
	steps = r.terminated ? e.steps : 0;
	env_close(&e);
	return steps;
}

static union env_action
with_motion(const float *obs)
{
	return (union env_action){ .index = obs[1] < 0 ? 0 : 2 };
}

static union env_action
full_power(const float *obs)
{
	return (union env_action){ .x = { obs[1] < 0 ? -1 : 1 } };
}

static union env_action
pump_up(const float *obs)
{
	return (union env_action){ .index = obs[5] > 0 ? 2 : 0 };
}

static union env_action
push_right(const float *obs)
{
	(void)obs;
	return (union env_action){ .index = 1 };
}

/* Play that reaches the goal gets the reward of the rules and ends. */
static void
test_goals(void)
{
	float obs[OBS_MAX];
	double sum;
	uint32_t n;

	n = play_to_goal(&env_mountaincar, with_motion, &sum, obs);
	ok(n > 0 && sum == -(double)n && obs[0] >= 0.5F && obs[1] >= 0,
	    "a car that pushes in the direction of its motion reaches the hill "
	    "in %u steps", n);
	n = play_to_goal(&env_mountaincar_continuous, full_power, &sum, obs);
	ok(n > 0 && fabs(sum - (100 - 0.1 * n)) < 1e-9 && obs[0] >= 0.45F,
	    "a continuous car at full power gets 100 less 0.1 a step");
	n = play_to_goal(&env_acrobot, pump_up, &sum, obs);
	ok(n > 0 && sum == 1 - (double)n && (double)
	    (-obs[0] - (obs[0] * obs[2] - obs[1] * obs[3])) > 1 - 1e-5,
	    "links that are pumped rise above the bar in %u steps", n);
	n = play_to_goal(&env_cartpole, push_right, &sum, obs);
	ok(n > 5 && n < 15 && sum == n && obs[2] < -0.2094395F,
	    "a cart that is pushed to one side loses its pole");
}

/* Return the change of energy of links without torque over 200 steps. */
static void
test_energy(void)
{
	struct env e = env_open(&env_acrobot, 2);
	const union env_action none = { .index = 1 };
	float o[OBS_MAX];
	double energy, low = INFINITY, high = -INFINITY;

	env_reset(&e, o);
	for (int n = 0; n < 200; n++) {
		const double c2 = (double)o[2], w1 = (double)o[4],
		    w2 = (double)o[5];
		const double up = (double)(o[0] * o[2] - o[1] * o[3]);

		energy = (3.5 + c2) / 2 * w1 * w1 +
		    (1.25 + c2 / 2) * w1 * w2 + 1.25 / 2 * w2 * w2 -
		    9.8 * (1.5 * (double)o[0] + 0.5 * up);
		low = fmin(low, energy);
		high = fmax(high, energy);
		env_step(&e, &none, o);
	}
	if (!ok(high - low < 0.05 && low > -19.61,
	    "links without a torque keep their energy"))
		note("from %g to %g", low, high);
	env_close(&e);
}

/* The first reward of many seeds equals the formula with a real pow(). */
static void
test_costs(void)
{
	double (*volatile power)(double, double) = pow;
	const double pi = 3.141592653589793;
	const union env_action none = { 0 };
	unsigned wrong = 0, odd = 0;
	float obs[OBS_MAX];

	for (uint64_t seed = 0; seed < STEPS; seed++) {
		struct env e = env_open(&env_pendulum, seed);
		struct rng rng = rng_seed(seed);
		const double angle = rng_uniform(&rng, -pi, pi);
		const double spin = rng_uniform(&rng, -1, 1);
		volatile double n = angle + pi, a, b, c;

		n = n - pi;
		a = power(n, 2);
		b = power(spin, 2);
		b = 0.1 * b;
		c = a + b;
		env_reset(&e, obs);
		wrong += env_step(&e, &none, obs).reward != -c;
		a = n * n;
		odd += a + b != c;
		env_close(&e);
	}
	ok(wrong == 0, "pendulum: the cost equals the formula to the last bit");
	ok(odd > 0, "pendulum: x * x instead of pow(x, 2) would differ %u "
	    "times", odd);
}

/* The objects on the board of Breakout. */
struct board {
	int paddle, ball, trail, bricks;	/* how many of each */
	int px, x, y, last_x, last_y;		/* where they are */
};

static struct board
read_board(const float *obs)
{
	struct board b = { 0 };

	for (int i = 0; i < 100; i++) {
		if (obs[4 * i] > 0) {
			b.paddle += i / 10 == 9 ? 1 : 100;
			b.px = i % 10;
		}
		if (obs[4 * i + 1] > 0) {
			b.ball++;
			b.x = i % 10;
			b.y = i / 10;
		}
		if (obs[4 * i + 2] > 0) {
			b.trail++;
			b.last_x = i % 10;
			b.last_y = i / 10;
		}
		b.bricks += obs[4 * i + 3] > 0;
	}
	return b;
}

/* Does a step from `was` to `is` with that reward obey the rules? */
static bool
is_by_rules(const struct board *was, const struct board *is,
    const struct env_result *r)
{
	const int gone = was->bricks - is->bricks;

	return is->paddle == 1 && is->ball == 1 && is->trail == 1 &&
	    abs(is->px - was->px) <= 1 &&
	    is->last_x == was->x && is->last_y == was->y &&
	    abs(is->x - was->x) <= 1 && abs(is->y - was->y) <= 1 &&
	    r->terminated == (is->y == 9) &&
	    (gone == (int)r->reward || (was->bricks == 0 && gone == -30));
}

/* Follow the ball: many bricks are hit, and walls are built again. */
static void
test_breakout(void)
{
	struct env e = env_open(&env_breakout, 4);
	struct env_result r = { .terminated = true };
	struct board was = { 0 }, is;
	float obs[OBS_MAX];
	unsigned wrong = 0, built = 0, most = 0, here = 0, out = 0;

	for (int n = 0; n < 10 * STEPS; n++) {
		union env_action a;

		if (r.terminated) {
			env_reset(&e, obs);
			was = read_board(obs);
			wrong += was.bricks != 30 || was.px != 4 ||
			    was.y != 3 || (was.x != 0 && was.x != 9);
			here = 0;
		}
		a.index = was.px == was.x ? 0 : was.px > was.x ? 1 : 2;
		r = env_step(&e, &a, obs);
		is = read_board(obs);
		wrong += !is_by_rules(&was, &is, &r);
		built += is.bricks > was.bricks;
		here += (unsigned)r.reward;
		most = here > most ? here : most;
		out += r.terminated;
		was = is;
	}
	ok(wrong == 0, "breakout: every step obeys the rules");
	ok(built > 0 && most > 30 && out > 0,
	    "breakout: %u walls were rebuilt, %u bricks were hit at most, %u "
	    "balls were lost",
	    built, most, out);
	env_close(&e);
}

int
main(void)
{
	for (size_t b = 0; b < sizeof(bound) / sizeof(*bound); b++) {
		test_bounds(b);
		test_seeds(bound[b].kind);
	}
	test_clipping(&env_mountaincar_continuous, 0.1);
	test_clipping(&env_pendulum, 0);
	test_goals();
	test_energy();
	test_costs();
	test_breakout();
	return tap_end();
}
