/* rollout.c - play, keep all steps, and compute advantages */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/message.h"

#include "cmd/innet-agent/algo/policy.h"
#include "cmd/innet-agent/algo/rollout.h"

static void *
allocate_steps(size_t n, size_t each)
{
	void *p = calloc(n, each);

	if (p == NULL)
		err(1, "no memory for %zu steps", n);
	return p;
}

struct roll
roll_open(const struct env_kind *kind, const struct hyperparameters *hyper,
    struct rng *rng)
{
	struct roll r = {
		.kind = kind, .rng = rng, .envs = hyper->envs,
		.horizon = hyper->horizon, .rows = hyper->envs * hyper->horizon,
	};

	r.env = allocate_steps(r.envs, sizeof(*r.env));
	r.sum = allocate_steps(r.envs, sizeof(*r.sum));
	r.now = allocate_steps(r.envs * kind->obs, sizeof(*r.now));
	r.obs = allocate_steps(r.rows * kind->obs, sizeof(*r.obs));
	r.action = allocate_steps(r.rows, sizeof(*r.action));
	r.logp = allocate_steps(r.rows, sizeof(*r.logp));
	r.reward = allocate_steps(r.rows, sizeof(*r.reward));
	r.value = allocate_steps(r.rows, sizeof(*r.value));
	r.advantage = allocate_steps(r.rows, sizeof(*r.advantage));
	r.ret = allocate_steps(r.rows, sizeof(*r.ret));
	r.done = allocate_steps(r.rows, sizeof(*r.done));
	for (size_t e = 0; e < r.envs; e++) {
		r.env[e] = env_open(kind, rng_u64(rng));
		env_reset(&r.env[e], r.now + e * kind->obs);
	}
	return r;
}

void
roll_close(struct roll *r)
{
	for (size_t e = 0; e < r->envs; e++)
		env_close(&r->env[e]);
	free(r->env);
	free(r->sum);
	free(r->now);
	free(r->obs);
	free(r->action);
	free(r->logp);
	free(r->reward);
	free(r->value);
	free(r->advantage);
	free(r->ret);
	free(r->done);
}

void
roll_parts(struct roll *r, struct snapshot *s)
{
	for (size_t e = 0; e < r->envs; e++)
		env_parts(&r->env[e], s);
	snapshot_part(s, r->sum, r->envs * sizeof(*r->sum));
	snapshot_part(s, r->now, r->envs * r->kind->obs * sizeof(*r->now));
}

/* Take the action of row `row` in environment e, and record its result. */
static void
take_action(struct roll *r, size_t e, size_t row, struct ac *ac, const float *w,
    const struct hyperparameters *hyper, struct tally *t)
{
	const union env_action within = policy_within(r->kind,
	    r->action[row]);
	float *now = r->now + e * r->kind->obs;
	const struct env_result got = env_step(&r->env[e], &within, now);
	double reward = hyper->scale * got.reward;

	t->steps++;
	r->sum[e] += got.reward;
	r->done[row] = got.terminated || got.truncated;
	if (got.truncated && !got.terminated)
		reward += hyper->gamma * *ac_value(ac, w, now, 1);
	r->reward[row] = (float)reward;
	if (!r->done[row])
		return;
	tally_episode(t, r->sum[e]);
	r->sum[e] = 0;
	env_reset(&r->env[e], now);
}

/*
 * Compute the advantages and returns of all rows, from the last step to the
 * first.
 */
static void
compute_advantages(struct roll *r, struct ac *ac, const float *w,
    const struct hyperparameters *hyper)
{
	const float *after = ac_value(ac, w, r->now, r->envs);

	for (size_t e = 0; e < r->envs; e++) {
		double next = after[e], adv = 0;

		for (size_t t = r->horizon; t-- > 0;) {
			const size_t row = t * r->envs + e;
			const double go = r->done[row] ? 0 : hyper->gamma;

			adv = r->reward[row] + go * next - r->value[row] +
			    go * hyper->lambda * adv;
			next = r->value[row];
			r->advantage[row] = (float)adv;
			r->ret[row] = (float)(adv + next);
		}
	}
}

bool
roll_fill(struct roll *r, struct ac *ac, const float *w,
    const struct hyperparameters *hyper, struct tally *t)
{
	const size_t seen = r->envs * r->kind->obs;
	const size_t n = policy_outputs(r->kind);
	const float *log_std = w + ac_log_std(ac);

	for (size_t row = 0; row < r->rows; row += r->envs) {
		const float *out = ac_act(ac, w, r->now, r->envs);

		memcpy(r->obs + row * r->kind->obs, r->now,
		    seen * sizeof(*r->now));
		memcpy(r->value + row, ac_value(ac, w, r->now, r->envs),
		    r->envs * sizeof(*r->value));
		for (size_t e = 0; e < r->envs; e++) {
			union env_action *a = &r->action[row + e];

			policy_draw(r->kind, out + e * n, log_std, r->rng, a);
			r->logp[row + e] = (float)policy_logp(r->kind,
			    out + e * n, log_std, a);
			take_action(r, e, row + e, ac, w, hyper, t);
			if (tally_over(t))
				return false;
		}
	}
	compute_advantages(r, ac, w, hyper);
	return true;
}
