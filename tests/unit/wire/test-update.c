/*
 * Test Olaf packets: round trips, every reason for refusal, and ranges of long
 * vectors.
 */
#include <math.h>
#include <stdlib.h>

#include "common/base/rng.h"
#include "common/wire/update.h"
#include "tests/unit/tap.h"

/* Make an update of n floats, 1 to n, at p; return its length. */
static size_t
make_update(uint8_t *p, struct update *u, uint32_t n)
{
	uint8_t *v = update_put(p, u);

	for (uint32_t i = 0; i < n; i++)
		vec_set(v, i, (float)(i + 1));
	return (size_t)(v - p) + (size_t)n * 4;
}

/*
 * Parse a copy of exactly this length, so that ASan detects a read past the
 * end.
 */
static enum update_bad
parse_copy(const uint8_t *p, size_t len, struct update *u)
{
	uint8_t *copy = malloc(len + (len == 0));
	enum update_bad why;

	memcpy(copy, p, len);
	why = update_parse(copy, len, u);
	u->vec = why == UPDATE_OK ? p + (u->vec - copy) : NULL;
	free(copy);
	return why;
}

static void
test_layout(void)
{
	static const uint8_t want[] = { 1, 1, 0x12, 0x34, 1, 2, 3, 4, 5, 6, 7,
	    8, 0, 3, 0, 0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88,
	    0x3f, 0xc0, 0, 0, 0, 0, 0, 2, 0, 0, 0x80, 0x3f, 0, 0, 0, 0x40 };
	struct update u = { .kind = UPDATE_UPDATE, .cluster = 0x1234,
	    .worker = 0x01020304, .sequence = 0x05060708, .merged = 3,
	    .generated_ns = 0x1122334455667788, .reward = 1.5f,
	    .elements = 2 };
	struct update back;
	uint8_t p[64];

	ok(make_update(p, &u, 2) == sizeof(want) &&
	    memcmp(p, want, sizeof(want)) == 0, "the bytes of an update are "
	    "right");
	ok(parse_copy(p, sizeof(want), &back) == UPDATE_OK && back.n == 2 &&
	    back.first == 0 && back.vec == p + 32 &&
	    back.generated_ns == u.generated_ns && back.reward == 1.5f &&
	    back.merged == 3 && back.cluster == 0x1234,
	    "the update is read as it was written");
	u.kind = UPDATE_MODEL;
	u.status = (struct update_status){ 0x010203, true, true, 9, 8 };
	ok(make_update(p, &u, 2) == 48 &&
		memcmp(p + 32, "\1\2\3\3\0\11\0\10", 8) == 0,
	    "the bytes of a model's status are right");
	ok(parse_copy(p, 48, &back) == UPDATE_OK && back.status.filled &&
	    back.status.full && back.status.occupancy == 0x010203 &&
	    back.status.active == 9 && back.status.capacity == 8 &&
	    back.n == 2 && back.vec == p + 40, "the status is read as it was "
	    "written");
	u.status.occupancy = 1 << 24;
	make_update(p, &u, 2);
	ok(parse_copy(p, 48, &back) == UPDATE_OK &&
	    back.status.occupancy == 0xffffff, "an occupancy above the limit "
	    "is clamped");
}

static void
test_reasons(void)
{
	struct update u = { .kind = UPDATE_UPDATE, .merged = 1, .elements = 4 };
	uint8_t p[64];
	size_t len = make_update(p, &u, 4);
	bool good = true;

	for (size_t n = 0; n < 32; n++)
		good = good && parse_copy(p, n, &u) == UPDATE_SHORT;
	ok(good, "0 to 31 bytes are too short");
	p[1] = UPDATE_MODEL;
	for (size_t n = 32; n < 40; n++)
		good = good && parse_copy(p, n, &u) == UPDATE_SHORT;
	ok(good, "a model of 32 to 39 bytes is too short");
	p[1] = UPDATE_UPDATE;
	for (size_t n = 32; n < 60; n++)	/* 4, 8, 12: the last packet of
						 * a longer vector */
		good = good && parse_copy(p, n, &u) == (n != 32 && n % 4 == 0 &&
		    n <= 48 ? UPDATE_OK : UPDATE_BAD_LENGTH);
	ok(good, "no element, a part of one, and one too many give a bad "
	    "length");
	for (int v = 0; v < 256; v++) {
		p[0] = (uint8_t)v;
		good = good && parse_copy(p, len, &u) ==
		    (v == 1 ? UPDATE_OK : UPDATE_BAD_VERSION);
	}
	ok(good, "versions other than 1 are refused");
	p[0] = 1;
	for (int k = 0; k < 256; k++) {
		p[1] = (uint8_t)k;
		good = good && (parse_copy(p, len, &u) == UPDATE_BAD_KIND) ==
		    (k < 1 || k > 3);
	}
	ok(good, "kinds other than 1, 2 and 3 are refused");
	p[1] = 1;
	bytes_put(p + UPDATE_MERGED_AT, 0, 2);
	ok(parse_copy(p, len, &u) == UPDATE_BAD_MERGED,
	    "an update of no constituents is refused");
	p[1] = UPDATE_WEIGHTS;
	ok(parse_copy(p, len, &u) == UPDATE_OK, "weights have no constituents");
	p[1] = 1;
	bytes_put(p + UPDATE_MERGED_AT, 65535, 2);
	ok(parse_copy(p, len, &u) == UPDATE_OK && u.merged == 65535,
	    "65,535 constituents are accepted");
	bytes_put_f32(p + UPDATE_REWARD_AT, NAN);
	ok(parse_copy(p, len, &u) == UPDATE_NONFINITE,
	    "a reward that is not a number is refused");
	bytes_put_f32(p + UPDATE_REWARD_AT, -3);
	vec_set(p + 32, 3, -INFINITY);
	ok(parse_copy(p, len, &u) == UPDATE_NONFINITE,
	    "an infinite element is refused");
	for (int i = 0; i < UPDATE_REASONS; i++)
		for (int j = 0; j < i; j++)
			good = good && strcmp(update_reason(i),
			    update_reason(j)) != 0;
	ok(good, "every reason has its own name");
}

