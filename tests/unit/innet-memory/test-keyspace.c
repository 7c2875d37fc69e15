/*
 * Unit tests of keyspace.h: names that were chosen to collide do not collide.
 */
#include "cmd/innet-memory/store/keyspace.h"
#include "cmd/innet-memory/store/lazy-free.h"
#include "tests/unit/tap.h"

enum { PAIRS = 12, NAMES = 1 << PAIRS };

/*
 * Make name i of many that would have the same hash for every seed, if the hash
 * multiplied by a known factor and shifted by 32 bits: in each pair of words
 * bits 63 and 31 of the second word cancel bit 63 of the first.
 */
static void
make_name(unsigned i, uint64_t w[2 * PAIRS])
{
	for (unsigned k = 0; k < PAIRS; k++) {
		const uint64_t on = i >> k & 1;

		w[2 * k] = on << 63;
		w[2 * k + 1] = on << 63 | on << 31;
	}
}

int
main(void)
{
	struct account bs = { .limit = 1 << 24 };
	struct lazy_free rs = { 0 };
	struct keyspace ks = { .account = &bs, .lazy_free = &rs,
	    .seed = 0x243f6a8885a308d3 };
	uint64_t w[2 * PAIRS];
	size_t behind = 0, found = 0;

	for (unsigned i = 0; i < NAMES; i++) {
		make_name(i, w);
		keyspace_add(&ks, (const uint8_t *)w, sizeof(w));
	}
	for (unsigned i = 0; i < NAMES; i++) {
		const struct key *k;

		make_name(i, w);
		k = keyspace_find(&ks, (const uint8_t *)w, sizeof(w));
		found += k != NULL && memcmp(k->name, w, sizeof(w)) == 0;
		behind += k != NULL && k->next != NULL;
	}
	ok(ks.n == NAMES && found == NAMES, "all of %d names are found",
	    NAMES);
	ok(behind == 0, "no two names have the same hash");
	keyspace_clear(&ks);
	ok(ks.n == 0 && rs.keys == NAMES - LAZY_FREE_AT_ONCE && rs.most ==
	    LAZY_FREE_AT_ONCE, "all names are gone at once, and at most %d are "
	    "freed at once",
	    LAZY_FREE_AT_ONCE);
	ok(lazy_free_step(&rs, &bs, 1000) == 1000 &&
		rs.keys == NAMES - LAZY_FREE_AT_ONCE - 1000 && bs.used > 0,
	    "a step frees as many as requested");
	bs.limit = bs.used;
	ok(lazy_free_make_room(&rs, &bs, 1) && rs.keys > 2000 &&
		bs.used < bs.limit,
	    "making room frees as many as needed");
	lazy_free_step(&rs, &bs, SIZE_MAX);
	ok(bs.used == 0 && !lazy_free_is_pending(&rs),
	    "the account is 0 in the end");
	return tap_end();
}
