/* lazy-free.c - free removed keys in small steps */
#include <stdlib.h>

#include "cmd/innet-memory/store/key.h"
#include "cmd/innet-memory/store/lazy-free.h"
#include "cmd/innet-memory/store/table.h"

struct lazy_free_row {
	struct lazy_free_row *next;
	struct key **key;
	size_t n;
};

/*
 * Free up to *n elements of k and subtract their number from *n.  Return true
 * if no element is left.
 */
static bool
free_elements(struct account *bs, struct key *k, size_t *n)
{
	for (; k->list.n > 0 && *n > 0; --*n)
		blob_drop(bs, list_pop(&k->list, true));
	return k->list.n == 0 && (k->table == NULL || table_free_some(k->table,
	    n));
}

/* Free k and the rest of its value, which is small. */
static void
free_key(struct account *bs, struct key *k)
{
	if (k->table != NULL)
		table_close(k->table);
	blob_drop(bs, k->string);
	list_free(&k->list, bs);
	account_uncharge(bs, key_cost(k));
	free(k);
}

/* Return the key whose elements are freed next, or NULL if none is left. */
static struct key *
next_key(struct lazy_free *r)
{
	struct lazy_free_row *row = r->row;

	if (r->key != NULL || row == NULL)
		return r->key;
	r->key = row->key[--row->n];
	r->key->next = NULL;
	if (row->n == 0) {
		r->row = row->next;
		free(row->key);
		free(row);
	}
	return r->key;
}

size_t
lazy_free_step(struct lazy_free *r, struct account *account, size_t n)
{
	size_t left = n;
	struct key *k;

	while (left > 0 && (k = next_key(r)) != NULL &&
	       free_elements(account, k, &left) && left > 0) {
		r->key = k->next;
		free_key(account, k);
		r->keys--;
		r->freed++;
		left--;
	}
	if (n - left > r->most)
		r->most = n - left;
	return n - left;
}

void
lazy_free_add_key(struct lazy_free *r, struct account *account, struct key *k)
{
	k->next = r->key;
	r->key = k;
	r->keys++;
	lazy_free_step(r, account, LAZY_FREE_AT_ONCE);
}

void
lazy_free_add_keys(struct lazy_free *r, struct account *account,
    struct key **row, size_t n)
{
	struct lazy_free_row *one = malloc(sizeof(*one));

	r->keys += n;
	if (one != NULL && n > 0) {
		*one = (struct lazy_free_row){ r->row, row, n };
		r->row = one;
		lazy_free_step(r, account, LAZY_FREE_AT_ONCE);
		return;
	}
	free(one);
	for (size_t i = 0; i < n; i++)
		lazy_free_add_key(r, account, row[i]);
	free(row);
}

bool
lazy_free_make_room(struct lazy_free *r, struct account *account, size_t bytes)
{
	while (!account_has_left(account, bytes)) {
		if (bytes > account->limit || lazy_free_step(r, account,
		    LAZY_FREE_AT_ONCE) == 0)
			return false;
	}
	return true;
}
