/* policy-gradient.c - policy gradients: the parts that a2c and ppo share */
#include "config.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/message.h"

#include "cmd/innet-agent/allocate.h"
#include "cmd/innet-agent/algo/policy-gradient.h"
#include "cmd/innet-agent/algo/policy.h"

void
pg_check(const struct hyperparameters *s)
{
	const uint64_t rows = s->envs * s->horizon;

	if (rows > 1 << 20)
		errx(2, "--envs %" PRIu64 " times --horizon %" PRIu64 " is "
		    "more than the limit of 1048576 steps", s->envs,
		    s->horizon);
	if (s->batch != 0 && rows % s->batch != 0)
		errx(2, "--batch %" PRIu64 " must divide the %" PRIu64 " steps "
		    "of --envs times --horizon evenly", s->batch, rows);
}

void
pg_open(struct learner *l)
{
	const struct hyperparameters *hyper = &l->hyper;
	const size_t rows = hyper->envs * hyper->horizon;
	struct pg *pg = allocate(1, sizeof(*pg));

	assert(policy_outputs(l->kind) <= POLICY_ACTIONS_MAX);
	pg->batch = hyper->batch == 0 ? rows : hyper->batch;
	pg->ac = ac_open(l->kern, l->kind, hyper->hidden,
	    pg->batch > hyper->envs ? pg->batch : hyper->envs);
	pg->obs = allocate(pg->batch * l->kind->obs, sizeof(float));
	pg->by_out = allocate(pg->batch * policy_outputs(l->kind),
	    sizeof(float));
	pg->by_value = allocate(pg->batch, sizeof(float));
	pg->order = allocate(rows, sizeof(*pg->order));
	for (size_t i = 0; i < rows; i++)
		pg->order[i] = i;
	l->self = pg;
	l->params = pg->ac.params;
}

void
pg_close(struct learner *l)
{
	struct pg *pg = l->self;

	if (pg->roll.rows != 0)
		roll_close(&pg->roll);
	ac_close(&pg->ac);
	free(pg->obs);
	free(pg->by_out);
	free(pg->by_value);
	free(pg->order);
	free(pg);
}

void
pg_init(struct learner *l, float *w, struct rng *rng)
{
	const struct pg *pg = l->self;

	ac_init(&pg->ac, w, rng);
}

/* Open the environments if they are not open yet, and return the rollout. */
static struct roll *
open_rollout(struct learner *l)
{
	struct pg *pg = l->self;

	if (pg->roll.rows == 0)
		pg->roll = roll_open(l->kind, &l->hyper, &l->rng);
	return &pg->roll;
}

void
pg_parts(struct learner *l, struct snapshot *s)
{
	roll_parts(open_rollout(l), s);
}

bool
pg_play(struct learner *l)
{
	struct pg *pg = l->self;

	open_rollout(l);
	return roll_fill(&pg->roll, &pg->ac, l->w, &l->hyper, l->tally);
}

void
pg_greedy(struct learner *l, const float *w, const float *obs,
    union env_action *a)
{
	struct pg *pg = l->self;

	policy_best(l->kind, ac_act(&pg->ac, w, obs, 1), a);
}

void
pg_see(struct learner *l, const size_t *rows, const float **out,
    const float **value)
{
	struct pg *pg = l->self;
	const size_t obs = l->kind->obs;

	for (size_t i = 0; i < pg->batch; i++)
		memcpy(pg->obs + i * obs, pg->roll.obs + rows[i] * obs,
		    obs * sizeof(*pg->obs));
	*out = ac_act(&pg->ac, l->w, pg->obs, pg->batch);
	*value = ac_value(&pg->ac, l->w, pg->obs, pg->batch);
	memset(pg->by_log_std, 0, sizeof(pg->by_log_std));
}

void
pg_row(struct learner *l, size_t i, const union env_action *action,
    const float *out, double pull, double miss)
{
	struct pg *pg = l->self;
	const double by = 1 / (double)pg->batch;

	policy_pull(l->kind, out, l->w + ac_log_std(&pg->ac), action, pull,
	    l->hyper.entropy, by, pg->by_out + i * policy_outputs(l->kind),
	    pg->by_log_std);
	pg->by_value[i] = (float)(by * miss);
}

enum optimizer_status
pg_apply_gradient(struct learner *l)
{
	struct pg *pg = l->self;

	ac_back(&pg->ac, l->w, pg->obs, pg->batch, pg->by_out, pg->by_value,
	    l->grad);
	memcpy(l->grad + ac_log_std(&pg->ac), pg->by_log_std,
	    l->kind->dims * sizeof(*l->grad));
	return learner_apply_gradient(l);
}
