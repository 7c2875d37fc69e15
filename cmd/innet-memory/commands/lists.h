/*
 * lists.h - functions for lists that blocking commands use, too
 */
#ifndef INNET_MEMORY_COMMANDS_LISTS_H
#define INNET_MEMORY_COMMANDS_LISTS_H

#include <stdbool.h>
#include <stddef.h>

#include "cmd/innet-memory/server/client.h"
#include "cmd/innet-memory/store/keyspace.h"

/* Is argument i LEFT or RIGHT? */
bool lists_side(const struct resp_args *a, size_t i, bool *left);

/*
 * Move an element from the list of argument 1 to that of argument 2, and reply
 * with it or with an error.  False, without a reply: the list is empty.
 */
bool lists_move(struct client *c, const struct resp_args *a, bool from_left,
    bool to_left);

/* Pop an element of a list that is not empty, and reply with the key and it. */
void lists_pop_named(struct client *c, struct key *k, bool left);

#endif
