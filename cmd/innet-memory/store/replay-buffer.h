/*
 * replay-buffer.h - a replay buffer: a ring of items and a selector that draws
 *
 * A new item is stored in the slot after the last one.  If that slot still
 * holds an item, that item is the oldest one and is evicted.  Therefore an item
 * stays at most until `capacity` more items were inserted.  An item that was
 * sampled settings.times times is used up ("worn") and leaves the buffer.
 * Items that are removed or used up leave holes.  The ring fills a hole when it
 * reaches the hole.  Only the lifo selector immediately moves back to a hole
 * after the newest item, so that a stack is full when it holds `capacity`
 * items.
 *
 * An id consists of a slot and the number of times that this slot was filled.
 * The id of an item that left the buffer therefore matches no other item, until
 * the slot was filled 2^31 more times.
 *
 * Selectors:
 *	per	by priority (priority-sampling.h); priority 0 is never drawn
 *	uniform	each item with the same probability 1 / have
 *	fifo	the oldest item, then the next oldest, and so on; each sample
 *		begins at the oldest item, and continues there after the newest
 *	lifo	the same in the opposite order, from the newest item
 * The selectors uniform, fifo and lifo find the k-th item with a sum tree of
 * ones, so holes cost no time.  The weights for per are those of
 * priority-sampling.h; the weights for other selectors are 1.  The
 * probabilities for fifo and lifo are 1.
 *
 * The selectors per and uniform draw with replacement: an item can be drawn
 * more than once in a sample, and each draw counts.  If settings.times limits
 * the number of samples of an item, the item leaves the buffer within the
 * sample that reaches the limit.  Later draws of that sample use only the
 * remaining items, as if each draw were a sample of its own.  A sample is short
 * only if no item is left to draw.
 *
 * The buffer owns its items, which are opaque, and frees them with drop()
 * unless it is NULL.  drop() must not use the buffer.  The items that a sample
 * returns are valid until the next add, remove or sample.  The following is
 * always true: inserted = have + evicted + removed + worn.  Only one thread may
 * use a buffer.
 */
#ifndef INNET_MEMORY_STORE_REPLAY_BUFFER_H
#define INNET_MEMORY_STORE_REPLAY_BUFFER_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/logexp.h"
#include "common/base/pages.h"
#include "common/base/rng.h"
#include "common/replay/priority-sampling.h"
#include "common/replay/sumtree.h"

#include "cmd/innet-memory/store/sample-ratio.h"

enum replay_buffer_selector { REPLAY_BUFFER_PER, REPLAY_BUFFER_UNIFORM,
	REPLAY_BUFFER_FIFO, REPLAY_BUFFER_LIFO };

enum {
	/* number of items that are updated in the tree together */
	REPLAY_BUFFER_GROUP = 256,
	/*
	 * number of slots to prefetch ahead; a draw takes 10 ns (23 ns without
	 * prefetching)
	 */
	REPLAY_BUFFER_AHEAD = 16,
	REPLAY_BUFFER_BLOCK = 64 /* number of slots for each bit of `touched` */
};

/* This bit of a slot's generation is set if the slot holds an item. */
#define REPLAY_BUFFER_LIVE (1u << 31)

struct replay_buffer_settings {
	size_t capacity;	/* number of slots, 1 to UINT32_MAX */
	double alpha;		/* exponent of priorities, for selector per */
	enum replay_buffer_selector selector;
	uint32_t times;		/* limit on samples of an item; 0: no limit */
	struct sample_ratio limit;	/* the caller must check these limits */
};

struct replay_buffer_slot {
	void *item;
	/*
	 * Number of times the slot was filled since the buffer was opened.  If
	 * the bit REPLAY_BUFFER_LIVE is not set, the slot is a hole.  See
	 * hole[] below.
	 */
	uint32_t generation;
	uint32_t times;		/* number of times that the item was sampled */
};

struct replay_buffer_draw {
	uint64_t id;
	double prob;		/* probability of this draw */
	float weight;		/* importance sampling weight, at most 1 */
	void *item;
};

struct replay_buffer {
	/* Counters since the buffer was opened. */
	uint64_t inserted, sampled;
	uint64_t updated;	/* number of priorities set by updates */
	uint64_t stale;	/* number of updates whose item no longer existed */
	uint64_t evicted, removed;
	uint64_t worn;	/* number of items that left after settings.times
			 * samples */
	size_t have;		/* number of items in the buffer */
	float highest;		/* highest priority so far, or 0 */
	struct replay_buffer_settings settings;	/* the field `limit` can change
						 * later */

