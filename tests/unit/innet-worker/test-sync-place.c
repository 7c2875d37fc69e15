/*
 * Test where results belong before they have arrived, and which of them were
 * predicted.
 */
#include "cmd/innet-worker/sync-place.c"

#include "tests/unit/tap.h"

enum { SEGS = 100, FLOATS = 10, ELEMENTS = 995, T = 6 };

static struct worker_conf cf;
static struct sync_io io = { .cf = &cf, .begun = true };
static uint16_t given[SEGS];
static float vec[ELEMENTS];
static uint8_t heads[4 * UDP_SCATTER_HEAD_BYTES];

/* Is the place `bytes` bytes long, from segment i on? */
static bool
is_place(uint32_t i, size_t bytes)
{
	struct udp_scatter l;

	return sync_io_find_place(&io, &l) &&
	       l.body == (uint8_t *)(vec + i * FLOATS) && l.bytes == bytes &&
	       l.head_bytes == SEG_HEADER_BYTES && l.body_bytes == 4 * FLOATS;
}

/* Are four results of an iteration, from segment i on, the expected ones? */
static bool
are_expected(uint32_t iteration, uint32_t i, uint32_t then, uint8_t tos)
{
	const size_t each = SEG_HEADER_BYTES + 4 * FLOATS;
	const struct udpio_message m = { .data = heads, .len = 4 * each,
	    .seg_bytes = each, .tos = tos, .from = cf.to };

	for (uint32_t k = 0; k < 4; k++)
		seg_put(heads + k * UDP_SCATTER_HEAD_BYTES, iteration, 3,
		    k < 2 ? i + k : then + k);
	return sync_io_matches_place(&io, &m);
}

int
main(void)
{
	struct udp_scatter l;

	addr_parse("127.0.0.1:9", "0", &cf.to);
	io.l.t = T;
	io.l.segs = SEGS;
	io.l.floats = FLOATS;
	io.elements = ELEMENTS;
	io.l.given[0] = given;
	io.result[0] = vec;
	ok(is_place(0, 4 * FLOATS * UDPIO_RUN_MAX),
	    "at first a run belongs to the beginning");
	ok(are_expected(T, 0, 0, SEG_TOS), "a run from the beginning is "
	    "expected");
	ok(!are_expected(T, 1, 1, SEG_TOS), "a run that begins later is not "
	    "expected");
	ok(!are_expected(T, 0, 1, SEG_TOS), "a run with a missing segment is "
	    "not expected");
	ok(!are_expected(T + 2, 0, 0, SEG_TOS),
	    "a run of another iteration is not expected");
	ok(!are_expected(T, 0, 0, CONTROL_TOS), "a packet that is not a "
	    "segment is not expected");
	given[0] = given[1] = given[20] = 3;
	io.l.got[0] = 3;
	ok(is_place(2, 18 * 4 * FLOATS) && are_expected(T, 2, 2, SEG_TOS),
	    "then the place reaches up to the next segment that is there");
	for (uint32_t i = 0; i < 95; i++)
		given[i] = 3;
	ok(is_place(95, 4 * (ELEMENTS - 950)), "the last segment may be "
	    "shorter");
	io.l.redo = true;
	ok(!sync_io_find_place(&io, &l), "a result that arrives again gets no "
	    "place");
	io.l.redo = false;
	cf.auth = TAG_AUTH_ALL;
	ok(!sync_io_find_place(&io, &l), "results with tags get no place");
	return tap_end();
}
