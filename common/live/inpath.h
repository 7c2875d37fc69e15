/*
 * inpath.h - the driver of interfaces: a plane in the path of a bridge
 *
 *	host A -- p0 \                     / p2 -- server
 *	host B -- p1  > the kernel's bridge <
 *	              marked frames are taken at p0, p1, p2 before it
 *
 * Regular traffic stays in the kernel's bridge.  Marked frames (steer.h) come
 * here by packet sockets (netport.h), are given to the plane one datagram at a
 * time, and what it lets pass, or sends, leaves by the port behind which its
 * destination is (inpath-send.h).  What is for the switch itself comes without
 * its frame, as from a socket; a socket serves those who are behind no port.
 *
 * The loop is that of serve.h.  A host behind no port that is known gets its
 * frames by all ports, as in a bridge.  For tools, as serve.h is.
 */
#ifndef INNET_LIVE_INPATH_H
#define INNET_LIVE_INPATH_H

#include <ifaddrs.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "common/live/inpath-send.h"
#include "common/live/serve.h"
#include "common/live/service.h"

enum { INPATH_HEAD_MAX = FRAME_V6_BYTES + 8, INPATH_ROUNDS = 64 };

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

/*
 * Datagram k of the run at its time.  Where it passes it is a frame: its
 * headers stand for a while where the end of the one before is.
 */
static inline void
inpath_take(struct inpath *ip, const uint8_t *head, uint32_t k)
{
	struct inpath_frame *n = &ip->now;
	const uint32_t bytes = k + 1 < n->segs ? n->seg_bytes :
	    n->fr.payload_bytes - k * n->seg_bytes;
	uint8_t *payload = n->f->data + n->fr.payload_at +
	    (size_t)k * n->seg_bytes, save[INPATH_HEAD_MAX];
	const uint32_t h = n->fr.payload_at;
	const bool own = n->to == NULL, trusted = (n->f->head.flags &
	    (VIRTIO_NET_HDR_F_NEEDS_CSUM | VIRTIO_NET_HDR_F_DATA_VALID)) != 0;
	struct frame one = n->fr;
	struct virtio_net_hdr v;
	struct packet p = { .from = &n->src, .to = &n->dst,
	    .way = PACKET_WAY_OWN, .tos = n->fr.tos, .payload = payload,
	    .bytes = bytes, .wire_bytes = bytes + h };

	if (!own || !trusted) {
		p.frame = &one;
		p.is = FRAME_UDP;
		p.data = payload - h;
		p.have = p.len = bytes + h;
	}
	n->seg = k;
	if (!own && n->segs > 1) {
		plane_flush(ip->pl);	/* it may have borrowed what changes */
		memcpy(save, p.data, h);
		inpath_head(p.data, head, &n->fr, k, bytes, 0, &one, &v);
	}
	serve_come(&ip->serve, n->f->stamp_ns);
	for (int c = plane_copies(ip->pl); c > 0; c--) {
		inpath_capture(ip->serve.cf->ingress, head, &n->fr, payload, k,
		    bytes, 0, ip->pl->now_ns);
		inpath_capture(n->from->came, head, &n->fr, payload, k, bytes,
		    0, ip->pl->now_ns);
		plane_take(ip->pl, &p);
		n->changed |= p.changed;
	}
	if (!own && n->segs > 1)
		memcpy(p.data, save, h);
}

