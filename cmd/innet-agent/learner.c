/* learner - what algorithms have in common */
#include "config.h"

#include <assert.h>
#include <err.h>
#include <math.h>
#include <stdlib.h>

#include "cmd/innet-agent/learner.h"
#include "cmd/innet-agent/policy.h"
#include "cmd/innet-agent/wait.h"

const struct algo *const algo_all[] = {
	&algo_a2c,
	&algo_ppo,
	NULL
};

const char *const *
algo_names(void)
{
	static const char *names[sizeof(algo_all) / sizeof(*algo_all)];

	for (size_t i = 0; algo_all[i] != NULL; i++)
		names[i] = algo_all[i]->name;
	return names;
}

static float *
floats(size_t n)
{
	float *p = calloc(n, sizeof(*p));

	if (p == NULL)
		err(1, "%zu floats", n);
	return p;
}

void
learner_open(struct learner *l, const struct env_kind *kind,
    const struct algo *algo, const struct settings *set, uint64_t seed,
    const uint64_t *init, struct tally *t)
{
	struct rng first = rng_seed(init == NULL ? 0 : *init);

	const size_t batch = set->batch;

	assert(kind->actions <= POLICY_ACTIONS_MAX);
	*l = (struct learner){
		.algo = algo, .set = *set, .rng = rng_seed(seed), .tally = t,
	};
	l->net = net_open(kern_best(), kind->obs, kind->actions,
	    batch > set->envs ? batch : set->envs);
	l->w = floats(l->net.params);
	l->grad = floats(l->net.params);
	l->obs = floats(batch * kind->obs);
	l->by_logit = floats(batch * kind->actions);
	l->by_value = floats(batch);
	l->order = calloc(set->envs * set->horizon, sizeof(*l->order));
	if (l->order == NULL)
		err(1, "batch of %zu", batch);
	net_init(&l->net, l->w, init == NULL ? &l->rng : &first);
	l->roll = roll_open(kind, set, &l->rng);
}

void
learner_close(struct learner *l)
{
	roll_close(&l->roll);
	net_close(&l->net);
	free(l->w);
	free(l->grad);
	free(l->obs);
	free(l->by_logit);
	free(l->by_value);
	free(l->order);
}

enum ascent_result
learner_run(struct learner *l, void (*each)(void *), void *arg)
{
	enum ascent_result rc = ASCENT_ON;

	while (rc == ASCENT_ON) {
		if (!roll_fill(&l->roll, &l->net, l->w, &l->set, l->tally))
			rc = ASCENT_END;
		else
			rc = l->algo->learn(l);
		each(arg);
	}
	return rc;
}

void
learner_row(struct learner *l, size_t i, size_t rows, unsigned action,
    const double *logp, double pull, double miss)
{
	const size_t n = l->roll.kind->actions;
	double entropy = 0;

	for (size_t j = 0; j < n; j++)
		entropy -= exp(logp[j]) * logp[j];
	for (size_t j = 0; j < n; j++) {
		const double p = exp(logp[j]);
		const double d = pull * ((j == action) - p) -
		    l->set.entropy * p * (logp[j] + entropy);

		l->by_logit[i * n + j] = (float)(d / (double)rows);
	}
	l->by_value[i] = (float)(miss / (double)rows);
}

/* Shorten the gradient to at most set.norm, unless that is 0. */
static void
cut(struct learner *l)
{
	double sum = 0, by;

	if (l->set.norm == 0)
		return;
	for (size_t i = 0; i < l->net.params; i++)
		sum += (double)l->grad[i] * l->grad[i];
	by = l->set.norm / sqrt(sum);
	for (size_t i = 0; i < l->net.params && by < 1; i++)
		l->grad[i] *= (float)by;
}

/* Wait until the next gradient may leave; false if a signal came first. */
static bool
pace(struct learner *l)
{
	const uint64_t now = tally_now_ns();
	enum wait_result rc;

	if (l->due_ns < now)
		l->due_ns = now;	/* late, or the first: no catching up */
	rc = wait_until(NULL, 0, l->due_ns, l->tally->stop);
	l->due_ns += l->interval_ns;
	return rc == WAIT_DUE;
}

enum ascent_result
learner_rise(struct learner *l, size_t rows)
{
	net_back(&l->net, l->w, l->obs, rows, l->by_logit, l->by_value,
	    l->grad);
	cut(l);
	if (l->interval_ns != 0 && !pace(l))
		return ASCENT_END;
	l->tally->gradients++;
	return l->up.rise(l->up.self, l->w, l->grad,
	    (float)tally_mean(l->tally, 10));
}
