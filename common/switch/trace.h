/*
 * trace.h - a driver that reads packets from captures and writes a capture
 *
 * trace_run() processes a whole trace.  innet-sim runs several planes that send
 * packets to each other, so it calls instead the functions for single steps,
 * which are trace_open(), trace_deadline_ns(), trace_advance(),
 * trace_receive_next() or trace_receive_frame(), and trace_close().
 *
 * The timestamps of the captures are used as the clock, whatever the program
 * is.  Several captures are merged in order of time.  If two packets have the
 * same time, the packet of the first capture comes first.  If a timestamp is
 * earlier than the previous timestamp, the previous one is used instead.  If a
 * frame contains several datagrams of innet, each of them is treated as a
 * packet with the time of the frame.
 *
 * The timestamp of a packet that leaves a port is the time at which its last
 * bit has left the port, plus the propagation delay of the link.  A packet that
 * is forwarded without queueing keeps its timestamp.  If the departures of
 * another run are given, each packet leaves at the time at which it left in the
 * other run.
 *
 * These functions are for tools only: they print warnings, and they exit with
 * status 1 if there is no memory.
 */
#ifndef INNET_SWITCH_TRACE_H
#define INNET_SWITCH_TRACE_H

#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/counters.h"
#include "common/base/message.h"
#include "common/base/timed-queue.h"
#include "common/capture/pcapio.h"
#include "common/capture/split.h"
#include "common/switch/plane.h"
#include "common/switch/receive.h"
#include "common/traffic/impair.h"
#include "common/wire/flow.h"
#include "common/wire/frame.h"

struct merged_conf {
	uint64_t until_ns;		/* time of the last packet to read;
					 * UINT64_MAX: read all packets */
	bool until_relative;		/* until_ns is relative to the time of
					 * the first packet */
	uint64_t count;			/* number of packets to read; 0: read
					 * all packets */
	const volatile sig_atomic_t *stop;	/* the run stops when this
						 * variable is not zero */
	bool quiet;			/* do not print warnings (used for
					 * fuzzing) */
};

struct merged_input {
	struct pcapio_in *in;
	struct pcapio_packet p;		/* the next packet, if `have` is set */
	bool have;
	bool backwards;			/* the warning about decreasing times
					 * has been printed */
	uint64_t now_ns;		/* timestamp of p, adjusted so that it
					 * never decreases */
};

struct merged {
	struct merged_conf cf;
	struct merged_input *input;
	size_t n;
	struct merged_input *given;	/* input of the packet that was returned
					 * last */
	uint64_t until_ns;		/* value of cf.until_ns as an absolute
					 * time, after the first packet was
					 * read */
	uint64_t packets;		/* number of packets returned so far */
	uint64_t time_backwards;
	bool stopped;			/* cf.stop ended the run */
	int status;			/* exit status; 1: a capture was
					 * damaged */
	uint8_t *frame;			/* buffer of merged_to_ethernet() */
};

enum { TRACE_FRAME_BYTES = FRAME_ETH_BYTES + PCAPIO_FRAME_MAX_BYTES };

struct trace_conf {
	struct merged_conf feed;
	uint64_t propagation_ns;	/* propagation delay of every port's
					 * link */
	struct impair impair;		/* impairment of every port's link */
	struct pcapio_in *departures;	/* capture of the departures of another
					 * run; NULL: the links determine
					 * departures */
	bool unsized;			/* the packets of the program do not
					 * contain their length */
	/*
	 * A function that processes a frame that arrives at the other end of a
	 * link, or NULL.
	 */
	void (*on_arrival)(void *ctx, uint64_t at_ns, const uint8_t *p,
	    uint32_t have, uint32_t len);
	void *arrival_ctx;
	struct pcapio_out *ingress;	/* capture of arriving packets, or
					 * NULL */
};

/*
 * A frame that has left a port but has not arrived at the other end of its link
 * yet.
 */
struct trace_flight {
	uint32_t have, len;
	uint8_t bytes[];
};

