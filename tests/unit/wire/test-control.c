/* Test control messages: the bytes of every layout, truncations and limits. */
#include <stdlib.h>

#include "common/wire/control.h"
#include "tests/unit/tap.h"

static uint8_t buf[CONTROL_MAX_BYTES];	/* put here */
/* parsed here, in a block of its size */
static uint8_t *copy;

/*
 * Parse a copy of exactly this length, so that ASan detects a read past the
 * end.
 */
static bool
parse_copy(const void *p, size_t len, struct control *c)
{
	free(copy);
	copy = malloc(len + (len == 0));
	memcpy(copy, p, len);
	return control_parse(copy, len, c);
}

/* Are the bytes from buf to end these? */
static bool
written_bytes_are(const uint8_t *end, const void *want, size_t len)
{
	return (size_t)(end - buf) == len && memcmp(buf, want, len) == 0;
}

/*
 * Test flags with `tail` bytes after the body: cut anywhere, missing, and
 * complete.
 */
static void
check_trailer(uint8_t flags, size_t tail, bool has_cookie, bool has_mac)
{
	uint8_t p[80] = { 2, flags };
	struct control c;
	bool good = true;

	for (size_t n = 8; n < 8 + tail; n++)
		good = good && !parse_copy(p, n, &c);
	p[8 + 5 + tail - 17] = 9;	/* the last byte of the counter in a tag
					 */
	ok(good && parse_copy(p, 8 + 5 + tail, &c) && c.body_bytes == 5 &&
	    c.cookie == (has_cookie ? copy + 8 + 5 : NULL) &&
	    c.has_mac == has_mac && c.counter == (has_mac ? 9 : 0) &&
	    !c.commands, "flags %u: %zu bytes follow the body", flags, tail);
}

static void
test_headers(void)
{
	static const uint8_t want[] = { 2, 0, 0x12, 0x34, 0x56, 0x78, 0x9a,
	    0xbc };
	uint8_t p[40] = { 2, 0, 0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc };
	struct control c;
	bool good = true;

	ok(written_bytes_are(
	       control_put(buf, CONTROL_LEAVE, 0x1234, 0x56789abc), want,
	       sizeof(want)),
	    "the bytes of a header are right");
	ok(parse_copy(want, 8, &c) && c.action == CONTROL_LEAVE &&
		c.job == 0x1234 && c.xid == 0x56789abc && c.body_bytes == 0 &&
		c.body == copy + 8,
	    "the header is read as it was written");
	for (size_t n = 0; n < 8; n++)
		good = good && !parse_copy(p, n, &c);
	ok(good, "0 to 7 bytes are not a message");
	ok(parse_copy(p, 40, &c) && c.body_bytes == 32,
	    "a body of any length is accepted");
	p[1] = 0xf1;
	ok(parse_copy(p, 40, &c) && c.body_bytes == 32,
	    "undefined flags are ignored");
	check_trailer(2, 24, true, false);
	check_trailer(4, 24, false, true);
	check_trailer(6, 48, true, true);
}

static void
test_actions(void)
{
	static const char *const names[] = { NULL, "join", "leave", "reset",
	    "set-h", "fbcast", "help", "halt", "ack", NULL, NULL, NULL, NULL,
	    NULL, NULL, NULL, "resume", "members", "stats",
	    "open", "jobs", "regroup", "fetch", "chunk", "left" };
	uint8_t p[8] = { 0 };
	struct control c;
	bool good = true;

	for (unsigned a = 0; a < 256; a++) {
		const char *want = a < 25 ? names[a] : NULL;
		const char *got = control_action_name(a);

		p[0] = (uint8_t)a;
		good = good && parse_copy(p, 8, &c) == (want != NULL) &&
		    (want == NULL ? got == NULL :
		    got != NULL && strcmp(got, want) == 0);
	}
	ok(good, "17 of 256 actions have a name, and only these are accepted");
	for (unsigned i = 0; i < 256; i++)
		for (unsigned j = 0; j < i && j < CONTROL_STATUSES; j++)
			good = good && strcmp(control_status_text(i),
			    control_status_text(j)) != 0;
	ok(good && strcmp(control_status_text(CONTROL_DONE), "done") == 0 &&
	    strcmp(control_status_text(CONTROL_STATUSES),
	    control_status_text(255)) == 0, "every status has a text");
	ok(control_newer(1, 0) && !control_newer(0, 1) && !control_newer(5, 5),
	    "of two xids one is newer");
	ok(control_newer(0, UINT32_MAX) && !control_newer(UINT32_MAX, 0) &&
	    control_newer(0x7fffffff, 0) && control_newer(0x80000001, 2) &&
	    !control_newer(0x80000001, 1) && !control_newer(1, 0x80000001),
	    "an xid can be newer across the wrap, and neither is newer at half "
	    "of the range");
	ok(control_newer(control_first_xid(4294967296001000000),
	    control_first_xid(4294967295999000000)),
	    "a process that starts 2 ms later has a newer xid, also across the "
	    "wrap");
}

