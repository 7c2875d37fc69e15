/*
 * plane.h - the data plane of a switch: one program, ports, and time
 *
 *	port in -> classifier -> program -> forwarding -> queue -> link -> out
 *
 * What is true of any switch stands here and in the other headers of this
 * folder, once: forwarding of what a program sends, egress queues and their
 * departures, time-outs in order of time, impairment, control messages,
 * accounts.  No clock is read and nothing is sent: a driver (traces, sockets,
 * the simulator) brings packets and times and carries what leaves.
 *
 *	plane_advance(pl, now)		what is due by now happens, in order
 *	plane_take(pl, &packet)		classifier.h
 *	plane_flush(pl)			what was decided is forwarded
 *
 * Times must not go back.  Departures come before time-outs, and both before
 * arrivals of the same instant.  A plane owns its program's state and its
 * ports: plane_free().  It stays where it is in memory.
 */
#ifndef INNET_SWITCH_PLANE_H
#define INNET_SWITCH_PLANE_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/switch/forward.h"

/* An update is put before a port's queue; false if it is not sound there. */
static inline bool
plane_offer_at(struct plane *pl, struct port *port, const struct arrival *a,
    uint64_t now_ns)
{
	bool idle;

	plane_settle(pl);
	idle = port->slots.count == 0;
	switch (port_offer(port, a, now_ns)) {
	case PORT_TAKEN: break;
	case PORT_MISMATCHED:
		pl->env.count_ignored(pl, SOUNDNESS_MISMATCHED);
		return false;
	case PORT_NO_MEMORY: err(1, "updates of a port");
	}
	if (idle && port->slots.count > 0)
		plane_busy(pl, port);
	return true;
}

/* program_env.enqueue_update */
static inline bool
plane_enqueue_update(void *plane, uint32_t way, const union addr *to,
    const struct packet *p, const struct update *u, uint64_t now_ns)
{
	struct plane *pl = plane;
	struct port *port = plane_towards(pl, to);
	struct slot_to datagram;
	struct arrival a = { .bytes = p->payload, .have = p->bytes,
	    .wire_bytes = p->wire_bytes, .is_update = true, .up = u,
	    .bare = p->bare, .tail = p->bare ? 0 : update_tail_bytes(p->tos) };

	if (port == NULL) {
		pl->n[PLANE_NO_PORT]++;
		return false;
	}
	/* a frame stays what it is, but where it is addressed anew */
	if (p->data != NULL && (p->to == NULL || addr_same(p->to, to))) {
		plane_whole(pl, p);
		a.bytes = p->data;
		a.have = p->have;
		a.len = p->len;
		a.framed = true;
		a.payload_at = (uint32_t)(p->payload - p->data);
	} else {
		datagram = (struct slot_to){ .to = *to, .way = way,
		    .tos = p->tos };
		a.to = &datagram;
	}
	return plane_offer_at(pl, port, &a, now_ns);
}

/*
 * program_env.learn_shape: at the port that updates go to, which is known
 * before the first where the switch has an address of its own.
 */
static inline void
plane_learn_shape(void *plane, const union addr *from,
    const struct update *model, uint64_t now_ns)
{
	struct plane *pl = plane;
	struct port *port = plane_towards(pl, from);
	const bool addressed = pl->cf->place.address.sa.sa_family != 0 &&
	    !pl->cf->place.in_path;

	if (port != NULL && (port->updates != NULL || (addressed &&
	    port_open_updates(port))))
		port_shape_is(port, model, now_ns);
}

/* program_env.forward_packet */
static inline void
plane_forward_packet(void *plane, struct packet *p, uint64_t now_ns)
{
	struct plane *pl = plane;

	if (pl->driver->pass != NULL)
		pl->driver->pass(pl->ctx, p, now_ns);
}

/* program_env.make_writable */
static inline void
plane_make_writable(void *plane, struct packet *p)
{
	struct plane *pl = plane;

	if (pl->driver->edit != NULL)
		pl->driver->edit(pl->ctx, p);
	p->changed = true;
}

/* The one port that has updates; NULL if there is none, or more. */
static inline struct port *
plane_updated(const struct plane *pl)
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

