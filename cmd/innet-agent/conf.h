/* conf.h - the command line of innet-agent */
#ifndef INNET_AGENT_CONF_H
#define INNET_AGENT_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/innet-agent/env.h"
#include "cmd/innet-agent/learner.h"
#include "cmd/innet-agent/optim.h"

struct conf {
	const struct env_kind *env;
	const struct algo *algo;
	struct settings set;
	enum optim_rule rule;
	uint64_t seed, init_seed, steps, episodes, interval_ns, timeout_ns;
	uint64_t vector_bytes;	/* least length of what goes up; 0: any */
	const char *log, *save, *eval, *report;
	bool alone, solve, json, quiet, verbose, init, deltas;
};

/* Exits 2 with a message where it is wrong. */
struct conf conf_parse(int argc, char *argv[]);

#endif
