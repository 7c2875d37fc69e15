/*
 * parts.h - the parts of innet-memory, and the includes of all command files
 *
 * The function of a command, run(c, a), gets its arguments in `a` (args.h) and
 * replies with the functions of reply.h.  args_keep_blob() keeps an argument as
 * a blob. c->srv is the server.  If a request cannot be answered yet, the
 * function parks it with client_park().
 */
#ifndef INNET_MEMORY_COMMANDS_PARTS_H
#define INNET_MEMORY_COMMANDS_PARTS_H

#include "cmd/innet-memory/server/args.h"
#include "cmd/innet-memory/server/client.h"
#include "cmd/innet-memory/server/part.h"
#include "cmd/innet-memory/server/reply.h"
#include "cmd/innet-memory/server/server.h"

extern const struct part admin_part, blocking_part, connection_part,
    expire_part, info_part, keys_part, lists_part, per_part, persistence_part,
    strings_part, transactions_part;

#endif
