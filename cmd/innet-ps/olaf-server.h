/*
 * olaf-server.h - program olaf of innet-ps: the parameter server (Olaf section
 * 2.1)
 *
 * The server keeps the weights of each cluster.  The initial weights are those
 * of the worker that sends its weights first.  The server applies updates (see
 * olaf/server-rule.h).  It answers each update with the model of the update's
 * range, and sends this answer to the worker or to the whole cluster.
 */
#ifndef INNET_PS_OLAF_SERVER_H
#define INNET_PS_OLAF_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/auth/handshake-server.h"
#include "common/olaf/routes.h"
#include "common/olaf/server-rule.h"
#include "common/switch/program.h"

#include "cmd/innet-ps/newest.h"

enum { SERVER_CLUSTERS = 65536, SERVER_ELEMENT_BYTES = 20 };

struct server_conf {
	struct server_rule_conf rule;
	bool reply_worker;		/* answer only the sender */
	uint64_t elements;		/* required length of vectors; 0: any
					 * length is allowed */
	struct server_rule *loaded;	/* clusters that were loaded from a
					 * file, or NULL */
};

enum server_count {
	SERVER_UPDATES, SERVER_CONSTITUENTS, SERVER_APPLIED, SERVER_GATED,
	SERVER_NONFINITE, SERVER_MISMATCHED, SERVER_NO_MODEL, SERVER_WEIGHTS,
	SERVER_DISCARDED, SERVER_MODELS,
	SERVER_REPEATED,		/* number of updates that are not newer
					 * than the last one of their worker */
	SERVER_FORGOTTEN,	/* clusters removed as unused */
	SERVER_COUNTS
};

struct server {
	const struct server_conf *cf;
	const struct program_env *env;
	struct server_rule *cluster;	/* owned; indexed by cluster */
	struct routes routes;		/* addresses of workers */
	struct quota quota;		/* limits routes per address */
	struct newest newest;		/* the last update of each worker */
	struct handshake_server handshakes;	/* handshakes for tagged data */
	uint64_t memory_bytes;		/* memory used by vectors */
	uint64_t n[SERVER_COUNTS];
	char trouble[240];		/* problem to report, or "" */
	bool told_memory, told_cut;	/* already reported */
};

/*
 * The program.  Its settings are a struct server_conf, and its state is a
 * struct server.
 */
extern const struct program server_program;

#endif
