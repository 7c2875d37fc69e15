/*
 * trace.h - the driver of traces: captures in, a capture out
 *
 * trace_run() does it all; several planes that feed each other in one time
 * (innet-sim) are run step by step: trace_open(), trace_next_ns(),
 * trace_advance(), trace_feed() or trace_frame(), trace_close().
 *
 * The stamps of the captures are the clock, whatever the program.  What leaves
 * a port is stamped with the time at which its last bit has left the link, and
 * the propagation after that; what passes beside the queues keeps its stamp.
 * With the departures of another run each frame leaves when it did there.
 * For tools: warns, and exits 1 without memory.
 */
#ifndef INNET_PLANE_TRACE_H
#define INNET_PLANE_TRACE_H

#include <err.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/timed-queue.h"
#include "common/capture/merged.h"
#include "common/plane/classifier.h"
#include "common/traffic/impair.h"
#include "common/wire/flow.h"

enum { TRACE_FRAME_BYTES = FRAME_ETH_BYTES + PCAPIO_FRAME_MAX_BYTES };

struct trace_conf {
	struct merged_conf feed;
	uint64_t propagation_ns;	/* of every port's link */
	struct impair impair;		/* likewise */
	struct pcapio_in *departures;	/* NULL: links decide */
	/* Told of what arrives behind the links; or NULL. */
	void (*carry)(void *ctx, uint64_t at_ns, const uint8_t *p,
	    uint32_t have, uint32_t len);
	void *carry_ctx;
	struct pcapio_out *came;	/* what comes goes there, too; NULL */
};

/* A frame that has left and is still under way. */
struct trace_flight {
	uint32_t have, len;
	uint8_t bytes[];
};

/* The next frame that left a queue in another run. */
struct trace_departure {
	uint64_t at_ns;			/* PLANE_NEVER: there is none */
	struct port *port;
	bool is_update;
	struct update up;
	uint32_t bytes;			/* of the payload */
};

struct trace {
	const struct trace_conf *cf;
	struct plane *pl;
	struct merged feed;
	struct pcapio_out *out;		/* NULL: nowhere */
	struct impair impair;
	bool holds;			/* links delay frames, or impair them */
	struct timed_queue flights;
	struct trace_departure next;
	uint8_t *edit;			/* a frame that is changed; and one of
					 * our own */
	uint64_t departures_differ;
	uint64_t no_ethernet;		/* regular frames without a type: not
					 * written */
	uint64_t stamp_ns;		/* of the packet that is being taken */
	int status;
};

static inline void
trace_write(struct trace *t, uint64_t at_ns, const void *p, uint32_t have,
    uint32_t len)
{
	if (t->cf->carry != NULL)
		t->cf->carry(t->cf->carry_ctx, at_ns, p, have, len);
	if (t->out != NULL)
		pcapio_write(t->out, at_ns, p, have, len);
}

/* Hold a frame until at_ns. */
static inline void
trace_hold(struct trace *t, uint64_t at_ns, const void *p, uint32_t have,
    uint32_t len)
{
	struct trace_flight *f = malloc(sizeof(*f) + have);

	if (f == NULL)
		err(1, "frames in propagation");
	*f = (struct trace_flight){ have, len };
	if (have > 0)
		memcpy(f->bytes, p, have);
	if (!timed_queue_push(&t->flights, at_ns, f))
		err(1, "frames in propagation");
}

/* A frame has left for a link that delays or impairs it. */
static inline void
trace_put_held(struct trace *t, uint64_t left_ns, const void *p, uint32_t have,
    uint32_t len)
{
	const uint64_t due = left_ns + t->cf->propagation_ns;
	uint64_t at[2] = { due, due };
	const int copies = impair_any(&t->impair) ? impair_plan(&t->impair,
	    due, at) : 1;

	for (int i = 0; i < copies; i++) {
		if (at[i] > left_ns)
			trace_hold(t, at[i], p, have, len);
		else
			trace_write(t, at[i], p, have, len);
	}
}

/* A frame has left its port at left_ns. */
static inline void
trace_put(struct trace *t, uint64_t left_ns, const void *p, uint32_t have,
    uint32_t len)
{
	if (t->holds)
		trace_put_held(t, left_ns, p, have, len);
	else
		trace_write(t, left_ns, p, have, len);
}

/* Write what is under way and has arrived by now_ns. */
static inline void
trace_release(struct trace *t, uint64_t now_ns)
{
	while (t->flights.count > 0 && timed_queue_due(&t->flights) <= now_ns) {
		const uint64_t at = timed_queue_due(&t->flights);
		struct trace_flight *f = timed_queue_pop(&t->flights);

		trace_write(t, at, f->bytes, f->have, f->len);
		free(f);
	}
}

