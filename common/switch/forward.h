/*
 * forward.h - where a plane sends what its program posts
 *
 * To one address, to each of a group, or up; straight on, or before the queue
 * of the port behind which it is; and to a group's own address once where
 * several who hear it are behind one port.
 */
#ifndef INNET_SWITCH_FORWARD_H
#define INNET_SWITCH_FORWARD_H

#include <assert.h>
#include <err.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "common/switch/state.h"

/* Slots are about to be used: what has left them is to be sent. */
static inline void
plane_settle(struct plane *pl)
{
	if (!pl->unsettled)
		return;
	pl->unsettled = false;
	pl->driver->settle(pl->ctx);
}

/* All of a packet's frame is to be kept. */
static inline void
plane_whole(const struct plane *pl, const struct packet *p)
{
	if (pl->driver->whole != NULL)
		pl->driver->whole(pl->ctx, p);
}

/* Ports give back memory that they do not need. */
__attribute__((noinline, unused)) static void
plane_trim(struct plane *pl)
{
	plane_settle(pl);
	ports_trim(&pl->ports);
}

/* The port towards an address; NULL without memory. */
static inline struct port *
plane_towards(struct plane *pl, const union addr *to)
{
	if (pl->driver->towards != NULL)
		return pl->driver->towards(pl->ctx, to);
	if (ports_tight(&pl->ports))
		plane_trim(pl);
	return ports_towards(&pl->ports, to);
}

/* A port that was idle has something in transmission. */
static inline void
plane_busy(struct plane *pl, struct port *p)
{
	if (pl->cf->recorded)
		return;
	if (pl->driver->busy != NULL) {
		pl->driver->busy(pl->ctx, p);
		return;
	}
	if (pl->dues == pl->dues_room) {
		const size_t room = pl->dues_room == 0 ? 64 :
		    pl->dues_room * 2;
		struct heap *h = heap_new(room);

		if (h == NULL)
			err(1, "ports");
		for (size_t i = 0; i < pl->dues; i++)
			h[i] = pl->due[i];
		heap_free(pl->due);
		pl->due = h;
		pl->dues_room = room;
	}
	pl->dues = heap_push(pl->due, pl->dues, heap_make(port_due(p),
	    p->index));
	pl->port_due_ns = heap_ns(&pl->due[0]);
}

/* Something that is no update is put before a port's queue. */
static inline void
plane_queue(struct plane *pl, struct port *p, const struct arrival *a)
{
	const bool idle = p->slots.count == 0;

	plane_settle(pl);
	if (port_offer_plain(p, a, pl->now_ns) && idle)
		plane_busy(pl, p);
}

/* A post waits for the link, a datagram at a time. */
static inline void
plane_wait(struct plane *pl, struct port *port, const struct slot_to *to,
    const struct post *p)
{
	const uint32_t head = to->to.sa.sa_family == AF_INET6 ?
	    FRAME_V6_BYTES : FRAME_V4_BYTES;

	for (uint32_t k = 0; k < p->count; k++) {
		const uint32_t bytes = k + 1 < p->count ? p->bytes :
		    p->last_bytes;
		const struct arrival a = { .bytes = p->p + (size_t)k *
		    p->bytes, .have = bytes, .wire_bytes = bytes + head,
		    .to = to };

		plane_queue(pl, port, &a);
	}
}

/*
 * What does not go straight on: a post towards `at` that is too long, has no
 * port or waits for its link.  False: it is the driver's to send, and counted.
 */
static inline bool
plane_holds(struct plane *pl, const union addr *at, const struct slot_to *to,
    const struct post *p)
{
	const bool waits = pl->shaped && !pl->program->bypasses_queues;
	struct port *port;

	if (to->to.sa.sa_family != AF_INET6 && p->bytes > PLANE_V4_MAX) {
		pl->n[PLANE_TOO_LONG] += p->count;
		return true;
	}
	port = waits ? plane_towards(pl, at) : NULL;
	if (waits && port == NULL) {
		pl->n[PLANE_NO_PORT] += p->count;
		return true;
	}
	if (port == NULL || port->link.rate_bps == 0) {
		pl->n[PLANE_OUT] += p->count;
		return false;
	}
	plane_wait(pl, port, to, p);
	return true;
}

