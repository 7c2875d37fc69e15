/*
 * replay-table.h - a table of experiences: kept in a ring, drawn by a selector
 *
 * An item goes into the slot behind the last one's, and whatever is still in
 * that slot, the oldest of all, is evicted: no item outlives the capacity's
 * number of items after it.  Items that are removed or worn out leave holes,
 * which the ring comes to in its turn; only where the selector is lifo is a
 * hole behind the newest item taken back at once, so that a stack is full when
 * it holds its capacity.
 *
 * An id is a slot and how often that had been filled: an id of what is gone
 * finds nothing, until the slot was filled 2^31 times more.
 *
 * Selectors:
 *	per	by priority (per.h); what has priority 0 is never drawn
 *	uniform	each with the same chance 1 / have
 *	fifo	the oldest, the next oldest, and so on, from the oldest again
 *		in each sample and when it has come to the newest
 *	lifo	the same from the newest
 * uniform, fifo and lifo look for the k-th item in a sum tree of ones: holes
 * cost them nothing.  Weights are per.h's for per, else 1; chances for fifo
 * and lifo are 1.
 *
 * per and uniform draw with replacement: an item can come more than once in a
 * sample, and counts as sampled each time.  With a greatest number of times
 * an item leaves the table in the midst of the sample that reaches it,
 * and the draws after that are from those that are left, as if they had been
 * single samples; a sample is short only when nothing is left to be drawn.
 *
 * Items are opaque and the table's own, given back by drop() unless that is
 * NULL; drop() must not touch the table.  What a sample returned is valid until
 * the next add, remove or sample; call retire() when done with it.  Inserted =
 * have + evicted + removed + worn, always.
 */
#ifndef INNET_MEMORY_STORE_REPLAY_TABLE_H
#define INNET_MEMORY_STORE_REPLAY_TABLE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/logexp.h"
#include "common/base/rng.h"
#include "common/replay/priorities.h"
#include "cmd/innet-memory/store/sample-ratio.h"
#include "common/replay/sumtree.h"
#include "cmd/innet-memory/store/replay-table-slots.h"

/* Can slots be drawn?  Tell the selector. */
static inline void
replay_table_shown(struct replay_table *b, const uint32_t *slot, bool yes,
    size_t n)
{
	uint32_t w[REPLAY_TABLE_GROUP];
	size_t m;

	for (size_t i = 0; i < n && i < REPLAY_TABLE_GROUP; i++)
		w[i] = yes;
	for (size_t i = 0; i < n; i += m) {
		m = n - i < REPLAY_TABLE_GROUP ? n - i : REPLAY_TABLE_GROUP;
		sumtree_update(&b->ones, slot + i, w, m);
	}
}

/* Priorities of n slots in which there are items. */
static inline void
replay_table_set(struct replay_table *b, const uint32_t *slot, const float *p,
    size_t n)
{
	for (size_t i = 0; i < n; i++)
		b->highest = p[i] > b->highest ? p[i] : b->highest;
	if (b->conf.pick == REPLAY_TABLE_PER) {
		priorities_set(&b->per, slot, p, n);
		return;
	}
	for (size_t i = 0; i < n; i++)
		b->priority[slot[i]] = p[i];
}

/* Those of n <= REPLAY_TABLE_GROUP new items from a slot on. */
static inline void
replay_table_put(struct replay_table *b, size_t from, const float *p, size_t n)
{
	uint32_t one[REPLAY_TABLE_GROUP];

	if (b->conf.pick == REPLAY_TABLE_PER) {
		priorities_insert(&b->per, from, p, n);
		return;
	}
	for (size_t i = 0; i < n; i++)
		one[i] = 1;
	memcpy(b->priority + from, p, n * sizeof(*p));
	sumtree_insert(&b->ones, from, one, n);
}

