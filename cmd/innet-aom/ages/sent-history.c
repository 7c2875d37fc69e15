/* sent-history.c - find the constituents of a delivery among sent updates */
#include "common/base/message.h"

#include "cmd/innet-aom/ages/sent-history.h"

#include <stdlib.h>

struct item {
	uint32_t flow, worker, sequence;
	uint32_t before;	/* index + 1 of the flow's previous item */
	uint64_t generated_ns;
	uint16_t merged;
};

struct history {
	struct item *item;
	uint32_t *order;	/* indices of items in sorted order */
	size_t n, room;
};

struct history *
history_new(void)
{
	struct history *h = calloc(1, sizeof(*h));

	if (h == NULL)
		err(1, "history");
	return h;
}

void
history_add(struct history *h, struct flow *f, uint32_t flow_at,
    const struct update *u, uint64_t t)
{
	if (h->n == UINT32_MAX)
		errx(1, "too many updates were sent; the limit is %u",
		    UINT32_MAX);
	if (h->n == h->room) {
		h->room = h->room * 2 + 1024;
		h->item = realloc(h->item, h->room * sizeof(*h->item));
		if (h->item == NULL)
			err(1, "no memory for %zu updates", h->room);
	}
	h->item[h->n++] = (struct item){ .flow = flow_at,
	    .worker = u->worker, .sequence = u->sequence,
	    .before = f->latest, .merged = u->merged,
	    .generated_ns = u->generated_ns < t ? u->generated_ns : t };
	f->latest = (uint32_t)h->n;
}

static int
compare_u64(uint64_t x, uint64_t y)
{
	return (x > y) - (x < y);
}

static int
compare_workers(const struct item *x, const struct item *y)
{
	int c = compare_u64(x->flow, y->flow);

	return c != 0 ? c : compare_u64(x->worker, y->worker);
}

static int
compare_sequences(const void *a, const void *b, void *items)
{
	const uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	const struct item *x = (struct item *)items + i;
	const struct item *y = (struct item *)items + j;
	int c = compare_workers(x, y);

	if (c == 0)
		c = compare_u64(x->sequence, y->sequence);
	return c != 0 ? c : compare_u64(i, j);
}

void
history_sort(struct history *h)
{
	h->order = malloc((h->n + 1) * sizeof(*h->order));
	if (h->order == NULL)
		err(1, "no memory for %zu updates", h->n);
	for (size_t i = 0; i < h->n; i++)
		h->order[i] = (uint32_t)i;
	qsort_r(h->order, h->n, sizeof(*h->order), compare_sequences, h->item);
}

/*
 * Return the number of items, in sorted order, before the first item for which
 * after(item, key) is true.
 */
static size_t
count_up_to(const struct history *h, const struct item *key,
    bool (*after)(const struct item *, const struct item *key))
{
	size_t lo = 0, hi = h->n;

	while (lo < hi) {
		const size_t mid = lo + (hi - lo) / 2;

		if (after(&h->item[h->order[mid]], key))
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

static bool
is_after_sequence(const struct item *x, const struct item *key)
{
	int c = compare_workers(x, key);

	return c != 0 ? c > 0 : x->sequence > key->sequence;
}

bool
history_oldest(const struct history *h, uint32_t flow_at,
    const struct update *u, uint64_t *made)
{
	const struct item key = { .flow = flow_at, .worker = u->worker,
	    .sequence = u->sequence };
	const size_t n = count_up_to(h, &key, is_after_sequence);
	const struct item *x;
	uint64_t oldest;
	uint32_t inside = 0;

	if (n == 0)
		return false;
	x = &h->item[h->order[n - 1]];
	if (compare_workers(x, &key) != 0 || x->sequence != key.sequence)
		return false;
	for (oldest = x->generated_ns; ; x = &h->item[x->before - 1]) {
		if (x->generated_ns < oldest)
			oldest = x->generated_ns;
		inside += x->merged;
		if (inside >= u->merged || x->before == 0)
			break;
	}
	*made = oldest < u->generated_ns ? oldest : u->generated_ns;
	return inside >= u->merged;
}

void
history_free(struct history *h)
{
	free(h->item);
	free(h->order);
	free(h);
}
