/* iswitch-filter.c - the aggregation switch as a filter of captures */
#include <err.h>
#include <stdlib.h>
#include <string.h>

#include "common/evq.h"
#include "common/keymap.h"
#include "common/link.h"
#include "common/udpio.h"

#include "cmd/innet-switch/iswitch-filter.h"

enum { PORT_NONE = UINT32_MAX, V4_DATAGRAM_MAX = 65507 };

/* A port of the switch: the way to one host. */
struct port {
	union addr host;		/* its UDP port is 0 */
	struct link link;
	uint32_t next;			/* of the same key */
};

/* What one or more frames carry. */
struct payload {
	uint32_t frames;		/* that still need it */
	uint32_t bytes;
	uint8_t data[];
};

/* A frame that has been decided upon and is still to leave. */
struct flight {
	struct frame_flow flow;
	uint64_t left_ns;		/* when its last bit will have left */
	struct payload *what;
	uint8_t tos;
};

struct filter {
	const struct iswitch_filter_conf *cf;
	struct iswitch *s;
	struct iswitch_passed *passed;
	struct pcapio_out *out;
	struct feed feed;
	uint64_t now_ns;
	struct evq flights;		/* by the stamp they will have */
	struct port *port;
	uint32_t ports, ports_room;
	struct keymap by_host;		/* addr_key() -> port */
};

static union addr
host_of(const union addr *a)
{
	union addr h = *a;

	if (a->sa.sa_family == AF_INET6)
		h.in6.sin6_port = 0;
	else
		h.in.sin_port = 0;
	return h;
}

/* The port that leads to the host of `to`. */
static struct port *
port_to(struct filter *f, const union addr *to)
{
	const union addr host = host_of(to);
	uint32_t *head = keymap_put(&f->by_host, addr_key(&host), PORT_NONE);

	if (head == NULL)
		err(1, "ports");
	for (uint32_t k = *head; k != PORT_NONE; k = f->port[k].next) {
		if (addr_same(&f->port[k].host, &host))
			return &f->port[k];
	}
	if (f->ports == f->ports_room) {
		f->ports_room = f->ports_room == 0 ? 64 : f->ports_room * 2;
		f->port = realloc(f->port, f->ports_room * sizeof(*f->port));
		if (f->port == NULL)
			err(1, "ports");
	}
	f->port[f->ports] = (struct port){ .host = host, .next = *head,
	    .link = { .rate_bps = f->cf->rate_bps,
	    .extra_bytes = f->cf->extra_bytes } };
	*head = f->ports;
	return &f->port[f->ports++];
}

static void
drop_payload(struct payload *what)
{
	if (--what->frames == 0)
		free(what);
}

/* A frame from one address to another waits for its port. */
static void
launch(struct filter *f, const union addr *from, const union addr *to,
    uint8_t tos, struct payload *what)
{
	struct flight *g;
	uint32_t bytes = (uint32_t)udpio_head_bytes(to) + what->bytes;

	if (to->sa.sa_family != AF_INET6 && what->bytes > V4_DATAGRAM_MAX) {
		f->passed->too_long++;
		return;
	}
	g = malloc(sizeof(*g));
	if (g == NULL)
		err(1, "frames to send");
	*g = (struct flight){ .flow = udpio_flow(from, to), .tos = tos,
	    .what = what,
	    .left_ns = link_start(&port_to(f, to)->link, f->now_ns, bytes) };
	if (!evq_push(&f->flights, g->left_ns + f->cf->propagation_ns, g))
		err(1, "frames to send");
	what->frames++;
}

/* The address from which the switch speaks of job to its parent. */
static union addr
job_address(const struct filter *f, uint16_t job)
{
	union addr a = f->cf->listen;
	const uint16_t port = htons((uint16_t)iswitch_job_port(&a, job));

	if (a.sa.sa_family == AF_INET6)
		a.in6.sin6_port = port;
	else
		a.in.sin_port = port;
	return a;
}

