/*
 * Test that events come out by time, and events with the same time in the order
 * in which they were added.
 */
#include "common/base/rng.h"
#include "common/base/timed-queue.h"
#include "tests/unit/tap.h"

enum { MANY = 1000 };

/* Find the first event with the smallest time by a slow search. */
static size_t
slow_pop(uint64_t at[], size_t n)
{
	size_t best = 0;

	for (size_t i = 1; i < n; i++)
		best = at[i] < at[best] ? i : best;
	at[best] = TIMED_QUEUE_NEVER;
	return best;
}

static void
check_against_twin(uint64_t span)
{
	static char item[MANY];
	uint64_t at[MANY];
	struct rng r = rng_seed(span);
	struct timed_queue q = { 0 };
	size_t bad = 0;

	for (size_t i = 0; i < MANY; i++) {
		at[i] = rng_u64(&r) % span;
		if (!timed_queue_push(&q, at[i], &item[i]))
			bad++;
	}
	for (size_t i = 0; i < MANY; i++) {
		const uint64_t due = timed_queue_due(&q);
		const char *got = timed_queue_pop(&q);
		size_t want, k = (size_t)(got - item);

		bad += due != at[k];
		want = slow_pop(at, MANY);
		bad += k != want;
	}
	ok(bad == 0 && timed_queue_pop(&q) == NULL,
	    "%d events in %llu ns come out in the order that a scan "
	    "finds", MANY, (unsigned long long)span);
	timed_queue_free(&q);
}

/* Add and remove events in turn, as a queue of departures does. */
static void
test_turns(void)
{
	struct rng r = rng_seed(7);
	struct timed_queue q = { 0 };
	uint64_t last = 0;
	size_t bad = 0;

	for (int i = 0; i < 100000; i++) {
		if (rng_u64(&r) % 2 == 0 || q.count == 0) {
			bad += !timed_queue_push(&q, last + rng_u64(&r) % 100,
			    &q);
			continue;
		}
		bad += timed_queue_due(&q) < last;
		last = timed_queue_due(&q);
		bad += timed_queue_pop(&q) != &q;
	}
	ok(bad == 0, "times do not decrease if no event is added before the "
	    "last time");
	timed_queue_free(&q);
}

int
main(void)
{
	struct timed_queue q = { 0 };
	int a, b;

	ok(timed_queue_due(&q) == TIMED_QUEUE_NEVER &&
	    timed_queue_pop(&q) == NULL,
	    "an empty queue has no due event");
	ok(timed_queue_push(&q, 5, &a) && timed_queue_push(&q, 3, &b) &&
	    timed_queue_due(&q) == 3 &&
	    timed_queue_pop(&q) == &b && timed_queue_pop(&q) == &a &&
	    q.count == 0,
	    "the earlier event comes first");
	ok(timed_queue_push(&q, TIMED_QUEUE_NEVER - 1, &a) &&
	    timed_queue_push(&q, 0, &b) &&
	    timed_queue_pop(&q) == &b &&
	    timed_queue_due(&q) == TIMED_QUEUE_NEVER - 1,
	    "events may have the first and the last possible time");
	timed_queue_free(&q);
	ok(q.count == 0 && timed_queue_due(&q) == TIMED_QUEUE_NEVER,
	    "a freed queue is empty");
	check_against_twin(1);
	check_against_twin(10);
	check_against_twin(UINT32_MAX);
	test_turns();
	return tap_end();
}
