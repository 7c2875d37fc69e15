/* lists.h - list functions that the blocking commands also use */
#ifndef INNET_MEMORY_COMMANDS_LISTS_H
#define INNET_MEMORY_COMMANDS_LISTS_H

#include <stdbool.h>
#include <stddef.h>

#include "cmd/innet-memory/server/client.h"
#include "cmd/innet-memory/store/keyspace.h"

/* Return true if argument i is LEFT or RIGHT, and set *left. */
bool lists_side(const struct resp_args *a, size_t i, bool *left);

/*
 * Move an element from the list in argument 1 to the list in argument 2.  Reply
 * with the element or an error and return true.  If the list is empty, return
 * false without a reply.
 */
bool lists_move(struct client *c, const struct resp_args *a, bool from_left,
    bool to_left);

/*
 * Pop an element of k, a list that is not empty.  Reply with the key and the
 * element.
 */
void lists_pop_named(struct client *c, struct key *k, bool left);

#endif
