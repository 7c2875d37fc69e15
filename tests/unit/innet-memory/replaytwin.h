/*
 * replaytwin.h - a slow and simple replay buffer to compare replay-buffer.h
 * with: a list of cells, oldest first, that every function searches
 */
#ifndef INNET_REPLAYTWIN_H
#define INNET_REPLAYTWIN_H

#include <stdint.h>
#include <string.h>

#include "common/base/rng.h"
#include "cmd/innet-memory/store/replay-buffer.h"

enum { TWIN_CELLS = 400, TWIN_LOG = 1 << 16 };

struct cell {
	bool live;
	uint64_t id;
	float p;
	uint32_t times;
	void *item;
};

struct twin {
	struct replay_buffer_settings settings;
	struct cell cell[TWIN_CELLS];	/* oldest first, with holes */
	size_t cells;
	float highest;
	uint64_t inserted, sampled, updated, stale, evicted, removed, worn;
	/* items in the order in which they left */
	uintptr_t log[TWIN_LOG];
	size_t logged;
};

static inline size_t
twin_have(const struct twin *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->cells; i++)
		n += t->cell[i].live;
	return n;
}

static inline struct cell *
twin_find(struct twin *t, uint64_t id)
{
	for (size_t i = 0; i < t->cells; i++) {
		if (t->cell[i].live && t->cell[i].id == id)
			return &t->cell[i];
	}
	return NULL;
}

static inline void
twin_gone(struct twin *t, struct cell *c)
{
	c->live = false;
	t->log[t->logged++] = (uintptr_t)c->item;
}

/* Remove the holes on top of a stack. */
static inline void
twin_trim(struct twin *t)
{
	while (t->settings.selector == REPLAY_BUFFER_LIFO && t->cells > 0 &&
	    !t->cell[t->cells - 1].live)
		t->cells--;
}

/* Return the priority of a new item. */
static inline float
twin_priority(struct twin *t, float p)
{
	if (p < 0)
		p = t->highest > 0 ? t->highest : 1;
	t->highest = p > t->highest ? p : t->highest;
	return p;
}

static inline void
twin_add(struct twin *t, float p, void *item, uint64_t id)
{
	if (t->cells == t->settings.capacity) {
		if (t->cell[0].live) {
			t->evicted++;
			twin_gone(t, &t->cell[0]);
		}
		memmove(t->cell, t->cell + 1, --t->cells * sizeof(*t->cell));
	}
	t->cell[t->cells++] = (struct cell){
		.live = true, .id = id, .p = twin_priority(t, p),
		.item = item,
	};
	t->inserted++;
}

static inline bool
twin_remove(struct twin *t, uint64_t id)
{
	struct cell *c = twin_find(t, id);

	if (c == NULL)
		return false;
	t->removed++;
	twin_gone(t, c);
	twin_trim(t);
	return true;
}

static inline bool
twin_update(struct twin *t, uint64_t id, float p)
{
	struct cell *c = twin_find(t, id);

	if (c == NULL) {
		t->stale++;
		return false;
	}
	c->p = p;
	t->highest = p > t->highest ? p : t->highest;
	t->updated++;
	return true;
}

/* Return the k-th item from the oldest, or from the newest. */
static inline struct cell *
twin_kth(struct twin *t, size_t k, bool oldest)
{
	for (size_t i = 0; i < t->cells; i++) {
		struct cell *c = &t->cell[oldest ? i : t->cells - 1 - i];

		if (c->live && k-- == 0)
			return c;
	}
	return NULL;
}

/* Return the item of the first slot whose prefix sum of weights is above x. */
static inline struct cell *
twin_at(struct twin *t, const uint32_t *leaf, uint64_t x)
{
	for (size_t i = 0; i < t->settings.capacity; i++) {
		if (x >= leaf[i]) {
			x -= leaf[i];
			continue;
		}
		for (size_t j = 0; j < t->cells; j++) {
			if (t->cell[j].live &&
			    replay_buffer_id_slot(t->cell[j].id) == i)
				return &t->cell[j];
		}
	}
	return NULL;
}

/*
 * Draw n ids without strata, with their probabilities, and remove items that
 * wear out; leaf has the weights of slots before the first draw.  Return how
 * many were drawn.
 */
static inline size_t
twin_sample(struct twin *t, struct rng rng, uint32_t *leaf, size_t n,
    uint64_t *id, double *chance)
{
	struct cell *c, *gone[TWIN_CELLS];
	size_t got = 0, pass, gones;
	uint64_t total, left;

	do {
		total = gones = 0;
		for (size_t i = 0; i < t->settings.capacity; i++)
			total += leaf[i];
		left = total;
		pass = total == 0 ? 0 : n - got;
		if (t->settings.selector >= REPLAY_BUFFER_FIFO &&
		    pass > twin_have(t))
			pass = twin_have(t);
		for (size_t i = 0; i < pass; i++) {
			c = t->settings.selector >= REPLAY_BUFFER_FIFO ?
			    twin_kth(t, i, t->settings.selector ==
			    REPLAY_BUFFER_FIFO) : twin_at(t, leaf,
			    rng_below(&rng, total));
			if (t->settings.times > 0 &&
			    c->times == t->settings.times)
				continue;
			chance[got] = t->settings.selector >=
			    REPLAY_BUFFER_FIFO ? 1 :
			    (double)leaf[replay_buffer_id_slot(c->id)] /
			    (double)left;
			id[got++] = c->id;
			if (++c->times != t->settings.times)
				continue;
			gone[gones++] = c;
			left -= leaf[replay_buffer_id_slot(c->id)];
		}
		for (size_t i = 0; i < gones; i++) {
			leaf[replay_buffer_id_slot(gone[i]->id)] = 0;
			twin_gone(t, gone[i]);
		}
		t->worn += gones;
	} while (pass > 0 && got < n);
	twin_trim(t);
	t->sampled += got;
	return got;
}

#endif