	struct replay_buffer_slot *slot;
	/*
	 * In an id, the generation of a slot is the sum of `generation` in the
	 * slot and of hole[0] (if the slot is below `split`) or hole[1]
	 * (otherwise).  Therefore a restored buffer need not write to the slots
	 * without an item, which can be billions.
	 */
	uint32_t hole[2];
	size_t split;
	/* a bit for each block of slots that has ever had an item */
	uint64_t *touched;
	float *priority;	/* priorities, indexed by slot; with the
				 * selector per, this is per.priority */
	struct priorities per;	/* priorities and their sums, used by the
				 * selector per */
	struct sumtree ones;	/* sum tree with a 1 for each item, used by
				 * other selectors */
	size_t head;		/* next slot to fill */
	size_t low;	/* number of items below `head`, the newest */
	size_t used;		/* slots from this index on have never held an
				 * item */
	uint32_t newest;	/* highest generation among all slots */

	void **done;		/* items that the last sample used up */
	size_t dones;
	/*
	 * prob, weight and drawn are in one block of memory, which is used for
	 * each sample.
	 */
	size_t room;		/* number of draws that fit in the block */
	double *prob;
	float *weight;
	uint32_t *drawn;	/* numbers of the drawn slots */

	void (*drop)(void *arg, void *item);
	void *arg;
};

/*
 * Open an empty buffer; return false if there is no memory.  The caller must
 * close the buffer.
 */
static inline bool replay_buffer_open(struct replay_buffer *b,
    const struct replay_buffer_settings *settings,
    void (*drop)(void *arg, void *item), void *arg);

/* Drop all items and free the memory. */
static inline void replay_buffer_close(struct replay_buffer *b);

/*
 * Drop items like replay_buffer_close(), but visit at most n slots.  Return the
 * number of visited slots, which is below n only if no item is left.  After
 * this call, only replay_buffer_free_some() and replay_buffer_close() are
 * allowed.
 */
static inline size_t replay_buffer_free_some(struct replay_buffer *b, size_t n);

/* Insert an item with priority p, and return its id. */
static inline uint64_t replay_buffer_add(struct replay_buffer *b, float p,
    void *item);

/*
 * Insert n items, and store their ids in id[] unless `id` is NULL.  A priority
 * below 0 stands for the highest priority so far, or for 1 if this is 0.  All
 * other priorities must be priorities_valid().  If `item` is NULL, all n items
 * are NULL.
 */
static inline void replay_buffer_add_batch(struct replay_buffer *b,
    const float *p, void *const *item, size_t n, uint64_t *id);

/* Return the item that the i-th insert from now will evict, or NULL. */
static inline void *replay_buffer_next_evicted(const struct replay_buffer *b,
    size_t i);

/* Remove the item with this id; return false if it no longer exists. */
static inline bool replay_buffer_remove(struct replay_buffer *b, uint64_t id);

/*
 * Set the priorities of n ids, in order.  If an id occurs more than once, its
 * last priority counts.  Each priority must be priorities_valid().  Return the
 * number of ids that still existed.
 */
static inline size_t replay_buffer_update_priorities(struct replay_buffer *b,
    const uint64_t *id, const float *p, size_t n);

/*
 * Draw n items into out[].  If `strata` is true, which only per and uniform
 * support, draw one item from each of n equal parts.  Return the number of
 * draws, which is below n only if nothing more can be drawn.  Also return 0 if
 * there is no memory.
 */
static inline size_t replay_buffer_sample(struct replay_buffer *b,
    struct rng *rng, size_t n, double beta, bool strata,
    struct replay_buffer_draw *out);

/*
 * Draw like replay_buffer_sample(), but without counting the draws;
 * settings.times must be 0.
 */
static inline size_t replay_buffer_sample_uncounted(struct replay_buffer *b,
    struct rng *rng, size_t n, double beta, bool strata,
    struct replay_buffer_draw *out);

/* Drop the items that the last sample used up. */
static inline void replay_buffer_drop_worn(struct replay_buffer *b);

/*
 * Count a draw that was made in another copy of this buffer.  If this draw uses
 * up the item, remove the item.
 */
