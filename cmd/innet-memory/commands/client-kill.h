/*
 * client-kill.h - CLIENT KILL
 */
#ifndef INNET_MEMORY_COMMANDS_CLIENT_KILL_H
#define INNET_MEMORY_COMMANDS_CLIENT_KILL_H

#include "cmd/innet-memory/server/client.h"

/* Return the address at which a client connected. */
const char *client_local_address(const struct client *c,
    char name[CLIENT_ADDR_BYTES]);

/* Run CLIENT KILL. */
void run_client_kill(struct client *c, const struct resp_args *a);

#endif
