/*
 * kill.h - CLIENT KILL
 */
#ifndef INNET_MEMORY_COMMANDS_CLIENT_KILL_H
#define INNET_MEMORY_COMMANDS_CLIENT_KILL_H

#include "cmd/innet-memory/server/client.h"

/* The address at which a client came in. */
const char *client_local_address(const struct client *c,
    char name[CLIENT_ADDR_BYTES]);

void run_client_kill(struct client *c, const struct resp_args *a);

#endif
