/*
 * transaction.h - the requests that a client queues (MULTI) and its watched
 * keys (WATCH)
 *
 * A transaction is NULL until MULTI or WATCH begins one; the functions that
 * only ask accept NULL.
 */
#ifndef INNET_MEMORY_SERVER_TRANSACTION_H
#define INNET_MEMORY_SERVER_TRANSACTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/innet-memory/server/resp.h"
#include "cmd/innet-memory/store/blob.h"

struct command_entry;

struct queued_request {
	struct command_entry *verb;
	struct resp_args args;
};

struct watched_key {
	struct blob *name;	/* held */
	uint64_t version;	/* when WATCH was called; 0: no such key */
};

struct transaction {
	bool multi;		/* MULTI was called */
	bool spoilt;		/* a request was refused: EXEC will not run */
	bool running;		/* EXEC runs the requests now */
	struct queued_request *queue;
	size_t n, room;		/* requests in queue, and its size */
	size_t text_bytes;	/* memory of queued requests without bulks */
	struct watched_key *watched;
	size_t watches, watches_room;
};

/* Are requests queued? */
bool transaction_is_queueing(const struct transaction *t);

/* Does EXEC run the requests now? */
bool transaction_is_running(const struct transaction *t);

/* Note that a request was refused that would have been queued. */
void transaction_spoil(struct transaction *t);

/* Return the number of queued requests; -1 without MULTI. */
int transaction_length(const struct transaction *t);

/* Return the bytes in its buffers, without bulks. */
size_t transaction_bytes(const struct transaction *t);

/* Queue a request, which is moved out of a; false: no memory. */
bool transaction_queue(struct transaction *t, struct command_entry *verb,
    struct resp_args *a);

/* Watch the key of this name, which t then holds; false: no memory. */
bool transaction_watch(struct transaction *t, struct blob *name,
    uint64_t version);

/* Free *t, which may be NULL, and set it to NULL. */
void transaction_free(struct transaction **t, struct account *bs);

#endif
