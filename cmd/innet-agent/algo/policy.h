/*
 * policy.h - choose actions from an actor's outputs, and compute gradients
 *
 * For discrete actions the actor has one output, a logit, for each action.  For
 * continuous actions each output is the mean of a normal distribution.  The
 * logarithms of the standard deviations are separate weights that do not depend
 * on the state.  Probabilities are computed in double precision and rounded to
 * float once, at the end.
 */
#ifndef INNET_AGENT_ALGO_POLICY_H
#define INNET_AGENT_ALGO_POLICY_H

#include <math.h>
#include <stddef.h>

#include "cmd/innet-agent/env/env.h"
#include "common/base/draw.h"

enum { POLICY_ACTIONS_MAX = 32 };

/* Return the number of outputs of an actor for this kind of environment. */
static inline size_t
policy_outputs(const struct env_kind *kind)
{
	return kind->actions != 0 ? kind->actions : kind->dims;
}

/*
 * Set logp[i] to the logarithm of the probability of action i, for all i < n.
 */
static inline void
policy_log(const float *logit, size_t n, double *logp)
{
	double top = logit[0], sum = 0;

	for (size_t i = 1; i < n; i++)
		top = logit[i] > top ? logit[i] : top;
	for (size_t i = 0; i < n; i++)
		sum += exp(logit[i] - top);
	sum = log(sum);
	for (size_t i = 0; i < n; i++)
		logp[i] = logit[i] - top - sum;
}

/*
 * Return the logarithm of the action's probability or, for continuous actions,
 * of its density.
 */
static inline double
policy_logp(const struct env_kind *kind, const float *out,
    const float *log_std, const union env_action *a)
{
	double logp[POLICY_ACTIONS_MAX], sum = 0;

	if (kind->actions != 0) {
		policy_log(out, kind->actions, logp);
		return logp[a->index];
	}
	for (size_t i = 0; i < kind->dims; i++) {
		const double z = (a->x[i] - out[i]) / exp(log_std[i]);

		sum -= 0.5 * z * z + log_std[i] + 0.5 * log(2 * M_PI);
	}
	return sum;
}

/* Draw a random action from the policy. */
static inline void
policy_draw(const struct env_kind *kind, const float *out,
    const float *log_std, struct rng *rng, union env_action *a)
{
	double logp[POLICY_ACTIONS_MAX], left;

	for (size_t i = 0; i < kind->dims; i++)
		a->x[i] = (float)(out[i] +
		    exp(log_std[i]) * draw_normal(rng));
	if (kind->actions == 0)
		return;
	policy_log(out, kind->actions, logp);
	left = rng_double(rng);
	for (a->index = 0; a->index + 1 < kind->actions; a->index++) {
		left -= exp(logp[a->index]);
		if (left < 0)
			break;
	}
}

/* Choose the most probable action, or the first of several such actions. */
static inline void
policy_best(const struct env_kind *kind, const float *out,
    union env_action *a)
{
	for (size_t i = 0; i < kind->dims; i++)
		a->x[i] = out[i];
	if (kind->actions != 0)
		a->index = 0;
	for (unsigned i = 1; i < kind->actions; i++)
		a->index = out[i] > out[a->index] ? i : a->index;
}

/* Return action a, clipped to the bounds of the environment. */
static inline union env_action
policy_within(const struct env_kind *kind, union env_action a)
{
	for (size_t i = 0; i < kind->dims; i++)
		a.x[i] = fminf(fmaxf(a.x[i], kind->low), kind->high);
	return a;
}

/*
 * Compute the gradient of by * (pull * log p(action) + entropy * H(p)).  Write
 * the gradient with respect to the actor's outputs to by_out.  Add the gradient
 * with respect to the logarithms of the standard deviations to by_log_std.
 */
static inline void
policy_pull(const struct env_kind *kind, const float *out,
    const float *log_std, const union env_action *a, double pull,
    double entropy, double by, float *by_out, float *by_log_std)
{
	double logp[POLICY_ACTIONS_MAX], p[POLICY_ACTIONS_MAX], h = 0;

	for (size_t i = 0; i < kind->dims; i++) {
		const double std = exp(log_std[i]);
		const double z = (a->x[i] - out[i]) / std;

		by_out[i] = (float)(by * pull * z / std);
		by_log_std[i] += (float)(by * (pull * (z * z - 1) + entropy));
	}
	if (kind->actions == 0)
		return;
	policy_log(out, kind->actions, logp);
	for (size_t i = 0; i < kind->actions; i++) {
		p[i] = exp(logp[i]);
		h -= p[i] * logp[i];
	}
	for (size_t i = 0; i < kind->actions; i++)
		by_out[i] = (float)(by * (pull * ((i == a->index) - p[i]) -
		    entropy * p[i] * (logp[i] + h)));
}

#endif
