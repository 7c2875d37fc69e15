/*
 * part.h - a part of the server: its commands and its callbacks
 *
 * The server consists of parts: keys, lists, transactions, administration,
 * replay tables and so on.  main() passes the list of all parts to the server.
 */
#ifndef INNET_MEMORY_SERVER_PART_H
#define INNET_MEMORY_SERVER_PART_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cmd/innet-memory/server/command.h"

struct server;

/* Every function may be NULL. */
struct part {
	const char *name;		/* name of the part's section in INFO */
	const struct command *commands;	/* commands of the part; the last row
					 * has no name */
	/*
	 * Called at the start.  On an error, prints the reason and returns
	 * false; the server then exits.
	 */
	bool (*open)(struct server *srv);
	/*
	 * Returns the time of its next call.  To request a call at once, set
	 * srv->next_tick_ns to 0.
	 */
	uint64_t (*tick)(struct server *srv, uint64_t now_ns);
	void (*flush)(struct server *srv);	/* called by FLUSHALL */
	/* Writes lines "name:value\r\n" for INFO. */
	void (*info)(struct server *srv, FILE *f);
	/* Saves the data; if that fails, prints the reason and returns 1. */
	int (*stop)(struct server *srv);
	void (*close)(struct server *srv);	/* frees the memory */
};

#endif
