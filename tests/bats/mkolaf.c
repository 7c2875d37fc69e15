/*
 * mkolaf - make a capture of Olaf packets from lines of text, for tests
 *
 *	mkolaf [-l LINK] <lines >capture
 *
 * LINK is ethernet, vlan, raw, sll, sll2, null, ppp, hdlc, pppoe, wifi,
 * radiotap, or the number of another, with the IP packet alone.
 *
 * A line is a packet: eight columns, then any of the words below.
 *
 *	time_ns cluster worker sequence merged generated_ns reward elements
 *
 *	kind=N version=N following=N	these header fields (1, 1, 0)
 *	n=N		elements in this packet (all of them)
 *	nan		the last element is not a number
 *	short=N		only N bytes of payload
 *	extra=N		N bytes more of payload than elements say
 *	v6 tos=N sport=N dport=N	in IP and UDP (0x2c, 46638)
 *	src=A.B.C.D	an IPv4 source of one's own (the cluster's and worker's)
 *	sum=bad|none|pseudo		the UDP checksum (right)
 *	fragment	an IPv4 fragment
 *	lie		UDP length larger than the packet
 *	cut=N		N bytes captured
 *	type=N		behind the link header is this ethertype, not IP
 *	outgoing	a cooked capture saw it leave over the loopback
 *	behind		in the same datagram as the line before
 *	lengths=zero|first	of IP and UDP: 0, or the first line's (right)
 *	bare		reward and vector only
 *
 * Element i is reward + i.  Lines that begin with # are comments.
 */
#include <err.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/vec.h"
#include "common/capture/pcapio.h"
#include "common/wire/frame.h"
#include "common/wire/update.h"

struct line {
	uint64_t time_ns;
	struct update u;
	uint8_t version, tos;
	uint16_t sport, dport;
	uint8_t src[4];
	long short_bytes, extra_bytes, cut_bytes;	/* -1: not asked */
	bool own_src, v6, nan, fragment, lie, bare, outgoing, behind;
	uint16_t type;		/* 0: IP's */
	char sum, lengths;	/* first letter of its word, 0 for right */
};

/* A frame: a line and those behind it. */
struct whole {
	struct line first;
	uint8_t *payload;
	size_t bytes, first_bytes;
	bool any;
};

static const struct { const char *name; int type; } links[] = {
	{ "ethernet", FRAME_ETHERNET }, { "vlan", FRAME_ETHERNET },
	{ "raw", FRAME_RAW }, { "sll", FRAME_SLL }, { "sll2", FRAME_SLL2 },
	{ "null", FRAME_NULL }, { "ppp", FRAME_PPP },
	{ "hdlc", FRAME_PPP_HDLC }, { "pppoe", FRAME_PPP_ETHER },
	{ "wifi", FRAME_WIFI }, { "radiotap", FRAME_RADIOTAP }
};

enum { LINKS = sizeof(links) / sizeof(links[0]), PAYLOAD_BYTES = 65535 };

static unsigned long long
number(const char *s, unsigned long at)
{
	char *end;
	unsigned long long v = strtoull(s, &end, 0);

	if (end == s || *end != '\0')
		errx(1, "line %lu: '%s' is not a number", at, s);
	return v;
}

static bool
flag(struct line *l, const char *w)
{
	if (strcmp(w, "nan") == 0)
		l->nan = true;
	else if (strcmp(w, "v6") == 0)
		l->v6 = true;
	else if (strcmp(w, "fragment") == 0)
		l->fragment = true;
	else if (strcmp(w, "lie") == 0)
		l->lie = true;
	else if (strcmp(w, "bare") == 0)
		l->bare = true;
	else if (strcmp(w, "outgoing") == 0)
		l->outgoing = true;
	else if (strcmp(w, "behind") == 0)
		l->behind = true;
	else
		return false;
	return true;
}

