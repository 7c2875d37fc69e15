/*
 * hints.h - describe the traffic of a capture that contains no packet of innet
 *
 * The first HINTS_PACKETS regular packets are counted by kind.  A kind is a
 * combination of protocol, destination port and DSCP.  There is room for
 * HINTS_KINDS kinds.  If there are more kinds, a new kind replaces the least
 * frequent one.
 */
#ifndef INNET_CAPTURE_HINTS_H
#define INNET_CAPTURE_HINTS_H

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/wire/frame.h"
#include "common/wire/update.h"

enum { HINTS_KINDS = 16, HINTS_PRINTED = 3, HINTS_PACKETS = 100000 };

struct hints_kind {
	uint64_t packets;
	uint16_t ethertype;	/* ethertype of the frame */
	uint16_t port;		/* destination port of UDP and TCP */
	uint8_t protocol, dscp;
};

struct hints {
	struct hints_kind kind[HINTS_KINDS];
	uint64_t packets;
	uint64_t unmarked;	/* number of UDP packets to UPDATE_PORT that do
				 * not have innet's DSCP */
};

/* Return the kind of the frame at p. */
static inline struct hints_kind
hints_kind(int link, const uint8_t *p, size_t caplen)
{
	struct hints_kind k = { .packets = 1 };
	struct frame_ip ip;
	struct frame f;
	struct bytes w;
	const uint8_t *h;
	const bool is_ip = frame_parse_ip(link, p, caplen, &f, &ip, &w);

	k.ethertype = f.ethertype;
	if (!is_ip)
		return k;
	k.protocol = ip.next;
	k.dscp = f.tos >> 2;
	h = bytes_take(&w, 4);
	if (h != NULL && !ip.fragment && (ip.next == 6 || ip.next == 17))
		k.port = (uint16_t)bytes_get(h + 2, 2);
	return k;
}

/* Count a regular packet. */
static inline void
hints_count(struct hints *s, int link, const uint8_t *p, size_t caplen)
{
	struct hints_kind k, *at = &s->kind[0];

	if (s->packets >= HINTS_PACKETS)
		return;
	s->packets++;
	k = hints_kind(link, p, caplen);
	s->unmarked += k.protocol == 17 && k.port == UPDATE_PORT;
	for (size_t i = 0; i < HINTS_KINDS; i++) {
		struct hints_kind *o = &s->kind[i];

		if (o->packets > 0 && o->ethertype == k.ethertype &&
		    o->port == k.port && o->protocol == k.protocol &&
		    o->dscp == k.dscp) {
			o->packets++;
			return;
		}
		if (o->packets < at->packets)
			at = o;
	}
	k.packets += at->packets;	/* replace the least frequent kind */
	*at = k;
}

/*
 * After the text `before`, print the number of packets of kind k and a
 * description of this kind.
 */
static inline void
hints_print_kind(FILE *f, const struct hints_kind *k, const char *before)
{
	fprintf(f, "%s%" PRIu64 " of ", before, k->packets);
	if (k->protocol == 0 && k->ethertype == 0)
		fputs("an unknown protocol", f);
	else if (k->protocol == 0)
		fprintf(f, "ethertype 0x%04x", k->ethertype);
	else if (k->protocol == 6 || k->protocol == 17)
		fprintf(f, "%s to port %u with DSCP %u", k->protocol == 6 ?
		    "TCP" : "UDP", k->port, k->dscp);
	else
		fprintf(f, "IP protocol %u with DSCP %u", k->protocol,
		    k->dscp);
}

/*
 * Print the most frequent kinds, such as "900 of UDP to port 5555 with DSCP 0,
 * 3 of TCP ...".
 */
static inline void
hints_print(const struct hints *s, FILE *f)
{
	bool printed[HINTS_KINDS] = { false };

	for (int n = 0; n < HINTS_PRINTED; n++) {
		int best = -1;

		for (int i = 0; i < HINTS_KINDS; i++) {
			if (!printed[i] && s->kind[i].packets > 0 &&
			    (best == -1 ||
				s->kind[i].packets > s->kind[best].packets))
				best = i;
		}
		if (best == -1)
			return;
		printed[best] = true;
		hints_print_kind(f, &s->kind[best], n == 0 ? "" : ", ");
	}
}

#endif
