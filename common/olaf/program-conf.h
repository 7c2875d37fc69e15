/*
 * program-conf.h - program olaf: its settings, and its state
 */
#ifndef INNET_OLAF_PROGRAM_CONF_H
#define INNET_OLAF_PROGRAM_CONF_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "common/base/num.h"
#include "common/capture/clusters.h"
#include "common/olaf/groups.h"
#include "common/auth/relay-tag.h"
#include "common/auth/transit-tag.h"
#include "common/olaf/routes.h"
#include "common/switch/program.h"
#include "common/wire/stream.h"

struct olaf_conf {
	union addr upstream;		/* family 0: none was given */
	bool bare;
	uint64_t elements;		/* of every vector; 0: as they come */
	const char *table_path;		/* of bare packets */
	struct clusters table;
};

enum olaf_count { OLAF_MODELS, OLAF_WEIGHTS, OLAF_NO_ROUTE,
	OLAF_NO_ROOM,		/* for a route: a quota, or memory */
	OLAF_COUNTS
};

struct olaf {
	const struct olaf_conf *cf;
	const struct program_env *env;
	bool addressed;			/* not in the path */
	struct routes routes;		/* where workers were heard from */
	struct quota quota;		/* ... of each address, if any */
	struct groups groups;		/* workers that were moved */
	struct relay_tag relay_tag;			/* data with proofs */
	struct transit_tag path;		/* ... of others, in the path */
	uint32_t bare_seen;		/* stands in for a sequence */
	uint64_t n[OLAF_COUNTS];
};

enum olaf_option {
	OLAF_UPSTREAM = 1, OLAF_FORMAT, OLAF_TABLE, OLAF_ELEMENTS
};

static const struct opt olaf_opts[] = {
	{ OLAF_UPSTREAM, "upstream", "ADDR",
	    "olaf: send updates on to HOST:PORT" },
	{ OLAF_FORMAT, "format", "NAME", "olaf: innet (default) or bare" },
	{ OLAF_TABLE, "cluster-table", "FILE",
	    "olaf: prefix,cluster for bare" },
	{ OLAF_ELEMENTS, "elements", "N",
	    "olaf: of every vector; others are dropped" },
	{ 0 }
};

static inline void
olaf_defaults(void *conf)
{
	*(struct olaf_conf *)conf = (struct olaf_conf){ 0 };
}

static inline const char *
olaf_set(void *conf, int option, const char *arg)
{
	struct olaf_conf *cf = conf;
	const char *why;

	switch (option) {
	case OLAF_UPSTREAM:
		why = addr_parse(arg, "46638", &cf->upstream);
		return why != NULL ? why : addr_port(&cf->upstream) == 0 ?
		    "port 0 is nobody's" : NULL;
	case OLAF_FORMAT:
		cf->bare = strcmp(arg, "bare") == 0;
		return cf->bare || strcmp(arg, "innet") == 0 ? NULL :
		    "not one of innet, bare";
	case OLAF_ELEMENTS:
		return num_u64(arg, 1, STREAM_ELEMENTS_MAX, &cf->elements);
	default:
		cf->table_path = arg;
		return NULL;
	}
}

static inline void
olaf_forget(void *conf)
{
	struct olaf_conf *cf = conf;

	clusters_free(&cf->table);
}

static inline const char *
olaf_settle(void *conf, struct program_place *place)
{
	struct olaf_conf *cf = conf;
	const bool addressed = place->address.sa.sa_family != 0 &&
	    !place->in_path;

	if (place->in_path && cf->upstream.sa.sa_family != 0)
		return "--upstream does not go with --bridge: in the path "
		    "each packet goes where it is addressed";
	if (place->in_path && cf->bare)
		return "--format bare does not go with --bridge: it is "
		    "known by no codepoint";
	if (cf->bare != (cf->table_path != NULL))
		return "--format bare and --cluster-table go together";
	if (cf->bare)
		place->tagged = false;	/* they have no room for any */
	if (cf->bare)
		cf->table = clusters_load_or_exit(cf->table_path);
	if (addressed && cf->upstream.sa.sa_family == 0)
		return "--listen needs --upstream, where updates go on to";
	if (!addressed && cf->upstream.sa.sa_family != 0)
		return "--upstream needs --listen, the switch's own address";
	if (addressed && place->address.sa.sa_family !=
	    cf->upstream.sa.sa_family)
		return "--listen and --upstream must both be IPv4 or IPv6";
	if (addressed && addr_same(&place->address, &cf->upstream))
		return "--upstream is the switch's own address";
	place->parent = cf->upstream;
	return NULL;
}

#endif