/* The next frame that left a queue in the other run. */
struct trace_departure {
	uint64_t at_ns;			/* time of the departure; PLANE_NEVER:
					 * there is no further departure */
	struct port *port;
	bool is_update;
	struct update up;
	uint32_t bytes;			/* length of the payload */
};

struct trace {
	const struct trace_conf *cf;
	struct plane *pl;
	struct merged feed;
	struct pcapio_out *out;		/* capture of packets that leave; NULL:
					 * they are not written */
	struct impair impair;
	bool delays;			/* links delay or impair frames */
	struct timed_queue flights;
	struct trace_departure next;
	uint8_t *edit;			/* owned; room for three frames: one
					 * that is being changed, one that this
					 * file creates, and one for one of
					 * several datagrams */
	uint64_t departures_differ;
	uint64_t no_ethernet;		/* number of regular frames without an
					 * ethertype, which are not written */
	uint16_t own_port;		/* UDP port of the program if its
					 * datagrams contain their length,
					 * otherwise 0 */
	struct split_count split;
	const char *unsplit_in;		/* path of the capture that contains
					 * packet number split.cannot_at */
	uint64_t stamp_ns;		/* timestamp of the packet that is being
					 * received */
	int status;
};

enum { TRACE_AHEAD = 4 };	/* the cluster of an update is prefetched this
				 * number of packets before the update */

/* A packet of a capture, in the form that the plane needs. */
struct trace_in {
	struct packet p;
	struct frame frame;
	union addr from, to;
};

/*
 * Run n open captures through the plane, which must have been initialised with
 * trace_driver and t.  Write the packets that leave to `out`, unless `out` is
 * NULL.  Returns the exit status, which is 0 or 1; error messages have been
 * printed.
 */
static inline int trace_run(struct trace *t, const struct trace_conf *cf,
    struct plane *pl, struct pcapio_in *in, size_t n, struct pcapio_out *out);

/*
 * Begin a run of n open captures through the plane.  The arguments are those of
 * trace_run().
 */
static inline void trace_open(struct trace *t, const struct trace_conf *cf,
    struct plane *pl, struct pcapio_in *in, size_t n, struct pcapio_out *out);

/*
 * Return the input that has the next packet.  The members p and now_ns of the
 * input are the packet and its time; they are borrowed until the next call.
 * Returns NULL at the end of the captures, when the limit on packets or on time
 * in cf is reached, and when the run is stopped.
 */
static inline const struct merged_input *merged_next(struct merged *f);

/*
 * Send all packets and run all deadlines that are due by now_ns, and set the
 * time to now_ns.
 */
static inline void trace_advance(struct trace *t, uint64_t now_ns);

/* Receive the packet of input i at the current time, i->now_ns. */
static inline void trace_receive_next(struct trace *t,
    const struct merged_input *i);

/* Receive an Ethernet frame of len bytes, of which `have` bytes are present. */
static inline void trace_receive_frame(struct trace *t, uint64_t now_ns,
    uint8_t *p, uint32_t have, uint32_t len);

/*
 * Return the time when the next packet leaves a port or arrives at the other
 * end of a link.
 */
static inline uint64_t trace_deadline_ns(const struct trace *t);

/*
 * Finish the run.  Returns 0, or 1 if a capture was damaged; an error message
 * has been printed.
 */
static inline int trace_close(struct trace *t);

/* Add the counters of the driver to a report. */
static inline void trace_put_report(const struct trace *t, struct counters *c);

/* Add the counters of the driver that are not 0 to the line for people. */
static inline void trace_put_summary(const struct trace *t, struct counters *c);

/* The driver with which the plane must be initialised for trace_run(). */
static const struct plane_driver trace_driver;

/* implementation */

/*
 * Read the next packet of input i, and make sure that its time is not earlier
 * than that of the previous packet.
 */