static void
test_joins(void)
{
	static const uint8_t want[] = { 1, 0, 0, 9, 0, 0, 0, 3,
	    2, 1, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a,
	    0x0b, 0x0c, 0x00, 0x0e, 0x0f, 0x10, 0xde, 0xad, 0xbe, 0xef };
	const struct control_join j = { .type = CONTROL_SWITCH, .async = true,
	    .cluster = 0x0102, .worker = 0x03040506, .elements = 0x0708090a,
	    .floats = 0x0b0c, .next = 0x000e0f10, .crc = 0xdeadbeef };
	struct control_join b;
	struct control c;
	uint8_t p[64] = { 0 };
	bool good = true;

	ok(written_bytes_are(
	       control_put_join(control_put(buf, CONTROL_JOIN, 9, 3), &j), want,
	       sizeof(want)) &&
		sizeof(want) == 8 + CONTROL_JOIN_BYTES,
	    "the bytes of a Join are right");
	memcpy(p, want, sizeof(want));
	ok(parse_copy(want, sizeof(want), &c) && control_get_join(&c, &b) &&
	    b.type == 2 && b.async && b.cluster == 0x0102 &&
	    b.worker == 0x03040506 && b.elements == 0x0708090a &&
	    b.floats == 0x0b0c && b.next == 0x000e0f10 &&
	    b.crc == 0xdeadbeef, "the Join is read as it was written");
	for (size_t n = 8; n < sizeof(p); n++)
		good = good && parse_copy(p, n, &c) &&
		       control_get_join(&c, &b) == (n >= sizeof(want));
	ok(good, "a truncated Join is refused, and a longer one is accepted");
	p[1] = CONTROL_HAS_MAC;
	for (size_t n = 32; n < sizeof(p); n++)
		good = good && parse_copy(p, n, &c) &&
		       control_get_join(&c, &b) ==
			   (n >= sizeof(want) + CONTROL_MAC_BYTES);
	ok(good, "a tag does not count as missing bytes");
	p[1] = 0;
	for (int v = 0; v < 256; v++) {
		p[8] = (uint8_t)v;
		good = good && parse_copy(p, 30, &c) &&
		       control_get_join(&c, &b) == (v >= 1 && v <= 3);
	}
	ok(good, "types other than 1, 2 and 3 are refused");
	p[8] = 1;
	for (int v = 0; v < 256; v++) {
		p[9] = (uint8_t)v;
		good = good && parse_copy(p, 30, &c) &&
		       control_get_join(&c, &b) == (v <= 1) &&
		       (v > 1 || b.async == v);
	}
	ok(good, "modes other than 0 and 1 are refused");
	for (unsigned v = 0; v < 64; v++) {
		const struct control_join flags = {.type = CONTROL_WORKER,
		    .again = v & 1,
		    .repairs = v >> 1 & 1,
		    .sends_state = v >> 2 & 1,
		    .creates_job = v >> 3 & 1,
		    .can_multicast = v >> 4 & 1,
		    .in_multicast_group = v >> 5 & 1};
		uint8_t *end = control_put_join(control_put(p, CONTROL_JOIN,
		    1, 2), &flags);

		good = good && end - p == 30 + (v != 0) &&
		       (v == 0 || p[30] == v) &&
		       parse_copy(p, (size_t)(end - p), &c) &&
		       control_get_join(&c, &b) && b.again == flags.again &&
		       b.repairs == flags.repairs &&
		       b.sends_state == flags.sends_state &&
		       b.creates_job == flags.creates_job &&
		       b.in_multicast_group == flags.in_multicast_group &&
		       b.can_multicast == flags.can_multicast;
	}
	ok(good, "each flag is its own bit, and no flag needs no byte");
}

