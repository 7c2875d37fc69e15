/*
 * inpath-frames.h - move frames between the plane and the ports of a switch in
 * the path
 *
 * Receiving: the plane gets the datagrams of a run one by one, and those that
 * it forwards leave together as a run.  A packet for the switch itself is
 * passed to the plane without its frame, as if it came from a socket.  Without
 * a bridge, or if regular traffic waits at a port, frames that are not for
 * innet arrive, too.
 *
 * Sending: a packet that arrived as a frame leaves as a frame, through the port
 * of its destination.  A packet that the switch itself sends gets headers here;
 * its source is the switch's own address, and its destination is the Ethernet
 * address at which the host was last seen.  If a host is behind no port, the
 * switch sends through its socket and the kernel.  Runs of datagrams leave
 * whole, and the kernel computes checksums.
 */
#ifndef INNET_SWITCH_INPATH_INPATH_FRAMES_H
#define INNET_SWITCH_INPATH_INPATH_FRAMES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "cmd/innet-switch/inpath/inpath-ports.h"
#include "cmd/innet-switch/inpath/netport.h"
#include "common/net/serve-sockets.h"
#include "common/net/serve.h"

enum { INPATH_TRIES = 1000 };	/* number of attempts to send a frame, 1 ms
				 * apart */

/* Receive frames of one port, in batches. */
static inline void inpath_receive_port(struct inpath *ip, struct netport *p);

/*
 * Receive the frames that are about to leave by a port where regular traffic
 * waits.
 */
static inline void inpath_receive_egress(struct inpath *ip, struct netport *p);

/* The driver with which the caller initializes a plane. */
static const struct plane_driver inpath_driver;

/* implementation */

/* Capture the datagrams of a run, each with its own headers. */
static inline void
inpath_capture_run(struct pcapio_out *out, const uint8_t *head,
    const struct frame *fr, const uint8_t *payload, uint32_t k,
    uint32_t bytes, uint32_t seg, uint64_t stamp_ns)
{
	struct virtio_net_hdr v;
	struct frame one;

	for (;;) {
		const uint32_t n = seg == 0 || bytes < seg ? bytes : seg;
		uint8_t *q = pcapio_room(out);

		netport_write_headers(q, head, fr, k++, n, 0, &one, &v);
		memcpy(q + fr->payload_at, payload, n);
		frame_put_checksum(q, &one);
		pcapio_commit(out, stamp_ns, fr->payload_at + n,
		    fr->payload_at + n);
		payload += n;
		bytes -= n;
		if (bytes == 0)
			return;
	}
}

/* Capture the datagrams of a run that leave by a port. */
static inline void
inpath_capture_sent(const struct inpath *ip, const struct netport *port,
    const uint8_t *head, const struct frame *fr, const uint8_t *payload,
    uint32_t k, uint32_t bytes, uint32_t seg, uint64_t stamp_ns)
{
	if (ip->serve.cf->egress != NULL)
		inpath_capture_run(ip->serve.cf->egress, head, fr, payload, k,
		    bytes, seg, stamp_ns);
	if (port->egress_capture != NULL)
		inpath_capture_run(port->egress_capture, head, fr, payload, k,
		    bytes, seg, stamp_ns);
}

/* Capture a frame unchanged, unless `out` is NULL. */
static inline void
inpath_capture_whole(struct pcapio_out *out, const uint8_t *p, uint32_t len,
    uint64_t stamp_ns)
{
	if (out != NULL)
		pcapio_write(out, stamp_ns, p, len, len);
}

/* May a frame go from one port to another?  `from` is NULL for the switch. */
static inline bool
inpath_may_forward(const struct netport *from, const struct netport *to)
{
	return to->fd != -1 && to->forwards && to != from && (from == NULL ||
	    (from->forwards && !(from->isolated && to->isolated)));
}

/*
 * Write the headers of a datagram that the switch itself sends to a station.
 * Returns their length.
 */
static inline uint32_t
inpath_write_own_headers(const struct inpath *ip, uint8_t *q,
    const struct station *to, const struct frame_flow *flow, uint8_t tos,
    struct frame *fr)
{
	const uint32_t tag = to->at.vlan == 0 ? 0 : 4;
	uint8_t plain[FRAME_V6_BYTES];