/* A datagram leaves under headers of our making. */
static inline void
trace_datagram(struct trace *t, uint64_t left_ns, const union addr *from,
    const union addr *to, uint8_t tos, const uint8_t *p, uint32_t bytes)
{
	const struct frame_flow flow = flow_between(from, to);
	struct frame fr;
	uint32_t head;
	uint8_t *q;

	if (t->out == NULL && t->cf->carry == NULL)
		return;
	q = t->out == NULL ? t->edit + TRACE_FRAME_BYTES :
	    pcapio_room(t->out);	/* given up if it is not written now */
	head = (uint32_t)frame_put(q, &flow, tos, bytes, &fr);
	memcpy(q + head, p, bytes);
	frame_seal(q, &fr);
	if (t->holds || t->cf->carry != NULL)
		trace_put(t, left_ns, q, head + bytes, head + bytes);
	else
		pcapio_commit(t->out, left_ns, head + bytes, head + bytes);
}

/* The address that a way of the switch has in the trace. */
static inline union addr
trace_way(const struct trace *t, uint32_t way)
{
	const struct plane *pl = t->pl;
	union addr a = pl->cf->place.address;

	if (way != PACKET_WAY_OWN && pl->program->address != NULL)
		pl->program->address(pl->state, way, &a);
	return a;
}

/* plane_driver.send */
static inline void
trace_send(void *ctx, uint32_t way, const union addr *from,
    const union addr *to, const struct post *p, uint64_t now_ns)
{
	struct trace *t = ctx;
	const union addr own = from != NULL ? *from : trace_way(t, way);

	for (uint32_t k = 0; k < p->count; k++)
		trace_datagram(t, now_ns, &own, to, p->tos, p->p + (size_t)k *
		    p->bytes, k + 1 < p->count ? p->bytes : p->last_bytes);
}

/* plane_driver.leave */
static inline void
trace_leave(void *ctx, struct port *port, struct slot *s, uint64_t when_ns)
{
	struct trace *t = ctx;
	struct frame fr;
	union addr own;

	(void)port;
	if (s->changed)
		port_freshen(s);
	if (!s->framed) {
		own = s->to.from.sa.sa_family != 0 ? s->to.from :
		    trace_way(t, s->to.way);
		trace_datagram(t, when_ns, &own, &s->to.to, s->to.tos,
		    s->bytes, s->have);
		return;
	}
	if (s->changed && frame_parse(FRAME_ETHERNET, s->bytes, s->have,
	    s->have, &fr) == FRAME_UDP)
		frame_seal(s->bytes, &fr);
	trace_put(t, when_ns, s->bytes, s->have, s->is_update ? s->have :
	    s->len);
}

/* plane_driver.pass */
static inline void
trace_pass(void *ctx, struct packet *p, uint64_t now_ns)
{
	struct trace *t = ctx;

	(void)now_ns;
	if (p->changed)
		frame_seal(p->data, p->frame);
	trace_write(t, t->stamp_ns, p->data, p->have, p->len);
}

/* plane_driver.edit */
static inline void
trace_edit(void *ctx, struct packet *p)
{
	struct trace *t = ctx;
	const size_t at = (size_t)(p->payload - p->data);

	if (p->data == t->edit)
		return;
	memcpy(t->edit, p->data, p->have);
	p->data = t->edit;
	p->payload = p->data + at;
}

static const struct plane_driver trace_driver = {
	.send = trace_send, .leave = trace_leave, .pass = trace_pass,
	.edit = trace_edit
};

/* A packet of a capture, and all that the plane is told of it. */
struct trace_in {
	struct packet p;
	struct frame frame;
	union addr from, to;
};

