/*
 * replay-dump.h - list the items of a replay buffer in order, and restore a
 * buffer from them
 *
 * To save a buffer, write its settings, its state and its entries.  To restore
 * it, open a buffer with the same settings, set the state, and restore the
 * entries in any order.  Then call replaydump_finish() and check
 * replay_buffer_counters_add_up().  Ids, counters, numbers of samples and
 * priorities are the same as before, and no id is used a second time.  Only the
 * quantised probabilities of priority-sampling.h can differ in their last bits,
 * if their scale had not been adapted yet.
 *
 * The time and memory for restoring are proportional to the number of entries,
 * not to the capacity, because an attacker could send a file with few entries
 * for a very large capacity.
 */
#ifndef INNET_MEMORY_STORE_REPLAY_DUMP_H
#define INNET_MEMORY_STORE_REPLAY_DUMP_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/replay/priority-sampling.h"
#include "cmd/innet-memory/store/replay-buffer.h"

/* An item and its id. */
struct replaydump_entry {
	uint64_t id;
	float priority;
	uint32_t times;		/* number of times that the item was sampled */
	void *item;
};

/* All state of a buffer except its settings and items. */
struct replaydump_state {
	uint64_t inserted, sampled, updated, stale, evicted, removed, worn;
	uint32_t head, newest;
	float highest;
};

/*
 * Store the next item in *e, from the oldest to the newest.  *at must be 0
 * before the first call, or come from replaydump_seek().  Return false at the
 * end.
 */
static inline bool replaydump_next(const struct replay_buffer *b, size_t *at,
    struct replaydump_entry *e);

/*
 * Return the position from which replaydump_next() returns the item with this
 * id.  If the item was removed or used up, return the position of the next
 * newer item.  If the item was evicted, return the position of the oldest item.
 */
static inline size_t replaydump_seek(const struct replay_buffer *b,
    uint64_t id);

/* Return the state of a buffer. */
static inline struct replaydump_state replaydump_get_state(
    const struct replay_buffer *b);

/*
 * Set the state of a new buffer.  Return false if no buffer can have this
 * state.  After this, the caller must restore the items.
 */
static inline bool replaydump_resume(struct replay_buffer *b,
    const struct replaydump_state *s);

/*
 * Restore n items and return their number.  The function stops at the first
 * item that cannot have been in the buffer.  That item and all later ones still
 * belong to the caller.
 */
static inline size_t replaydump_restore(struct replay_buffer *b,
    const struct replaydump_entry *e, size_t n);

/* Make all items drawable after all entries were restored. */
static inline void replaydump_finish(struct replay_buffer *b);

/*
 * Return true if the counters add up, which must be the case after all items
 * were restored.
 */
static inline bool replay_buffer_counters_add_up(
    const struct replay_buffer *b);

/* implementation */

static inline bool
replay_buffer_counters_add_up(const struct replay_buffer *b)
{
	return b->inserted == b->have + b->evicted + b->removed + b->worn;
}

static inline bool
replaydump_next(const struct replay_buffer *b, size_t *at,
    struct replaydump_entry *e)
{
	/*
	 * first the slots from head to the last one in use, then those below
	 * head
	 */
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
	 * The generations of holes must not lead to an id that was already used
	 * or that is out of order.  Slots from `head` on were filled one time
	 * less often.  This does not apply to a stack, whose head also moves
	 * back.
	 */
	b->hole[0] = s->newest;
	b->hole[1] = s->newest - 1;
	b->split = s->head == 0 ||
	    b->settings.selector == REPLAY_BUFFER_LIFO ? b->settings.capacity :
	    s->head;
	return true;
}

/*
 * Set the generation of a slot so that its id contains `generation`.  `live` is
 * REPLAY_BUFFER_LIVE or 0.
 */
static inline void
replaydump_set_generation(struct replay_buffer *b, size_t slot,
    uint32_t generation, uint32_t live)
{
	generation -= replay_buffer_hole(b, slot);
	b->slot[slot].generation = (generation & ~REPLAY_BUFFER_LIVE) | live;
}

/* Return true if this entry can have been in the buffer. */
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
