/*
 * a2c.c - advantage actor-critic (Mnih et al., 2016) with one gradient for each
 * rollout
 */
#include "config.h"

#include "cmd/innet-agent/algo/policy-gradient.h"
#include "cmd/innet-agent/algo/policy.h"

static enum optimizer_status
learn_rollout(struct learner *l)
{
	const struct pg *pg = l->self;
	const struct roll *r = &pg->roll;
	const size_t n = policy_outputs(l->kind);
	const float *out, *value;

	pg_see(l, pg->order, &out, &value);
	for (size_t i = 0; i < r->rows; i++)
		pg_row(l, i, &r->action[i], out + i * n, r->advantage[i],
		    r->ret[i] - value[i]);
	return pg_apply_gradient(l);
}

const struct algo algo_a2c = {
	.name = "a2c",
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
