/*
 * plane.h - the data plane of a switch: its program, its ports and its time
 *
 * 	port in -> classifier -> program -> forwarding -> queue -> link -> out
 *
 * This file contains the functions that all switches share: they forward the
 * program's posts, run the egress queues, run deadlines in order of time, apply
 * impairment and count packets.  receive.h processes arriving packets and
 * control requests, and report.h prints counters.  The plane reads no clock and
 * sends nothing itself.  A driver (traces, sockets, interfaces, the simulator)
 * passes packets and their times to it and sends the packets that leave.
 *
 * 	plane_advance(pl, now)		run the deadlines that have passed
 * 	plane_receive(pl, &packet)	receive.h
 * 	plane_flush(pl)			forward what the program has posted
 *
 * Times must not decrease.  If several events have the same time, departures
 * come first, then deadlines of the program, then arrivals.  A plane owns its
 * ports and the state of its program; plane_free() frees them.  A plane must
 * not be moved in memory.
 */
#ifndef INNET_SWITCH_PLANE_H
#define INNET_SWITCH_PLANE_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/auth/channel-server.h"
#include "common/auth/rate-limit.h"
#include "common/base/heap.h"
#include "common/base/message.h"
#include "common/capture/soundness.h"
#include "common/switch/ports.h"
#include "common/switch/program.h"
#include "common/traffic/impair.h"
#include "common/wire/networks.h"

#define PLANE_NEVER UINT64_MAX

#define PLANE_ALL UINT32_MAX		/* all clusters together */

enum {
	PLANE_CACHED = 1000,	/* number of clusters whose states fit into a
				 * cache of the processor */
	PLANE_V4_MAX = 65507,	/* longest payload of an IPv4 datagram, in
				 * bytes */
	PLANE_BEHIND = 64	/* number of ports for multicast; used as a port
				 * number, it means that there is no port */
};

struct plane_conf {
	const struct program *program;
	const void *settings;		/* settings of the program */
	struct program_place place;
	struct ports_conf ports;
	bool regular_queued;		/* regular traffic waits in the queues
					 * of ports */
	bool recorded;			/* packets leave at the times at which
					 * they left in another run */
	struct impair impair;		/* impairment of arriving packets */
	struct networks allow;		/* networks from which the program
					 * accepts packets */
};

/* The driver passes packets to the plane and sends the packets that leave. */
struct plane_driver {
	/*
	 * Send the run of datagrams p to address `to` now.  The run leaves from
	 * address `from` or, if `from` is NULL, through socket `socket`.
	 */
	void (*send_run)(void *ctx, uint32_t socket, const union addr *from,
	    const union addr *to, const struct post *p, uint64_t now_ns);
	/*
	 * Return the number of the port towards address `at`, which is below
	 * PLANE_BEHIND.  Returns PLANE_BEHIND if there is no such port.  NULL:
	 * the driver cannot send by multicast.
	 */
	uint32_t (*multicast_port)(void *ctx, const union addr *at);
	/*
	 * Send the run p to the multicast group `group` through port number
	 * `port`.
	 */
	void (*send_multicast)(void *ctx, uint32_t port,
	    const union addr *group, const struct post *p, uint64_t now_ns);
	/*
	 * Send the packet in slot s, which left the head of a port's queue at
	 * when_ns.
	 */
	void (*send_slot)(void *ctx, struct port *port, struct slot *s,
	    uint64_t when_ns);
	/*
	 * Record that the packet in slot s is lost because its port went down.
	 * NULL: ports never go down.
	 */
	void (*lose_slot)(void *ctx, struct port *port, const struct slot *s);
	/*
	 * Send the packets of slots that have departed, before the memory of
	 * the slots is reused.  NULL: send_slot() sends packets at once.
	 */
	void (*flush_departed)(void *ctx);
	/* Forward a received packet without queueing it.  NULL: drop it. */
	void (*forward_packet)(void *ctx, struct packet *p, uint64_t now_ns);
	/*
	 * Write the headers of the frame of packet p, because the plane will
	 * read these headers.  NULL: frames always have their headers.
	 */
	void (*complete_frame)(void *ctx, const struct packet *p);
	/*
	 * Move the payload of p to writable memory.  NULL: payloads are always
	 * writable.
	 */
	void (*make_writable)(void *ctx, struct packet *p);
	/*
	 * Return the time to use for a departure that happens now.  NULL: use
	 * the time at which the departure was due.
	 */
	uint64_t (*clock_ns)(void *ctx);
	/*
	 * Schedule the next departure of a port that was idle.  NULL: the plane
	 * itself schedules departures.
	 */
	void (*schedule_port)(void *ctx, struct port *port);
	/*
	 * Return the port towards address `to`.  NULL: the plane finds the port
	 * with ports_find_port().
	 */
	struct port *(*find_port)(void *ctx, const union addr *to);
};

