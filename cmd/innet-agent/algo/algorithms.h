/* algorithms.h - the algorithms that --algo offers */
#ifndef INNET_AGENT_ALGO_ALGORITHMS_H
#define INNET_AGENT_ALGO_ALGORITHMS_H

#include "cmd/innet-agent/learner.h"

/* All algorithms, ended by NULL.  The first one is the default of --algo. */
extern const struct algo *const algo_all[];

/* Return the names of algo_all in the same order, ended by NULL. */
const char *const *algo_names(void);

/*
 * Return NULL if the algorithm can learn this kind of environment.  Otherwise
 * return the reason why it cannot.
 */
const char *algo_unfit(const struct algo *algo, const struct env_kind *kind);

/* Each algorithm is defined in the file of the same name. */
extern const struct algo algo_a2c, algo_ppo, algo_dqn, algo_ddpg;

#endif
