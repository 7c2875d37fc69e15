/* Compare the number of active clusters with a count over an array of times. */
#include "common/base/rng.h"
#include "common/queue/txctl.h"
#include "tests/unit/tap.h"

enum { KEYS = 40 };

/* Keys on both sides of the limit between the array and the map. */
static uint64_t
key_of(uint32_t i)
{
	return i < KEYS / 2 ? ACTIVE_CLUSTERS_PLAIN - 1 - i :
	    i == KEYS - 1 ? UINT64_MAX : i == KEYS - 2 ?
	    UINT32_MAX : ACTIVE_CLUSTERS_PLAIN + i - KEYS / 2;
}

static bool
test_twin(uint64_t seed, uint64_t window)
{
	uint64_t seen[KEYS] = { 0 }, now = 1;
	struct rng r = rng_seed(seed);
	struct active_clusters a;
	bool same = active_clusters_init(
	    &a, window, ACTIVE_CLUSTERS_PLAIN, &hashmap_constant);

	for (int i = 0; i < 2000 && same; i++) {
		uint32_t k = (uint32_t)rng_below(&r, KEYS), want = 0;

		now += rng_below(&r, 4);
		if (rng_below(&r, 3) > 0) {
			same = active_clusters_note(&a, key_of(k), now);
			seen[k] = now;
		}
		for (k = 0; k < KEYS; k++)
			want += seen[k] != 0 && seen[k] + window >= now;
		same = same && active_clusters_count(&a, now) == want;
	}
	active_clusters_free(&a);
	return same;
}

static void
test_window(void)
{
	struct active_clusters a;

	ok(active_clusters_init(
	       &a, 100, ACTIVE_CLUSTERS_PLAIN, &hashmap_constant) &&
	    active_clusters_count(&a, 0) == 0,
	    "at first no key is active");
	active_clusters_note(&a, 7, 1000);
	ok(active_clusters_count(&a, 1000) == 1,
	    "a key counts at the instant of its update");
	ok(active_clusters_count(&a, 1100) == 1,
	    "a key counts until the last nanosecond of the window");
	ok(active_clusters_count(&a, 1101) == 0,
	    "a key is forgotten one nanosecond later");
	active_clusters_note(&a, 7, 1200);
	active_clusters_note(&a, 7, 1290);
	ok(active_clusters_count(&a, 1390) == 1,
	    "a key with a second update stays longer, and counts once");
	active_clusters_note(&a, 8, 1390);
	active_clusters_note(&a, 7, 1391);
	ok(active_clusters_count(&a, 1491) == 1,
	    "a key with a newer update leaves last");
	ok(active_clusters_count(&a, 1492) == 0, "all keys can leave");
	active_clusters_free(&a);
	ok(active_clusters_init(&a, 0, 2, &hashmap_constant) &&
	    active_clusters_note(&a, 1, 5) &&
	    active_clusters_note(&a, 2, 5) &&
	    active_clusters_count(&a, 5) == 2 &&
	    active_clusters_count(&a, 6) == 0,
	    "a window of 0 has the keys of this very instant");
	active_clusters_free(&a);
}

static void
test_many(void)
{
	const uint32_t n = 2 * ACTIVE_CLUSTERS_PLAIN + 1;
	struct active_clusters a;
	bool seen = active_clusters_init(
	    &a, 10, ACTIVE_CLUSTERS_PLAIN, &hashmap_constant);

	for (uint32_t k = 0; k < n; k++)
		seen = seen && active_clusters_note(&a, k << 1 | (k & 1) << 31,
		    0);
	ok(seen && active_clusters_count(&a, 10) == n,
	    "%u keys, more than there is room for at first, all count", n);
	ok(active_clusters_count(&a, 11) == 0,
	    "all keys are forgotten at the same time");
	for (uint32_t k = 0; k < n; k++)
		seen = seen && active_clusters_note(&a, k << 1 | (k & 1) << 31,
		    20);
	ok(seen && active_clusters_count(&a, 20) == n,
	    "all keys can return");
	active_clusters_free(&a);
}

/* Each key is new: memory must not grow with the number of all keys. */
static void
test_strangers(void)
{
	const uint32_t most = ACTIVE_CLUSTERS_OTHERS;
	struct active_clusters a;
	bool seen = active_clusters_init(&a, 10, 2, &hashmap_constant);

	for (uint64_t k = 0; k < 3 * most; k++)
		seen = active_clusters_note(&a, 2 + k, 11 * (k / most)) && seen;
	ok(seen && active_clusters_count(&a, 22) == most &&
	    a.room <= 2 * most && a.index.count == most,
	    "the memory of keys that left the window is used again");
	ok(!active_clusters_note(&a, UINT64_MAX, 22) &&
	    active_clusters_count(&a, 22) == most,
	    "more than %u keys from the network are not counted", most);
	ok(active_clusters_note(&a, 1, 22) && active_clusters_count(&a, 32) ==
	    most + 1 && active_clusters_count(&a, 33) == 0,
	    "the other keys are still counted");
	active_clusters_free(&a);
}

int
main(void)
{
	test_window();
	for (uint64_t w = 0; w < 200; w = 3 * w + 1)
		ok(test_twin(w, w),
		    "window %llu: 2,000 random updates agree with a count over "
		    "an array",
		    (unsigned long long)w);
	test_many();
	test_strangers();
	return tap_end();
}
