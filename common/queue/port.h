/*
 * port.h - one egress port: a queue, the link it feeds, and its account
 *
 * Olaf's queue or drop-tail, by one switch; all else is the same code.  What
 * is no update (results, regular traffic) is queued as drop-tail does, in
 * either.  Arrivals come in order of time, and departures are taken:
 *
 *	while (port_deadline_ns(p) <= now)
 *		... port_head(p) leaves ... port_pop(p);
 *	port_offer(p, &arrival, now);
 *
 * Departures come before arrivals of the same instant.  A pop may be later
 * than due (a live sender is never early): the link's schedule does not slip.
 * No clock is read and nothing is sent here.  What is kept of updates (merging,
 * the cuts of clusters, active clusters, the tally) is there from the first one
 * on.  A port that was initialised must not be moved: its queue points into
 * it.
 */
#ifndef INNET_QUEUE_PORT_H
#define INNET_QUEUE_PORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "common/base/prefetch.h"
#include "common/queue/link.h"
#include "common/queue/olaf-queue.h"
#include "common/queue/slots.h"
#include "common/queue/tally.h"
#include "common/queue/txctl.h"

enum port_queue { PORT_FIFO, PORT_OLAF };

#define PORT_NEVER UINT64_MAX
#define PORT_FORGET_NS 60000000000u	/* a cluster's cut: a minute */

struct port_conf {
	enum port_queue queue;
	uint32_t slots;		/* Qmax, the one in transmission too; 0: any */
	uint64_t rate_bps;	/* 0: frames take no time */
	uint32_t extra_bytes;	/* of each frame on the wire */
	uint64_t frame_ns;	/* ... and time beyond its bits */
	uint64_t merge_ns;	/* of Olaf's queue, for each merge */
	enum olaf_queue_combine combine;
	double threshold;	/* of rewards; NAN: off */
	uint64_t active_window_ns;
	uint32_t clusters;	/* ids are below; 0: any, 65,536 */
	bool silent;		/* models are told nothing of it */
};

/* What passed a port and is no update. */
enum port_kind { PORT_REGULAR, PORT_PROGRAM, PORT_KINDS };

struct port_count_verdict {
	uint64_t sent, dropped, queued;
	uint64_t bytes;		/* of frames that left; PORT_PROGRAM: updates,
				 * too */
};

/*
 * How a cluster's vectors are cut; 0: not known yet.  Forgotten when nothing
 * came for PORT_FORGET_NS: another job may have taken the cluster.
 */
struct port_shape {
	uint32_t elements, n, n_last;
	uint64_t seen_ns;
};

/* What a port has of updates. */
struct port_updates {
	struct port_shape *shape;	/* of each cluster */
	struct olaf_queue olaf;
	struct active_clusters active;
	struct tally tally;
};

struct port {
	struct slots slots;
	uint64_t deadline_ns;	/* of the head; PORT_NEVER: empty */
	uint64_t put_off_ns;	/* ... of that, by merges */
	struct port_updates *updates;	/* NULL: none has come */
	struct link link;
	struct port_conf cf;
	struct port_count_verdict n[PORT_KINDS];
	uint32_t index;		/* the owner's number of it */
};

static inline void
port_updates_free(struct port_updates *u)
{
	if (u == NULL)
		return;
	olaf_queue_free(&u->olaf);
	active_clusters_free(&u->active);
	tally_free(&u->tally);
	free(u->shape);
	free(u);
}

static inline void
port_free(struct port *p)
{
	slots_free(&p->slots);
	port_updates_free(p->updates);
	p->updates = NULL;
}

/* False without memory; port_free() in either case. */
static inline bool
port_init(struct port *p, const struct port_conf *cf)
{
	*p = (struct port){ .cf = *cf, .deadline_ns = PORT_NEVER,
	    .link = { .rate_bps = cf->rate_bps,
	    .extra_bytes = cf->extra_bytes, .frame_ns = cf->frame_ns } };
	return slots_init(&p->slots, cf->slots);
}

/* Make ready for updates; false without memory.  Once is enough. */
__attribute__((noinline, unused)) static bool
port_allocate_updates(struct port *p)
{
	const struct port_conf *cf = &p->cf;
	const uint32_t clusters = cf->clusters == 0 ? 65536 : cf->clusters;
	struct port_updates *u = p->updates;
	bool have;

	if (u != NULL)
		return true;
	u = calloc(1, sizeof(*u));
	if (u == NULL)
		return false;
	u->shape = calloc(clusters, sizeof(*u->shape));
	have = active_clusters_init(&u->active, cf->active_window_ns, clusters);
	have = olaf_queue_init(&u->olaf, &p->slots, cf->combine,
	    cf->threshold, clusters) && have;
	have = tally_init(&u->tally, clusters, cf->clusters == 0 ?
	    UINT16_MAX : 16) && have && u->shape != NULL;
	if (!have) {
		port_updates_free(u);
		return false;
	}
	p->updates = u;
	return true;
}

