/*
 * lazy-free.h - what stood at keys that are gone, to be freed some at a time
 *
 * A list or a table of a million blobs takes tens of milliseconds to free, and
 * everybody would wait for that.  So what is removed is only put here, and
 * freed in slices.  Until then it stands in the account.
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
	LAZY_FREE_AT_ONCE = 256,	/* things that are freed as they come */
	LAZY_FREE_BUSY = 512,	/* ... in a turn while somebody waits */
	LAZY_FREE_IDLE = 4096	/* ... while nobody does */
};

struct lazy_free {
	struct key *key;	/* the first is being freed */
	struct lazy_free_row *row;	/* of keys */
	size_t keys;		/* that are here, at least in part */
	uint64_t freed;		/* keys */
	size_t most;		/* things freed in one go */
};

/*
 * Take a key, or a row of n keys and the row itself, and free the first of it.
 * It must be in no keyspace any more.
 */
void lazy_free_add_key(struct lazy_free *r, struct account *account,
    struct key *k);
void lazy_free_add_keys(struct lazy_free *r, struct account *account,
    struct key **row, size_t n);

/*
 * Free up to n things, which are keys, blobs, and slots of tables gone
 * through: how many were.  They are fewer only if nothing is left.
 */
size_t lazy_free_step(struct lazy_free *r, struct account *account, size_t n);

/* Free until the account has room for so many bytes; false: it has not. */
bool lazy_free_make_room(struct lazy_free *r, struct account *account,
    size_t bytes);

static inline bool
lazy_free_is_pending(const struct lazy_free *r)
{
	return r->keys > 0;
}

#endif
