/*
 * lazy-free.h - free removed keys in small steps
 *
 * Freeing a list or a table with a million blobs takes tens of milliseconds,
 * and all clients would have to wait.  Therefore removed keys are queued here
 * and freed in steps.  Their memory stays charged to the account until it is
 * freed.
 */
#ifndef INNET_MEMORY_STORE_LAZY_FREE_H
#define INNET_MEMORY_STORE_LAZY_FREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/innet-memory/store/blob.h"

struct key;
struct lazy_free_row;

enum {
	LAZY_FREE_AT_ONCE = 256, /* number of things to free when a key is
				  * queued */
	LAZY_FREE_BUSY = 512,	/* number of things to free in a pass of the
				 * event loop if clients wait */
	LAZY_FREE_IDLE = 4096 /* number of things to free in a pass of the event
			       * loop if no client waits */
};

struct lazy_free {
	struct key *key; /* list of queued keys; the first is freed next */
	struct lazy_free_row *row;	/* queued arrays of keys */
	size_t keys;		/* number of keys not freed completely */
	uint64_t freed;		/* number of keys freed so far */
	size_t most;		/* largest number of things freed in a step */
};

/*
 * Queue a key that was removed from its keyspace, and free a first part of its
 * value. lazy_free_add_keys() does the same for an array of n keys, and also
 * frees the array.
 */
void lazy_free_add_key(struct lazy_free *r, struct account *account,
    struct key *k);
void lazy_free_add_keys(struct lazy_free *r, struct account *account,
    struct key **row, size_t n);

/*
 * Free up to n things (keys, blobs, slots of tables) and return their number.
 * If the number is less than n, nothing is left to free.
 */
size_t lazy_free_step(struct lazy_free *r, struct account *account, size_t n);

/*
 * Free removed values until the account has `bytes` bytes left; return false if
 * that is impossible.
 */
bool lazy_free_make_room(struct lazy_free *r, struct account *account,
    size_t bytes);

/* Return true if there are keys to free. */
static inline bool
lazy_free_is_pending(const struct lazy_free *r)
{
	return r->keys > 0;
}

#endif