static inline void
merged_read_next(struct merged *f, struct merged_input *i)
{
	int got = pcapio_next(i->in, &i->p);

	i->have = got == 1;
	if (got == -1 && !f->cf.quiet)
		f->status = pcapio_warn_damage(i->in);
	if (got != 1)
		return;
	if (i->p.stamp_ns >= i->now_ns) {
		i->now_ns = i->p.stamp_ns;
		return;
	}
	f->time_backwards++;
	if (!i->backwards && !f->cf.quiet)
		warnx("%s: packet %" PRIu64 ": its time is %" PRIu64 " ns "
		    "earlier than that of the previous packet; the later time "
		    "is used",
		    pcapio_name(i->in->path, false), i->in->packets,
		    i->now_ns - i->p.stamp_ns);
	i->backwards = true;
}

/* Start to read n open captures, which are borrowed. */
static inline void
merged_open(struct merged *f, const struct merged_conf *cf,
    struct pcapio_in *in, size_t n)
{
	*f = (struct merged){ .cf = *cf, .n = n, .until_ns = cf->until_ns };
	f->input = calloc(n, sizeof(*f->input));
	f->frame = malloc(FRAME_ETH_BYTES + PCAPIO_FRAME_MAX_BYTES);
	if (f->input == NULL || f->frame == NULL)
		err(1, "captures");
	for (size_t k = 0; k < n; k++) {
		f->input[k].in = &in[k];
		merged_read_next(f, &f->input[k]);
	}
}

/* Print warnings about unusual captures, and free the memory. */
static inline void
merged_close(struct merged *f)
{
	for (size_t k = 0; k < f->n && !f->cf.quiet; k++)
		pcapio_warn_odd(f->input[k].in);
	free(f->input);
	free(f->frame);
	f->input = NULL;
	f->frame = NULL;
}

/*
 * Return the input with the earliest packet.  If several packets have the same
 * time, return the first of their inputs.
 */
static inline struct merged_input *
merged_find_earliest(const struct merged *f)
{
	struct merged_input *best = NULL;

	for (size_t k = 0; k < f->n; k++) {
		struct merged_input *i = &f->input[k];

		if (i->have && (best == NULL || i->now_ns < best->now_ns))
			best = i;
	}
	return best;
}

static inline const struct merged_input *
merged_next(struct merged *f)
{
	struct merged_input *i;

	if (f->given != NULL)
		merged_read_next(f, f->given);
	f->given = NULL;
	i = merged_find_earliest(f);
	if (i == NULL)
		return NULL;
	if (f->packets == 0 && f->cf.until_relative)
		f->until_ns = f->cf.until_ns + i->now_ns;
	if (i->now_ns > f->until_ns ||
	    (f->cf.count > 0 && f->packets == f->cf.count))
		return NULL;
	f->stopped = *f->cf.stop != 0;
	if (f->stopped)
		return NULL;
	f->packets++;
	f->given = i;
	return i;
}

/*
 * Return the packet of i as an Ethernet frame of *have bytes, which had *len
 * bytes before truncation.  If the packet has no Ethernet header, build the
 * frame in f->frame: write an Ethernet header and copy the IP packet after this
 * header.  Also adjust *fr, which is the result of frame_parse().  Returns NULL
 * if the packet has no ethertype (PPP and 802.11 management).
 */
static inline const uint8_t *
merged_to_ethernet(struct merged *f, const struct merged_input *i,
    struct frame *fr, uint32_t *have, uint32_t *len)
{
	const struct pcapio_packet *p = &i->p;
	const uint32_t cut = fr->ip_at;
	const uint8_t *ip = p->data + cut;