/* When the frame in transmission will have left; PORT_NEVER without one. */
static inline uint64_t
port_deadline_ns(const struct port *p)
{
	return p->deadline_ns;
}

/* Fetch into the cache what an update of this cluster will need soon. */
static inline void
port_prefetch(const struct port *p, uint16_t cluster)
{
	const struct port_updates *u = p->updates;
	uint32_t at;

	if (u == NULL)
		return;
	prefetch_line(&u->shape[cluster]);
	prefetch_line(&u->tally.cluster[cluster]);
	prefetch_line(&u->active.node[cluster + 1]);
	at = olaf_queue_find(&u->olaf, cluster);
	if (at != OLAF_QUEUE_NONE)
		slots_prefetch(&p->slots, at);
	else
		slots_prefetch(&p->slots, p->slots.head + p->slots.count);
}

/* The frame in transmission, or NULL. */
static inline struct slot *
port_head(const struct port *p)
{
	return slots_head(&p->slots);
}

/* The frame at the head goes into transmission: it is locked. */
static inline void
port_start_head(struct port *p)
{
	struct slot *head = slots_head(&p->slots);

	p->deadline_ns = PORT_NEVER;
	p->put_off_ns = 0;
	if (head == NULL)
		return;
	if (head->is_update)
		olaf_queue_lock(&p->updates->olaf, head);
	p->deadline_ns =
	    link_start_frame(&p->link, head->opened_ns, head->wire_bytes);
}

/* The head has left the link: count it and start the next. */
static inline void
port_pop(struct port *p)
{
	const struct slot *head = slots_head(&p->slots);

	p->n[head->framed && !head->is_update ? PORT_REGULAR :
	    PORT_PROGRAM].bytes += head->wire_bytes;
	if (head->is_update)
		tally_count_delivery(&p->updates->tally, head->up.cluster,
		    head->up.merged);
	else
		p->n[head->framed ? PORT_REGULAR : PORT_PROGRAM].sent++;
	slots_pop(&p->slots);
	port_start_head(p);
}

/*
 * Is the update cut as its cluster's first ones were?  The cut becomes known
 * with the first packet that shows it.
 */
static inline bool
port_shape_fits(struct port_shape *s, const struct update *u, uint64_t now_ns)
{
	bool last = u->following == 0 && u->n < u->elements;

	if (last && u->n > u->elements - u->n)
		return false;	/* longer than all before it: of no cut */
	if (s->elements == 0 || now_ns - s->seen_ns >= PORT_FORGET_NS)
		*s = (struct port_shape){ .elements = u->elements };
	if (s->elements != u->elements)
		return false;
	s->seen_ns = now_ns;
	if (last) {
		if (s->n != 0 && (u->n > s->n || u->first % s->n != 0))
			return false;
		if (s->n_last == 0)
			s->n_last = u->n;
		return s->n_last == u->n;
	}
	if (s->n == 0 && s->n_last != 0 && (s->n_last > u->n ||
	    (s->elements - s->n_last) % u->n != 0))
		return false;
	if (s->n == 0)
		s->n = u->n;
	return s->n == u->n;
}

/*
 * A model has come down from where the port leads: its cluster is cut as it is,
 * whatever was seen before.
 */
static inline void
port_learn_shape(struct port *p, const struct update *model, uint64_t now_ns)
{
	struct port_shape *s = &p->updates->shape[model->cluster];

	if (port_shape_fits(s, model, now_ns))
		return;
	*s = (struct port_shape){ 0 };
	(void)port_shape_fits(s, model, now_ns);
}

/* Enter a verdict into the account. */
static inline void
port_count_verdict(struct port *p, enum olaf_queue_verdict v,
    const struct update *u, uint16_t lost)
{
	static const enum tally_event what[] = {
		[OLAF_QUEUE_AGGREGATED] = TALLY_AGGREGATED,
		[OLAF_QUEUE_REPLACED] = TALLY_REPLACED,
		[OLAF_QUEUE_REPLACED_REWARD] = TALLY_REPLACED_REWARD,
		[OLAF_QUEUE_SUPERSEDED] = TALLY_SUPERSEDED,
		[OLAF_QUEUE_DROPPED_REWARD] = TALLY_DROPPED_REWARD,
		[OLAF_QUEUE_DROPPED_LIMIT] = TALLY_DROPPED_LIMIT,
		[OLAF_QUEUE_DROPPED_FULL] = TALLY_DROPPED_FULL,
	};
	struct tally *t = &p->updates->tally;

	if (v != OLAF_QUEUE_APPENDED)
		tally_add(t, what[v], u->cluster, u->merged);
	if (lost > 0)
		tally_add(t, TALLY_SUPERSEDED, u->cluster, lost);
}

/*
 * A queue in hardware is read and written by turns: a merge, or replacement,
 * that takes time puts off the departure of the frame in transmission.
 */