/* A post goes to one address: straight on, or before the port's queue. */
static inline void
plane_forward_whole(struct plane *pl, uint32_t way, const union addr *at,
    const struct post *p)
{
	const struct slot_to to = { .to = *at, .from = p->from, .way = way,
	    .tos = p->tos };

	if (!plane_holds(pl, at, &to, p))
		pl->driver->send(pl->ctx, way, p->from.sa.sa_family != 0 ?
		    &p->from : NULL, at, p, pl->now_ns);
}

/* The same: a control message gets what proves that it is the switch's. */
static inline void
plane_forward(struct plane *pl, uint32_t way, const union addr *at,
    const struct post *p)
{
	uint8_t msg[CONTROL_MAX_BYTES];
	struct post whole = *p;

	if (p->tos == CONTROL_TOS && !p->bare) {
		assert(p->count == 1 &&
		    p->bytes <= sizeof(msg) - CONTROL_MAC_BYTES);
		memcpy(msg, p->p, p->bytes);
		whole.p = msg;
		whole.bytes = whole.last_bytes = channel_server_prove(
		    &pl->channels, &pl->rules, at, msg, p->bytes);
		p = &whole;
	}
	plane_forward_whole(pl, way, at, p);
}

/* Is a post one that may leave once for several behind a port? */
static inline bool
plane_shares(const struct plane *pl, const struct post *p)
{
	return pl->cf->place.group.sa.sa_family != 0 &&
	    p->tos != CONTROL_TOS && pl->driver->behind != NULL &&
	    pl->program->multicast_group != NULL;
}

/* Behind which port is who hears *group; PLANE_BEHIND: he hears none. */
static inline uint32_t
plane_behind(struct plane *pl, const union addr *at, const union addr **group)
{
	*group = pl->program->multicast_group(pl->state, at);
	return *group == NULL ? PLANE_BEHIND : pl->driver->behind(pl->ctx, at);
}

/* A post to a group's address leaves by the port behind which `at` is. */
static inline void
plane_share(struct plane *pl, uint32_t behind, const union addr *group,
    const union addr *at, const struct post *p)
{
	const struct slot_to to = { .to = *group, .way = PACKET_WAY_OWN,
	    .tos = p->tos };

	if (!plane_holds(pl, at, &to, p))
		pl->driver->share(pl->ctx, behind, group, p, pl->now_ns);
}

/* A post to each of a group: once by a port behind which several hear it. */
static inline void
plane_spread(struct plane *pl, const struct post *p)
{
	uint32_t hear[PLANE_BEHIND + 1] = { 0 }, next = 0, k;
	const union addr *at, *group;

	while ((at = pl->program->each_member(pl->state, p->group, &next,
	    pl->now_ns)) != NULL)
		hear[plane_behind(pl, at, &group)]++;
	next = 0;
	while ((at = pl->program->each_member(pl->state, p->group, &next,
	    pl->now_ns)) != NULL) {
		k = plane_behind(pl, at, &group);
		if (k == PLANE_BEHIND || hear[k] == 1) {
			plane_forward(pl, PACKET_WAY_OWN, at, p);
		} else if (hear[k] > 1) {
			plane_share(pl, k, group, at, p);
			hear[k] = 0;	/* the others have it */
		}
	}
}

/* outbox_deliver: to one, to each of a group, or up. */
static inline void
plane_deliver(void *plane, const struct post *p)
{
	struct plane *pl = plane;
	const union addr *at;
	uint32_t next = 0, way = PACKET_WAY_OWN;

	switch (p->to) {
	case POST_ONE:
		plane_forward(pl, way, &p->at, p);
		break;
	case POST_GROUP:
		if (plane_shares(pl, p)) {
			plane_spread(pl, p);
			break;
		}
		while ((at = pl->program->each_member(
			    pl->state, p->group, &next, pl->now_ns)) != NULL)
			plane_forward(pl, way, at, p);
		break;
	case POST_UP:
		at = pl->program->parent_address(pl->state, p->group, &way);
		if (at != NULL)		/* the program has proved it */
			plane_forward_whole(pl, way, at, p);
		break;
	}
}

/* What was decided leaves, or is put before its queue. */
static inline void
plane_flush(struct plane *pl)
{
	if (pl->out.n > 0)
		outbox_flush(&pl->out);
}

#endif
