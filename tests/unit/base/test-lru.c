/* Compare the least recently used rows with a list that is searched. */
#include "common/base/lru.h"
#include "common/base/rng.h"
#include "tests/unit/tap.h"

enum { MOST = 40, KEYS = 97 };

/* Keys, the newest last. */
struct twin {
	uint64_t key[MOST];
	uint32_t value[MOST];
	uint32_t count;
};

static void
twin_drop(struct twin *t, uint32_t i)
{
	t->count--;
	memmove(t->key + i, t->key + i + 1, (t->count - i) * sizeof(*t->key));
	memmove(t->value + i, t->value + i + 1, (t->count - i) *
	    sizeof(*t->value));
}

static uint32_t
twin_at(const struct twin *t, uint64_t key)
{
	uint32_t i = 0;

	while (i < t->count && t->key[i] != key)
		i++;
	return i;
}

static bool
equals_twin(const struct lru *r, const struct twin *t)
{
	bool all = r->count == t->count && (t->count == 0 ? lru_oldest(r)
	    == 0 : r->node[lru_oldest(r)].key == t->key[0]);

	for (uint32_t i = 0; i < t->count && all; i++) {
		const uint32_t at = lru_find(r, t->key[i]);

		all = at != 0 && *(uint32_t *)lru_row(r, at) ==
		    t->value[i];
	}
	return all;
}

int
main(void)
{
	struct lru r = lru_new(MOST, sizeof(uint32_t),
	    &(struct hashmap_multiplier){ 0 });
	struct rng random = rng_seed(3);
	struct twin t = { .count = 0 };
	bool all = true;

	ok(lru_find(&r, 5) == 0 && lru_oldest(&r) == 0,
	    "an empty table has no row");
	for (uint32_t step = 1; step < 20000 && all; step++) {
		const uint64_t key = rng_below(&random, KEYS);
		const uint32_t i = twin_at(&t, key);
		uint32_t at;

		if (i < t.count && rng_below(&random, 4) == 0) {
			lru_remove(&r, lru_find(&r, key));
			twin_drop(&t, i);
		} else {
			at = lru_find_or_add(&r, key);
			if (i < t.count)
				twin_drop(&t, i);
			else if (t.count == MOST)
				twin_drop(&t, 0);
			t.key[t.count] = key;
			t.value[t.count++] = step;
			*(uint32_t *)lru_row(&r, at) = step;
		}
		all = equals_twin(&r, &t);
	}
	ok(all, "20,000 uses and removals agree with a list");
	ok(r.room <= 2 * MOST && r.made <= MOST, "freed rows are used again");
	lru_free(&r);
	r = lru_new(0, 4, &(struct hashmap_multiplier){ 1, 1 });
	ok(lru_find_or_add(&r, 1) == 0 && r.count == 0,
	    "a table for no rows takes no row");
	lru_free(&r);
	return tap_end();
}
