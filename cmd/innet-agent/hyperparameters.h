/*
 * hyperparameters.h - the numbers that control how an agent learns
 *
 * Each hyperparameter has an option.  The values with which an algorithm learns
 * an environment are in presets.c.  In innet-agent, *options* are words of the
 * command line (struct opt), *conf* is the meaning of the whole command line
 * (conf.h), and *hyperparameters* are the numbers that control learning.
 */
#ifndef INNET_AGENT_HYPERPARAMETERS_H
#define INNET_AGENT_HYPERPARAMETERS_H

#include <stdint.h>

struct hyperparameters {
	uint64_t envs;		/* number of environments played in parallel */
	uint64_t horizon;	/* learn after this number of steps of each
				 * environment */
	uint64_t epochs;	/* ppo: number of passes over the collected
				 * steps */
	uint64_t batch;		/* number of samples per gradient; 0: all
				 * collected steps */
	uint64_t hidden;	/* number of neurons in each hidden layer */
	double gamma;		/* discount factor */
	double lambda;		/* decay of generalised advantage estimates */
	double entropy;		/* weight of the policy's entropy */
	double clip;		/* ppo: limit on |probability ratio - 1| */
	double norm;		/* largest L2 norm of a gradient; 0: no limit */
	double rate;		/* learning rate */
	double scale;		/* factor by which rewards are multiplied before
				 * learning */
	/* For algorithms with a replay buffer, dqn and ddpg: */
	uint64_t buffer;	/* capacity in transitions */
	uint64_t by_priority;	/* 1: draw by priority; 0: draw uniformly */
	double alpha;		/* exponent of the priorities */
	double beta;		/* initial exponent of importance weights */
	uint64_t anneal;	/* number of gradients until the exponent
				 * reaches 1 */
	uint64_t warmup;	/* number of environment steps before the first
				 * gradient */
	uint64_t nstep;		/* number of rewards in an n-step return */
	uint64_t target;	/* number of gradients between copies to the
				 * target net */
	double tau;		/* share by which the target network follows the
				 * online network at each gradient; 0: copy
				 * the weights instead */
	double explore;		/* dqn: minimum chance of a random action; ddpg:
				   noise, as a share of an action's range */
	uint64_t explore_steps;	/* dqn: number of steps until the chance has
				 * fallen to the minimum */
	uint64_t twin;		/* dqn: 1: double Q (van Hasselt, 2016) */
	uint64_t lagged;	/* ddpg: 1: train the actor with the critic as
				 * it was before the critic's own gradient */
	uint64_t dueling;	/* dqn: 1: use a dueling net (Wang, 2016) */
};

#endif
