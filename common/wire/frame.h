/*
 * frame.h - parse and write UDP packets in frames of any link layer
 *
 * frame_parse() finds the UDP payload in a captured frame, or returns why there
 * is none.  It borrows the bytes and does not trust them.  A separate function,
 * frame_sums(), checks checksums, so that no time is spent on the checksums of
 * other traffic.  Link headers are parsed in frame-link.h.
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
	FRAME_MAX_BYTES = 262144,	/* the limit of libpcap */
	FRAME_WIRE_EXTRA_BYTES = 24	/* total length of the preamble, the FCS
					 * and the gap between frames, in
					 * bytes */
};

enum frame_is {
	FRAME_UDP,		/* a whole UDP payload */
	FRAME_OTHER,		/* the packet is not IP or not UDP */
	FRAME_FRAGMENT,		/* the packet is a fragment of a UDP datagram */
	FRAME_CUT,		/* the packet is UDP, but truncated by the
				 * snapshot length */
	FRAME_LENGTH,		/* the packet is UDP, but the lengths in its
				 * headers are wrong */
	FRAME_SEVERAL		/* the frame contains several datagrams that
				 * capture/split.h cannot separate */
};

/* The state of the checksums of a complete datagram. */
enum frame_sums {
	FRAME_SUMS_UNKNOWN,		/* not checked yet */
	FRAME_SUMS_WRONG, FRAME_SUMS_RIGHT,
	FRAME_SUMS_LEFT		/* there is no UDP checksum, or the host left it
				 * to the network card */
};

/*
 * The source and the destination of a packet.  IPv4 addresses are in the first
 * four bytes.
 */
struct frame_flow {
	uint8_t src[16], dst[16];
	uint16_t sport, dport;
	bool v6;
};

struct frame {
	struct frame_flow flow;
	uint8_t tos;		/* ToS byte or traffic class, including the ECN
				 * bits */
	uint16_t ethertype;	/* ethertype in the link header; 0: unknown */
	uint32_t ip_at;		/* offset of the IP header from the start of the
				 * frame */
	uint32_t udp_at;
	uint32_t payload_at;
	uint32_t payload_bytes;
};

/* The fields of an IP header that describe its payload. */
struct frame_ip {
	uint32_t bytes;		/* length of the IP packet according to its
				 * header */
	uint32_t head;		/* length of the IP headers before the UDP
				 * header */
	uint8_t next;		/* protocol number */
	bool fragment;
};

/*
 * Limits for generated traffic.  The addresses of the workers in such traffic
 * are below 10.255.0.0.
 */
enum { FRAME_WORKERS_MAX = 254, FRAME_CLUSTERS_MAX = 65280 };

static const uint8_t frame_switch_addr[4] = { 10, 255, 255, 1 };

static const uint8_t frame_server_addr[4] = { 10, 255, 255, 254 };

/*
 * Parse the frame of caplen bytes at p, which had `len` bytes before
 * truncation.  Fields of *f that the parser did not reach are 0.  `ethertype`
 * and `ip_at` are set if the link header was read.  `tos` and `flow` are set
 * unless the result is FRAME_OTHER.  `payload_at` is set if the UDP header is
 * present.  `payload_bytes` is set if, in addition, the lengths in the headers
 * are consistent.
 */
static inline enum frame_is frame_parse(int link, const uint8_t *p,
    size_t caplen, size_t len, struct frame *f);

/*
 * Parse the link and IP headers of the caplen bytes at p.  After this the
 * cursor *w is at the end of these headers.  In *f, `ip_at`, `ethertype`, `tos`
 * and the addresses of `flow` are set if the parser reached them.  Returns
 * false if the packet is not IP.
 */
static inline bool frame_parse_ip(int link, const uint8_t *p, size_t caplen,
    struct frame *f, struct frame_ip *ip, struct bytes *w);

/*
 * Return the ToS byte with the two ECN bits set to 0, so that only the DSCP
 * remains.
 */
static inline uint8_t frame_dscp_tos(const struct frame *f);

/*
 * Return a number that identifies the VLAN of the Ethernet frame at p, which *f
 * describes.  0 means that the frame has no VLAN.  Different VLANs have
 * different numbers if a frame has at most four tags.  A tag with VLAN 0 is
 * ignored, because such a tag contains only a priority.
 */
static inline uint64_t frame_vlan(const uint8_t *p, const struct frame *f);

/*
 * Check the IP and UDP checksums.  If the UDP checksum is 0, the datagram has
 * no checksum.  If the UDP checksum is the sum of the pseudo header alone, the
 * host left the checksum to the network card.  The result is FRAME_SUMS_LEFT in
 * both cases.
 */
static inline enum frame_sums frame_sums(const uint8_t *p,
    const struct frame *f);

/* Is each checksum that is present correct? */
static inline bool frame_checksums_ok(const uint8_t *p, const struct frame *f);

/* Is the checksum of the IP header correct or absent? */
static inline bool frame_ip_sum_ok(const uint8_t *p, const struct frame *f);

/*
 * Is the UDP checksum in the frame at p absent (0) or the sum of the pseudo
 * header alone?
 */
