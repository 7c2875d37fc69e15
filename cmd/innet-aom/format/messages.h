/*
 * messages.h - extract messages of a given format from the packets of a capture
 *
 * messages_packet() receives a packet, and messages_next() returns the messages
 * that are now complete.  A UDP datagram is one message or, if the format has a
 * length, several.  A capture made with segmentation offload has several
 * datagrams in a frame, whose IP length may be 0 or the length of the first
 * datagram.  tcp.h handles TCP streams.
 *
 * At the end of the capture, call messages_end() until it returns false.  Each
 * time it returns true, call messages_next() for the messages.  The bytes of a
 * packet are borrowed until the next packet.
 */
#ifndef INNET_AOM_FORMAT_MESSAGES_H
#define INNET_AOM_FORMAT_MESSAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd/innet-aom/format/format.h"
#include "cmd/innet-aom/format/tcp.h"
#include "common/capture/filter.h"
#include "common/capture/pcapio.h"
#include "common/capture/soundness.h"
#include "common/wire/frame.h"

struct messages {
	const struct format *format;	/* borrowed; NULL: not open */
	struct filter filter;
	struct tcp tcp;
	bool tcp_now;			/* the packet belongs to a TCP stream */
	struct format_packet headers;	/* headers of the datagram */
	const uint8_t *p;		/* unread rest of the datagram */
	uint32_t have, len;
	uint64_t stamp_ns;
	unsigned bad;			/* verdict if the rest is malformed */
	/*
	 * Number of datagrams with several messages, and number of these
	 * messages.
	 */
	uint64_t several, several_messages;
	/*
	 * Number of datagrams that may contain more than one message.  The
	 * reader cannot tell, because the format has no length field.
	 */
	uint64_t unsure;
	/* A message of the current datagram was returned. */
	bool begun;
};

/*
 * Begin a capture with the link type `link`.  Return 0, or -1 with the reason
 * in m->filter.why.
 */
static inline int messages_open(struct messages *m, const struct format *f,
    int link);

/*
 * Receive a packet with the timestamp stamp_ns.  Return UPDATE_OK if messages
 * may be complete after this packet.  Otherwise return the reason as a verdict:
 * SOUNDNESS_REGULAR if the format does not select the packet.
 */
static inline unsigned messages_packet(struct messages *m, int link,
    const struct pcapio_packet *p, uint64_t stamp_ns);

/*
 * Get the next message, which is borrowed until the next call.  Return 1, or 0
 * if there is none.  Return -1 if the rest of the datagram is malformed; then
 * m->bad is the reason.
 */
static inline int messages_next(struct messages *m, struct format_packet *k,
    struct format_message *g, uint64_t *stamp_ns);

/*
 * At the end of a capture, return whether there may be more messages, which
 * follow lost bytes.
 */
static inline bool messages_end(struct messages *m);

/* Free the memory that m owns. */
static inline void messages_close(struct messages *m);

/* implementation */

static inline int
messages_open(struct messages *m, const struct format *f, int link)
{
	*m = (struct messages){ .format = f, .tcp.format = f };
	return f->filter[0] == '\0' ? 0 :
	    filter_open(&m->filter, link, f->filter);
}

static inline void
messages_close(struct messages *m)
{
	filter_close(&m->filter);
	if (m->format != NULL)
		tcp_free(&m->tcp);
	m->format = NULL;
}

/* Read the VLAN of an Ethernet frame into k. */
static inline void
messages_vlan(int link, const struct pcapio_packet *p, struct format_packet *k)
{
	const uint64_t type = link == FRAME_ETHERNET && p->caplen >= 16 ?
	    bytes_get(p->data + 12, 2) : 0;

	k->has_vlan = type == 0x8100 || type == 0x88a8 || type == 0x9100;
	if (k->has_vlan)
		k->vlan = (uint16_t)(bytes_get(p->data + 14, 2) & 0xfff);
}

/*
 * Read the TCP segment in p into *g.  Return SOUNDNESS_REGULAR if p contains no
 * TCP segment.
 */
static inline unsigned
messages_segment(int link, const struct pcapio_packet *p,
    struct tcp_segment *g)
{
	struct frame_ip ip;
	struct frame f;
	struct bytes w;
	const uint8_t *h;
	uint32_t head;

	*g = (struct tcp_segment){ .headers.tcp = true };
	if (!frame_parse_ip(link, p->data, p->caplen, &f, &ip, &w) ||
	    ip.next != 6)
		return SOUNDNESS_REGULAR;
	if (ip.fragment)
		return SOUNDNESS_FRAGMENT;
	h = bytes_take(&w, 20);
	if (h == NULL)
		return SOUNDNESS_SNAPLEN;
	head = (uint32_t)(h[12] >> 4) * 4;
	/*
	 * the length of a frame of several datagrams does not fit into its
	 * header
	 */
	if (ip.bytes <= ip.head || ip.bytes > p->len - f.ip_at)
		ip.bytes = p->len - f.ip_at;
	if (head < 20 || ip.bytes < ip.head + head)
		return UPDATE_BAD_LENGTH;
	f.flow.sport = (uint16_t)bytes_get(h, 2);
	f.flow.dport = (uint16_t)bytes_get(h + 2, 2);
	g->headers.flow = f.flow;
	g->headers.tos = f.tos;
	messages_vlan(link, p, &g->headers);
	g->seq = (uint32_t)bytes_get(h + 4, 4);
	g->syn = (h[13] & 2) != 0;
	g->len = ip.bytes - ip.head - head;
	bytes_take(&w, head - 20 < w.left ? head - 20 : w.left);
	g->p = w.p;
	g->have = w.left < g->len ? (uint32_t)w.left : g->len;
	return UPDATE_OK;
}