	frame_put(plain, flow, tos, 0, fr);
	memcpy(q, to->at.mac, 6);
	memcpy(q + 6, ip->mac, 6);
	if (tag > 0) {
		bytes_put(q + 12, 0x8100, 2);
		bytes_put(q + 14, to->at.vlan, 2);
	}
	memcpy(q + 12 + tag, plain + 12, fr->payload_at - 12);
	fr->ip_at += tag;
	fr->udp_at += tag;
	fr->payload_at += tag;
	return fr->payload_at;
}

/* Return the port that leads to a station, or NULL. */
static inline struct netport *
inpath_find_egress(struct inpath *ip, const struct station *s)
{
	const uint32_t k = s == NULL ? STATIONS_NOWHERE :
	    stations_find_port(&ip->stations, s->at.mac);

	return k < INPATH_PORTS && inpath_may_forward(NULL, &ip->port[k]) ?
	    &ip->port[k] : NULL;
}

/* Send the datagrams in *p to a station through a port, as runs. */
static inline void
inpath_send_runs(struct inpath *ip, struct netport *port,
    const struct station *to, const struct frame_flow *flow,
    const struct post *p, uint64_t now_ns)
{
	const uint32_t room = (flow->v6 ? UDPIO_RUN_BYTES_V6 :
	    UDPIO_RUN_BYTES);
	const uint32_t most = p->bytes == 0 || ip->serve.cf->no_offload ||
	    room / p->bytes == 0 ? 1 : room / p->bytes < UDPIO_RUN_MAX ?
	    room / p->bytes : UDPIO_RUN_MAX;
	uint8_t head[FRAME_V6_BYTES + 8];
	struct frame fr, one;
	const uint32_t bytes =
	    inpath_write_own_headers(ip, head, to, flow, p->tos, &fr);

	for (uint32_t k = 0; k < p->count;) {
		const uint32_t n = p->count - k < most ? p->count - k : most;
		const uint32_t len = (n - 1) * p->bytes + (k + n < p->count ?
		    p->bytes : p->last_bytes);
		uint8_t *payload = (uint8_t *)(uintptr_t)p->p +
		    (size_t)k * p->bytes;
		struct virtio_net_hdr v;
		struct iovec piece[2];
		uint8_t *own = netport_reserve_headers(&ip->out, port);

		netport_write_headers(
		    own, head, &fr, 0, len, n > 1 ? p->bytes : 0, &one, &v);
		inpath_capture_sent(ip, port, head, &fr, payload, 0, len,
		    n > 1 ? p->bytes : 0, now_ns);
		piece[0] = (struct iovec){ own, bytes };
		piece[1] = (struct iovec){ payload, len };
		netport_queue_frame(&ip->out, port, &v, piece, len > 0 ? 2 : 1);
		k += n;
	}
}

/* plane_driver.send_run */
static inline void
inpath_send_run(void *ctx, uint32_t socket, const union addr *from,
    const union addr *to, const struct post *p, uint64_t now_ns)
{
	struct inpath *ip = ctx;
	const struct station *s = socket != PACKET_SOCKET_OWN ? NULL :
	    stations_find_host(&ip->stations, to);
	struct netport *port = inpath_find_egress(ip, s);
	struct frame_flow flow;

	if (port == NULL) {
		serve_send_run(&ip->serve, socket, from, to, p, now_ns);
		return;
	}
	flow =
	    flow_from_addrs(from != NULL ? from : &ip->serve.own.u.local, to);
	inpath_send_runs(ip, port, s, &flow, p, now_ns);
	netport_flush(&ip->out, INPATH_TRIES); /* the bytes are borrowed for
					        * this call only */
}

/* plane_driver.multicast_port: hosts with a VLAN tag do not get multicast. */
static inline uint32_t
inpath_multicast_port(void *ctx, const union addr *at)
{
	struct inpath *ip = ctx;
	const struct station *s = stations_find_host(&ip->stations, at);
	const struct netport *port = inpath_find_egress(ip, s);

	static_assert((int)INPATH_PORTS == (int)PLANE_BEHIND, "all ports");
	return port == NULL || s->at.vlan != 0 ? PLANE_BEHIND :
	    (uint32_t)(port - ip->port);
}

