/*
 * port.h - one egress port: a queue, its link, and its counters
 *
 * The queue is the Olaf queue or a drop-tail queue; all other code is shared.
 * In both cases frames that are not updates (results, regular traffic) are
 * queued as in a drop-tail queue.  The caller offers arrivals in order of time,
 * and processes departures as follows:
 *
 * 	while (port_deadline_ns(p) <= now)
 * 		... port_head(p) leaves ... port_pop(p);
 * 	port_offer(p, &arrival, now);
 *
 * If a departure and an arrival have the same time, the departure comes first.
 * The caller may pop a frame after its deadline, as a live sender does, but
 * this does not change the schedule of the link.  The port reads no clock and
 * sends nothing.  Its state for updates (merging, the shapes of clusters,
 * active clusters, the tally) is allocated at the first update.  An initialised
 * port must not be moved in memory, because its queue contains pointers into
 * it.
 */
#ifndef INNET_QUEUE_PORT_H
#define INNET_QUEUE_PORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "common/base/lru.h"
#include "common/base/prefetch.h"
#include "common/queue/destinations.h"
#include "common/queue/link.h"
#include "common/queue/olaf-queue.h"
#include "common/queue/slots.h"
#include "common/queue/tally.h"
#include "common/queue/txctl.h"

enum port_queue { PORT_FIFO, PORT_OLAF };

#define PORT_NEVER UINT64_MAX
#define PORT_FORGET_NS 60000000000u	/* a cluster's shape is forgotten if no
					 * update has arrived for this time: one
					 * minute */

enum { PORT_SHAPES_MOST = 65536 };	/* maximum number of shapes for
					 * destinations other than destination
					 * 0 */

struct port_conf {
	enum port_queue queue;
	uint32_t slots;		/* Qmax, the number of slots, including the slot
				 * of the frame that is being transmitted; 0: no
				 * limit */
	uint64_t rate_bps;	/* rate of the link; 0: no limit, so
				 * transmission takes no time */
	uint32_t extra_bytes;	/* number of bytes added to the length of each
				 * frame */
	uint64_t frame_ns;	/* time added to the transmission of each
				 * frame */
	uint64_t merge_ns;	/* time by which each merge in the Olaf queue
				 * delays the departure of the head */
	enum olaf_queue_combine combine;
	double threshold;	/* threshold for the rewards of updates; NAN:
				 * rewards are not compared */
	uint64_t active_window_ns;
	uint32_t clusters;	/* number of cluster ids; 0: 65,536 */
	bool silent;		/* do not write the queue status into models */
	struct hashmap_multiplier hash_seed;	/* seed of maps that untrusted
						 * hosts fill */
};

/* The kinds of frames, other than updates, that pass through a port. */
enum port_kind { PORT_REGULAR, PORT_PROGRAM, PORT_KINDS };

struct port_count {
	uint64_t sent, dropped, queued;
	uint64_t bytes;		/* total length of the frames that have left;
				 * for PORT_PROGRAM, updates are included */
};

/*
 * The shape of a cluster: the numbers of elements in its vectors and in its
 * packets.  A number is 0 if it is not known yet.  The shape is forgotten when
 * no update of the cluster has arrived for PORT_FORGET_NS, because another job
 * may use the cluster after that time.  Each destination has its own shapes.
 */
struct port_shape {
	uint32_t elements, n, n_last;	/* number of elements in a vector; in
					 * each packet except the last of a
					 * vector; in this last packet */
	uint64_t seen_ns;
};

/* The part of a port's state that concerns updates. */
struct port_updates {
	struct destinations destinations;
	struct port_shape *shape;	/* shape of each cluster for destination
					 * 0 */
	struct lru shapes;	/* shape of each cluster for other destinations;
				 * each row is a struct port_shape */
	struct olaf_queue olaf;
	struct active_clusters active;
	struct tally tally;
};

struct port {
	struct slots slots;
	uint64_t deadline_ns;	/* time when the frame at the head leaves;
				 * PORT_NEVER: the queue is empty */
	uint64_t put_off_ns;	/* time by which merges have delayed the
				 * deadline of the head */
	struct port_updates *updates;	/* owned; NULL: no update has arrived
					 * yet */
	struct link link;
	struct port_conf cf;
	struct port_count n[PORT_KINDS];
	uint32_t index;		/* number that the owner has assigned to this
				 * port */
};