/* Counters of packets. */
enum plane_count {
	PLANE_PACKETS,		/* packets that arrived; each is also counted by
				 * one of the next six counters */
	PLANE_TAKEN,		/* packets that the program or an Olaf queue
				 * received */
	PLANE_OWN,		/* packets that another run of the program
				 * sent */
	PLANE_REGULAR,		/* other traffic */
	PLANE_PASSED,		/* packets between other hosts, which are
				 * forwarded */
	PLANE_IGNORED,		/* packets for the program that were ignored,
				 * because they are not valid */
	PLANE_NOT_ALLOWED,	/* packets for the program that were ignored,
				 * because of --allow */
	PLANE_OUT,		/* datagrams of the program that were sent
				 * without queueing */
	PLANE_TOO_LONG,		/* datagrams of the program that were not sent,
				 * because they are too long */
	PLANE_NO_PORT,		/* datagrams that were not sent because there
				 * was no memory for a port */
	PLANE_IN_LOST, PLANE_IN_DUPLICATED,	/* arriving packets that
						 * --impair dropped; arriving
						 * packets that --impair
						 * duplicated */
	PLANE_COUNTS
};

/* Counters of control messages. */
enum plane_control_count {
	CONTROLS_TAKEN, CONTROLS_BAD, CONTROLS_BAD_MAC, CONTROLS_OLD_XID,
	CONTROLS_REPEATED, CONTROLS_ACKS, CONTROLS_REFUSED,
	CONTROLS_CHALLENGED,	/* requests that were answered with a
				 * challenge */
	CONTROLS_UNPROVED,	/* requests without a valid cookie that were not
				 * answered */
	CONTROLS_REPLAYED,	/* messages with a counter that is not new */
	CONTROLS_REFLECTED,	/* messages from the switch's own address */
	CONTROLS_COUNTS
};

struct plane {
	const struct plane_conf *cf;	/* borrowed */
	const struct program *program;
	void *state;			/* owned; state of the program */
	struct program_env env;
	const struct plane_driver *driver;	/* borrowed */
	void *ctx;			/* first argument of the functions of
					 * the driver */
	struct ports ports;
	struct ports_conf ports_cf;
	bool shaped;			/* at least one port can queue
					 * packets */
	bool merges;			/* at least one port has an Olaf
					 * queue */
	bool has_departed;		/* slots have departed since the last
					 * call of flush_departed() */
	struct heap *heap;		/* owned; the ports that have
					 * departures, ordered by deadline */
	size_t heap_ports, heap_room;
	uint64_t port_due_ns;		/* deadline of the first port in the
					 * heap */
	bool has_deadlines;		/* the program has deadlines */
	bool impaired;			/* in_impair has an effect */
	struct impair in_impair;
	struct channel_server channels;
	struct channel_server_rules rules;
	struct rate_limit rate_limit;	/* limit on answers to unauthenticated
					 * hosts */
	uint64_t now_ns;		/* time of the last event */
	uint64_t late_max_ns;		/* longest time by which a departure was
					 * late */
	uint64_t n[PLANE_COUNTS];
	uint64_t controls[CONTROLS_COUNTS];
	uint64_t ignored[SOUNDNESS_VERDICTS];
	struct outbox out;
};

/*
 * Initialise a plane.  The plane borrows cf, driver and ctx, which must outlive
 * the plane.  Returns false if there is no memory.  The caller must call
 * plane_free() in either case.
 */
static inline bool plane_init(struct plane *pl, const struct plane_conf *cf,
    const struct plane_driver *driver, void *ctx);

/* Free the plane, its ports and its program. */
static inline void plane_free(struct plane *pl);

