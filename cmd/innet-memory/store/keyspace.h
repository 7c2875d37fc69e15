/*
 * keyspace.h - keys and what stands at them: strings, lists of blobs, tables
 *
 * All of it stands in the server's account.  Each change of a key gives it a
 * version greater than any before, also of keys that were deleted.
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
	struct lazy_free *lazy_free;	/* of what was removed */
	struct hashmap map;	/* hash to place of the first */
	struct key **key;
	size_t n, room;
	size_t expiring;		/* keys that expire */
	struct key *table_keys[KEYSPACE_TABLES_MAX];	/* keys of tables */
	size_t tables;
	uint64_t seed;		/* so that nobody can choose collisions */
};

/* The key of this name, or NULL. */
struct key *keyspace_find(const struct keyspace *ks, const uint8_t *name,
    size_t len);

/* A new key, a string without a blob, where none is; NULL: memory is full. */
struct key *keyspace_add(struct keyspace *ks, const uint8_t *name, size_t len);

/*
 * A key for a table, of the table's name, where nothing is: the table is its
 * own from then on.  NULL, or why not.
 */
const char *keyspace_add_table(struct keyspace *ks, struct table *t,
    struct key **k);

/* What stood there is freed by and by. */
void keyspace_remove(struct keyspace *ks, struct key *k);

/* It expires at that time; 0: never. */
void keyspace_expire(struct keyspace *ks, struct key *k, uint64_t at_ms);

/*
 * What stands at k, with its time, at another name, where nothing is: the new
 * key, and k is gone.  A table's name must be one for tables.  NULL, with
 * nothing changed: memory is full.
 */
struct key *keyspace_rename(struct keyspace *ks, struct key *k,
    const uint8_t *name, size_t len);

/* Remove them all, as keyspace_remove() does. */
void keyspace_clear(struct keyspace *ks);

#endif
