/*
 * Test policy gradients: compare advantages with their definition, over
 * environments that end in both ways, and gradients with slopes of their
 * objectives.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/innet-agent/algo/algorithms.h"
#include "cmd/innet-agent/allocate.h"
#include "cmd/innet-agent/algo/policy-gradient.h"
#include "cmd/innet-agent/algo/policy.h"
#include "tests/unit/innet-agent/chance.h"
#include "tests/unit/tap.h"

enum { OBS = CHANCE_OBS, ENVS = 3, HORIZON = 40, ROWS = ENVS * HORIZON };

static const volatile sig_atomic_t never;
static float *sent;			/* the gradient that was sent */

static enum optimizer_status
keep_gradient(void *self, float *w, const float *grad, float reward)
{
	(void)w;
	(void)reward;
	memcpy(sent, grad, *(const size_t *)self * sizeof(*sent));
	return OPTIMIZER_END;
}

static struct learner
begin_lesson(const struct algo *algo, const struct env_kind *kind,
    struct tally *t)
{
	const struct hyperparameters hyper = { .envs = ENVS, .horizon = HORIZON,
	    .epochs = 1, .hidden = 8, .gamma = 0.9, .lambda = 0.8,
	    .entropy = 0.3, .clip = 0.2, .scale = 2 };
	struct learner l;

	learner_open(&l, kind, algo, &hyper, 1, NULL, t);
	sent = allocate(l.params, sizeof(*sent));
	return l;
}

/* Spread the weights, so that none is near 0. */
static void
spread_weights(struct learner *l, double by)
{
	struct rng rng = rng_seed(7);

	for (size_t i = 0; i < l->params; i++)
		l->w[i] += (float)rng_uniform(&rng, -by, by);
}

/* Play the history of one environment again. */
struct past {
	struct env_result got[HORIZON];
	double now[HORIZON], after[HORIZON];	/* values of the states */
};

static struct past
replay_lesson(struct learner *l, struct rng *seeds)
{
	struct pg *pg = l->self;
	struct env env = env_open(l->kind, rng_u64(seeds));
	const union env_action none = { 0 };
	struct past p;
	float obs[OBS];

	env_reset(&env, obs);
	for (int t = 0; t < HORIZON; t++) {
		p.now[t] = *ac_value(&pg->ac, l->w, obs, 1);
		p.got[t] = env_step(&env, &none, obs);
		p.after[t] = *ac_value(&pg->ac, l->w, obs, 1);
		if (p.got[t].terminated || p.got[t].truncated)
			env_reset(&env, obs);
	}
	env_close(&env);
	return p;
}

/* Return the sum of later errors, by the definition of the advantage. */
static double
define_advantage(const struct past *p, int t, const struct hyperparameters *s)
{
	double sum = 0, by = 1;

	for (; t < HORIZON; t++, by *= s->gamma * s->lambda) {
		sum += by * (s->scale * p->got[t].reward +
		    (p->got[t].terminated ? 0 : s->gamma * p->after[t]) -
		    p->now[t]);
		if (p->got[t].terminated || p->got[t].truncated)
			break;
	}
	return sum;
}

static void
test_advantages(void)
{
	struct tally tally = { .stop = &never };
	struct learner l = begin_lesson(&algo_a2c, &choices, &tally);
	const struct roll *r = &((struct pg *)l.self)->roll;
	struct rng seeds;
	int ends[2] = { 0 };
	double worst = 0;

	spread_weights(&l, 0.5);
	seeds = l.rng;
	l.algo->play(&l);
	for (size_t e = 0; e < ENVS; e++) {
		const struct past p = replay_lesson(&l, &seeds);

		for (int t = 0; t < HORIZON; t++) {
			const double a = define_advantage(&p, t, &l.hyper);
			const size_t row = (size_t)t * ENVS + e;

			worst = fmax(worst, fabs(r->advantage[row] - a));
			worst = fmax(worst, fabs(r->ret[row] - a - p.now[t]));
			ends[0] += p.got[t].terminated;
			ends[1] += p.got[t].truncated && !p.got[t].terminated;
		}
	}
	ok(ends[0] > 3 && ends[1] > 3, "there are %d ends and %d time "
	    "limits", ends[0],
	    ends[1]);
	ok(worst < 1e-5, "advantages and returns differ from their definition "
	    "by at most %g", worst);
	free(sent);
	learner_close(&l);
}

