/*
 * frame.h - frames of any link layer: UDP in and out
 *
 * frame_parse() finds the UDP payload in a captured frame, whatever its link
 * layer, and says why there is none.  It borrows the bytes and trusts nothing
 * in them.  Checksums are judged apart, by frame_checksums_ok(), so that
 * traffic that is not ours need not pay for them.
 * Link types and headers are frame-link.h's.
 */
#ifndef INNET_WIRE_FRAME_H
#define INNET_WIRE_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/base/bytes.h"
#include "common/wire/frame-link.h"
#include "common/wire/inetsum.h"

enum {
	FRAME_UDP_BYTES = 8,
	FRAME_V4_BYTES = FRAME_ETH_BYTES + 20 + FRAME_UDP_BYTES,
	FRAME_V6_BYTES = FRAME_ETH_BYTES + 40 + FRAME_UDP_BYTES,
	FRAME_MAX_BYTES = 262144,	/* libpcap's own limit */
	FRAME_WIRE_EXTRA_BYTES = 24	/* preamble, FCS and gap */
};

enum frame_is {
	FRAME_UDP,		/* a whole UDP payload */
	FRAME_OTHER,		/* not IP, or not UDP */
	FRAME_FRAGMENT,		/* UDP, but a fragment */
	FRAME_CUT,		/* UDP, cut by the snapshot length */
	FRAME_LENGTH,		/* UDP, but its lengths lie */
	FRAME_SEVERAL		/* several datagrams that cannot be told
				 * apart: capture/split.h says so */
};

/* What the sums of a whole datagram say. */
enum frame_sums {
	FRAME_SUMS_UNKNOWN,		/* not asked yet */
	FRAME_SUMS_WRONG, FRAME_SUMS_RIGHT,
	FRAME_SUMS_LEFT		/* UDP has none, or it was left to a card */
};

/* Who sends to whom; IPv4 addresses are in the first four bytes. */
struct frame_flow {
	uint8_t src[16], dst[16];
	uint16_t sport, dport;
	bool v6;
};

struct frame {
	struct frame_flow flow;
	uint8_t tos;		/* ToS or traffic class, ECN bits and all */
	uint16_t ethertype;	/* of what is behind the link header */
	uint32_t ip_at;		/* bytes from the frame's start */
	uint32_t udp_at;
	uint32_t payload_at;
	uint32_t payload_bytes;
};

/* The codepoint, without the two ECN bits, as it lies in the ToS byte. */
static inline uint8_t
frame_dscp_tos(const struct frame *f)
{
	return f->tos & 0xfc;
}

/* Walk IPv6 extension headers; the last next-header value. */
static inline uint8_t
frame_v6_next(struct bytes *w, uint8_t next, bool *fragment)
{
	const uint8_t *h;

	while (next == 0 || next == 43 || next == 60 || next == 44) {
		h = bytes_take(w, 8);
		if (h == NULL)
			return 59;
		if (next == 44) {	/* a lone, whole "fragment" is fine */
			if ((bytes_get(h + 2, 2) & 0xfff9) != 0)
				*fragment = true;
		} else {
			bytes_take(w, (size_t)h[1] * 8);
		}
		next = h[0];
	}
	return next;
}

/* What an IP header says of what is behind it. */
struct frame_ip {
	uint32_t bytes;		/* of the packet, as the header has it */
	uint32_t head;		/* bytes of headers before UDP */
	uint8_t next;		/* protocol */
	bool fragment;
};

/* Read the IPv4, or IPv6, headers at w; false if they are none. */
static inline bool
frame_read_v4(struct bytes *w, struct frame *f, struct frame_ip *ip)
{
	const uint8_t *h = bytes_take(w, 20);

	if (h == NULL || h[0] >> 4 != 4 || (h[0] & 15) < 5)
		return false;
	ip->bytes = (uint32_t)bytes_get(h + 2, 2);
	ip->head = (uint32_t)(h[0] & 15) * 4;
	ip->next = h[9];
	ip->fragment = (bytes_get(h + 6, 2) & 0x3fff) != 0;
	f->tos = h[1];
	memcpy(f->flow.src, h + 12, 4);
	memcpy(f->flow.dst, h + 16, 4);
	if (ip->head > 20)
		bytes_take(w, ip->head - 20);
	return true;
}

static inline bool
frame_read_v6(struct bytes *w, struct frame *f, struct frame_ip *ip)
{
	const uint8_t *h = bytes_take(w, 40);

	if (h == NULL || h[0] >> 4 != 6)
		return false;
	ip->bytes = 40 + (uint32_t)bytes_get(h + 4, 2);
	ip->fragment = false;
	f->tos = (uint8_t)(h[0] << 4 | h[1] >> 4);
	f->flow.v6 = true;
	memcpy(f->flow.src, h + 8, 16);
	memcpy(f->flow.dst, h + 24, 16);
	ip->next = frame_v6_next(w, h[6], &ip->fragment);
	ip->head = (uint32_t)(w->p - h);
	return true;
}

