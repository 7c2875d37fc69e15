/*
 * presets.c - hyperparameters with which an algorithm learns an environment
 *
 * The first row of an algorithm is its default, which is used for environments
 * without a row.  The values of a2c were found with three asynchronous workers
 * and with Adam at a learning rate of 0.005 on a server.  If all gradients are
 * clipped to a common norm, or averaged over fewer steps, the agent also
 * learns, but often forgets what it has learned.
 */
#include "config.h"

#include <stdbool.h>
#include <string.h>

#include "cmd/innet-agent/presets.h"

/*
 * Settings for `--replay per`, used in the rows for which no better settings
 * were found.
 */
#define BY_PRIORITY .alpha = 0.4, .beta = 0.4, .anneal = 10000

static const struct row {
	const char *algo, *env;
	struct hyperparameters hyper;
} rows[] = {
	{ "a2c", "cartpole", { .envs = 8, .horizon = 64, .epochs = 1,
	    .hidden = 64, .gamma = 0.99, .lambda = 0.99, .rate = 5e-3,
	    .scale = 1 } },
	{ "ppo", "cartpole", { .envs = 8, .horizon = 64, .epochs = 8,
	    .batch = 256, .hidden = 64, .gamma = 0.99, .lambda = 0.9,
	    .clip = 0.2, .norm = 0.5, .rate = 2e-3, .scale = 1 } },
	{ "ppo", "acrobot", { .envs = 16, .horizon = 64, .epochs = 8,
	    .batch = 256, .hidden = 64, .gamma = 0.99, .lambda = 0.94,
	    .clip = 0.2, .norm = 0.5, .rate = 1e-3, .scale = 1 } },
	{ "ppo", "mountaincar", { .envs = 16, .horizon = 64, .epochs = 8,
	    .batch = 256, .hidden = 64, .gamma = 0.99, .lambda = 0.98,
	    .entropy = 0.01, .clip = 0.2, .norm = 0.5, .rate = 1e-3,
	    .scale = 1 } },
	{ "ppo", "pendulum", { .envs = 16, .horizon = 256, .epochs = 10,
	    .batch = 128, .hidden = 64, .gamma = 0.9, .lambda = 0.95,
	    .clip = 0.2, .norm = 0.5, .rate = 1e-3, .scale = 0.1 } },
	{ "ppo", "lunarlander", { .envs = 16, .horizon = 1024, .epochs = 4,
	    .batch = 64, .hidden = 64, .gamma = 0.999, .lambda = 0.98,
	    .entropy = 0.01, .clip = 0.2, .norm = 0.5, .rate = 3e-4,
	    .scale = 1 } },
	{ "ppo", "lunarlander-continuous", { .envs = 16, .horizon = 1024,
	    .epochs = 4, .batch = 64, .hidden = 64, .gamma = 0.999,
	    .lambda = 0.98, .entropy = 0.001, .clip = 0.2, .norm = 0.5,
	    .rate = 3e-4, .scale = 1 } },
	{ "ppo", "breakout", { .envs = 16, .horizon = 128, .epochs = 4,
	    .batch = 256, .hidden = 64, .gamma = 0.99, .lambda = 0.95,
	    .entropy = 0.01, .clip = 0.2, .norm = 0.5, .rate = 1e-3,
	    .scale = 1 } },
	{ "dqn", "cartpole", { .horizon = 16, .batch = 128, .hidden = 64,
	    .gamma = 0.99, .rate = 2e-3, .scale = 0.1, .buffer = 50000,
	    BY_PRIORITY, .warmup = 1000, .nstep = 20, .target = 100,
	    .tau = 0.03, .explore = 0.01, .explore_steps = 10000,
	    .twin = 1 } },
	{ "dqn", "acrobot", { .horizon = 8, .batch = 128, .hidden = 64,
	    .gamma = 0.99, .rate = 2e-3, .scale = 0.1, .buffer = 50000,
	    BY_PRIORITY, .warmup = 1000, .nstep = 20, .target = 100,
	    .tau = 0.03, .explore = 0.01, .explore_steps = 10000,
	    .twin = 1 } },
	{ "dqn", "mountaincar", { .horizon = 8, .batch = 128, .hidden = 64,
	    .gamma = 0.99, .rate = 1e-3, .scale = 0.1, .buffer = 50000,
	    BY_PRIORITY, .warmup = 1000, .nstep = 20, .target = 100,
	    .tau = 0.03, .explore = 0.01, .explore_steps = 50000,
	    .twin = 1 } },
	{ "dqn", "lunarlander", { .horizon = 8, .batch = 128, .hidden = 64,
	    .gamma = 0.99, .rate = 1e-3, .scale = 0.1, .buffer = 100000,
	    BY_PRIORITY, .warmup = 2000, .nstep = 5, .target = 100,
	    .tau = 0.02, .explore = 0.02, .explore_steps = 30000,
	    .twin = 1 } },
	{ "dqn", "breakout", { .horizon = 4, .batch = 64, .hidden = 64,
	    .gamma = 0.99, .rate = 5e-4, .scale = 1, .buffer = 100000,
	    BY_PRIORITY, .warmup = 5000, .nstep = 5, .target = 100,
	    .tau = 0.005, .explore = 0.02, .explore_steps = 50000,
	    .twin = 1 } },
	{ "ddpg", "pendulum", { .horizon = 8, .batch = 128, .hidden = 64,
	    .gamma = 0.98, .rate = 3e-3, .scale = 1, .buffer = 100000,
	    BY_PRIORITY, .warmup = 1000, .nstep = 1, .target = 100,
	    .tau = 0.04, .explore = 0.05, .lagged = 1 } },
	{ "ddpg", "mountaincar-continuous", { .horizon = 8, .batch = 128,
	    .hidden = 64, .gamma = 0.99, .rate = 1e-3, .scale = 0.1,
	    .buffer = 100000, BY_PRIORITY, .warmup = 10000, .nstep = 10,
	    .target = 100, .tau = 0.02, .explore = 0.5, .lagged = 1 } },
	{ "ddpg", "lunarlander-continuous", { .horizon = 4, .batch = 128,
	    .hidden = 64, .gamma = 0.99, .rate = 1e-3, .scale = 0.1,
	    .buffer = 100000, BY_PRIORITY, .warmup = 5000, .nstep = 3,
	    .target = 100, .tau = 0.01, .explore = 0.1, .lagged = 1 } },
};

/* Return whether `name` is the environment `env` with any physics engine. */
static bool
is_environment(const char *name, const char *env)
{
	const size_t n = strlen(env);

	return strncmp(name, env, n) == 0 &&
	    (name[n] == '\0' || strcmp(name + n, "-box2d") == 0);
}

const struct hyperparameters *
presets_find(const char *algo, const char *env)
{
	const struct hyperparameters *own = NULL;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		if (strcmp(rows[i].algo, algo) != 0)
			continue;
		if (is_environment(env, rows[i].env))
			return &rows[i].hyper;
		if (own == NULL)
			own = &rows[i].hyper;
	}
	return own;
}
