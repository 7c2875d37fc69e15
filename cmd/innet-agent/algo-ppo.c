/*
 * algo-ppo - proximal policy optimisation (Schulman et al., 2017): several
 * passes over a roll in shuffled minibatches, a gradient each; an action
 * whose probability has already moved far enough pulls no more
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "cmd/innet-agent/learner.h"
#include "cmd/innet-agent/policy.h"

/* A new random order of the roll's rows. */
static void
shuffle(struct learner *l)
{
	for (size_t i = 0; i < l->roll.rows; i++)
		l->order[i] = i;
	for (size_t i = l->roll.rows; i > 1; i--) {
		const size_t j = rng_below(&l->rng, i);
		const size_t t = l->order[i - 1];

		l->order[i - 1] = l->order[j];
		l->order[j] = t;
	}
}

/* Mean and 1 / standard deviation of those rows' advantages. */
static void
scale(const float *advantage, const size_t *rows, size_t n, double *mean,
    double *by)
{
	double sum = 0, sq = 0;

	for (size_t i = 0; i < n; i++)
		sum += advantage[rows[i]];
	*mean = sum / (double)n;
	for (size_t i = 0; i < n; i++) {
		const double d = advantage[rows[i]] - *mean;

		sq += d * d;
	}
	*by = 1 / (sqrt(sq / (double)n) + 1e-8);
}

/* How the clipped objective, ratio * advantage, changes with log p. */
static double
clipped(double ratio, double advantage, double clip)
{
	if ((advantage > 0 && ratio > 1 + clip) ||
	    (advantage < 0 && ratio < 1 - clip))
		return 0;
	return ratio * advantage;
}

/* One gradient, from those rows of the roll. */
static enum ascent_result
minibatch(struct learner *l, const size_t *rows)
{
	const struct roll *r = &l->roll;
	const size_t n = r->kind->actions, obs = r->kind->obs;
	const size_t batch = l->set.batch;
	double logp[POLICY_ACTIONS_MAX], mean, by;
	const float *logit, *value;

	for (size_t i = 0; i < batch; i++)
		memcpy(l->obs + i * obs, r->obs + rows[i] * obs,
		    obs * sizeof(*l->obs));
	logit = net_actor(&l->net, l->w, l->obs, batch);
	value = net_critic(&l->net, l->w, l->obs, batch);
	scale(r->advantage, rows, batch, &mean, &by);
	for (size_t i = 0; i < batch; i++) {
		const size_t row = rows[i];
		const unsigned a = r->action[row].index;
		double ratio;

		policy_log(logit + i * n, n, logp);
		ratio = exp(logp[a] - r->logp[row]);
		learner_row(l, i, batch, a, logp, clipped(ratio,
		    (r->advantage[row] - mean) * by, l->set.clip),
		    r->ret[row] - value[i]);
	}
	return learner_rise(l, batch);
}

static enum ascent_result
learn(struct learner *l)
{
	enum ascent_result rc;

	for (uint64_t epoch = 0; epoch < l->set.epochs; epoch++) {
		shuffle(l);
		for (size_t i = 0; i < l->roll.rows; i += l->set.batch) {
			rc = minibatch(l, l->order + i);
			if (rc != ASCENT_ON)
				return rc;
		}
	}
	return ASCENT_ON;
}

const struct algo algo_ppo = {
	.name = "ppo",
	.defaults = {
		.envs = 8, .horizon = 64, .epochs = 8, .batch = 256,
		.gamma = 0.99, .lambda = 0.9, .clip = 0.2, .norm = 0.5,
		.rate = 2e-3,
	},
	.learn = learn,
};
