/*
 * Test that a calendar returns events in the order of a heap, for any gaps
 * between events.
 */
#include "cmd/innet-sim/engine/calendar.h"
#include "common/base/rng.h"
#include "tests/unit/tap.h"

enum { MOST = 20000 };

struct both {
	struct calendar c;
	struct heap *h;
	size_t n;
};

static void
push(struct both *b, uint64_t t, uint32_t id)
{
	b->n = heap_push(b->h, b->n, heap_make(t, id));
	calendar_push(&b->c, heap_make(t, id));
}

/* Do calendar and heap return the same next event? */
static bool
pop(struct both *b, struct heap *x)
{
	struct heap want = b->h[0];

	b->n = heap_drop(b->h, b->n);
	return calendar_pop(&b->c, x) == 1 && x->key == want.key;
}

/* Test events that are each due again after a gap of up to 1 << bits ns. */
static bool
agrees(uint64_t seed, size_t events, unsigned bits, int rounds)
{
	struct both b = { .h = heap_new(MOST) };
	struct rng r = rng_seed(seed);
	bool same = b.h != NULL;
	struct heap x;

	for (size_t i = 0; i < events; i++)
		push(&b, rng_below(&r, (uint64_t)1 << bits), (uint32_t)i);
	for (int i = 0; i < rounds && same && b.n > 0; i++) {
		same = pop(&b, &x);
		if (rng_below(&r, 1000) == 0)	/* another pace from here on */
			bits = (unsigned)rng_below(&r, 50);
		if (rng_below(&r, 500) != 0)
			push(&b, heap_ns(&x) + rng_below(&r, (uint64_t)1 <<
			    rng_below(&r, bits + 1)), heap_id(&x));
	}
	while (b.n > 0 && same)
		same = pop(&b, &x);
	same = same && calendar_pop(&b.c, &x) == 0;
	heap_free(b.h);
	calendar_free(&b.c);
	return same;
}

int
main(void)
{
	static const size_t events[] = { 1, 10, 1000, 20000 };
	static const unsigned bits[] = { 0, 1, 10, 20, 30, 45 };
	struct calendar none = { 0 };
	struct heap x;

	ok(calendar_pop(&none, &x) == 0, "an empty calendar has no event");
	for (size_t i = 0; i < 4; i++) {
		for (size_t k = 0; k < 6; k++)
			ok(agrees(i * 6 + k, events[i], bits[k], 30000),
			    "%zu events with gaps up to 2^%u ns come in the "
			    "order of a heap", events[i],
			    bits[k]);
	}
	ok(calendar_push(&none, heap_make(INT64_MAX, 3)) &&
	    calendar_push(&none, heap_make(5, 3)) &&
	    calendar_pop(&none, &x) == 1 && heap_ns(&x) == 5 &&
	    calendar_pop(&none, &x) == 1 && heap_ns(&x) == INT64_MAX,
	    "events may have the first and the last possible time");
	calendar_free(&none);
	return tap_end();
}
