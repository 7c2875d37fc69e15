/* list.c - a list of blobs in a ring buffer */
#include <stdlib.h>
#include <string.h>

#include "cmd/innet-memory/store/list.h"

bool
list_reserve(struct list *l, struct account *bs, size_t n)
{
	const size_t had = l->ring == NULL ? 0 : l->mask + 1;
	size_t room = had == 0 ? 8 : had;
	struct blob **ring;

	while (room - l->n < n)
		room *= 2;
	if (room == had)
		return true;
	if (!account_charge(bs, account_cost(room * sizeof(*ring))))
		return false;
	ring = malloc(room * sizeof(*ring));
	if (ring == NULL) {
		account_uncharge(bs, account_cost(room * sizeof(*ring)));
		return false;
	}
	for (size_t i = 0; i < l->n; i++)
		ring[i] = list_get(l, i);
	if (had > 0)
		account_uncharge(bs, account_cost(had * sizeof(*ring)));
	free(l->ring);
	l->ring = ring;
	l->mask = room - 1;
	l->first = 0;
	return true;
}

void
list_push(struct list *l, struct blob *b, bool left)
{
	if (left)
		l->first = (l->first - 1) & l->mask;
	l->ring[left ? l->first : (l->first + l->n) & l->mask] = b;
	l->n++;
}

struct blob *
list_pop(struct list *l, bool left)
{
	struct blob *b = list_get(l, left ? 0 : l->n - 1);

	if (left)
		l->first = (l->first + 1) & l->mask;
	l->n--;
	return b;
}

void
list_free(struct list *l, struct account *bs)
{
	if (l->ring != NULL)
		account_uncharge(bs, account_cost((l->mask + 1) *
		    sizeof(*l->ring)));
	free(l->ring);
	*l = (struct list){ 0 };
}

size_t
list_remove(struct list *l, struct account *bs, const uint8_t *p, size_t len,
    size_t n, bool left)
{
	size_t gone = 0, to;

	/*
	 * move the remaining elements towards the end at which the search
	 * started
	 */
	for (size_t k = 0; k < l->n; k++) {
		const size_t i = left ? k : l->n - 1 - k;
		struct blob *b = list_get(l, i);

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
