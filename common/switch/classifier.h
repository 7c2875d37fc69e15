/*
 * classifier.h - what comes to a switch, and which program it is for
 *
 * A packet is the program's own business, or another run's, or between others,
 * or regular traffic; it is counted as one of them.  What is for the program
 * must be sound.
 */
#ifndef INNET_SWITCH_CLASSIFIER_H
#define INNET_SWITCH_CLASSIFIER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/switch/control.h"

/* Is a packet to the switch's own address? */
static inline bool
plane_is_to(const struct plane *pl, const struct packet *p)
{
	const union addr *own = &pl->cf->place.address;

	return own->sa.sa_family != 0 && p->to != NULL &&
	    addr_same(p->to, own);
}

/*
 * Behind any program Olaf's queue takes the updates that pass.  False: it is
 * no update, or there is no such queue on its way, or those there are proved:
 * with what has no proof they do not mix.
 */
static inline bool
plane_passing_update(struct plane *pl, struct packet *p)
{
	struct port *port;
	struct update u;

	if (!pl->merges || (p->tos & 0xfc) != UPDATE_TOS || p->frame == NULL ||
	    (pl->program->retag_update != NULL && pl->cf->place.tagged))
		return false;
	port = plane_towards(pl, p->to);
	if (port == NULL || port->link.rate_bps == 0 ||
	    port->cf.queue != PORT_OLAF || soundness_summed(p->is, p->sums,
	    p->data, p->frame) != UPDATE_OK || update_parse(p->payload,
	    p->bytes, &u) != UPDATE_OK || u.kind != UPDATE_UPDATE)
		return false;
	pl->n[PLANE_TAKEN]++;
	plane_enqueue_update(pl, PACKET_WAY_OWN, p->to, p, &u, pl->now_ns);
	return true;
}

/* A regular frame waits for its port, or passes beside the queue. */
static inline void
plane_regular(struct plane *pl, struct packet *p)
{
	const bool waits = pl->cf->regular_queued && pl->shaped;
	struct port *port;
	struct arrival a;

	if (plane_passing_update(pl, p))
		return;
	pl->n[PLANE_REGULAR]++;
	port = waits ? plane_towards(pl, p->to) : NULL;
	if (waits && port == NULL) {
		pl->n[PLANE_NO_PORT]++;
		return;
	}
	if (port == NULL || port->link.rate_bps == 0) {
		plane_forward_packet(pl, p, pl->now_ns);
		return;
	}
	plane_whole(pl, p);
	a = (struct arrival){ .bytes = p->data, .have = p->have,
	    .len = p->len, .framed = true, .wire_bytes = p->wire_bytes };
	plane_queue(pl, port, &a);
}

/* Does --allow shut out who sent it?  Apart, as it is seldom given. */
__attribute__((noinline, unused)) static bool
plane_shuts_out(const struct plane *pl, const struct packet *p)
{
	return p->from == NULL || !networks_allow(&pl->cf->allow, p->from);
}

/* A packet that the program claims. */
static inline void
plane_claimed(struct plane *pl, struct packet *p)
{
	const unsigned verdict = p->frame == NULL ? UPDATE_OK :
	    soundness_summed(p->is, p->sums, p->data, p->frame);

	if (pl->cf->allow.n > 0 && plane_shuts_out(pl, p)) {
		pl->n[PLANE_NOT_ALLOWED]++;
		return;
	}
	pl->n[PLANE_TAKEN]++;
	if (verdict != UPDATE_OK) {
		plane_count_ignored(pl, verdict);
		return;
	}
	if ((p->tos & 0xfc) == CONTROL_TOS && p->way == PACKET_WAY_OWN)
		plane_control(pl, p, pl->now_ns);
	else
		pl->program->receive(pl->state, p, pl->now_ns);
}

/* The same in the path, where what is not sound goes on as it came. */
static inline void
plane_claimed_in_path(struct plane *pl, struct packet *p)
{
	const uint64_t ignored = pl->n[PLANE_IGNORED];

	plane_claimed(pl, p);
	if (pl->cf->place.in_path && pl->n[PLANE_IGNORED] != ignored)
		plane_forward_packet(pl, p, pl->now_ns);
}

/* How often impairment lets a packet in; what it holds back comes at once. */
static inline int
plane_copies(struct plane *pl)
{
	uint64_t at[2];
	int n;

	if (!pl->impaired)
		return 1;
	n = impair_plan(&pl->in, 0, at);
	pl->n[n == 0 ? PLANE_IN_LOST : PLANE_IN_DUPLICATED] += n != 1;
	return n;
}

/*
 * A packet comes now: the driver has called plane_advance().  What the program
 * decided is forwarded at once where it may have to wait; otherwise when the
 * driver calls plane_flush(), at the latest before the bytes of the packet
 * change.
 */
static inline void
plane_take(struct plane *pl, struct packet *p)
{
	pl->n[PLANE_PACKETS]++;
	if ((p->tos & 0xfc) == CONTROL_TOS && plane_is_to(pl, p)) {
		plane_claimed(pl, p);
	} else {
		switch (pl->program->classify(pl->state, p)) {
		case PACKET_FOR_PROGRAM: plane_claimed_in_path(pl, p); break;
		case PACKET_FROM_PROGRAM: pl->n[PLANE_OWN]++; break;
		case PACKET_REGULAR: plane_regular(pl, p); break;
		case PACKET_BETWEEN_OTHERS:
			pl->n[PLANE_PASSED]++;
			plane_forward_packet(pl, p, pl->now_ns);
			break;
		}
	}
	if (pl->shaped)
		plane_flush(pl);
}

/* The same behind a bad network on the way in. */
static inline void
plane_take_impaired(struct plane *pl, struct packet *p)
{
	for (int n = plane_copies(pl); n > 0; n--)
		plane_take(pl, p);
}

#endif
