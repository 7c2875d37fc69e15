/*
 * trace-out.h - the driver of traces: what leaves
 *
 * What leaves a port is stamped with the time at which its last bit has left
 * the link, and the propagation after that; what passes beside the queues keeps
 * its stamp.  The other half, and how it is used, is in trace.h.
 * For tools: exits 1 without memory.
 */
#ifndef INNET_SWITCH_TRACE_OUT_H
#define INNET_SWITCH_TRACE_OUT_H

#include <err.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/timed-queue.h"
#include "common/capture/merged.h"
#include "common/capture/split.h"
#include "common/switch/plane.h"
#include "common/traffic/impair.h"
#include "common/wire/flow.h"

enum { TRACE_FRAME_BYTES = FRAME_ETH_BYTES + PCAPIO_FRAME_MAX_BYTES };

struct trace_conf {
	struct merged_conf feed;
	uint64_t propagation_ns;	/* of every port's link */
	struct impair impair;		/* likewise */
	struct pcapio_in *departures;	/* NULL: links decide */
	bool unsized;			/* the program's packets do not say
					 * how long they are */
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
	uint8_t *edit;			/* a frame that is changed; one of our
					 * own; one of several datagrams */
	uint64_t departures_differ;
	uint64_t no_ethernet;		/* regular frames without a type: not
					 * written */
	uint16_t own_port;		/* of a program whose datagrams say
					 * their length; 0: they do not */
	struct split_count split;
	const char *cannot_in;		/* the capture of its cannot_at */
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

	if (way != PACKET_WAY_OWN && pl->program->socket_address != NULL)
		pl->program->socket_address(pl->state, way, &a);
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

#endif