static inline void replay_buffer_count_drawn(struct replay_buffer *b,
    uint64_t id);

/*
 * Return the exact sum on which draws are based.  For per, this is the sum of
 * all leaves; each leaf is p^alpha 2^shift as an integer.  For other selectors,
 * it is the number of items.  To compare two buffers, multiply their sums by
 * 2^-shift.
 */
static inline uint64_t replay_buffer_draw_sum(const struct replay_buffer *b,
    int *shift);

/*
 * Return the slot of an id.  Callers may use it as an index into their own
 * arrays.
 */
static inline uint32_t replay_buffer_id_slot(uint64_t id);

/* Return the id of the item in this slot. */
static inline uint64_t replay_buffer_slot_id(const struct replay_buffer *b,
    size_t slot);

/*
 * Return the first slot that holds an item and is not below `slot`, or b->used.
 */
static inline size_t replay_buffer_next_live(const struct replay_buffer *b,
    size_t slot);

/* Return the offset that is added to a slot's generation in an id. */
static inline uint32_t replay_buffer_hole(const struct replay_buffer *b,
    size_t slot);

/* Record that a slot has an item. */
static inline void replay_buffer_touch(struct replay_buffer *b, size_t slot);

/*
 * Return the slot that holds the item with this id, or NULL if the item has
 * left the buffer.
 */
static inline struct replay_buffer_slot *replay_buffer_find_slot(
    const struct replay_buffer *b, uint64_t id);

/* Return the item with this id, or NULL if it has left the buffer. */
static inline void *replay_buffer_get_item(const struct replay_buffer *b,
    uint64_t id);

/* Set the priorities of n slots that hold items (for replay-dump.h). */
static inline void replay_buffer_set_priorities(struct replay_buffer *b,
    const uint32_t *slot, const float *p, size_t n);

/*
 * Set whether n slots can be drawn (for replay-dump.h).  Do not use this with
 * the selector `per`.
 */
static inline void replay_buffer_set_drawable(struct replay_buffer *b,
    const uint32_t *slot, bool yes, size_t n);

/* implementation */

/* Return the number of words in `touched` for n slots. */
static inline size_t
replay_buffer_touched_words(size_t n)
{
	const size_t slots = REPLAY_BUFFER_BLOCK * 64;

	return (n + slots - 1) / slots;
}

/* Return the bits of `touched`, beginning with the bit of this slot's block. */
static inline uint64_t
replay_buffer_touched_from(const struct replay_buffer *b, size_t slot)
{
	const size_t block = slot / REPLAY_BUFFER_BLOCK;

	return b->touched[block / 64] >> block % 64;
}

static inline void
replay_buffer_touch(struct replay_buffer *b, size_t slot)
{
	const size_t block = slot / REPLAY_BUFFER_BLOCK;

	b->touched[block / 64] |= (uint64_t)1 << block % 64;
}

static inline size_t
replay_buffer_next_live(const struct replay_buffer *b, size_t slot)
{
	const size_t word = REPLAY_BUFFER_BLOCK * 64;

	while (slot < b->used) {
		const uint64_t bits = replay_buffer_touched_from(b, slot);

		if (bits == 0)
			slot = (slot / word + 1) * word;
		else if ((bits & 1) == 0)
			slot = (slot / REPLAY_BUFFER_BLOCK +
			    (size_t)__builtin_ctzll(bits)) *
			    REPLAY_BUFFER_BLOCK;
		else if (b->slot[slot].generation & REPLAY_BUFFER_LIVE)
			return slot;
		else
			slot++;
	}
	return b->used;
}

static inline size_t
replay_buffer_free_some(struct replay_buffer *b, size_t n)
{
	size_t i = 0;

	for (; b->dones > 0 && i < n; i++) {
		b->dones--;
		if (b->drop != NULL)
			b->drop(b->arg, b->done[b->dones]);
	}
	for (; b->used > 0 && i < n; i++) {
		const size_t word = (b->used - 1) / (REPLAY_BUFFER_BLOCK * 64);

		if (b->touched[word] == 0) {
			b->used = word * REPLAY_BUFFER_BLOCK * 64;
			continue;
		}
		b->used--;
		if ((replay_buffer_touched_from(b, b->used) & 1) == 0)
			b->used -= b->used % REPLAY_BUFFER_BLOCK;
		else if (b->drop != NULL &&
		    (b->slot[b->used].generation & REPLAY_BUFFER_LIVE) != 0)
			b->drop(b->arg, b->slot[b->used].item);
	}
	return i;
}

