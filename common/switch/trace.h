/*
 * trace.h - the driver of traces: captures in, a capture out
 *
 * trace_run() does it all; several planes that feed each other in one time
 * (innet-sim) are run step by step: trace_open(), trace_next_ns(),
 * trace_advance(), trace_feed() or trace_frame(), trace_close().
 *
 * The stamps of the captures are the clock, whatever the program; what leaves
 * is trace-out.h's.  Datagrams of innet's that lie in one frame are packets of
 * their own from here on, with its stamp.
 * With the departures of another run each frame leaves when it did there.
 * For tools: warns, and exits 1 without memory.
 */
#ifndef INNET_SWITCH_TRACE_H
#define INNET_SWITCH_TRACE_H

#include <err.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/counters.h"
#include "common/switch/classifier.h"
#include "common/switch/trace-out.h"

enum { TRACE_AHEAD = 4 };	/* packets, that memory has time to come */

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
	    .payload = data + fr->payload_at,
	    .bytes = is == FRAME_UDP ? fr->payload_bytes : 0,
	    .wire_bytes = i->p.len, .update = NULL, .frame = fr, .is = is,
	    .sums = FRAME_SUMS_UNKNOWN, .data = data, .have = have,
	    .len = len, .changed = false,
	    .bare = false, .cluster = 0 };
	return true;
}

/* What the datagrams of p's frame are, if they are several. */
static inline struct split_as
trace_as(const struct trace *t, const struct packet *p)
{
	const struct frame_flow *f = &p->frame->flow;

	return split_as(p->tos, t->own_port != 0 &&
	    (f->sport == t->own_port || f->dport == t->own_port) ?
	    t->pl->program->datagram_bytes : NULL);
}

