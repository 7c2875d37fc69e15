/* Unit tests of resp.h: requests in pieces of any size, limits and errors. */
#include <stdarg.h>

#include "cmd/innet-memory/server/resp.h"
#include "tests/unit/tap.h"

struct got {
	char text[4096];	/* words in <>; requests end with ; */
	size_t len;
	char bad[RESP_BAD_BYTES];
	int places;
};

__attribute__((format(printf, 2, 3))) static void
say(struct got *g, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	g->len += (size_t)vsnprintf(g->text + g->len, sizeof(g->text) -
	    g->len, fmt, ap);
	va_end(ap);
}

/* Append the request; long words as their length and last character. */
static void
take_request(struct got *g, struct resp *r)
{
	for (size_t i = 0; i < r->args.n; i++) {
		const struct resp_arg *a = &r->args.v[i];

		if (a->len < 20)
			say(g, "<%.*s>", (int)a->len, (const char *)a->p);
		else
			say(g, "<%zu%c>", a->len, a->p[a->len - 1]);
		free(a->bulk);
	}
	say(g, r->args.lost ? "lost;" : ";");
	resp_finish_request(r);
}

/* Read text, shown `step` bytes more at a time, up to its end or an error. */
static void
read_all(struct got *g, struct resp *r, const char *text, size_t len,
    size_t step)
{
	const uint8_t *p = (const uint8_t *)text;
	size_t from = 0, to = 0, took;

	*g = (struct got){ 0 };
	while (to < len) {
		enum resp_end end = RESP_REQUEST;

		to = to + step < len ? to + step : len;
		while (end != RESP_MORE) {
			end = resp_read(r, p + from, to - from, &took);
			from += took;
			if (end == RESP_PLACE) {
				uint8_t *b = malloc(r->bulk_len);

				g->places++;
				resp_place_bulk(r, b, b);
			} else if (end == RESP_REQUEST) {
				take_request(g, r);
			} else if (end == RESP_BAD) {
				snprintf(g->bad, sizeof(g->bad), "%s", r->bad);
				return;
			}
		}
	}
}

static void
close_reader(struct resp *r)
{
	for (size_t i = 0; i < r->args.n; i++)
		free(r->args.v[i].bulk);
	resp_free(r);
}

/* Check that text, in pieces of any size, gives these requests and error. */
static void
check_requests(const char *text, size_t len, const char *want, const char *bad,
    const char *what)
{
	const size_t steps[] = { 1, 2, 3, 7, 1000, SIZE_MAX / 2 };
	bool good = true;

	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		struct resp r = { .keep_bytes = SIZE_MAX / 2 };
		struct got g;

		read_all(&g, &r, text, len, steps[i]);
		if (strcmp(g.text, want) != 0 || strcmp(g.bad, bad == NULL ?
		    "" : bad) != 0) {
			note("by %zu: '%s' '%s'", steps[i], g.text, g.bad);
			good = false;
		}
		close_reader(&r);
	}
	ok(good, "%s", what);
}

static void
check_text(const char *text, const char *want, const char *what)
{
	check_requests(text, strlen(text), want, NULL, what);
}

static void
check_bad(const char *text, const char *bad, const char *what)
{
	check_requests(text, strlen(text), "", bad, what);
}

/* Return *3 SET k and a bulk of len times c. */
static char *
long_set(size_t len, char c, size_t *total)
{
	char *p = malloc(len + 100);
	const int head = sprintf(p, "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$%zu\r\n",
	    len);

	memset(p + head, c, len);
	memcpy(p + head + len, "\r\nPING\r\n", 9);
	*total = (size_t)head + len + 8;
	return p;
}

static void
test_long(void)
{
	size_t total;
	char want[64];

	for (size_t len = RESP_BULK - 1; len <= RESP_BULK + 1; len++) {
		char *p = long_set(len, 'q', &total);

		snprintf(want, sizeof(want), "<SET><k><%zuq>;<PING>;", len);
		check_requests(p, total, want, NULL,
		    "a bulk about as long as is placed");
		free(p);
	}
}

/* Bytes of a bulk can be stored directly at their place. */
static void
test_hole(void)
{
	struct resp r = { .keep_bytes = 100 };
	struct got g = { 0 };
	const char *head = "*2\r\n$5000\r\n";
	uint8_t *hole, *b = malloc(5000);
	size_t took;

	ok(resp_read(&r, (const uint8_t *)head, 11, &took) == RESP_PLACE &&
	    took == 11 && r.bulk_len == 5000, "a long bulk needs a place");
	ok(resp_get_hole(&r, &hole) == 0, "before it has a place it has no "
	    "hole");
	resp_place_bulk(&r, b, b);
	ok(resp_get_hole(&r, &hole) == 5000 && hole == b,
	    "then the whole place is the hole");
	memset(hole, 'a', 3000);
	resp_add_filled(&r, 3000);
	ok(resp_get_hole(&r, &hole) == 2000 && hole == b + 3000,
	    "the hole shrinks by the bytes that arrived");
	memset(hole, 'b', 2000);
	resp_add_filled(&r, 2000);
	ok(resp_get_hole(&r, &hole) == 0, "a complete bulk has no hole");
	ok(resp_read(&r, (const uint8_t *)"\r\n$1\r\nx\r\n", 9, &took) ==
	    RESP_REQUEST && took == 9, "the next requests are read as usual");
	ok(r.args.n == 2 && r.args.v[0].p == b && r.args.v[0].bulk == b &&
	    b[2999] == 'a' && b[4999] == 'b', "the bulk is at its place");
	take_request(&g, &r);
	ok(strcmp(g.text, "<5000b><x>;") == 0, "the request is whole");
	resp_free(&r);
}

