/*
 * keyspace.h - all keys, found by name
 *
 * All memory is charged to the server's account.  Each change of a key gives it
 * a new version.  The new version is greater than all earlier ones, even those
 * of deleted keys.
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
	struct lazy_free *lazy_free;	/* queue that frees removed keys */
	struct hashmap map;	/* maps a hash to the index of the first key
				 * with this hash */
	struct key **key;
	size_t n, room;
	size_t expiring;		/* number of keys that will expire */
	/* keys that have a table */
	struct key *table_keys[KEYSPACE_TABLES_MAX];
	size_t tables;
	/*
	 * random seed of the hashes, so that no client can choose names with
	 * equal hashes
	 */
	uint64_t seed;
};

/* Return the key with this name, or NULL. */
struct key *keyspace_find(const struct keyspace *ks, const uint8_t *name,
    size_t len);

/*
 * Add a key whose name does not exist yet.  Its type is string, without a blob.
 * Return NULL if there is no memory.
 */
struct key *keyspace_add(struct keyspace *ks, const uint8_t *name, size_t len);

/*
 * Add a key for table t under the table's name, and store the key in *k.
 * Return NULL if the key now owns t, or the reason if the key could not be
 * added.
 */
const char *keyspace_add_table(struct keyspace *ks, struct table *t,
    struct key **k);

/* Remove k; its value is freed later (see lazy-free.h). */
void keyspace_remove(struct keyspace *ks, struct key *k);

/* Set the time at which k expires, in ms of the wall clock, or 0 for never. */
void keyspace_expire(struct keyspace *ks, struct key *k, uint64_t at_ms);

/*
 * Move the value and the expiry of k to a new key, and return that key.  This
 * removes k.  The new name must not exist, and it must be valid for a table if
 * k has a table.  If there is no memory, return NULL and change nothing.
 */
struct key *keyspace_rename(struct keyspace *ks, struct key *k,
    const uint8_t *name, size_t len);

/* Remove all keys like keyspace_remove(). */
void keyspace_clear(struct keyspace *ks);

#endif
