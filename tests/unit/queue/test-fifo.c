/* Compare drop-tail with a list that is shifted. */
#include <string.h>

#include "common/base/rng.h"
#include "common/queue/slots.h"
#include "tests/unit/tap.h"

static struct arrival
make_arrival(const uint32_t *number)
{
	return (struct arrival){ .bytes = (const uint8_t *)number,
	    .have = sizeof(*number), .wire_bytes = *number };
}

static bool
has_number(const struct slots *s, uint32_t number)
{
	const struct slot *h = slots_head(s);

	return h != NULL && h->wire_bytes == number && h->opened_ns == number &&
	    h->have == 4 && memcmp(h->bytes, &number, 4) == 0;
}

static bool
test_twin(uint32_t size)
{
	uint32_t list[8], count = 0;
	struct rng r = rng_seed(size);
	struct slots s;
	bool same = slots_init(&s, size);

	for (uint32_t i = 0; i < 5000 && same; i++) {
		const struct arrival a = make_arrival(&i);

		if (rng_below(&r, 5) < 3) {
			same = fifo_offer(&s, &a, i) == (count < size);
			if (count < size)
				list[count++] = i;
		} else if (count > 0) {
			slots_pop(&s);
			memmove(list, list + 1, --count * sizeof(*list));
		}
		same = same && s.count == count && (count == 0 ?
		    slots_head(&s) == NULL : has_number(&s, list[0]));
	}
	slots_free(&s);
	return same;
}

int
main(void)
{
	const uint32_t n[] = { 10, 11, 12, 13 };
	struct arrival a[4];
	struct slots s;

	for (int i = 0; i < 4; i++)
		a[i] = make_arrival(&n[i]);
	ok(slots_init(&s, 3) && slots_head(&s) == NULL,
	    "an empty queue has no head");
	ok(fifo_offer(&s, &a[0], 10) && has_number(&s, 10),
	    "the first frame is the head");
	ok(fifo_offer(&s, &a[1], 11) && fifo_offer(&s, &a[2], 12) &&
	    s.count == 3, "the last slot can be used");
	ok(!fifo_offer(&s, &a[3], 13) && s.count == 3 && has_number(&s, 10),
	    "one frame more is dropped, and nothing else changes");
	slots_pop(&s);
	ok(has_number(&s, 11) && fifo_offer(&s, &a[3], 13),
	    "after the head has left, one frame can be added");
	slots_pop(&s);
	slots_pop(&s);
	ok(has_number(&s, 13), "frames leave in the order in which they "
	    "arrived");
	slots_pop(&s);
	ok(slots_head(&s) == NULL, "in the end the queue is empty");
	slots_free(&s);
	for (uint32_t size = 1; size <= 8; size++)
		ok(test_twin(size), "%u slots: 5,000 random steps agree with a "
		    "list", size);
	return tap_end();
}
