/*
 * algo-a2c - advantage actor-critic (Mnih et al., 2016): one gradient a roll
 *
 * The defaults were found with three asynchronous workers and a server's Adam
 * at 0.005: gradients cut to a common length, or averaged over fewer steps,
 * learn too, but often unlearn again.
 */
#include "config.h"

#include <string.h>

#include "cmd/innet-agent/learner.h"
#include "cmd/innet-agent/policy.h"

static enum ascent_result
learn(struct learner *l)
{
	const struct roll *r = &l->roll;
	const size_t n = r->kind->actions;
	double logp[POLICY_ACTIONS_MAX];
	const float *logit = net_actor(&l->net, l->w, r->obs, r->rows);
	const float *value = net_critic(&l->net, l->w, r->obs, r->rows);

	memcpy(l->obs, r->obs, r->rows * r->kind->obs * sizeof(*l->obs));
	for (size_t i = 0; i < r->rows; i++) {
		policy_log(logit + i * n, n, logp);
		learner_row(l, i, r->rows, r->action[i].index, logp,
		    r->advantage[i], r->ret[i] - value[i]);
	}
	return learner_rise(l, r->rows);
}

const struct algo algo_a2c = {
	.name = "a2c",
	.defaults = {
		.envs = 8, .horizon = 64, .epochs = 1,
		.gamma = 0.99, .lambda = 0.99, .norm = 0, .rate = 5e-3,
	},
	.learn = learn,
};