/* Has the one port more clusters than a cache holds? */
static inline bool
plane_fetches(const struct plane *pl)
{
	return pl->ports.n == 1 && pl->ports.port[0]->updates != NULL &&
	    pl->ports.port[0]->updates->active.count > PLANE_CACHED;
}

/*
 * If so: an update of that cluster comes soon, perhaps, and what it needs is
 * fetched.  Apart, so that it costs nothing where it is not so.
 */
__attribute__((noinline, unused)) static void
plane_fetch(const struct plane *pl, uint16_t cluster)
{
	const struct port *p = pl->ports.port[0];

	if (p->cf.clusters == 0 || cluster < p->cf.clusters)
		port_fetch(p, cluster);
}

/* A model passes the queue of a port, and is told its status: is it new? */
static inline bool
plane_stamp_at(struct port *port, struct update_status *s, uint64_t now_ns)
{
	const struct update_status own = port_status(port, now_ns);

	return !port->cf.silent && txctl_stamp(s, &own);
}

/*
 * program_env.stamp_status: by the queue towards `to`, or, where no update ever
 * went there, by the one that updates do go to.
 */
static inline bool
plane_stamp_status(void *plane, const union addr *to, struct update_status *s,
    uint64_t now_ns)
{
	struct port *p = plane_towards(plane, to), *only;

	if (p != NULL && p->updates == NULL) {
		only = plane_updated(plane);
		p = only != NULL ? only : p;
	}

	return p != NULL && plane_stamp_at(p, s, now_ns);
}

/* program_env.count_ignored: what was counted as taken is not. */
static inline void
plane_count_ignored(void *plane, unsigned verdict)
{
	struct plane *pl = plane;

	pl->n[PLANE_TAKEN]--;
	pl->n[PLANE_IGNORED]++;
	pl->ignored[verdict]++;
}

/* What became of the updates of a cluster, at all ports together. */
static inline struct tally_cluster
plane_cluster(const struct plane *pl, uint32_t cluster)
{
	struct tally_cluster t = { 0 };

	for (uint32_t i = 0; i < pl->ports.n; i++) {
		const struct port_updates *u = pl->ports.port[i]->updates;

		if (u != NULL)
			tally_sum(&t, cluster == PLANE_ALL ? &u->tally.all :
			    &u->tally.cluster[cluster]);
	}
	return t;
}

/* program_env.put_cluster: constituents, by what became of them. */
static inline void
plane_put_cluster(void *plane, uint16_t cluster, struct counters *c)
{
	const struct tally_cluster t = plane_cluster(plane, cluster);

	for (int w = 0; w < TALLY_WHATS; w++)
		counters_put(c, tally_name((enum tally_what)w),
		    t.of[w].constituents);
}

/* The port that is due first; NULL: none is. */
static inline struct port *
plane_first(const struct plane *pl)
{
	return pl->dues == 0 ? NULL : pl->ports.port[heap_id(&pl->due[0])];
}

/* When a queue or the program is due; PLANE_NEVER. */
static inline uint64_t
plane_due_port(const struct plane *pl)
{
	return pl->port_due_ns;
}

static inline uint64_t
plane_due_program(const struct plane *pl)
{
	return pl->timed ? pl->program->deadline_ns(pl->state) : PLANE_NEVER;
}

static inline uint64_t
plane_due(const struct plane *pl)
{
	const uint64_t port = plane_due_port(pl), own = plane_due_program(pl);

	return port < own ? port : own;
}

/* The head of a port leaves, not before its time. */
static inline void
plane_depart(struct plane *pl, struct port *port, uint64_t when_ns)
{
	struct slot *head = port_head(port);

	if (when_ns > pl->now_ns)
		pl->now_ns = when_ns;
	if (head->is_update && head->tail > 0) {
		if (head->changed)
			port_freshen(head);
		pl->program->retag_update(pl->state, head, pl->now_ns);
	}
	pl->driver->leave(pl->ctx, port, head, pl->now_ns);
	pl->unsettled = pl->driver->settle != NULL;
	port_pop(port);
}

