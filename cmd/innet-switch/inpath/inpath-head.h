/*
 * inpath-head.h - headers of a part of a run of datagrams, and the checksums
 * that are still to be made
 */
#ifndef INNET_SWITCH_INPATH_INPATH_HEAD_H
#define INNET_SWITCH_INPATH_INPATH_HEAD_H

#include <linux/virtio_net.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "cmd/innet-switch/inpath/netport.h"
#include "common/wire/frame.h"

/*
 * Write at `to` the headers of datagrams k and on of the run whose own are in
 * head: of one of `bytes`, or a run of them whose datagrams have `seg` each
 * (0: it is one).  *fr describes the whole run and *one becomes what was
 * written.  The checksum is that of the pseudo header, for the kernel to go on
 * with: *v says so.
 */
static inline void
inpath_head(uint8_t *to, const uint8_t *head, const struct frame *fr,
    uint32_t k, uint32_t bytes, uint32_t seg, struct frame *one,
    struct virtio_net_hdr *v)
{
	uint8_t *ip = to + fr->ip_at, *udp = to + fr->udp_at;
	const uint32_t udp_bytes = bytes + FRAME_UDP_BYTES;
	uint16_t sum;

	if (to != head)
		memcpy(to, head, fr->payload_at);
	*one = *fr;
	one->payload_bytes = bytes;
	if (fr->flow.v6) {
		bytes_put(ip + 4, fr->udp_at - fr->ip_at - 40 + udp_bytes, 2);
	} else {
		bytes_put(ip + 2, fr->udp_at - fr->ip_at + udp_bytes, 2);
		bytes_put(ip + 4, bytes_get(ip + 4, 2) + k, 2);
		memset(ip + 10, 0, 2);
		sum = (uint16_t)~inetsum_fold(inetsum_add(0, ip,
		    (ip[0] & 15u) * 4));
		memcpy(ip + 10, &sum, 2);
	}
	bytes_put(udp + 4, udp_bytes, 2);
	sum = inetsum_fold(frame_pseudo_sum(to, one));
	memcpy(udp + 6, &sum, 2);
	*v = (struct virtio_net_hdr){ .flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
	    .csum_start = (uint16_t)fr->udp_at, .csum_offset = 6 };
	if (seg == 0)
		return;
	v->gso_type = NETPORT_GSO_UDP;
	v->gso_size = (uint16_t)seg;
	v->hdr_len = (uint16_t)fr->payload_at;
}

/* Is a datagram's checksum that of its pseudo header: still to be made? */
static inline bool
inpath_unfinished(const uint8_t *p, const struct frame *fr)
{
	const uint16_t sum = inetsum_fold(frame_pseudo_sum(p, fr));

	return memcmp(p + fr->udp_at + 6, &sum, 2) == 0;
}

/* Make the checksum that a frame of len bytes at p still needs. */
static inline void
inpath_finish(uint8_t *p, uint32_t len, const struct virtio_net_hdr *v)
{
	uint16_t sum;

	if ((v->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM) == 0)
		return;
	sum = (uint16_t)~inetsum_fold(inetsum_add(0, p + v->csum_start,
	    len - v->csum_start));
	if (sum == 0)
		sum = 0xffff;
	memcpy(p + v->csum_start + v->csum_offset, &sum, 2);
}

#endif
