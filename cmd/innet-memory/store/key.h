/*
 * key.h - a key of the keyspace and its value: a string, a list or a table
 */
#ifndef INNET_MEMORY_STORE_KEY_H
#define INNET_MEMORY_STORE_KEY_H

#include <stddef.h>
#include <stdint.h>

#include "cmd/innet-memory/store/list.h"

struct table;

enum key_type { KEY_STRING, KEY_LIST, KEY_TABLE };

struct key {
	uint64_t hash;
	uint64_t version;	/* version of the last change of the key */
	uint64_t expires_ms;	/* expiry time on the wall clock, in ms; 0:
				 * never */
	struct key *next;	/* next key with the same hash */
	uint32_t place;		/* index of this key in keyspace.key */
	enum key_type type;
	/* the value; `type` determines which field is used */
	struct blob *string;
	struct list list;
	struct table *table;
	uint32_t name_len;
	uint8_t name[];
};

/*
 * Limit on the bytes that the map and the array of the keyspace use for each
 * key.
 */
enum { KEY_MAP_BYTES = 48 };

/* Return the number of bytes that k takes in the account, without its value. */
static inline size_t
key_cost(const struct key *k)
{
	return account_cost(sizeof(*k) + k->name_len) + KEY_MAP_BYTES;
}

#endif