/*
 * Run all departures and deadlines up to now_ns in order of time, then set the
 * time to now_ns.
 */
static inline void plane_advance(struct plane *pl, uint64_t now_ns);

/* Send or queue everything that the program has posted. */
static inline void plane_flush(struct plane *pl);

/* Return the next deadline of a queue or of the program, or PLANE_NEVER. */
static inline uint64_t plane_deadline_ns(const struct plane *pl);

/* Return the time when the next packet leaves a queue, or PLANE_NEVER. */
static inline uint64_t plane_port_deadline_ns(const struct plane *pl);

/* Return the next deadline of the program, or PLANE_NEVER. */
static inline uint64_t plane_program_deadline_ns(const struct plane *pl);

/* Return the port towards an address, or NULL if there is no memory. */
static inline struct port *plane_find_port(struct plane *pl,
    const union addr *to);

/*
 * Offer an update to the queue of a port.  If the update does not have the
 * shape that the queue expects for its cluster, count the update as ignored and
 * return false.
 */
static inline bool plane_enqueue_update_at(struct plane *pl, struct port *port,
    const struct arrival *a, uint64_t now_ns);

/* Return the port with the next departure, or NULL if no packet waits. */
static inline struct port *plane_next_port(const struct plane *pl);

/*
 * Send the packet at the head of the port with the next departure.  If a merge
 * has delayed this departure, only update the deadline of the port.
 */
static inline void plane_send_next(struct plane *pl);

/*
 * Send the packet at the head of the queue of `port`.  The packet leaves at
 * when_ns.
 */
static inline void plane_send_head(struct plane *pl, struct port *port,
    uint64_t when_ns);

/*
 * Implement program_env.count_ignored: count a packet as ignored, and no longer
 * as taken.
 */
static inline void plane_count_ignored(void *plane, unsigned verdict);

/*
 * Merge the status of the queue of `port` into *s, the status of a model.
 * Returns whether *s has changed.
 */
static inline bool plane_stamp_port_status(struct port *port,
    struct update_status *s, uint64_t now_ns);

/*
 * Return the port with updates if there is exactly one such port, otherwise
 * NULL.
 */
static inline struct port *plane_only_update_port(const struct plane *pl);

/*
 * Return the counters of the updates of a cluster, summed over all ports.
 * PLANE_ALL stands for all clusters.
 */
static inline struct tally_cluster plane_sum_cluster(const struct plane *pl,
    uint32_t cluster);

/*
 * Is there only one port, and does it have more clusters than fit into a cache
 * of the processor?
 */
static inline bool plane_should_prefetch(const struct plane *pl);

/*
 * Prefetch the state of a cluster whose update may arrive soon.  This is a
 * separate function so that callers that do not prefetch stay fast.
 */
__attribute__((noinline,
    unused)) static void plane_prefetch_cluster(const struct plane *pl,
    uint16_t cluster);

/* Count the packets that are still in queues at the end of a run. */
static inline void plane_count_queued(struct plane *pl);

/* implementation */

/*
 * Send the packets of slots that have departed, before the memory of the slots
 * is reused.
 */
static inline void
plane_flush_departed(struct plane *pl)
{
	if (!pl->has_departed)
		return;
	pl->has_departed = false;
	pl->driver->flush_departed(pl->ctx);
}

/* Make sure that the headers of the frame of p are written. */
static inline void
plane_complete_frame(const struct plane *pl, const struct packet *p)
{
	if (pl->driver->complete_frame != NULL)
		pl->driver->complete_frame(pl->ctx, p);
}

/* Free memory that idle ports use. */
__attribute__((noinline, unused)) static void
plane_trim_ports(struct plane *pl)
{
	plane_flush_departed(pl);
	ports_trim_idle(&pl->ports);
}

static inline struct port *
plane_find_port(struct plane *pl, const union addr *to)
{
	if (pl->driver->find_port != NULL)
		return pl->driver->find_port(pl->ctx, to);
	if (ports_memory_is_low(&pl->ports))
		plane_trim_ports(pl);
	return ports_find_port(&pl->ports, to);
}