/*
 * Set `mac` to the Ethernet address of a multicast group (RFC 1112, section
 * 6.4; RFC 2464, section 7).
 */
static inline void
inpath_group_mac(const union addr *group, uint8_t mac[6])
{
	const uint8_t v4[3] = { 0x01, 0x00, 0x5e }, v6[2] = { 0x33, 0x33 };
	const uint8_t *low = (const uint8_t *)&group->in.sin_addr;

	if (group->sa.sa_family == AF_INET6) {
		memcpy(mac, v6, 2);
		memcpy(mac + 2, group->in6.sin6_addr.s6_addr + 12, 4);
		return;
	}
	memcpy(mac, v4, 3);
	memcpy(mac + 3, low + 1, 3);
	mac[3] &= 0x7f;
}

/* Send a run to a multicast group through one port. */
static inline void
inpath_multicast_by(struct inpath *ip, struct netport *port,
    const union addr *group, const struct post *p, uint64_t now_ns)
{
	const struct frame_flow flow = flow_from_addrs(&ip->serve.own.u.local,
	    group);
	struct station all = { .host = *group };

	inpath_group_mac(group, all.at.mac);
	inpath_send_runs(ip, port, &all, &flow, p, now_ns);
	ip->n[INPATH_SHARED] += p->count;
}

/* plane_driver.send_multicast */
static inline void
inpath_send_multicast(void *ctx, uint32_t behind, const union addr *group,
    const struct post *p, uint64_t now_ns)
{
	struct inpath *ip = ctx;

	inpath_multicast_by(ip, &ip->port[behind], group, p, now_ns);
	netport_flush(&ip->out, INPATH_TRIES); /* the bytes are borrowed for
					        * this call only */
}

/* Return the interface of one of the plane's ports, or NULL. */
static inline struct netport *
inpath_find_netport(struct inpath *ip, const struct port *port)
{
	for (uint32_t k = 0; k < INPATH_PORTS; k++) {
		if (ip->port[k].port == port && ip->port[k].fd != -1)
			return &ip->port[k];
	}
	return NULL;
}

/* Send a frame that has waited in a queue. */
static inline void
inpath_send_frame(struct inpath *ip, struct netport *to, struct slot *s,
    uint64_t when_ns)
{
	struct virtio_net_hdr v = { .flags = 0 };
	struct iovec piece = { s->bytes, s->have };
	struct frame fr, one;

	if (frame_parse(FRAME_ETHERNET, s->bytes, s->have, s->have, &fr) ==
	    FRAME_UDP) {
		inpath_capture_sent(ip, to, s->bytes, &fr, s->bytes +
		    fr.payload_at, 0, fr.payload_bytes, 0, when_ns);
		if (s->changed || netport_lacks_checksum(s->bytes, &fr))
			netport_write_headers(s->bytes, s->bytes, &fr, 0,
			    fr.payload_bytes, 0, &one, &v);
	} else {
		inpath_capture_whole(ip->serve.cf->egress, s->bytes, s->have,
		    when_ns);
		inpath_capture_whole(
		    to->egress_capture, s->bytes, s->have, when_ns);
	}
	netport_queue_frame(&ip->out, to, &v, &piece, 1);
}

/*
 * plane_driver.send_slot: the bytes of a slot stay valid until they are sent.
 */
static inline void
inpath_send_slot(void *ctx, struct port *port, struct slot *s, uint64_t when_ns)
{
	struct inpath *ip = ctx;
	struct netport *to = inpath_find_netport(ip, port);
	const struct post one = { .p = s->bytes, .count = 1,
	    .bytes = s->have, .last_bytes = s->have, .tos = s->to.tos };

	if (s->changed)
		port_update_header(s);
	if (!s->framed && !addr_is_group(&s->to.to))
		inpath_send_run(ip, s->to.socket,
		    s->to.from.sa.sa_family == 0 ? NULL : &s->to.from,
		    &s->to.to, &one, when_ns);
	else if (to == NULL || !to->forwards)
		ip->n[INPATH_NO_PORT]++;
	else if (s->framed)
		inpath_send_frame(ip, to, s, when_ns);
	else
		inpath_multicast_by(ip, to, &s->to.to, &one, when_ns);
}