/* All packets of a vector of e elements, n a packet, cover it without gaps. */
static bool
packets_tile(uint32_t e, uint32_t n, uint8_t *p)
{
	const uint32_t packets = update_packets(e, n);
	uint32_t next = 0;

	for (uint32_t i = 0; i < packets; i++) {
		uint32_t here = i + 1 < packets ? n : e - next;
		struct update u = { .kind = UPDATE_UPDATE, .merged = 1,
		    .following = (uint16_t)(packets - 1 - i), .elements = e };

		if (parse_copy(p, make_update(p, &u, here), &u) != UPDATE_OK ||
		    u.first != next || u.n != here)
			return false;
		next += here;
	}
	return next == e;
}

static void
test_ranges(void)
{
	struct update u = { .kind = UPDATE_UPDATE, .merged = 1 };
	uint8_t *p = malloc(65536);
	bool good = true;

	for (uint32_t e = 1; e <= 40; e++)
		for (uint32_t n = 1; n <= 41; n++)
			good = good && packets_tile(e, n, p);
	ok(good, "packets of 1 to 41 elements cover vectors of 1 to 40 "
	    "elements");
	ok(packets_tile(65536, 1, p), "65,536 packets of one element cover a "
	    "vector");
	ok(packets_tile(1600000, 358, p), "packets of 358 elements cover a "
	    "vector of 6.4 MB");

	u.following = 65535;
	u.elements = 65535;
	ok(parse_copy(p, make_update(p, &u, 1), &u) == UPDATE_BAD_LENGTH,
	    "more following packets than elements are a bad length");
	u.elements = UINT32_MAX;
	ok(parse_copy(p, make_update(p, &u, 1), &u) == UPDATE_OK &&
	    u.first == UINT32_MAX - 65536, "a vector of 2^32 - 1 elements can "
	    "have 65,535 following packets");
	u.following = 1;
	ok(parse_copy(p, make_update(p, &u, 16366), &u) == UPDATE_OK &&
	    (uint64_t)u.first + u.n < UINT32_MAX &&
	    UINT32_MAX - u.first - u.n <= u.n, "a vector of 2^32 - 1 elements "
	    "can have one following packet");
	u.following = 0;
	ok(parse_copy(p, make_update(p, &u, 1), &u) == UPDATE_OK &&
	    u.first == UINT32_MAX - 1, "the last packet of a vector of 2^32 - "
	    "1 elements can have one element");
	u.following = 1;
	u.elements = 4;
	ok(parse_copy(p, make_update(p, &u, 4), &u) == UPDATE_BAD_LENGTH,
	    "a complete vector with a following packet is a bad length");
	free(p);
}

static void
test_sizes(void)
{
	ok(update_floats(1500, false) == 358 &&
	    update_floats(1500, true) == 353,
	    "1,500 bytes hold 358 floats, and 353 over IPv6");
	ok(update_floats(UPDATE_MTU_LOOPBACK, false) == 16366,
	    "the loopback holds 16,366 floats");
	ok(update_floats(71, false) == 0 && update_floats(72, false) == 1 &&
	    update_floats(0, true) == 0, "72 bytes hold one float, and 71 "
	    "none");
	ok(update_packets(1, 9) == 1 && update_packets(9, 9) == 1 &&
	    update_packets(10, 9) == 2, "9 elements fit one packet, 10 do not");
}

/*
 * Any bytes cause no read past the end (ASan), and accepted ones are
 * consistent.
 */
static void
test_noise(struct rng *r)
{
	uint8_t p[96], again[96];
	size_t taken = 0, wrong = 0;
	struct update u;

	for (int run = 0; run < 200000; run++) {
		size_t len = rng_below(r, sizeof(p) + 1);

		for (size_t i = 0; i < len; i += 8)
			bytes_put(p + i, rng_u64(r), 8);
		p[0] = run % 8 != 0;		/* most have a likely header */
		p[1] = run % 5;
		if (run % 3 != 0)
			bytes_put(p + 28, rng_below(r, 40), 4);
		if (run % 4 != 0)
			bytes_put(p + 14, rng_below(r, 4), 2);
		if (parse_copy(p, len, &u) != UPDATE_OK)
			continue;
		taken++;
		wrong += (size_t)(u.vec - p) + 4 * (size_t)u.n != len ||
		    (uint64_t)u.first + u.n > u.elements;
		update_put(again, &u);
		again[35] = u.kind == UPDATE_MODEL ? p[35] : again[35];
		wrong += memcmp(p, again, update_head_bytes(u.kind)) != 0;
	}
	note("%zu of 200,000 taken", taken);
	ok(taken > 1000 && wrong == 0, "random bytes that are accepted are "
	    "written again equally, and lie in their vector");
}

int
main(void)
{
	struct rng r = rng_seed(5);

	test_layout();
	test_reasons();
	test_ranges();
	test_sizes();
	test_noise(&r);
	return tap_end();
}
