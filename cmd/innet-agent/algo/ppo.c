/*
 * ppo.c - proximal policy optimization (Schulman et al., 2017)
 *
 * The learner makes several passes over a rollout in shuffled minibatches and
 * computes a gradient for each minibatch.  Once the probability of an action
 * has moved beyond the clipping range, the action no longer contributes to the
 * gradient.
 */
#include "config.h"

#include <math.h>

#include "cmd/innet-agent/algo/policy-gradient.h"
#include "cmd/innet-agent/algo/policy.h"

/* Shuffle the rows of the rollout. */
static void
shuffle_rows(struct learner *l)
{
	struct pg *pg = l->self;

	for (size_t i = 0; i < pg->roll.rows; i++)
		pg->order[i] = i;
	for (size_t i = pg->roll.rows; i > 1; i--) {
		const size_t j = rng_below(&l->rng, i);
		const size_t t = pg->order[i - 1];

		pg->order[i - 1] = pg->order[j];
		pg->order[j] = t;
	}
}

/*
 * Compute the mean of the advantages of the n given rows, and the inverse of
 * the standard deviation of these advantages.
 */
static void
advantage_scale(const float *advantage, const size_t *rows, size_t n,
    double *mean, double *by)
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

/*
 * Return the derivative of the clipped objective, ratio * advantage, with
 * respect to log p.
 */
static double
clipped_pull(double ratio, double advantage, double clip)
{
	if ((advantage > 0 && ratio > 1 + clip) ||
	    (advantage < 0 && ratio < 1 - clip))
		return 0;
	return ratio * advantage;
}

/* Compute one gradient from the given rows of the rollout and apply it. */
static enum optimizer_status
learn_minibatch(struct learner *l, const size_t *rows)
{
	const struct pg *pg = l->self;
	const struct roll *r = &pg->roll;
	const size_t n = policy_outputs(l->kind);
	const float *out, *value, *log_std = l->w + ac_log_std(&pg->ac);
	double mean, by;

	pg_see(l, rows, &out, &value);
	advantage_scale(r->advantage, rows, pg->batch, &mean, &by);
	for (size_t i = 0; i < pg->batch; i++) {
		const size_t row = rows[i];
		const union env_action *a = &r->action[row];
		const double ratio = exp(policy_logp(l->kind, out + i * n,
		    log_std, a) - r->logp[row]);

		pg_row(l, i, a, out + i * n, clipped_pull(ratio,
		    (r->advantage[row] - mean) * by, l->hyper.clip),
		    r->ret[row] - value[i]);
	}
	return pg_apply_gradient(l);
}

static enum optimizer_status
learn_rollout(struct learner *l)
{
	const struct pg *pg = l->self;
	enum optimizer_status rc;

	for (uint64_t epoch = 0; epoch < l->hyper.epochs; epoch++) {
		shuffle_rows(l);
		for (size_t i = 0; i < pg->roll.rows; i += pg->batch) {
			rc = learn_minibatch(l, pg->order + i);
			if (rc != OPTIMIZER_CONTINUE)
				return rc;
		}
	}
	return OPTIMIZER_CONTINUE;
}

const struct algo algo_ppo = {
	.name = "ppo",
	.discrete = true,
	.continuous = true,
	.check = pg_check,
	.open = pg_open,
	.close = pg_close,
	.init = pg_init,
	.parts = pg_parts,
	.play = pg_play,
	.learn = learn_rollout,
	.greedy = pg_greedy,
};
