/*
 * Compare gradients of dqn and ddpg with slopes of their objectives, which the
 * test computes a second time in double precision.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/innet-agent/algo/algorithms.h"
#include "cmd/innet-agent/algo/off-policy.h"
#include "tests/unit/innet-agent/chance.h"
#include "tests/unit/tap.h"

enum { OBS = CHANCE_OBS, HIDDEN = 16, BATCH = 32, WIDE_MAX = 32 };

static const volatile sig_atomic_t never;

/* Run a net of two hidden ReLU layers from its flat vector; return its end. */
static const double *
run_net(const double *w, size_t in, size_t out, const double *x, double *y)
{
	const size_t size[4] = { in, HIDDEN, HIDDEN, out };
	double a[WIDE_MAX], b[WIDE_MAX];

	memcpy(a, x, in * sizeof(*x));
	for (int k = 0; k < 3; k++) {
		const double *bias = w + size[k] * size[k + 1];

		for (size_t j = 0; j < size[k + 1]; j++) {
			b[j] = bias[j];
			for (size_t i = 0; i < size[k]; i++)
				b[j] += a[i] * w[i * size[k + 1] + j];
			if (k < 2 && b[j] < 0)
				b[j] = 0;
		}
		w = bias + size[k + 1];
		memcpy(a, b, size[k + 1] * sizeof(*a));
	}
	memcpy(y, a, out * sizeof(*y));
	return w;
}

static void
copy_weights(double *to, const float *from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = from[i];
}

/* Data to compare the gradient with: weights, and inputs kept constant. */
struct job {
	struct learner l;
	const struct offp *o;
	double *w, *still, *target;
};

/* Compute the values of all actions in the state obs. */
static void
action_values(const struct job *j, const double *w, const float *obs, double *q)
{
	const size_t n = choices.actions;
	double x[OBS], y[WIDE_MAX], mean = 0;

	copy_weights(x, obs, OBS);
	run_net(w, OBS, n + j->l.hyper.dueling, x, y);
	for (size_t i = 0; i < n; i++)
		mean += y[i] / (double)n;
	for (size_t i = 0; i < n; i++)
		q[i] = j->l.hyper.dueling ? y[n] + y[i] - mean : y[i];
}

static double
dqn_objective(const struct job *j)
{
	const struct batch *b = j->o->batch;
	const struct rows *r = &b->rows;
	double sum = 0;

	for (size_t i = 0; i < BATCH; i++) {
		double q[WIDE_MAX], next[WIDE_MAX], by[WIDE_MAX];
		size_t best = 0;

		action_values(j, j->w, r->obs + i * OBS, q);
		action_values(j, j->target, r->next + i * OBS, next);
		action_values(j, j->l.hyper.twin ? j->still : j->target,
		    r->next + i * OBS, by);
		for (size_t a = 1; a < choices.actions; a++)
			best = by[a] > by[best] ? a : best;
		sum -= b->weight[i] * 0.5 * pow(r->reward[i] + r->go[i] *
		    next[best] - q[r->action[i].index], 2);
	}
	return sum / BATCH;
}

/* Return the critic's value of x[], -1 to 1, in the state obs. */
static double
critic_value(const double *w, const float *obs, const double *x)
{
	double in[OBS + 2], q;

	copy_weights(in, obs, OBS);
	memcpy(in + OBS, x, 2 * sizeof(*x));
	run_net(w, OBS + 2, 1, in, &q);
	return q;
}

/*
 * Compute the action of the actor at w, -1 to 1; return the critic's weights.
 */
static const double *
actor_action(const double *w, const float *obs, double *x)
{
	double in[OBS];

	copy_weights(in, obs, OBS);
	w = run_net(w, OBS, 2, in, x);
	x[0] = tanh(x[0]);
	x[1] = tanh(x[1]);
	return w;
}

