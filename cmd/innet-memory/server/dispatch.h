/*
 * dispatch.h - check a request, then run it or queue it
 */
#ifndef INNET_MEMORY_SERVER_DISPATCH_H
#define INNET_MEMORY_SERVER_DISPATCH_H

#include "cmd/innet-memory/server/command-table.h"

/*
 * Run the request of client c, or queue it within MULTI, or reply with the
 * reason against it.  The bulks of a stay in it unless it is queued.
 */
void command_run(struct client *c, struct resp_args *a);

/* Run a request without checks, for EXEC. */
void command_call(struct client *c, struct command_entry *verb,
    const struct resp_args *a);

#endif