/* The result of port_offer(). */
enum port_verdict {
	PORT_TAKEN,		/* the update was processed, and the tally
				 * records what happened to it */
	PORT_MISMATCHED,	/* the update was ignored, because it does not
				 * have the shape of its cluster */
	PORT_NO_MEMORY		/* the update was ignored, because there is no
				 * memory for the state of the port */
};

/*
 * Initialise p.  Returns false if there is no memory.  The caller must call
 * port_free() in either case.
 */
static inline bool port_init(struct port *p, const struct port_conf *cf);

/* Free the queue and the state that concerns updates. */
static inline void port_free(struct port *p);

/*
 * Offer a valid, finite update that arrives at now_ns, which must not be before
 * the last arrival or departure.
 */
static inline enum port_verdict port_offer(struct port *p,
    const struct arrival *a, uint64_t now_ns);

/*
 * Offer a frame that is not an update.  Returns false if the frame is dropped.
 */
static inline bool port_offer_plain(struct port *p, const struct arrival *a,
    uint64_t now_ns);

/*
 * Return the time when the frame that is being transmitted leaves, or
 * PORT_NEVER.
 */
static inline uint64_t port_deadline_ns(const struct port *p);

/* Return the frame that is being transmitted, or NULL. */
static inline struct slot *port_head(const struct port *p);

/*
 * Count and remove the frame at the head, which has left, and start the
 * transmission of the next frame.
 */
static inline void port_pop(struct port *p);

/*
 * Remove the frame at the head without sending it, because the port went down.
 * The caller must count the frame.
 */
static inline void port_drop_head(struct port *p, uint64_t now_ns);

/*
 * Write the header of the update in slot s into the bytes of the slot.  This is
 * necessary after a merge.
 */
static inline void port_update_header(struct slot *s);

/*
 * Return the status of the queue at now_ns, for a model that passes through the
 * switch.
 */
static inline struct update_status port_status(struct port *p, uint64_t now_ns);

/*
 * Return the number of the destination `to` of updates.  `tags` are the VLAN
 * tags of the frames (0: none).  Returns DESTINATIONS_NONE if there is no
 * memory.
 */
static inline uint32_t port_find_destination(struct port *p,
    const union addr *to, uint64_t tags);

/*
 * Record the shape of a cluster, which a model shows.  The model must have come
 * from the destination to which the updates of the cluster are sent through
 * this port.
 */
static inline void port_learn_shape(struct port *p, const struct update *model,
    uint32_t destination, uint64_t now_ns);

/* Prefetch the data that an update of this cluster will need soon. */
static inline void port_prefetch(const struct port *p, uint16_t cluster);

/*
 * Allocate the state that concerns updates, unless it exists already.  Returns
 * false if there is no memory.
 */
__attribute__((unused)) static bool port_allocate_updates(struct port *p);

/*
 * Return the maximum number of bytes that a port uses for updates to
 * destinations other than the first destination.
 */
static inline uint64_t port_destination_bytes(uint32_t clusters);

/*
 * Count what the queue did with update u.  `lost` is the number of constituents
 * that u removed from the queue.
 */
static inline void port_count_verdict(struct port *p, enum olaf_queue_verdict v,
    const struct update *u, uint16_t lost);

/* Count the frames that are still in the queue at the end of a run. */
static inline void port_count_queued(struct port *p);

/*
 * Forget which clusters were active at this port.  Returns false if there is no
 * memory.
 */
static inline bool port_forget_clusters(struct port *p);

/* implementation */