/* A new item in a slot; what is still there is evicted. */
static inline void
replay_table_fill(struct replay_table *b, struct replay_table_slot *s,
    void *item)
{
	const uint32_t mask = REPLAY_TABLE_LIVE - 1;

	if (s->generation & REPLAY_TABLE_LIVE) {
		b->evicted++;
		b->have--;
		if (b->drop != NULL)
			b->drop(b->arg, s->item);
	}
	s->item = item;
	s->times = 0;
	s->generation = (s->generation + 1) & mask;
	if (((s->generation - b->newest) & mask) < mask / 2)
		b->newest = s->generation;
	s->generation |= REPLAY_TABLE_LIVE;
	b->inserted++;
	b->have++;
}

/* The item that the i-th insert from now evicts; NULL: none. */
static inline void *
replay_table_next(const struct replay_table *b, size_t i)
{
	const size_t at = (b->head + i) % b->conf.capacity;

	return i < b->conf.capacity && at < b->used &&
	    (b->slot[at].generation & REPLAY_TABLE_LIVE) != 0 ?
	    b->slot[at].item : NULL;
}

/*
 * Insert n items, and give their ids unless id is NULL.  A priority below 0
 * stands for the highest that ever was, or 1 if that is 0; others must be
 * priorities_valid().  Item may be NULL: then none has any.
 */
static inline void
replay_table_add_batch(struct replay_table *b, const float *p,
    void *const *item, size_t n, uint64_t *id)
{
	float q[REPLAY_TABLE_GROUP];
	size_t m;

	for (size_t i = 0; i < n; i += m) {
		m = n - i < REPLAY_TABLE_GROUP ? n - i : REPLAY_TABLE_GROUP;
		if (m > b->conf.capacity - b->head)
			m = b->conf.capacity - b->head;
		for (size_t j = 0; j < m; j++) {
			q[j] = p[i + j] >= 0 ? p[i + j] :
			    b->highest > 0 ? b->highest : 1;
			b->highest = q[j] > b->highest ? q[j] : b->highest;
			replay_table_fill(b, &b->slot[b->head + j],
			    item == NULL ? NULL : item[i + j]);
			if (id != NULL)
				id[i + j] = replay_table_id(b, b->head + j);
		}
		replay_table_put(b, b->head, q, m);
		b->head += m;
		b->low += m;
		b->used = b->head > b->used ? b->head : b->used;
		if (b->head == b->conf.capacity)
			b->head = b->low = 0;
	}
	priorities_continue_rebuild(&b->per);
}

/* Insert one; its id. */
static inline uint64_t
replay_table_add(struct replay_table *b, float p, void *item)
{
	uint64_t id;

	replay_table_add_batch(b, &p, &item, 1, &id);
	return id;
}

/* Items leave n slots. */
static inline void
replay_table_leave(struct replay_table *b, const uint32_t *slot, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		assert(b->slot[slot[i]].generation & REPLAY_TABLE_LIVE);
		b->slot[slot[i]].generation &= ~REPLAY_TABLE_LIVE;
		b->low -= slot[i] < b->head;
	}
	b->have -= n;
	if (b->conf.pick == REPLAY_TABLE_PER)
		priorities_clear(&b->per, slot, n);
	else
		replay_table_shown(b, slot, false, n);
}

/* A stack: go on behind the newest item. */
static inline void
replay_table_rewind(struct replay_table *b)
{
	const size_t last = (b->head > 0 ? b->head : b->conf.capacity) - 1;
	uint64_t rank;
	uint32_t at;

	if (b->conf.pick != REPLAY_TABLE_LIFO || b->have == 0 ||
	    b->slot[last].generation & REPLAY_TABLE_LIVE)
		return;
	rank = (b->low + b->have - 1) % b->have;
	sumtree_find(&b->ones, &rank, 1, &at, NULL);
	b->low = b->low > 0 ? b->low : b->have;
	b->head = at + 1;
	if (b->head == b->conf.capacity)
		b->head = b->low = 0;
}

/* Take an item out; false if it is gone. */
static inline bool
replay_table_remove(struct replay_table *b, uint64_t id)
{
	const struct replay_table_slot *s = replay_table_find(b, id);
	const uint32_t row = replay_table_row(id);

	if (s == NULL)
		return false;
	replay_table_leave(b, &row, 1);
	b->removed++;
	if (b->drop != NULL)
		b->drop(b->arg, s->item);
	replay_table_rewind(b);
	return true;
}

