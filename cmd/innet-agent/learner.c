/* learner.c - the part of training that all algorithms share */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/message.h"

#include "cmd/innet-agent/allocate.h"
#include "cmd/innet-agent/learner.h"
#include "cmd/innet-agent/net/kern-best.h"
#include "cmd/innet-agent/apex/wait.h"

void
learner_open(struct learner *l, const struct env_kind *kind,
    const struct algo *algo, const struct hyperparameters *hyper, uint64_t seed,
    const uint64_t *init, struct tally *t)
{
	struct rng first = rng_seed(init == NULL ? 0 : *init);

	*l = (struct learner){
	    .algo = algo,
	    .kind = kind,
	    .kern = kern_best(),
	    .hyper = *hyper,
	    .rng = rng_seed(seed),
	    .tally = t,
	};
	algo->open(l);
	l->w = allocate(l->params, sizeof(*l->w));
	l->grad = allocate(l->params, sizeof(*l->grad));
	algo->init(l, l->w, init == NULL ? &l->rng : &first);
}

void
learner_send_deltas(struct learner *l, struct optimizer *local)
{
	l->local_optimizer = local;
	l->own_optimizer = local;
	l->base = allocate(l->params, sizeof(*l->base));
	l->delta = allocate(l->params, sizeof(*l->delta));
	memcpy(l->base, l->w, l->params * sizeof(*l->w));
}

void
learner_close(struct learner *l)
{
	l->algo->close(l);
	free(l->w);
	free(l->grad);
	free(l->base);
	free(l->delta);
}

/*
 * Wait until the next vector may be sent.  Return false if a signal arrived
 * first.
 */
static bool
wait_for_interval(struct learner *l)
{
	const uint64_t now = tally_now_ns();
	enum wait_result rc;

	if (l->interval_ns == 0)
		return true;
	/*
	 * if this vector is late, do not send the later ones earlier to catch
	 * up; the first vector is always late
	 */
	if (l->deadline_ns < now)
		l->deadline_ns = now;
	rc = wait_until(NULL, 0, l->deadline_ns, l->tally->stop);
	l->deadline_ns += l->interval_ns;
	return rc == WAIT_DUE;
}

/*
 * Wait until the computation has taken compute_ns; return false if a signal
 * arrived first.
 */
static bool
wait_for_compute(struct learner *l)
{
	if (l->compute_ns == 0)
		return true;
	if (l->free_ns == 0)
		l->free_ns = tally_now_ns();
	return wait_until(NULL, 0, l->free_ns + l->compute_ns,
	    l->tally->stop) == WAIT_DUE;
}

/* Pass the vector to the sink and measure how long the sink takes. */
static enum optimizer_status
send_vector(struct learner *l, const float *vector)
{
	enum optimizer_status rc;
	uint64_t begun;

	if (!wait_for_compute(l) || !wait_for_interval(l))
		return OPTIMIZER_END;
	begun = tally_now_ns();
	rc = l->sink.apply(l->sink.self, l->w, vector,
	    (float)tally_mean(l->tally, 10));
	l->free_ns = tally_now_ns();
	l->tally->sink_ns += l->free_ns - begun;
	return rc;
}

/*
 * Send the change that the learning phase made to the weights.  If the sink
 * returns no newer weights, the agent continues with the changed weights.
 */
static enum optimizer_status
send_delta(struct learner *l)
{
	enum optimizer_status rc;

	for (size_t i = 0; i < l->params; i++)
		l->delta[i] = l->w[i] - l->base[i];
	rc = send_vector(l, l->delta);
	memcpy(l->base, l->w, l->params * sizeof(*l->w));
	return rc;
}

enum optimizer_status
learner_run(struct learner *l, bool (*each)(void *), void *arg)
{
	enum optimizer_status rc = OPTIMIZER_CONTINUE;
	struct tally *t = l->tally;

	while (rc == OPTIMIZER_CONTINUE) {
		const uint64_t begun = tally_now_ns();
		const bool lesson = l->algo->play(l);
		const uint64_t played = tally_now_ns();

		t->play_ns += played - begun;
		rc = lesson ? l->algo->learn(l) : OPTIMIZER_END;
		if (rc == OPTIMIZER_CONTINUE && l->base != NULL)
			rc = send_delta(l);
		t->lesson_ns += tally_now_ns() - played;
		if (rc == OPTIMIZER_CONTINUE && l->lesson_done != NULL)
			l->lesson_done(l->lesson_arg);
		if (!each(arg))
			return OPTIMIZER_FAILED;
	}
	return rc;
}

/*
 * Shorten the gradient so that its norm is at most hyper.norm.  Do nothing if
 * hyper.norm is 0.  Four sums are computed in parallel, each over a fixed set
 * of elements, so that an addition has to wait only for the previous addition
 * to its own sum.
 */
static void
clip_gradient(struct learner *l)
{
	double sum[4] = { 0 }, by;
	size_t i;

	if (l->hyper.norm == 0)
		return;
	for (i = 0; i + 4 <= l->params; i += 4) {
		for (size_t j = 0; j < 4; j++)
			sum[j] += (double)l->grad[i + j] * l->grad[i + j];
	}
	for (; i < l->params; i++)
		sum[0] += (double)l->grad[i] * l->grad[i];
	by = l->hyper.norm / sqrt(sum[0] + sum[1] + (sum[2] + sum[3]));
	for (i = 0; i < l->params && by < 1; i++)
		l->grad[i] *= (float)by;
}

enum optimizer_status
learner_apply_gradient(struct learner *l)
{
	/*
	 * check for a signal after every gradient, because a learning phase may
	 * have many gradients
	 */
	if (*l->tally->stop != 0)
		return OPTIMIZER_END;
	clip_gradient(l);
	if (l->tally->gradients++ == l->tally->begun.gradients)
		l->tally->first_ns = tally_now_ns();
	if (l->base == NULL)
		return send_vector(l, l->grad);
	optimizer_step(l->local_optimizer, l->w, l->grad);
	return OPTIMIZER_CONTINUE;
}
