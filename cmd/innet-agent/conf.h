/* conf.h - the settings that the command line of innet-agent gives */
#ifndef INNET_AGENT_CONF_H
#define INNET_AGENT_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cmd/innet-agent/env/env.h"
#include "cmd/innet-agent/learner.h"
#include "cmd/innet-agent/net/optimizer.h"
#include "common/replay/shards.h"

/* The agent's role: a complete agent, or one part of Ape-X. */
enum role { ROLE_WORKER, ROLE_ACTOR, ROLE_LEARNER };

struct remote {
	enum role role;
	const char *at[SHARDS_MAX];	/* each server's HOST:PORT or path */
	size_t servers;		/* number of addresses; 0: none were given */
	bool redis;		/* the server is a plain Redis, so experiences
				 * are in a list */
	const char *password_file;
	char *password;		/* the server's password, owned; NULL: none */
	uint64_t index, actors;	/* actor: index of this actor, counted from 0;
				 * number of actors */
	/*
	 * actor: number of experiences in each push; number of environment
	 * steps between pulls
	 */
	uint64_t push, pull;
	bool realtime;		/* actor: exchange data at real-time priority */
	uint64_t publish;	/* learner: number of gradients between
				 * publications */
	uint64_t gradients;	/* learner: maximum number of gradients; 0: no
				 * limit */
	bool clear;		/* learner: first remove all keys of an earlier
				 * training run */
	bool prefetch;		/* learner: draw the next batch while learning
				 * from a batch */
	uint64_t batches;	/* learner: number of batches drawn in one
				 * exchange */
	double lo, hi;		/* learner: limits of --ratio; 0: no limit */
	uint64_t experience_bytes;	/* pad each experience to this size */
};

struct conf {
	const struct env_kind *env;
	const struct algo *algo;
	struct hyperparameters hyper;
	bool buffer_given, alpha_given;	/* --buffer, --alpha was given */
	enum optimizer_rule rule;
	uint64_t seed, init_seed, steps, episodes, interval_ns;
	uint64_t compute_ns, timeout_ns;
	uint64_t elements;	/* pad vectors to this many floats; 0: do not */
	struct remote remote;
	const char *log, *save, *load, *eval, *report;
	uint64_t save_every;	/* number of updates per checkpoint; 0: write
				 * none */
	FILE *json;		/* stream for the report; NULL: no report */
	bool alone, solve, quiet, verbose, init, deltas;
};

/* Parse the command line, or exit with status 2 and a message. */
struct conf conf_parse(int argc, char *argv[]);

#endif