/* Add port p, which was idle, to the ports that have a departure. */
static inline void
plane_schedule_port(struct plane *pl, struct port *p)
{
	if (pl->cf->recorded)
		return;
	if (pl->driver->schedule_port != NULL) {
		pl->driver->schedule_port(pl->ctx, p);
		return;
	}
	if (pl->heap_ports == pl->heap_room) {
		const size_t room = pl->heap_room == 0 ? 64 :
		    pl->heap_room * 2;
		struct heap *h = heap_new(room);

		if (h == NULL)
			err(1, "ports");
		for (size_t i = 0; i < pl->heap_ports; i++)
			h[i] = pl->heap[i];
		heap_free(pl->heap);
		pl->heap = h;
		pl->heap_room = room;
	}
	pl->heap_ports = heap_push(
	    pl->heap, pl->heap_ports, heap_make(port_deadline_ns(p), p->index));
	pl->port_due_ns = heap_ns(&pl->heap[0]);
}

/* Add a packet that is not an update to the queue of port p. */
static inline void
plane_enqueue(struct plane *pl, struct port *p, const struct arrival *a)
{
	const bool idle = p->slots.count == 0;

	plane_flush_departed(pl);
	if (port_offer_plain(p, a, pl->now_ns) && idle)
		plane_schedule_port(pl, p);
}

/* Add each datagram of post p to the queue of `port`. */
static inline void
plane_enqueue_post(struct plane *pl, struct port *port,
    const struct slot_to *to, const struct post *p)
{
	const uint32_t head = to->to.sa.sa_family == AF_INET6 ?
	    FRAME_V6_BYTES : FRAME_V4_BYTES;

	for (uint32_t k = 0; k < p->count; k++) {
		const uint32_t bytes = k + 1 < p->count ? p->bytes :
		    p->last_bytes;
		const struct arrival a = { .bytes = p->p + (size_t)k *
		    p->bytes, .have = bytes, .wire_bytes = bytes + head,
		    .to = to };

		plane_enqueue(pl, port, &a);
	}
}

/*
 * Add post p to the queue of the port towards address `at`.  If the datagrams
 * of the post are too long or if there is no port, drop and count these
 * datagrams.  Returns false if the post need not wait.  In that case the
 * datagrams are counted as sent, and the caller must send the post.
 */
static inline bool
plane_queue_or_drop(struct plane *pl, const union addr *at,
    const struct slot_to *to, const struct post *p)
{
	const bool waits = pl->shaped && !pl->program->bypasses_queues;
	struct port *port;

	if (to->to.sa.sa_family != AF_INET6 && p->bytes > PLANE_V4_MAX) {
		pl->n[PLANE_TOO_LONG] += p->count;
		return true;
	}
	port = waits ? plane_find_port(pl, at) : NULL;
	if (waits && port == NULL) {
		pl->n[PLANE_NO_PORT] += p->count;
		return true;
	}
	if (port == NULL || port->link.rate_bps == 0) {
		pl->n[PLANE_OUT] += p->count;
		return false;
	}
	plane_enqueue_post(pl, port, to, p);
	return true;
}

/*
 * Send a post to address `at`, either at once or through the queue of a port.
 */
static inline void
plane_send_post(struct plane *pl, uint32_t socket, const union addr *at,
    const struct post *p)
{
	const struct slot_to to = {
	    .to = *at, .from = p->from, .socket = socket, .tos = p->tos};

	if (!plane_queue_or_drop(pl, at, &to, p))
		pl->driver->send_run(pl->ctx, socket,
		    p->from.sa.sa_family != 0 ? &p->from : NULL, at, p,
		    pl->now_ns);
}

/*
 * Do the work of plane_send_post().  If the post is a control message, first
 * add the MAC that the channel of its receiver requires.
 */
static inline void
plane_send_with_mac(struct plane *pl, uint32_t socket, const union addr *at,
    const struct post *p)
{
	uint8_t msg[CONTROL_MAX_BYTES];
	struct post whole = *p;

	if (p->tos == CONTROL_TOS && !p->bare) {
		assert(p->count == 1 &&
		    p->bytes <= sizeof(msg) - CONTROL_MAC_BYTES);
		memcpy(msg, p->p, p->bytes);
		whole.p = msg;
		whole.bytes = whole.last_bytes = channel_server_protect(
		    &pl->channels, &pl->rules, at, msg, p->bytes);
		p = &whole;
	}
	plane_send_post(pl, socket, at, p);
}