/* Read the packet of i into *in; false if it has no form as Ethernet. */
static inline bool
trace_read(const struct trace *t, struct merged *feed,
    const struct merged_input *i, struct trace_in *in)
{
	struct frame *fr = &in->frame;
	const enum frame_is is = frame_parse(i->in->link, i->p.data,
	    i->p.caplen, i->p.len, fr);
	const bool whole = is == FRAME_UDP || is == FRAME_OTHER;
	/* a datagram whose ports are not there is for whom its host is */
	const uint16_t none = whole ? 0 : addr_port(&t->pl->cf->place.address);
	uint32_t have, len;
	uint8_t *data;

	data = (uint8_t *)(uintptr_t)merged_ethernet(feed, i, fr, &have, &len);
	if (data == NULL)
		return false;
	flow_addr(&in->from, fr->flow.src, fr->flow.sport != 0 ?
	    fr->flow.sport : none, fr->flow.v6);
	flow_addr(&in->to, fr->flow.dst, fr->flow.dport != 0 ?
	    fr->flow.dport : none, fr->flow.v6);
	/* every field: else compilers clear the whole of it first */
	in->p = (struct packet){ .from = &in->from, .to = &in->to,
	    .way = PACKET_WAY_OWN, .tos = is == FRAME_OTHER ? 0 : fr->tos,
	    .payload = data + fr->payload_at, .bytes = fr->payload_bytes,
	    .wire_bytes = i->p.len, .update = NULL, .frame = fr, .is = is,
	    .data = data, .have = have, .len = len, .changed = false,
	    .bare = false, .cluster = 0 };
	return true;
}

/* Did the packet p of another run leave a queue?  Then it is the next. */
static inline bool
trace_is_departure(struct trace *t, struct packet *p)
{
	struct plane *pl = t->pl;
	struct trace_departure *d = &t->next;

	if (p->is != FRAME_UDP)
		return false;
	d->bytes = p->bytes;
	d->is_update = (p->tos & 0xfc) == UPDATE_TOS;
	if (d->is_update && (update_parse(p->payload, p->bytes, &d->up) !=
	    UPDATE_OK || d->up.kind != UPDATE_UPDATE))
		return false;
	if (!d->is_update && pl->program->claim(pl->state, p) !=
	    PROGRAM_OWN)
		return false;
	d->port = plane_towards(pl, p->to);
	return d->is_update || (d->port != NULL && d->port->link.rate_bps >
	    0);
}

/* Read on in the capture of departures: false at its end. */
static inline bool
trace_read_departure(struct trace *t, struct trace_in *to)
{
	struct merged one = { .frame = NULL };
	struct merged_input i = { .in = t->cf->departures };
	int got = pcapio_next(i.in, &i.p);

	if (got == -1)
		t->status = pcapio_warn_damage(i.in);
	if (got != 1)
		return false;
	if (i.in->link != FRAME_ETHERNET) {
		one.frame = malloc(TRACE_FRAME_BYTES);
		if (one.frame == NULL)
			err(1, "captures");
	}
	if (!trace_read(t, &one, &i, to))
		to->p = (struct packet){ .is = FRAME_OTHER,
		    .data = one.frame };
	t->next.at_ns = i.p.stamp_ns;
	return true;
}

/* The next departure of the other run that has to happen here. */
static inline void
trace_next_departure(struct trace *t)
{
	struct trace_in in;

	while (trace_read_departure(t, &in)) {
		const bool is = trace_is_departure(t, &in.p);

		if (t->cf->departures->link != FRAME_ETHERNET)
			free(in.p.data);
		if (is)
			return;
	}
	t->next.at_ns = PLANE_NEVER;
}

/* Is the frame at the head what left in the other run? */
static inline bool
trace_agrees(const struct trace_departure *d, const struct slot *s)
{
	const struct update *u = &d->up;

	if (s == NULL || s->is_update != d->is_update)
		return false;
	if (!s->is_update)
		return s->have == d->bytes;
	return s->up.cluster == u->cluster && s->up.worker == u->worker &&
	    s->up.sequence == u->sequence && s->up.merged == u->merged;
}

/* The departures of another run, up to now_ns, happen here as well. */
static inline void
trace_depart(struct trace *t, uint64_t now_ns)
{
	for (; t->next.at_ns <= now_ns && t->next.at_ns != PLANE_NEVER;
	    trace_next_departure(t)) {
		struct trace_departure *d = &t->next;

		plane_advance(t->pl, d->at_ns);
		if (d->is_update && d->port != NULL &&
		    d->port->updates == NULL)	/* it was addressed anew */
			d->port = plane_updated(t->pl);
		if (!trace_agrees(d, d->port == NULL ? NULL :
		    port_head(d->port)) && t->departures_differ++ == 0 &&
		    !t->cf->feed.quiet)
			warnx("%s: packet %" PRIu64 ": not what would leave "
			    "here; is it from the same run, with the same "
			    "slots?", t->cf->departures->path,
			    t->cf->departures->packets);
		if (d->port != NULL && port_head(d->port) != NULL)
			plane_depart(t->pl, d->port, d->at_ns);
	}
}

