/*
 * replay-table-slots.h - the slots of a replay table, which table.h fills and
 * draws
 *
 * What a table is made of, how it begins and ends, and what its ids are.
 */
#ifndef INNET_MEMORY_STORE_REPLAY_TABLE_SLOTS_H
#define INNET_MEMORY_STORE_REPLAY_TABLE_SLOTS_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "common/base/pages.h"
#include "common/replay/priorities.h"
#include "cmd/innet-memory/store/sample-ratio.h"
#include "common/replay/sumtree.h"

enum replay_table_pick { REPLAY_TABLE_PER, REPLAY_TABLE_UNIFORM,
	REPLAY_TABLE_FIFO, REPLAY_TABLE_LIFO };

enum {
	REPLAY_TABLE_GROUP = 256,	/* go into the tree at once */
	REPLAY_TABLE_AHEAD = 16	/* slots fetched: 10 ns a draw, not 23 */
};

#define REPLAY_TABLE_LIVE (1u << 31)

struct replay_table_conf {
	size_t capacity;	/* 1 to UINT32_MAX */
	double alpha;		/* per's */
	enum replay_table_pick pick;
	uint32_t times;		/* an item may be sampled; 0: any number */
	struct ratio limit;
};

struct replay_table_slot {
	void *item;
	uint32_t generation;	/* with REPLAY_TABLE_LIVE, or a hole */
	uint32_t times;		/* sampled */
};

struct replay_table_draw {
	uint64_t id;
	double prob;
	float weight;
	void *item;
};

struct replay_table {
	uint64_t inserted, sampled;
	uint64_t updated;	/* priorities set by an update */
	uint64_t stale;		/* not set, for their items are gone */
	uint64_t evicted, removed, worn;
	size_t have;		/* items in the table */
	float highest;		/* priority that ever was, 0 before any */
	struct replay_table_conf conf;	/* conf.limit may be changed */

	struct replay_table_slot *slot;
	float *priority;	/* by slot; per's if that is the selector */
	struct priorities per;
	struct sumtree ones;	/* 1 for each item; other selectors' */
	size_t head;		/* the slot to fill next */
	size_t low;		/* items in slots below head: the newest */
	size_t used;		/* slots from here on never had an item */
	uint32_t newest;	/* generation of all slots */

	void **done;		/* worn out by the last sample */
	size_t dones;
	size_t room;		/* for draws, in one block of memory */
	double *prob;
	float *weight;
	uint32_t *drawn;	/* slots */

	void (*drop)(void *arg, void *item);
	void *arg;
};

/*
 * Give back items as close() does, going through up to n slots, and how many
 * that was: fewer than n only when all are given back.  Nothing but shed() and
 * close() may follow.
 */
static inline size_t
replay_table_shed(struct replay_table *b, size_t n)
{
	size_t i = 0;

	for (; b->dones > 0 && i < n; i++) {
		b->dones--;
		if (b->drop != NULL)
			b->drop(b->arg, b->done[b->dones]);
	}
	for (; b->used > 0 && i < n; i++) {
		b->used--;
		if (b->drop != NULL &&
		    (b->slot[b->used].generation & REPLAY_TABLE_LIVE) != 0)
			b->drop(b->arg, b->slot[b->used].item);
	}
	return i;
}

/* Give back all items and the memory. */
static inline void
replay_table_close(struct replay_table *b)
{
	replay_table_shed(b, SIZE_MAX);
	if (b->conf.pick == REPLAY_TABLE_PER) {
		priorities_close(&b->per);
	} else {
		sumtree_close(&b->ones);
		free(b->priority);
	}
	free(b->slot);
	free(b->done);
	free(b->prob);
	*b = (struct replay_table){ 0 };
}

/* An empty table; false without memory.  Close it in the end. */
static inline bool
replay_table_open(struct replay_table *b, const struct replay_table_conf *conf,
    void (*drop)(void *arg, void *item), void *arg)
{
	const size_t n = conf->capacity;
	bool fits;

	assert(n >= 1 && n <= UINT32_MAX);
	assert(ratio_wrong(&conf->limit) == NULL);
	*b = (struct replay_table){ .conf = *conf, .drop = drop, .arg = arg };
	b->slot = pages_new(n * sizeof(*b->slot));
	if (conf->times > 0)
		b->done = malloc(n * sizeof(*b->done));
	if (conf->pick == REPLAY_TABLE_PER) {
		fits = priorities_open(&b->per, n, conf->alpha);
		b->priority = b->per.priority;
	} else {
		fits = sumtree_open(&b->ones, n);
		b->priority = pages_new(n * sizeof(*b->priority));
	}
	fits = fits && b->slot != NULL && b->priority != NULL &&
	    (b->done != NULL || conf->times == 0);
	if (!fits)
		replay_table_close(b);
	return fits;
}

/* The slot of an id: the place of the item in rows of the caller's own. */
static inline uint32_t
replay_table_row(uint64_t id)
{
	return (uint32_t)id;
}

static inline uint64_t
replay_table_id(const struct replay_table *b, size_t slot)
{
	return (uint64_t)(b->slot[slot].generation & ~REPLAY_TABLE_LIVE) << 32 |
	    slot;
}

/* The slot in which an id's item still is, or NULL. */
static inline struct replay_table_slot *
replay_table_find(const struct replay_table *b, uint64_t id)
{
	const uint32_t row = replay_table_row(id);

	if (row >= b->conf.capacity || id >> 63 != 0 ||
	    b->slot[row].generation != (id >> 32 | REPLAY_TABLE_LIVE))
		return NULL;
	return &b->slot[row];
}

/* The item, or NULL if it is gone. */
static inline void *
replay_table_get(const struct replay_table *b, uint64_t id)
{
	const struct replay_table_slot *s = replay_table_find(b, id);

	return s == NULL ? NULL : s->item;
}

#endif
