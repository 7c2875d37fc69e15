/*
 * command-table.h - all commands of all parts, found by name, with counters
 */
#ifndef INNET_MEMORY_SERVER_COMMAND_TABLE_H
#define INNET_MEMORY_SERVER_COMMAND_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/latency.h"

#include "cmd/innet-memory/server/part.h"

/* A command and its counters. */
struct command_entry {
	const struct command *cmd;
	const struct command_entry
	    *parent;		/* it is a word after that one; or NULL */
	struct latency latency;	/* of those that ran */
	uint64_t failed;	/* they ran, and answered with an error */
	uint64_t rejected;	/* they did not run */
	char name[32];		/* client|setname */
};

struct command_table {
	struct command_entry *v;
	size_t n;
	uint16_t *home;		/* by hash of a command's name: place + 1 */
};

/* Collect the tables of all parts.  False without memory. */
bool command_table_open(struct command_table *vs,
    const struct part *const *parts);
void command_table_close(struct command_table *vs);

/* The command of this name, in any case; NULL: there is none. */
struct command_entry *command_table_find(const struct command_table *vs,
    const uint8_t *p, size_t len);

/* The word that follows of, in any case; NULL: there is none. */
struct command_entry *command_table_find_sub(const struct command_table *vs,
    const struct command_entry *of, const uint8_t *p, size_t len);

#endif