/* A request that may not be kept is read to its end. */
static void
test_lost(void)
{
	struct resp r = { .keep_bytes = 0 };
	struct got g;
	size_t total, took;
	char *p = malloc(1 << 20);
	int n = sprintf(p, "*100\r\n");

	for (int i = 0; i < 100; i++)
		n += sprintf(p + n, "$1000\r\n%01000d\r\n", i);
	n += sprintf(p + n, "PING\r\n");
	read_all(&g, &r, p, (size_t)n, 100);
	ok(strstr(g.text, "lost;<PING>;") != NULL,
	    "arguments beyond the limit are dropped, and the next request is "
	    "not");
	ok(resp_args_bytes(&r.args) <= RESP_SMALL_BYTES,
	    "little memory is used meanwhile");
	free(p);

	p = long_set(100000, 'z', &total);
	r.keep_bytes = 100000;
	ok(resp_read(&r, (const uint8_t *)p, 30, &took) == RESP_PLACE,
	    "a bulk may get no place");
	resp_refuse_request(&r);
	g = (struct got){ 0 };
	read_all(&g, &r, p + took, total - took, 777);
	ok(strcmp(g.text, "<SET><k>lost;<PING>;") == 0, "is read to its end");
	free(p);
	resp_free(&r);
}

static void
test_stranger(void)
{
	struct resp r = { .keep_bytes = 1000, .no_auth = true };
	size_t took;

	ok(resp_read(&r, (const uint8_t *)"*11\r\n", 5, &took) == RESP_BAD &&
	    strcmp(r.bad, "ERR Protocol error: unauthenticated multibulk "
	    "length") == 0, "a client without authentication may send 10 "
	    "arguments");
	resp_free(&r);
	r = (struct resp){ .keep_bytes = 1000, .no_auth = true };
	ok(resp_read(&r, (const uint8_t *)"*1\r\n$16385\r\n", 12, &took) ==
	    RESP_BAD && strcmp(r.bad, "ERR Protocol error: unauthenticated "
	    "bulk length") == 0, "a client without authentication may send a "
	    "bulk of 16 KiB");
	resp_free(&r);
}

static void
test_integers(void)
{
	static const struct { const char *s; bool good; int64_t v; } t[] = {
		{ "0", true, 0 }, { "-1", true, -1 }, { "12", true, 12 },
		{ "9223372036854775807", true, INT64_MAX },
		{ "-9223372036854775808", true, INT64_MIN },
		{ "9223372036854775808", false, 0 },
		{ "-9223372036854775809", false, 0 },
		{ "99999999999999999999", false, 0 }, { "", false, 0 },
		{ "-", false, 0 }, { "-0", false, 0 }, { "01", false, 0 },
		{ "+1", false, 0 }, { " 1", false, 0 }, { "1x", false, 0 }
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++) {
		int64_t v = 0;
		const bool good = resp_read_integer((const uint8_t *)t[i].s,
		    strlen(t[i].s), &v);

		ok(good == t[i].good && (!good || v == t[i].v), "'%s'",
		    t[i].s);
	}
}

int
main(void)
{
	char too_long[70100];

	check_text("*1\r\n$4\r\nPING\r\n*2\r\n$4\r\nECHO\r\n$0\r\n\r\n",
	    "<PING>;<ECHO><>;", "two requests");
	check_text("*0\r\n*-1\r\n\r\n\r\n*1\r\n$1\r\na\r\n", "<a>;",
	    "empty requests are none");
	check_text("PING\r\nSET a 'b c'\n  GET  \"x\\x41\\n\\\"\" \r\n",
	    "<PING>;<SET><a><b c>;<GET><xA\n\">;", "inline, with quotes");
	check_text("ECHO 'it\\'s' a\"b c\" \"\"\r\n", "<ECHO><it's><ab c><>;",
	    "quotes within, and empty ones");
	check_requests("*2\r\n$1\r\n\0\r\n$3\r\na\r\n\r\n", 20, "<><a\r\n>;",
	    NULL, "any bytes");
	check_bad("ECHO 'a\r\n",
	    "ERR Protocol error: unbalanced quotes in request",
	    "unbalanced quotes");
	check_bad("ECHO \"a\"b\r\n",
	    "ERR Protocol error: unbalanced quotes in request",
	    "a letter after the last quote");
	check_bad("*x\r\n", "ERR Protocol error: invalid multibulk length",
	    "a length of letters");
	check_bad("*1048577\r\n",
	    "ERR Protocol error: invalid multibulk length",
	    "more arguments than may be");
	check_bad("*1\r\n:4\r\n", "ERR Protocol error: expected '$', got ':'",
	    "no bulk where one should be");
	check_text("*1\r\n4\r", "",
	    "not before the byte behind its line, as Redis");
	check_bad("*1\r\n4\r\n", "ERR Protocol error: expected '$', got '4'",
	    "but with it");
	check_bad("*1\r\n$-1\r\n", "ERR Protocol error: invalid bulk length",
	    "a bulk of less than nothing");
	check_bad("*1\r\n$536870913\r\n",
	    "ERR Protocol error: invalid bulk length",
	    "a bulk of more than 512 MiB");
	memset(too_long, 'x', sizeof(too_long));
	check_requests(too_long, sizeof(too_long), "",
	    "ERR Protocol error: too big inline request", "a line without end");
	too_long[0] = '*';
	check_requests(too_long, sizeof(too_long), "",
	    "ERR Protocol error: too big mbulk count string",
	    "a count without end");
	memcpy(too_long, "*1\r\n$", 5);
	check_requests(too_long, sizeof(too_long), "",
	    "ERR Protocol error: too big bulk count string",
	    "a length without end");
	test_long();
	test_hole();
	test_lost();
	test_stranger();
	test_integers();
	return tap_end();
}
