/*
 * command.h - a row in a table of commands
 *
 * To add a command, add a row to the table of a part (part.h) and write its
 * function.  Only the number of arguments is checked before the function is
 * called; it must reply exactly once (reply.h) or park its client (client.h).
 * COMMAND, INFO commandstats and latencystats, MULTI and the checks that the
 * flags below name are derived from the row.
 */
#ifndef INNET_MEMORY_SERVER_COMMAND_H
#define INNET_MEMORY_SERVER_COMMAND_H

#include "cmd/innet-memory/server/resp.h"

struct client;

enum {
	COMMAND_READ = 1,	/* it reads keys */
	COMMAND_WRITE = 2,	/* it changes keys */
	COMMAND_DENY_OOM = 4,	/* it may need memory: -OOM if memory is full */
	COMMAND_NO_AUTH = 8,	/* it is allowed before AUTH */
	COMMAND_UNQUEUED = 16,	/* it is never queued by MULTI */
	COMMAND_NOT_IN_MULTI = 32, /* it is refused within MULTI */
	COMMAND_FAST = 64,	/* shown by COMMAND only: */
	COMMAND_ADMIN = 128,
	COMMAND_NOT_REDIS = 256	/* Redis has no command of this name */
};

struct command {
	/* lower case; the last row of a table has NULL */
	const char *name;
	int arity;		/* words, with the name; -n: n or more */
	unsigned flags;
	void (*run)(struct client *c, const struct resp_args *a);
	const char *group, *summary;	/* for COMMAND DOCS */
	const char *usage;	/* arguments (command-docs.h); NULL: none */
	int first_key, last_key, step;	/* 0: none; last may be -1 */
	const struct command *subs;	/* subcommands */
};

#endif
