/*
 * mkiswitch - make a capture of iSwitch packets from lines of text, for tests
 *
 *	mkiswitch <lines >capture
 *
 * A line is a packet, in the words of tests/bats/iswitch.h; besides, anywhere
 * after the fourth column:
 *
 *	short=N extra=N	bytes of payload: only N, N more
 *	body=HEX	a body of one's own, of a control message
 *	flags=N tail=HEX	its flags, and what stands behind the body
 *	sum=bad		a wrong UDP checksum
 *	VALUE*N		the same float N times
 *
 * A control message's action may be a number.  Lines that begin with # are
 * comments.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/vec.h"
#include "common/capture/pcapio.h"
#include "tests/bats/iswitch.h"

enum { PAYLOAD_MAX = 65507 };

struct line {
	uint64_t time_ns;
	union addr src, dst;
	int tos;			/* -1: its own */
	uint8_t payload[PAYLOAD_MAX + 64];
	size_t bytes;
	/* of a control message, until its body is written */
	bool is_control, own_body;
	uint8_t action;
	uint16_t job, h, page;
	uint32_t xid;
	uint64_t seg;
	struct control_join join;
	struct control_ack ack;
	uint8_t flags, tail[CONTROL_COOKIE_BYTES + CONTROL_MAC_BYTES];
	size_t tail_bytes;
	long short_bytes, extra_bytes;	/* -1: not asked */
	bool bad_sum;
};

static unsigned long at;	/* the line, for messages */

static uint64_t
number(const char *s)
{
	char *end;
	unsigned long long v = strtoull(s, &end, 0);

	if (end == s || *end != '\0')
		errx(1, "line %lu: '%s' is not a number", at, s);
	return v;
}

/* A number, or one of n names. */
static uint8_t
named(const char *s, const char *const *name, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(s, name[i]) == 0)
			return (uint8_t)i;
	return (uint8_t)number(s);
}

static uint8_t
action(const char *s)
{
	for (unsigned i = 0; i < 256; i++) {
		const char *name = control_action_name(i);

		if (name != NULL && strcmp(s, name) == 0)
			return (uint8_t)i;
	}
	return (uint8_t)number(s);
}

static size_t
hex(const char *s, uint8_t *to, size_t room)
{
	size_t n = strlen(s) / 2;

	if (strlen(s) % 2 != 0 || n > room)
		errx(1, "line %lu: '%s' is no hex that fits", at, s);
	for (size_t i = 0; i < n; i++) {
		char two[3] = { s[2 * i], s[2 * i + 1], '\0' }, *end;

		to[i] = (uint8_t)strtoul(two, &end, 16);
		if (*end != '\0')
			errx(1, "line %lu: '%s' is not hex", at, s);
	}
	return n;
}

static uint64_t
seg(const char *s)
{
	unsigned t, n, i;
	char end;

	if (sscanf(s, "%u.%u.%u%c", &t, &n, &i, &end) != 3)
		errx(1, "line %lu: '%s' is no iteration.contributions.index",
		    at, s);
	return seg_word(t, (uint16_t)n, i);
}

static void
addr(const char *s, union addr *a)
{
	const char *why = addr_parse(s, ISWITCH_PORT, a);

	if (why != NULL)
		errx(1, "line %lu: '%s': %s", at, s, why);
}

/* WORD=NUMBER: false if w is no such word. */
static bool
word_number(struct line *l, const char *w, const char *v)
{
	const struct { const char *name; void *to; size_t bytes; } fields[] = {
		{ "cluster", &l->join.cluster, 2 },
		{ "worker", &l->join.worker, 4 },
		{ "crc", &l->join.crc, 4 },
		{ "member", &l->ack.member, 2 },
		{ "members", &l->ack.members, 2 },
		{ "timeout", &l->ack.timeout_s, 2 },
		{ "contributions", &l->ack.contributions, 2 },
		{ "pages", &l->ack.pages, 2 },
		{ "h", &l->h, 2 }, { "page", &l->page, 2 },
		{ "next", &l->join.next, 4 },
		{ "elements", &l->join.elements, 4 },
		{ "floats", &l->join.floats, 2 },
		{ "tos", &l->tos, 4 }, { "short", &l->short_bytes, 8 },
		{ "extra", &l->extra_bytes, 8 }
	};

	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		if (strcmp(w, fields[i].name) != 0)
			continue;
		if (fields[i].bytes == 2)
			*(uint16_t *)fields[i].to = (uint16_t)number(v);
		else if (fields[i].bytes == 4)
			*(uint32_t *)fields[i].to = (uint32_t)number(v);
		else
			*(long *)fields[i].to = (long)number(v);
		return true;
	}
	return false;
}