/*
 * plane_driver.flush_departed: packets that find no room are lost, as they
 * would be on a full link.
 */
static inline void
inpath_flush_departed(void *ctx)
{
	struct inpath *ip = ctx;

	netport_flush(&ip->out, 0);
	serve_flush_departed(&ip->serve);
}

/*
 * plane_driver.forward_packet: mark a datagram as forwarded; it leaves when all
 * datagrams of its run have been processed.
 */
static inline void
inpath_forward_packet(void *ctx, struct packet *p, uint64_t now_ns)
{
	struct inpath *ip = ctx;

	(void)now_ns;
	if (p->frame == NULL || p->data == NULL)
		return;	/* the packet came from a socket or is for the switch */
	ip->now.passes[ip->now.seg]++;
	ip->now.changed |= p->changed;
}

/*
 * Write the headers of datagram k of a run to `to`; k is not the last datagram.
 * These headers differ only in the identification of their IPv4 packet.
 */
static inline void
inpath_write_headers(uint8_t *to, const struct inpath_frame *n, uint32_t k)
{
	uint8_t *ip = to + n->fr.ip_at;
	uint32_t was, is, sum;

	memcpy(to, n->each, n->fr.payload_at);
	if (n->fr.flow.v6)
		return;
	was = (uint32_t)bytes_get(ip + 4, 2);
	is = (was + k) & 0xffff;
	sum = (~(uint32_t)bytes_get(ip + 10, 2) & 0xffff) + (was ^ 0xffff) +
	    is;
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	bytes_put(ip + 4, is, 2);
	bytes_put(ip + 10, ~sum & 0xffff, 2);
}

/*
 * plane_driver.complete_frame: write the headers of a datagram that is inside a
 * run.  The headers are written only when needed, over the end of the previous
 * datagram.
 */
static inline void
inpath_complete_frame(void *ctx, const struct packet *p)
{
	struct inpath *ip = ctx;
	struct inpath_frame *n = &ip->now;
	struct virtio_net_hdr v;
	struct frame one;

	if (n->segs <= 1 || n->to == NULL || n->whole)
		return;
	plane_flush(ip->pl);	/* the plane may have borrowed these bytes */
	memcpy(n->hidden, p->data, n->fr.payload_at);
	if (n->seg + 1 < n->segs)
		inpath_write_headers(p->data, n, n->seg);
	else
		netport_write_headers(
		    p->data, n->head, &n->fr, n->seg, p->bytes, 0, &one, &v);
	n->whole = true;
}

/* plane_driver.find_port */
static inline struct port *
inpath_port_towards(void *ctx, const union addr *to)
{
	struct inpath *ip = ctx;
	struct netport *p;

	if (to == &ip->now.dst && ip->now.to != NULL)
		return ip->now.to->port;
	if (to == &ip->now.src)
		return ip->now.from->port;
	p = inpath_find_egress(ip, stations_find_host(&ip->stations, to));
	return p == NULL ? ip->other_port : p->port;
}

/* plane_driver.clock_ns */
static inline uint64_t
inpath_clock_ns(void *ctx)
{
	struct inpath *ip = ctx;

	return clock_now(&ip->serve.clock);
}

static const struct plane_driver inpath_driver = {
	.send_run = inpath_send_run, .send_slot = inpath_send_slot,
	.flush_departed = inpath_flush_departed,
	.multicast_port = inpath_multicast_port,
	.send_multicast = inpath_send_multicast,
	.forward_packet = inpath_forward_packet,
	.complete_frame = inpath_complete_frame,
	.clock_ns = inpath_clock_ns, .find_port = inpath_port_towards
};

/*
 * Learn the ports of the hosts from a frame, and find the port by which the
 * frame leaves.  Returns false if the frame must be dropped.
 */
