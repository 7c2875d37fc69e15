/*
 * Test that whole trainings with the plain kernels and with each fast set
 * give the same weights to the last bit, for every algorithm.
 */
#include <stdlib.h>
#include <string.h>

#include "cmd/innet-agent/net/kern-avx2.h"
#include "cmd/innet-agent/net/kern-best.h"
#include "cmd/innet-agent/env/kinds.h"
#include "cmd/innet-agent/algo/algorithms.h"
#include "cmd/innet-agent/learner.h"
#include "cmd/innet-agent/presets.h"
#include "tests/unit/tap.h"

static const struct kern *use;		/* the result of kern_best() */
const struct kern *__real_kern_best(void);
const struct kern *__wrap_kern_best(void);

const struct kern *
__wrap_kern_best(void)
{
	return use;
}

static bool
go_on(void *arg)
{
	(void)arg;
	return true;
}

/*
 * Return the weights after `steps` steps of training, *n of them, to be freed.
 */
static float *
train_weights(const char *algo, const char *env, uint64_t hidden,
    uint64_t steps, size_t *n)
{
	const volatile sig_atomic_t never = 0;
	struct tally t = { .steps_end = steps, .stop = &never };
	struct hyperparameters hyper = *presets_find(algo, env);
	struct learner l;
	struct optimizer o;
	size_t a = 0, e = 0;
	float *w;

	while (strcmp(algo_all[a]->name, algo) != 0)
		a++;
	while (strcmp(env_kinds[e]->name, env) != 0)
		e++;
	hyper.hidden = hidden;
	learner_open(&l, env_kinds[e], algo_all[a], &hyper, 1, NULL, &t);
	o = optimizer_open(OPTIMIZER_ADAM, l.kern, hyper.rate, l.params);
	l.sink = optimizer_sink(&o);
	learner_run(&l, go_on, NULL);
	ok(t.gradients >= 5, "%s: %zu gradients by the kernels %s", algo,
	    (size_t)t.gradients, l.kern->name);
	w = l.w;
	l.w = NULL;
	*n = l.params;
	optimizer_close(&o);
	learner_close(&l);
	return w;
}

static void
test_same(const char *algo, const char *env, uint64_t hidden, uint64_t steps)
{
	const struct kern *const sets[] = { kern_avx2(), __real_kern_best() };
	float *plain, *fast;
	size_t n, m;

	use = &kern_plain;
	plain = train_weights(algo, env, hidden, steps, &n);
	for (size_t i = 0; i < sizeof(sets) / sizeof(*sets); i++) {
		if (sets[i] == NULL || (i > 0 && sets[i] == sets[i - 1]))
			continue;
		use = sets[i];
		fast = train_weights(algo, env, hidden, steps, &m);
		ok(n == m && memcmp(plain, fast, n * sizeof(*plain)) == 0,
		    "%s learns the same on %s with %s, %zu weights", algo,
		    env, use->name, n);
		free(fast);
	}
	free(plain);
}

int
main(void)
{
	/* widths that do not fill a vector, and those of the presets */
	test_same("a2c", "cartpole", 13, 3000);
	test_same("ppo", "lunarlander-continuous", 27, 17000);
	test_same("dqn", "cartpole", 64, 2000);
	test_same("ddpg", "pendulum", 35, 2000);
	return tap_end();
}
