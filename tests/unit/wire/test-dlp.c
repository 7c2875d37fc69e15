/*
 * Test the bytes of the DLP packet, quantisation, and the settings of a
 * session.
 */
#include "common/wire/dlp.h"
#include "tests/unit/tap.h"

static void
test_bytes(void)
{
	static const uint8_t want[DLP_BYTES] = {
		2, 5, 0, 0, 0, 0x63, 0, 0, 0x4f, 0x72, 0xff, 0xff, 0xfe, 0x1b,
		0x80, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 1
	};
	uint8_t got[DLP_BYTES + 1] = { 0 };
	struct dlp d;

	ok(dlp_parse(want, DLP_BYTES, &d) == DLP_OK, "a packet has 30 bytes");
	ok(d.state == DLP_LEARNING && d.node_count == 5 && d.step == 99,
	    "state, node count and step are read");
	ok(d.param[0] == 0x4f72 && d.param[1] == -485 &&
	    d.param[2] == INT32_MIN && d.param[3] == INT32_MAX &&
	    d.param[4] == 0 && d.param[5] == 1, "parameters are signed");
	dlp_put(got, &d);
	ok(memcmp(got, want, DLP_BYTES) == 0, "a written packet equals the one "
	    "that was read");
	ok(got[DLP_BYTES] == 0, "a written packet has 30 bytes");
	ok(dlp_parse(want, 29, &d) == DLP_SHORT,
	    "a packet of 29 bytes is too short");
	ok(dlp_parse(want, 0, &d) == DLP_SHORT, "a packet of 0 bytes is too "
	    "short");
	ok(dlp_parse(got, 31, &d) == DLP_LONG, "a packet of 31 bytes is too "
	    "long");
	for (unsigned i = 0; i < 256; i++)
		if (dlp_state_name((uint8_t)i) == NULL)
			ok(false, "state %u has a name", i);
	ok(strcmp(dlp_state_name(DLP_WRONG_STEP), "WRONG_STEP") == 0 &&
	    strcmp(dlp_state_name(DLP_POLL), "unknown") == 0,
	    "states have names");
	ok(strcmp(dlp_reason(DLP_SHORT), "short") == 0 &&
	    strcmp(dlp_reason(DLP_LONG), "long") == 0, "reasons have names");
}

/* Test more than six parameters, which only innet has. */
static void
test_vector(void)
{
	static const uint8_t head[] = { DLP_VECTOR, 3, 0, 0, 1, 0, 0, 7,
		0xff, 0xff, 0xff, 0xfe };
	uint8_t p[DLP_BYTES_MAX + 4] = { 0 };
	struct dlp d = { .state = DLP_LEARNING, .node_count = 3, .step = 256,
	    .more = 1, .param = { -2, [6] = 77 } }, got;

	ok(dlp_put(p, &d) == 36 && memcmp(p, head, sizeof(head)) == 0 &&
	    p[35] == 77, "the header of a vector has its length");
	ok(dlp_parse(p, 36, &got) == DLP_OK && got.state == DLP_LEARNING &&
	    got.node_count == 3 && got.step == 256 && got.more == 1 &&
	    got.param[0] == -2 && got.param[6] == 77,
	    "a vector has state LEARNING");
	ok(dlp_parse(p, 35, &got) == DLP_SHORT &&
	    dlp_parse(p, 40, &got) == DLP_LONG, "a vector must have exactly "
	    "its length");
	got.param[6] = 5;
	ok(dlp_parse_cut(p, 33, 36, &got) == DLP_OK && got.param[0] == -2 &&
	    got.param[6] == 0 && dlp_parse_cut(p, 29, 36, &got) == DLP_SHORT,
	    "elements that were not captured read as 0, but the header must be "
	    "there");
	ok(dlp_parse(p, DLP_BYTES, &got) == DLP_OK && got.more == 0 &&
	    got.state == DLP_VECTOR, "that state in 30 bytes is a poll");
	d.more = DLP_ELEMENTS_MAX - DLP_PARAMS;
	d.param[DLP_ELEMENTS_MAX - 1] = INT32_MIN;
	ok(dlp_put(p, &d) == DLP_BYTES_MAX && DLP_BYTES_MAX == 1472 &&
	    dlp_parse(p, DLP_BYTES_MAX, &got) == DLP_OK &&
	    got.param[DLP_ELEMENTS_MAX - 1] == INT32_MIN,
	    "366 elements fill a packet");
	p[6] = 1;
	p[7] = 0x6f;		/* 367 */
	ok(dlp_parse(p, sizeof(p), &got) == DLP_LONG,
	    "367 elements do not fit");
	p[6] = 0;
	p[7] = 6;
	ok(dlp_parse(p, 32, &got) == DLP_LONG, "six elements are not a vector");
}

