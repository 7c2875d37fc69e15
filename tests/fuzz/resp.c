/*
 * Fuzz requests to innet-memory in pieces of any size: byte 0 selects the size,
 * and the limit of memory.
 */
#include <strings.h>

#include "common/net/timer.h"
#include "tests/fuzz/fuzz.h"

#include "cmd/innet-memory/commands/part-list.h"
#include "cmd/innet-memory/server/client-io.h"
#include "cmd/innet-memory/server/loop.h"
#include "cmd/innet-memory/store/table.h"

/* COMMAND DOCS nests arrays and maps 10 deep, and EXEC adds one level. */
enum { DEPTH_MAX = 16 };

struct all {
	uint8_t *p;
	size_t len, room;
	bool bad;		/* replies were lost for lack of memory */
};

/* Return the end of the reply at p, or NULL if it is not a reply. */
static const uint8_t *
reply(const uint8_t *p, const uint8_t *end, int depth)
{
	const uint8_t *nl = memchr(p, '\n', (size_t)(end - p));
	int64_t n;

	if (nl == NULL || nl - p < 2 || nl[-1] != '\r' || depth > DEPTH_MAX)
		return NULL;
	if (memchr(p, '\r', (size_t)(nl - p)) != nl - 1)
		return NULL;
	if (*p == '+' || *p == '-' || *p == ',' || (*p == '_' && nl - p ==
	    2))
		return nl + 1;
	if (!resp_read_integer(p + 1, (size_t)(nl - p) - 2, &n))
		return NULL;
	if (*p == ':' || ((*p == '$' || *p == '*') && n == -1))
		return nl + 1;
	if ((*p == '$' || *p == '=') && n >= 0 && end - nl > n + 2 &&
	    nl[n + 1] == '\r' && nl[n + 2] == '\n')
		return nl + n + 3;
	if ((*p != '*' && *p != '~' && *p != '%') || n < 0)
		return NULL;
	n *= *p == '%' ? 2 : 1;
	for (p = nl + 1; n > 0 && p != NULL; n--)
		p = reply(p, end, depth + 1);
	return p;
}

/* Take the bytes that are due, as a socket would. */
static void
drain(struct client *c, struct all *to)
{
	struct out *o = &c->out;

	must(!o->bad || c->dead, "without memory for replies it is closed");
	to->bad |= o->bad;
	for (size_t i = o->first; i < o->parts && !o->bad; i++) {
		const struct out_part *p = &o->part[i];
		const uint8_t *from = p->blob != NULL ? p->blob->bytes :
		    o->text;

		if (to->len + p->len > to->room) {
			to->room = 2 * (to->len + p->len);
			to->p = realloc(to->p, to->room);
		}
		if (to->p == NULL)
			abort();
		memcpy(to->p + to->len, from + p->at, p->len);
		to->len += p->len;
	}
	out_free(o, &c->srv->account);
}

/* Deliver the bytes as a socket would: bytes that fit a hole go there. */
static void
feed(struct client *c, const uint8_t *p, size_t len)
{
	uint8_t *hole, *copy;
	size_t left = resp_get_hole(&c->in, &hole), had;

	left = left < len ? left : len;
	if (left > 0) {
		memcpy(hole, p, left);
		resp_add_filled(&c->in, left);
	}
	had = c->unread_len;
	copy = fuzz_copy(p + left, len - left);
	if (had > 0) {
		copy = realloc(copy, had + len - left + 1);
		if (copy == NULL)
			abort();
		memmove(copy + had, copy, len - left);
		memcpy(copy, c->unread, had);
	}
	client_feed(c, copy, had + len - left);
	free(copy);
}

/* Return all replies to these bytes, which arrive `step` at a time. */
static struct all
talk(const uint8_t *p, size_t len, size_t step, size_t memory)
{
	const struct conf cf = { .memory_bytes = memory, .output_bytes =
	    100000, .idle_ns = TIMER_NEVER, .stuck_ns = TIMER_NEVER,
	    .save_every_ns = TIMER_NEVER, .duration_ns = TIMER_NEVER,
	    .clients = 10, .seeded = true };
	static struct server srv;
	struct all all = { 0 };
	struct client *c;
	size_t n;

	must(server_open(&srv, &cf, part_list), "the server opens");
	srv.version = 0;
	c = client_new(&srv, -1, "here");
	if (c == NULL)
		abort();
	for (; len > 0 && !c->dead && c->disconnect == DISCONNECT_NONE; p += n,
	    len -= n) {
		n = step < len ? step : len;
		feed(c, p, n);
		drain(c, &all);
		while (c->stalled && !c->dead &&
		       c->disconnect == DISCONNECT_NONE) {
			client_feed(c, c->unread, c->unread_len);
			drain(c, &all);
		}
	}
	client_free(c);
	server_flush(&srv);
	must(srv.account.used == 0, "FLUSHALL gives all memory back");
	server_close(&srv);
	must(srv.account.used == 0, "all memory that was taken is given back");
	return all;
}

/* Does the reply to this request depend on the time or on the pieces? */
static bool
timely(const uint8_t *p, size_t len)
{
	static const char *const words[] = { "info", "list", "config",
	    "expire", "ttl", "setex", "exat", "pxat", " ex", "\nex", " px",
	    "\npx" };
	const size_t count = sizeof(words) / sizeof(*words);

	for (size_t i = 0; i < len; i++) {
		for (size_t w = 0; w < count; w++) {
			const size_t n = strlen(words[w]);

			if (len - i >= n && strncasecmp((const char *)p + i,
			    words[w], n) == 0)
				return true;
		}
	}
	return false;
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	static const size_t steps[] = { 1, 2, 5, 64, 1000, 4096, 20000,
	    100000 };
	const size_t memory = len > 0 && (p[0] & 8) != 0 ? 100000 : 10000000;
	struct all a, b;

	if (len < 1)
		return 0;
	a = talk(p + 1, len - 1, steps[p[0] % 8], memory);
	b = talk(p + 1, len - 1, len, memory);
	for (const uint8_t *at = a.p; a.len > 0 && at != a.p + a.len; ) {
		at = reply(at, a.p + a.len, 0);
		must(at != NULL, "what comes back is whole replies");
	}
	must(memory < 1000000 || a.bad || b.bad || timely(p, len) ||
	    (a.len == b.len && (a.len == 0 ||
	    memcmp(a.p, b.p, a.len) == 0)),
	    "the replies do not depend on the cuts");
	free(a.p);
	free(b.p);
	return 0;
}