	*have = p->caplen;
	*len = p->len;
	if (i->in->link == FRAME_ETHERNET)
		return p->data;
	if (fr->ethertype < FRAME_ETHERTYPE_MIN)
		return NULL;
	*have = p->caplen - cut + FRAME_ETH_BYTES;
	*len = p->len - cut + FRAME_ETH_BYTES;
	memset(f->frame, 0, FRAME_ETH_BYTES);
	if (fr->ethertype == 0x0800 && p->caplen - cut >= 20) {
		frame_put_mac(f->frame, ip + 16);
		frame_put_mac(f->frame + 6, ip + 12);
	} else if (fr->ethertype == 0x86dd && p->caplen - cut >= 40) {
		frame_put_mac(f->frame, ip + 36);
		frame_put_mac(f->frame + 6, ip + 20);
	}
	bytes_put(f->frame + 12, fr->ethertype, 2);
	memcpy(f->frame + FRAME_ETH_BYTES, ip, p->caplen - cut);
	fr->ip_at = FRAME_ETH_BYTES;
	if (fr->udp_at > 0)
		fr->udp_at += FRAME_ETH_BYTES - cut;
	if (fr->payload_at > 0)
		fr->payload_at += FRAME_ETH_BYTES - cut;
	return f->frame;
}

/* Write a frame that arrives at the other end of a link. */
static inline void
trace_write_frame(struct trace *t, uint64_t at_ns, const void *p, uint32_t have,
    uint32_t len)
{
	if (t->cf->on_arrival != NULL)
		t->cf->on_arrival(t->cf->arrival_ctx, at_ns, p, have, len);
	if (t->out != NULL)
		pcapio_write(t->out, at_ns, p, have, len);
}

/* Store a frame until it arrives at the other end of its link at at_ns. */
static inline void
trace_hold_frame(struct trace *t, uint64_t at_ns, const void *p, uint32_t have,
    uint32_t len)
{
	struct trace_flight *f = malloc(sizeof(*f) + have);

	if (f == NULL)
		err(1, "no memory for the frames in flight");
	*f = (struct trace_flight){ have, len };
	if (have > 0)
		memcpy(f->bytes, p, have);
	if (!timed_queue_push(&t->flights, at_ns, f))
		err(1, "no memory for the frames in flight");
}

/* Send a frame on a link that delays or impairs frames. */
static inline void
trace_put_delayed(struct trace *t, uint64_t left_ns, const void *p,
    uint32_t have, uint32_t len)
{
	const uint64_t due = left_ns + t->cf->propagation_ns;
	uint64_t at[2] = { due, due };
	const int copies = impair_any(&t->impair) ? impair_plan(&t->impair,
	    due, at) : 1;

	for (int i = 0; i < copies; i++) {
		if (at[i] > left_ns)
			trace_hold_frame(t, at[i], p, have, len);
		else
			trace_write_frame(t, at[i], p, have, len);
	}
}

/* Send a frame that has left its port at left_ns. */
static inline void
trace_put_frame(struct trace *t, uint64_t left_ns, const void *p, uint32_t have,
    uint32_t len)
{
	if (t->delays)
		trace_put_delayed(t, left_ns, p, have, len);
	else
		trace_write_frame(t, left_ns, p, have, len);
}

/* Write the frames that arrive at the other ends of their links by now_ns. */
static inline void
trace_write_arrived(struct trace *t, uint64_t now_ns)
{
	while (t->flights.count > 0 && timed_queue_due(&t->flights) <= now_ns) {
		const uint64_t at = timed_queue_due(&t->flights);
		struct trace_flight *f = timed_queue_pop(&t->flights);

		trace_write_frame(t, at, f->bytes, f->have, f->len);
		free(f);
	}
}

/* Send a datagram after adding Ethernet, IP and UDP headers. */
static inline void
trace_put_datagram(struct trace *t, uint64_t left_ns, const union addr *from,
    const union addr *to, uint8_t tos, const uint8_t *p, uint32_t bytes)
{
	const struct frame_flow flow = flow_from_addrs(from, to);
	struct frame fr;
	uint32_t head;
	uint8_t *q;

	if (t->out == NULL && t->cf->on_arrival == NULL)
		return;
	q = t->out == NULL ? t->edit + TRACE_FRAME_BYTES :
	    pcapio_room(t->out);	/* the room from pcapio_room() must be
					 * used before anything else is
					 * written */
	head = (uint32_t)frame_put(q, &flow, tos, bytes, &fr);
	memcpy(q + head, p, bytes);
	frame_put_checksum(q, &fr);
	if (t->delays || t->cf->on_arrival != NULL)
		trace_put_frame(t, left_ns, q, head + bytes, head + bytes);
	else
		pcapio_commit(t->out, left_ns, head + bytes, head + bytes);
}