/* Can the post p, which is for a group, be sent by multicast? */
static inline bool
plane_may_multicast(const struct plane *pl, const struct post *p)
{
	return pl->cf->place.group.sa.sa_family != 0 &&
	    p->tos != CONTROL_TOS && pl->driver->multicast_port != NULL &&
	    pl->program->multicast_group != NULL;
}

/*
 * Return the number of the port towards the member at address `at`, and set
 * *group to the multicast group of this member.  Returns PLANE_BEHIND if the
 * member is in no group.
 */
static inline uint32_t
plane_multicast_port(
    struct plane *pl, const union addr *at, const union addr **group)
{
	*group = pl->program->multicast_group(pl->state, at);
	return *group == NULL ? PLANE_BEHIND
			      : pl->driver->multicast_port(pl->ctx, at);
}

/*
 * Send a post to a multicast group through port number `behind`, which leads to
 * the member at address `at`.
 */
static inline void
plane_send_multicast(struct plane *pl, uint32_t behind, const union addr *group,
    const union addr *at, const struct post *p)
{
	const struct slot_to to = { .to = *group, .socket = PACKET_SOCKET_OWN,
	    .tos = p->tos };

	if (!plane_queue_or_drop(pl, at, &to, p))
		pl->driver->send_multicast(
		    pl->ctx, behind, group, p, pl->now_ns);
}

/*
 * Send a post to each member of a group.  If a port leads to several members,
 * send the post only once through this port.
 */
static inline void
plane_send_to_group(struct plane *pl, const struct post *p)
{
	uint32_t members[PLANE_BEHIND + 1] = { 0 }, next = 0, k;
	const union addr *at, *group;

	while ((at = pl->program->each_member(pl->state, p->group, &next,
	    pl->now_ns)) != NULL)
		members[plane_multicast_port(pl, at, &group)]++;
	next = 0;
	while ((at = pl->program->each_member(pl->state, p->group, &next,
	    pl->now_ns)) != NULL) {
		k = plane_multicast_port(pl, at, &group);
		if (k == PLANE_BEHIND || members[k] == 1) {
			plane_send_with_mac(pl, PACKET_SOCKET_OWN, at, p);
		} else if (members[k] > 1) {
			plane_send_multicast(pl, k, group, at, p);
			members[k] = 0;	/* the post has already been sent to all
					 * members behind this port */
		}
	}
}

/*
 * Implement outbox_deliver: send post p to one address, to each member of a
 * group, or to the parent.
 */
static inline void
plane_deliver_post(void *plane, const struct post *p)
{
	struct plane *pl = plane;
	const union addr *at;
	uint32_t next = 0, socket = PACKET_SOCKET_OWN;

	switch (p->to) {
	case POST_ONE:
		plane_send_with_mac(pl, socket, &p->at, p);
		break;
	case POST_GROUP:
		if (plane_may_multicast(pl, p)) {
			plane_send_to_group(pl, p);
			break;
		}
		while ((at = pl->program->each_member(
			    pl->state, p->group, &next, pl->now_ns)) != NULL)
			plane_send_with_mac(pl, socket, at, p);
		break;
	case POST_PARENT:
		at = pl->program->parent_address(pl->state, p->group, &socket);
		if (at != NULL)		/* the program has already added the
					 * MAC */
			plane_send_post(pl, socket, at, p);
		break;
	}
}

static inline void
plane_flush(struct plane *pl)
{
	if (pl->out.n > 0)
		outbox_flush(&pl->out);
}

static inline bool
plane_enqueue_update_at(struct plane *pl, struct port *port,
    const struct arrival *a, uint64_t now_ns)
{
	bool idle;

	plane_flush_departed(pl);
	idle = port->slots.count == 0;
	switch (port_offer(port, a, now_ns)) {
	case PORT_TAKEN: break;
	case PORT_MISMATCHED:
		pl->env.count_ignored(pl, SOUNDNESS_MISMATCHED);
		return false;
	case PORT_NO_MEMORY: err(1, "no memory for the updates of a port");
	}
	if (idle && port->slots.count > 0)
		plane_schedule_port(pl, port);
	return true;
}

