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
bool verbs_open(struct verbs *vs, const struct part *const *parts);
void verbs_close(struct verbs *vs);

/* The command of this name, in any case; NULL: there is none. */
struct verb *verbs_find(const struct verbs *vs, const uint8_t *p, size_t len);

/* The word that follows of, in any case; NULL: there is none. */
struct verb *verbs_sub(const struct verbs *vs, const struct verb *of,
    const uint8_t *p, size_t len);

#endif