static void
word(struct line *l, char *w, unsigned long at)
{
	char *v = strchr(w, '=');
	unsigned a, b, c, d;

	if (v == NULL) {
		if (!flag(l, w))
			errx(1, "line %lu: unknown word '%s'", at, w);
		return;
	}
	*v++ = '\0';
	if (strcmp(w, "sum") == 0) {
		l->sum = *v;
	} else if (strcmp(w, "lengths") == 0) {
		l->lengths = *v;
	} else if (strcmp(w, "type") == 0) {
		l->type = (uint16_t)number(v, at);
	} else if (strcmp(w, "src") == 0) {
		if (sscanf(v, "%u.%u.%u.%u", &a, &b, &c, &d) != 4)
			errx(1, "line %lu: bad address '%s'", at, v);
		l->own_src = true;
		bytes_put(l->src, a << 24 | b << 16 | c << 8 | d, 4);
	} else if (strcmp(w, "kind") == 0) {
		l->u.kind = (uint8_t)number(v, at);
	} else if (strcmp(w, "version") == 0) {
		l->version = (uint8_t)number(v, at);
	} else if (strcmp(w, "following") == 0) {
		l->u.following = (uint16_t)number(v, at);
	} else if (strcmp(w, "n") == 0) {
		l->u.n = (uint32_t)number(v, at);
	} else if (strcmp(w, "tos") == 0) {
		l->tos = (uint8_t)number(v, at);
	} else if (strcmp(w, "sport") == 0) {
		l->sport = (uint16_t)number(v, at);
	} else if (strcmp(w, "dport") == 0) {
		l->dport = (uint16_t)number(v, at);
	} else if (strcmp(w, "short") == 0) {
		l->short_bytes = (long)number(v, at);
	} else if (strcmp(w, "extra") == 0) {
		l->extra_bytes = (long)number(v, at);
	} else if (strcmp(w, "cut") == 0) {
		l->cut_bytes = (long)number(v, at);
	} else {
		errx(1, "line %lu: unknown word '%s='", at, w);
	}
}

/* Read one line; false if it is a comment or blank. */
static bool
read_line(char *s, unsigned long at, struct line *l)
{
	static const char sep[] = " \t\n";
	char *col[8], *w;

	*l = (struct line){ .version = UPDATE_VERSION, .tos = UPDATE_TOS,
	    .sport = UPDATE_PORT, .dport = UPDATE_PORT, .short_bytes = -1,
	    .extra_bytes = -1, .cut_bytes = -1 };
	w = strtok(s, sep);
	if (w == NULL || *w == '#')
		return false;
	for (int i = 0; i < 8; i++, w = strtok(NULL, sep)) {
		if (w == NULL)
			errx(1, "line %lu: only %d columns", at, i);
		col[i] = w;
	}
	l->time_ns = number(col[0], at);
	l->u = (struct update){ .kind = UPDATE_UPDATE,
	    .cluster = (uint16_t)number(col[1], at),
	    .worker = (uint32_t)number(col[2], at),
	    .sequence = (uint32_t)number(col[3], at),
	    .merged = (uint16_t)number(col[4], at),
	    .generated_ns = number(col[5], at),
	    .reward = strtof(col[6], NULL),
	    .elements = (uint32_t)number(col[7], at) };
	l->u.n = l->u.elements;
	for (; w != NULL; w = strtok(NULL, sep))
		word(l, w, at);
	return true;
}

/* The UDP payload of l at p; its length. */
static size_t
put_payload(uint8_t *p, const struct line *l)
{
	uint8_t *vec = p + 4;
	size_t len;

	if (l->bare) {
		bytes_put_f32(p, l->u.reward);
	} else {
		vec = update_put(p, &l->u);
		p[0] = l->version;
	}
	for (uint32_t i = 0; i < l->u.n; i++)
		vec_set(vec, i, l->u.reward + (float)i);
	if (l->nan)
		memset(vec + 4 * (l->u.n - 1), 0xff, 4);
	len = (size_t)(vec - p) + 4 * (size_t)l->u.n;
	if (l->extra_bytes > 0) {
		memset(p + len, 0, (size_t)l->extra_bytes);
		len += (size_t)l->extra_bytes;
	}
	return l->short_bytes >= 0 ? (size_t)l->short_bytes : len;
}

