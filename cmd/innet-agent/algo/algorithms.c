/* algorithms.c - the table of algorithms */
#include "config.h"

#include "cmd/innet-agent/algo/algorithms.h"

const struct algo *const algo_all[] = {
	&algo_a2c,
	&algo_ppo,
	&algo_dqn,
	&algo_ddpg,
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

const char *
algo_unfit(const struct algo *algo, const struct env_kind *kind)
{
	if (kind->dims != 0 && !algo->continuous)
		return "the environment's actions are continuous; use --algo "
		    "a2c, ppo or ddpg";
	if (kind->actions != 0 && !algo->discrete)
		return "the environment's actions are discrete; use --algo "
		    "a2c, ppo or dqn";
	return NULL;
}
