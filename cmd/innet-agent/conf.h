/* conf.h - what the command line of innet-agent means */
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
	size_t servers;		/* their number; 0: none given */
	bool redis;		/* a plain Redis: experiences are a list */
	const char *password_file;
	char *password;		/* the server's, owned; NULL: none */
	uint64_t index, actors;	/* actor: its number from 0; their number */
	uint64_t push, pull;	/* actor: experiences at once; steps between */
	bool realtime;		/* actor: exchanges have real-time priority */
	uint64_t publish;	/* learner: gradients between parameters */
	uint64_t gradients;	/* learner: end after these; 0: never */
	bool clear;		/* learner: first remove all keys */
	bool prefetch;		/* learner: draw while it learns */
	uint64_t batches;	/* learner: drawn by one exchange */
	double lo, hi;		/* learner: bounds of samples per insert, 0:
				   none */
	uint64_t experience_bytes;	/* least length of one */
};

struct conf {
	const struct env_kind *env;
	const struct algo *algo;
	struct hyperparameters hyper;
	bool buffer_given, alpha_given;	/* ... by an option, not a preset */
	enum optimizer_rule rule;
	uint64_t seed, init_seed, steps, episodes, interval_ns;
	uint64_t compute_ns, timeout_ns;
	uint64_t elements;	/* least length of a vector sent; 0: any */
	struct remote remote;
	const char *log, *save, *load, *eval, *report;
	uint64_t save_every;	/* updates between checkpoints; 0: none */
	FILE *json;		/* where it goes; NULL: nowhere */
	bool alone, solve, quiet, verbose, init, deltas;
};

/* Parse the command line, or exit with status 2 and a message. */
struct conf conf_parse(int argc, char *argv[]);

#endif