/* Let IP and UDP have the lengths of n bytes, or be 0. */
static void
set_lengths(uint8_t *p, const struct frame *f, size_t n, bool zero)
{
	uint8_t *ip = p + f->ip_at;
	uint16_t sum;

	bytes_put(p + f->udp_at + 4, zero ? 0 : n + FRAME_UDP_BYTES, 2);
	if (f->flow.v6) {
		bytes_put(ip + 4, zero ? 0 : n + FRAME_UDP_BYTES, 2);
		return;
	}
	bytes_put(ip + 2, zero ? 0 : 20 + n + FRAME_UDP_BYTES, 2);
	memset(ip + 10, 0, 2);
	sum = (uint16_t)~inetsum_fold(inetsum_add(0, ip, 20));
	memcpy(ip + 10, &sum, 2);
}

/* Put the Ethernet frame of w at p; its length. */
static size_t
put_frame(uint8_t *p, const struct whole *w)
{
	static const uint8_t v6[16] = { 0xfd };
	const struct line *l = &w->first;
	struct frame_flow flow = { .sport = l->sport, .dport = l->dport,
	    .v6 = l->v6 };
	struct frame f;
	size_t tail = l->v6 ? 12 : 0, head;
	uint16_t sum;

	memcpy(flow.src, v6, l->v6 ? sizeof(v6) : 0);
	memcpy(flow.dst, v6, l->v6 ? sizeof(v6) : 0);
	frame_worker_addr(flow.src + tail, l->u.cluster, l->u.worker);
	memcpy(flow.dst + tail, frame_server_addr, 4);
	if (l->own_src)
		memcpy(flow.src + tail, l->src, 4);
	head = frame_put(p, &flow, l->tos, w->bytes, &f);
	memcpy(p + head, w->payload, w->bytes);
	if (l->sum != 'n')
		frame_put_checksum(p, &f);
	if (l->sum == 'p') {
		sum = inetsum_fold(frame_pseudo_sum(p, &f));
		memcpy(p + f.udp_at + 6, &sum, 2);
	}
	if (l->sum == 'b')
		p[f.udp_at + 7] ^= 0x55;
	if (l->lie)
		bytes_put(p + f.udp_at + 4, w->bytes + FRAME_UDP_BYTES + 4, 2);
	if (l->lengths != 0)
		set_lengths(p, &f, w->first_bytes, l->lengths == 'z');
	if (l->fragment) {
		bytes_put(p + f.ip_at + 6, 0x2000, 2);
		memset(p + f.ip_at + 10, 0, 2);
		sum = (uint16_t)~inetsum_fold(inetsum_add(0, p + f.ip_at, 20));
		memcpy(p + f.ip_at + 10, &sum, 2);
	}
	return head + w->bytes;
}

/* Write the header of another link layer at h; its length. */
static size_t
put_link(uint8_t h[64], int link, uint16_t type, bool outgoing)
{
	static const uint8_t snap[6] = { 0xaa, 0xaa, 3 };
	const uint16_t ppp = type == 0x0800 ? 0x21 : type == 0x86dd ? 0x57 :
	    type;
	size_t n = 0;

	memset(h, 0, 64);
	switch (link) {
	case FRAME_NULL:
		h[0] = 2;		/* AF_INET, little-endian */
		return 4;
	case FRAME_SLL:
		bytes_put(h, outgoing ? 4 : 0, 2);
		bytes_put(h + 2, outgoing ? 772 : 1, 2);
		bytes_put(h + 14, type, 2);
		return 16;
	case FRAME_SLL2:
		bytes_put(h, type, 2);
		bytes_put(h + 8, outgoing ? 772 : 1, 2);
		h[10] = outgoing ? 4 : 0;
		return 20;
	case FRAME_PPP_ETHER:
		h[0] = 0x11;
		bytes_put(h + 6, ppp, 2);
		return 8;
	case FRAME_PPP:
		bytes_put(h, ppp, 2);
		return 2;
	case FRAME_PPP_HDLC:
		bytes_put(h, 0xff03, 2);
		bytes_put(h + 2, ppp, 2);
		return 4;
	case FRAME_RADIOTAP:		/* of flags alone: padded */
		h[2] = 9;
		h[4] = 2;
		h[8] = 0x20;
		n = 9;
		/* fall through */
	case FRAME_WIFI:		/* to the access point, QoS */
		h[n] = type < 0x600 ? 0x80 : 0x88;	/* or a beacon */
		h[n + 1] = 1;
		n += link == FRAME_RADIOTAP ? 28 : 26;
		memcpy(h + n, snap, sizeof(snap));
		bytes_put(h + n + 6, type, 2);
		return n + 8;
	default:
		return 0;
	}
}