/* NAME=VALUE; w is changed. */
static void
word(struct line *l, char *w)
{
	char *v = strchr(w, '=');

	*v++ = '\0';
	if (word_number(l, w, v))
		return;
	if (strcmp(w, "type") == 0) {
		l->join.type = named(v, iswitch_type, 4);
	} else if (strcmp(w, "mode") == 0) {
		l->join.async = named(v, iswitch_mode, 2) != 0;
	} else if (strcmp(w, "seg") == 0) {
		l->seg = seg(v);
	} else if (strcmp(w, "flags") == 0) {
		l->flags = (uint8_t)number(v);
	} else if (strcmp(w, "tail") == 0) {
		l->tail_bytes = hex(v, l->tail, sizeof(l->tail));
	} else if (strcmp(w, "pass") == 0 || strcmp(w, "seal") == 0) {
		l->flags |= *w == 'p' ? CONTROL_HAS_COOKIE : CONTROL_HAS_MAC;
		l->tail_bytes += hex(v, l->tail + l->tail_bytes,
		    sizeof(l->tail) - l->tail_bytes);
	} else if (strcmp(w, "body") == 0) {
		l->bytes += hex(v, l->payload + l->bytes, PAYLOAD_MAX / 2);
		l->own_body = true;
	} else if (strcmp(w, "sum") == 0) {
		l->bad_sum = strcmp(v, "bad") == 0;
	} else {
		errx(1, "line %lu: unknown word '%s='", at, w);
	}
}

static void
put_float(struct line *l, char *w)
{
	char *end;
	float f = strtof(w, &end);
	uint64_t n = 1;

	if (*end == '*')
		n = number(end + 1);
	else if (end == w || *end != '\0')
		errx(1, "line %lu: '%s' is not a float", at, w);
	if (n > (PAYLOAD_MAX - l->bytes) / 4)
		errx(1, "line %lu: more than a datagram holds", at);
	for (; n > 0; n--, l->bytes += 4)
		vec_set(l->payload + l->bytes, 0, f);
}

static uint8_t *
put_body(const struct line *l, uint8_t *p)
{
	struct control_ack a = l->ack;

	switch (l->action) {
	case CONTROL_JOIN: return control_put_join(p, &l->join);
	case CONTROL_SETH: return bytes_put(p, l->h, 2);
	case CONTROL_FBCAST:
	case CONTROL_HELP: return bytes_put(p, l->seg, 8);
	case CONTROL_JOBS:
	case CONTROL_MEMBERS:
	case CONTROL_STATS: return bytes_put(p, l->page, 2);
	case CONTROL_ACK:
		a.h = l->h;
		a.next = l->join.next;
		a.floats = l->join.floats;
		a.elements = l->join.elements;
		a.seg = l->seg;
		a.page = l->page;
		return control_put_ack(p, &a);
	default: return p;
	}
}

static void
end_control(struct line *l)
{
	if (!l->own_body)
		l->bytes = (size_t)(put_body(l, l->payload + l->bytes) -
		    l->payload);
	l->payload[1] |= l->flags;
	memcpy(l->payload + l->bytes, l->tail, l->tail_bytes);
	l->bytes += l->tail_bytes;
}

static char *
need(char *w)
{
	if (w == NULL)
		errx(1, "line %lu: ends too early", at);
	return w;
}

