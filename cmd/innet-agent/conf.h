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
	const char *at[SHARDS_MAX];	/* servers: HOST:PORT, or a path */
	size_t servers;		/* number of addresses; 0: none were given */
	bool redis;		/* plain Redis, where experiences are a list */
	const char *password_file;
	char *password;		/* the server's password, owned; NULL: none */
	uint64_t index, actors;	/* actor: its number from 0; number of actors */
	uint64_t push, pull;	/* actor: experiences per push; pull interval */
	bool realtime;		/* actor: experiences a push, steps a pull */
	uint64_t publish;	/* learner: gradients between publications */
	uint64_t gradients;	/* learner: gradients to end at; 0: no limit */
	bool clear;		/* learner: first remove all keys */
	bool prefetch;		/* learner: draw during a lesson */
	uint64_t batches;	/* learner: batches drawn in one exchange */
	double lo, hi;		/* learner: samples per insert; 0: any */
	uint64_t experience_bytes;	/* minimum length of each */
};

struct conf {
	const struct env_kind *env;
	const struct algo *algo;
	struct hyperparameters hyper;
	bool buffer_given, alpha_given;	/* given as an option */
	enum optimizer_rule rule;
	uint64_t seed, init_seed, steps, episodes, interval_ns;
	uint64_t compute_ns, timeout_ns;
	uint64_t elements;	/* minimum floats in a vector; 0: no minimum */
	struct remote remote;
	const char *log, *save, *load, *eval, *report;
	uint64_t save_every;	/* updates between checkpoints; 0: none */
	FILE *json;		/* stream for the report; NULL: no report */
	bool alone, solve, quiet, verbose, init, deltas;
};

/* Parse the command line, or exit with status 2 and a message. */
struct conf conf_parse(int argc, char *argv[]);

#endif
