/*
 * lazy-free.h - free removed keys in small steps
 *
 * Freeing a list or a table with a million blobs takes tens of milliseconds,
 * and all clients would wait.  Removed keys are therefore queued here and freed
 * in steps.  Their memory stays charged to the account until then.
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
	LAZY_FREE_AT_ONCE = 256,	/* things freed when keys are queued */
	LAZY_FREE_BUSY = 512,	/* in a turn while clients wait */
	LAZY_FREE_IDLE = 4096	/* in a turn while no client waits */
};

struct lazy_free {
	struct key *key;	/* list by next; the first is being freed */
	struct lazy_free_row *row;	/* arrays of keys */
	size_t keys;		/* not yet freed, or only in part */
	uint64_t freed;		/* keys so far */
	size_t most;		/* most things freed in one step */
};

/*
 * Queue a key, or an array of n keys and the array itself, and free the first
 * part.  The keys must be in no keyspace any more.
 */
void lazy_free_add_key(struct lazy_free *r, struct account *account,
    struct key *k);
void lazy_free_add_keys(struct lazy_free *r, struct account *account,
    struct key **row, size_t n);

/*
 * Free up to n things (keys, blobs, slots of tables) and return how many; fewer
 * than n only if nothing is left.
 */
size_t lazy_free_step(struct lazy_free *r, struct account *account, size_t n);

/* Free until the account has `bytes` left; false: it has not. */
bool lazy_free_make_room(struct lazy_free *r, struct account *account,
    size_t bytes);

/* Are there keys to free? */
static inline bool
lazy_free_is_pending(const struct lazy_free *r)
{
	return r->keys > 0;
}

#endif