/*
 * Read the link and IP headers of the caplen bytes at p: *w is behind them,
 * and ip_at, ethertype, tos and addresses of *f are set as far as it went.
 * False if that is no IP.
 */
__attribute__((always_inline)) static inline bool
frame_parse_ip(int link, const uint8_t *p, size_t caplen, struct frame *f,
    struct frame_ip *ip, struct bytes *w)
{
	*f = (struct frame){ .ip_at = 0 };
	if (!frame_link_skip(link, p, caplen, &f->ip_at, &f->ethertype))
		return false;
	*w = bytes_over(p + f->ip_at, caplen - f->ip_at);
	return f->ethertype == 0x0800 ? frame_read_v4(w, f, ip) :
	    f->ethertype == 0x86dd && frame_read_v6(w, f, ip);
}

/*
 * Read the frame of caplen bytes at p, len bytes long before it was cut.
 * *f is filled in as far as it went, and else 0: ethertype and ip_at whenever
 * the link layer was read, tos and flow unless FRAME_OTHER, payload_at whenever
 * the UDP header is there, payload_bytes with FRAME_UDP and FRAME_CUT.
 */
__attribute__((always_inline)) static inline enum frame_is
frame_parse(int link, const uint8_t *p, size_t caplen, size_t len,
    struct frame *f)
{
	struct frame_ip ip;
	struct bytes w;
	const uint8_t *udp;
	uint32_t udp_len;

	if (!frame_parse_ip(link, p, caplen, f, &ip, &w) || ip.next != 17)
		return FRAME_OTHER;
	f->udp_at = (uint32_t)(w.p - p);
	if (ip.fragment)	/* all but the first have no ports */
		return FRAME_FRAGMENT;
	if (w.left < FRAME_UDP_BYTES || !bytes_ok(&w)) {
		f->flow.sport = bytes_u16(&w);
		f->flow.dport = bytes_u16(&w);
		return len > caplen ? FRAME_CUT : FRAME_LENGTH;
	}
	udp = bytes_take(&w, FRAME_UDP_BYTES);
	f->flow.sport = (uint16_t)bytes_get(udp, 2);
	f->flow.dport = (uint16_t)bytes_get(udp + 2, 2);
	udp_len = (uint32_t)bytes_get(udp + 4, 2);
	f->payload_at = f->udp_at + FRAME_UDP_BYTES;
	if (udp_len < FRAME_UDP_BYTES || ip.bytes < ip.head ||
	    udp_len > ip.bytes - ip.head || ip.bytes > len - f->ip_at)
		return FRAME_LENGTH;
	f->payload_bytes = udp_len - FRAME_UDP_BYTES;
	if (f->payload_bytes > w.left)
		return FRAME_CUT;
	return FRAME_UDP;
}

/* The sum of the pseudo header of f's UDP datagram in the frame at p. */
static inline uint64_t
frame_pseudo_sum(const uint8_t *p, const struct frame *f)
{
	uint8_t tail[4] = { 0, 17 };
	uint64_t sum;

	bytes_put(tail + 2, f->payload_bytes + FRAME_UDP_BYTES, 2);
	sum = inetsum_add(0, tail, sizeof(tail));
	if (f->flow.v6)
		return inetsum_add(sum, p + f->ip_at + 8, 32);
	return inetsum_add(sum, p + f->ip_at + 12, 8);
}

/* Is the UDP checksum in the frame at p 0 (none), or the pseudo header's? */
static inline bool
frame_checksum_is_offloaded(const uint8_t *p, const struct frame *f)
{
	uint16_t sent;

	memcpy(&sent, p + f->udp_at + 6, 2);
	return sent == 0 || sent == inetsum_fold(frame_pseudo_sum(p, f));
}

/* Is the sum of the IP header right? */
static inline bool
frame_ip_sum_ok(const uint8_t *p, const struct frame *f)
{
	const uint8_t *ip = p + f->ip_at;

	return f->flow.v6 ||
	    inetsum_fold(inetsum_add(0, ip, (ip[0] & 15u) * 4)) == 0xffff ||
	    (ip[10] | ip[11]) == 0;
}

/*
 * What do the IP header's and the UDP checksum say?  A UDP checksum of 0 is
 * none, and the pseudo header's sum alone is what a capture shows of a packet
 * whose sum was left to the network card.  Inline where packets are many.
 */
__attribute__((always_inline)) static inline enum frame_sums
frame_sums(const uint8_t *p, const struct frame *f)
{
	const uint8_t *udp = p + f->udp_at;
	uint64_t pseudo;
	uint16_t sent;

	if (!frame_ip_sum_ok(p, f))
		return FRAME_SUMS_WRONG;
	memcpy(&sent, udp + 6, 2);
	if (sent == 0)
		return FRAME_SUMS_LEFT;
	pseudo = frame_pseudo_sum(p, f);
	if (sent == inetsum_fold(pseudo))
		return FRAME_SUMS_LEFT;
	return inetsum_fold(inetsum_add(pseudo, udp, f->payload_bytes +
	    FRAME_UDP_BYTES)) == 0xffff ? FRAME_SUMS_RIGHT : FRAME_SUMS_WRONG;
}

