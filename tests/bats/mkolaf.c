/*
 * mkolaf - make a capture of Olaf packets from lines of text, for tests
 *
 *	mkolaf [-l ethernet|vlan|raw|sll|sll2|null] <lines >capture
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
	bool own_src, v6, nan, fragment, lie, bare;
	char sum;		/* first letter of its word, 0 for right */
};

static const struct { const char *name; int type; } links[] = {
	{ "ethernet", FRAME_ETHERNET }, { "vlan", FRAME_ETHERNET },
	{ "raw", FRAME_RAW }, { "sll", FRAME_SLL }, { "sll2", FRAME_SLL2 },
	{ "null", FRAME_NULL }
};

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

/* Put the Ethernet frame of l at p; its length. */
static size_t
put_frame(uint8_t *p, const struct line *l)
{
	static const uint8_t v6[16] = { 0xfd };
	struct frame_flow flow = { .sport = l->sport, .dport = l->dport,
	    .v6 = l->v6 };
	struct frame f;
	size_t tail = l->v6 ? 12 : 0, head, len;
	uint16_t sum;

	memcpy(flow.src, v6, l->v6 ? sizeof(v6) : 0);
	memcpy(flow.dst, v6, l->v6 ? sizeof(v6) : 0);
	frame_worker_addr(flow.src + tail, l->u.cluster, l->u.worker);
	memcpy(flow.dst + tail, frame_server_addr, 4);
	if (l->own_src)
		memcpy(flow.src + tail, l->src, 4);
	head = l->v6 ? FRAME_V6_BYTES : FRAME_V4_BYTES;
	len = put_payload(p + head, l);
	frame_put(p, &flow, l->tos, len, &f);
	if (l->sum != 'n')
		frame_seal(p, &f);
	if (l->sum == 'p') {
		sum = inetsum_fold(frame_pseudo_sum(p, &f));
		memcpy(p + f.udp_at + 6, &sum, 2);
	}
	if (l->sum == 'b')
		p[f.udp_at + 7] ^= 0x55;
	if (l->lie)
		bytes_put(p + f.udp_at + 4, len + FRAME_UDP_BYTES + 4, 2);
	if (l->fragment) {
		bytes_put(p + f.ip_at + 6, 0x2000, 2);
		memset(p + f.ip_at + 10, 0, 2);
		sum = (uint16_t)~inetsum_fold(inetsum_add(0, p + f.ip_at, 20));
		memcpy(p + f.ip_at + 10, &sum, 2);
	}
	return head + len;
}

/* Change the Ethernet header of the len bytes at p for another; the length. */
static size_t
relink(uint8_t *p, size_t len, int link, bool vlan)
{
	const uint8_t family[4] = { 2 };	/* AF_INET, little-endian */
	uint8_t type[2];
	size_t head = vlan ? 18 : link == FRAME_SLL ? 16 : link == FRAME_SLL2 ?
	    20 : link == FRAME_NULL ? 4 : 0;

	if (link == FRAME_ETHERNET && !vlan)
		return len;
	memcpy(type, p + 12, 2);
	len -= FRAME_ETH_BYTES;
	memmove(p + head, p + FRAME_ETH_BYTES, len);
	if (vlan) {
		bytes_put(p + 12, 0x81000007, 4);
		memcpy(p + 16, type, 2);
	} else if (link == FRAME_NULL) {
		memcpy(p, family, 4);
	} else if (head != 0) {
		memset(p, 0, head);
		memcpy(p + (link == FRAME_SLL ? 14 : 0), type, 2);
	}
	return len + head;
}

int
main(int argc, char *argv[])
{
	struct pcapio_out out;
	struct line l;
	char *s = NULL;
	size_t room = 0, k = 0, len;
	unsigned long at = 0;
	int ch;

	while ((ch = getopt(argc, argv, "l:")) != -1) {
		if (ch != 'l')
			return 2;
		for (k = 0; k < sizeof(links) / sizeof(links[0]); k++)
			if (strcmp(optarg, links[k].name) == 0)
				break;
		if (k == sizeof(links) / sizeof(links[0]))
			errx(2, "unknown link '%s'", optarg);
	}
	pcapio_create_or_exit(&out, "-");
	memcpy(out.buf + 20, &(uint32_t){ (uint32_t)links[k].type }, 4);
	while (getline(&s, &room, stdin) != -1) {
		if (!read_line(s, ++at, &l))
			continue;
		len = put_frame(pcapio_room(&out), &l);
		len = relink(pcapio_room(&out), len, links[k].type, k == 1);
		pcapio_commit(&out, l.time_ns, l.cut_bytes >= 0 &&
		    (size_t)l.cut_bytes < len ? (uint32_t)l.cut_bytes :
		    (uint32_t)len, (uint32_t)len);
	}
	free(s);
	return pcapio_close_or_warn(&out);
}