/*
 * Set priorities, each priorities_valid(), in order: of duplicates the last one
 * stays.  How many were of items that are still there.
 */
static inline size_t
replay_table_update(struct replay_table *b, const uint64_t *id, const float *p,
    size_t n)
{
	uint32_t at[REPLAY_TABLE_GROUP];
	float q[REPLAY_TABLE_GROUP];
	size_t k, m, applied = 0;

	for (size_t i = 0; i < n; i += m) {
		m = n - i < REPLAY_TABLE_GROUP ? n - i : REPLAY_TABLE_GROUP;
		k = 0;
		for (size_t j = i; j < i + m; j++) {
			at[k] = replay_table_row(id[j]);
			q[k] = p[j];
			k += replay_table_find(b, id[j]) != NULL;
		}
		replay_table_set(b, at, q, k);
		applied += k;
	}
	b->updated += applied;
	b->stale += n - applied;
	priorities_continue_rebuild(&b->per);
	return applied;
}

/*
 * The sum of what is drawn by, exact: of all leaves, each p^alpha 2^shift made
 * whole, or of a 1 for each item.  Two tables are compared by sum 2^-shift.
 */
static inline uint64_t
replay_table_sum(const struct replay_table *b, int *shift)
{
	const bool per = b->conf.pick == REPLAY_TABLE_PER;

	*shift = per ? b->per.shift : 0;
	return per ? b->per.tree.total : b->ones.total;
}

/* Give back what the last sample wore out. */
static inline void
replay_table_retire(struct replay_table *b)
{
	for (size_t i = 0; i < b->dones && b->drop != NULL; i++)
		b->drop(b->arg, b->done[i]);
	b->dones = 0;
}

/*
 * An item was drawn elsewhere, in a copy of this table: count it here, too, and
 * let it go if it is worn out.
 */
static inline void
replay_table_taken(struct replay_table *b, uint64_t id)
{
	struct replay_table_slot *s = replay_table_find(b, id);
	const uint32_t row = replay_table_row(id);

	b->sampled++;
	if (s == NULL)
		return;
	s->times += s->times < UINT32_MAX;
	if (b->conf.times == 0 || s->times < b->conf.times)
		return;
	replay_table_leave(b, &row, 1);
	b->worn++;
	if (b->drop != NULL)
		b->drop(b->arg, s->item);
	replay_table_rewind(b);
}

/* Room for n draws. */
static inline bool
replay_table_room(struct replay_table *b, size_t n)
{
	if (n <= b->room)
		return true;
	free(b->prob);
	b->prob = calloc(n, sizeof(*b->prob) + sizeof(*b->weight) +
	    sizeof(*b->drawn));
	b->room = b->prob == NULL ? 0 : n;
	b->weight = b->prob == NULL ? NULL : (float *)(b->prob + n);
	b->drawn = b->prob == NULL ? NULL : (uint32_t *)(b->weight + n);
	return b->prob != NULL;
}

/* The slots of the n <= have oldest items, or newest, from there on. */
static inline void
replay_table_in_order(struct replay_table *b, size_t n, bool oldest)
{
	uint64_t rank[REPLAY_TABLE_GROUP];
	size_t m;

	for (size_t i = 0; i < n; i += m) {
		m = n - i < REPLAY_TABLE_GROUP ? n - i : REPLAY_TABLE_GROUP;
		for (size_t j = 0; j < m; j++)
			rank[j] = (b->low + (oldest ? i + j :
			    b->have - 1 - i - j)) % b->have;
		sumtree_find(&b->ones, rank, m, b->drawn + i, NULL);
	}
}

/* Draw n slots, or, in a row, no more than there are items; how many. */
static inline size_t
replay_table_pass(struct replay_table *b, struct rng *rng, size_t n,
    double beta, bool strata)
{
	const bool uniform = b->conf.pick == REPLAY_TABLE_UNIFORM;

	if (b->conf.pick == REPLAY_TABLE_PER)
		return priorities_draw(&b->per, rng, beta, strata, n, b->drawn,
		    b->prob, b->weight) ? n : 0;
	if (b->have == 0)
		return 0;
	if (uniform) {
		sumtree_draw(&b->ones, rng, strata, n, b->drawn, NULL);
	} else {
		n = n < b->have ? n : b->have;
		replay_table_in_order(b, n, b->conf.pick == REPLAY_TABLE_FIFO);
	}
	for (size_t i = 0; i < n; i++) {
		b->prob[i] = uniform ? 1 / (double)b->have : 1;
		b->weight[i] = 1;
	}
	return n;
}

