/* command-table.h - a table of all commands of all parts, with counters */
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
	const struct command_entry *parent;	/* main command, or NULL */
	struct latency latency;	/* latency of the calls that ran */
	uint64_t failed;	/* number of calls whose reply was an error */
	uint64_t rejected;	/* number of requests that were not run */
	char name[32];		/* full name, such as client|setname */
};

struct command_table {
	struct command_entry *v;
	size_t n;
	uint16_t *home;	/* hash table of the names: index in `v`, plus 1 */
};

/* Collect the commands of all parts; return false if there is no memory. */
bool command_table_open(struct command_table *vs,
    const struct part *const *parts);
void command_table_close(struct command_table *vs);

/* Return the command with this name (in any case), or NULL. */
struct command_entry *command_table_find(const struct command_table *vs,
    const uint8_t *p, size_t len);

/* Return the subcommand of `of` with this name (in any case), or NULL. */
struct command_entry *command_table_find_sub(const struct command_table *vs,
    const struct command_entry *of, const uint8_t *p, size_t len);

#endif
