/* Compare the table with an array over random insertions and removals. */
#include <string.h>

#include "common/base/bytes.h"
#include "common/base/hashmap.h"
#include "common/base/rng.h"
#include "common/wire/addr.h"
#include "tests/unit/tap.h"

enum { KEYS_MAX = 512 };

struct twin {
	uint64_t key[KEYS_MAX];
	uint32_t value[KEYS_MAX];
	bool have[KEYS_MAX];
	uint32_t count;
};

/* Does every key have the same value in map and twin? */
static bool
equals_twin(const struct hashmap *m, const struct twin *t, uint32_t keys)
{
	bool all = m->count == t->count;

	for (uint32_t i = 0; i < keys && all; i++) {
		const uint32_t *at = hashmap_get(m, t->key[i]);

		all = t->have[i] ? at != NULL && *at == t->value[i] :
		    at == NULL;
	}
	return all;
}

/*
 * Do random work on `keys` of the twin's keys, with at most `most` in the map.
 */
static bool
agrees_with_twin(struct hashmap *m, struct twin *t, uint32_t keys,
    uint32_t most, struct rng *r)
{
	bool all = true;

	for (uint32_t step = 0; step < 4000 && all; step++) {
		uint32_t k = (uint32_t)rng_below(r, keys);
		uint32_t *at;

		if (rng_below(r, 2) == 0 && (t->have[k] || t->count < most)) {
			at = hashmap_put(m, t->key[k], step);
			all = at != NULL;
			t->count += !t->have[k];
			if (!t->have[k])
				t->value[k] = step;
			t->have[k] = true;
			if (all && rng_below(r, 4) == 0)
				*at = t->value[k] = ~step;
		} else {
			hashmap_remove(m, t->key[k]);
			t->count -= t->have[k];
			t->have[k] = false;
		}
		all = all && equals_twin(m, t, keys);
	}
	return all;
}

/*
 * Test keys whose cell in a table of 16 is near its end, so that chains wrap.
 */
static void
test_wrapping(void)
{
	for (size_t from = 11; from < 16; from++) {
		const struct hashmap sixteen = {.mask = 15,
		    .shift = 60,
		    .multiplier = hashmap_next_multiplier(
			&(struct hashmap_multiplier){0})};
		struct rng r = rng_seed(from);
		struct twin t = { .count = 0 };
		struct hashmap m = { 0 };
		uint32_t n = 0;

		for (uint64_t k = 0; n < 24; k++) {
			if (hashmap_home(&sixteen, k) >= from)
				t.key[n++] = k;
		}
		ok(agrees_with_twin(&m, &t, 24, 8, &r) && m.mask == 15,
		    "chains from cells %zu to 15 wrap around and agree", from);
		hashmap_free(&m);
	}
}

static void
test_edges(void)
{
	struct hashmap m = { 0 };
	uint32_t *at;

	ok(hashmap_get(&m, 0) == NULL, "an empty map has no key");
	hashmap_remove(&m, 0);
	ok(m.count == 0, "removing a key from an empty map does nothing");
	at = hashmap_put(&m, 0, 5);
	ok(at != NULL && *at == 5 && m.count == 1, "0 can be a key");
	at = hashmap_put(&m, UINT64_MAX, 6);
	ok(at != NULL && *at == 6 && m.count == 2,
	    "the largest number can be a key");
	at = hashmap_put(&m, 0, 7);
	ok(at != NULL && *at == 5 && m.count == 2,
	    "adding a key again keeps its value");
	hashmap_remove(&m, 1);
	ok(m.count == 2, "removing a missing key does nothing");
	hashmap_remove(&m, 0);
	hashmap_remove(&m, 0);
	ok(m.count == 1 && hashmap_get(&m, 0) == NULL,
	    "a removed key is gone");
	hashmap_free(&m);
	ok(m.cell == NULL && hashmap_get(&m, UINT64_MAX) == NULL,
	    "a freed map is empty");
}

static void
test_grows(void)
{
	struct hashmap m = { 0 };
	bool all = true, half = true;

	for (uint32_t i = 0; i < 100000; i++) {
		uint32_t *at = hashmap_put(&m, (uint64_t)i << 32, i);

		all = all && at != NULL && *at == i;
		half = half && 2 * m.count <= m.mask + 1;
	}
	for (uint32_t i = 0; i < 100000; i++) {
		uint32_t *at = hashmap_get(&m, (uint64_t)i << 32);

		all = all && at != NULL && *at == i;
	}
	ok(all && m.count == 100000, "each of 100,000 keys has its value");
	ok(half, "at most half of the cells are in use");
	for (uint32_t i = 0; i < 100000; i++)
		hashmap_remove(&m, (uint64_t)i << 32);
	for (size_t i = 0; i <= m.mask; i++)
		all = all && !m.cell[i].used;
	ok(all && m.count == 0, "no cell is in use after all keys are removed");
	hashmap_free(&m);
}

/* Return the longest way from the cell where a key belongs to its cell. */
static size_t
find_farthest(const struct hashmap *m)
{
	size_t most = 0;

	for (size_t i = 0; i <= m->mask; i++) {
		const size_t far = (i - hashmap_home(m, m->cell[i].key)) &
		    m->mask;

		if (m->cell[i].used && far > most)
			most = far;
	}
	return most;
}