/* One datagram of a post, to all it is for. */
static void
deliver_one(struct filter *f, const struct post *p, struct payload *what)
{
	const struct job *j = p->to == POST_ONE ? NULL :
	    &f->s->job[p->job]->j;
	const struct member *m;
	union addr from;
	uint32_t next = 0;

	what->frames++;		/* while we look at it */
	switch (p->to) {
	case POST_ONE:
		launch(f, &f->cf->listen, &p->at, p->tos, what);
		break;
	case POST_MEMBERS:
		while ((m = members_next(&j->members, &next)) != NULL)
			launch(f, &f->cf->listen, &m->at, p->tos, what);
		break;
	case POST_PARENT:
		from = job_address(f, j->id);
		launch(f, &from, &f->cf->parent, p->tos, what);
		break;
	}
	drop_payload(what);
}

static void
deliver(void *ctx, const struct post *p)
{
	struct filter *f = ctx;

	for (uint32_t k = 0; k < p->count; k++) {
		const uint32_t bytes = k + 1 < p->count ? p->bytes :
		    p->last_bytes;
		struct payload *what = malloc(sizeof(*what) + bytes);

		if (what == NULL)
			err(1, "frames to send");
		*what = (struct payload){ .bytes = bytes };
		memcpy(what->data, p->p + (size_t)k * p->bytes, bytes);
		deliver_one(f, p, what);
	}
}

/* A frame arrives where it was sent to. */
static void
land(struct filter *f, const struct flight *g, uint64_t stamp_ns)
{
	uint8_t *q;
	struct frame fr;
	size_t head;

	f->passed->out++;
	if (f->out == NULL)
		return;
	q = pcapio_room(f->out);
	head = frame_put(q, &g->flow, g->tos, g->what->bytes, &fr);
	memcpy(q + head, g->what->data, g->what->bytes);
	frame_seal(q, &fr);
	pcapio_commit(f->out, stamp_ns, (uint32_t)head + g->what->bytes,
	    (uint32_t)head + g->what->bytes);
}

/* Write what is there by stamp_ns, but nothing that leaves after until_ns. */
static void
release(struct filter *f, uint64_t stamp_ns, uint64_t until_ns)
{
	uint64_t at;

	while ((at = evq_due(&f->flights)) <= stamp_ns && at != EVQ_NEVER) {
		struct flight *g = evq_pop(&f->flights);

		if (g->left_ns > until_ns)
			f->passed->queued++;
		else
			land(f, g, at);
		drop_payload(g->what);
		free(g);
	}
}

/* Time-outs due by now_ns fire, each at its own time. */
static void
advance(struct filter *f, uint64_t now_ns)
{
	uint64_t due;

	while ((due = iswitch_due(f->s)) <= now_ns && due != UINT64_MAX) {
		f->now_ns = due > f->now_ns ? due : f->now_ns;
		iswitch_fire(f->s, due);
		outbox_flush(&f->s->out);
	}
	f->now_ns = now_ns > f->now_ns ? now_ns : f->now_ns;
	release(f, f->now_ns, UINT64_MAX);
}

static union addr
address(const uint8_t ip[16], uint16_t port, bool v6)
{
	union addr a = { 0 };

	if (v6) {
		a.in6.sin6_family = AF_INET6;
		a.in6.sin6_port = htons(port);
		memcpy(&a.in6.sin6_addr, ip, 16);
	} else {
		a.in.sin_family = AF_INET;
		a.in.sin_port = htons(port);
		memcpy(&a.in.sin_addr, ip, 4);
	}
	return a;
}

/*
 * Is `mine` an address of the switch, seen from `other`?  Its own, or towards
 * the parent one of a job, which is then in *job; -1 if of none.
 */
static bool
is_switch(const struct filter *f, const union addr *mine,
    const union addr *other, int *job)
{
	const union addr host = host_of(mine), own = host_of(&f->cf->listen);
	const int behind = (int)addr_port(mine) - addr_port(&f->cf->listen);

	*job = -1;
	if (!addr_same(&host, &own))
		return false;
	if (behind > 0 && f->cf->iswitch.job.child &&
	    addr_same(other, &f->cf->parent))
		*job = behind - 1;
	return behind == 0 || *job >= 0;
}

/* Who sent a packet of ours to whom. */
struct letter {
	union addr from, to;
	int job;			/* -1: not from the parent */
	enum { LETTER_IN, LETTER_OWN, LETTER_OTHERS } whose;
};

