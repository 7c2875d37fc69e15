/*
 * frame-link.h - parse link headers to find the next header and its protocol
 *
 * The link layers are Ethernet with VLAN tags, raw IP, BSD loopback, Linux
 * cooked captures, PPP and 802.11.  Link types are those of pcap files
 * (LINKTYPE_*).  An 802.11 frame has an ethertype only if it is a whole,
 * unencrypted data frame with LLC and SNAP headers.  Management frames and
 * encrypted, fragmented or aggregated (A-MSDU) frames have no ethertype.  The
 * functions borrow the bytes and do not trust them.
 */
#ifndef INNET_WIRE_FRAME_LINK_H
#define INNET_WIRE_FRAME_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/base/bytes.h"

enum frame_link {
	FRAME_NULL = 0, FRAME_ETHERNET = 1, FRAME_PPP = 9, FRAME_DLT_RAW = 12,
	FRAME_DLT_RAW_BSD = 14, FRAME_PPP_HDLC = 50, FRAME_PPP_ETHER = 51,
	FRAME_RAW = 101, FRAME_WIFI = 105, FRAME_LOOP = 108, FRAME_SLL = 113,
	FRAME_RADIOTAP = 127, FRAME_IPV4 = 228, FRAME_IPV6 = 229,
	FRAME_SLL2 = 276
};

enum {
	FRAME_ETH_BYTES = 14,
	FRAME_ETHERTYPE_MIN = 0x0600,	/* lower values are lengths */
	FRAME_SLL_OUTGOING = 4,		/* packet type of outgoing packets in a
					 * cooked capture */
	FRAME_SLL_LOOPBACK = 772,	/* ARPHRD_ value of the loopback
					 * interface */
	FRAME_SLL_NETLINK = 824		/* ARPHRD_ value of netlink, which has
					 * no ethertypes */
};

/* The names of the supported link types, for messages. */
static const char frame_link_names[] = "Ethernet, raw IP, null, loop, SLL, "
    "SLL2, PPP, 802.11";

/* Is the link type supported? */
static inline bool frame_link_known(int link);

/*
 * Skip the link header, and store the offset of the next header in *at and its
 * ethertype (0: unknown) in *type.  Returns false if the link header is
 * truncated or if the link type is not supported.
 */
static inline bool frame_link_skip(int link, const uint8_t *p, size_t len,
    uint32_t *at, uint16_t *type);

/*
 * Is the frame the first of two copies of a packet?  A packet over the loopback
 * interface is both sent and received, so a cooked capture may contain the
 * packet twice.
 */
static inline bool frame_link_is_copy(int link, const uint8_t *p, size_t len);

/* implementation */

static inline bool
frame_link_known(int link)
{
	switch (link) {
	case FRAME_NULL: case FRAME_ETHERNET: case FRAME_PPP:
	case FRAME_DLT_RAW: case FRAME_DLT_RAW_BSD: case FRAME_PPP_HDLC:
	case FRAME_PPP_ETHER: case FRAME_RAW: case FRAME_WIFI: case FRAME_LOOP:
	case FRAME_SLL: case FRAME_RADIOTAP: case FRAME_IPV4: case FRAME_IPV6:
	case FRAME_SLL2:
		return true;
	default:
		return false;
	}
}

static inline bool
frame_link_is_copy(int link, const uint8_t *p, size_t len)
{
	if (link == FRAME_SLL)
		return len >= 4 && bytes_get(p, 2) == FRAME_SLL_OUTGOING &&
		    bytes_get(p + 2, 2) == FRAME_SLL_LOOPBACK;
	return link == FRAME_SLL2 && len >= 11 &&
	    bytes_get(p + 8, 2) == FRAME_SLL_LOOPBACK &&
	    p[10] == FRAME_SLL_OUTGOING;
}

/*
 * Read the PPP protocol field at w, which has one or two bytes.  Returns the
 * ethertype of this protocol, or 0 if it is not IP.
 */
static inline uint16_t
frame_link_ppp_type(struct bytes *w)
{
	uint16_t protocol = bytes_u8(w);

	if ((protocol & 1) == 0)
		protocol = (uint16_t)(protocol << 8 | bytes_u8(w));
	return protocol == 0x0021 ? 0x0800 : protocol == 0x0057 ? 0x86dd : 0;
}

/*
 * Skip a PPP header (RFC 1661) in HDLC framing (RFC 1662), in Cisco framing, or
 * over Ethernet.  Returns the ethertype, or 0.
 */
static inline uint16_t
frame_link_ppp(int link, struct bytes *w)
{
	const uint8_t *h;

	if (link == FRAME_PPP_ETHER) {
		h = bytes_take(w, 6);
		if (h == NULL || h[0] != 0x11 || h[1] != 0)
			return 0;	/* this is a discovery packet and not a
					 * session packet */
	} else if (w->left >= 2 && w->p[0] == 0xff && w->p[1] == 3) {
		bytes_take(w, 2);
	} else if (link == FRAME_PPP_HDLC && w->left > 0 &&
	    (w->p[0] == 0x0f || w->p[0] == 0x8f)) {
		bytes_take(w, 2);
		return bytes_u16(w);
	}
	return frame_link_ppp_type(w);
}