static inline bool frame_checksum_is_offloaded(const uint8_t *p,
    const struct frame *f);

/*
 * Return the sum of the pseudo header of the UDP datagram in the frame at p,
 * which *f describes.
 */
static inline uint64_t frame_pseudo_sum(const uint8_t *p,
    const struct frame *f);

/*
 * Write Ethernet, IP and UDP headers for payload_bytes bytes of payload to p,
 * which must have room for FRAME_V6_BYTES.  payload_bytes must be at most
 * 65,507, or 65,527 with IPv6.  Describe the headers in *f unless f is NULL.
 * Returns the number of bytes before the payload.  The UDP checksum is 0 at
 * first; the caller writes the payload and then calls frame_put_checksum().
 */
static inline size_t frame_put(uint8_t *p, const struct frame_flow *flow,
    uint8_t tos, size_t payload_bytes, struct frame *f);

/* Write the correct UDP checksum into the frame at p. */
static inline void frame_put_checksum(uint8_t *p, const struct frame *f);

/*
 * Store the MAC address that frame_put() uses for a host.  The four bytes at
 * `a` are the IPv4 address of the host, or the last four bytes of its IPv6
 * address.
 */
static inline void frame_put_mac(uint8_t mac[6], const uint8_t a[4]);

/*
 * Store the IPv4 address of a worker in generated traffic.  `worker` must be
 * less than FRAME_WORKERS_MAX, and `cluster` less than FRAME_CLUSTERS_MAX.
 */
static inline void frame_worker_addr(uint8_t a[4], uint16_t cluster,
    uint32_t worker);

/* implementation */

static inline uint8_t
frame_dscp_tos(const struct frame *f)
{
	return f->tos & 0xfc;
}

/*
 * Do the work of frame_vlan() for a frame with tags.  Each tag adds the 12 bits
 * of its VLAN and 2 bits for its kind to the result.
 */
__attribute__((noinline, unused)) static uint64_t
frame_read_tags(const uint8_t *p, const struct frame *f)
{
	uint64_t vlan = 0;

	for (uint32_t at = 12; at + 4 <= f->ip_at - 2; at += 4) {
		const uint64_t kind = bytes_get(p + at, 2),
		    id = bytes_get(p + at + 2, 2) & 0xfff;

		if (id != 0)
			vlan = vlan << 14 | (kind == 0x8100 ? 1u :
			    kind == 0x88a8 ? 2u : 3u) << 12 | id;
	}
	return vlan;
}

static inline uint64_t
frame_vlan(const uint8_t *p, const struct frame *f)
{
	return f->ip_at <= FRAME_ETH_BYTES ? 0 : frame_read_tags(p, f);
}

/*
 * Skip the IPv6 extension headers at w.  Returns the protocol number in the
 * last header.
 */
static inline uint8_t
frame_v6_next(struct bytes *w, uint8_t next, bool *fragment)
{
	const uint8_t *h;

	while (next == 0 || next == 43 || next == 60 || next == 44) {
		h = bytes_take(w, 8);
		if (h == NULL)
			return 59;
		if (next == 44) {	/* a packet that has a fragment header
					 * but is complete is not a fragment */
			if ((bytes_get(h + 2, 2) & 0xfff9) != 0)
				*fragment = true;
		} else {
			bytes_take(w, (size_t)h[1] * 8);
		}
		next = h[0];
	}
	return next;
}

/* Read the IPv4 headers at w.  Returns false if they are not valid. */
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

/* Read the IPv6 headers at w.  Returns false if they are not valid. */
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
	if (ip.fragment)	/* only the first fragment contains the ports */
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

static inline bool
frame_checksum_is_offloaded(const uint8_t *p, const struct frame *f)
{
	uint16_t sent;

	memcpy(&sent, p + f->udp_at + 6, 2);
	return sent == 0 || sent == inetsum_fold(frame_pseudo_sum(p, f));
}

static inline bool
frame_ip_sum_ok(const uint8_t *p, const struct frame *f)
{
	const uint8_t *ip = p + f->ip_at;

	return f->flow.v6 ||
	    inetsum_fold(inetsum_add(0, ip, (ip[0] & 15u) * 4)) == 0xffff ||
	    (ip[10] | ip[11]) == 0;
}

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

static inline bool
frame_checksums_ok(const uint8_t *p, const struct frame *f)
{
	return frame_sums(p, f) != FRAME_SUMS_WRONG;
}

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

static inline void
frame_put_mac(uint8_t mac[6], const uint8_t a[4])
{
	mac[0] = 2;
	mac[1] = 0;
	memcpy(mac + 2, a, 4);
}

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
		bytes_put(ip + 4, 0x4000, 4);	/* the id is 0, and the
						 * don't-fragment flag is set */
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

static inline void
frame_worker_addr(uint8_t a[4], uint16_t cluster, uint32_t worker)
{
	a[0] = 10;
	a[1] = (uint8_t)(cluster >> 8);
	a[2] = (uint8_t)cluster;
	a[3] = (uint8_t)(worker + 1);
}

#endif
