/*
 * replay-dump.h - the items of a replay buffer in order, and how to restore the
 * buffer
 *
 * To save a buffer, write its settings, its state and its entries.  To restore
 * it, open a buffer with the same settings, give it the state, then the entries
 * in any order, call replaydump_finish() and check
 * replay_buffer_counters_add_up().  Ids, counters, times and priorities are as
 * they were, and no id is given twice.  Only the quantised probabilities of
 * priority-sampling.h may differ in their last bits, if their scale had not
 * been adapted yet.
 *
 * Restoring takes time and touches memory in proportion to the entries, not to
 * the capacity, because a stranger can send a few entries for many slots.
 */
#ifndef INNET_MEMORY_STORE_REPLAY_DUMP_H
#define INNET_MEMORY_STORE_REPLAY_DUMP_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/replay/priority-sampling.h"
#include "cmd/innet-memory/store/replay-buffer.h"

/* One item and its id. */
struct replaydump_entry {
	uint64_t id;
	float priority;
	uint32_t times;		/* that it was sampled */
	void *item;
};

/* All state of a buffer except its settings and items. */
struct replaydump_state {
	uint64_t inserted, sampled, updated, stale, evicted, removed, worn;
	uint32_t head, newest;
	float highest;
};

/* Store the next item in *e, oldest first; false at the end. */
static inline bool replaydump_next(const struct replay_buffer *b, size_t *at,
    struct replaydump_entry *e);

/* Return the position at which replaydump_next() returns the item of an id. */
static inline size_t replaydump_seek(const struct replay_buffer *b,
    uint64_t id);

/* Return the state of a buffer. */
static inline struct replaydump_state replaydump_get_state(
    const struct replay_buffer *b);

/* Set the state of a new buffer; false if no buffer can have this state. */
static inline bool replaydump_resume(struct replay_buffer *b,
    const struct replaydump_state *s);

/* Put n items back and return how many could have been in the buffer. */
static inline size_t replaydump_restore(struct replay_buffer *b,
    const struct replaydump_entry *e, size_t n);

/* Make all items drawable, once all entries are back. */
static inline void replaydump_finish(struct replay_buffer *b);

/* Do the counters add up?  They must once all items are restored. */
static inline bool replay_buffer_counters_add_up(
    const struct replay_buffer *b);

/* implementation */

static inline bool
replay_buffer_counters_add_up(const struct replay_buffer *b)
{
	return b->inserted == b->have + b->evicted + b->removed + b->worn;
}

/*
 * Store the next item, from the oldest to the newest, in *e; false at the end.
 * *at is 0 at first, or comes from replaydump_seek().
 */
static inline bool
replaydump_next(const struct replay_buffer *b, size_t *at,
    struct replaydump_entry *e)
{
	/* slots from head to the last one used, then those below head */
	const size_t above = b->used > b->head ? b->used - b->head : 0;
	const size_t below = b->used < b->head ? b->used : b->head;
	size_t i;

	while (*at < above + below) {
		if (*at < above) {
			i = replay_buffer_next_live(b, b->head + *at);
			*at = i - b->head + 1;
			if (i == b->used) {
				*at = above;
				continue;
			}
		} else {
			i = replay_buffer_next_live(b, *at - above);
			*at = above + i + 1;
			if (i >= below)
				return false;
		}
		*e = (struct replaydump_entry){
		    .id = replay_buffer_slot_id(b, i),
		    .item = b->slot[i].item,
		    .priority = b->priority[i],
		    .times = b->slot[i].times,
		};
		return true;
	}
	return false;
}

/*
 * Return the position at which replaydump_next() returns the item of an id; if
 * that was removed or worn out the next newer one; if it was evicted the
 * oldest.
 */
static inline size_t
replaydump_seek(const struct replay_buffer *b, uint64_t id)
{
	const size_t above = b->used > b->head ? b->used - b->head : 0;
	const size_t row = replay_buffer_id_slot(id);

	if (row >= b->used || replay_buffer_slot_id(b, row) >> 32 != id >> 32)
		return 0;
	return row < b->head ? above + row : row - b->head;
}

static inline struct replaydump_state
replaydump_get_state(const struct replay_buffer *b)
{
	return (struct replaydump_state){
		.inserted = b->inserted, .sampled = b->sampled,
		.updated = b->updated, .stale = b->stale,
		.evicted = b->evicted, .removed = b->removed, .worn = b->worn,
		.head = (uint32_t)b->head, .newest = b->newest,
		.highest = b->highest,
	};
}