/* Test the H of a Join, and a Left. */
static void
test_left(void)
{
	const struct control_join j = { .type = CONTROL_WORKER,
	    .elements = 4, .wants_left = true, .h = 0x0102 };
	const struct control_left l = { .type = CONTROL_SWITCH,
	    .evicted = true, .h = 0x0304, .members = 0x0506,
	    .worker = 0x0708090a, .ago_ms = 0x0b0c0d0e, .port = 0x0f10,
	    .address = "ABCDEFGHIJKLMNO" };
	static const uint8_t want[] = { 24, 0, 0, 9, 0, 0, 0, 3, 2, 1, 3, 4, 5,
	    6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 'A', 'B', 'C', 'D', 'E',
	    'F', 'G', 'H', 'I', 'J', 'K', 'L', 'M', 'N', 'O', 0 };
	struct control_join b;
	struct control_left k;
	struct control c;
	uint8_t p[64];
	size_t n = (size_t)(control_put_join(control_put(p, CONTROL_JOIN, 1,
	    2), &j) - p);
	bool good = true;

	ok(n == CONTROL_HEADER_BYTES + CONTROL_JOIN_MAX - CONTROL_RULE_BYTES &&
	    p[30] == 128 &&
	    parse_copy(p, n, &c) && control_get_join(&c, &b) && b.wants_left &&
	    b.h == 0x0102 && !control_names_rule(&b.rule),
	    "a Join can name H");
	ok(parse_copy(p, n - 1, &c) && !control_get_join(&c, &b),
	    "a Join whose H is truncated is refused");
	ok(written_bytes_are(control_put_left(control_put(buf, CONTROL_LEFT, 9,
	    3), &l), want, sizeof(want)), "the bytes of a Left are right");
	ok(parse_copy(want, sizeof(want), &c) && control_get_left(&c, &k) &&
	    k.type == l.type && k.evicted && k.h == l.h &&
	    k.members == l.members && k.worker == l.worker &&
	    k.ago_ms == l.ago_ms && k.port == l.port &&
	    memcmp(k.address, l.address, 16) == 0, "a Left is read as it was "
	    "written");
	for (n = CONTROL_HEADER_BYTES; n < sizeof(want); n++)
		good = good && parse_copy(want, n, &c) &&
		    !control_get_left(&c, &k);
	ok(good, "a truncated Left is refused");
}

/* Test the fields behind the bits of a Join's Ack, alone and together. */
static void
test_joined(void)
{
	bool good = true;

	for (unsigned v = 0; v < 8; v++) {
		const struct control_ack a = { .action = CONTROL_JOIN,
		    .span = v & 1 ? 7 : 0, .tagged = v >> 1 & 1,
		    .salt = "abcdefghijklmno", .epoch = 9,
		    .groups = v >> 2 & 1, .group = "ABCDEFGHIJKLMNO",
		    .group_port = 0x0102 };
		struct control_ack b;
		struct control c;
		uint8_t p[128];
		uint8_t *end = control_put_ack(control_put(p, CONTROL_ACK, 1,
		    2), &a);

		good = good && parse_copy(p, (size_t)(end - p), &c) &&
		    control_get_ack(&c, &b) && b.span == a.span &&
		    b.tagged == a.tagged && (!a.tagged || (b.epoch == 9 &&
		    memcmp(b.salt, a.salt, 16) == 0)) &&
		    b.groups == a.groups && (!a.groups ||
		    (b.group_port == 0x0102 &&
		    memcmp(b.group, a.group, 16) == 0));
	}
	ok(good, "slots, salt and group come in this order");
}

static void
test_numbers(void)
{
	static const uint8_t p[] = { 5, 0, 0, 1, 0, 0, 0, 0,
	    1, 2, 3, 4, 5, 6, 7, 8, 9 };
	struct control c;
	uint64_t v;
	bool good = true;

	for (size_t n = 0; n <= 9; n++) {
		good = good && parse_copy(p, 8 + n, &c) &&
		    control_get_number(&c, 2, &v) == (n >= 2) &&
		    v == (n >= 2 ? 0x0102 : 0) &&
		    control_get_number(&c, 8, &v) == (n >= 8) &&
		    v == (n >= 8 ? 0x0102030405060708 : 0);
	}
	ok(good, "an H, a page and a Seg are complete or refused");
}

/*
 * Check the bytes of an Ack made from its struct, and that no shorter one is
 * read.
 */
static void
check_ack(const struct control_ack *a, const void *want, size_t len,
    size_t least, const char *what)
{
	uint8_t *end = control_put_ack(control_put(buf, CONTROL_ACK, 1, 2), a);
	struct control_ack b = { 0 };
	struct control c;
	bool good = true;

	ok((size_t)(end - buf) == 8 + len && buf[0] == 8 &&
	    memcmp(buf + 8, want, len) == 0, "Ack(%s): the bytes are "
	    "right", what);
	for (size_t n = 0; n < least; n++)
		good = good && parse_copy(buf, 8 + n, &c) &&
		    !control_get_ack(&c, &b);
	ok(good, "Ack(%s): less than %zu bytes are refused", what, least);
	ok(parse_copy(buf, 8 + len, &c) && control_get_ack(&c, &b) &&
	    b.action == a->action && b.status == a->status &&
	    b.whole == a->whole && b.closed == a->closed &&
	    b.async == a->async &&
	    b.member == a->member && b.h == a->h && b.members == a->members &&
	    b.next == a->next && b.floats == a->floats &&
	    b.elements == a->elements && b.timeout_s == a->timeout_s &&
	    b.contributions == a->contributions && b.seg == a->seg &&
	    b.page == a->page && b.pages == a->pages &&
	    b.text_bytes == a->text_bytes && (b.text_bytes == 0 ||
	    memcmp(b.text, a->text, b.text_bytes) == 0),
	    "Ack(%s): the fields are read again", what);
}

