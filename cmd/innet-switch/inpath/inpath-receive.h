/*
 * inpath-receive.h - frames that come at the ports of a switch, to the plane
 *
 * A run of datagrams is given to the plane one by one, and what of it passes
 * leaves as a run again.  What is for the switch itself comes without its
 * frame, as from a socket.  Where there is no bridge, and where regular traffic
 * waits for a port, frames that are nobody's here come too.
 */
#ifndef INNET_SWITCH_INPATH_INPATH_RECEIVE_H
#define INNET_SWITCH_INPATH_INPATH_RECEIVE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "cmd/innet-switch/inpath/inpath-send.h"
#include "common/net/serve.h"

/* Learn from a frame who is where, and see where it goes.  False: nowhere. */
static inline bool
inpath_find(struct inpath *ip, const uint8_t *data)
{
	struct inpath_frame *n = &ip->now;
	struct station_at at = { .vlan = n->fr.ip_at > FRAME_ETH_BYTES ?
	    (uint16_t)(bytes_get(data + 14, 2) & 0xfff) : 0 };
	uint32_t k;

	memcpy(at.mac, data + 6, 6);
	stations_see(&ip->stations, at.mac, (uint32_t)(n->from - ip->port));
	stations_learn(&ip->stations, &n->src, &at);
	n->to = NULL;
	if (memcmp(data, ip->mac, 6) == 0)
		return true;
	memcpy(at.mac, data, 6);
	stations_learn(&ip->stations, &n->dst, &at);
	k = stations_port(&ip->stations, at.mac);
	if (k == STATIONS_NOWHERE && !ip->asked) {
		inpath_ask_neighbours(ip);
		k = stations_port(&ip->stations, at.mac);
	}
	if (k < INPATH_PORTS && inpath_may(n->from, &ip->port[k]))
		n->to = &ip->port[k];
	else if (k != STATIONS_NOWHERE)
		ip->n[INPATH_NO_WAY]++;
	return n->to != NULL || k == STATIONS_NOWHERE;
}

/* The frame goes by every port but its own, as it came. */
static inline void
inpath_flood(struct inpath *ip, const struct netport_frame *f)
{
	const struct iovec whole = { f->data, f->len };

	ip->n[INPATH_FLOODED]++;
	for (uint32_t k = 0; k < INPATH_PORTS; k++) {
		if (inpath_may(ip->now.from, &ip->port[k]))
			netport_put(&ip->out, &ip->port[k], &f->head, &whole,
			    1);
	}
}

/* A frame that is nobody's here goes on, as a bridge would have it. */
static inline void
inpath_forward(struct inpath *ip, const struct netport_frame *f)
{
	const struct iovec whole = { f->data, f->len };
	struct netport *from = ip->now.from;
	uint32_t k;

	stations_see(&ip->stations, f->data + 6, (uint32_t)(from - ip->port));
	k = stations_is_group(f->data) ? STATIONS_NOWHERE :
	    stations_port(&ip->stations, f->data);
	ip->pl->n[PLANE_PACKETS]++;
	ip->pl->n[PLANE_REGULAR]++;
	if (k >= INPATH_PORTS)
		inpath_flood(ip, f);
	else if (inpath_may(from, &ip->port[k]))
		netport_put(&ip->out, &ip->port[k], &f->head, &whole, 1);
	else
		ip->n[INPATH_NO_WAY]++;
}

/* Datagrams a to b of a run pass: they leave as a run of their own. */
static inline void
inpath_pass_part(struct inpath *ip, const uint8_t *head, uint32_t a,
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
	uint8_t *own = netport_head(&ip->out, n->to);

	inpath_head(own, head, &n->fr, a, bytes, b - a > 1 ? n->seg_bytes : 0,
	    &one, &v);
	piece[0] = (struct iovec){ own, n->fr.payload_at };
	piece[1] = (struct iovec){ payload, bytes };
	netport_put(&ip->out, n->to, &v, piece, bytes > 0 ? 2 : 1);
}

/* What of the frame passes leaves: whole, if all of it does. */
static inline void
inpath_pass_on(struct inpath *ip, const uint8_t *head)
{
	struct inpath_frame *n = &ip->now;
	const struct iovec whole = { n->f->data, n->f->len };
	uint32_t all = 0, a = 0, b;

	for (uint32_t k = 0; k < n->segs; k++) {
		all += n->passes[k] == 1;
		if (n->passes[k] > 0)
			inpath_capture_left(ip, n->to, head, &n->fr,
			    n->f->data + n->fr.payload_at +
			    (size_t)k * n->seg_bytes, k, k + 1 < n->segs ?
			    n->seg_bytes : n->fr.payload_bytes -
			    k * n->seg_bytes, 0, ip->pl->now_ns);
	}
	if (all == n->segs && (n->segs > 1 || !n->changed)) {
		netport_put(&ip->out, n->to, &n->f->head, &whole, 1);
		return;
	}
	for (; a < n->segs; a = b) {
		for (b = a + 1; b < n->segs && n->passes[a] == 1 &&
		    n->passes[b] == 1; b++)
			;
		for (int i = 0; i < n->passes[a]; i++)
			inpath_pass_part(ip, head, a, b);
	}
}