/* Check a datagram of a format without lengths: it must be one message. */
static inline unsigned
messages_unsized(struct messages *m, const struct pcapio_packet *p,
    enum frame_is is, const struct frame *f)
{
	switch (split_unsized(is, p->data, f, p->len)) {
	case SPLIT_CANNOT: return SOUNDNESS_SUPER_DATAGRAM;
	case SPLIT_UNSEEN: m->unsure++; return UPDATE_OK;
	default: return UPDATE_OK;
	}
}

/* Begin to read the datagram in p; `is` is the result of frame_parse(). */
static inline unsigned
messages_datagram(struct messages *m, int link, const struct pcapio_packet *p,
    enum frame_is is, const struct frame *f)
{
	const bool lengths = format_has(m->format, FORMAT_LENGTH);
	const bool several = lengths &&
	    split_unsized(is, p->data, f, p->len) == SPLIT_CANNOT;
	const unsigned verdict = several ||
	    (is == FRAME_CUT && f->payload_at > 0) ? UPDATE_OK :
	    soundness_datagram(is, p->data, f);

	if (!lengths && messages_unsized(m, p, is, f) != UPDATE_OK)
		return SOUNDNESS_SUPER_DATAGRAM;
	if (verdict != UPDATE_OK)
		return verdict;
	m->headers = (struct format_packet){ .flow = f->flow, .tos = f->tos };
	messages_vlan(link, p, &m->headers);
	m->p = p->data + f->payload_at;
	m->len = several ? p->len - f->payload_at : f->payload_bytes;
	m->have = p->caplen - f->payload_at < m->len ?
	    p->caplen - f->payload_at : m->len;
	if (m->len == 0)
		m->bad = UPDATE_SHORT;
	return UPDATE_OK;
}

static inline unsigned
messages_packet(struct messages *m, int link, const struct pcapio_packet *p,
    uint64_t stamp_ns)
{
	struct tcp_segment g;
	struct frame f;
	enum frame_is is;
	unsigned verdict;

	m->len = m->have = 0;
	m->begun = false;
	m->bad = UPDATE_OK;
	m->tcp_now = false;
	m->stamp_ns = stamp_ns;
	if (!filter_passes(&m->filter, p))
		return SOUNDNESS_REGULAR;
	is = frame_parse(link, p->data, p->caplen, p->len, &f);
	if (is != FRAME_OTHER)
		return messages_datagram(m, link, p, is, &f);
	verdict = messages_segment(link, p, &g);
	if (verdict != UPDATE_OK)
		return verdict;
	if (m->format->delimiter[0] == '\0' &&
	    !format_has(m->format, FORMAT_LENGTH))
		return SOUNDNESS_STREAM;
	m->tcp_now = true;
	return tcp_packet(&m->tcp, &g, stamp_ns) ? UPDATE_OK :
	    SOUNDNESS_NO_ROOM;
}

/* Return the length of the message at m->p, or 0 if the length is invalid. */
static inline uint32_t
messages_length(struct messages *m)
{
	const struct format_field *f = &m->format->field[FORMAT_LENGTH];
	const struct format_message all = { m->p, m->have, m->len, 0, false };
	struct format_value v;

	if (f->from == FORMAT_NONE)
		return m->len;
	m->bad = format_read(f, &all, &v);
	if (m->bad != UPDATE_OK)
		return 0;
	if (f->from == FORMAT_AT)
		v.whole = v.whole > FORMAT_MESSAGE_MAX ? 0 :
		    v.whole + f->value;
	if (v.whole == 0 || v.whole > m->len)
		m->bad = UPDATE_BAD_LENGTH;
	return m->bad == UPDATE_OK ? (uint32_t)v.whole : 0;
}

static inline int
messages_next(struct messages *m, struct format_packet *k,
    struct format_message *g, uint64_t *stamp_ns)
{
	uint32_t n;

	if (m->tcp_now)
		return tcp_message(&m->tcp, k, g, stamp_ns);
	n = m->len > 0 ? messages_length(m) : 0;
	if (n == 0) {
		m->len = 0;
		if (m->bad == UPDATE_OK)
			return 0;
		return -1;
	}
	if (m->begun || n < m->len) {
		m->several += !m->begun;
		m->several_messages++;
	}
	m->begun = true;
	*k = m->headers;
	*stamp_ns = m->stamp_ns;
	*g = (struct format_message){ .p = m->p, .len = n,
	    .have = n < m->have ? n : m->have };
	m->p += g->have;
	m->have -= g->have;
	m->len -= n;
	return 1;
}

static inline bool
messages_end(struct messages *m)
{
	m->tcp_now = m->format != NULL && tcp_end(&m->tcp);
	return m->tcp_now;
}

#endif
