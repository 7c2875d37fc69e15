/* lazy-free.c - what stood at keys that are gone, to be freed some at a time */
#include <stdlib.h>

#include "cmd/innet-memory/store/keyspace.h"
#include "cmd/innet-memory/store/lazy-free.h"
#include "cmd/innet-memory/store/table.h"

struct remains_row {
	struct remains_row *next;
	struct key **key;
	size_t n;
};

/* Free what stands at k, up to *n things, which are less by those then. */
static bool
shed(struct blobs *bs, struct key *k, size_t *n)
{
	for (; k->list.n > 0 && *n > 0; --*n)
		blob_drop(bs, list_take(&k->list, true));
	return k->list.n == 0 && (k->table == NULL || table_shed(k->table,
	    n));
}

/* The rest of it, which is no longer much. */
static void
end(struct blobs *bs, struct key *k)
{
	if (k->table != NULL)
		table_close(k->table);
	blob_drop(bs, k->string);
	list_free(&k->list, bs);
	blobs_give(bs, keyspace_cost(k));
	free(k);
}

/* The key to go on with; NULL: there is none. */
static struct key *
first(struct remains *r)
{
	struct remains_row *row = r->row;

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
remains_free(struct remains *r, struct blobs *account, size_t n)
{
	size_t left = n;
	struct key *k;

	while (left > 0 && (k = first(r)) != NULL && shed(account, k,
	    &left) && left > 0) {
		r->key = k->next;
		end(account, k);
		r->keys--;
		r->freed++;
		left--;
	}
	if (n - left > r->most)
		r->most = n - left;
	return n - left;
}

void
remains_take(struct remains *r, struct blobs *account, struct key *k)
{
	k->next = r->key;
	r->key = k;
	r->keys++;
	remains_free(r, account, REMAINS_AT_ONCE);
}

void
remains_take_row(struct remains *r, struct blobs *account, struct key **row,
    size_t n)
{
	struct remains_row *one = malloc(sizeof(*one));

	r->keys += n;
	if (one != NULL && n > 0) {
		*one = (struct remains_row){ r->row, row, n };
		r->row = one;
		remains_free(r, account, REMAINS_AT_ONCE);
		return;
	}
	free(one);
	for (size_t i = 0; i < n; i++)
		remains_take(r, account, row[i]);
	free(row);
}

bool
remains_give(struct remains *r, struct blobs *account, size_t bytes)
{
	while (!blobs_left(account, bytes)) {
		if (bytes > account->limit || remains_free(r, account,
		    REMAINS_AT_ONCE) == 0)
			return false;
	}
	return true;
}