/*
 * Skip an 802.11 header.  If `padded` is true, the header is padded to a
 * multiple of four bytes.  Returns the ethertype, or 0.
 */
static inline uint16_t
frame_link_wifi(struct bytes *w, bool padded)
{
	static const uint8_t snap[6] = { 0xaa, 0xaa, 3, 0, 0, 0 };
	static const uint8_t tunnel[6] = { 0xaa, 0xaa, 3, 0, 0, 0xf8 };
	const size_t before = w->left;
	const uint8_t *h = bytes_take(w, 24), *q;

	if (h == NULL || (h[0] & 0x4f) != 0x08 ||	/* this is not a data
							 * frame that contains
							 * data */
	    (h[1] & 0x44) != 0 || (h[22] & 15) != 0)	/* encrypted or
							 * fragmented */
		return 0;
	if ((h[1] & 3) == 3)		/* the header contains a fourth
					 * address */
		bytes_take(w, 6);
	if ((h[0] & 0x80) != 0) {	/* QoS header */
		q = bytes_take(w, 2);
		if (q == NULL || (q[0] & 0x80) != 0)
			return 0;	/* the frame contains several packets
					 * (A-MSDU) */
		if ((h[1] & 0x80) != 0)
			bytes_take(w, 4);
	}
	if (padded && (before - w->left) % 4 != 0)
		bytes_take(w, 4 - (before - w->left) % 4);
	q = bytes_take(w, 8);
	if (q == NULL || (memcmp(q, snap, 6) != 0 && memcmp(q, tunnel, 6) != 0))
		return 0;
	return (uint16_t)bytes_get(q + 6, 2);
}

static inline uint32_t
frame_link_le32(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
	    (uint32_t)p[3] << 24;
}

/*
 * Skip the radiotap header.  Set *padded to whether this header indicates that
 * the 802.11 header is padded.  Returns false if the radiotap header is not
 * valid.
 */
static inline bool
frame_link_radiotap(struct bytes *w, bool *padded)
{
	const uint8_t *h = w->p;
	size_t bytes, at = 8;
	uint32_t word, first;

	*padded = false;
	if (w->left < 8 || h[0] != 0)
		return false;
	bytes = h[2] | (size_t)h[3] << 8;
	if (bytes < 8 || bytes_take(w, bytes) == NULL)
		return false;
	first = word = frame_link_le32(h + 4);
	while ((word & 0x80000000) != 0 && at + 4 <= bytes) {
		word = frame_link_le32(h + at);
		at += 4;
	}
	if ((first & 1) != 0)		/* skip the time of arrival, which is
					 * aligned to eight bytes */
		at = (at + 7) / 8 * 8 + 8;
	*padded = (first & 2) != 0 && at < bytes && (h[at] & 0x20) != 0;
	return true;
}

/*
 * Skip a link header other than Ethernet.  Returns the ethertype, or 0.  This
 * function is not inline, so that Ethernet frames are parsed fast.
 */
__attribute__((noinline, unused)) static uint16_t
frame_link_other(int link, struct bytes *w)
{
	uint16_t kind, type;
	bool padded = false;

	switch (link) {
	case FRAME_NULL:
	case FRAME_LOOP:
		bytes_take(w, 4);
		/* fall through */
	case FRAME_DLT_RAW:
	case FRAME_DLT_RAW_BSD:
	case FRAME_RAW:
	case FRAME_IPV4:
	case FRAME_IPV6:
		if (!bytes_ok(w) || w->left == 0)
			return 0;
		return *w->p >> 4 == 4 ? 0x0800 : *w->p >> 4 == 6 ? 0x86dd : 0;
	case FRAME_SLL:
		bytes_take(w, 2);
		kind = bytes_u16(w);
		bytes_take(w, 10);
		type = bytes_u16(w);
		return kind == FRAME_SLL_NETLINK ? 0 : type;
	case FRAME_SLL2:
		type = bytes_u16(w);
		bytes_take(w, 6);
		kind = bytes_u16(w);
		bytes_take(w, 10);
		return kind == FRAME_SLL_NETLINK ? 0 : type;
	case FRAME_PPP:
	case FRAME_PPP_HDLC:
	case FRAME_PPP_ETHER:
		return frame_link_ppp(link, w);
	case FRAME_RADIOTAP:
		if (!frame_link_radiotap(w, &padded))
			return 0;
		/* fall through */
	case FRAME_WIFI:
		return frame_link_wifi(w, padded);
	default:		/* an unknown link type */
		w->bad = true;
		return 0;
	}
}

static inline bool
frame_link_skip(int link, const uint8_t *p, size_t len, uint32_t *at,
    uint16_t *type)
{
	struct bytes w = bytes_over(p, len);
	uint16_t t;

	if (link != FRAME_ETHERNET) {
		t = frame_link_other(link, &w);
	} else {
		if (bytes_take(&w, FRAME_ETH_BYTES) == NULL)
			return false;
		t = (uint16_t)bytes_get(p + 12, 2);
		while (t == 0x8100 || t == 0x88a8 || t == 0x9100) {
			bytes_take(&w, 2);
			t = bytes_u16(&w);
		}
	}
	*at = (uint32_t)(len - w.left);
	*type = t;
	return bytes_ok(&w);
}

#endif