static double
ddpg_objective(const struct job *j)
{
	const struct batch *b = j->o->batch;
	const struct rows *r = &b->rows;
	double sum = 0;

	for (size_t i = 0; i < BATCH; i++) {
		const float *obs = r->obs + i * OBS, *next = r->next + i * OBS;
		const float *did = r->action[i].x;
		double x[2], goal;
		const double *critic = actor_action(j->target, next, x);

		goal = r->reward[i] + r->go[i] * critic_value(critic, next, x);
		critic = actor_action(j->w, obs, x);
		sum += critic_value(j->still + (critic - j->w), obs, x);
		sum -= b->weight[i] * 0.5 * pow(goal - critic_value(critic, obs,
		    (double[]){ (did[0] - 1) / 2, (did[1] - 1) / 2 }), 2);
	}
	return sum / BATCH;
}

static enum optimizer_status
discard_gradient(void *self, float *w, const float *grad, float reward)
{
	(void)self;
	(void)w;
	(void)grad;
	(void)reward;
	return OPTIMIZER_CONTINUE;
}

static void
test_slopes(const struct algo *algo, const struct env_kind *kind,
    double (*objective)(const struct job *j), struct hyperparameters hyper,
    bool ahead, const char *name)
{
	struct tally t = { .stop = &never };
	struct job j = { 0 };
	struct optimizer o;
	struct rng rng = rng_seed(7);
	double worst = 0, longest = 0;

	learner_open(&j.l, kind, algo, &hyper, 1, NULL, &t);
	j.l.sink.apply = discard_gradient;
	o = optimizer_open(OPTIMIZER_ADAM, j.l.kern, 0.01, j.l.params);
	j.l.own_optimizer = ahead ? &o : NULL;
	algo->play(&j.l);
	algo->learn(&j.l);	/* the target is a copy of these weights; */
	algo->init(&j.l, j.l.w, &rng);	/* and the weights of the agent change
					 * from now on */
	algo->play(&j.l);
	algo->learn(&j.l);
	j.o = j.l.self;
	j.w = calloc(j.l.params, sizeof(*j.w));
	j.still = calloc(j.l.params, sizeof(*j.w));
	j.target = calloc(j.l.params, sizeof(*j.w));
	copy_weights(j.w, j.l.w, j.l.params);
	copy_weights(j.still, j.l.w, j.l.params);
	if (ahead) {	/* the net that stays constant has made its step */
		float *w = calloc(j.l.params, sizeof(*w));

		memcpy(w, j.l.w, j.l.params * sizeof(*w));
		optimizer_step(&o, w, j.l.grad);
		copy_weights(j.still, w, j.l.params);
		free(w);
	}
	copy_weights(j.target, j.o->target, j.l.params);
	for (size_t i = 0; i < j.l.params; i++) {
		const double keep = j.w[i], h = 1e-6;
		double up;

		j.w[i] = keep + h;
		up = objective(&j);
		j.w[i] = keep - h;
		worst = fmax(worst, fabs((up - objective(&j)) / (2 * h) -
		    j.l.grad[i]));
		j.w[i] = keep;
		longest = fmax(longest, fabsf(j.l.grad[i]));
	}
	ok(longest > 0.01 && worst < 1e-3 * longest,
	    "%s: all %zu slopes are right (worst miss %.1e of "
	    "%.2g)", name, j.l.params, worst, longest);
	learner_close(&j.l);
	optimizer_close(&o);
	free(j.w);
	free(j.still);
	free(j.target);
}

/*
 * The priorities of a batch are the distances of its values from their targets.
 */
static void
test_priorities(const struct algo *algo, const struct env_kind *kind,
    struct hyperparameters hyper, const char *name)
{
	struct tally t = { .stop = &never };
	float alone[BATCH];
	struct learner l;
	const struct offp *o;
	bool same = true, weighed = false;

	learner_open(&l, kind, algo, &hyper, 1, NULL, &t);
	l.sink.apply = discard_gradient;
	algo->play(&l);
	algo->learn(&l);	/* the target has the present weights */
	o = l.self;
	algo->prioritize(&l, &o->batch->rows, BATCH, alone);
	for (size_t i = 0; i < BATCH; i++) {
		const float p = o->batch->priority[i];
		const uint64_t id = o->batch->id[i];
		bool last = true;	/* of its duplicates */

		for (size_t k = i + 1; k < BATCH; k++)
			last = last && o->batch->id[k] != id;
		same = same && alone[i] == p && p >= OFFP_PRIORITY_LEAST &&
		    (!last || o->replay.per.priority[id] == p);
		weighed = weighed || o->batch->weight[i] < 1;
	}
	ok(same, "%s: the actor, the learner and the memory agree on "
	    "priorities",
	    name);
	algo->learn(&l);
	for (size_t i = 0; i < BATCH; i++)
		weighed = weighed || o->batch->weight[i] < 1;
	ok(weighed, "%s: weights correct the probabilities of the draw", name);
	learner_close(&l);
}