/* What slot at weighs in a draw. */
static inline uint32_t
replay_table_weight(const struct replay_table *b, size_t at)
{
	return sumtree_weight(b->conf.pick == REPLAY_TABLE_PER ?
	    &b->per.tree : &b->ones, at);
}

/*
 * Of n drawn take those not yet worn out, and let go what now is; how many.
 * What wears out weighs no more, so the draws behind it have other chances.
 */
static inline size_t
replay_table_take(struct replay_table *b, size_t n,
    struct replay_table_draw *out)
{
	size_t got = 0, gone = 0;
	int shift;
	uint64_t left = replay_table_sum(b, &shift);

	for (size_t i = 0; i < n; i++) {
		const uint32_t at = b->drawn[i];
		struct replay_table_slot *s = &b->slot[at];

		if (i + REPLAY_TABLE_AHEAD < n)
			__builtin_prefetch(
			    &b->slot[b->drawn[i + REPLAY_TABLE_AHEAD]], 1);
		if (b->conf.times > 0 && s->times == b->conf.times)
			continue;
		s->times += s->times < UINT32_MAX;
		out[got++] = (struct replay_table_draw){
			.id = replay_table_id(b, at), .item = s->item,
			.prob = gone == 0 || b->conf.pick >= REPLAY_TABLE_FIFO ?
			    b->prob[i] : (double)replay_table_weight(b, at) /
			    (double)left,
			.weight = b->weight[i],
		};
		if (b->conf.times > 0 && s->times == b->conf.times) {
			left -= replay_table_weight(b, at);
			b->done[b->dones++] = s->item;
			b->drawn[gone++] = at;	/* behind us */
		}
	}
	b->worn += gone;
	replay_table_leave(b, b->drawn, gone);
	return got;
}

/* The weights of n draws by their chances, the greatest 1. */
static inline void
replay_table_level(struct replay_table_draw *d, size_t n, double beta)
{
	double least = 1;

	for (size_t i = 0; i < n; i++)
		least = d[i].prob < least ? d[i].prob : least;
	for (size_t i = 0; i < n; i++)
		d[i].weight = (float)logexp_pow(least / d[i].prob, beta);
}

/*
 * Draw n items; with strata, of per and uniform, one each from n equal parts.
 * How many were drawn: fewer than n only if no more can be drawn, or, then 0,
 * without memory.
 */
static inline size_t
replay_table_sample(struct replay_table *b, struct rng *rng, size_t n,
    double beta, bool strata, struct replay_table_draw *out)
{
	const uint64_t worn = b->worn;
	size_t got = 0, m;

	replay_table_retire(b);
	if (!replay_table_room(b, n))
		return 0;
	while (got < n &&
	    (m = replay_table_pass(b, rng, n - got, beta, strata)) > 0) {
		got += replay_table_take(b, m, out + got);
	}
	if (b->worn != worn && b->conf.pick == REPLAY_TABLE_PER)
		replay_table_level(out, got, beta);
	replay_table_rewind(b);
	b->sampled += got;
	return got;
}

/*
 * Draw n items and count nothing: of a table in which nothing wears out.  As
 * sample() otherwise.
 */
static inline size_t
replay_table_peek(struct replay_table *b, struct rng *rng, size_t n,
    double beta, bool strata, struct replay_table_draw *out)
{
	assert(b->conf.times == 0);
	if (!replay_table_room(b, n))
		return 0;
	n = replay_table_pass(b, rng, n, beta, strata);
	for (size_t i = 0; i < n; i++)
		out[i] = (struct replay_table_draw){
			.id = replay_table_id(b, b->drawn[i]),
			.item = b->slot[b->drawn[i]].item,
			.prob = b->prob[i], .weight = b->weight[i],
		};
	return n;
}

#endif