static inline void
replay_buffer_close(struct replay_buffer *b)
{
	replay_buffer_free_some(b, SIZE_MAX);
	if (b->settings.selector == REPLAY_BUFFER_PER) {
		priorities_close(&b->per);
	} else {
		sumtree_close(&b->ones);
		free(b->priority);
	}
	free(b->slot);
	free(b->touched);
	free(b->done);
	free(b->prob);
	*b = (struct replay_buffer){ 0 };
}

static inline bool
replay_buffer_open(struct replay_buffer *b,
    const struct replay_buffer_settings *settings,
    void (*drop)(void *arg, void *item), void *arg)
{
	const size_t n = settings->capacity;
	bool fits;

	assert(n >= 1 && n <= UINT32_MAX);
	assert(sample_ratio_check(&settings->limit) == NULL);
	*b = (struct replay_buffer){
	    .settings = *settings, .drop = drop, .arg = arg};
	b->slot = pages_new(n * sizeof(*b->slot));
	b->touched = calloc(replay_buffer_touched_words(n),
	    sizeof(*b->touched));
	if (settings->times > 0)
		b->done = malloc(n * sizeof(*b->done));
	if (settings->selector == REPLAY_BUFFER_PER) {
		fits = priorities_open(&b->per, n, settings->alpha);
		b->priority = b->per.priority;
	} else {
		fits = sumtree_open(&b->ones, n);
		b->priority = pages_new(n * sizeof(*b->priority));
	}
	fits = fits && b->slot != NULL && b->touched != NULL &&
	    b->priority != NULL && (b->done != NULL || settings->times == 0);
	if (!fits)
		replay_buffer_close(b);
	return fits;
}

static inline uint32_t
replay_buffer_id_slot(uint64_t id)
{
	return (uint32_t)id;
}

static inline uint32_t
replay_buffer_hole(const struct replay_buffer *b, size_t slot)
{
	return b->hole[slot >= b->split];
}

static inline uint64_t
replay_buffer_slot_id(const struct replay_buffer *b, size_t slot)
{
	const uint32_t generation = b->slot[slot].generation +
	    replay_buffer_hole(b, slot);

	return (uint64_t)(generation & ~REPLAY_BUFFER_LIVE) << 32 | slot;
}

static inline struct replay_buffer_slot *
replay_buffer_find_slot(const struct replay_buffer *b, uint64_t id)
{
	const uint32_t row = replay_buffer_id_slot(id);

	if (row >= b->settings.capacity || id >> 63 != 0 ||
	    (b->slot[row].generation & REPLAY_BUFFER_LIVE) == 0 ||
	    replay_buffer_slot_id(b, row) != id)
		return NULL;
	return &b->slot[row];
}

static inline void *
replay_buffer_get_item(const struct replay_buffer *b, uint64_t id)
{
	const struct replay_buffer_slot *s = replay_buffer_find_slot(b, id);

	return s == NULL ? NULL : s->item;
}

static inline void
replay_buffer_set_drawable(struct replay_buffer *b, const uint32_t *slot,
    bool yes, size_t n)
{
	uint32_t w[REPLAY_BUFFER_GROUP];
	size_t m;

	for (size_t i = 0; i < n && i < REPLAY_BUFFER_GROUP; i++)
		w[i] = yes;
	for (size_t i = 0; i < n; i += m) {
		m = n - i < REPLAY_BUFFER_GROUP ? n - i : REPLAY_BUFFER_GROUP;
		sumtree_update(&b->ones, slot + i, w, m);
	}
}

static inline void
replay_buffer_set_priorities(struct replay_buffer *b, const uint32_t *slot,
    const float *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		b->highest = p[i] > b->highest ? p[i] : b->highest;
	if (b->settings.selector == REPLAY_BUFFER_PER) {
		priorities_set(&b->per, slot, p, n);
		return;
	}
	for (size_t i = 0; i < n; i++)
		b->priority[slot[i]] = p[i];
}

/*
 * Set the priorities of n <= REPLAY_BUFFER_GROUP new items in the slots that
 * begin at `from`.
 */
