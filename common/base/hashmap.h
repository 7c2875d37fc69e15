/*
 * hashmap.h - a hash table from 64-bit keys to 32-bit values
 *
 * Open addressing with linear probing; removal shifts back, so there are no
 * tombstones and the cost stays flat.  It grows by itself and owns its
 * memory: hashmap_free() gives it back.  A zeroed struct is an empty map.
 *
 * Where a key belongs is said by multiply-shift: the upper bits of its product
 * with an odd number of 128 bits.  Who does not know that number cannot choose
 * keys that meet, so a map that strangers fill is given one that is random,
 * hashmap_seed(); others have a constant, and the same order in each run.  No
 * key is more than HASHMAP_PROBES cells from where it belongs: a put that would
 * need more has the map grow or take another number, once in as many puts as
 * it has cells, and is refused otherwise.
 */
#ifndef INNET_BASE_HASHMAP_H
#define INNET_BASE_HASHMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "common/base/prefetch.h"

struct hashmap_cell {
	uint64_t key;
	uint32_t value;
	bool used;
};

enum { HASHMAP_PROBES = 64 };

/* A number that keys are multiplied by, its halves; {0}: a constant. */
struct hashmap_multiplier {
	uint64_t high, low;
};

static const struct hashmap_multiplier hashmap_constant = { 0, 0 };

struct hashmap {
	struct hashmap_cell *cell;
	size_t mask;		/* cells - 1; cells is a power of two */
	size_t count;
	struct hashmap_multiplier by;
	unsigned shift;		/* 64 - log2(cells) */
	size_t puts;		/* since it last took another number */
};

/* The number of a map that is still empty; {0}: the constant. */
static inline void
hashmap_seed(struct hashmap *m, const struct hashmap_multiplier *by)
{
	m->by = *by;
	if (by->low != 0)
		m->by.low |= 1;
}

/* The next number after this one, or the first. */
static inline struct hashmap_multiplier
hashmap_next_multiplier(const struct hashmap_multiplier *by)
{
	uint64_t part[2] = { by->high, by->low };

	for (int i = 0; i < 2; i++) {		/* splitmix64 */
		uint64_t z = part[i] += 0x9e3779b97f4a7c15;

		z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
		z = (z ^ z >> 27) * 0x94d049bb133111eb;
		part[i] = z ^ z >> 31;
	}
	return (struct hashmap_multiplier){part[0] ^ part[1] >> 1, part[1] | 1};
}

static inline size_t
hashmap_home(const struct hashmap *m, uint64_t key)
{
	const uint64_t upper = (uint64_t)((unsigned __int128)key *
	    m->by.low >> 64) + key * m->by.high;

	return (size_t)(upper >> m->shift);
}

/* Fetch into the cache where key is, or will be. */
static inline void
hashmap_prefetch(const struct hashmap *m, uint64_t key)
{
	if (m->count > 0)
		prefetch_line(&m->cell[hashmap_home(m, key)]);
}

/* The value of key, or NULL; good until the next put or remove. */
static inline uint32_t *
hashmap_get(const struct hashmap *m, uint64_t key)
{
	size_t i;

	if (m->count == 0)
		return NULL;
	i = hashmap_home(m, key);
	for (int n = 0; n <= HASHMAP_PROBES && m->cell[i].used; n++) {
		if (m->cell[i].key == key)
			return &m->cell[i].value;
		i = (i + 1) & m->mask;
	}
	return NULL;
}

/* A free cell for a key that is not there, or NULL if that is too far. */
static inline struct hashmap_cell *
hashmap_vacant(const struct hashmap *m, uint64_t key)
{
	size_t i = hashmap_home(m, key);

	for (int n = 0; n <= HASHMAP_PROBES; n++) {
		if (!m->cell[i].used)
			return &m->cell[i];
		i = (i + 1) & m->mask;
	}
	return NULL;
}

/* Put all of `old` into m, which is empty.  False if one gets too far. */
static inline bool
hashmap_refill(struct hashmap *m, const struct hashmap *old)
{
	for (size_t i = 0; old->cell != NULL && i <= old->mask; i++) {
		struct hashmap_cell *to;

		if (!old->cell[i].used)
			continue;
		to = hashmap_vacant(m, old->cell[i].key);
		if (to == NULL)
			return false;
		*to = old->cell[i];
	}
	return true;
}

/* So many cells, a power of two, and another number if need be. */
static inline bool
hashmap_resize(struct hashmap *m, size_t cells, bool afresh)
{
	const struct hashmap old = *m;

	m->mask = cells - 1;
	m->shift = (unsigned)(64 - __builtin_ctzll(cells));
	if (m->by.low == 0 || afresh)
		m->by = hashmap_next_multiplier(&m->by);
	m->cell = calloc(cells, sizeof(*m->cell));
	for (int k = 0; m->cell != NULL && !hashmap_refill(m, &old); k++) {
		free(m->cell);
		m->by = hashmap_next_multiplier(&m->by);
		m->cell = k == 3 ? NULL : calloc(cells, sizeof(*m->cell));
	}
	if (m->cell == NULL) {
		*m = old;
		return false;
	}
	m->puts = afresh ? 0 : cells;
	free(old.cell);
	return true;
}

/*
 * Make room for one more, and in reach of key: the cell, or NULL without
 * memory, or because its keys meet too often.
 */
static inline struct hashmap_cell *
hashmap_room(struct hashmap *m, uint64_t key)
{
	const size_t cells = m->cell == NULL ? 0 : m->mask + 1;
	struct hashmap_cell *to;

	if ((m->cell == NULL || m->count * 2 > m->mask) &&
	    !hashmap_resize(m, cells == 0 ? 16 : cells * 2, false))
		return NULL;
	to = hashmap_vacant(m, key);
	if (to != NULL || m->puts <= m->mask)
		return to;
	if (!hashmap_resize(
		m, m->count * 4 > m->mask ? cells * 2 : cells, true))
		return NULL;
	return hashmap_vacant(m, key);
}

/*
 * The place of key's value, made and set to `fresh` if key is new; NULL
 * without memory, or if it is refused.  Good until the next put or remove.
 */
static inline uint32_t *
hashmap_put(struct hashmap *m, uint64_t key, uint32_t fresh)
{
	uint32_t *have = hashmap_get(m, key);
	struct hashmap_cell *to;

	if (have != NULL)
		return have;
	m->puts++;
	to = hashmap_room(m, key);
	if (to == NULL)
		return NULL;
	*to = (struct hashmap_cell){ key, fresh, true };
	m->count++;
	return &to->value;
}

/* Take key out, if it is there. */
static inline void
hashmap_remove(struct hashmap *m, uint64_t key)
{
	size_t hole, i;

	if (m->count == 0)
		return;
	for (hole = hashmap_home(m, key); m->cell[hole].key != key ||
	    !m->cell[hole].used; hole = (hole + 1) & m->mask) {
		if (!m->cell[hole].used)
			return;
	}
	m->count--;
	for (i = (hole + 1) & m->mask; m->cell[i].used;
	    i = (i + 1) & m->mask) {
		size_t home = hashmap_home(m, m->cell[i].key);

		/* may the one at i move into the hole? */
		if (((i - home) & m->mask) >= ((i - hole) & m->mask)) {
			m->cell[hole] = m->cell[i];
			hole = i;
		}
	}
	m->cell[hole].used = false;
}

static inline void
hashmap_free(struct hashmap *m)
{
	free(m->cell);
	*m = (struct hashmap){ .by = m->by };
}

#endif
