/*
 * policy-gradient.h - policy gradients: what a2c and ppo have in common
 *
 * A lesson is a full roll.  A gradient is made from a minibatch of its rows:
 * pg_row() for each of them says how the objective changes with what actor and
 * critic put out, pg_rise() sends the gradient up.
 */
#ifndef INNET_AGENT_ALGO_POLICY_GRADIENT_H
#define INNET_AGENT_ALGO_POLICY_GRADIENT_H

#include "cmd/innet-agent/algo/actor-critic.h"
#include "cmd/innet-agent/learner.h"
#include "cmd/innet-agent/algo/rollout.h"

struct pg {
	struct ac ac;
	struct roll roll;
	size_t batch;			/* rows of a minibatch */
	float *obs, *by_out, *by_value;	/* by row of a minibatch */
	float by_log_std[ENV_DIMS_MAX];
	size_t *order;			/* rows of the roll, for shuffling */
};

/* For struct algo: */
void pg_open(struct learner *l);
void pg_close(struct learner *l);
void pg_init(struct learner *l, float *w, struct rng *rng);
bool pg_play(struct learner *l);
void pg_parts(struct learner *l, struct snapshot *s);
void pg_greedy(struct learner *l, const float *w, const float *obs,
    union env_action *a);
void pg_check(const struct hyperparameters *s);

/*
 * Gather those rows of the roll into the minibatch, and let actor and critic
 * see them: what they put out, borrowed.
 */
void pg_see(struct learner *l, const size_t *rows, const float **out,
    const float **value);

/*
 * Row i of the minibatch.  The objective is the mean over its rows of
 * pull * log p(action) + entropy * H(p) - (value - ret)^2 / 2; miss is
 * ret - value.
 */
void pg_row(struct learner *l, size_t i, const union env_action *action,
    const float *out, double pull, double miss);

/* The minibatch's gradient goes up. */
enum optimizer_status pg_apply_gradient(struct learner *l);

#endif