/* Return the address that the socket with number `socket` has in the trace. */
static inline union addr
trace_socket_address(const struct trace *t, uint32_t socket)
{
	const struct plane *pl = t->pl;
	union addr a = pl->cf->place.address;

	if (socket != PACKET_SOCKET_OWN && pl->program->socket_address != NULL)
		pl->program->socket_address(pl->state, socket, &a);
	return a;
}

/* Implement plane_driver.send_run. */
static inline void
trace_send_run(void *ctx, uint32_t socket, const union addr *from,
    const union addr *to, const struct post *p, uint64_t now_ns)
{
	struct trace *t = ctx;
	const union addr own =
	    from != NULL ? *from : trace_socket_address(t, socket);

	for (uint32_t k = 0; k < p->count; k++)
		trace_put_datagram(t, now_ns, &own, to, p->tos,
		    p->p + (size_t)k * p->bytes,
		    k + 1 < p->count ? p->bytes : p->last_bytes);
}

/* Implement plane_driver.send_slot. */
static inline void
trace_send_slot(void *ctx, struct port *port, struct slot *s, uint64_t when_ns)
{
	struct trace *t = ctx;
	struct frame fr;
	union addr own;

	(void)port;
	if (s->changed)
		port_update_header(s);
	if (!s->framed) {
		own = s->to.from.sa.sa_family != 0 ? s->to.from :
		    trace_socket_address(t, s->to.socket);
		trace_put_datagram(t, when_ns, &own, &s->to.to, s->to.tos,
		    s->bytes, s->have);
		return;
	}
	if (s->changed && frame_parse(FRAME_ETHERNET, s->bytes, s->have,
	    s->have, &fr) == FRAME_UDP)
		frame_put_checksum(s->bytes, &fr);
	trace_put_frame(t, when_ns, s->bytes, s->have, s->is_update ? s->have :
	    s->len);
}

/* Implement plane_driver.forward_packet. */
static inline void
trace_forward_packet(void *ctx, struct packet *p, uint64_t now_ns)
{
	struct trace *t = ctx;

	(void)now_ns;
	if (p->changed)
		frame_put_checksum(p->data, p->frame);
	trace_write_frame(t, t->stamp_ns, p->data, p->have, p->len);
}

/* Implement plane_driver.make_writable. */
static inline void
trace_make_writable(void *ctx, struct packet *p)
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
	.send_run = trace_send_run, .send_slot = trace_send_slot,
	.forward_packet = trace_forward_packet,
	.make_writable = trace_make_writable
};

/*
 * Parse the packet of input i into *in.  Returns false if the packet cannot be
 * turned into an Ethernet frame.
 */