static inline void
port_add_merge_time(struct port *p, enum olaf_queue_verdict v)
{
	if (p->cf.merge_ns == 0 || (v != OLAF_QUEUE_AGGREGATED &&
	    v != OLAF_QUEUE_REPLACED && v != OLAF_QUEUE_REPLACED_REWARD))
		return;
	p->deadline_ns = link_delay(&p->link, p->cf.merge_ns);
	p->put_off_ns += p->cf.merge_ns;
}

/* What became of an arrival. */
enum port_verdict {
	PORT_TAKEN,		/* the account says how */
	/* an update cut unlike its cluster's: ignored */
	PORT_MISMATCHED,
	PORT_NO_MEMORY		/* for what a port has of updates: ignored */
};

/*
 * An update (well-formed, finite) arrives at now_ns, no earlier than the last
 * arrival or departure.
 */
static inline enum port_verdict
port_offer(struct port *p, const struct arrival *a, uint64_t now_ns)
{
	enum olaf_queue_verdict v;
	struct port_updates *u;
	uint16_t lost = 0;
	bool idle = p->slots.count == 0;

	if (p->updates == NULL && !port_allocate_updates(p))
		return PORT_NO_MEMORY;
	u = p->updates;
	if (!port_shape_fits(&u->shape[a->up->cluster], a->up, now_ns))
		return PORT_MISMATCHED;
	tally_add(&u->tally, TALLY_ARRIVED, a->up->cluster, a->up->merged);
	active_clusters_note(&u->active, olaf_queue_key(a->up), now_ns);
	if (p->cf.queue == PORT_OLAF)
		v = olaf_queue_offer(&u->olaf, a, now_ns, &lost);
	else
		v = fifo_offer(&p->slots, a, now_ns) ? OLAF_QUEUE_APPENDED :
		    OLAF_QUEUE_DROPPED_FULL;
	port_count_verdict(p, v, a->up, lost);
	port_add_merge_time(p, v);
	if (idle && p->slots.count > 0)
		port_start_head(p);
	return PORT_TAKEN;
}

/*
 * What is no update takes a slot, or is dropped, as in a drop-tail queue;
 * false if it is dropped.
 */
static inline bool
port_offer_plain(struct port *p, const struct arrival *a, uint64_t now_ns)
{
	bool idle = p->slots.count == 0;

	if (!fifo_offer(&p->slots, a, now_ns)) {
		p->n[a->framed ? PORT_REGULAR : PORT_PROGRAM].dropped++;
		return false;
	}
	if (idle)
		port_start_head(p);
	return true;
}

/* Write into the bytes of s, an update, what merging changed. */
static inline void
port_update_header(struct slot *s)
{
	uint8_t *at = s->bytes + s->payload_at;

	if (s->bare)
		bytes_put_f32(at, s->up.reward);
	else
		update_put(at, &s->up);
}

/* The queue's status at now_ns, as a passing model is told. */
static inline struct update_status
port_status(struct port *p, uint64_t now_ns)
{
	const uint32_t n = p->updates == NULL ? 0 :
	    active_clusters_count(&p->updates->active, now_ns);

	return (struct update_status){
		.occupancy = p->slots.count,
		.filled = true,
		.full = p->slots.count == p->slots.size && !p->slots.endless,
		.active = (uint16_t)(n > UINT16_MAX ? UINT16_MAX : n),
		.capacity = (uint16_t)(p->slots.size > UINT16_MAX ||
		    p->slots.endless ? UINT16_MAX : p->slots.size),
	};
}

/* At the end: count what is still in the queue. */
static inline void
port_count_queued(struct port *p)
{
	for (uint32_t i = 0; i < p->slots.count; i++) {
		const struct slot *s = &p->slots.ring[
		    (p->slots.head + i) % p->slots.size];

		if (s->is_update)
			tally_add(&p->updates->tally, TALLY_QUEUED,
			    s->up.cluster, s->up.merged);
		else
			p->n[s->framed ? PORT_REGULAR : PORT_PROGRAM].queued++;
	}
}

/* The clusters that were seen here are forgotten; false without memory. */
static inline bool
port_forget_clusters(struct port *p)
{
	struct active_clusters *a = p->updates == NULL ? NULL :
	    &p->updates->active;
	uint64_t window_ns;
	uint32_t plain;

	if (a == NULL)
		return true;
	window_ns = a->window_ns;
	plain = a->plain;
	active_clusters_free(a);
	return active_clusters_init(a, window_ns, plain);
}

/*
 * Forget the frame at the head, which there is, though it has not left: the
 * port itself has gone down.  It is the caller's to count.
 */
static inline void
port_drop_head(struct port *p, uint64_t now_ns)
{
	if (port_head(p)->is_update)
		olaf_queue_lock(&p->updates->olaf, port_head(p));
	slots_pop(&p->slots);
	p->deadline_ns = PORT_NEVER;
	p->link.free_ns = now_ns;
}

#endif
