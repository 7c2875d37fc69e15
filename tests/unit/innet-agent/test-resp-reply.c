/*
 * Test replies of every kind, cut at any byte, and bytes that are not a reply.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/innet-agent/apex/resp-reply.h"
#include "tests/unit/tap.h"

static uint8_t room[RESPREPLY_LINE_MAX + 1];

/*
 * Print a line for each element of the bytes, which arrive in pieces of `step`
 * bytes.
 */
static const char *
print_elements(const char *p, size_t len, size_t step)
{
	static char out[4096];
	struct respreply_in in;
	struct respreply r;
	const char *why = NULL;
	size_t at = 0, got = 0;
	int rc = 0;

	out[0] = '\0';
	respreply_open(&in, room, sizeof(room));
	while (rc != -1 && strlen(out) < sizeof(out) - 100) {
		char *to = out + strlen(out), body[64] = "";
		size_t n;

		rc = respreply_next(&in, &r, &why);
		if (rc == 1 && r.kind == RESPREPLY_BULK)
			sprintf(to, "bulk %d (%d) ", (int)r.n, (int)in.due);
		else if (rc == 1)
			sprintf(to, "%d %s %d (%d)\n", (int)r.kind,
			    r.kind < RESPREPLY_INT ? r.text : "", r.kind ==
			    RESPREPLY_INT || r.kind == RESPREPLY_ARRAY ?
			    (int)r.n : 0, (int)in.due);
		for (got = 0; rc == 1 && r.kind == RESPREPLY_BULK &&
		    got < (size_t)r.n && (at < len || in.from < in.have);) {
			uint8_t *space;

			got += respreply_body(&in, body + got, 3);
			space = respreply_room(&in, &n);
			n = n < step ? n : step;
			n = n < len - at ? n : len - at;
			memcpy(space, p + at, n);
			in.have += n;
			at += n;
		}
		if (rc == 1 && r.kind == RESPREPLY_BULK)
			sprintf(to + strlen(to), "%s\n", body);
		if (rc == 1)
			continue;
		if (rc == 0 && at == len)
			break;
		uint8_t *space = respreply_room(&in, &n);
		n = n < step ? n : step;
		n = n < len - at ? n : len - at;
		memcpy(space, p + at, n);
		in.have += n;
		at += n;
	}
	if (rc == -1)
		strcat(out, why);
	return out;
}

#define ALL "+OK\r\n-ERR no\r\n:-42\r\n$5\r\na\r\nb\0\r\n$0\r\n\r\n$-1\r\n" \
	"*3\r\n:1\r\n*2\r\n$1\r\nx\r\n*0\r\n*-1\r\n:9223372036854775807\r\n"

static void
test_cuts(void)
{
	char *whole = strdup(print_elements(ALL, sizeof(ALL) - 1, 1 << 20));
	bool same = true;

	ok(strcmp(whole, "0 OK 0 (0)\n1 ERR no 0 (0)\n2  -42 (0)\n"
	    "bulk 5 (0) a\r\nb\nbulk 0 (0) \n4  0 (0)\n5  3 (3)\n2  1 (2)\n"
	    "5  2 (3)\nbulk 1 (2) x\n5  0 (1)\n4  0 (0)\n2  -1 (0)\n") == 0,
	    "every kind of element is read, with the number of elements left "
	    "in its reply");
	for (size_t step = 1; step < 40; step++)
		same = same && strcmp(whole, print_elements(ALL,
						 sizeof(ALL) - 1, step)) == 0;
	ok(same, "replies are read equally in pieces of any size");
	if (!same)
		note("%s", whole);
	free(whole);
}

static void
is_refused(const char *bytes, const char *why)
{
	const char *got = print_elements(bytes, strlen(bytes), 7);

	const char *last = strrchr(why, '\n');

	ok(strcmp(got, why) == 0, "refused: %s", last == NULL ? why : last + 1);
	if (strcmp(got, why) != 0)
		note("%s", got);
}