static inline bool
inpath_locate_hosts(struct inpath *ip, const uint8_t *data)
{
	struct inpath_frame *n = &ip->now;
	struct station_at at = { .vlan = n->fr.ip_at > FRAME_ETH_BYTES ?
	    (uint16_t)(bytes_get(data + 14, 2) & 0xfff) : 0 };
	uint32_t k;

	memcpy(at.mac, data + 6, 6);
	stations_set_port(
	    &ip->stations, at.mac, (uint32_t)(n->from - ip->port));
	stations_set_host(&ip->stations, &n->src, &at);
	n->to = NULL;
	if (memcmp(data, ip->mac, 6) == 0)
		return true;
	memcpy(at.mac, data, 6);
	stations_set_host(&ip->stations, &n->dst, &at);
	k = stations_find_port(&ip->stations, at.mac);
	if (k == STATIONS_NOWHERE && !ip->asked) {
		inpath_query_neighbours(ip);
		k = stations_find_port(&ip->stations, at.mac);
	}
	if (k < INPATH_PORTS && inpath_may_forward(n->from, &ip->port[k]))
		n->to = &ip->port[k];
	else if (k != STATIONS_NOWHERE)
		ip->n[INPATH_NO_PORT]++;
	return n->to != NULL || k == STATIONS_NOWHERE;
}

/*
 * Send a frame unchanged through every port except the port where it arrived.
 */
static inline void
inpath_flood_frame(struct inpath *ip, const struct netport_frame *f)
{
	const struct iovec whole = { f->data, f->len };

	ip->n[INPATH_FLOODED]++;
	for (uint32_t k = 0; k < INPATH_PORTS; k++) {
		if (inpath_may_forward(ip->now.from, &ip->port[k]))
			netport_queue_frame(
			    &ip->out, &ip->port[k], &f->head, &whole, 1);
	}
}

/* Forward a frame that is not for innet, as a bridge does. */
static inline void
inpath_forward_frame(struct inpath *ip, const struct netport_frame *f)
{
	const struct iovec whole = { f->data, f->len };
	struct netport *from = ip->now.from;
	uint32_t k;

	stations_set_port(
	    &ip->stations, f->data + 6, (uint32_t)(from - ip->port));
	k = stations_is_group(f->data) ? STATIONS_NOWHERE :
	    stations_find_port(&ip->stations, f->data);
	ip->pl->n[PLANE_PACKETS]++;
	ip->pl->n[PLANE_REGULAR]++;
	if (k >= INPATH_PORTS)
		inpath_flood_frame(ip, f);
	else if (inpath_may_forward(from, &ip->port[k]))
		netport_queue_frame(
		    &ip->out, &ip->port[k], &f->head, &whole, 1);
	else
		ip->n[INPATH_NO_PORT]++;
}

/* Send datagrams a to b - 1 of a run as a separate run. */
static inline void
inpath_send_part(struct inpath *ip, const uint8_t *head, uint32_t a,
    uint32_t b)
{
	const struct inpath_frame *n = &ip->now;
	uint8_t *payload = n->f->data + n->fr.payload_at +
	    (size_t)a * n->seg_bytes;
	const uint32_t bytes = b < n->segs ? (b - a) * n->seg_bytes :
	    n->fr.payload_bytes - a * n->seg_bytes;
	struct virtio_net_hdr v;
	struct iovec piece[2];
	struct frame one;
	uint8_t *own = netport_reserve_headers(&ip->out, n->to);

	netport_write_headers(own, head, &n->fr, a, bytes,
	    b - a > 1 ? n->seg_bytes : 0, &one, &v);
	piece[0] = (struct iovec){ own, n->fr.payload_at };
	piece[1] = (struct iovec){ payload, bytes };
	netport_queue_frame(&ip->out, n->to, &v, piece, bytes > 0 ? 2 : 1);
}

/*
 * Send those datagrams of the frame that the plane forwards.  If the plane
 * forwards all of them unchanged, the frame leaves unchanged.
 */
static inline void
inpath_send_passing(struct inpath *ip, const uint8_t *head)
{
	struct inpath_frame *n = &ip->now;
	const struct iovec whole = { n->f->data, n->f->len };
	uint32_t all = 0, a = 0, b;

	for (uint32_t k = 0; k < n->segs; k++) {
		all += n->passes[k] == 1;
		if (n->passes[k] > 0)
			inpath_capture_sent(ip, n->to, head, &n->fr,
			    n->f->data + n->fr.payload_at +
			    (size_t)k * n->seg_bytes, k, k + 1 < n->segs ?
			    n->seg_bytes : n->fr.payload_bytes -
			    k * n->seg_bytes, 0, ip->pl->now_ns);
	}
	if (all == n->segs && (n->segs > 1 || !n->changed)) {
		netport_queue_frame(&ip->out, n->to, &n->f->head, &whole, 1);
		return;
	}
	for (; a < n->segs; a = b) {
		for (b = a + 1; b < n->segs && n->passes[a] == 1 &&
		    n->passes[b] == 1; b++)
			;
		for (int i = 0; i < n->passes[a]; i++)
			inpath_send_part(ip, head, a, b);
	}
}

