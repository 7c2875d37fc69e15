/*
 * client-io.h - receive requests, run them, send replies
 *
 * A client has turns: in a turn its requests run until it has used its share of
 * time; its other requests wait until all other clients have had a turn.
 */
#ifndef INNET_MEMORY_SERVER_CLIENT_IO_H
#define INNET_MEMORY_SERVER_CLIENT_IO_H

#include "cmd/innet-memory/server/client.h"

/* Receive once from the client's socket and run what came. */
void client_readable(struct client *c);

/* Send the replies that the socket takes. */
void client_writable(struct client *c);

/* Give a client that has more to run another turn, after the others' turns. */
void client_take_turn(struct client *c);

/* Try the request of a parked client again; late: it must be answered. */
void client_retry_parked(struct client *c, bool late);

/* Read len bytes as requests and run them; the rest is kept in the client. */
void client_feed(struct client *c, const uint8_t *p, size_t len);

#endif