/*
 * Set the state of a new buffer of the same capacity; false if no buffer can
 * have this state.  Restore the items next.
 */
static inline bool
replaydump_resume(struct replay_buffer *b, const struct replaydump_state *s)
{
	assert(b->inserted == 0);
	if (s->head >= b->settings.capacity ||
	    s->newest >= REPLAY_BUFFER_LIVE || !priorities_valid(s->highest))
		return false;
	b->inserted = s->inserted;
	b->sampled = s->sampled;
	b->updated = s->updated;
	b->stale = s->stale;
	b->evicted = s->evicted;
	b->removed = s->removed;
	b->worn = s->worn;
	b->head = s->head;
	b->newest = s->newest;
	b->highest = s->highest;
	/*
	 * Holes must not give an id twice or out of order: slots from head on
	 * were filled one time less, except in a stack, whose head moves
	 * back.
	 */
	b->hole[0] = s->newest;
	b->hole[1] = s->newest - 1;
	b->split = s->head == 0 ||
	    b->settings.selector == REPLAY_BUFFER_LIFO ? b->settings.capacity :
	    s->head;
	return true;
}

/* Set the generation of a slot as it is in ids; `live` is that bit or 0. */
static inline void
replaydump_set_generation(struct replay_buffer *b, size_t slot,
    uint32_t generation, uint32_t live)
{
	generation -= replay_buffer_hole(b, slot);
	b->slot[slot].generation = (generation & ~REPLAY_BUFFER_LIVE) | live;
}

/* Can this entry have been in the buffer? */
static inline bool
replaydump_check_entry(const struct replay_buffer *b,
    const struct replaydump_entry *e)
{
	const uint32_t row = replay_buffer_id_slot(e->id);

	return row < b->settings.capacity && e->id >> 63 == 0 &&
	    (b->slot[row].generation & REPLAY_BUFFER_LIVE) == 0 &&
	    priorities_valid(e->priority) && e->priority <= b->highest &&
	    (b->settings.times == 0 || e->times < b->settings.times);
}

/*
 * Put n items back and return how many.  The first that cannot have been in the
 * buffer stops it; that one and those behind it still belong to the caller.
 * They can be drawn after replaydump_finish().
 */
static inline size_t
replaydump_restore(struct replay_buffer *b, const struct replaydump_entry *e,
    size_t n)
{
	uint32_t at[REPLAY_BUFFER_GROUP];
	float p[REPLAY_BUFFER_GROUP];
	size_t k;

	for (size_t i = 0;; i += k) {
		for (k = 0; k < REPLAY_BUFFER_GROUP && i + k < n &&
		    replaydump_check_entry(b, &e[i + k]); k++) {
			at[k] = replay_buffer_id_slot(e[i + k].id);
			p[k] = e[i + k].priority;
			b->slot[at[k]].item = e[i + k].item;
			b->slot[at[k]].times = e[i + k].times;
			replaydump_set_generation(b, at[k],
			    (uint32_t)(e[i + k].id >> 32), REPLAY_BUFFER_LIVE);
			replay_buffer_touch(b, at[k]);
			b->low += at[k] < b->head;
			b->used = at[k] < b->used ? b->used : at[k] + 1;
		}
		if (k == 0)
			return i;
		b->have += k;
		if (b->settings.selector == REPLAY_BUFFER_PER) {
			priorities_put_back(&b->per, at, p, k);
			continue;
		}
		replay_buffer_set_priorities(b, at, p, k);
		replay_buffer_set_drawable(b, at, true, k);
	}
}

static inline void
replaydump_finish(struct replay_buffer *b)
{
	uint32_t at[REPLAY_BUFFER_GROUP];
	size_t k = 0;

	if (b->settings.selector != REPLAY_BUFFER_PER)
		return;
	priorities_begin_leaves(&b->per);
	for (size_t i = 0; (i = replay_buffer_next_live(b, i)) < b->used; i++) {
		at[k++] = (uint32_t)i;
		if (k == REPLAY_BUFFER_GROUP) {
			priorities_make_leaves(&b->per, at, k);
			k = 0;
		}
	}
	priorities_make_leaves(&b->per, at, k);
}

#endif
