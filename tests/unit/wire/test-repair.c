/*
 * Test Probe, NACK and STATE on the wire: round trips, limits and truncation.
 */
#include "common/wire/repair.h"
#include "tests/unit/tap.h"

/* Parse the len bytes at p, which a header precedes, as a message of action. */
static struct control
parse_message(uint8_t *m, enum control_action action, const uint8_t *end)
{
	struct control c = { 0 };

	control_put(m, (uint8_t)action, 7, 0xfffffffe);
	if (!control_parse(m, (size_t)(end - m), &c))
		c.action = 0;
	return c;
}

static void
test_help(void)
{
	uint8_t m[CONTROL_MAX_BYTES], room[REPAIR_BITMAP_BYTES];
	struct repair_help h = { .iteration = 0xffffff, .mark = 0xfffffffe,
	    .seen = 0x80000001, .last = REPAIR_NONE, .upto = 0x123456,
	    .round = 0xabcdef, .last_round = 0xfedcba }, g;
	bool cut = true, same = true;
	struct control c;
	uint8_t *end;

	repair_add(&h.lacks, room, 5);
	repair_add(&h.lacks, room, 12);
	repair_add(&h.lacks, room, 13);
	end = repair_put_help(m + CONTROL_HEADER_BYTES, &h);
	c = parse_message(m, CONTROL_HELP, end);
	ok(repair_is_help(&c) && repair_get_help(&c, &g) && g.iteration ==
	    h.iteration && g.mark == h.mark && g.seen == h.seen && g.last ==
	    h.last && g.upto == h.upto && g.round == h.round &&
	    g.last_round == h.last_round, "a Probe is read as it was written");
	for (uint32_t i = 0; i < 40; i++)
		same = same && repair_lacks(&g.lacks, i) ==
		    (i == 5 || i == 12 || i == 13);
	ok(same && g.lacks.base == 5 && g.lacks.bytes == 2,
	    "a Probe names the missing results, from the first on");
	for (; --end > m + CONTROL_HEADER_BYTES;) {
		c = parse_message(m, CONTROL_HELP, end);
		cut = cut && (!repair_is_help(&c) || !repair_get_help(&c, &g));
	}
	ok(cut, "a Probe that was cut anywhere is refused");
	c = parse_message(m, CONTROL_HELP, m + CONTROL_HEADER_BYTES + 8);
	ok(!repair_is_help(&c), "a Help of 8 bytes is not a Probe");
}

static void
test_state(void)
{
	uint8_t m[CONTROL_MAX_BYTES], room[2][REPAIR_BITMAP_BYTES];
	struct repair_state s = { .iteration = 0x800000, .mark = 1,
	    .seen = UINT32_MAX, .resent = 0xffffff, .notice = true,
	    .dups = 0xffff }, g;
	bool cut = true;
	struct control c;
	uint8_t *end, *whole;

	repair_add(&s.lacks, room[0], 0xfffff0);
	repair_add(&s.lacks, room[0], 0xffffff);
	whole = repair_put_state(m + CONTROL_HEADER_BYTES, &s);
	c = parse_message(m, CONTROL_ACK, whole);
	ok(repair_is_state(&c) && repair_get_state(&c, &g) && g.iteration ==
	    s.iteration && g.mark == s.mark && g.seen == s.seen &&
	    g.resent == s.resent && !g.whole && g.notice && g.dups == s.dups &&
	    repair_lacks(&g.lacks, 0xffffff) &&
	    !repair_lacks(&g.lacks, 0xfffff1) && repair_lacks(&g.lacks,
	    0xfffff0), "a STATE is read as it was written, with the highest "
	    "index");
	for (end = whole; --end > m + CONTROL_HEADER_BYTES + 1;) {
		c = parse_message(m, CONTROL_ACK, end);
		cut = cut && (!repair_is_state(&c) ||
		    !repair_get_state(&c, &g));
	}
	ok(cut, "a STATE that was cut anywhere is refused");
	m[CONTROL_HEADER_BYTES + 1] = CONTROL_GONE;
	c = parse_message(m, CONTROL_ACK, end);
	ok(!repair_is_state(&c), "an Ack of Help with status GONE is not a "
	    "STATE");
}

static void
test_limits(void)
{
	const uint32_t base = 100, end = base + 8 * REPAIR_BITMAP_BYTES;
	uint8_t room[REPAIR_BITMAP_BYTES], m[CONTROL_MAX_BYTES];
	struct repair_bitmap none = { 0 }, b = { 0 };
	struct repair_help h = { 0 }, g;
	struct control c;

	ok(repair_covers(&none, 20000) == 20000 && !repair_lacks(&none, 0),
	    "an empty bitmap means that nothing is missing");
	ok(repair_add(&b, room, base) && repair_add(&b, room, end - 9) &&
	    b.bytes == REPAIR_BITMAP_BYTES - 1 &&
	    repair_covers(&b, 20000) == 20000,
	    "a bitmap one byte below the limit covers everything");
	ok(repair_add(&b, room, end - 1) && b.bytes == REPAIR_BITMAP_BYTES &&
	    repair_covers(&b, 20000) == end && repair_lacks(&b, end - 1),
	    "a bitmap at the limit says nothing about later segments");
	b = (struct repair_bitmap){ 0 };
	ok(repair_add(&b, room, base) && !repair_add(&b, room, end) &&
	    b.bytes == REPAIR_BITMAP_BYTES && repair_lacks(&b, base) &&
	    !repair_lacks(&b, base + 1) && !repair_lacks(&b, end - 1) &&
	    !repair_lacks(&b, end) && repair_covers(&b, 20000) == end,
	    "an index beyond the limit is not in the bitmap");
	ok(CONTROL_HEADER_BYTES + REPAIR_HELP_BYTES + REPAIR_BITMAP_BYTES +
	    CONTROL_COOKIE_BYTES + CONTROL_MAC_BYTES == CONTROL_MAX_BYTES &&
	    CONTROL_MAX_BYTES + 40 + 8 == 1500,
	    "with cookie and tag a message fits a frame, also over IPv6");
	h.lacks = b;
	c = parse_message(
	    m, CONTROL_HELP, repair_put_help(m + CONTROL_HEADER_BYTES, &h));
	ok(repair_get_help(&c, &g) && g.lacks.bytes == REPAIR_BITMAP_BYTES &&
	    memcmp(g.lacks.bits, room, sizeof(room)) == 0,
	    "the longest bitmap is read as it was written");
}

int
main(void)
{
	test_help();
	test_state();
	test_limits();
	return tap_end();
}
