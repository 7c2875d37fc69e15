/*
 * Test segments: their bytes, iterations at the wrap-around, and vectors cut
 * into segments.
 */
#include <stdlib.h>

#include "common/base/rng.h"
#include "common/wire/seg.h"
#include "tests/unit/tap.h"

/*
 * Parse a copy of exactly this length, so that ASan detects a read past the
 * end.
 */
static bool
parse_copy(const uint8_t *p, size_t len, struct seg *s)
{
	uint8_t *copy = malloc(len + (len == 0));
	bool is;

	memcpy(copy, p, len);
	is = seg_parse(copy, len, s);
	if (is) {	/* the last byte of the vector is one of the copy */
		is = s->vec == copy + 8 && s->vec[4 * (size_t)s->n - 1] ==
		    p[len - 1] && 8 + 4 * (size_t)s->n == len;
		s->vec = p + 8;
	}
	free(copy);
	return is;
}

static void
test_layout(void)
{
	static const uint8_t want[] = { 0x01, 0x02, 0x03, 0x04, 0x05, 0x06,
	    0x07, 0x08, 0, 0, 0x80, 0x3f, 0, 0, 0, 0x40 };
	uint8_t p[8];
	struct seg s;
	bool good = true;

	ok(seg_put(p, 0x010203, 0x0405, 0x060708) == p + 8 &&
	    memcmp(p, want, 8) == 0, "the bytes of a Seg are right");
	ok(parse_copy(want, sizeof(want), &s) && s.iteration == 0x010203 &&
	    s.contributions == 0x0405 && s.index == 0x060708 && s.n == 2,
	    "the segment is read as it was written");
	for (size_t n = 0; n <= sizeof(want); n++)
		good = good && parse_copy(want, n, &s) == (n == 12 || n == 16);
	ok(good, "a segment without a float, or with a part of one, is "
	    "refused");
	s = seg_split(UINT64_MAX);
	ok(s.iteration == 0xffffff && s.contributions == 0xffff &&
	    s.index == 0xffffff && seg_word(s.iteration, s.contributions,
	    s.index) == UINT64_MAX, "each field can have its largest value");
	ok(seg_word(0x1000001, 1, 0x1000002) == seg_word(1, 1, 2),
	    "a value that is too large stays within its field");
}

static void
test_iterations(void)
{
	const uint32_t top = SEG_ITERATIONS - 1, half = SEG_ITERATIONS / 2;
	struct rng r = rng_seed(1);
	bool good = true;

	ok(seg_before(0, 1) && !seg_before(1, 0) && !seg_before(7, 7),
	    "of two iterations one is older");
	ok(seg_before(top, 0) && !seg_before(0, top) && seg_before(top - 5, 3),
	    "an iteration can be older across the wrap");
	ok(seg_before(0, half - 1) && !seg_before(half - 1, 0) &&
	    !seg_before(0, half) && !seg_before(half, 0) &&
	    !seg_before(0, half + 1) && seg_before(half + 1, 0),
	    "an iteration is older up to half of the range");
	ok(seg_step(top, 1) == 0 && seg_step(0, -1) == top &&
	    seg_step(5, 0) == 5 && seg_step(top, INT32_MIN) == top,
	    "steps wrap around");
	for (int i = 0; i < 10000; i++) {
		uint32_t t = (uint32_t)rng_u64(&r) & top;
		int32_t by = (int32_t)(rng_u64(&r) % (half - 1)) + 1;

		good = good && seg_before(t, seg_step(t, by)) &&
		    !seg_before(seg_step(t, by), t) &&
		    seg_step(seg_step(t, by), -by) == t;
	}
	ok(good, "10,000 steps from any iteration lead to later ones and back");
}

static void
test_cuts(void)
{
	bool good = true;

	for (uint32_t e = 1; e < 200; e++) {
		for (uint32_t f = 1; f < 40; f++) {
			uint32_t n = seg_count(e, f), sum = 0;

			for (uint32_t i = 0; i < n; i++) {
				uint32_t at = seg_floats_at(e, f, i);

				good = good && at > 0 && (at == f ||
				    (i == n - 1 && at < f));
				sum += at;
			}
			good = good && sum == e;
		}
	}
	ok(good, "segments cover the vector, and all but the last are full");
	ok(seg_count(0, 366) == 0, "an empty vector has no segment");
	ok(seg_count(UINT32_MAX, 366) == UINT32_MAX / 366 + 1 &&
	    seg_floats_at(UINT32_MAX, 366, UINT32_MAX / 366) ==
	    UINT32_MAX % 366, "the longest vector has the right segments");
}

static void
test_room(void)
{
	bool good = true;

	ok(seg_floats(1500, false) == SEG_FLOATS_V4 &&
	    seg_floats(1500, true) == SEG_FLOATS_V6,
	    "an MTU of 1500 bytes allows 366 floats, and 361 with IPv6");
	ok(seg_floats(9000, false) == 2241 && seg_floats(9000, true) == 2236,
	    "an MTU of 9000 bytes allows 2241 floats, and 2236 with IPv6");
	ok(seg_floats(65536, false) == 16374 && seg_floats(65536, true) ==
	    16370, "the loopback allows 16374 floats, and 16370 with IPv6");
	ok(seg_floats(SIZE_MAX, false) == 16374 &&
	    seg_floats(SIZE_MAX, true) == 16370, "no MTU allows more");
	for (size_t mtu = 0; mtu < 40; mtu++)
		good = good && seg_floats(mtu, false) == 0;
	for (size_t mtu = 0; mtu < 60; mtu++)
		good = good && seg_floats(mtu, true) == 0;
	ok(good && seg_floats(40, false) == 1 && seg_floats(60, true) == 1,
	    "the smallest MTU allows one float");
	for (size_t mtu = 40; mtu < 70000; mtu++) {
		size_t n = seg_floats(mtu, false);

		good = good && 28 + 8 + 4 * n <= mtu && 8 + 4 * n <= 65507 &&
		    (28 + 8 + 4 * (n + 1) > mtu || n == 16374);
	}
	ok(good, "under every MTU a segment has as many floats as fit");
}

int
main(void)
{
	test_layout();
	test_iterations();
	test_cuts();
	test_room();
	return tap_end();
}
