/*
 * keyspace.h - all keys, found by name
 *
 * All memory is charged to the server's account.  Each change of a key gives it
 * a version that is greater than every version before, also those of keys that
 * were deleted.
 */
#ifndef INNET_MEMORY_STORE_KEYSPACE_H
#define INNET_MEMORY_STORE_KEYSPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/hashmap.h"

#include "cmd/innet-memory/store/key.h"

struct lazy_free;

enum { KEYSPACE_TABLES_MAX = 256 };

struct keyspace {
	struct account *account;
	struct lazy_free *lazy_free;	/* takes removed keys */
	struct hashmap map;	/* hash to the place of its first key */
	struct key **key;
	size_t n, room;
	size_t expiring;		/* keys that have an expiry */
	struct key *table_keys[KEYSPACE_TABLES_MAX];	/* keys of tables */
	size_t tables;
	uint64_t seed;		/* random: names cannot be made to collide */
};

/* Return the key of this name, or NULL. */
struct key *keyspace_find(const struct keyspace *ks, const uint8_t *name,
    size_t len);

/*
 * Add a key of a name that does not exist, as a string without a blob; NULL: no
 * memory.
 */
struct key *keyspace_add(struct keyspace *ks, const uint8_t *name, size_t len);

/*
 * Add a key for table t under the table's name, and store it in *k.  Return
 * NULL, and the key owns t, or the reason against it.
 */
const char *keyspace_add_table(struct keyspace *ks, struct table *t,
    struct key **k);

/* Remove k; its value is freed later (lazy-free.h). */
void keyspace_remove(struct keyspace *ks, struct key *k);

/* Set the time at which k expires; 0: never. */
void keyspace_expire(struct keyspace *ks, struct key *k, uint64_t at_ms);

/*
 * Move the value and the expiry of k to a new key, whose name must not exist,
 * and return that key; k is removed.  For a table the name must be valid.
 * NULL, with nothing changed: no memory.
 */
struct key *keyspace_rename(struct keyspace *ks, struct key *k,
    const uint8_t *name, size_t len);

/* Remove all keys as keyspace_remove() does. */
void keyspace_clear(struct keyspace *ks);

#endif
