/*
 * hyperparameters.h - the numbers that decide how an agent learns
 *
 * Each has an option, and presets.c has the values with which an algorithm
 * learns an environment.  In innet-agent, *options* are words of the command
 * line (struct opt), *conf* is what the whole command line means (conf.h), and
 * the numbers of learning are *hyperparameters*.
 */
#ifndef INNET_AGENT_HYPERPARAMETERS_H
#define INNET_AGENT_HYPERPARAMETERS_H

#include <stdint.h>

struct hyperparameters {
	uint64_t envs;		/* environments run side by side */
	uint64_t horizon;	/* steps of each between lessons */
	uint64_t epochs;	/* ppo: passes over a lesson */
	uint64_t batch;		/* samples in a gradient; 0: the lesson */
	uint64_t hidden;	/* width of the hidden layers */
	double gamma;		/* discount */
	double lambda;		/* of generalised advantage estimation */
	double entropy;		/* weight of the policy's entropy */
	double clip;		/* ppo: how far a ratio may leave 1 */
	double norm;		/* longest gradient in the L2 norm, 0: any */
	double rate;		/* learning rate */
	double scale;		/* of rewards, for learning only */
	/* with a replay buffer, dqn and ddpg: */
	uint64_t buffer;	/* transitions kept */
	uint64_t by_priority;	/* 1: drawn by priority; 0: uniformly */
	double alpha;		/* the priority's power */
	double beta;		/* the importance weights' power at first */
	uint64_t anneal;	/* gradients until it is 1 */
	uint64_t warmup;	/* environment steps before the first lesson */
	uint64_t nstep;		/* rewards summed before bootstrapping */
	uint64_t target;	/* gradients between copies to the target net */
	double tau;		/* share by which the target net follows at
				   each gradient; 0: it is copied */
	double explore;		/* dqn: least chance of a random action; ddpg:
				   noise, as a share of an action's range */
	uint64_t explore_steps;	/* dqn: over which the chance falls from 1 */
	uint64_t twin;		/* dqn: 1: double (van Hasselt, 2016) */
	uint64_t lagged;	/* ddpg: 1: the actor follows the critic of one
				   gradient before */
	uint64_t dueling;	/* dqn: 1: value and advantages (Wang, 2016) */
};

#endif
