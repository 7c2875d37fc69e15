/*
 * rig.h - an aggregation switch in a test, with its input and the datagrams it
 * sends
 */
#ifndef INNET_TEST_RIG_H
#define INNET_TEST_RIG_H

#include <stdlib.h>
#include <string.h>

#include "tests/unit/iswitch/rigged.h"

enum { RIG_SENT = 4096, RIG_BYTES = 1500 };

struct rig_sent {
	enum post_to to;
	uint16_t port;		/* POST_ONE */
	uint8_t tos;
	uint32_t len;
	uint8_t bytes[RIG_BYTES];
};

static struct rigged rig_plane;
#define rig (*rigged_switch(&rig_plane))
static struct rig_sent rig_out[RIG_SENT];
static uint32_t rig_n;		/* datagrams since rig_clear() */
static uint64_t rig_now = 1000;
static uint32_t rig_xid = 1;

static void
rig_deliver(void *ctx, const struct post *p)
{
	(void)ctx;
	for (uint32_t k = 0; k < p->count && rig_n < RIG_SENT; k++) {
		struct rig_sent *s = &rig_out[rig_n++];
		uint32_t len = k + 1 < p->count ? p->bytes : p->last_bytes;

		*s = (struct rig_sent){ .to = p->to, .tos = p->tos,
		    .port = p->to == POST_ONE ? addr_port(&p->at) : 0,
		    .len = len };
		memcpy(s->bytes, p->p + (size_t)k * p->bytes,
		    len < RIG_BYTES ? len : RIG_BYTES);
	}
}

static inline void
rig_open(const struct job_conf *j, uint64_t memory)
{
	const struct iswitch_conf cf = { .job = *j, .floats = 4,
	    .floats_max = 366, .memory_bytes = memory };

	rigged_open(&rig_plane, &cf, 1, rig_deliver, NULL);
	rig_n = 0;
}

static struct job_conf
rig_conf(uint16_t h)
{
	return (struct job_conf){ .h = h, .keep = 16, .keep_bytes = 1,
	    .rule.reduce = { .kind = REDUCE_SUM, .fixed_bits = 24 },
	    .member_timeout_ns = 10000000000 };
}

/* Return 127.0.0.1 with a port. */
static union addr
rig_addr(uint16_t port)
{
	return (union addr){ .in = { .sin_family = AF_INET,
	    .sin_port = htons(port), .sin_addr = { htonl(0x7f000001) } } };
}

/* Deliver everything that the switch has to send. */
static void
rig_flush(void)
{
	do
		outbox_flush(rig.out);
	while (iswitch_send_backlog(&rig));
}

/* Send a control message from port; returns the status of its Ack, or -1. */
static int
rig_control(uint16_t port, uint8_t action, uint16_t job, const uint8_t *body,
    size_t len, struct control_ack *a)
{
	const union addr from = rig_addr(port);
	uint8_t m[256];
	uint8_t *p = control_put(m, action, job, rig_xid++);
	struct control c;

	if (len > 0)
		memcpy(p, body, len);
	rig_n = 0;
	rigged_take(&rig_plane, &from, CONTROL_TOS, m, (size_t)(p - m) + len,
	    rig_now);
	rig_flush();
	for (uint32_t i = 0; i < rig_n; i++) {
		if (rig_out[i].tos == CONTROL_TOS && rig_out[i].port == port &&
		    control_parse(rig_out[i].bytes, rig_out[i].len, &c) &&
		    c.action == CONTROL_ACK && control_get_ack(&c, a))
			return a->status;
	}
	return -1;
}

static int
rig_join_as(uint16_t port, struct control_join j, struct control_ack *a)
{
	uint8_t body[CONTROL_JOIN_MAX];
	const size_t len = (size_t)(control_put_join(body, &j) - body);

	return rig_control(port, CONTROL_JOIN, 1, body, len, a);
}

/* Join job 1 as worker number w from port 1000 + w. */
static inline int
rig_join(uint32_t w, uint32_t elements, uint32_t next)
{
	struct control_ack a;

	return rig_join_as((uint16_t)(1000 + w), (struct control_join){
	    .type = CONTROL_WORKER, .worker = w, .elements = elements,
	    .next = next, .async = rig.cf.job.async }, &a);
}

/* Send a control message with one number; returns the Ack's status. */
static inline int
rig_say(uint16_t port, uint8_t action, uint64_t v, size_t bytes,
    struct control_ack *a)
{
	uint8_t body[8];

	bytes_put(body, v, bytes);
	return rig_control(port, action, 1, body, bytes, a);
}

/* Send a segment of n floats, all v, from port 1000 + w. */
static inline void
rig_segment(uint32_t w, uint32_t t, uint32_t i, uint32_t n, float v)
{
	const union addr from = rig_addr((uint16_t)(1000 + w));
	uint8_t m[SEG_HEADER_BYTES + 4 * 366];
	uint8_t *p = seg_put(m, t, 1, i);

	for (uint32_t k = 0; k < n; k++)
		vec_set(p, k, v);
	rig_n = 0;
	rigged_take(&rig_plane, &from, SEG_TOS, m, SEG_HEADER_BYTES + 4 * n,
	    rig_now);
	rig_flush();
}

/* Return the first float of the last datagram if it is a segment, or NAN. */
static inline float
rig_result(struct seg *g)
{
	if (rig_n == 0 || rig_out[rig_n - 1].tos != SEG_TOS ||
	    !seg_parse(rig_out[rig_n - 1].bytes, rig_out[rig_n - 1].len, g))
		return NAN;
	return vec_get(g->vec, 0);
}

static inline uint64_t
rig_count(enum job_count what)
{
	return rig.jobs == 0 ? 0 : rig.job[0]->core.n[what];
}

#endif