/* Read the columns before the words: the packet's kind and its own columns. */
static void
begin(struct line *l, char **rest)
{
	static const char sep[] = " \t\n";
	char *what = need(strtok_r(NULL, sep, rest));

	if (strcmp(what, "udp") == 0) {
		l->tos = 0;
		what = strtok_r(NULL, sep, rest);
		l->bytes = what == NULL ? 0 :
		    hex(what, l->payload, PAYLOAD_MAX);
		return;
	}
	if (strcmp(what, "seg") == 0) {
		uint32_t v[3];

		for (int i = 0; i < 3; i++)
			v[i] = (uint32_t)number(need(strtok_r(NULL, sep,
			    rest)));
		l->tos = SEG_TOS;
		seg_put(l->payload, v[0], (uint16_t)v[1], v[2]);
		l->bytes = SEG_HEADER_BYTES;
		return;
	}
	l->is_control = true;
	l->tos = CONTROL_TOS;
	l->action = action(what);
	l->job = (uint16_t)number(need(strtok_r(NULL, sep, rest)));
	l->xid = (uint32_t)number(need(strtok_r(NULL, sep, rest)));
	control_put(l->payload, l->action, l->job, l->xid);
	l->bytes = CONTROL_HEADER_BYTES;
	if (l->action == CONTROL_ACK) {
		l->ack.action = action(need(strtok_r(NULL, sep, rest)));
		l->ack.status = named(need(strtok_r(NULL, sep, rest)),
		    iswitch_status, CONTROL_STATUSES);
	}
}

/* Read one line; false if it is a comment or blank. */
static bool
read_line(char *s, struct line *l)
{
	static const char sep[] = " \t\n";
	char *rest, *w, *text = strstr(s, " text=");

	memset(l, 0, sizeof(*l));
	l->short_bytes = l->extra_bytes = -1;
	l->join.type = CONTROL_WORKER;
	if (text != NULL) {
		*text = '\0';
		l->ack.text = (const uint8_t *)text + 6;
		l->ack.text_bytes = strcspn(text + 6, "\n");
	}
	w = strtok_r(s, sep, &rest);
	if (w == NULL || *w == '#')
		return false;
	l->time_ns = number(w);
	addr(need(strtok_r(NULL, sep, &rest)), &l->src);
	addr(need(strtok_r(NULL, sep, &rest)), &l->dst);
	begin(l, &rest);
	while ((w = strtok_r(NULL, sep, &rest)) != NULL) {
		if (strchr(w, '=') != NULL)
			word(l, w);
		else if (l->tos == SEG_TOS)
			put_float(l, w);
		else
			errx(1, "line %lu: unknown word '%s'", at, w);
	}
	if (l->is_control)
		end_control(l);
	if (l->extra_bytes > 0 && l->extra_bytes < PAYLOAD_MAX - (long)l->bytes)
		l->bytes += (size_t)l->extra_bytes;
	if (l->short_bytes >= 0 && (size_t)l->short_bytes < l->bytes)
		l->bytes = (size_t)l->short_bytes;
	return true;
}

static void
put_addr(const union addr *a, uint8_t to[16], uint16_t *port)
{
	*port = addr_port(a);
	if (a->sa.sa_family == AF_INET6)
		memcpy(to, &a->in6.sin6_addr, 16);
	else
		memcpy(to, &a->in.sin_addr, 4);
}

/* Put the Ethernet frame of l at p; its length. */
static size_t
put_frame(uint8_t *p, const struct line *l)
{
	struct frame_flow flow = { .v6 = l->src.sa.sa_family == AF_INET6 };
	struct frame f;
	size_t head;

	put_addr(&l->src, flow.src, &flow.sport);
	put_addr(&l->dst, flow.dst, &flow.dport);
	head = frame_put(p, &flow, (uint8_t)l->tos, l->bytes, &f);
	memcpy(p + head, l->payload, l->bytes);
	frame_put_checksum(p, &f);
	if (l->bad_sum)
		p[f.udp_at + 7] ^= 0x55;
	return head + l->bytes;
}

int
main(void)
{
	static struct line l;
	struct pcapio_out out;
	char *s = NULL;
	size_t room = 0;
	uint32_t len;

	pcapio_create_or_exit(&out, "-");
	while (getline(&s, &room, stdin) != -1) {
		at++;
		if (!read_line(s, &l))
			continue;
		len = (uint32_t)put_frame(pcapio_room(&out), &l);
		pcapio_commit(&out, l.time_ns, len, len);
	}
	free(s);
	return pcapio_close_or_warn(&out);
}
