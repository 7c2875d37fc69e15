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

#include "cmd/innet-memory/store/blob.h"
#include "common/base/hashmap.h"

struct remains;
struct table;

enum key_type { KEY_STRING, KEY_LIST, KEY_TABLE };

enum { KEYSPACE_TABLES_MAX = 256 };

/* Blobs in a row, in a ring: both ends and any place cost the same. */
struct list {
	struct blob **ring;
	/* places - 1, a power of two; ring NULL: none */
	size_t mask;
	size_t first, n;
};

struct key {
	uint64_t hash;
	uint64_t version;
	uint64_t expires_ms;	/* wall clock; 0: it stays */
	struct key *next;	/* of the same hash */
	uint32_t place;		/* in keyspace.key */
	enum key_type type;
	struct blob *string;
	struct list list;
	struct table *table;
	uint32_t name_len;
	uint8_t name[];
};

struct keyspace {
	struct blobs *account;
	struct remains *remains;	/* of what was removed */
	struct hashmap map;	/* hash to place of the first */
	struct key **key;
	size_t n, room;
	size_t timed;		/* keys that expire */
	struct key *tabled[KEYSPACE_TABLES_MAX];	/* keys of tables */
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

/* What a key takes in the account, but for what stands there. */
size_t keyspace_cost(const struct key *k);

/* Room for n more; false, with nothing changed: memory is full. */
bool list_reserve(struct list *l, struct blobs *bs, size_t n);

/* Add a blob, for which there is room, at one end or the other. */
void list_add(struct list *l, struct blob *b, bool left);

/* Take one away from an end of a list that has some: its holder is you. */
struct blob *list_take(struct list *l, bool left);

/* Take those of n away that are the same bytes, the first or the last ones. */
size_t list_remove(struct list *l, struct blobs *bs, const uint8_t *p,
    size_t len, size_t n, bool left);

/* Give back the memory of a list without elements. */
void list_free(struct list *l, struct blobs *bs);

static inline struct blob *
list_at(const struct list *l, size_t i)
{
	return l->ring[(l->first + i) & l->mask];
}

#endif