/* Free the state that concerns updates. */
static inline void
port_updates_free(struct port_updates *u)
{
	if (u == NULL)
		return;
	olaf_queue_free(&u->olaf);
	active_clusters_free(&u->active);
	tally_free(&u->tally);
	destinations_free(&u->destinations);
	lru_free(&u->shapes);
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

static inline bool
port_init(struct port *p, const struct port_conf *cf)
{
	*p = (struct port){ .cf = *cf, .deadline_ns = PORT_NEVER,
	    .link = { .rate_bps = cf->rate_bps,
	    .extra_bytes = cf->extra_bytes, .frame_ns = cf->frame_ns } };
	return slots_init(&p->slots, cf->slots);
}

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
	destinations_init(&u->destinations, &cf->hash_seed);
	u->shape = calloc(clusters, sizeof(*u->shape));
	u->shapes = lru_new(PORT_SHAPES_MOST, sizeof(struct port_shape),
	    &cf->hash_seed);
	have = active_clusters_init(&u->active, cf->active_window_ns, clusters,
	    &cf->hash_seed);
	have = olaf_queue_init(&u->olaf, &p->slots, cf->combine,
	    cf->threshold, clusters, &cf->hash_seed) && have;
	have = tally_init(&u->tally, clusters, cf->clusters == 0 ?
	    UINT16_MAX : 16) && have && u->shape != NULL;
	if (!have) {
		port_updates_free(u);
		return false;
	}
	p->updates = u;
	return true;
}

static inline uint64_t
port_destination_bytes(uint32_t clusters)
{
	return lru_most_bytes(PORT_SHAPES_MOST, sizeof(struct port_shape)) +
	    lru_most_bytes(DESTINATIONS_MOST, sizeof(struct destination)) +
	    active_clusters_other_bytes(clusters);
}

static inline uint64_t
port_deadline_ns(const struct port *p)
{
	return p->deadline_ns;
}

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

static inline struct slot *
port_head(const struct port *p)
{
	return slots_head(&p->slots);
}

/* If the queue is not empty, lock the head and start its transmission. */
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
 * Does update u have the shape s of its cluster?  If a number of s is not known
 * yet and u shows this number, store it in s.
 */
static inline bool
port_shape_fits(struct port_shape *s, const struct update *u, uint64_t now_ns)
{
	bool last = u->following == 0 && u->n < u->elements;

	if (last && u->n > u->elements - u->n)
		return false;	/* otherwise the last packet would be longer
				 * than the other packets */
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

static inline uint32_t
port_find_destination(struct port *p, const union addr *to, uint64_t tags)
{
	if (p->updates == NULL && !port_allocate_updates(p))
		return DESTINATIONS_NONE;
	return destinations_find(&p->updates->destinations, to, tags);
}

/*
 * Return the shape of a cluster for a destination, or NULL if there is no
 * memory.
 */
static inline struct port_shape *
port_find_shape(struct port_updates *u, uint16_t cluster, uint32_t destination)
{
	uint32_t at;

	if (destination == 0)
		return &u->shape[cluster];
	at = lru_find_or_add(
	    &u->shapes, (uint64_t)destination << 16 | cluster);
	return at == 0 ? NULL : lru_row(&u->shapes, at);
}

static inline void
port_learn_shape(struct port *p, const struct update *model,
    uint32_t destination, uint64_t now_ns)
{
	struct port_shape *s =
	    port_find_shape(p->updates, model->cluster, destination);

	if (s == NULL || port_shape_fits(s, model, now_ns))
		return;
	*s = (struct port_shape){ 0 };
	(void)port_shape_fits(s, model, now_ns);
}

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
 * If the queue has merged or replaced an update, delay the departure of the
 * head by the time that this operation takes, because hardware cannot read and
 * write its queue at the same time.
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

static inline enum port_verdict
port_offer(struct port *p, const struct arrival *a, uint64_t now_ns)
{
	enum olaf_queue_verdict v;
	struct port_updates *u;
	struct port_shape *shape;
	uint16_t lost = 0;
	bool idle = p->slots.count == 0;

	if (p->updates == NULL && !port_allocate_updates(p))
		return PORT_NO_MEMORY;
	u = p->updates;
	shape = port_find_shape(u, a->up->cluster, a->destination);
	if (shape == NULL)
		return PORT_NO_MEMORY;
	if (!port_shape_fits(shape, a->up, now_ns))
		return PORT_MISMATCHED;
	tally_add(&u->tally, TALLY_ARRIVED, a->up->cluster, a->up->merged);
	active_clusters_note(
	    &u->active, olaf_queue_key(a->up, a->destination), now_ns);
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

static inline void
port_update_header(struct slot *s)
{
	uint8_t *at = s->bytes + s->payload_at;

	if (s->bare)
		bytes_put_f32(at, s->up.reward);
	else
		update_put(at, &s->up);
}

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
	return active_clusters_init(a, window_ns, plain, &p->cf.hash_seed);
}

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
