/*
 * transaction.h - requests that a client queues (MULTI) and its watched keys
 * (WATCH)
 *
 * A transaction is NULL until MULTI or WATCH begins one.  The functions that
 * take a const pointer accept NULL.
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
	struct blob *name;	/* name, held by the transaction */
	uint64_t version;	/* version of the key at the time of WATCH; 0:
				 * the key did not exist */
};

struct transaction {
	bool multi;		/* MULTI was called */
	bool spoilt;		/* a request was refused, so EXEC will fail */
	bool running;		/* EXEC is running the requests */
	struct queued_request *queue;
	size_t n, room;	/* number of requests; number that fit into the array */
	size_t text_bytes;	/* memory of queued requests, without bulks */
	struct watched_key *watched;
	size_t watches, watches_room;
};

/* Return true if further requests will be queued. */
bool transaction_is_queueing(const struct transaction *t);

/* Return true if EXEC is running the requests now. */
bool transaction_is_running(const struct transaction *t);

/* Record that a request was refused instead of queued.  EXEC will then fail. */
void transaction_spoil(struct transaction *t);

/* Return the number of queued requests, or -1 if MULTI was not called. */
int transaction_length(const struct transaction *t);

/* Return the size of the transaction's buffers in bytes, without bulks. */
size_t transaction_bytes(const struct transaction *t);

/* Move a request from `a` to the queue.  Return false if there is no memory. */
bool transaction_queue(struct transaction *t, struct command_entry *verb,
    struct resp_args *a);

/*
 * Watch the key with this name.  The transaction takes over the caller's hold
 * of `name`.  Return false if there is no memory.
 */
bool transaction_watch(struct transaction *t, struct blob *name,
    uint64_t version);

/* Free *t and set it to NULL. *t may be NULL already. */
void transaction_free(struct transaction **t, struct account *bs);

#endif
