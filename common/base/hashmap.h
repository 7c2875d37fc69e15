/*
 * hashmap.h - a hash table from 64-bit keys to 32-bit values
 *
 * The table uses open addressing with linear probing.  A removal moves the
 * cells that follow back, so there are no tombstones and removals do not make
 * lookups slower.  The table grows by itself and owns its memory;
 * hashmap_free() frees it.  A zeroed struct is an empty map.
 *
 * The hash is multiply-shift: the upper bits of the product of the key and an
 * odd 128-bit multiplier.  An attacker who does not know the multiplier cannot
 * choose keys that collide.  So if the keys of a map come from the network, the
 * caller sets a random multiplier with hashmap_seed().  Other maps use a
 * constant multiplier and have the same order in each run.
 *
 * No key is more than HASHMAP_PROBES cells after its home cell.  If a new key
 * would be farther away, the map grows or changes its multiplier.  A map of n
 * cells changes its multiplier at most once in n puts.  If the map can neither
 * grow nor change its multiplier, the put is refused.
 */
#ifndef INNET_BASE_HASHMAP_H
#define INNET_BASE_HASHMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

struct hashmap_cell {
	uint64_t key;
	uint32_t value;
	bool used;
};

enum { HASHMAP_PROBES = 64 };

/* The two halves of the multiplier.  {0} stands for the constant multiplier. */
struct hashmap_multiplier {
	uint64_t high, low;
};

static const struct hashmap_multiplier hashmap_constant = { 0, 0 };

struct hashmap {
	struct hashmap_cell *cell;
	size_t mask;		/* number of cells minus 1; the number of cells
				 * is a power of two */
	size_t count;
	struct hashmap_multiplier multiplier;
	unsigned shift;		/* 64 - log2(cells) */
	size_t puts;		/* number of new keys since the multiplier
				 * changed */
};

/*
 * Set the multiplier of a map that is still empty.  {0} stands for the constant
 * multiplier.
 */
static inline void hashmap_seed(struct hashmap *m,
    const struct hashmap_multiplier *multiplier);

/*
 * Return a pointer to the value of key, or NULL if key is not in the map.  The
 * pointer is valid until the next put or remove.
 */
static inline uint32_t *hashmap_get(const struct hashmap *m, uint64_t key);

/*
 * Return a pointer to the value of key.  A new key is added with the value
 * `fresh`.  Returns NULL if there is no memory or if the put is refused.  The
 * pointer is valid until the next put or remove.
 */
static inline uint32_t *hashmap_put(struct hashmap *m, uint64_t key,
    uint32_t fresh);

/* Remove key, if it is in the map. */
static inline void hashmap_remove(struct hashmap *m, uint64_t key);

/* Free the memory.  The map is then empty and keeps its multiplier. */
static inline void hashmap_free(struct hashmap *m);

/*
 * Return the number of bytes that a map of `keys` keys uses, unless an
 * unusually large number of keys collides.
 */
static inline uint64_t hashmap_most_bytes(uint64_t keys);

/* implementation */

static inline void
hashmap_seed(struct hashmap *m, const struct hashmap_multiplier *multiplier)
{
	m->multiplier = *multiplier;
	if (multiplier->low != 0)
		m->multiplier.low |= 1;
}

/*
 * Return the multiplier that replaces `multiplier` when too many keys collide.
 * {0} is replaced by the constant multiplier.
 */
static inline struct hashmap_multiplier
hashmap_next_multiplier(const struct hashmap_multiplier *multiplier)
{
	uint64_t part[2] = { multiplier->high, multiplier->low };

	for (int i = 0; i < 2; i++) {		/* splitmix64 */
		uint64_t z = part[i] += 0x9e3779b97f4a7c15;

		z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
		z = (z ^ z >> 27) * 0x94d049bb133111eb;
		part[i] = z ^ z >> 31;
	}
	return (struct hashmap_multiplier){part[0] ^ part[1] >> 1, part[1] | 1};
}

/* Return the index of the home cell of key. */
static inline size_t
hashmap_home(const struct hashmap *m, uint64_t key)
{
	const uint64_t upper = (uint64_t)((unsigned __int128)key *
	    m->multiplier.low >> 64) + key * m->multiplier.high;

	return (size_t)(upper >> m->shift);
}

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

/*
 * Return the free cell for a key that is not in the map, or NULL if this cell
 * is too far from the home cell of key.
 */
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

/*
 * Copy all keys and values of `old` into the empty map m.  Returns false if a
 * key would be too far from its home cell.
 */
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

/*
 * Move the keys to a table of `cells` cells, which must be a power of two.
 * Change the multiplier if `afresh` is true or if a key would be too far from
 * its home cell.  Returns false if there is no memory.
 */
static inline bool
hashmap_resize(struct hashmap *m, size_t cells, bool afresh)
{
	const struct hashmap old = *m;

	m->mask = cells - 1;
	m->shift = (unsigned)(64 - __builtin_ctzll(cells));
	if (m->multiplier.low == 0 || afresh)
		m->multiplier = hashmap_next_multiplier(&m->multiplier);
	m->cell = calloc(cells, sizeof(*m->cell));
	for (int k = 0; m->cell != NULL && !hashmap_refill(m, &old); k++) {
		free(m->cell);
		m->multiplier = hashmap_next_multiplier(&m->multiplier);
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
 * Make room for the new key and return its cell.  Returns NULL if there is no
 * memory or if too many other keys collide with it.
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

static inline uint64_t
hashmap_most_bytes(uint64_t keys)
{
	uint64_t cells = 16;

	while (cells < 2 * keys)
		cells *= 2;
	return cells * sizeof(struct hashmap_cell);
}

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

		/* May the key in cell i move to the empty cell `hole`? */
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
	*m = (struct hashmap){ .multiplier = m->multiplier };
}

#endif
