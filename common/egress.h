/*
 * egress.h - one output port: a queue, the link it feeds, and the account
 *
 * Olaf's queue or drop-tail, by one switch; all else is the same code.  The
 * driver (filter, live switch, simulator) brings arrivals and times, in order
 * of time, and takes departures:
 *
 *	while (egress_due(e) <= now)
 *		... egress_head(e) leaves ... egress_pop(e);
 *	egress_offer(e, &arrival, now);
 *
 * Departures come before arrivals of the same instant.  A pop may be later
 * than due (a live sender is never early): the link's schedule does not slip.
 * No clock is read and nothing is sent here.  A port that was initialised must
 * not be moved: its queue points into it.
 */
#ifndef INNET_EGRESS_H
#define INNET_EGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "common/active.h"
#include "common/fifo.h"
#include "common/judge.h"
#include "common/link.h"
#include "common/olafq.h"
#include "common/slots.h"
#include "common/tally.h"
#include "common/txctl.h"

enum egress_program { EGRESS_OLAF, EGRESS_FIFO };

#define EGRESS_NEVER UINT64_MAX

struct egress_conf {
	enum egress_program program;
	uint32_t slots;			/* Qmax, the one in transmission too */
	uint64_t rate_bps;		/* 0: no limit */
	uint32_t extra_bytes;		/* of each frame on the wire */
	enum olafq_combine combine;
	double threshold;		/* of rewards; NAN: off */
	uint64_t active_window_ns;
	uint32_t clusters;		/* ids are below; 0: any, 65,536 */
};

/*
 * How a cluster's vectors are cut; 0: not known yet.  Forgotten when nothing
 * came for EGRESS_FORGET_NS: another job may have taken the cluster.
 */
struct egress_shape {
	uint32_t elements, n, n_last;
	uint64_t seen_ns;
};

#define EGRESS_FORGET_NS 60000000000u	/* a minute */

struct egress {
	enum egress_program program;
	struct slots slots;
	struct egress_shape *shape;	/* the clusters' */
	uint64_t due_ns;		/* of the head; EGRESS_NEVER: empty */
	struct olafq olaf;
	struct link link;
	struct active active;
	struct tally tally;
	uint64_t regular;		/* regular frames queued and sent */
	uint64_t regular_dropped;
};

static inline void
egress_free(struct egress *e)
{
	olafq_free(&e->olaf);
	slots_free(&e->slots);
	active_free(&e->active);
	tally_free(&e->tally);
	free(e->shape);
}

/* False without memory; egress_free() in either case. */
static inline bool
egress_init(struct egress *e, const struct egress_conf *cf)
{
	const uint32_t clusters = cf->clusters == 0 ? 65536 : cf->clusters;
	bool have;

	*e = (struct egress){
		.program = cf->program,
		.link = { .rate_bps = cf->rate_bps,
		    .extra_bytes = cf->extra_bytes },
		.due_ns = EGRESS_NEVER,
		.shape = calloc(clusters, sizeof(*e->shape)),
	};
	have = slots_init(&e->slots, cf->slots);
	have = active_init(&e->active, cf->active_window_ns, clusters) &&
	    have;
	e->olaf = olafq_over(&e->slots, cf->combine, cf->threshold);
	return tally_init(&e->tally, clusters, cf->clusters == 0 ?
	    UINT16_MAX : 16) && have && e->shape != NULL;
}

/* When the frame in transmission will have left; EGRESS_NEVER without one. */
static inline uint64_t
egress_due(const struct egress *e)
{
	return e->due_ns;
}

/* Fetch into the cache what an update of this cluster will need soon. */
static inline void
egress_fetch(const struct egress *e, uint16_t cluster)
{
	const uint32_t *at;

	__builtin_prefetch(&e->shape[cluster]);
	__builtin_prefetch(&e->tally.cluster[cluster]);
	__builtin_prefetch(&e->active.node[cluster + 1]);
	at = keymap_get(&e->olaf.waiting, cluster);
	if (at != NULL)
		slots_fetch(&e->slots, *at);
	else
		slots_fetch(&e->slots, e->slots.head + e->slots.count);
}

/* The frame in transmission, or NULL. */
static inline struct slot *
egress_head(const struct egress *e)
{
	return slots_head(&e->slots);
}

/* The frame at the head goes into transmission. */
static inline void
egress_start(struct egress *e)
{
	struct slot *head = slots_head(&e->slots);

	e->due_ns = EGRESS_NEVER;
	if (head == NULL)
		return;
	olafq_lock(&e->olaf, head);
	e->due_ns = link_start(&e->link, head->opened_ns, head->wire_bytes);
}