/* Change the Ethernet header of the len bytes at p for another; the length. */
static size_t
relink(uint8_t *p, size_t len, int link, bool vlan, const struct line *l)
{
	uint8_t h[64];
	size_t head;

	if (l->type != 0)
		bytes_put(p + 12, l->type, 2);
	if (vlan) {
		memcpy(h, p, 12);
		bytes_put(h + 12, 0x81000007, 4);
		memcpy(h + 16, p + 12, 2);
		head = 18;
	} else if (link == FRAME_ETHERNET) {
		return len;
	} else {
		head = put_link(h, link, (uint16_t)bytes_get(p + 12, 2),
		    l->outgoing);
	}
	len -= FRAME_ETH_BYTES;
	memmove(p + head, p + FRAME_ETH_BYTES, len);
	memcpy(p, h, head);
	return len + head;
}

/* Write what has been gathered. */
static void
flush(struct pcapio_out *out, struct whole *w, int link, bool vlan)
{
	const struct line *l = &w->first;
	size_t len;

	if (!w->any)
		return;
	w->any = false;
	len = put_frame(pcapio_room(out), w);
	len = relink(pcapio_room(out), len, link, vlan, l);
	pcapio_commit(out, l->time_ns, l->cut_bytes >= 0 &&
	    (size_t)l->cut_bytes < len ? (uint32_t)l->cut_bytes :
	    (uint32_t)len, (uint32_t)len);
}

/* One more line; what came before is written unless this is behind it. */
static void
gather(struct pcapio_out *out, struct whole *w, const struct line *l, int link,
    bool vlan)
{
	if (!l->behind || !w->any) {
		flush(out, w, link, vlan);
		w->first = *l;
		w->first_bytes = w->bytes = put_payload(w->payload, l);
		w->any = true;
	} else {
		w->bytes += put_payload(w->payload + w->bytes, l);
	}
	if (w->bytes > PAYLOAD_BYTES)
		errx(1, "a datagram of %zu bytes", w->bytes);
}

/* The link type of this name, or number. */
static int
link_of(const char *name, bool *vlan)
{
	*vlan = strcmp(name, "vlan") == 0;
	for (size_t k = 0; k < LINKS; k++)
		if (strcmp(name, links[k].name) == 0)
			return links[k].type;
	return (int)number(name, 0);
}

int
main(int argc, char *argv[])
{
	struct whole w = { .payload = malloc(2 * PCAPIO_FRAME_MAX_BYTES) };
	struct pcapio_out out;
	struct line l;
	char *s = NULL;
	size_t room = 0;
	unsigned long at = 0;
	int ch, link = FRAME_ETHERNET;
	bool vlan = false;

	while ((ch = getopt(argc, argv, "l:")) != -1) {
		if (ch != 'l')
			return 2;
		link = link_of(optarg, &vlan);
	}
	if (w.payload == NULL)
		err(1, "lines");
	pcapio_create_or_exit(&out, "-");
	memcpy(out.buf + 20, &(uint32_t){ (uint32_t)link }, 4);
	while (getline(&s, &room, stdin) != -1)
		if (read_line(s, ++at, &l))
			gather(&out, &w, &l, link, vlan);
	flush(&out, &w, link, vlan);
	free(s);
	free(w.payload);
	return pcapio_close_or_warn(&out);
}
