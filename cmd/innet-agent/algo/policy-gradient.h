/*
 * policy-gradient.h - policy gradients: the parts that a2c and ppo share
 *
 * The learner learns from one full rollout at a time.  Each gradient is
 * computed from a minibatch of rows of the rollout.  To compute a gradient,
 * call pg_see(), then pg_row() for each row of the minibatch, and then
 * pg_apply_gradient().
 */
#ifndef INNET_AGENT_ALGO_POLICY_GRADIENT_H
#define INNET_AGENT_ALGO_POLICY_GRADIENT_H

#include "cmd/innet-agent/algo/actor-critic.h"
#include "cmd/innet-agent/learner.h"
#include "cmd/innet-agent/algo/rollout.h"

struct pg {
	struct ac ac;
	struct roll roll;
	size_t batch;			/* number of rows in a minibatch */
	float *obs, *by_out, *by_value;	/* values for each row of a minibatch */
	float by_log_std[ENV_DIMS_MAX];
	size_t *order;			/* numbers of the rows in shuffled
					 * order */
};

/* The following functions implement members of struct algo: */
void pg_open(struct learner *l);
void pg_close(struct learner *l);
void pg_init(struct learner *l, float *w, struct rng *rng);
bool pg_play(struct learner *l);
void pg_parts(struct learner *l, struct snapshot *s);
void pg_greedy(struct learner *l, const float *w, const float *obs,
    union env_action *a);
void pg_check(const struct hyperparameters *s);

/*
 * Copy the given rows of the rollout into the minibatch.  Set *out to the
 * actor's outputs for these rows and *value to the critic's.  Both arrays are
 * borrowed.
 */
void pg_see(struct learner *l, const size_t *rows, const float **out,
    const float **value);

/*
 * Add row i of the minibatch to the gradient.  The objective is the mean, over
 * all rows of the minibatch, of pull * log p(action) + entropy * H(p) -
 * (value - ret)^2 / 2.  `miss` is ret - value.
 */
void pg_row(struct learner *l, size_t i, const union env_action *action,
    const float *out, double pull, double miss);

/* Compute the gradient of the minibatch and apply it. */
enum optimizer_status pg_apply_gradient(struct learner *l);

#endif
