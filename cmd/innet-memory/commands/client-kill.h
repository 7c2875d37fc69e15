/*
 * client-kill.h - CLIENT KILL
 */
#ifndef INNET_MEMORY_COMMANDS_CLIENT_KILL_H
#define INNET_MEMORY_COMMANDS_CLIENT_KILL_H

#include "cmd/innet-memory/server/client.h"

/* Return the local address of the connection of client c. */
const char *client_local_address(const struct client *c,
    char name[CLIENT_ADDR_BYTES]);

/* Run CLIENT KILL. */
void run_client_kill(struct client *c, const struct resp_args *a);

#endif