static inline void
replay_buffer_insert_priorities(struct replay_buffer *b, size_t from,
    const float *p, size_t n)
{
	uint32_t one[REPLAY_BUFFER_GROUP];

	if (b->settings.selector == REPLAY_BUFFER_PER) {
		priorities_insert(&b->per, from, p, n);
		return;
	}
	for (size_t i = 0; i < n; i++)
		one[i] = 1;
	memcpy(b->priority + from, p, n * sizeof(*p));
	sumtree_insert(&b->ones, from, one, n);
}

/* Put a new item into slot `at`.  If the slot still holds an item, evict it. */
static inline void
replay_buffer_fill_slot(struct replay_buffer *b, size_t at, void *item)
{
	const uint32_t mask = REPLAY_BUFFER_LIVE - 1;
	struct replay_buffer_slot *s = &b->slot[at];
	uint32_t generation;

	if (s->generation & REPLAY_BUFFER_LIVE) {
		b->evicted++;
		b->have--;
		if (b->drop != NULL)
			b->drop(b->arg, s->item);
	}
	s->item = item;
	s->times = 0;
	s->generation = ((s->generation + 1) & mask) | REPLAY_BUFFER_LIVE;
	generation = (s->generation + replay_buffer_hole(b, at)) & mask;
	if (((generation - b->newest) & mask) < mask / 2)
		b->newest = generation;
	replay_buffer_touch(b, at);
	b->inserted++;
	b->have++;
}

static inline void *
replay_buffer_next_evicted(const struct replay_buffer *b, size_t i)
{
	const size_t at = (b->head + i) % b->settings.capacity;

	return i < b->settings.capacity && at < b->used &&
	    (b->slot[at].generation & REPLAY_BUFFER_LIVE) != 0 ?
	    b->slot[at].item : NULL;
}

static inline void
replay_buffer_add_batch(struct replay_buffer *b, const float *p,
    void *const *item, size_t n, uint64_t *id)
{
	float q[REPLAY_BUFFER_GROUP];
	size_t m;

	for (size_t i = 0; i < n; i += m) {
		m = n - i < REPLAY_BUFFER_GROUP ? n - i : REPLAY_BUFFER_GROUP;
		if (m > b->settings.capacity - b->head)
			m = b->settings.capacity - b->head;
		for (size_t j = 0; j < m; j++) {
			q[j] = p[i + j] >= 0 ? p[i + j] :
			    b->highest > 0 ? b->highest : 1;
			b->highest = q[j] > b->highest ? q[j] : b->highest;
			replay_buffer_fill_slot(b, b->head + j,
			    item == NULL ? NULL : item[i + j]);
			if (id != NULL)
				id[i + j] =
				    replay_buffer_slot_id(b, b->head + j);
		}
		replay_buffer_insert_priorities(b, b->head, q, m);
		b->head += m;
		b->low += m;
		b->used = b->head > b->used ? b->head : b->used;
		if (b->head == b->settings.capacity)
			b->head = b->low = 0;
	}
	priorities_continue_rebuild(&b->per);
}

static inline uint64_t
replay_buffer_add(struct replay_buffer *b, float p, void *item)
{
	uint64_t id;

	replay_buffer_add_batch(b, &p, &item, 1, &id);
	return id;
}

/* Turn n slots into holes. */
static inline void
replay_buffer_vacate_slots(struct replay_buffer *b, const uint32_t *slot,
    size_t n)
{
	for (size_t i = 0; i < n; i++) {
		assert(b->slot[slot[i]].generation & REPLAY_BUFFER_LIVE);
		b->slot[slot[i]].generation &= ~REPLAY_BUFFER_LIVE;
		b->low -= slot[i] < b->head;
	}
	b->have -= n;
	if (b->settings.selector == REPLAY_BUFFER_PER)
		priorities_clear(&b->per, slot, n);
	else
		replay_buffer_set_drawable(b, slot, false, n);
}

/* In a stack, move the head back to the slot after the newest item. */
static inline void
replay_buffer_rewind_head(struct replay_buffer *b)
{
	const size_t last = (b->head > 0 ? b->head : b->settings.capacity) - 1;
	uint64_t rank;
	uint32_t at;

	if (b->settings.selector != REPLAY_BUFFER_LIFO || b->have == 0 ||
	    b->slot[last].generation & REPLAY_BUFFER_LIVE)
		return;
	rank = (b->low + b->have - 1) % b->have;
	sumtree_find(&b->ones, &rank, 1, &at, NULL);
	b->low = b->low > 0 ? b->low : b->have;
	b->head = at + 1;
	if (b->head == b->settings.capacity)
		b->head = b->low = 0;
}

