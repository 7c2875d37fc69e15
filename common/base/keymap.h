/*
 * keymap.h - a hash table from 64-bit keys to 32-bit values
 *
 * Open addressing with linear probing; removal shifts back, so there are no
 * tombstones and the cost stays flat.  It grows by itself and owns its
 * memory: keymap_free() gives it back.  A zeroed struct is an empty map.
 */
#ifndef INNET_BASE_KEYMAP_H
#define INNET_BASE_KEYMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

struct keymap_cell {
	uint64_t key;
	uint32_t value;
	bool used;
};

struct keymap {
	struct keymap_cell *cell;
	size_t mask;		/* cells - 1; cells is a power of two */
	size_t count;
};

static inline size_t
keymap_home(const struct keymap *m, uint64_t key)
{
	key *= 0x9e3779b97f4a7c15;
	return (size_t)(key >> 32 ^ key >> 12) & m->mask;
}

/* Fetch into the cache where key is, or will be. */
static inline void
keymap_fetch(const struct keymap *m, uint64_t key)
{
	if (m->count > 0)
		__builtin_prefetch(&m->cell[keymap_home(m, key)]);
}

/* The value of key, or NULL; good until the next put or remove. */
static inline uint32_t *
keymap_get(const struct keymap *m, uint64_t key)
{
	if (m->count == 0)
		return NULL;
	for (size_t i = keymap_home(m, key); m->cell[i].used;
	    i = (i + 1) & m->mask) {
		if (m->cell[i].key == key)
			return &m->cell[i].value;
	}
	return NULL;
}

static inline bool
keymap_grow(struct keymap *m)
{
	struct keymap old = *m;
	size_t cells = old.cell == NULL ? 16 : (old.mask + 1) * 2;

	m->cell = calloc(cells, sizeof(*m->cell));
	if (m->cell == NULL) {
		*m = old;
		return false;
	}
	m->mask = cells - 1;
	for (size_t i = 0; old.cell != NULL && i <= old.mask; i++) {
		size_t at;

		if (!old.cell[i].used)
			continue;
		at = keymap_home(m, old.cell[i].key);
		while (m->cell[at].used)
			at = (at + 1) & m->mask;
		m->cell[at] = old.cell[i];
	}
	free(old.cell);
	return true;
}

/*
 * The place of key's value, made and set to `fresh` if key is new; NULL
 * without memory.  Good until the next put or remove.
 */
static inline uint32_t *
keymap_put(struct keymap *m, uint64_t key, uint32_t fresh)
{
	uint32_t *have = keymap_get(m, key);
	size_t i;

	if (have != NULL)
		return have;
	if ((m->cell == NULL || m->count * 2 > m->mask) && !keymap_grow(m))
		return NULL;
	i = keymap_home(m, key);
	while (m->cell[i].used)
		i = (i + 1) & m->mask;
	m->cell[i] = (struct keymap_cell){ key, fresh, true };
	m->count++;
	return &m->cell[i].value;
}

/* Take key out, if it is there. */
static inline void
keymap_remove(struct keymap *m, uint64_t key)
{
	size_t hole, i;

	if (m->count == 0)
		return;
	for (hole = keymap_home(m, key); m->cell[hole].key != key ||
	    !m->cell[hole].used; hole = (hole + 1) & m->mask) {
		if (!m->cell[hole].used)
			return;
	}
	m->count--;
	for (i = (hole + 1) & m->mask; m->cell[i].used;
	    i = (i + 1) & m->mask) {
		size_t home = keymap_home(m, m->cell[i].key);

		/* may the one at i move into the hole? */
		if (((i - home) & m->mask) >= ((i - hole) & m->mask)) {
			m->cell[hole] = m->cell[i];
			hole = i;
		}
	}
	m->cell[hole].used = false;
}

static inline void
keymap_free(struct keymap *m)
{
	free(m->cell);
	*m = (struct keymap){ 0 };
}

#endif
