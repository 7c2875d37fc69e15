/*
 * dumpiswitch - the iSwitch packets of a capture as lines of text, for tests
 *
 *	dumpiswitch FILE
 *
 * One line a packet, in the words of tests/bats/iswitch.h: mkiswitch makes the
 * same capture of them again, but for link layers, checksums and what is no
 * UDP.
 */
#include <inttypes.h>
#include <stdio.h>

#include "common/base/vec.h"
#include "common/capture/pcapio.h"
#include "common/wire/repair.h"
#include "tests/bats/iswitch.h"

static void
print_addr(const uint8_t a[16], uint16_t port, bool v6)
{
	union addr u = { 0 };
	char name[ADDR_NAME_BYTES];

	if (v6) {
		u.in6.sin6_family = AF_INET6;
		u.in6.sin6_port = htons(port);
		memcpy(&u.in6.sin6_addr, a, 16);
	} else {
		u.in.sin_family = AF_INET;
		u.in.sin_port = htons(port);
		memcpy(&u.in.sin_addr, a, 4);
	}
	printf(" %s", addr_print(&u, name));
}

/* One of n names, or the number. */
static void
print_name(const char *label, unsigned v, const char *const *name, size_t n)
{
	if (v < n)
		printf(" %s%s", label, name[v]);
	else
		printf(" %s%u", label, v);
}

static void
print_hex(const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		printf("%02x", p[i]);
}

static void
print_seg(uint64_t word)
{
	struct seg s = seg_split(word);

	printf(" seg=%" PRIu32 ".%u.%" PRIu32, s.iteration, s.contributions,
	    s.index);
}

/* A body that is none is printed as bytes. */
static void
print_body(const struct control *c)
{
	printf(" body=");
	print_hex(c->body, c->body_bytes);
}

static void
print_ack(const struct control *c)
{
	struct control_ack a;
	bool whole = control_get_ack(c, &a);
	const char *name = control_action_name(a.action);

	if (!whole || name == NULL) {
		print_body(c);
		return;
	}
	printf(" %s", name);
	print_name("", a.status, iswitch_status, CONTROL_STATUSES);
	switch (a.action) {
	case CONTROL_JOIN:
		printf(" member=%u h=%u members=%u next=%" PRIu32 " floats=%u "
		    "elements=%" PRIu32 " timeout=%u", a.member, a.h,
		    a.members, a.next, a.floats, a.elements, a.timeout_s);
		break;
	case CONTROL_SETH: printf(" h=%u", a.h); break;
	case CONTROL_FBCAST: printf(" contributions=%u", a.contributions);
		break;
	case CONTROL_HELP:
		if (a.status != CONTROL_DONE)
			print_seg(a.seg);
		else if (repair_is_state(c))
			print_body(c);
		break;
	case CONTROL_MEMBERS:
	case CONTROL_STATS:
		printf(" page=%u pages=%u text=", a.page, a.pages);
		for (size_t i = 0; i < a.text_bytes; i++)
			putchar(a.text[i] == '\n' ? ' ' : a.text[i]);
		break;
	default: break;
	}
}

static void
print_join(const struct control *c)
{
	struct control_join j;

	if (!control_get_join(c, &j)) {
		print_body(c);
		return;
	}
	print_name("type=", j.type, iswitch_type, 4);
	print_name("mode=", j.async, iswitch_mode, 2);
	printf(" cluster=%u worker=%" PRIu32 " elements=%" PRIu32
	    " floats=%u next=%" PRIu32 " crc=%" PRIu32, j.cluster, j.worker,
	    j.elements, j.floats, j.next, j.crc);
}

static void
print_control(const struct control *c, const uint8_t *end)
{
	uint64_t v = 0;
	bool ok = true;

	printf(" %s %u %" PRIu32, control_action_name(c->action), c->job,
	    c->xid);
	if (c->cookie != NULL) {
		printf(" pass=");
		print_hex(c->cookie, CONTROL_COOKIE_BYTES);
	}
	if (c->has_mac) {
		printf(" seal=");
		print_hex(end - CONTROL_MAC_BYTES, CONTROL_MAC_BYTES);
	}
	switch (c->action) {
	case CONTROL_JOIN: print_join(c); break;
	case CONTROL_ACK: print_ack(c); break;
	case CONTROL_SETH:
		ok = control_get_number(c, 2, &v);
		printf(" h=%" PRIu64, v);
		break;
	case CONTROL_FBCAST:
	case CONTROL_HELP:
		ok = control_get_number(c, 8, &v) && !repair_is_help(c);
		if (ok)
			print_seg(v);
		break;
	case CONTROL_MEMBERS:
	case CONTROL_STATS:
		ok = control_get_number(c, 2, &v);
		printf(" page=%" PRIu64, v);
		break;
	default: break;
	}
	if (!ok)
		print_body(c);
}

static void
print_segment(const struct seg *s)
{
	printf(" seg %" PRIu32 " %u %" PRIu32, s->iteration,
	    s->contributions, s->index);
	for (uint32_t i = 0; i < s->n; i++)
		printf(" %.9g", (double)vec_get(s->vec, i));
}

static void
print_packet(int link, const struct pcapio_packet *p)
{
	struct frame f;
	struct control c;
	struct seg s;
	const uint8_t *load;
	uint8_t own = 0;

	printf("%" PRIu64, p->stamp_ns);
	if (frame_parse(link, p->data, p->caplen, p->len, &f) != FRAME_UDP) {
		printf(" - - other %u\n", p->len);
		return;
	}
	load = p->data + f.payload_at;
	print_addr(f.flow.src, f.flow.sport, f.flow.v6);
	print_addr(f.flow.dst, f.flow.dport, f.flow.v6);
	if (frame_dscp_tos(&f) == SEG_TOS &&
	    seg_parse(load, f.payload_bytes, &s)) {
		own = SEG_TOS;
		print_segment(&s);
	} else if (frame_dscp_tos(&f) == CONTROL_TOS &&
	    control_parse(load, f.payload_bytes, &c)) {
		own = CONTROL_TOS;
		print_control(&c, load + f.payload_bytes);
	} else {
		printf(" udp ");
		print_hex(load, f.payload_bytes);
	}
	if (f.tos != own)
		printf(" tos=%u", f.tos);
	putchar('\n');
}

int
main(int argc, char *argv[])
{
	struct pcapio_in in;
	struct pcapio_packet p = { 0 };
	int got;

	if (argc != 2)
		errx(2, "usage: dumpiswitch FILE");
	pcapio_open_or_exit(&in, argv[1]);
	while ((got = pcapio_next(&in, &p)) == 1)
		print_packet(in.link, &p);
	if (got == -1)
		return pcapio_warn_damage(&in);
	pcapio_close_in(&in);
	return fflush(stdout) == EOF;
}