static inline bool
replay_buffer_remove(struct replay_buffer *b, uint64_t id)
{
	const struct replay_buffer_slot *s = replay_buffer_find_slot(b, id);
	const uint32_t row = replay_buffer_id_slot(id);

	if (s == NULL)
		return false;
	replay_buffer_vacate_slots(b, &row, 1);
	b->removed++;
	if (b->drop != NULL)
		b->drop(b->arg, s->item);
	replay_buffer_rewind_head(b);
	return true;
}

static inline size_t
replay_buffer_update_priorities(struct replay_buffer *b, const uint64_t *id,
    const float *p, size_t n)
{
	uint32_t at[REPLAY_BUFFER_GROUP];
	float q[REPLAY_BUFFER_GROUP];
	size_t k, m, applied = 0;

	for (size_t i = 0; i < n; i += m) {
		m = n - i < REPLAY_BUFFER_GROUP ? n - i : REPLAY_BUFFER_GROUP;
		k = 0;
		for (size_t j = i; j < i + m; j++) {
			at[k] = replay_buffer_id_slot(id[j]);
			q[k] = p[j];
			k += replay_buffer_find_slot(b, id[j]) != NULL;
		}
		replay_buffer_set_priorities(b, at, q, k);
		applied += k;
	}
	b->updated += applied;
	b->stale += n - applied;
	priorities_continue_rebuild(&b->per);
	return applied;
}

static inline uint64_t
replay_buffer_draw_sum(const struct replay_buffer *b, int *shift)
{
	const bool per = b->settings.selector == REPLAY_BUFFER_PER;

	*shift = per ? b->per.shift : 0;
	return per ? b->per.tree.total : b->ones.total;
}

static inline void
replay_buffer_drop_worn(struct replay_buffer *b)
{
	for (size_t i = 0; i < b->dones && b->drop != NULL; i++)
		b->drop(b->arg, b->done[i]);
	b->dones = 0;
}

static inline void
replay_buffer_count_drawn(struct replay_buffer *b, uint64_t id)
{
	struct replay_buffer_slot *s = replay_buffer_find_slot(b, id);
	const uint32_t row = replay_buffer_id_slot(id);

	b->sampled++;
	if (s == NULL)
		return;
	s->times += s->times < UINT32_MAX;
	if (b->settings.times == 0 || s->times < b->settings.times)
		return;
	replay_buffer_vacate_slots(b, &row, 1);
	b->worn++;
	if (b->drop != NULL)
		b->drop(b->arg, s->item);
	replay_buffer_rewind_head(b);
}

/* Make room for n draws; return false if there is no memory. */
static inline bool
replay_buffer_reserve_draws(struct replay_buffer *b, size_t n)
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

/* Draw the slots of the n <= have oldest or newest items, in order. */
static inline void
replay_buffer_draw_in_order(struct replay_buffer *b, size_t n, bool oldest)
{
	uint64_t rank[REPLAY_BUFFER_GROUP];
	size_t m;

	for (size_t i = 0; i < n; i += m) {
		m = n - i < REPLAY_BUFFER_GROUP ? n - i : REPLAY_BUFFER_GROUP;
		for (size_t j = 0; j < m; j++)
			rank[j] = (b->low + (oldest ? i + j :
			    b->have - 1 - i - j)) % b->have;
		sumtree_find(&b->ones, rank, m, b->drawn + i, NULL);
	}
}

/*
 * Draw n slots.  The selectors fifo and lifo draw each item at most once.
 * Return the number of slots.
 */
static inline size_t
replay_buffer_draw_slots(struct replay_buffer *b, struct rng *rng, size_t n,
    double beta, bool strata)
{
	const bool uniform = b->settings.selector == REPLAY_BUFFER_UNIFORM;

	if (b->settings.selector == REPLAY_BUFFER_PER)
		return priorities_draw(&b->per, rng, beta, strata, n, b->drawn,
		    b->prob, b->weight) ? n : 0;
	if (b->have == 0)
		return 0;
	if (uniform) {
		sumtree_draw(&b->ones, rng, strata, n, b->drawn, NULL);
	} else {
		n = n < b->have ? n : b->have;
		replay_buffer_draw_in_order(b, n, b->settings.selector ==
		    REPLAY_BUFFER_FIFO);
	}
	for (size_t i = 0; i < n; i++) {
		b->prob[i] = uniform ? 1 / (double)b->have : 1;
		b->weight[i] = 1;
	}
	return n;
}

