/* Who is due next, against a search of the whole list. */
#include "common/base/heap.h"
#include "common/base/rng.h"
#include "tests/unit/tap.h"

enum { MOST = 300 };

/* Take the least out of the n at list: the list's new size. */
static size_t
take_least(struct due *list, size_t n, struct due *out)
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
agrees(uint64_t seed)
{
	struct due *h = due_new(MOST), list[MOST], want = { 0 };
	struct rng r = rng_seed(seed);
	size_t n = 0;
	bool same = h != NULL;

	for (int i = 0; i < 3000 && same; i++) {
		struct due x = due_make(rng_below(&r, 50),
		    (uint32_t)rng_below(&r, UINT32_MAX));

		if (n < MOST && (n == 0 || rng_below(&r, 5) < 3)) {
			list[n] = x;
			n = due_push(h, n, x);
			continue;
		}
		take_least(list, n, &want);
		same = h[0].key == want.key;
		if (rng_below(&r, 2) == 0) {	/* ... is due again */
			list[n - 1] = due_make(due_ns(&x), due_id(&want));
			due_again(h, n, due_ns(&x));
		} else {
			n = due_drop(h, n);
		}
	}
	due_free(h);
	return same;
}

int
main(void)
{
	struct due *h = due_new(3);
	size_t n = 0;
	bool same = true;

	n = due_push(h, n, due_make(7, 2));
	n = due_push(h, n, due_make(7, 1));
	n = due_push(h, n, due_make(UINT64_MAX, 0));
	ok(n == 3 && due_ns(h) == 7 && due_id(h) == 1,
	    "at one time the lower id is first");
	n = due_drop(h, n);
	ok(due_id(h) == 2, "then the higher");
	n = due_drop(h, n);
	ok(n == 1 && due_ns(h) == UINT64_MAX && due_id(h) == 0,
	    "the last of all times has room");
	ok(due_drop(h, n) == 0, "and then it is empty");
	due_free(h);
	for (uint64_t seed = 1; seed <= 200 && same; seed++) {
		same = agrees(seed);
		if (!same)
			note("seed %llu", (unsigned long long)seed);
	}
	ok(same, "random pushes, drops and agains, as in a list");
	return tap_end();
}