static void
test_long(void)
{
	static char line[RESPREPLY_LINE_MAX + 2];

	memset(line, 'x', sizeof(line) - 1);
	line[0] = '+';
	memcpy(line + RESPREPLY_LINE_MAX - 2, "\r\n", 3);
	struct respreply_in in;
	struct respreply r;
	const char *why;

	respreply_open(&in, line, RESPREPLY_LINE_MAX + 1);
	in.have = RESPREPLY_LINE_MAX;
	ok(respreply_next(&in, &r, &why) == 1 &&
	    strlen(r.text) == RESPREPLY_LINE_MAX - 3, "the longest line");
	memset(line, 'x', sizeof(line) - 1);
	line[0] = '-';
	is_refused(line, "a line that is too long");
}

/* The rest of a body is skipped, and so is a body that was read elsewhere. */
static void
test_skip(void)
{
	static const char bytes[] = "$6\r\nabcdef\r\n$4\r\n";
	struct respreply_in in;
	struct respreply r;
	const char *why;
	uint8_t *p;
	size_t n;
	char two[2];

	respreply_open(&in, room, sizeof(room));
	p = respreply_room(&in, &n);
	memcpy(p, bytes, sizeof(bytes) - 1);
	in.have += sizeof(bytes) - 1;
	ok(respreply_next(&in, &r, &why) == 1 && r.n == 6 &&
	    respreply_body(&in, two, 2) == 2 && memcmp(two, "ab", 2) == 0 &&
	    respreply_next(&in, &r, &why) == 1 && r.n == 4,
	    "the rest of a body is skipped");
	ok(respreply_body(&in, two, 2) == 0, "nothing of the next body has "
	    "arrived");
	respreply_past(&in, 4);
	p = respreply_room(&in, &n);
	memcpy(p, "\r\n+A\r\n", 6);
	in.have += 6;
	ok(respreply_next(&in, &r, &why) == 1 && r.kind == RESPREPLY_STATUS &&
	    strcmp(r.text, "A") == 0, "a body that was read elsewhere is "
	    "skipped");
}

/* Return the elements before one that makes the reply too long. */
static int
count_within(const char *bytes, uint64_t most)
{
	struct respreply_in in;
	struct respreply r;
	const char *why;
	int n = 0, rc;

	respreply_open(&in, room, sizeof(room));
	in.most = most;
	memcpy(in.buf, bytes, strlen(bytes));
	in.have = strlen(bytes);
	while ((rc = respreply_next(&in, &r, &why)) == 1)
		n++;
	return rc == 0 || strcmp(why, "a reply that is too long") == 0 ? n : -1;
}

static void
test_most(void)
{
	static const char two[] = "*3\r\n+\r\n$2\r\nab\r\n:1\r\n+PONG\r\n";

	ok(count_within(two, 19) == 5 && count_within(two, 18) == 3,
	    "a reply may have the greatest length but not one byte more");
	ok(count_within("+PONG\r\n+PONG\r\n", 7) == 2,
	    "the limit counts for each reply");
	ok(count_within("$1000\r\n", 1009) == 1 &&
		count_within("$1000\r\n", 1008) == 0 &&
		count_within("*1000\r\n", 3007) == 1 &&
		count_within("*1000\r\n", 3006) == 0,
	    "announced lengths count at once");
	ok(count_within("*2147483647\r\n*2147483647\r\n", UINT64_MAX) == 2,
	    "without a limit any length is accepted");
}

int
main(void)
{
	test_cuts();
	test_most();
	test_long();
	test_skip();
	is_refused("?\r\n", "a reply of an unknown kind");
	is_refused("\r\n", "a reply of an unknown kind");
	is_refused("\n", "a line that is not valid");
	is_refused("+a\n", "a line that is not valid");
	is_refused(":\r\n", "a reply in which a number is missing");
	is_refused(":1x\r\n", "a reply in which a number is missing");
	is_refused(":9223372036854775808\r\n",
	    "a reply in which a number is missing");
	is_refused(":-9223372036854775809\r\n",
	    "a reply in which a number is missing");
	is_refused(":00000000000000000001\r\n",
	    "a reply in which a number is missing");
	is_refused("$536870913\r\n", "a reply of an impossible length");
	is_refused("$-2\r\n", "a reply of an impossible length");
	is_refused("*2147483648\r\n", "a reply of an impossible length");
	is_refused("$1\r\nab\r\n",
	    "bulk 1 (0) a\na string that is longer than the length before it");
	return tap_end();
}