/* Of several datagrams in one frame it is not known when each left. */
static inline void
trace_check_departure(const struct trace *t, const struct packet *p)
{
	const struct split_as as = trace_as(t, p);
	enum split_is is;
	struct split s;

	if (as.kind == SPLIT_NONE)
		return;
	is = split_frame(&as, p->is, p->data, p->have, p->len, p->frame, &s);
	if (is == SPLIT_SEVERAL || is == SPLIT_CANNOT)
		errx(1, "%s: packet %" PRIu64 ": several datagrams in one "
		    "frame: when each of them left is not known; capture with "
		    "offloads off (see ethtool -K)", t->cf->departures->path,
		    t->cf->departures->packets);
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
	d->is_update = update_is(p->tos & 0xfc);
	if (d->is_update && (update_parse_as(p->tos, p->payload, p->bytes,
	    &d->up) != UPDATE_OK || d->up.kind != UPDATE_UPDATE))
		return false;
	if (!d->is_update && (pl->program->bypasses_queues ||
	    pl->program->classify(pl->state, p) != PACKET_FROM_PROGRAM))
		return false;		/* what passes beside never waits */
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
	else
		trace_check_departure(t, &to->p);
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

/* A packet of i comes to the switch. */
__attribute__((always_inline)) static inline void
trace_take(struct trace *t, const struct merged_input *i, struct packet *p)
{
	if (t->cf->came != NULL)
		pcapio_write(t->cf->came, i->now_ns, p->data, p->have, p->len);
	plane_take_impaired(t->pl, p);
	plane_flush(t->pl);
}

/* The datagrams *s of a frame of i come, each in a frame of its own. */
static inline void
trace_take_each(struct trace *t, const struct merged_input *i,
    const struct packet *whole, struct split s)
{
	const uint32_t rest = whole->wire_bytes - s.left;
	uint8_t *to = t->edit + 2 * TRACE_FRAME_BYTES;
	const uint8_t *at = NULL;
	uint32_t have = 0, n = 0;
	struct frame made;

	t->split.frames++;
	t->split.datagrams += s.count;
	for (uint32_t k = 0; split_next(&s, &at, &have, &n); k++) {
		struct packet p = *whole;

		p.have = split_put(to, whole->data, whole->frame, k, at, have,
		    n, &made);
		p.len = made.payload_at + n;
		p.data = to;
		p.frame = &made;
		p.is = have == n ? FRAME_UDP : FRAME_CUT;
		p.sums = FRAME_SUMS_RIGHT;
		p.payload = to + made.payload_at;
		p.bytes = have == n ? n : 0;
		p.wire_bytes = rest + n;
		trace_take(t, i, &p);
	}
}

/* The datagrams of the frame of p are taken, or it is marked.  False: not. */
__attribute__((noinline, unused)) static bool
trace_split(struct trace *t, const struct merged_input *i, struct packet *p,
    const struct split_as *as)
{
	struct split s;

	switch (split_frame(as, p->is, p->data, p->have, p->len, p->frame,
	    &s)) {
	case SPLIT_SEVERAL:
		trace_take_each(t, i, p, s);
		return true;
	case SPLIT_CANNOT:
		p->is = FRAME_SEVERAL;
		if (t->split.cannot++ == 0) {
			t->split.cannot_at = i->in->packets;
			t->cannot_in = i->in->path;
		}
		return false;
	default:
		return false;
	}
}

/*
 * The program may take p though it does not say how long it is: is it surely
 * several datagrams, or may it be?
 */
__attribute__((noinline, unused)) static void
trace_unsized(struct trace *t, const struct merged_input *i, struct packet *p)
{
	const enum split_is is = split_unsized(p->is, p->data, p->frame,
	    p->len);

	if (is == SPLIT_ONE || t->pl->program->classify(t->pl->state, p) !=
	    PACKET_FOR_PROGRAM)
		return;
	if (t->cannot_in == NULL)
		t->cannot_in = i->in->path;
	if (is == SPLIT_UNSEEN) {
		t->split.unsure++;
		return;
	}
	p->is = FRAME_SEVERAL;
	if (t->split.cannot++ == 0) {
		t->split.cannot_at = i->in->packets;
		t->cannot_in = i->in->path;
	}
}

/* Were there several datagrams in the frame of p?  Then they are taken. */
static inline bool
trace_several(struct trace *t, const struct merged_input *i, struct packet *p)
{
	const struct split_as as = trace_as(t, p);

	if (as.kind == SPLIT_NONE || t->cf->unsized) {
		if (t->cf->unsized)
			trace_unsized(t, i, p);
		return false;
	}
	if (p->is == FRAME_UDP) {
		p->sums = frame_sums(p->data, p->frame);
		if (p->sums != FRAME_SUMS_LEFT && split_spare(p->frame,
		    p->len) < SPLIT_SPARE_BYTES)
			return false;
	}
	return trace_split(t, i, p, &as);
}

/* Of which cluster is an update a few packets behind this one, perhaps? */
static inline void
trace_fetch(const struct trace *t, const struct merged_input *i,
    const struct packet *p)
{
	const uint8_t *c = pcapio_guess(i->in, &i->p, TRACE_AHEAD,
	    (size_t)(p->payload - i->p.data) + UPDATE_CLUSTER_AT, 2);

	if (c != NULL)
		plane_fetch(t->pl, (uint16_t)bytes_get(c, 2));
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
	if (plane_fetches(t->pl) && update_is(in.p.tos & 0xfc) &&
	    i->in->link == FRAME_ETHERNET)
		trace_fetch(t, i, &in.p);
	if (!trace_several(t, i, &in.p))
		trace_take(t, i, &in.p);
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
	    .edit = malloc(3 * TRACE_FRAME_BYTES) };
	if (t->edit == NULL)
		err(1, "frames");
	if (pl->program->datagram_bytes != NULL)
		t->own_port = pl->program->default_port(pl->cf->settings);
	merged_open(&t->feed, &cf->feed, in, n);
	if (cf->departures != NULL)
		trace_next_departure(t);
}

/* The end.  0, or 1 if a capture was damaged, which has been said. */
static inline int
trace_close(struct trace *t)
{
	if (!t->cf->feed.quiet && t->cannot_in != NULL)
		split_warn(&t->split, pcapio_name(t->cannot_in, false));
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
	if (t->split.frames > 0) {	/* a live switch has none of these */
		counters_put(c, "split_frames", t->split.frames);
		counters_put(c, "split_datagrams", t->split.datagrams);
	}
	if (t->no_ethernet > 0)
		counters_put(c, "no_ethernet", t->no_ethernet);
	counters_put(c, "impaired_lost", t->impair.lost);
	counters_put(c, "impaired_dup", t->impair.duplicated);
	counters_put(c, "impaired_reordered", t->impair.reordered);
}

/* ... and, for people, what says something. */
static inline void
trace_summary(const struct trace *t, struct counters *c)
{
	const uint64_t lost = t->pl->n[PLANE_IN_LOST] + t->impair.lost;
	char split[64];

	snprintf(split, sizeof(split), "frame%s of %" PRIu64 " datagrams split",
	    plural(t->split.frames), t->split.datagrams);
	if (t->split.frames > 0)
		counters_put(c, split, t->split.frames);
	if (t->no_ethernet > 0)
		counters_put(c, "left out (not IP)", t->no_ethernet);
	if (lost > 0)
		counters_put(c, "lost by --impair", lost);
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
