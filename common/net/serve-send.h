/*
 * serve-send.h - what leaves a plane, into its sockets
 *
 * What goes straight on waits for room in the kernel, for a while; what left a
 * port by its link's schedule and finds none is lost, as on a full link.
 *
 * What leaves is sent in runs, for a call to the kernel costs more than a
 * packet in it.  A run waits for more until it is SERVE_GATHER_NS old, the
 * packets that came together are all looked at, or something else is to be
 * sent; where departures are captured, or a bad network sees each, for none
 * that leaves at another time.
 */
#ifndef INNET_NET_SERVE_SEND_H
#define INNET_NET_SERVE_SEND_H

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "common/net/serve-sockets.h"

enum {
	SERVE_WAIT_MS = 1000,		/* for room to send, a batch, at most */
	SERVE_GATHER_NS = 30000
};

static inline void serve_send_leaving(struct serve *s);

/*
 * Wait for room in u to send; false if there is none.  The link's queue may be
 * full while the socket's is not: then sleep a little.  A batch that has waited
 * for long in vain does not wait again: one way that is blocked must not stop
 * all others.
 */
static inline bool
serve_room(struct serve *s, const struct udpio *u, int tries)
{
	struct pollfd p = { .fd = u->fd, .events = POLLOUT };
	const struct timespec ms = { .tv_nsec = 1000000 };

	if (s->hasty)
		return false;
	if (tries > 0 || u->link_full)
		nanosleep(&ms, NULL);
	s->hasty = tries == SERVE_WAIT_MS || poll(&p, 1, SERVE_WAIT_MS) != 1;
	return !s->hasty;
}

/* plane_driver.send: what finds no room in time is counted as failed. */
static inline void
serve_send(void *ctx, uint32_t way, const union addr *from,
    const union addr *to, const struct post *p, uint64_t now_ns)
{
	struct serve *s = ctx;
	struct serve_socket *w = serve_socket(s, way, to);
	uint32_t done = 0;
	int tries = 0, n;

	(void)from;		/* a socket has the one it is bound to */
	if (s->leavings > 0)	/* what left before comes before */
		serve_send_leaving(s);
	if (w == NULL)
		s->gone.send_failed += p->count;
	while (w != NULL && done < p->count) {
		n = udp_transmit_send_run(&w->out, to, p->tos,
		    p->p + (size_t)done * p->bytes, p->bytes,
		    (int)(p->count - done), p->last_bytes, now_ns);
		done += n > 0 ? (uint32_t)n : 0;
		if (done == p->count)
			break;
		if (errno != EAGAIN)
			return;		/* counted in the socket */
		tries = n > 0 ? 0 : tries;
		if (!serve_room(s, &w->u, tries++)) {
			w->u.send_failed += p->count - done;
			return;
		}
	}
}

/* Send what has left: runs of one length, the last of which may be shorter. */
static inline void
serve_send_leaving(struct serve *s)
{
	const struct iovec *v = s->leaving, *end = v + s->leavings;
	const struct slot_to *to = &s->leaving_to;
	struct serve_socket *w = s->leavings == 0 ? NULL :
	    serve_socket(s, to->way, &to->to);

	if (w == NULL)
		s->gone.send_failed += (uint64_t)s->leavings;
	while (w != NULL && v < end) {
		int n = 1, sent = 0;

		while (v + n < end && v[n - 1].iov_len == v[0].iov_len &&
		    v[n].iov_len <= v[0].iov_len)
			n++;
		if (n > 1)
			sent = udp_transmit_send_gather(&w->out, &to->to,
			    to->tos, v, 1, n, v[0].iov_len, s->left_ns);
		v += sent;
		if (sent < n) {
			udp_transmit_send(&w->out, &to->to, to->tos,
			    v->iov_base, v->iov_len, s->left_ns);
			v++;
		}
	}
	s->leavings = 0;
	s->leaving_bytes = 0;
}

/*
 * Keep the bytes of a slot that may be filled again before the i-th of a run is
 * sent: it gets as many others.  False without memory.
 */
static inline bool
serve_keep(struct serve *s, int i, struct slot *slot)
{
	uint8_t *p = s->spare[i];

	if (slot->room == 0)	/* an empty datagram has no bytes */
		return true;
	if (s->spare_room[i] != slot->room) {
		p = realloc(p, slot->room);
		if (p == NULL)
			return false;
		s->spare_room[i] = slot->room;
	}
	s->spare[i] = slot->bytes;
	slot->bytes = p;
	return true;
}

/* plane_driver.leave: slots that are popped keep their bytes for a while. */
static inline void
serve_leave(void *ctx, struct port *port, struct slot *slot, uint64_t when_ns)
{
	struct serve *s = ctx;
	const struct slot_to *to = &slot->to;

	(void)port;
	if (slot->changed)
		port_freshen(slot);
	if (s->leavings == UDPIO_RUN_MAX ||	/* as much as a call takes */
	    s->leaving_bytes + slot->have > UDPIO_RUN_BYTES_V6 ||
	    (!s->gathers && s->left_ns != when_ns) ||
	    (s->leavings > 0 && (s->leaving_to.way != to->way ||
	    s->leaving_to.tos != to->tos ||
	    !addr_same(&s->leaving_to.to, &to->to))))
		serve_send_leaving(s);
	if (s->leavings == 0)
		s->left_ns = when_ns;
	s->leaving_to = *to;
	s->leaving[s->leavings++] = (struct iovec){ slot->bytes, slot->have };
	s->leaving_bytes += slot->have;
	if (s->gathers && !serve_keep(s, s->leavings - 1, slot))
		serve_send_leaving(s);
}

/* plane_driver.clock: what leaves at once leaves at one time. */
static inline uint64_t
serve_clock(void *ctx)
{
	struct serve *s = ctx;

	if (s->advance_ns == 0)
		s->advance_ns = clock_now(&s->clock);
	return s->advance_ns;
}

/* plane_driver.settle */
static inline void
serve_settle(void *ctx)
{
	struct serve *s = ctx;

	if (!s->gathers || s->pl->now_ns - s->left_ns >= SERVE_GATHER_NS)
		serve_send_leaving(s);
}

static const struct plane_driver serve_driver = {
	.send = serve_send, .leave = serve_leave, .settle = serve_settle,
	.clock = serve_clock
};

#endif
