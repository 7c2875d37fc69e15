/* Events come out by time, and at one time in the order they went in. */
#include "common/base/rng.h"
#include "common/base/timed-queue.h"
#include "tests/unit/tap.h"

enum { MANY = 1000 };

/* The first of the least time that is still there: the slow way. */
static size_t
slow_pop(uint64_t at[], size_t n)
{
	size_t best = 0;

	for (size_t i = 1; i < n; i++)
		best = at[i] < at[best] ? i : best;
	at[best] = EVQ_NEVER;
	return best;
}

static void
twins(uint64_t span)
{
	static char item[MANY];
	uint64_t at[MANY];
	struct rng r = rng_seed(span);
	struct evq q = { 0 };
	size_t bad = 0;

	for (size_t i = 0; i < MANY; i++) {
		at[i] = rng_u64(&r) % span;
		if (!evq_push(&q, at[i], &item[i]))
			bad++;
	}
	for (size_t i = 0; i < MANY; i++) {
		const uint64_t due = evq_due(&q);
		const char *got = evq_pop(&q);
		size_t want, k = (size_t)(got - item);

		bad += due != at[k];
		want = slow_pop(at, MANY);
		bad += k != want;
	}
	ok(bad == 0 && evq_pop(&q) == NULL, "%d events in %llu ns come out "
	    "as a scan finds them", MANY, (unsigned long long)span);
	evq_free(&q);
}

/* Pushed and popped by turns, as a queue of departures is. */
static void
turns(void)
{
	struct rng r = rng_seed(7);
	struct evq q = { 0 };
	uint64_t last = 0;
	size_t bad = 0;

	for (int i = 0; i < 100000; i++) {
		if (rng_u64(&r) % 2 == 0 || q.count == 0) {
			bad += !evq_push(&q, last + rng_u64(&r) % 100, &q);
			continue;
		}
		bad += evq_due(&q) < last;
		last = evq_due(&q);
		bad += evq_pop(&q) != &q;
	}
	ok(bad == 0, "time does not go back when none is pushed before it");
	evq_free(&q);
}

int
main(void)
{
	struct evq q = { 0 };
	int a, b;

	ok(evq_due(&q) == EVQ_NEVER && evq_pop(&q) == NULL,
	    "an empty queue has nothing due");
	ok(evq_push(&q, 5, &a) && evq_push(&q, 3, &b) && evq_due(&q) == 3 &&
	    evq_pop(&q) == &b && evq_pop(&q) == &a && q.count == 0,
	    "the earlier comes first");
	ok(evq_push(&q, EVQ_NEVER - 1, &a) && evq_push(&q, 0, &b) &&
	    evq_pop(&q) == &b && evq_due(&q) == EVQ_NEVER - 1,
	    "from the first time to the last");
	evq_free(&q);
	ok(q.count == 0 && evq_due(&q) == EVQ_NEVER, "freed, it is empty");
	twins(1);
	twins(10);
	twins(UINT32_MAX);
	turns();
	return tap_end();
}
