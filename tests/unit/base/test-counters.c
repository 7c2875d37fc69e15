/* Test counters printed as JSON, as a page and as a line. */
#include <string.h>

#include "common/base/counters.h"
#include "tests/unit/tap.h"

static struct counters
make_counters(enum counters_form form)
{
	struct counters c = counters_begin(form, "innet-x");

	counters_put(&c, "packets", UINT64_MAX);
	counters_int(&c, "ahead", INT64_MIN);
	counters_word(&c, "state", "a \"b\"\\\n");
	counters_flag(&c, "open", true);
	counters_in(&c, "ignored");
	counters_put(&c, "short", 1);
	counters_put(&c, "long", 2);
	counters_out(&c);
	counters_in(&c, "lost");
	counters_out(&c);
	counters_part(&c);
	counters_flag(&c, "late", false);
	return c;
}

/* Do the counters have that text?  Frees them. */
static bool
has_text(struct counters c, const char *text)
{
	const char *got = counters_text(&c);
	const bool same = got != NULL && strcmp(got, text) == 0;

	if (!same)
		note("%s", got == NULL ? "nothing" : got);
	counters_free(&c);
	return same;
}

static void
test_lists(void)
{
	struct counters c = counters_begin(COUNTERS_JSON, NULL);

	counters_list(&c, "jobs");
	for (uint64_t i = 0; i < 2; i++) {
		counters_in(&c, NULL);
		counters_put(&c, "job", i);
		counters_out(&c);
	}
	counters_list_end(&c);
	counters_list(&c, "none");
	counters_list_end(&c);
	ok(has_text(c, "{\"jobs\":[{\"job\":0},{\"job\":1}],\"none\":[]}\n"),
	    "objects in a list have no names");
}

/* After a count of 1, nouns lose their s; keys and other words stay. */
static void
test_ones(void)
{
	struct counters c = counters_begin(COUNTERS_LINE, NULL);

	counters_put(&c, "updates in", 1);
	counters_put(&c, "updates in", 0);
	counters_put(&c, "packets", 1);
	counters_put(&c, "regular", 1);
	counters_put(&c, "across", 1);
	counters_put(&c, "segments_sent", 1);
	counters_put(&c, "s", 1);
	ok(has_text(c,
	       "1 update in, 0 updates in, 1 packet, 1 regular, 1 across, "
	       "1 segments_sent, 1 s\n"),
	    "a noun after the number 1 is singular, and other words stay");
	c = counters_begin(COUNTERS_JSON, NULL);
	counters_put(&c, "packets", 1);
	ok(has_text(c, "{\"packets\":1}\n"), "JSON has the keys without a "
	    "change");
}

/* Make a text that needs more memory many times. */
static void
test_grown(void)
{
	struct counters c = counters_begin(COUNTERS_JSON, NULL);
	char name[16];
	size_t want = 1;

	for (int i = 0; i < 100000; i++) {
		snprintf(name, sizeof(name), "%06d", i);
		counters_put(&c, name, 7);
		want += strlen("\"000000\":7,");
	}
	ok(counters_text(&c) != NULL && c.len == want - 1 + 2 &&
	    strlen(c.text) == c.len, "a long text is complete");
	counters_free(&c);
}

int
main(void)
{
	ok(has_text(make_counters(COUNTERS_JSON),
	       "{\"packets\":18446744073709551615,"
	       "\"ahead\":-9223372036854775808,"
	       "\"state\":\"a \\\"b\\\"\\\\\\u000a\",\"open\":true,"
	       "\"ignored\":{\"short\":1,\"long\":2},\"lost\":{},"
	       "\"late\":false}\n"),
	    "JSON is an object on one line, with escaped words");
	ok(has_text(make_counters(COUNTERS_PAGE),
	       "{\n \"packets\":18446744073709551615,"
	       "\n \"ahead\":-9223372036854775808,"
	       "\n \"state\":\"a \\\"b\\\"\\\\\\u000a\",\n \"open\":true,"
	       "\n \"ignored\":{\n  \"short\":1,\n  \"long\":2\n },"
	       "\n \"lost\":{},\n \"late\":false\n}\n"),
	    "a page has the same JSON on several lines");
	ok(has_text(make_counters(COUNTERS_LINE),
	       "innet-x: 18446744073709551615 packets, "
	       "-9223372036854775808 ahead, state a \"b\"\\\n, open; ignored: "
	       "1 short, 2 long; lost: none; not late\n"),
	    "a line has the counters as words");
	ok(has_text(counters_begin(COUNTERS_JSON, NULL), "{}\n") &&
		has_text(counters_begin(COUNTERS_LINE, "x"), "x: \n") &&
		has_text(counters_begin(COUNTERS_LINE, NULL), "\n"),
	    "a report without counters is empty");
	test_lists();
	test_ones();
	test_grown();
	return tap_end();
}