/* A frame that came at a port. */
static inline void
inpath_take_frame(struct inpath *ip, struct netport *from,
    const struct netport_frame *f)
{
	struct inpath_frame *n = &ip->now;
	const uint8_t type = f->head.gso_type & ~VIRTIO_NET_HDR_GSO_ECN;
	uint8_t head[INPATH_HEAD_MAX];

	ip->n[INPATH_FRAMES]++;
	n->from = from;
	n->f = f;
	if (frame_parse(FRAME_ETHERNET, f->data, f->len, f->len, &n->fr) !=
	    FRAME_UDP || n->fr.payload_at > INPATH_HEAD_MAX || (ip->cf->wire &&
	    (frame_dscp_tos(&n->fr) != UPDATE_TOS ||
	    stations_is_group(f->data)))) {
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
	memset(n->passes, 0, n->segs);
	n->changed = false;
	for (uint32_t k = 0; k < n->segs; k++)
		inpath_take(ip, head, k);
	if (n->to != NULL)
		inpath_pass_on(ip, head);
}

/* What has come at one port, a part at a time. */
static inline void
inpath_receive_port(struct inpath *ip, struct netport *p)
{
	ip->in.more = true;
	for (int k = 0; k < SERVE_BATCHES && ip->in.more; k++) {
		const int n = netport_recv(p, &ip->in);

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
	serve_come(&ip->serve, ip->serve.clock.wall_ns);
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
		const uint32_t n = detour_read(&p->detour, to,
		    NETPORT_FRAME_BYTES);

		if (n == 0)
			break;
		if (n >= FRAME_ETH_BYTES)
			inpath_take_leaving(ip, p, to, n);
	}
	netport_send(&ip->out, 0);
}

/* What the kernel tells of interfaces and neighbours. */
static inline void
inpath_hear(struct inpath *ip)
{
	int got = 1;

	for (int k = 0; k < INPATH_ROUNDS && got == 1; k++)
		got = links_hear(ip->events, inpath_event, ip);
	ip->look |= got == -1;		/* some were lost */
	ip->stations.forgot |= got == -1;
	if (ip->look && !inpath_look(ip)) {
		warnx("%s: the bridge is gone", ip->cf->where);
		ip->serve.broken = true;
		ip->serve.rc = 1;
		return;
	}
	if (ip->stations.forgot)
		inpath_ask_neighbours(ip);
	steer_own(&ip->steer, ip->mac, addr_port(&ip->serve.own.u.local));
}

/* serve_beside.receive */
static inline void
inpath_receive(void *ctx)
{
	struct inpath *ip = ctx;

	steer_beat(&ip->steer);
	inpath_hear(ip);
	for (uint32_t k = 0; k < INPATH_PORTS; k++) {
		if (ip->port[k].fd != -1)
			inpath_receive_port(ip, &ip->port[k]);
		if (ip->port[k].detour.tap != -1)
			inpath_receive_leaving(ip, &ip->port[k]);
	}
	if (ip->serve.clock.now_ns - ip->told_ns >= TIMER_SECOND_NS) {
		ip->told_ns = ip->serve.clock.now_ns;
		ip->asked = false;
		for (uint32_t k = 0; k < INPATH_PORTS; k++) {
			struct netport *p = &ip->port[k];

			netport_count_drops(p);
			if (p->came == NULL)
				continue;
			pcapio_flush(p->came);
			pcapio_flush(p->left);
			ip->serve.broken |= p->came->failed != 0 ||
			    p->left->failed != 0;
		}
	}
}

/* serve_beside.end: what comes from now on goes its own way. */
static inline void
inpath_end(void *ctx)
{
	struct inpath *ip = ctx;

	steer_let_go(&ip->steer);
	for (uint32_t k = 0; k < INPATH_PORTS; k++) {
		if (ip->port[k].fd != -1)
			inpath_receive_port(ip, &ip->port[k]);
	}
}

/* serve_beside.polls */
static inline uint32_t
inpath_polls(void *ctx, struct pollfd *p)
{
	const struct inpath *ip = ctx;
	uint32_t n = 0;

	p[n++] = (struct pollfd){ .fd = ip->events, .events = POLLIN };
	for (uint32_t k = 0; k < INPATH_PORTS; k++) {
		if (ip->port[k].fd != -1)
			p[n++] = (struct pollfd){ .fd = ip->port[k].fd,
			    .events = POLLIN };
		if (ip->port[k].detour.tap != -1)
			p[n++] = (struct pollfd){ .events = POLLIN,
			    .fd = ip->port[k].detour.tap };
	}
	return n;
}

/*
 * The address of a bridge, into text as --listen has it, or else NULL; and
 * whether there is such an interface.
 */
static inline const char *
inpath_address(const char *bridge, char text[ADDR_NAME_BYTES])
{
	struct ifaddrs *all, *i;
	int best = 0;

	if (if_nametoindex(bridge) == 0)
		errx(1, "--bridge: no interface '%s'", bridge);
	if (getifaddrs(&all) == -1)
		err(1, "%s", bridge);
	for (i = all; i != NULL; i = i->ifa_next) {
		const int family = i->ifa_addr == NULL ? 0 :
		    i->ifa_addr->sa_family;
		const int rank = family == AF_INET ? 2 : family == AF_INET6 ?
		    1 : 0;
		union addr a;

		if (strcmp(i->ifa_name, bridge) != 0 || rank <= best)
			continue;
		memcpy(&a, i->ifa_addr, rank == 2 ? sizeof(a.in) :
		    sizeof(a.in6));
		if (rank == 1 && IN6_IS_ADDR_LINKLOCAL(&a.in6.sin6_addr))
			continue;
		best = rank;
		addr_print(&a, text);
		*strrchr(text, ':') = '\0';	/* the port */
	}
	freeifaddrs(all);
	return best == 0 ? NULL : text;
}

/* The bridge, ours alone. */
static inline void
inpath_open_bridge(struct inpath *ip)
{
	const char *name = ip->cf->where;

	ip->bridge = if_nametoindex(name);
	if (ip->bridge == 0)
		errx(1, "--bridge: no interface '%s'", name);
	if (!inpath_look_bridge(ip))
		errx(1, "--bridge: '%s' is not a bridge", name);
	if (ip->filters_vlans)
		errx(1, "%s filters VLANs (vlan_filtering 1), which a switch "
		    "in the path does not do", name);
	ip->lock = inpath_lock(ip->bridge);
	if (ip->lock == -1 && errno == EADDRINUSE)
		errx(1, "%s: another innet-switch stands in its path", name);
	if (ip->lock == -1)
		err(1, "%s", name);
}

/* Begin: before the plane, whose driver is inpath_driver, with this struct. */
static inline void
inpath_open(struct inpath *ip, const struct inpath_conf *cf,
    const struct serve_conf *sc, const struct program *pr, bool merges,
    union addr *own)
{
	const struct steer_what what = { cf->wire, merges, pr->tos != 0 };

	memset(ip, 0, sizeof(*ip));
	ip->cf = cf;
	for (uint32_t k = 0; k < INPATH_PORTS; k++) {
		ip->port[k].fd = ip->port[k].hook = ip->port[k].lock = -1;
		ip->port[k].detour = (struct detour){ -1, -1 };
	}
	ip->lock = -1;
	if (!cf->wire)
		inpath_open_bridge(ip);
	for (uint32_t i = 0; i < cf->onlys && cf->wire; i++) {
		if (if_nametoindex(cf->only[i]) == 0)
			errx(1, "--interfaces: no interface '%s'",
			    cf->only[i]);
	}
	if (steer_open(&ip->steer, &what) == -1)
		inpath_fail(ip, "steering of marked frames");
	ip->events = links_events();
	if (ip->events == -1 || !netport_in_init(&ip->in))
		inpath_fail(ip, "interfaces");
	serve_open(&ip->serve, sc, pr, own);
	ip->with = (struct serve_beside){ .ctx = ip, .nap_ns = STEER_BEAT_NS,
	    .polls = inpath_polls, .receive = inpath_receive,
	    .end = inpath_end };
	ip->serve.beside = &ip->with;
}

/* Say where it stands. */
static inline void
inpath_tell(const struct inpath *ip, bool verbose)
{
	char text[INPATH_PORTS * (IF_NAMESIZE + 2)] = "";
	size_t n = 0;

	for (uint32_t k = 0; k < INPATH_PORTS; k++) {
		if (ip->port[k].fd != -1)
			n += (size_t)snprintf(text + n, sizeof(text) - n,
			    "%s%s", n == 0 ? "" : ", ", ip->port[k].name);
	}
	fprintf(stderr, "in the path of %s: %s\n", ip->cf->where,
	    n == 0 ? "no port yet" : text);
	if (verbose)
		warnx("back-end packet: packet sockets with PACKET_VNET_HDR; "
		    "marked frames are dropped behind them by tcx");
}

/* The plane was made: stand at the ports, and take frames from now on. */
static inline void
inpath_begin(struct inpath *ip, struct plane *pl, bool verbose)
{
	struct port_conf none = { .rate_bps = 0 };
	uint32_t k;

	ip->pl = pl;
	k = ports_make(&pl->ports, &none);
	if (k == PORTS_NONE)
		err(1, "%s", ip->cf->where);
	ip->beside = pl->ports.port[k];
	if (!inpath_look(ip))
		err(1, "%s", ip->cf->where);
	for (uint32_t i = 0; i < ip->cf->onlys && !ip->cf->wire; i++) {
		if (!inpath_is_port(ip, ip->cf->only[i]))
			errx(1, "--bridge: '%s' is no port of %s",
			    ip->cf->only[i], ip->cf->where);
	}
	for (uint32_t i = 0; i < ip->cf->rates; i++) {
		if (!inpath_is_port(ip, ip->cf->rate[i].port))
			warnx("--port-rate: no port '%s' at %s yet",
			    ip->cf->rate[i].port, ip->cf->where);
	}
	ip->looked = true;
	inpath_ask_neighbours(ip);
	steer_own(&ip->steer, ip->mac, addr_port(&ip->serve.own.u.local));
	inpath_tell(ip, verbose);
	steer_beat(&ip->steer);
}

/* Frames go their own way again.  The exit status of captures. */
static inline int
inpath_close(struct inpath *ip)
{
	int rc = 0;

	steer_let_go(&ip->steer);
	for (uint32_t k = 0; k < INPATH_PORTS; k++) {
		if (ip->port[k].fd != -1)
			inpath_shut(&ip->port[k]);
		rc |= inpath_untap(&ip->port[k]);
	}
	steer_close(&ip->steer);
	close(ip->events);
	if (ip->lock != -1)
		close(ip->lock);
	free(ip->in.bytes);
	stations_free(&ip->stations);
	serve_close(&ip->serve);
	return rc;
}

/* What the ports counted. */
static inline void
inpath_put_account(const void *ctx, struct counters *c)
{
	const struct inpath *ip = ctx;

	counters_in(c, "interfaces");
	counters_put(c, "frames", ip->n[INPATH_FRAMES]);
	counters_put(c, "flooded", ip->n[INPATH_FLOODED]);
	counters_put(c, "no_way", ip->n[INPATH_NO_WAY]);
	for (uint32_t k = 0; k < INPATH_PORTS; k++) {
		const struct netport *p = &ip->port[k];

		if (p->name[0] == '\0')
			continue;
		counters_in(c, p->name);
		counters_put(c, "kernel", p->kernel_drops);
		counters_put(c, "send_failed", p->failed);
		counters_out(c);
	}
	counters_out(c);
}

/* Serve in the path until the end, as service_run() does.  The exit status. */
static inline int
inpath_run(struct inpath *ip, const struct inpath_conf *cf, struct service *v,
    struct plane_options *o, const struct serve_conf *conf)
{
	int rc;

	service_begin(v, o, conf);
	v->serve = &ip->serve;
	v->also = inpath_put_account;
	v->also_ctx = ip;
	inpath_open(ip, cf, &v->conf, o->plane.program, ports_merge(
	    &o->plane.ports), &o->plane.place.address);
	if (!plane_init(&v->plane, &o->plane, &inpath_driver, ip))
		err(1, "%s", o->plane.program->name);
	inpath_begin(ip, &v->plane, o->verbose);
	rc = service_end(v, serve_run(&ip->serve, &v->plane));
	return rc | inpath_close(ip);
}

#endif
