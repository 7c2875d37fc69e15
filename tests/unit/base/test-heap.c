/* Compare the heap's next entry with a search of the whole list. */
#include "common/base/heap.h"
#include "common/base/rng.h"
#include "tests/unit/tap.h"

enum { MOST = 300 };

/* Remove the smallest of the n entries of the list; return the new number. */
static size_t
take_least(struct heap *list, size_t n, struct heap *out)
{
	size_t at = 0;

	for (size_t i = 1; i < n; i++) {
		if (list[i].key < list[at].key)
			at = i;
	}
	*out = list[at];
	list[at] = list[n - 1];
	return n - 1;
}

static bool
agrees_with_sort(uint64_t seed)
{
	struct heap *h = heap_new(MOST), list[MOST], want = { 0 };
	struct rng r = rng_seed(seed);
	size_t n = 0;
	bool same = h != NULL;

	for (int i = 0; i < 3000 && same; i++) {
		struct heap x = heap_make(rng_below(&r, 50),
		    (uint32_t)rng_below(&r, UINT32_MAX));

		if (n < MOST && (n == 0 || rng_below(&r, 5) < 3)) {
			list[n] = x;
			n = heap_push(h, n, x);
			continue;
		}
		take_least(list, n, &want);
		same = h[0].key == want.key;
		if (rng_below(&r, 2) == 0) {	/* the entry is due again */
			list[n - 1] = heap_make(heap_ns(&x), heap_id(&want));
			heap_again(h, n, heap_ns(&x));
		} else {
			n = heap_drop(h, n);
		}
	}
	heap_free(h);
	return same;
}

int
main(void)
{
	struct heap *h = heap_new(3);
	size_t n = 0;
	bool same = true;

	n = heap_push(h, n, heap_make(7, 2));
	n = heap_push(h, n, heap_make(7, 1));
	n = heap_push(h, n, heap_make(UINT64_MAX, 0));
	ok(n == 3 && heap_ns(h) == 7 && heap_id(h) == 1,
	    "of two entries with the same time, the lower id is first");
	n = heap_drop(h, n);
	ok(heap_id(h) == 2, "then the higher id is first");
	n = heap_drop(h, n);
	ok(n == 1 && heap_ns(h) == UINT64_MAX && heap_id(h) == 0,
	    "an entry may have the last of all times");
	ok(heap_drop(h, n) == 0, "the heap is empty in the end");
	heap_free(h);
	for (uint64_t seed = 1; seed <= 200 && same; seed++) {
		same = agrees_with_sort(seed);
		if (!same)
			note("seed %llu", (unsigned long long)seed);
	}
	ok(same, "random changes give the same order as a list");
	return tap_end();
}
