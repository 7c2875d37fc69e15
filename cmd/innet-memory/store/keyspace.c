/* keyspace.c - all keys, found by name */
#include <stdlib.h>
#include <string.h>

#include "cmd/innet-memory/store/keyspace.h"
#include "cmd/innet-memory/store/lazy-free.h"
#include "cmd/innet-memory/store/table.h"

/*
 * Multiply by a secret number and use both halves of the product.  If the
 * factor were known, changes in neighbouring words could cancel out for every
 * seed.
 */
static uint64_t
hash_name(const struct keyspace *ks, const uint8_t *p, size_t len)
{
	const uint64_t by = ks->seed | 1;
	uint64_t h = len, w;
	unsigned __int128 all;

	for (bool last = false; !last; p += 8, len -= 8) {
		last = len <= 8;
		w = 0;
		memcpy(&w, p, last ? len : 8);
		all = (unsigned __int128)(h ^ w ^ ks->seed >> 32) * by;
		h = (uint64_t)all ^ (uint64_t)(all >> 64);
	}
	return h;
}

struct key *
keyspace_find(const struct keyspace *ks, const uint8_t *name, size_t len)
{
	const uint32_t *at = hashmap_get(&ks->map, hash_name(ks, name, len));
	struct key *k = at == NULL ? NULL : ks->key[*at];

	while (k != NULL && (k->name_len != len || memcmp(k->name, name,
	    len) != 0))
		k = k->next;
	return k;
}

static bool
reserve_key(struct keyspace *ks)
{
	const size_t room = ks->room == 0 ? 64 : 2 * ks->room;
	struct key **p;

	if (ks->n < ks->room)
		return true;
	p = room > UINT32_MAX ? NULL : realloc(ks->key, room * sizeof(*p));
	if (p == NULL)
		return false;
	ks->key = p;
	ks->room = room;
	return true;
}

struct key *
keyspace_add(struct keyspace *ks, const uint8_t *name, size_t len)
{
	const uint64_t h = hash_name(ks, name, len);
	struct key *k = malloc(sizeof(*k) + len);
	uint32_t *at;

	if (k == NULL)
		return NULL;
	*k = (struct key){ .hash = h, .place = (uint32_t)ks->n,
	    .name_len = (uint32_t)len };
	memcpy(k->name, name, len);
	if (!account_charge(ks->account, key_cost(k))) {
		free(k);
		return NULL;
	}
	at = reserve_key(ks) ? hashmap_put(&ks->map, h, UINT32_MAX) : NULL;
	if (at == NULL) {
		account_uncharge(ks->account, key_cost(k));
		free(k);
		return NULL;
	}
	if (*at != UINT32_MAX)
		k->next = ks->key[*at];
	*at = k->place;
	ks->key[ks->n++] = k;
	return k;
}

const char *
keyspace_add_table(struct keyspace *ks, struct table *t, struct key **k)
{
	const uint8_t *name = (const uint8_t *)t->name;

	if (keyspace_find(ks, name, t->name_len) != NULL)
		return "a key with this name exists";
	if (ks->tables == KEYSPACE_TABLES_MAX)
		return "256 tables exist, which is the limit";
	*k = keyspace_add(ks, name, t->name_len);
	if (*k == NULL)
		return "no memory for another key";
	(*k)->type = KEY_TABLE;
	(*k)->table = t;
	ks->table_keys[ks->tables++] = *k;
	return NULL;
}

/* Return the index of k in table_keys. */
static size_t
table_key_index(const struct keyspace *ks, const struct key *k)
{
	size_t i = 0;

	while (ks->table_keys[i] != k)
		i++;
	return i;
}

/*
 * Make k the first key with this hash.  If k is NULL, no key has this hash any
 * longer.
 */
static void
set_first_key(struct keyspace *ks, const struct key *k, const struct key *first)
{
	if (first == NULL)
		hashmap_remove(&ks->map, k->hash);
	else
		*hashmap_get(&ks->map, k->hash) = first->place;
}

void
keyspace_remove(struct keyspace *ks, struct key *k)
{
	struct key *first = ks->key[*hashmap_get(&ks->map, k->hash)], *p;
	struct key *last = ks->key[ks->n - 1];

	if (first == k) {
		set_first_key(ks, k, k->next);
	} else {
		for (p = first; p->next != k; p = p->next)
			;
		p->next = k->next;
	}
	ks->n--;
	if (last != k) { /* move the last key to the place of the removed key in
			  * the array */
		if (ks->key[*hashmap_get(&ks->map, last->hash)] == last)
			*hashmap_get(&ks->map, last->hash) = k->place;
		last->place = k->place;
		ks->key[k->place] = last;
	}
	if (k->table != NULL)
		ks->table_keys[table_key_index(ks, k)] =
		    ks->table_keys[--ks->tables];
	ks->expiring -= k->expires_ms != 0;
	lazy_free_add_key(ks->lazy_free, ks->account, k);
}

void
keyspace_expire(struct keyspace *ks, struct key *k, uint64_t at_ms)
{
	ks->expiring += at_ms != 0;
	ks->expiring -= k->expires_ms != 0;
	k->expires_ms = at_ms;
}

struct key *
keyspace_rename(struct keyspace *ks, struct key *k, const uint8_t *name,
    size_t len)
{
	struct key *to = keyspace_add(ks, name, len);

	if (to == NULL)
		return NULL;
	to->type = k->type;
	to->string = k->string;
	to->list = k->list;
	keyspace_expire(ks, to, k->expires_ms);
	if (k->table != NULL) {
		to->table = k->table;
		table_rename(to->table, name, len);
		ks->table_keys[table_key_index(ks, k)] = to;
	}
	k->string = NULL;
	k->list = (struct list){ 0 };
	k->table = NULL;
	keyspace_remove(ks, k);
	return to;
}

void
keyspace_clear(struct keyspace *ks)
{
	hashmap_free(&ks->map);
	lazy_free_add_keys(ks->lazy_free, ks->account, ks->key, ks->n);
	ks->key = NULL;
	ks->n = ks->room = ks->tables = ks->expiring = 0;
}
