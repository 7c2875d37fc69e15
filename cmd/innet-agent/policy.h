/*
 * policy.h - from logits to actions
 *
 * Probabilities in double: one rounding to float32, at the end.
 */
#ifndef INNET_AGENT_POLICY_H
#define INNET_AGENT_POLICY_H

#include <math.h>
#include <stddef.h>

#include "common/rng.h"

enum { POLICY_ACTIONS_MAX = 32 };

/* logp[i] = the logarithm of the probability of action i < n. */
static inline void
policy_log(const float *logit, size_t n, double *logp)
{
	double top = logit[0], sum = 0;

	for (size_t i = 1; i < n; i++)
		top = logit[i] > top ? logit[i] : top;
	for (size_t i = 0; i < n; i++)
		sum += exp(logit[i] - top);
	for (size_t i = 0; i < n; i++)
		logp[i] = logit[i] - top - log(sum);
}

/* An action drawn with those probabilities. */
static inline unsigned
policy_draw(const double *logp, size_t n, struct rng *rng)
{
	double left = rng_double(rng);
	unsigned i;

	for (i = 0; i + 1 < n; i++) {
		left -= exp(logp[i]);
		if (left < 0)
			break;
	}
	return i;
}

/* The likeliest action, the first of equals. */
static inline unsigned
policy_best(const float *logit, size_t n)
{
	unsigned best = 0;

	for (unsigned i = 1; i < n; i++)
		best = logit[i] > logit[best] ? i : best;
	return best;
}

#endif
