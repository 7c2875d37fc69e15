/*
 * command.h - a row in a table of commands
 *
 * To add a command, add a row to the table of a part (part.h) and write the
 * function `run`.  Before the call, only the number of arguments is checked.
 * The function must reply exactly once (reply.h) or park its client (client.h).
 * The server derives everything else from the row: COMMAND, INFO commandstats
 * and latencystats, MULTI, and the checks that the flags below name.
 */
#ifndef INNET_MEMORY_SERVER_COMMAND_H
#define INNET_MEMORY_SERVER_COMMAND_H

#include "cmd/innet-memory/server/resp.h"

struct client;

enum {
	COMMAND_READ = 1,	/* the command reads keys */
	COMMAND_WRITE = 2,	/* the command changes keys */
	COMMAND_DENY_OOM = 4,	/* the command may need memory, and is refused
				 * if memory is full */
	COMMAND_NO_AUTH = 8,	/* allowed before AUTH */
	COMMAND_UNQUEUED = 16,	/* the command is never queued by MULTI */
	COMMAND_NOT_IN_MULTI = 32, /* refused within MULTI */
	COMMAND_FAST = 64,	/* this flag is only shown by COMMAND, like
				 * COMMAND_ADMIN */
	COMMAND_ADMIN = 128,
	COMMAND_NOT_REDIS = 256	/* Redis has no command of this name */
};

struct command {
	/* name in lower case; NULL in the last row of a table */
	const char *name;
	int arity;		/* number of words, including the name; -n: at
				 * least n words */
	unsigned flags;
	void (*run)(struct client *c, const struct resp_args *a);
	const char *group, *summary;	/* texts for COMMAND DOCS */
	const char *usage;	/* usage line (see command-docs.h), or NULL */
	int first_key, last_key, step;	/* positions of keys; 0: no keys;
					 * last_key can be -1 */
	const struct command *subs;	/* table of subcommands, or NULL */
};

#endif