/* Implement program_env.enqueue_update. */
static inline bool
plane_enqueue_update(void *plane, uint32_t socket, const union addr *to,
    const struct packet *p, const struct update *u, uint64_t now_ns)
{
	struct plane *pl = plane;
	struct port *port = plane_find_port(pl, to);
	struct slot_to datagram;
	struct arrival a = { .bytes = p->payload, .have = p->bytes,
	    .wire_bytes = p->wire_bytes, .is_update = true, .up = u,
	    .bare = p->bare, .tail = p->bare ? 0 : update_tail_bytes(p->tos) };

	if (port == NULL) {
		pl->n[PLANE_NO_PORT]++;
		return false;
	}
	/*
	 * Keep the whole frame, unless the update is sent to a destination
	 * other than that of the frame.
	 */
	if (p->data != NULL && (p->to == NULL || addr_same(p->to, to))) {
		plane_complete_frame(pl, p);
		a.bytes = p->data;
		a.have = p->have;
		a.len = p->len;
		a.framed = true;
		a.payload_at = (uint32_t)(p->payload - p->data);
		a.destination = port_find_destination(port, to, p->vlan);
	} else {
		datagram = (struct slot_to){ .to = *to, .socket = socket,
		    .tos = p->tos };
		a.to = &datagram;
		a.destination = port_find_destination(port, to, 0);
	}
	if (a.destination == DESTINATIONS_NONE) {
		pl->n[PLANE_NO_PORT]++;
		return false;
	}
	return plane_enqueue_update_at(pl, port, &a, now_ns);
}

/*
 * Implement program_env.learn_shape: record the shape at the port through which
 * updates are sent to `from`.  A switch with its own address knows this port
 * before the first update arrives.
 */
static inline void
plane_learn_shape(void *plane, const union addr *from, const struct packet *p,
    const struct update *model, uint64_t now_ns)
{
	struct plane *pl = plane;
	struct port *port = plane_find_port(pl, from);
	const bool addressed = pl->cf->place.address.sa.sa_family != 0 &&
	    !pl->cf->place.in_path;

	uint32_t destination;

	if (port == NULL || (port->updates == NULL && !addressed))
		return;
	destination = port_find_destination(
	    port, from, addressed ? 0 : p->vlan);
	if (destination != DESTINATIONS_NONE)
		port_learn_shape(port, model, destination, now_ns);
}

/* Implement program_env.forward_packet. */
static inline void
plane_forward_packet(void *plane, struct packet *p, uint64_t now_ns)
{
	struct plane *pl = plane;

	if (pl->driver->forward_packet != NULL)
		pl->driver->forward_packet(pl->ctx, p, now_ns);
}

/* Implement program_env.make_writable. */
static inline void
plane_make_writable(void *plane, struct packet *p)
{
	struct plane *pl = plane;

	if (pl->driver->make_writable != NULL)
		pl->driver->make_writable(pl->ctx, p);
	p->changed = true;
}

static inline struct port *
plane_only_update_port(const struct plane *pl)
{
	struct port *only = NULL;

	for (uint32_t i = 0; i < pl->ports.n; i++) {
		if (pl->ports.port[i]->updates == NULL)
			continue;
		if (only != NULL)
			return NULL;
		only = pl->ports.port[i];
	}
	return only;
}

static inline bool
plane_should_prefetch(const struct plane *pl)
{
	return pl->ports.n == 1 && pl->ports.port[0]->updates != NULL &&
	    pl->ports.port[0]->updates->active.count > PLANE_CACHED;
}

__attribute__((noinline, unused)) static void
plane_prefetch_cluster(const struct plane *pl, uint16_t cluster)
{
	const struct port *p = pl->ports.port[0];

	if (p->cf.clusters == 0 || cluster < p->cf.clusters)
		port_prefetch(p, cluster);
}

static inline bool
plane_stamp_port_status(
    struct port *port, struct update_status *s, uint64_t now_ns)
{
	const struct update_status own = port_status(port, now_ns);

	return !port->cf.silent && txctl_write_status(s, &own);
}

/*
 * Implement program_env.stamp_status.  The status is that of the queue of the
 * port towards `to`.  If no update has ever been put into this queue and
 * exactly one other queue has updates, use that queue.
 */