static void
test_acks(void)
{
	static const uint8_t text[CONTROL_PAGE_BYTES] = "{\"job\":1}";
	uint8_t page[6 + sizeof(text)] = { 18, 0, 0, 2, 0, 3 };

	memcpy(page + 6, text, sizeof(text));
	check_ack(&(struct control_ack){ .action = CONTROL_JOIN,
	    .status = CONTROL_BAD_VALUE, .member = 0x0102, .h = 0x0304,
	    .members = 0x0506, .next = 0x0708090a, .floats = 0x0b0c,
	    .elements = 0x0d0e0f10, .timeout_s = 0x1112 },
	    "\1\5\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17\20\21\22", 20, 20,
	    "Join");
	check_ack(&(struct control_ack){.action = CONTROL_JOIN, .whole = true},
	    "\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1", 21, 20,
	    "Join, a server");
	check_ack(&(struct control_ack){ .action = CONTROL_JOIN, .closed = true,
	    .async = true }, "\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
	    "\12", 21, 20, "Join, asynchronous");
	check_ack(&(struct control_ack){.action = CONTROL_LEAVE}, "\2\0", 2, 2,
	    "Leave");
	check_ack(&(struct control_ack){ .action = CONTROL_RESET, .status = 7 },
	    "\3\7", 2, 2, "Reset");
	check_ack(&(struct control_ack){ .action = CONTROL_SETH, .h = 0x0104 },
	    "\4\0\1\4", 4, 4, "SetH");
	check_ack(&(struct control_ack){ .action = CONTROL_FBCAST,
	    .contributions = 0xfffe }, "\5\0\377\376", 4, 4, "FBcast");
	check_ack(&(struct control_ack){ .action = CONTROL_HELP }, "\6\0", 2, 2,
	    "Help, done");
	check_ack(&(struct control_ack){ .action = CONTROL_HELP,
	    .status = CONTROL_GONE, .seg = 0x0102030405060708 },
	    "\6\10\1\2\3\4\5\6\7\10", 10, 10, "Help, gone");
	check_ack(&(struct control_ack){ .action = CONTROL_HALT }, "\7\0", 2, 2,
	    "Halt");
	check_ack(&(struct control_ack){.action = CONTROL_RESUME}, "\20\0", 2,
	    2, "Resume");
	check_ack(&(struct control_ack){ .action = CONTROL_OPEN,
	    .salt = "0123456789abcde", .epoch = 0x01020304 },
	    "\23\0" "0123456789abcde\0" "\1\2\3\4", 22, 22, "Open");
	check_ack(&(struct control_ack){ .action = CONTROL_OPEN, .status = 2 },
	    "\23\2", 2, 2, "Open, no room");
	check_ack(&(struct control_ack){ .action = CONTROL_MEMBERS, .status = 1,
	    .page = 1 }, "\21\1\0\1\0\0", 6, 6, "Members, no job");
	check_ack(&(struct control_ack){ .action = CONTROL_STATS, .page = 2,
	    .pages = 3, .text = text, .text_bytes = sizeof(text) }, page,
	    sizeof(page), 6, "Stats, a full page");
	ok(8 + sizeof(page) + CONTROL_MAC_BYTES <= CONTROL_MAX_BYTES,
	    "the largest Ack fits with its MAC");
	check_ack(&(struct control_ack){ .action = CONTROL_JOIN,
	    .status = CONTROL_CHALLENGE }, "\1\11", 2, 2, "prove yourself");
	check_ack(&(struct control_ack){ .action = CONTROL_HELP,
	    .status = CONTROL_BAD_MAC }, "\6\7", 2, 2, "bad MAC");
	check_ack(&(struct control_ack){.action = 99, .status = 4}, "\143\4", 2,
	    2, "of what is not known");
}

int
main(void)
{
	test_headers();
	test_actions();
	test_joins();
	test_left();
	test_joined();
	test_numbers();
	test_acks();
	free(copy);
	return tap_end();
}