/* Is none of them wrong? */
static inline bool
frame_checksums_ok(const uint8_t *p, const struct frame *f)
{
	return frame_sums(p, f) != FRAME_SUMS_WRONG;
}

/* Write the right UDP checksum into the frame at p, after a change in it. */
static inline void
frame_put_checksum(uint8_t *p, const struct frame *f)
{
	uint8_t *udp = p + f->udp_at;
	uint16_t sum;

	memset(udp + 6, 0, 2);
	sum = (uint16_t)~inetsum_fold(inetsum_add(frame_pseudo_sum(p, f), udp,
	    f->payload_bytes + FRAME_UDP_BYTES));
	if (sum == 0)
		sum = 0xffff;
	memcpy(udp + 6, &sum, 2);
}

/* An address that innet-gen and the simulator invent for IPv4 address a. */
static inline void
frame_put_mac(uint8_t mac[6], const uint8_t a[4])
{
	mac[0] = 2;
	mac[1] = 0;
	memcpy(mac + 2, a, 4);
}

/*
 * Write Ethernet, IP and UDP headers for payload_bytes of payload at p, which
 * has room for FRAME_V6_BYTES, and describe them in *f (if not NULL).  The
 * number of bytes before the payload.  The UDP checksum is left 0: write the
 * payload, then frame_put_checksum().  payload_bytes is at most 65,507
 * (65,527).
 */
static inline size_t
frame_put(uint8_t *p, const struct frame_flow *flow, uint8_t tos,
    size_t payload_bytes, struct frame *f)
{
	const size_t addr = flow->v6 ? 16 : 4, tail = addr - 4;
	uint8_t *ip = p + FRAME_ETH_BYTES, *udp;
	uint16_t sum;

	frame_put_mac(p, flow->dst + tail);
	frame_put_mac(p + 6, flow->src + tail);
	bytes_put(p + 12, flow->v6 ? 0x86dd : 0x0800, 2);
	if (flow->v6) {
		bytes_put(ip, (uint64_t)6 << 28 | (uint64_t)tos << 20, 4);
		bytes_put(ip + 4, payload_bytes + FRAME_UDP_BYTES, 2);
		ip[6] = 17;
		ip[7] = 64;
		memcpy(ip + 8, flow->src, 16);
		memcpy(ip + 24, flow->dst, 16);
		udp = ip + 40;
	} else {
		ip[0] = 0x45;
		ip[1] = tos;
		bytes_put(ip + 2, 20 + payload_bytes + FRAME_UDP_BYTES, 2);
		bytes_put(ip + 4, 0x4000, 4);	/* id 0, do not fragment */
		ip[8] = 64;
		ip[9] = 17;
		memset(ip + 10, 0, 2);
		memcpy(ip + 12, flow->src, 4);
		memcpy(ip + 16, flow->dst, 4);
		sum = (uint16_t)~inetsum_fold(inetsum_add(0, ip, 20));
		memcpy(ip + 10, &sum, 2);
		udp = ip + 20;
	}
	bytes_put(udp, flow->sport, 2);
	bytes_put(udp + 2, flow->dport, 2);
	bytes_put(udp + 4, payload_bytes + FRAME_UDP_BYTES, 2);
	memset(udp + 6, 0, 2);
	if (f != NULL) {
		*f = (struct frame){ .flow = *flow, .tos = tos,
		    .ethertype = flow->v6 ? 0x86dd : 0x0800,
		    .ip_at = FRAME_ETH_BYTES,
		    .udp_at = (uint32_t)(udp - p),
		    .payload_at = (uint32_t)(udp - p) + FRAME_UDP_BYTES,
		    .payload_bytes = (uint32_t)payload_bytes };
	}
	return (size_t)(udp - p) + FRAME_UDP_BYTES;
}

/* The address of worker w of cluster c in invented traffic (wire.md). */
static inline void
frame_worker_addr(uint8_t a[4], uint16_t cluster, uint32_t worker)
{
	a[0] = 10;
	a[1] = (uint8_t)(cluster >> 8);
	a[2] = (uint8_t)cluster;
	a[3] = (uint8_t)(worker + 1);
}

/* Limits of that invention: worker < 254, and cluster below 10.255/16. */
enum { FRAME_WORKERS_MAX = 254, FRAME_CLUSTERS_MAX = 65280 };

static const uint8_t frame_switch_addr[4] = { 10, 255, 255, 1 };
static const uint8_t frame_server_addr[4] = { 10, 255, 255, 254 };

#endif
