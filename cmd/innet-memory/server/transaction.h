/*
 * tx.h - MULTI and WATCH of a client
 */
#ifndef INNET_MEMORY_COMMANDS_TX_H
#define INNET_MEMORY_COMMANDS_TX_H

#include <stdbool.h>
#include <stddef.h>

#include "cmd/innet-memory/server/resp.h"

struct client;
struct verb;

/* Does it queue requests? */
bool tx_queues(const struct client *c);

/* Does EXEC run its requests now? */
bool tx_running(const struct client *c);

/* Queue the request, which is taken, and answer. */
void tx_queue(struct client *c, struct verb *verb, struct resp_args *a);

/* A request was refused that would have been queued: EXEC will not run. */
void tx_spoil(struct client *c);

/* How many requests it has queued; -1: it queues none. */
int tx_count(const struct client *c);

/* Bytes in its buffers, apart from bulks. */
size_t tx_bytes(const struct client *c);

void tx_free(struct client *c);

#endif