/* Datagram k of the run at its time.  Where it passes it is a frame. */
static inline void
inpath_take(struct inpath *ip, uint32_t k)
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
	    .way = PACKET_WAY_OWN, .tos = n->fr.tos, .payload = payload,
	    .bytes = bytes, .wire_bytes = bytes + h };

	if (!own || !trusted) {
		p.frame = &n->one;
		p.is = FRAME_UDP;
		p.sums = trusted ? FRAME_SUMS_RIGHT : FRAME_SUMS_UNKNOWN;
		p.data = payload - h;
		p.have = p.len = bytes + h;
	}
	n->seg = k;
	n->whole = false;
	n->one.payload_bytes = bytes;
	if (p.frame != NULL && !trusted)
		inpath_whole(ip, &p);	/* its sums are checked */
	serve_come(&ip->serve, n->came_ns);
	for (int c = plane_copies(ip->pl); c > 0; c--) {
		if (ip->serve.cf->ingress != NULL)
			inpath_capture(ip->serve.cf->ingress, head, &n->fr,
			    payload, k, bytes, 0, ip->pl->now_ns);
		if (n->from->came != NULL)
			inpath_capture(n->from->came, head, &n->fr, payload, k,
			    bytes, 0, ip->pl->now_ns);
		plane_take(ip->pl, &p);
		n->changed |= p.changed;
	}
	if (n->whole)
		memcpy(p.data, n->hidden, h);
}

/* Where there is no bridge: is the datagram one that the program takes? */
static inline bool
inpath_claims(const struct inpath *ip, const uint8_t *data)
{
	const uint8_t has = frame_dscp_tos(&ip->now.fr);
	uint8_t tos[2];
	const int n = bpf_classifier_passing(ip->proved, tos);

	return !stations_is_group(data) && (has == tos[0] ||
	    (n > 1 && has == tos[1]));
}

/* A frame that came at a port. */
static inline void
inpath_take_frame(struct inpath *ip, struct netport *from,
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
	    !inpath_claims(ip, f->data))) {
		inpath_forward(ip, f);
		return;
	}
	flow_addr(&n->src, n->fr.flow.src, n->fr.flow.sport, n->fr.flow.v6);
	flow_addr(&n->dst, n->fr.flow.dst, n->fr.flow.dport, n->fr.flow.v6);
	if (!inpath_find(ip, f->data))
		return;
	n->seg_bytes = type == NETPORT_GSO_UDP && f->head.gso_size > 0 ?
	    f->head.gso_size : n->fr.payload_bytes;
	n->segs = n->fr.payload_bytes <= n->seg_bytes ? 1 :
	    (n->fr.payload_bytes - 1) / n->seg_bytes + 1;
	if ((n->to == NULL && memcmp(f->data, ip->mac, 6) != 0) ||
	    n->segs > INPATH_RUN_MAX) {
		inpath_flood(ip, f);
		return;
	}
	memcpy(head, f->data, n->fr.payload_at);
	n->head = head;
	if (n->to != NULL && n->segs > 1)
		inpath_head(n->each, head, &n->fr, 0, n->seg_bytes, 0, &one,
		    &v);
	memset(n->passes, 0, n->segs);
	n->changed = false;
	n->one = n->fr;
	n->came_ns = serve_stamped(&ip->serve, f->stamp_ns);
	for (uint32_t k = 0; k < n->segs; k++)
		inpath_take(ip, k);
	if (n->to != NULL)
		inpath_pass_on(ip, head);
	n->head = NULL;
}

/* What has come at one port, a part at a time. */
static inline void
inpath_receive_port(struct inpath *ip, struct netport *p)
{
	ip->in.more = true;
	for (int k = 0; k < SERVE_BATCHES && ip->in.more; k++) {
		const int n = p->kind->recv(p, &ip->in);

		clock_read(&ip->serve.clock);
		ip->serve.hasty = false;
		for (int i = 0; i < n; i++)
			inpath_take_frame(ip, p, &ip->in.got[i]);
		plane_flush(ip->pl);
		netport_send(&ip->out, 0);
		serve_advance(&ip->serve, ip->serve.clock.now_ns);
	}
}

/* A regular frame is about to leave by a port: it is to wait there. */
static inline void
inpath_take_leaving(struct inpath *ip, struct netport *port, uint8_t *data,
    uint32_t len)
{
	struct inpath_frame *n = &ip->now;
	const enum frame_is is = frame_parse(FRAME_ETHERNET, data, len, len,
	    &n->fr);
	const struct netport_frame none = { .data = data, .len = len };
	struct packet p = { .from = &n->src, .to = &n->dst,
	    .way = PACKET_WAY_OWN, .tos = is == FRAME_OTHER ? 0 : n->fr.tos,
	    .payload = data + n->fr.payload_at, .bytes = n->fr.payload_bytes,
	    .wire_bytes = len, .frame = &n->fr, .is = is, .data = data,
	    .have = len, .len = len };

	n->f = &none;
	n->from = n->to = port;
	n->segs = 1;
	n->seg = 0;
	flow_addr(&n->src, n->fr.flow.src, n->fr.flow.sport, n->fr.flow.v6);
	flow_addr(&n->dst, n->fr.flow.dst, n->fr.flow.dport, n->fr.flow.v6);
	serve_come(&ip->serve, serve_stamped(&ip->serve,
	    ip->serve.clock.wall_ns));
	inpath_capture_whole(ip->serve.cf->ingress, data, len, ip->pl->now_ns);
	inpath_capture_whole(port->came, data, len, ip->pl->now_ns);
	ip->pl->n[PLANE_PACKETS]++;
	plane_regular(ip->pl, &p);
	n->f = NULL;
}

/* What is about to leave by a port whose regular traffic waits. */
static inline void
inpath_receive_leaving(struct inpath *ip, struct netport *p)
{
	uint8_t *to = ip->in.bytes + NETPORT_GAP;

	clock_read(&ip->serve.clock);
	for (int k = 0; k < UDPIO_BATCH * 4; k++) {
		const uint32_t n = egress_tap_read(&p->egress_tap, to,
		    NETPORT_FRAME_BYTES);

		if (n == 0)
			break;
		if (n >= FRAME_ETH_BYTES)
			inpath_take_leaving(ip, p, to, n);
	}
	netport_send(&ip->out, 0);
}

#endif
