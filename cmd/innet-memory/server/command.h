/*
 * command.h - the table of commands
 *
 * To add a command: a row in the table of a part (server.h), and a function.
 * The function has its arguments checked for number only; it answers exactly
 * once, by the reply functions of client.h, or parks its client.  COMMAND,
 * INFO commandstats and latencystats, MULTI and the checks below come from
 * the row.
 */
#ifndef INNET_MEMORY_COMMANDS_COMMAND_H
#define INNET_MEMORY_COMMANDS_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/innet-memory/server/resp.h"

#include "common/base/latency.h"

struct client;
struct server;

enum {
	COMMAND_READ = 1,	/* reads keys */
	COMMAND_WRITE = 2,	/* changes what is stored */
	COMMAND_MORE = 4,	/* may add to it: -OOM when memory is full */
	COMMAND_STRANGER = 8,	/* before AUTH, too */
	COMMAND_AT_ONCE = 16,	/* within MULTI, too, instead of queued */
	COMMAND_NOT_QUEUED = 32, /* refused within MULTI */
	COMMAND_FAST = 64,	/* shown by COMMAND only: */
	COMMAND_ADMIN = 128,
	COMMAND_OWN = 256	/* Redis has none of that name */
};

struct command {
	/* lower case; the last row of a table has NULL */
	const char *name;
	int arity;		/* words with the name; -n: n or more */
	unsigned flags;
	void (*run)(struct client *c, const struct resp_args *a);
	const char *group, *summary;	/* of COMMAND DOCS */
	const char *usage;	/* its arguments (usage.h); NULL: none */
	int first_key, last_key, step;	/* 0: none; last may be -1 */
	const struct command *subs;	/* words that may follow the name */
};

/* A command as the server counts it. */
struct verb {
	const struct command *cmd;
	const struct verb *of;	/* it is a word after that one; or NULL */
	struct latency latency;	/* of those that ran */
	uint64_t failed;	/* they ran, and answered with an error */
	uint64_t rejected;	/* they did not run */
	char name[32];		/* client|setname */
};

struct verbs {
	struct verb *v;
	size_t n;
	uint16_t *home;		/* by hash of a command's name: place + 1 */
};

/* Collect the tables of all parts.  False without memory. */
bool verbs_open(struct verbs *vs);
void verbs_close(struct verbs *vs);

/* The command of this name, in any case; NULL: there is none. */
struct verb *verbs_find(const struct verbs *vs, const uint8_t *p, size_t len);

/* The word that follows of, in any case; NULL: there is none. */
struct verb *verbs_sub(const struct verbs *vs, const struct verb *of,
    const uint8_t *p, size_t len);

/* Run the request, or queue it, or say why not.  Its bulks stay in it. */
void command_run(struct client *c, struct resp_args *a);

/* The function of X HELP, for commands that words follow. */
void command_help(struct client *c, const struct resp_args *a);

/* Run it, whatever the state of the client: for EXEC. */
void command_call(struct client *c, struct verb *verb,
    const struct resp_args *a);

#endif
