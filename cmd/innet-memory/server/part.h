/*
 * part.h - a part of the server: its commands and what it does besides
 *
 * The server is made of parts: keys, lists, transactions, administration,
 * replay tables and so on.  main() passes their list to the server.
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
	const char *name;		/* of its section in INFO */
	const struct command *commands;	/* the last row has no name */
	/* at the start; false, after printing the reason: exit 1 */
	bool (*open)(struct server *srv);
	/* returns the next time to be called; srv->next_tick_ns = 0: now */
	uint64_t (*tick)(struct server *srv, uint64_t now_ns);
	void (*flush)(struct server *srv);	/* FLUSHALL */
	/* writes name:value\r\n lines for INFO */
	void (*info)(struct server *srv, FILE *f);
	/* saves; 1, after printing the reason: not saved */
	int (*stop)(struct server *srv);
	void (*close)(struct server *srv);	/* frees the memory */
};

#endif