static inline bool
plane_stamp_status(void *plane, const union addr *to, struct update_status *s,
    uint64_t now_ns)
{
	struct port *p = plane_find_port(plane, to), *only;

	if (p != NULL && p->updates == NULL) {
		only = plane_only_update_port(plane);
		p = only != NULL ? only : p;
	}

	return p != NULL && plane_stamp_port_status(p, s, now_ns);
}

static inline void
plane_count_ignored(void *plane, unsigned verdict)
{
	struct plane *pl = plane;

	pl->n[PLANE_TAKEN]--;
	pl->n[PLANE_IGNORED]++;
	pl->ignored[verdict]++;
}

static inline struct tally_cluster
plane_sum_cluster(const struct plane *pl, uint32_t cluster)
{
	struct tally_cluster t = { 0 };

	for (uint32_t i = 0; i < pl->ports.n; i++) {
		const struct port_updates *u = pl->ports.port[i]->updates;

		if (u != NULL)
			tally_add_cluster(&t, cluster == PLANE_ALL
						  ? &u->tally.all
						  : &u->tally.cluster[cluster]);
	}
	return t;
}

/*
 * Implement program_env.put_cluster: for each event, add the number of
 * constituents to which it happened.
 */
static inline void
plane_put_cluster(void *plane, uint16_t cluster, struct counters *c)
{
	const struct tally_cluster t = plane_sum_cluster(plane, cluster);

	for (int w = 0; w < TALLY_EVENTS; w++)
		counters_put(c, tally_name((enum tally_event)w),
		    t.of[w].constituents);
}

static inline struct port *
plane_next_port(const struct plane *pl)
{
	return pl->heap_ports == 0 ? NULL
				   : pl->ports.port[heap_id(&pl->heap[0])];
}

static inline uint64_t
plane_port_deadline_ns(const struct plane *pl)
{
	return pl->port_due_ns;
}

static inline uint64_t
plane_program_deadline_ns(const struct plane *pl)
{
	return pl->has_deadlines ? pl->program->deadline_ns(pl->state)
				 : PLANE_NEVER;
}

static inline uint64_t
plane_deadline_ns(const struct plane *pl)
{
	const uint64_t port = plane_port_deadline_ns(pl),
		       own = plane_program_deadline_ns(pl);

	return port < own ? port : own;
}

static inline void
plane_send_head(struct plane *pl, struct port *port, uint64_t when_ns)
{
	struct slot *head = port_head(port);

	if (when_ns > pl->now_ns)
		pl->now_ns = when_ns;
	if (head->is_update && head->tail > 0) {
		if (head->changed)
			port_update_header(head);
		pl->program->retag_update(pl->state, head, pl->now_ns);
	}
	pl->driver->send_slot(pl->ctx, port, head, pl->now_ns);
	pl->has_departed = pl->driver->flush_departed != NULL;
	port_pop(port);
}

static inline void
plane_send_next(struct plane *pl)
{
	struct port *port = plane_next_port(pl);
	const uint64_t due = port_deadline_ns(port);
	uint64_t when;

	if (due > pl->port_due_ns) {
		heap_again(pl->heap, pl->heap_ports, due);
		pl->port_due_ns = heap_ns(&pl->heap[0]);
		return;
	}
	when =
	    pl->driver->clock_ns == NULL ? due : pl->driver->clock_ns(pl->ctx);
	if (when > due && when - due > pl->late_max_ns)
		pl->late_max_ns = when - due;
	plane_send_head(pl, port, when);
	if (port_deadline_ns(port) == PORT_NEVER)
		pl->heap_ports = heap_drop(pl->heap, pl->heap_ports);
	else
		heap_again(pl->heap, pl->heap_ports, port_deadline_ns(port));
	pl->port_due_ns =
	    pl->heap_ports == 0 ? PLANE_NEVER : heap_ns(&pl->heap[0]);
}

/*
 * Run the departures and deadlines up to now_ns in order of time.  This is a
 * separate function so that plane_advance() is fast if there are no departures
 * or deadlines.
 */
