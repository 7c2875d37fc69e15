/* hyperparameter-options.c - read the options that set hyperparameters */
#include "config.h"

#include <stddef.h>
#include <string.h>

#include "cmd/innet-agent/hyperparameter-options.h"
#include "cmd/innet-agent/presets.h"
#include "common/base/message.h"
#include "common/base/num.h"

static const char *const yesno[] = { "no", "yes", NULL };
static const char *const draws[] = { "uniform", "per", NULL };

/*
 * The table of hyperparameters.  Each row contains the algorithms that use the
 * hyperparameter, and the range or the words that its option accepts.
 */
static const struct hyperparameter {
	int ch;
	const char *algos;	/* algorithms that use the hyperparameter; NULL:
				 * all */
	const char *name;	/* name in messages */
	size_t at;		/* offset in struct hyperparameters */
	enum { COUNT, REAL, WORD } type;
	double lo, hi;
	const char *const *words;
} table[] = {
#define AT(m) offsetof(struct hyperparameters, m)
	{ O_ENVS, "a2c ppo", "environments", AT(envs), COUNT, 1, 4096, NULL },
	{ O_HORIZON, NULL, "horizon", AT(horizon), COUNT, 1, 65536, NULL },
	{ O_EPOCHS, "ppo", "epochs", AT(epochs), COUNT, 1, 1000, NULL },
	{ O_BATCH, "ppo dqn ddpg", "batch", AT(batch), COUNT, 1, 1 << 20,
	    NULL },
	{ O_HIDDEN, NULL, "width", AT(hidden), COUNT, 1, 4096, NULL },
	{ O_GAMMA, NULL, "gamma", AT(gamma), REAL, 0, 1, NULL },
	{ O_LAMBDA, "a2c ppo", "lambda", AT(lambda), REAL, 0, 1, NULL },
	{ O_ENTROPY, "a2c ppo", "entropy", AT(entropy), REAL, 0, 10, NULL },
	{ O_CLIP, "ppo", "clip", AT(clip), REAL, 0, 1, NULL },
	{ O_NORM, NULL, "norm", AT(norm), REAL, 0, 1e9, NULL },
	{ O_RATE, NULL, "learning rate", AT(rate), REAL, 0, 10, NULL },
	{ O_SCALE, NULL, "reward scale", AT(scale), REAL, 0, 1e9, NULL },
	{ O_BUFFER, "dqn ddpg", "buffer", AT(buffer), COUNT, 1, 1 << 28,
	    NULL },
	{ O_REPLAY, "dqn ddpg", "draw", AT(by_priority), WORD, 0, 0, draws },
	{ O_ALPHA, "dqn ddpg", "alpha", AT(alpha), REAL, 0, 2, NULL },
	{ O_BETA, "dqn ddpg", "beta", AT(beta), REAL, 0, 1, NULL },
	{ O_ANNEAL, "dqn ddpg", "gradients", AT(anneal), COUNT, 0, 1e12,
	    NULL },
	{ O_WARMUP, "dqn ddpg", "warmup", AT(warmup), COUNT, 1, 1 << 28,
	    NULL },
	{ O_NSTEP, "dqn ddpg", "n-step", AT(nstep), COUNT, 1, 1000, NULL },
	{ O_TARGET, "dqn ddpg", "target", AT(target), COUNT, 1, 1 << 28,
	    NULL },
	{ O_TAU, "dqn ddpg", "tau", AT(tau), REAL, 0, 1, NULL },
	{ O_EXPLORE, "dqn ddpg", "exploration", AT(explore), REAL, 0, 1,
	    NULL },
	{ O_EXPLORE_STEPS, "dqn", "exploration", AT(explore_steps), COUNT, 0,
	    1e12, NULL },
	{ O_DOUBLE, "dqn", "double", AT(twin), WORD, 0, 0, yesno },
	{ O_LAGGED, "ddpg", "lagged critic", AT(lagged), WORD, 0, 0, yesno },
	{ O_DUELING, "dqn", "dueling", AT(dueling), WORD, 0, 0, yesno },
#undef AT
};

_Static_assert(HYPERPARAMETERS == sizeof(table) / sizeof(*table),
    "a row for each hyperparameter");

/*
 * Return the index of the row of option ch, or HYPERPARAMETERS if there is
 * none.
 */
static size_t
find_row(int ch)
{
	size_t i = 0;

	while (i < HYPERPARAMETERS && table[i].ch != ch)
		i++;
	return i;
}

bool
hyperparameter_options_take(struct hyperparameter_options *g, int ch,
    const char *name)
{
	const size_t i = find_row(ch);

	if (i == HYPERPARAMETERS)
		return false;
	const struct hyperparameter *k = &table[i];
	void *at = (char *)&g->hyper + k->at;

	g->option[i] = name;
	if (k->type == REAL)
		opt_check(k->name, optarg, num_real(optarg, k->lo, k->hi, at));
	else if (k->type == COUNT)
		opt_check(k->name, optarg, num_u64(optarg, (uint64_t)k->lo,
		    (uint64_t)k->hi, at));
	else
		*(uint64_t *)at = (uint64_t)opt_word(k->name, optarg,
		    k->words);
	return true;
}

bool
hyperparameter_options_given(const struct hyperparameter_options *g, int ch)
{
	return g->option[find_row(ch)] != NULL;
}

void
hyperparameter_options_apply(const struct hyperparameter_options *g,
    const struct algo *algo, const struct env_kind *kind,
    struct hyperparameters *hyper)
{
	*hyper = *presets_find(algo->name, kind->name);
	for (size_t i = 0; i < HYPERPARAMETERS; i++) {
		const struct hyperparameter *k = &table[i];

		if (g->option[i] == NULL)
			continue;
		if (k->algos != NULL && strstr(k->algos, algo->name) == NULL)
			errx(2, "--%s cannot be used with --algo %s",
			    g->option[i],
			    algo->name);
		memcpy((char *)hyper + k->at, (const char *)&g->hyper + k->at,
		    8);
	}
}