/* Return the weight of a slot in a draw. */
static inline uint32_t
replay_buffer_slot_weight(const struct replay_buffer *b, size_t at)
{
	return sumtree_weight(b->settings.selector == REPLAY_BUFFER_PER ?
	    &b->per.tree : &b->ones, at);
}

/*
 * Copy to out[] the draws whose items still exist, and return their number.
 * Remove the items that these draws use up.  A removed item no longer counts,
 * so later draws have different probabilities.
 */
static inline size_t
replay_buffer_take_drawn(struct replay_buffer *b, size_t n,
    struct replay_buffer_draw *out)
{
	size_t got = 0, gone = 0;
	int shift;
	uint64_t left = replay_buffer_draw_sum(b, &shift);

	for (size_t i = 0; i < n; i++) {
		const uint32_t at = b->drawn[i];
		struct replay_buffer_slot *s = &b->slot[at];

		if (i + REPLAY_BUFFER_AHEAD < n)
			__builtin_prefetch(&b->slot[b->drawn[i +
			    REPLAY_BUFFER_AHEAD]], 1);
		if (b->settings.times > 0 && s->times == b->settings.times)
			continue;
		s->times += s->times < UINT32_MAX;
		out[got++] = (struct replay_buffer_draw){
		.id = replay_buffer_slot_id(b, at), .item = s->item, .prob =
		    gone == 0 || b->settings.selector >= REPLAY_BUFFER_FIFO ?
		    b->prob[i] : (double)replay_buffer_slot_weight(b, at) /
		    (double)left, .weight = b->weight[i], };
		if (b->settings.times > 0 && s->times == b->settings.times) {
			left -= replay_buffer_slot_weight(b, at);
			b->done[b->dones++] = s->item;
			/* this overwrites an entry that was already read */
			b->drawn[gone++] = at;
		}
	}
	b->worn += gone;
	replay_buffer_vacate_slots(b, b->drawn, gone);
	return got;
}

/*
 * Compute the weights of n draws from their probabilities.  The largest weight
 * is 1.
 */
static inline void
replay_buffer_scale_weights(struct replay_buffer_draw *d, size_t n, double beta)
{
	double least = 1;

	for (size_t i = 0; i < n; i++)
		least = d[i].prob < least ? d[i].prob : least;
	for (size_t i = 0; i < n; i++)
		d[i].weight = (float)logexp_pow(least / d[i].prob, beta);
}

static inline size_t
replay_buffer_sample(struct replay_buffer *b, struct rng *rng, size_t n,
    double beta, bool strata, struct replay_buffer_draw *out)
{
	const uint64_t worn = b->worn;
	size_t got = 0, m;

	replay_buffer_drop_worn(b);
	if (!replay_buffer_reserve_draws(b, n))
		return 0;
	while (got < n &&
	    (m = replay_buffer_draw_slots(b, rng, n - got, beta, strata)) > 0) {
		got += replay_buffer_take_drawn(b, m, out + got);
	}
	if (b->worn != worn && b->settings.selector == REPLAY_BUFFER_PER)
		replay_buffer_scale_weights(out, got, beta);
	replay_buffer_rewind_head(b);
	b->sampled += got;
	return got;
}

static inline size_t
replay_buffer_sample_uncounted(struct replay_buffer *b, struct rng *rng,
    size_t n, double beta, bool strata, struct replay_buffer_draw *out)
{
	assert(b->settings.times == 0);
	if (!replay_buffer_reserve_draws(b, n))
		return 0;
	n = replay_buffer_draw_slots(b, rng, n, beta, strata);
	for (size_t i = 0; i < n; i++)
		out[i] = (struct replay_buffer_draw){
			.id = replay_buffer_slot_id(b, b->drawn[i]),
			.item = b->slot[b->drawn[i]].item,
			.prob = b->prob[i], .weight = b->weight[i],
		};
	return n;
}

#endif