/*
 * A datagram whose ports are not there, or lie, is whoever's its host is.
 */
static struct letter
read_letter(const struct filter *f, enum frame_is is, const struct frame *fr)
{
	const uint16_t own = addr_port(&f->cf->listen);
	const bool whole = is == FRAME_UDP;
	struct letter l = { .whose = LETTER_OTHERS };
	int none;

	l.from = address(fr->flow.src, whole || fr->flow.sport != 0 ?
	    fr->flow.sport : own, fr->flow.v6);
	l.to = address(fr->flow.dst, whole || fr->flow.dport != 0 ?
	    fr->flow.dport : own, fr->flow.v6);
	if (is_switch(f, &l.to, &l.from, &l.job))
		l.whose = LETTER_IN;
	if (is_switch(f, &l.from, &l.to, &none))
		l.whose = LETTER_OWN;
	return l;
}

static void
pass(struct filter *f, const struct feed_input *i, struct frame *fr)
{
	uint32_t have, len;
	const uint8_t *p = feed_ethernet(&f->feed, i, fr, &have, &len);

	if (f->out != NULL)
		pcapio_write(f->out, i->p.stamp_ns, p, have, len);
}

/* A sound datagram to the switch. */
static void
take(struct filter *f, const struct letter *l, const struct feed_input *i,
    const struct frame *fr)
{
	const uint8_t *p = i->p.data + fr->payload_at;

	f->passed->taken++;
	if (l->job >= 0)
		iswitch_take_parent(f->s, (uint16_t)l->job, fr->tos, p,
		    fr->payload_bytes, f->now_ns);
	else
		iswitch_take(f->s, &l->from, fr->tos, p, fr->payload_bytes,
		    f->now_ns);
	outbox_flush(&f->s->out);
}

/* One packet, at f->now_ns. */
static void
look(struct filter *f, const struct feed_input *i)
{
	struct frame fr = { 0 };
	const enum frame_is is = frame_parse(i->in->link, i->p.data,
	    i->p.caplen, i->p.len, &fr);
	struct letter l;
	unsigned verdict;

	if (is == FRAME_OTHER || (frame_dscp_tos(&fr) != SEG_TOS &&
	    frame_dscp_tos(&fr) != CONTROL_TOS)) {
		f->passed->regular++;
		pass(f, i, &fr);
		return;
	}
	l = read_letter(f, is, &fr);
	if (l.whose == LETTER_OWN) {
		f->passed->own++;
		return;
	}
	if (l.whose == LETTER_OTHERS) {
		f->passed->passed++;
		pass(f, i, &fr);
		return;
	}
	verdict = judge_datagram(is, i->p.data, &fr);
	if (verdict != UPDATE_OK)
		f->passed->ignored[verdict]++;
	else
		take(f, &l, i, &fr);
}

/* All packets, and then what has still to leave. */
static void
loop(struct filter *f)
{
	const struct feed_input *i;
	uint64_t until_ns;

	while ((i = feed_next(&f->feed)) != NULL) {
		if (f->out != NULL && f->out->failed != 0)
			break;
		advance(f, i->now_ns);
		look(f, i);
	}
	until_ns = f->feed.stopped ? f->now_ns : f->feed.until_ns;
	if (until_ns != UINT64_MAX)
		advance(f, until_ns);
	release(f, EVQ_NEVER - 1, until_ns);
}

int
iswitch_filter_run(const struct iswitch_filter_conf *cf, struct iswitch *s,
    struct iswitch_passed *passed, struct pcapio_in *in, size_t n,
    struct pcapio_out *out)
{
	struct filter f = { .cf = cf, .s = s, .passed = passed, .out = out };
	struct iswitch_conf ic = cf->iswitch;

	*passed = (struct iswitch_passed){ 0 };
	if (ic.job.child)
		ic.job_limit = 65535u - addr_port(&cf->listen);
	iswitch_init(s, &ic, 1, deliver, &f);
	feed_open(&f.feed, &cf->feed, in, n);
	loop(&f);
	passed->packets = f.feed.packets;
	passed->time_backwards = f.feed.time_backwards;
	evq_free(&f.flights);
	free(f.port);
	keymap_free(&f.by_host);
	feed_close(&f.feed);
	return f.feed.status;
}
