/*
 * olaf-server.h - program olaf of innet-ps: the parameter server (Olaf
 * section 2.1)
 *
 * The server keeps the weights of each cluster, which come from the first
 * worker that sends its own.  It applies updates (olaf/server-rule.h) and
 * answers each with the model of its range, to the worker or to the cluster.
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
	bool reply_worker;		/* answer the sender only */
	uint64_t elements;		/* required of every vector; 0: any */
	struct server_rule *loaded;	/* all clusters, from a file; or NULL */
};

enum server_count {
	SERVER_UPDATES, SERVER_CONSTITUENTS, SERVER_APPLIED, SERVER_GATED,
	SERVER_NONFINITE, SERVER_MISMATCHED, SERVER_NO_MODEL, SERVER_WEIGHTS,
	SERVER_DISCARDED, SERVER_MODELS,
	SERVER_REPEATED,		/* not newer than its worker's last */
	SERVER_FORGOTTEN,	/* clusters whose first worker is gone */
	SERVER_COUNTS
};

struct server {
	const struct server_conf *cf;
	const struct program_env *env;
	struct server_rule *cluster;	/* owned; by id */
	struct routes routes;		/* addresses of workers */
	struct quota quota;		/* of routes, by address */
	struct newest newest;		/* last update of each worker */
	struct handshake_server handshakes;	/* senders of tagged data */
	uint64_t memory_bytes;		/* used by vectors */
	uint64_t n[SERVER_COUNTS];
	char trouble[240];		/* to be reported; empty: none */
	bool told_memory, told_cut;	/* was that reported before? */
};

/* The program, with struct server_conf as settings, struct server as state. */
extern const struct program server_program;

#endif
