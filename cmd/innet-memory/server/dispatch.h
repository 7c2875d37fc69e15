/*
 * dispatch.h - check a request, then run it or queue it
 */
#ifndef INNET_MEMORY_SERVER_DISPATCH_H
#define INNET_MEMORY_SERVER_DISPATCH_H

#include "cmd/innet-memory/server/command-table.h"

/*
 * Run the request of client c, queue it within MULTI, or reply with the reason
 * why it must not run.  The bulks stay in `a` unless the request is queued.
 */
void command_run(struct client *c, struct resp_args *a);

/* Run a request without checks; EXEC uses it. */
void command_call(struct client *c, struct command_entry *verb,
    const struct resp_args *a);

#endif