static struct learner *
open_learner(struct hyperparameters hyper, struct tally *t)
{
	static struct learner l;

	learner_open(&l, &choices, &algo_dqn, &hyper, 1, NULL, t);
	l.sink.apply = discard_gradient;
	algo_dqn.play(&l);
	algo_dqn.learn(&l);
	return &l;
}

/* The target follows the weights also if something else moves them. */
static void
test_target(struct hyperparameters hyper)
{
	struct tally t = { .stop = &never };
	struct learner *l;
	const struct offp *o;
	float was;

	hyper.target = 3;
	l = open_learner(hyper, &t);
	o = l->self;
	was = l->w[0];
	l->w[0] = was + 1;
	algo_dqn.learn(l);
	ok(o->target[0] == was, "the target does not change before its time");
	algo_dqn.learn(l);
	ok(o->target[0] == was + 1, "then the target gets the weights");
	learner_close(l);
	hyper.tau = 0.25;
	l = open_learner(hyper, &t);
	o = l->self;
	was = l->w[0];
	l->w[0] = was + 1;
	algo_dqn.learn(l);
	algo_dqn.learn(l);
	ok(fabsf(o->target[0] - was - 0.4375f) < 1e-6f,
	    "with tau 1/4 the target moves by 1/4 + 3/16 in two steps");
	learner_close(l);
}

int
main(void)
{
	struct hyperparameters hyper = {
		.horizon = 1, .batch = BATCH, .hidden = HIDDEN, .gamma = 0.9,
		.scale = 2, .buffer = 500, .warmup = 200, .nstep = 1,
		.target = 1000000, .explore = 0.3,
	};

	test_slopes(&algo_ddpg, &numbers, ddpg_objective, hyper, false,
	    "ddpg");
	test_slopes(&algo_dqn, &choices, dqn_objective, hyper, false,
	    "dqn");
	test_slopes(&algo_ddpg, &numbers, ddpg_objective, hyper, true,
	    "ddpg with the actor updated after the critic");
	hyper.lagged = 1;
	test_slopes(&algo_ddpg, &numbers, ddpg_objective, hyper, false,
	    "ddpg with the actor updated by the previous critic");
	hyper.twin = 1;
	test_slopes(&algo_dqn, &choices, dqn_objective, hyper, false,
	    "double dqn");
	hyper.dueling = 1;
	hyper.nstep = 3;
	test_slopes(&algo_dqn, &choices, dqn_objective, hyper,
	    false, "double dueling dqn of 3 steps");
	hyper.by_priority = 1;
	hyper.alpha = 1;
	hyper.beta = 0.5;
	hyper.anneal = 10;
	test_slopes(&algo_ddpg, &numbers, ddpg_objective, hyper,
	    false, "ddpg with prioritized replay");
	test_slopes(&algo_dqn, &choices, dqn_objective, hyper,
	    false, "dqn with prioritized replay");
	test_priorities(&algo_ddpg, &numbers, hyper, "ddpg");
	test_priorities(&algo_dqn, &choices, hyper, "dqn");
	hyper.by_priority = 0;
	test_target(hyper);
	ok(offp_beta(&hyper, 0) == 0.5 && offp_beta(&hyper, 5) == 0.75 &&
	    offp_beta(&hyper, 10) == 1 && offp_beta(&hyper, 99) == 1,
	    "beta rises to 1 and stays at 1");
	ok(offp_priority(-2) == 2 + OFFP_PRIORITY_LEAST && offp_priority(NAN) ==
	    OFFP_PRIORITY_MOST + OFFP_PRIORITY_LEAST,
	    "an error that is not a number gives a valid priority");
	return tap_end();
}