static inline bool
trace_read_packet(const struct trace *t, struct merged *feed,
    const struct merged_input *i, struct trace_in *in)
{
	struct frame *fr = &in->frame;
	const enum frame_is is = frame_parse(i->in->link, i->p.data,
	    i->p.caplen, i->p.len, fr);
	const bool whole = is == FRAME_UDP || is == FRAME_OTHER;
	/*
	 * If a packet has no port numbers, treat it as if it had the port of
	 * the switch.
	 */
	const uint16_t none = whole ? 0 : addr_port(&t->pl->cf->place.address);
	uint32_t have, len;
	uint8_t *data;

	data =
	    (uint8_t *)(uintptr_t)merged_to_ethernet(feed, i, fr, &have, &len);
	if (data == NULL)
		return false;
	flow_addr(&in->from, fr->flow.src, fr->flow.sport != 0 ?
	    fr->flow.sport : none, fr->flow.v6);
	flow_addr(&in->to, fr->flow.dst, fr->flow.dport != 0 ?
	    fr->flow.dport : none, fr->flow.v6);
	/*
	 * Set every field, because otherwise compilers clear the whole struct
	 * first.
	 */
	in->p = (struct packet){ .from = &in->from, .to = &in->to,
	    .socket = PACKET_SOCKET_OWN, .tos = is == FRAME_OTHER ? 0 : fr->tos,
	    .payload = data + fr->payload_at,
	    .bytes = is == FRAME_UDP ? fr->payload_bytes : 0,
	    .wire_bytes = i->p.len, .update = NULL, .frame = fr, .is = is,
	    .sums = FRAME_SUMS_UNKNOWN, .data = data,
	    .vlan = is == FRAME_UDP ? frame_vlan(data, fr) : 0,
	    .have = have, .len = len, .changed = false,
	    .bare = false, .cluster = 0 };
	return true;
}

/*
 * Return the format of the datagrams into which the frame of p may have to be
 * split.
 */
static inline struct split_as
trace_split_rule(const struct trace *t, const struct packet *p)
{
	const struct frame_flow *f = &p->frame->flow;

	return split_as(p->tos, t->own_port != 0 &&
	    (f->sport == t->own_port || f->dport == t->own_port) ?
	    t->pl->program->datagram_bytes : NULL);
}

/*
 * Exit with an error if the frame of p, which left in the other run, contains
 * several datagrams, because it is unknown when each of them left.
 */
static inline void
trace_check_departure(const struct trace *t, const struct packet *p)
{
	const struct split_as as = trace_split_rule(t, p);
	enum split_is is;
	struct split s;

	if (as.kind == SPLIT_NONE)
		return;
	is = split_frame(&as, p->is, p->data, p->have, p->len, p->frame, &s);
	if (is == SPLIT_SEVERAL || is == SPLIT_CANNOT)
		errx(1, "%s: packet %" PRIu64 ": this frame has several "
		    "datagrams, and the time of each is not known; capture "
		    "with offloads turned off (ethtool -K)",
		    t->cf->departures->path,
		    t->cf->departures->packets);
}

/*
 * Did packet p leave a queue in the other run?  If so, store its details in
 * t->next.
 */
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
		return false;		/* the packet never waited in a queue */
	d->port = plane_find_port(pl, p->to);
	return d->is_update || (d->port != NULL && d->port->link.rate_bps >
	    0);
}

/*
 * Read the next packet of the other run.  Returns false at the end of its
 * capture.
 */
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
	if (!trace_read_packet(t, &one, &i, to))
		to->p = (struct packet){ .is = FRAME_OTHER,
		    .data = one.frame };
	else
		trace_check_departure(t, &to->p);
	t->next.at_ns = i.p.stamp_ns;
	return true;
}

/* Find the next departure of the other run. */
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

/*
 * Does slot s contain the packet that left with departure d in the other run?
 */
static inline bool
trace_matches_head(const struct trace_departure *d, const struct slot *s)
{
	const struct update *u = &d->up;

	if (s == NULL || s->is_update != d->is_update)
		return false;
	if (!s->is_update)
		return s->have == d->bytes;
	return s->up.cluster == u->cluster && s->up.worker == u->worker &&
	    s->up.sequence == u->sequence && s->up.merged == u->merged;
}

/* Repeat the departures of the other run up to now_ns. */
static inline void
trace_repeat_departures(struct trace *t, uint64_t now_ns)
{
	for (; t->next.at_ns <= now_ns && t->next.at_ns != PLANE_NEVER;
	    trace_next_departure(t)) {
		struct trace_departure *d = &t->next;

		plane_advance(t->pl, d->at_ns);
		if (d->is_update && d->port != NULL &&
		    d->port->updates == NULL)	/* the other run sent the update
						 * to a different address */
			d->port = plane_only_update_port(t->pl);
		if (!trace_matches_head(d, d->port == NULL ? NULL :
		    port_head(d->port)) && t->departures_differ++ == 0 &&
		    !t->cf->feed.quiet)
			warnx("%s: packet %" PRIu64 ": the switch would send a "
			    "different frame; is this capture of the same run, "
			    "with the same --slots?",
			    t->cf->departures->path,
			    t->cf->departures->packets);
		if (d->port != NULL && port_head(d->port) != NULL)
			plane_send_head(t->pl, d->port, d->at_ns);
	}
}