/* Pass datagram k of the run to the plane. */
static inline void
inpath_receive_datagram(struct inpath *ip, uint32_t k)
{
	struct inpath_frame *n = &ip->now;
	const uint32_t bytes = k + 1 < n->segs ? n->seg_bytes :
	    n->fr.payload_bytes - k * n->seg_bytes;
	uint8_t *payload = n->f->data + n->fr.payload_at +
	    (size_t)k * n->seg_bytes;
	const uint8_t *head = n->head;
	const uint32_t h = n->fr.payload_at;
	const bool own = n->to == NULL, trusted = (n->f->head.flags &
	    (VIRTIO_NET_HDR_F_NEEDS_CSUM | VIRTIO_NET_HDR_F_DATA_VALID)) != 0;
	struct packet p = { .from = &n->src, .to = &n->dst,
	    .socket = PACKET_SOCKET_OWN, .tos = n->fr.tos, .payload = payload,
	    .bytes = bytes, .wire_bytes = bytes + h };

	if (!own || !trusted) {
		p.frame = &n->one;
		p.is = FRAME_UDP;
		p.sums = trusted ? FRAME_SUMS_RIGHT : FRAME_SUMS_UNKNOWN;
		p.data = payload - h;
		p.vlan = n->vlan;
		p.have = p.len = bytes + h;
	}
	n->seg = k;
	n->whole = false;
	n->one.payload_bytes = bytes;
	if (p.frame != NULL && !trusted)
		inpath_complete_frame(ip, &p); /* the parsed headers are needed
					        * to check the checksums of the
					        * datagram */
	serve_advance_to_packet(&ip->serve, n->came_ns);
	for (int c = plane_draw_copies(ip->pl); c > 0; c--) {
		if (ip->serve.cf->ingress != NULL)
			inpath_capture_run(ip->serve.cf->ingress, head, &n->fr,
			    payload, k, bytes, 0, ip->pl->now_ns);
		if (n->from->ingress_capture != NULL)
			inpath_capture_run(n->from->ingress_capture, head,
			    &n->fr, payload, k, bytes, 0, ip->pl->now_ns);
		plane_receive(ip->pl, &p);
		n->changed |= p.changed;
	}
	if (n->whole)
		memcpy(p.data, n->hidden, h);
}

/*
 * Must the program process this datagram?  Without a bridge, the switch must
 * check this.
 */
static inline bool
inpath_is_claimed(const struct inpath *ip, const uint8_t *data)
{
	const uint8_t has = frame_dscp_tos(&ip->now.fr);
	uint8_t tos[2];
	const int n = bpf_classifier_passing_tos(ip->tagged, tos);

	return !stations_is_group(data) && (has == tos[0] ||
	    (n > 1 && has == tos[1]));
}

