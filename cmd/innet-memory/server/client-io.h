/*
 * client-io.h - receive requests, run them, send replies
 *
 * Clients take turns.  In a turn, requests of the client run until it has used
 * its share of time.  Its remaining requests wait until all other clients have
 * had a turn.
 */
#ifndef INNET_MEMORY_SERVER_CLIENT_IO_H
#define INNET_MEMORY_SERVER_CLIENT_IO_H

#include "cmd/innet-memory/server/client.h"

/* Receive once from the client's socket and run the requests that arrived. */
void client_readable(struct client *c);

/* Send as many bytes of the replies as the socket accepts. */
void client_writable(struct client *c);

/*
 * Run more requests of a client that has requests left.  The caller does this
 * at most once in each pass of the event loop.
 */
void client_take_turn(struct client *c);

/*
 * Try the request of a parked client again.  If `late` is true, its deadline
 * has passed and it must get a reply now.
 */
void client_retry_parked(struct client *c, bool late);

/*
 * Parse len bytes at p as requests and run them.  Bytes that cannot be
 * processed yet are kept in the client.
 */
void client_feed(struct client *c, const uint8_t *p, size_t len);

#endif