/* The head has left the link: count it and start the next. */
static inline void
egress_pop(struct egress *e)
{
	const struct slot *head = slots_head(&e->slots);

	if (head->is_update) {
		tally_deliver(&e->tally, head->up.cluster, head->up.merged);
	} else {
		e->regular++;
	}
	slots_pop(&e->slots);
	egress_start(e);
}

/*
 * Is the update cut as its cluster's first ones were?  The cut becomes known
 * with the first packet that shows it.
 */
static inline bool
egress_shape_fits(struct egress_shape *s, const struct update *u,
    uint64_t now_ns)
{
	bool last = u->following == 0 && u->n < u->elements;

	if (last && u->n > u->elements - u->n)
		return false;	/* longer than all before it: of no cut */
	if (s->elements == 0 || now_ns - s->seen_ns >= EGRESS_FORGET_NS)
		*s = (struct egress_shape){ .elements = u->elements };
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

/* Enter a verdict into the account. */
static inline void
egress_count(struct egress *e, enum olafq_verdict v, const struct update *u,
    uint16_t lost)
{
	static const enum tally_what what[] = {
		[OLAFQ_AGGREGATED] = TALLY_AGGREGATED,
		[OLAFQ_REPLACED] = TALLY_REPLACED,
		[OLAFQ_REPLACED_REWARD] = TALLY_REPLACED_REWARD,
		[OLAFQ_SUPERSEDED] = TALLY_SUPERSEDED,
		[OLAFQ_DROPPED_REWARD] = TALLY_DROPPED_REWARD,
		[OLAFQ_DROPPED_LIMIT] = TALLY_DROPPED_LIMIT,
		[OLAFQ_DROPPED_FULL] = TALLY_DROPPED_FULL,
	};

	if (v != OLAFQ_APPENDED)
		tally_add(&e->tally, what[v], u->cluster, u->merged);
	if (lost > 0)
		tally_add(&e->tally, TALLY_SUPERSEDED, u->cluster, lost);
}

/*
 * An update (well-formed, finite) arrives at now_ns, no earlier than the last
 * arrival or departure.  False if it was mismatched and therefore ignored.
 */
static inline bool
egress_offer(struct egress *e, const struct arrival *a, uint64_t now_ns)
{
	enum olafq_verdict v;
	uint16_t lost = 0;
	bool idle = e->slots.count == 0;

	if (!egress_shape_fits(&e->shape[a->up.cluster], &a->up, now_ns)) {
		e->tally.ignored[JUDGE_MISMATCHED]++;
		return false;
	}
	tally_add(&e->tally, TALLY_ARRIVED, a->up.cluster, a->up.merged);
	active_see(&e->active, olafq_key(&a->up), now_ns);
	if (e->program == EGRESS_OLAF)
		v = olafq_offer(&e->olaf, a, now_ns, &lost);
	else
		v = fifo_offer(&e->slots, a, now_ns) ? OLAFQ_APPENDED :
		    OLAFQ_DROPPED_FULL;
	egress_count(e, v, &a->up, lost);
	if (idle && e->slots.count > 0)
		egress_start(e);
	return true;
}

/* A regular frame takes a slot, or is dropped, as in a drop-tail queue. */
static inline void
egress_offer_regular(struct egress *e, const struct arrival *a,
    uint64_t now_ns)
{
	bool idle = e->slots.count == 0;

	if (!fifo_offer(&e->slots, a, now_ns))
		e->regular_dropped++;
	else if (idle)
		egress_start(e);
}

/* The queue's status at now_ns, as a passing model is told. */
static inline struct update_status
egress_status(struct egress *e, uint64_t now_ns)
{
	uint32_t n = active_count(&e->active, now_ns);

	return (struct update_status){
		.occupancy = e->slots.count,
		.filled = true,
		.full = e->slots.count == e->slots.size,
		.active = (uint16_t)(n > UINT16_MAX ? UINT16_MAX : n),
		.capacity = (uint16_t)(e->slots.size > UINT16_MAX ?
		    UINT16_MAX : e->slots.size),
	};
}

/* At the end: count what is still in the queue. */
static inline void
egress_count_queued(struct egress *e)
{
	for (uint32_t i = 0; i < e->slots.count; i++) {
		const struct slot *s = &e->slots.ring[
		    (e->slots.head + i) % e->slots.size];

		if (s->is_update)
			tally_add(&e->tally, TALLY_QUEUED, s->up.cluster,
			    s->up.merged);
	}
}

/*
 * Forget the frame at the head, which there is, though it has not left: the
 * port itself has gone down.  It is the caller's to count.
 */
static inline void
egress_lose_head(struct egress *e, uint64_t now_ns)
{
	olafq_lock(&e->olaf, egress_head(e));
	slots_pop(&e->slots);
	e->due_ns = EGRESS_NEVER;
	e->link.free_ns = now_ns;
}

#endif