/* The port that is due first sends what it has to, unless that is put off. */
static inline void
plane_depart_first(struct plane *pl)
{
	struct port *port = plane_first(pl);
	const uint64_t due = port_due(port);
	uint64_t when;

	if (due > pl->port_due_ns) {
		heap_again(pl->due, pl->dues, due);
		pl->port_due_ns = heap_ns(&pl->due[0]);
		return;
	}
	when = pl->driver->clock == NULL ? due : pl->driver->clock(pl->ctx);
	if (when > due && when - due > pl->late_max_ns)
		pl->late_max_ns = when - due;
	plane_depart(pl, port, when);
	if (port_due(port) == PORT_NEVER)
		pl->dues = heap_drop(pl->due, pl->dues);
	else
		heap_again(pl->due, pl->dues, port_due(port));
	pl->port_due_ns = pl->dues == 0 ? PLANE_NEVER : heap_ns(&pl->due[0]);
}

/*
 * Time-outs and departures that are due by now happen, in order.  Apart, so
 * that a look whether any is costs little.
 */
__attribute__((noinline, unused)) static void
plane_catch_up(struct plane *pl, uint64_t now_ns)
{
	uint64_t port, own;

	for (;;) {
		port = plane_due_port(pl);
		own = plane_due_program(pl);
		if (port <= own && port <= now_ns && port != PLANE_NEVER) {
			plane_depart_first(pl);
		} else if (own <= now_ns && own != PLANE_NEVER) {
			pl->now_ns = own > pl->now_ns ? own : pl->now_ns;
			pl->program->on_deadline(pl->state, pl->now_ns);
			plane_flush(pl);
		} else {
			return;
		}
	}
}

/* It is now_ns: all that is due by then happens. */
static inline void
plane_advance(struct plane *pl, uint64_t now_ns)
{
	if (plane_due_port(pl) <= now_ns || plane_due_program(pl) <= now_ns)
		plane_catch_up(pl, now_ns);
	if (now_ns > pl->now_ns)
		pl->now_ns = now_ns;
}

/* channels.stays and .staying: members' do. */
static inline bool
plane_stays(const void *plane, const union addr *at)
{
	const struct plane *pl = plane;

	return pl->program->is_member(pl->state, at, -1);
}

static inline uint32_t
plane_staying(const void *plane)
{
	const struct plane *pl = plane;

	return pl->program->member_count(pl->state);
}

/* Who may ask what: by its place. */
static inline void
plane_init_channels(struct plane *pl, const struct program_place *place)
{
	pl->rate_limit.by = place->hash_seed;
	pl->channels = channel_server_of(&place->hash_seed);
	if (pl->program->is_member != NULL) {
		pl->channels.stays = plane_stays;
		pl->channels.staying = plane_staying;
		pl->channels.ctx = pl;
	}
	pl->rules = (struct channel_server_rules){.key = place->key,
	    .commands = place->command_key,
	    .needs_cookie = place->needs_cookie};
	if (place->live || place->secret_known)
		key_set(&pl->rules.secret, place->secret,
		    sizeof(place->secret));
}

/*
 * Begin; cf, driver and ctx are borrowed and stay.  False without memory;
 * plane_free() in either case.
 */
static inline bool
plane_init(struct plane *pl, const struct plane_conf *cf,
    const struct plane_driver *driver, void *ctx)
{
	const struct program *pr = cf->program;

	*pl = (struct plane){ .cf = cf, .program = pr, .driver = driver,
	    .ctx = ctx, .ports_cf = cf->ports, .in = cf->impair,
	    .impaired = impair_any(&cf->impair), .port_due_ns = PLANE_NEVER,
	    .timed = pr->deadline_ns != NULL && (!pr->deadline_needs_tags ||
	    cf->place.tagged), .state = calloc(1, pr->state_bytes) };
	pl->ports_cf.by = cf->place.hash_seed;
	ports_settle(&pl->ports_cf);
	pl->ports = ports_over(&pl->ports_cf);
	pl->shaped = ports_shaped(&pl->ports_cf);
	pl->merges = pl->shaped && ports_merge(&pl->ports_cf);
	plane_init_channels(pl, &cf->place);
	outbox_init(&pl->out, plane_deliver, pl);
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

/* At the end: what is still in queues is counted. */
static inline void
plane_end(struct plane *pl)
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
	heap_free(pl->due);
	channel_server_free(&pl->channels);
}

#endif
