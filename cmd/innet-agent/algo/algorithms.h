/* algorithms.h - the algorithms that --algo offers */
#ifndef INNET_AGENT_ALGO_ALGORITHMS_H
#define INNET_AGENT_ALGO_ALGORITHMS_H

#include "cmd/innet-agent/learner.h"

/* All algorithms, ended by NULL; --algo has the first by default. */
extern const struct algo *const algo_all[];

/* Return the names of algo_all, in the same order and ended by NULL. */
const char *const *algo_names(void);

/*
 * Return why the algorithm cannot learn that kind of environment, or NULL if
 * it can.
 */
const char *algo_unfit(const struct algo *algo, const struct env_kind *kind);

/* Each algorithm is in the file of its name. */
extern const struct algo algo_a2c, algo_ppo, algo_dqn, algo_ddpg;

#endif
