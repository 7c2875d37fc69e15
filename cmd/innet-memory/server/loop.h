/*
 * loop.h - open the server, serve its clients, close it
 */
#ifndef INNET_MEMORY_SERVER_LOOP_H
#define INNET_MEMORY_SERVER_LOOP_H

#include "cmd/innet-memory/server/server.h"

/*
 * Serve clients with these parts until a signal, SHUTDOWN or --duration ends
 * the server.  Return the exit status.  If an error occurs at the start, print
 * it and exit.
 */
int server_run(const struct conf *cf, const struct part *const *parts);

/* Open and close a server without sockets, for fuzz targets. */
bool server_open(struct server *srv, const struct conf *cf,
    const struct part *const *parts);
void server_close(struct server *srv);

#endif