static double
policy_entropy(const struct env_kind *kind, const float *out,
    const float *log_std)
{
	double logp[POLICY_ACTIONS_MAX], h = 0;

	for (size_t i = 0; i < kind->dims; i++)
		h += log_std[i] + 0.5 * log(2 * M_PI * M_E);
	if (kind->actions != 0)
		policy_log(out, kind->actions, logp);
	for (size_t i = 0; i < kind->actions; i++)
		h -= exp(logp[i]) * logp[i];
	return h;
}

/* Return what that row adds to the objective by its action. */
static double
row_gain(const struct learner *l, double a, double ratio, double logp)
{
	const double lo = 1 - l->hyper.clip, hi = 1 + l->hyper.clip;

	if (l->algo == &algo_a2c)
		return a * logp;
	return fmin(ratio * a, fmin(fmax(ratio, lo), hi) * a);
}

/* Return the objective over the whole rollout with the weights w. */
static double
compute_objective(struct learner *l, const float *w, size_t *clipped)
{
	struct pg *pg = l->self;
	const struct roll *r = &pg->roll;
	const float *log_std = w + ac_log_std(&pg->ac), *out;
	double sum = 0, mean = 0, sd = 0;

	for (size_t i = 0; i < ROWS; i++)
		mean += r->advantage[i] / ROWS;
	for (size_t i = 0; i < ROWS; i++)
		sd += pow(r->advantage[i] - mean, 2) / ROWS;
	for (size_t i = 0; i < ROWS; i++) {
		const double a = l->algo == &algo_a2c ? r->advantage[i] :
		    (r->advantage[i] - mean) / sqrt(sd);
		const double miss = r->ret[i] - *ac_value(&pg->ac, w,
		    r->obs + i * OBS, 1);
		double logp, ratio;

		out = ac_act(&pg->ac, w, r->obs + i * OBS, 1);
		logp = policy_logp(l->kind, out, log_std, &r->action[i]);
		ratio = exp(logp - r->logp[i]);
		*clipped += fabs(ratio - 1) > l->hyper.clip;
		sum += row_gain(l, a, ratio, logp) + l->hyper.entropy *
		    policy_entropy(l->kind, out, log_std) - 0.5 * miss * miss;
	}
	return sum / ROWS;
}

/* Along the gradient the objective rises by the square of the gradient. */
static void
test_slope(const struct algo *algo, const struct env_kind *kind)
{
	struct tally t = { .stop = &never };
	struct learner l = begin_lesson(algo, kind, &t);
	float *w = allocate(l.params, sizeof(*w));
	double square = 0, up, down, rises, h;
	size_t clipped = 0;

	spread_weights(&l, 0.3);
	l.algo->play(&l);
	if (algo == &algo_ppo)
		spread_weights(&l, 0.15);	/* the policy has changed since
						 */
	l.sink =
	    (struct gradient_sink){.apply = keep_gradient, .self = &l.params};
	l.algo->learn(&l);
	for (size_t i = 0; i < l.params; i++)
		square += (double)sent[i] * sent[i];
	h = 2e-3 / sqrt(square);
	for (size_t i = 0; i < l.params; i++)
		w[i] = l.w[i] + (float)h * sent[i];
	up = compute_objective(&l, w, &clipped);
	for (size_t i = 0; i < l.params; i++)
		w[i] = l.w[i] - (float)h * sent[i];
	down = compute_objective(&l, w, &clipped);
	rises = (up - down) / (2 * h);
	ok(fabs(rises / square - 1) < 0.01, "%s, %s: the objective rises by %g "
	    "along a gradient of square "
	    "%g", algo->name, kind->name, rises, square);
	if (algo == &algo_ppo)
		ok(clipped > 10 && clipped < 2 * ROWS - 10,
		    "%zu of %d ratios are clipped", clipped, 2 * ROWS);
	free(w);
	free(sent);
	learner_close(&l);
}

int
main(void)
{
	test_advantages();
	test_slope(&algo_a2c, &choices);
	test_slope(&algo_a2c, &numbers);
	test_slope(&algo_ppo, &choices);
	test_slope(&algo_ppo, &numbers);
	return tap_end();
}