__attribute__((noinline, unused)) static void
plane_run_deadlines(struct plane *pl, uint64_t now_ns)
{
	uint64_t port, own;

	for (;;) {
		port = plane_port_deadline_ns(pl);
		own = plane_program_deadline_ns(pl);
		if (port <= own && port <= now_ns && port != PLANE_NEVER) {
			plane_send_next(pl);
		} else if (own <= now_ns && own != PLANE_NEVER) {
			pl->now_ns = own > pl->now_ns ? own : pl->now_ns;
			pl->program->on_deadline(pl->state, pl->now_ns);
			plane_flush(pl);
		} else {
			return;
		}
	}
}

static inline void
plane_advance(struct plane *pl, uint64_t now_ns)
{
	if (plane_port_deadline_ns(pl) <= now_ns ||
	    plane_program_deadline_ns(pl) <= now_ns)
		plane_run_deadlines(pl, now_ns);
	if (now_ns > pl->now_ns)
		pl->now_ns = now_ns;
}

/*
 * Implement channel_server.stays: return whether an address belongs to a
 * member, whose channel stays open.
 */
static inline bool
plane_is_member(const void *plane, const union addr *at)
{
	const struct plane *pl = plane;

	return pl->program->is_member(pl->state, at, -1);
}

/* Implement channel_server.staying: return the number of members. */
static inline uint32_t
plane_member_count(const void *plane)
{
	const struct plane *pl = plane;

	return pl->program->member_count(pl->state);
}

/* Initialise the authentication of requests with the settings in `place`. */
static inline void
plane_init_channels(struct plane *pl, const struct program_place *place)
{
	pl->rate_limit.hash_seed = place->hash_seed;
	pl->channels = channel_server_of(&place->hash_seed);
	if (pl->program->is_member != NULL) {
		pl->channels.stays = plane_is_member;
		pl->channels.staying = plane_member_count;
		pl->channels.ctx = pl;
	}
	pl->rules = (struct channel_server_rules){ .key = place->key,
	    .commands = place->command_key,
	    .needs_cookie = place->needs_cookie };
	if (place->live || place->secret_known)
		key_set(&pl->rules.secret, place->secret,
		    sizeof(place->secret));
}

static inline bool
plane_init(struct plane *pl, const struct plane_conf *cf,
    const struct plane_driver *driver, void *ctx)
{
	const struct program *pr = cf->program;

	*pl = (struct plane){.cf = cf,
	    .program = pr,
	    .driver = driver,
	    .ctx = ctx,
	    .ports_cf = cf->ports,
	    .in_impair = cf->impair,
	    .impaired = impair_any(&cf->impair),
	    .port_due_ns = PLANE_NEVER,
	    .has_deadlines = pr->deadline_ns != NULL &&
			     (!pr->deadline_needs_tags || cf->place.tagged),
	    .state = calloc(1, pr->state_bytes)};
	pl->ports_cf.hash_seed = pl->ports_cf.all.hash_seed =
	    cf->place.hash_seed;
	ports_complete_rules(&pl->ports_cf);
	pl->ports = ports_of(&pl->ports_cf);
	pl->shaped = ports_can_queue(&pl->ports_cf);
	pl->merges = pl->shaped && ports_use_olaf(&pl->ports_cf);
	plane_init_channels(pl, &cf->place);
	outbox_init(&pl->out, plane_deliver_post, pl);
	pl->env = (struct program_env){ .plane = pl, .place = &cf->place,
	    .out = &pl->out, .rate_limit = &pl->rate_limit,
	    .enqueue_update = plane_enqueue_update,
	    .learn_shape = plane_learn_shape,
	    .forward_packet = plane_forward_packet,
	    .make_writable = plane_make_writable,
	    .stamp_status = plane_stamp_status,
	    .count_ignored = plane_count_ignored,
	    .put_cluster = plane_put_cluster };
	return pl->state != NULL && pr->init_state(pl->state, cf->settings,
	    &pl->env);
}

static inline void
plane_count_queued(struct plane *pl)
{
	for (uint32_t i = 0; i < pl->ports.n; i++)
		port_count_queued(pl->ports.port[i]);
}

static inline void
plane_free(struct plane *pl)
{
	if (pl->state != NULL && pl->program->free_state != NULL)
		pl->program->free_state(pl->state);
	free(pl->state);
	ports_free(&pl->ports);
	heap_free(pl->heap);
	channel_server_free(&pl->channels);
}

#endif