static void
test_quantise(void)
{
	static const struct { float x; int32_t scale, want; bool cut; } row[] =
	    {
		{ 0, 1000, 0, false }, { -0.0f, 1000, 0, false },
		{ 0.9999f, 1, 0, false }, { -0.9999f, 1, 0, false },
		{ 1.9999f, 1, 1, false }, { -1.9999f, 1, -1, false },
		{ 0.25f, 10000, 2500, false }, { -0.25f, 10000, -2500, false },
		{ 1e-9f, 10000, 0, false },
		{ 2147483520.0f, 1, 2147483520, false },
		{ 2147483648.0f, 1, DLP_VALUE_MAX, true },
		{ -2147483648.0f, 1, -DLP_VALUE_MAX, true },
		{ 3e38f, INT32_MAX, DLP_VALUE_MAX, true },
		{ -3e38f, INT32_MAX, -DLP_VALUE_MAX, true },
		{ 1, INT32_MAX, DLP_VALUE_MAX, true },
		{ 1, DLP_VALUE_MAX, DLP_VALUE_MAX, false }
	};
	uint64_t cut, all = 0;

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		cut = 0;
		ok(dlp_quantise(row[i].x, row[i].scale, DLP_VALUE_MAX,
		    &cut) == row[i].want && cut == row[i].cut,
		    "%g * %d is %d%s", (double)row[i].x, row[i].scale,
		    row[i].want, row[i].cut ? ", counted" : "");
	}
	cut = 0;
	ok(dlp_quantise(1.5f, 1000, 1500, &cut) == 1500 && cut == 0 &&
	    dlp_quantise(1.501f, 1000, 1500, &cut) == 1500 && cut == 1 &&
	    dlp_quantise(-2, 1000, 1500, &cut) == -1500 && cut == 2,
	    "the caller can choose another limit");
	ok(dlp_fits(DLP_VALUE_MAX) && !dlp_fits(INT32_MAX) &&
	    dlp_fits(-DLP_VALUE_MAX) && !dlp_fits(INT32_MIN),
	    "a value at the limits of 32 bits shows that an aggregate did not "
	    "fit");
	ok(dlp_saturate(INT32_MAX, &all) == INT32_MAX &&
	    dlp_saturate(INT32_MIN, &all) == INT32_MIN && all == 0,
	    "the limits of 32 bits are valid");
	ok(dlp_saturate(INT32_MAX + INT64_C(1), &all) == INT32_MAX &&
	    dlp_saturate(INT32_MIN - INT64_C(1), &all) == INT32_MIN &&
	    all == 2, "a value beyond the limits is clamped and counted");
}

static void
test_session(void)
{
	static const char *const bad[] = { "nodes", "nodes=", "nodes=0",
	    "nodes=33", "node=1", "=1", "scale=-1", "scale=2147483648",
	    "iterations=1,x=2", "nodes=1;scale=2", ",", "nodes5",
	    "scale=11111111111111111111111111111111111111111" };
	struct dlp_session s = { 0 };

	ok(dlp_session_parse("nodes=32,iterations=200,eta-scale=5000,"
	    "inputs=150,features=4,classes=2,scale=10000", &s) == NULL &&
	    s.nodes == 32 && s.param[DLP_ITERATIONS] == 200 &&
	    s.param[DLP_ETA_SCALE] == 5000 && s.param[DLP_INPUTS] == 150 &&
	    s.param[DLP_FEATURES] == 4 && s.param[DLP_CLASSES] == 2 &&
	    s.param[DLP_SCALE] == 10000, "all settings can change");
	ok(dlp_session_parse("scale=1k", &s) == NULL &&
	    s.param[DLP_SCALE] == 1000 && s.nodes == 32,
	    "one setting can change while the others stay");
	ok(dlp_session_parse("", &s) == NULL, "no setting needs to change");
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		ok(dlp_session_parse(bad[i], &s) != NULL, "not '%s'", bad[i]);
}

int
main(void)
{
	test_bytes();
	test_vector();
	test_quantise();
	test_session();
	return tap_end();
}
