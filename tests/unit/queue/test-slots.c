/*
 * Test slots: which slot owns the bytes, where the update is, and which slot is
 * next.
 */
#include <string.h>

#include "common/queue/slots.h"
#include "tests/unit/tap.h"

enum { HEAD = 42, N = 3, BYTES = HEAD + UPDATE_HEADER_BYTES + 4 * N };

/* Make a frame of an update whose bytes after the header are equal. */
static struct arrival
make_frame(uint8_t bytes[BYTES], uint8_t fill)
{
	static struct update up[256];
	struct update *u = &up[fill];

	*u = (struct update){ .kind = UPDATE_UPDATE, .cluster = fill,
	    .merged = 1, .elements = N, .n = N };
	memset(bytes, fill, BYTES);
	u->vec = update_put(bytes + HEAD, u);
	return (struct arrival){ .bytes = bytes, .have = BYTES,
	    .wire_bytes = BYTES + 6, .payload_at = HEAD, .is_update = true,
	    .up = u };
}

static void
test_fill(void)
{
	uint8_t bytes[BYTES], small[1] = { 9 };
	struct arrival a = make_frame(bytes, 7),
		       b = {.bytes = small, .have = 1, .wire_bytes = 60};
	struct slot s = { .changed = true };
	const uint8_t *kept;

	ok(slots_fill(&s, &a) && s.have == BYTES && s.bytes != bytes &&
	    memcmp(s.bytes, bytes, BYTES) == 0, "a slot has its own copy of "
	    "the frame");
	memset(bytes, 0, sizeof(bytes));
	ok(s.bytes[0] == 7, "the copy does not change with the arrived frame");
	ok(s.up.vec == s.bytes + HEAD + UPDATE_HEADER_BYTES &&
	    s.up.vec[0] == 7, "the vector of the update is in the copy");
	ok(s.wire_bytes == BYTES + 6 && s.payload_at == HEAD && s.is_update &&
	    s.up.cluster == 7, "the fields of the arrived frame are kept");
	ok(!s.changed, "an arrived frame is not a changed one");
	kept = s.bytes;
	ok(slots_fill(&s, &b) && s.bytes == kept && s.room == BYTES &&
	    s.have == 1 && s.bytes[0] == 9 && s.bytes[1] == 7,
	    "a shorter frame uses the same memory");
	ok(!s.is_update && s.wire_bytes == 60, "a shorter frame can be regular "
	    "traffic");
	a = make_frame(bytes, 8);
	ok(slots_fill(&s, &a) && s.bytes == kept && s.have == BYTES &&
	    s.bytes[BYTES - 1] == 8, "a longer frame uses the same memory "
	    "again");
	free(s.bytes);

	s = (struct slot){ 0 };
	b.have = 0;
	ok(slots_fill(&s, &b) && s.have == 0,
	    "a frame without captured bytes uses a slot too");
	free(s.bytes);
}

static void
test_ring(void)
{
	uint8_t bytes[BYTES];
	struct arrival a = make_frame(bytes, 1);
	bool placed = true;
	struct slots s;

	ok(slots_init(&s, 1) && slots_append(&s, &a, 5) == 0 &&
	    slots_append(&s, &a, 6) == -1 && slots_head(&s)->opened_ns == 5,
	    "one slot has one frame and the time of its arrival");
	slots_pop(&s);
	ok(slots_head(&s) == NULL && slots_append(&s, &a, 7) == 0,
	    "a slot can be used again");
	slots_free(&s);
	ok(s.ring == NULL && s.size == 0, "freed slots are empty");

	slots_init(&s, 4);
	for (uint64_t i = 0; i < 1000; i++) {
		if (i >= 3)
			slots_pop(&s);
		placed = placed && slots_append(&s, &a, i) == (int64_t)i % 4 &&
		    slots_head(&s)->opened_ns == (i < 3 ? 0 : i - 2);
	}
	ok(placed, "the place of a frame wraps around the ring and stays its "
	    "own");
	slots_free(&s);
}

int
main(void)
{
	test_fill();
	test_ring();
	return tap_end();
}