/* It is now_ns. */
static inline void
trace_advance(struct trace *t, uint64_t now_ns)
{
	if (t->cf->departures != NULL)
		trace_depart(t, now_ns);
	plane_advance(t->pl, now_ns);
	if (t->flights.count > 0)
		trace_release(t, t->pl->now_ns);
}

/* What is still in queues leaves, but no time-out fires any more. */
static inline void
trace_drain(struct trace *t)
{
	if (t->cf->departures != NULL)
		trace_depart(t, PLANE_NEVER - 1);
	while (plane_first(t->pl) != NULL)
		plane_depart_first(t->pl);
}

/* One packet, at i->now_ns, which is now. */
static inline void
trace_feed(struct trace *t, const struct merged_input *i)
{
	struct trace_in in;

	if (!trace_read(t, &t->feed, i, &in)) {
		t->pl->n[PLANE_PACKETS]++;
		t->pl->n[PLANE_REGULAR]++;
		t->no_ethernet++;
		return;
	}
	t->stamp_ns = i->p.stamp_ns;
	if (t->cf->came != NULL)
		pcapio_write(t->cf->came, i->now_ns, in.p.data, in.p.have,
		    in.p.len);
	plane_take_impaired(t->pl, &in.p);
	plane_flush(t->pl);
}

/* The same of len bytes of an Ethernet frame, of which have are there. */
static inline void
trace_frame(struct trace *t, uint64_t now_ns, uint8_t *p, uint32_t have,
    uint32_t len)
{
	struct pcapio_in ethernet = { .link = FRAME_ETHERNET };
	const struct merged_input i = { .in = &ethernet, .now_ns = now_ns,
	    .p = { .stamp_ns = now_ns, .data = p, .caplen = have,
	    .len = len } };

	trace_feed(t, &i);
}

/* When something leaves, arrives behind a link, or the program is due. */
static inline uint64_t
trace_due(const struct trace *t)
{
	const uint64_t port = plane_due_port(t->pl), flight =
	    t->flights.count == 0 ? PLANE_NEVER : timed_queue_due(&t->flights);

	return port < flight ? port : flight;
}

/*
 * Begin with a plane, which was made with trace_driver and this struct, and n
 * open captures; what leaves goes into out, or nowhere if it is NULL.
 */
static inline void
trace_open(struct trace *t, const struct trace_conf *cf, struct plane *pl,
    struct pcapio_in *in, size_t n, struct pcapio_out *out)
{
	*t = (struct trace){ .cf = cf, .pl = pl, .out = out,
	    .impair = cf->impair, .holds = cf->propagation_ns > 0 ||
	    impair_any(&cf->impair), .next.at_ns = PLANE_NEVER,
	    .edit = malloc(2 * TRACE_FRAME_BYTES) };
	if (t->edit == NULL)
		err(1, "frames");
	merged_open(&t->feed, &cf->feed, in, n);
	if (cf->departures != NULL)
		trace_next_departure(t);
}

/* The end.  0, or 1 if a capture was damaged, which has been said. */
static inline int
trace_close(struct trace *t)
{
	trace_release(t, TIMED_QUEUE_NEVER - 1);
	plane_end(t->pl);
	timed_queue_free(&t->flights);
	free(t->edit);
	merged_close(&t->feed);
	return t->status | t->feed.status;
}

/* What the driver itself counted, for a report. */
static inline void
trace_account(const struct trace *t, struct counters *c)
{
	if (t->no_ethernet > 0)		/* a live switch has no such counter */
		counters_put(c, "no_ethernet", t->no_ethernet);
	counters_put(c, "impaired_lost", t->impair.lost);
	counters_put(c, "impaired_dup", t->impair.duplicated);
	counters_put(c, "impaired_reordered", t->impair.reordered);
}

/*
 * Run n open captures through the plane, which was made with trace_driver and
 * this struct, into out, or nowhere if it is NULL.  The exit status, 0 or 1;
 * what was wrong has been said.
 */
static inline int
trace_run(struct trace *t, const struct trace_conf *cf, struct plane *pl,
    struct pcapio_in *in, size_t n, struct pcapio_out *out)
{
	const struct merged_input *i;

	trace_open(t, cf, pl, in, n, out);
	while ((i = merged_next(&t->feed)) != NULL) {
		if (out != NULL && out->failed != 0)
			break;
		trace_advance(t, i->now_ns);
		trace_feed(t, i);
	}
	if (!t->feed.stopped && t->feed.until_ns != UINT64_MAX)
		trace_advance(t, t->feed.until_ns);
	else if (!t->feed.stopped)
		trace_drain(t);
	return trace_close(t);
}

#endif
