/* keyspace.c - keys and what stands at them */
#include <stdlib.h>
#include <string.h>

#include "cmd/innet-memory/store/keyspace.h"
#include "cmd/innet-memory/store/lazy-free.h"
#include "cmd/innet-memory/store/table.h"

enum { MAP_BYTES = 48 };	/* of a key in the map and the array, or more */

/*
 * Times a number that nobody knows, both halves: a factor that is known would
 * let pairs of bits in neighbouring words cancel whatever the seed.
 */
static uint64_t
hash(const struct keyspace *ks, const uint8_t *p, size_t len)
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
	const uint32_t *at = hashmap_get(&ks->map, hash(ks, name, len));
	struct key *k = at == NULL ? NULL : ks->key[*at];

	while (k != NULL && (k->name_len != len || memcmp(k->name, name,
	    len) != 0))
		k = k->next;
	return k;
}

size_t
keyspace_cost(const struct key *k)
{
	return blobs_cost(sizeof(*k) + k->name_len) + MAP_BYTES;
}

static bool
grow(struct keyspace *ks)
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
	const uint64_t h = hash(ks, name, len);
	struct key *k = malloc(sizeof(*k) + len);
	uint32_t *at;

	if (k == NULL)
		return NULL;
	*k = (struct key){ .hash = h, .place = (uint32_t)ks->n,
	    .name_len = (uint32_t)len };
	memcpy(k->name, name, len);
	if (!blobs_charge(ks->account, keyspace_cost(k))) {
		free(k);
		return NULL;
	}
	at = grow(ks) ? hashmap_put(&ks->map, h, UINT32_MAX) : NULL;
	if (at == NULL) {
		blobs_give(ks->account, keyspace_cost(k));
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
		return "there is a key of this name";
	if (ks->tables == KEYSPACE_TABLES_MAX)
		return "there are 256 tables, and that is all there may be";
	*k = keyspace_add(ks, name, t->name_len);
	if (*k == NULL)
		return "no memory for another key";
	(*k)->type = KEY_TABLE;
	(*k)->table = t;
	ks->tabled[ks->tables++] = *k;
	return NULL;
}

/* Where it stands among the keys of tables. */
static size_t
tabled_at(const struct keyspace *ks, const struct key *k)
{
	size_t i = 0;

	while (ks->tabled[i] != k)
		i++;
	return i;
}

/* The keys of k's hash are now those from first on. */
static void
rehash(struct keyspace *ks, const struct key *k, const struct key *first)
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
		rehash(ks, k, k->next);
	} else {
		for (p = first; p->next != k; p = p->next)
			;
		p->next = k->next;
	}
	ks->n--;
	if (last != k) {	/* the last takes its place */
		if (ks->key[*hashmap_get(&ks->map, last->hash)] == last)
			*hashmap_get(&ks->map, last->hash) = k->place;
		last->place = k->place;
		ks->key[k->place] = last;
	}
	if (k->table != NULL)
		ks->tabled[tabled_at(ks, k)] = ks->tabled[--ks->tables];
	ks->timed -= k->expires_ms != 0;
	remains_take(ks->remains, ks->account, k);
}

void
keyspace_expire(struct keyspace *ks, struct key *k, uint64_t at_ms)
{
	ks->timed += at_ms != 0;
	ks->timed -= k->expires_ms != 0;
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
		ks->tabled[tabled_at(ks, k)] = to;
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
	remains_take_row(ks->remains, ks->account, ks->key, ks->n);
	ks->key = NULL;
	ks->n = ks->room = ks->tables = ks->timed = 0;
}

bool
list_reserve(struct list *l, struct blobs *bs, size_t n)
{
	const size_t had = l->ring == NULL ? 0 : l->mask + 1;
	size_t room = had == 0 ? 8 : had;
	struct blob **ring;

	while (room - l->n < n)
		room *= 2;
	if (room == had)
		return true;
	if (!blobs_charge(bs, blobs_cost(room * sizeof(*ring))))
		return false;
	ring = malloc(room * sizeof(*ring));
	if (ring == NULL) {
		blobs_give(bs, blobs_cost(room * sizeof(*ring)));
		return false;
	}
	for (size_t i = 0; i < l->n; i++)
		ring[i] = list_at(l, i);
	if (had > 0)
		blobs_give(bs, blobs_cost(had * sizeof(*ring)));
	free(l->ring);
	l->ring = ring;
	l->mask = room - 1;
	l->first = 0;
	return true;
}

void
list_add(struct list *l, struct blob *b, bool left)
{
	if (left)
		l->first = (l->first - 1) & l->mask;
	l->ring[left ? l->first : (l->first + l->n) & l->mask] = b;
	l->n++;
}

struct blob *
list_take(struct list *l, bool left)
{
	struct blob *b = list_at(l, left ? 0 : l->n - 1);

	if (left)
		l->first = (l->first + 1) & l->mask;
	l->n--;
	return b;
}

void
list_free(struct list *l, struct blobs *bs)
{
	if (l->ring != NULL)
		blobs_give(bs, blobs_cost((l->mask + 1) * sizeof(*l->ring)));
	free(l->ring);
	*l = (struct list){ 0 };
}

size_t
list_remove(struct list *l, struct blobs *bs, const uint8_t *p, size_t len,
    size_t n, bool left)
{
	size_t gone = 0, to;

	/* those that stay move to the end from which it is gone through */
	for (size_t k = 0; k < l->n; k++) {
		const size_t i = left ? k : l->n - 1 - k;
		struct blob *b = list_at(l, i);

		if (gone < n && b->len == len && memcmp(b->bytes, p, len) ==
		    0) {
			blob_drop(bs, b);
			gone++;
			continue;
		}
		to = left ? i - gone : i + gone;
		l->ring[(l->first + to) & l->mask] = b;
	}
	if (!left)
		l->first = (l->first + gone) & l->mask;
	l->n -= gone;
	return gone;
}