static inline void
trace_advance(struct trace *t, uint64_t now_ns)
{
	if (t->cf->departures != NULL)
		trace_repeat_departures(t, now_ns);
	plane_advance(t->pl, now_ns);
	if (t->flights.count > 0)
		trace_write_arrived(t, t->pl->now_ns);
}

/*
 * Send all packets that are still in queues, without running deadlines of the
 * program.
 */
static inline void
trace_drain_queues(struct trace *t)
{
	if (t->cf->departures != NULL)
		trace_repeat_departures(t, PLANE_NEVER - 1);
	while (plane_next_port(t->pl) != NULL)
		plane_send_next(t->pl);
}

/* Receive the packet p of input i. */
__attribute__((always_inline)) static inline void
trace_receive(struct trace *t, const struct merged_input *i, struct packet *p)
{
	if (t->cf->ingress != NULL)
		pcapio_write(
		    t->cf->ingress, i->now_ns, p->data, p->have, p->len);
	plane_receive_impaired(t->pl, p);
	plane_flush(t->pl);
}

/*
 * Receive each datagram of s as a frame of its own.  All these datagrams come
 * from one frame.
 */
static inline void
trace_receive_each(struct trace *t, const struct merged_input *i,
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
		trace_receive(t, i, &p);
	}
}

/*
 * If the frame of p contains several datagrams, receive each of them and return
 * true.  If the frame cannot be split, mark it as such.  Returns false if the
 * caller must receive p.
 */
__attribute__((noinline, unused)) static bool
trace_receive_split(struct trace *t, const struct merged_input *i,
    struct packet *p, const struct split_as *as)
{
	struct split s;

	switch (split_frame(as, p->is, p->data, p->have, p->len, p->frame,
	    &s)) {
	case SPLIT_SEVERAL:
		trace_receive_each(t, i, p, s);
		return true;
	case SPLIT_CANNOT:
		p->is = FRAME_SEVERAL;
		if (t->split.cannot++ == 0) {
			t->split.cannot_at = i->in->packets;
			t->unsplit_in = i->in->path;
		}
		return false;
	default:
		return false;
	}
}

/*
 * Check packet p of a program whose packets do not contain their length.  Count
 * frames that may contain several datagrams, and mark frames that certainly
 * contain several.
 */
__attribute__((noinline, unused)) static void
trace_check_unsized(
    struct trace *t, const struct merged_input *i, struct packet *p)
{
	const enum split_is is = split_unsized(p->is, p->data, p->frame,
	    p->len);

	if (is == SPLIT_ONE || t->pl->program->classify(t->pl->state, p) !=
	    PACKET_FOR_PROGRAM)
		return;
	if (t->unsplit_in == NULL)
		t->unsplit_in = i->in->path;
	if (is == SPLIT_UNSEEN) {
		t->split.unsure++;
		return;
	}
	p->is = FRAME_SEVERAL;
	if (t->split.cannot++ == 0) {
		t->split.cannot_at = i->in->packets;
		t->unsplit_in = i->in->path;
	}
}

/*
 * If the frame of p contains several datagrams, receive them and return true.
 */
static inline bool
trace_receive_several(
    struct trace *t, const struct merged_input *i, struct packet *p)
{
	const struct split_as as = trace_split_rule(t, p);