/* Receive a frame that arrived at a port. */
static inline void
inpath_receive_frame(struct inpath *ip, struct netport *from,
    const struct netport_frame *f)
{
	struct inpath_frame *n = &ip->now;
	const uint8_t type = f->head.gso_type & ~VIRTIO_NET_HDR_GSO_ECN;
	uint8_t head[INPATH_HEAD_MAX];
	struct virtio_net_hdr v;
	struct frame one;

	ip->n[INPATH_FRAMES]++;
	n->from = from;
	n->f = f;
	if (frame_parse(FRAME_ETHERNET, f->data, f->len, f->len, &n->fr) !=
	    FRAME_UDP || n->fr.payload_at > INPATH_HEAD_MAX || (ip->cf->wire &&
	    !inpath_is_claimed(ip, f->data))) {
		inpath_forward_frame(ip, f);
		return;
	}
	flow_addr(&n->src, n->fr.flow.src, n->fr.flow.sport, n->fr.flow.v6);
	flow_addr(&n->dst, n->fr.flow.dst, n->fr.flow.dport, n->fr.flow.v6);
	if (!inpath_locate_hosts(ip, f->data))
		return;
	n->seg_bytes = type == NETPORT_GSO_UDP && f->head.gso_size > 0 ?
	    f->head.gso_size : n->fr.payload_bytes;
	n->segs = n->fr.payload_bytes <= n->seg_bytes ? 1 :
	    (n->fr.payload_bytes - 1) / n->seg_bytes + 1;
	if ((n->to == NULL && memcmp(f->data, ip->mac, 6) != 0) ||
	    n->segs > INPATH_RUN_MAX) {
		inpath_flood_frame(ip, f);
		return;
	}
	memcpy(head, f->data, n->fr.payload_at);
	n->head = head;
	n->vlan = frame_vlan(head, &n->fr);
	if (n->to != NULL && n->segs > 1)
		netport_write_headers(
		    n->each, head, &n->fr, 0, n->seg_bytes, 0, &one, &v);
	memset(n->passes, 0, n->segs);
	n->changed = false;
	n->one = n->fr;
	n->came_ns = serve_arrival_ns(&ip->serve, f->stamp_ns);
	for (uint32_t k = 0; k < n->segs; k++)
		inpath_receive_datagram(ip, k);
	if (n->to != NULL)
		inpath_send_passing(ip, head);
	n->head = NULL;
}

static inline void
inpath_receive_port(struct inpath *ip, struct netport *p)
{
	ip->in.more = true;
	for (int k = 0; k < SERVE_BATCHES && ip->in.more; k++) {
		const int n = p->kind->receive(p, &ip->in);

		clock_read(&ip->serve.clock);
		ip->serve.gave_up = false;
		for (int i = 0; i < n; i++)
			inpath_receive_frame(ip, p, &ip->in.got[i]);
		plane_flush(ip->pl);
		netport_flush(&ip->out, 0);
		serve_advance(&ip->serve, ip->serve.clock.now_ns);
	}
}

/*
 * Receive a regular frame that is about to leave by a port, and queue it there.
 */
static inline void
inpath_receive_egress_frame(
    struct inpath *ip, struct netport *port, uint8_t *data, uint32_t len)
{
	struct inpath_frame *n = &ip->now;
	const enum frame_is is = frame_parse(FRAME_ETHERNET, data, len, len,
	    &n->fr);
	const struct netport_frame none = { .data = data, .len = len };
	struct packet p = { .from = &n->src, .to = &n->dst,
	    .socket = PACKET_SOCKET_OWN,
	    .tos = is == FRAME_OTHER ? 0 : n->fr.tos,
	    .payload = data + n->fr.payload_at, .bytes = n->fr.payload_bytes,
	    .wire_bytes = len, .frame = &n->fr, .is = is, .data = data,
	    .vlan = frame_vlan(data, &n->fr), .have = len, .len = len };

	n->f = &none;
	n->from = n->to = port;
	n->segs = 1;
	n->seg = 0;
	flow_addr(&n->src, n->fr.flow.src, n->fr.flow.sport, n->fr.flow.v6);
	flow_addr(&n->dst, n->fr.flow.dst, n->fr.flow.dport, n->fr.flow.v6);
	serve_advance_to_packet(&ip->serve, serve_arrival_ns(&ip->serve,
	    ip->serve.clock.wall_ns));
	inpath_capture_whole(ip->serve.cf->ingress, data, len, ip->pl->now_ns);
	inpath_capture_whole(port->ingress_capture, data, len, ip->pl->now_ns);
	ip->pl->n[PLANE_PACKETS]++;
	plane_forward_regular(ip->pl, &p);
	n->f = NULL;
}

static inline void
inpath_receive_egress(struct inpath *ip, struct netport *p)
{
	uint8_t *to = ip->in.bytes + NETPORT_GAP;

	clock_read(&ip->serve.clock);
	for (int k = 0; k < UDPIO_BATCH * 4; k++) {
		const uint32_t n = egress_tap_read_frame(&p->egress_tap, to,
		    NETPORT_FRAME_BYTES);

		if (n == 0)
			break;
		if (n >= FRAME_ETH_BYTES)
			inpath_receive_egress_frame(ip, p, to, n);
	}
	netport_flush(&ip->out, 0);
}

#endif