/*
 * Add n keys to 2^bits cells, all of which collide under the multiplier `by`.
 */
static size_t
put_meeting(struct hashmap *m, const struct hashmap_multiplier *by,
    unsigned bits, uint32_t n)
{
	const struct hashmap like = { .mask = ((size_t)1 << bits) - 1,
	    .shift = 64 - bits, .multiplier = *by };
	uint32_t put = 0;

	for (uint64_t k = 0; put < n; k++) {
		if (hashmap_home(&like, k) >= 16)
			continue;
		if (hashmap_put(m, k, put++) == NULL)
			return put;
	}
	return put;
}

/* Keys that collide under one multiplier do not under the next. */
static void
test_attacked(void)
{
	const struct hashmap_multiplier own = hashmap_next_multiplier(
					    &(struct hashmap_multiplier){0}),
					secret = {0x123456789abcdef0,
					    0xfedcba9876543211};
	struct hashmap m = { 0 };
	const size_t put = put_meeting(&m, &own, 14, 4000);

	ok(put == 4000 && find_farthest(&m) <=
	    HASHMAP_PROBES && m.mask <= 16383,
	    "with 4,000 keys that collide, none is over 64 cells from its "
	    "place; the farthest is %zu", find_farthest(&m));
	hashmap_free(&m);
	hashmap_seed(&m, &secret);
	put_meeting(&m, &own, 14, 4000);
	ok(m.multiplier.high == secret.high && m.multiplier.low == secret.low &&
	    find_farthest(&m) < 32, "the same keys do not collide under "
	    "another multiplier; the farthest is %zu", find_farthest(&m));
	hashmap_free(&m);
}

/* Return the mean number of cells that a search for a key looks at. */
static double
mean_probes(const struct hashmap *m)
{
	size_t sum = 0;

	for (size_t i = 0; i <= m->mask; i++) {
		if (m->cell[i].used)
			sum += 1 + ((i - hashmap_home(m, m->cell[i].key)) &
			    m->mask);
	}
	return (double)sum / (double)m->count;
}

/*
 * Make keys that collide under a known multiplier: their cells are from 0 on.
 */
static void
test_former(void)
{
	const uint64_t golden = 0x9e3779b97f4a7c15;
	uint64_t inverse = golden;		/* modulo 2^64 */
	struct hashmap m = { 0 }, usual = { 0 };

	for (int i = 0; i < 5; i++)
		inverse *= 2 - golden * inverse;
	for (uint32_t i = 0; i < 100000; i++) {
		hashmap_put(&m, inverse * ((uint64_t)i & 0xfff) +
		    ((uint64_t)i >> 12) * inverse * ((uint64_t)1 << 60), i);
		hashmap_put(&usual, i, i);
	}
	ok(mean_probes(&m) < 3 * mean_probes(&usual),
	    "100,000 keys that collided under a known multiplier need %.2f "
	    "cells a search, and others %.2f",
	    mean_probes(&m), mean_probes(&usual));
	hashmap_free(&m);
	hashmap_free(&usual);
}

/*
 * Make 65,536 addresses of an IPv6 /64 that have one key under a known
 * multiplier.
 */
static void
test_neighbours(void)
{
	const struct hashmap_multiplier secret = { 0x123456789abcdef0,
	    0xfedcba9876543211 };
	const uint64_t prefix = 0x9e3779b97f4a7c15;
	union addr a = { .in6 = { .sin6_family = AF_INET6 } }, b;
	struct hashmap m = { 0 }, usual = { 0 };

	memcpy(&a.in6.sin6_addr, &prefix, sizeof(prefix));
	b = a;
	b.in6.sin6_addr.s6_addr[15] = 1;
	ok(addr_key(&a, &hashmap_constant) == addr_key(&b, &hashmap_constant),
	    "under a known multiplier, a /64 has a single key");
	hashmap_seed(&m, &secret);
	hashmap_seed(&usual, &secret);
	for (uint32_t x = 0; x < 65536; x++) {
		bytes_put(a.in6.sin6_addr.s6_addr + 8, x, 8);
		hashmap_put(&m, addr_key(&a, &secret), x);
		hashmap_put(&usual, x, x);
	}
	ok(m.count > 65500 && mean_probes(&m) < 3 * mean_probes(&usual),
	    "under an unknown multiplier, 65,536 addresses of a /64 need %.2f "
	    "cells a search, and others %.2f",
	    mean_probes(&m), mean_probes(&usual));
	hashmap_free(&m);
	hashmap_free(&usual);
}

int
main(void)
{
	struct twin t = { .count = 0 };
	struct rng r = rng_seed(7);
	struct hashmap m = { 0 };

	test_edges();
	test_wrapping();
	for (uint32_t i = 0; i < KEYS_MAX; i++)
		t.key[i] = i % 2 ? i : rng_u64(&r);
	ok(agrees_with_twin(&m, &t, KEYS_MAX, KEYS_MAX, &r),
	    "4,000 random insertions and removals agree with a search");
	hashmap_free(&m);
	test_grows();
	test_attacked();
	test_former();
	test_neighbours();
	return tap_end();
}