	if (as.kind == SPLIT_NONE || t->cf->unsized) {
		if (t->cf->unsized)
			trace_check_unsized(t, i, p);
		return false;
	}
	if (p->is == FRAME_UDP) {
		p->sums = frame_sums(p->data, p->frame);
		if (p->sums != FRAME_SUMS_LEFT && split_spare(p->frame,
		    p->len) < SPLIT_SPARE_BYTES)
			return false;
	}
	return trace_receive_split(t, i, p, &as);
}

/* Prefetch the cluster of an update that arrives a few packets later. */
static inline void
trace_prefetch(const struct trace *t, const struct merged_input *i,
    const struct packet *p)
{
	const uint8_t *c = pcapio_peek(i->in, &i->p, TRACE_AHEAD,
	    (size_t)(p->payload - i->p.data) + UPDATE_CLUSTER_AT, 2);

	if (c != NULL)
		plane_prefetch_cluster(t->pl, (uint16_t)bytes_get(c, 2));
}

static inline void
trace_receive_next(struct trace *t, const struct merged_input *i)
{
	struct trace_in in;

	if (!trace_read_packet(t, &t->feed, i, &in)) {
		t->pl->n[PLANE_PACKETS]++;
		t->pl->n[PLANE_REGULAR]++;
		t->no_ethernet++;
		return;
	}
	t->stamp_ns = i->p.stamp_ns;
	if (plane_should_prefetch(t->pl) && update_is(in.p.tos & 0xfc) &&
	    i->in->link == FRAME_ETHERNET)
		trace_prefetch(t, i, &in.p);
	if (!trace_receive_several(t, i, &in.p))
		trace_receive(t, i, &in.p);
}

static inline void
trace_receive_frame(struct trace *t, uint64_t now_ns, uint8_t *p, uint32_t have,
    uint32_t len)
{
	struct pcapio_in ethernet = { .link = FRAME_ETHERNET };
	const struct merged_input i = { .in = &ethernet, .now_ns = now_ns,
	    .p = { .stamp_ns = now_ns, .data = p, .caplen = have,
	    .len = len } };

	trace_receive_next(t, &i);
}

static inline uint64_t
trace_deadline_ns(const struct trace *t)
{
	const uint64_t port = plane_port_deadline_ns(t->pl), flight =
	    t->flights.count == 0 ? PLANE_NEVER : timed_queue_due(&t->flights);

	return port < flight ? port : flight;
}

static inline void
trace_open(struct trace *t, const struct trace_conf *cf, struct plane *pl,
    struct pcapio_in *in, size_t n, struct pcapio_out *out)
{
	*t = (struct trace){ .cf = cf, .pl = pl, .out = out,
	    .impair = cf->impair, .delays = cf->propagation_ns > 0 ||
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

static inline int
trace_close(struct trace *t)
{
	if (!t->cf->feed.quiet && t->unsplit_in != NULL)
		split_warn(&t->split, pcapio_name(t->unsplit_in, false));
	trace_write_arrived(t, TIMED_QUEUE_NEVER - 1);
	plane_count_queued(t->pl);
	timed_queue_free(&t->flights);
	free(t->edit);
	merged_close(&t->feed);
	return t->status | t->feed.status;
}

static inline void
trace_put_report(const struct trace *t, struct counters *c)
{
	if (t->split.frames > 0) {	/* a live switch never counts such
					 * packets */
		counters_put(c, "split_frames", t->split.frames);
		counters_put(c, "split_datagrams", t->split.datagrams);
	}
	if (t->no_ethernet > 0)
		counters_put(c, "no_ethernet", t->no_ethernet);
	counters_put(c, "impaired_lost", t->impair.lost);
	counters_put(c, "impaired_dup", t->impair.duplicated);
	counters_put(c, "impaired_reordered", t->impair.reordered);
}

static inline void
trace_put_summary(const struct trace *t, struct counters *c)
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
		trace_receive_next(t, i);
	}
	if (!t->feed.stopped && t->feed.until_ns != UINT64_MAX)
		trace_advance(t, t->feed.until_ns);
	else if (!t->feed.stopped)
		trace_drain_queues(t);
	return trace_close(t);
}

#endif
