/*
 * udp-transmit.h - send datagrams through a socket, write them to a capture and
 * impair them
 *
 * Without impairment every datagram is sent at once, and runs are sent as runs.
 * With impairment, impair.h determines when each copy of a datagram is sent.
 * Up to UDP_TRANSMIT_HELD_MAX copies whose time has not come are held until the
 * caller calls udp_transmit_flush() at their time.  Held copies are sent in
 * order of time; copies with the same time are sent in the order in which they
 * were added.  The capture contains the datagrams as they were before the
 * impairment.  A struct udp_transmit borrows the socket and the capture, and
 * owns the held copies, which udp_transmit_free() frees.  These functions do
 * not read a clock; the caller passes the time.
 */
#ifndef INNET_NET_UDP_TRANSMIT_H
#define INNET_NET_UDP_TRANSMIT_H

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "common/base/timed-queue.h"
#include "common/capture/pcapio.h"
#include "common/net/udp-io.h"
#include "common/traffic/impair.h"
#include "common/wire/addr.h"

enum { UDP_TRANSMIT_HELD_MAX = 65536 };

#define UDP_TRANSMIT_NEVER TIMED_QUEUE_NEVER

/* A datagram that is held until the time at which it must be sent. */
struct udp_transmit_packet {
	union addr to;
	uint8_t tos;
	size_t len;
	uint8_t bytes[];
};

struct udp_transmit {
	struct udpio *u;		/* borrowed */
	struct pcapio_out *capture;	/* borrowed; NULL: none */
	struct impair impair;
	uint64_t propagation_ns;	/* propagation delay of every
					 * datagram */
	struct timed_queue held;	/* queue of struct
					 * udp_transmit_packet */
};

/* Return a transmitter for socket u.  `capture` may be NULL. */
static inline struct udp_transmit udp_transmit_over(struct udpio *u,
    const struct impair *impair, struct pcapio_out *capture);

/* Free the datagrams that are held, without sending them. */
static inline void udp_transmit_free(struct udp_transmit *o);

/*
 * Send one datagram and write it to the capture.  If the kernel refuses the
 * datagram, count this in the socket and return false.
 */
static inline bool udp_transmit_send(struct udp_transmit *o,
    const union addr *to, uint8_t tos, const void *p, size_t len,
    uint64_t now_ns);

/*
 * Do the work of udpio_send_run(), and write the datagrams that were sent to
 * the capture.  With impairment the result is always `count`; datagrams that
 * the kernel refuses are only counted in the socket.
 */
static inline int udp_transmit_send_run(struct udp_transmit *o,
    const union addr *to, uint8_t tos, const void *base, size_t seg_bytes,
    int count, size_t last_bytes, uint64_t now_ns);

/*
 * Send datagrams that consist of several pieces.  The arguments and the result
 * are those of udpio_send_gather().  In all other respects this function works
 * like udp_transmit_send_run().
 */
static inline int udp_transmit_send_gather(struct udp_transmit *o,
    const union addr *to, uint8_t tos, const struct iovec *iov, int per,
    int count, size_t seg_bytes, uint64_t now_ns);

/*
 * Do the work of udp_transmit_send_gather(), but send nothing while
 * udpio_is_crowded() is true.  Set *blocked to whether the remaining datagrams
 * must wait for room.
 */
static inline int udp_transmit_send_room(struct udp_transmit *o,
    const union addr *to, uint8_t tos, const struct iovec *iov, int per,
    int count, size_t seg_bytes, uint64_t now_ns, bool *blocked);

/*
 * Send the held datagrams that are due by now_ns.  If now_ns is
 * UDP_TRANSMIT_NEVER, send all of them.
 */
static inline void udp_transmit_flush(struct udp_transmit *o, uint64_t now_ns);

/*
 * Return the time when the next held datagram must be sent, or
 * UDP_TRANSMIT_NEVER if no datagram is held.
 */
static inline uint64_t udp_transmit_deadline_ns(const struct udp_transmit *o);

/* Is every datagram sent at once and unchanged? */
static inline bool udp_transmit_is_plain(const struct udp_transmit *o);

/* implementation */

static inline struct udp_transmit
udp_transmit_over(struct udpio *u, const struct impair *impair,
    struct pcapio_out *capture)
{
	return (struct udp_transmit){ .u = u, .impair = *impair,
	    .capture = capture };
}

static inline void
udp_transmit_free(struct udp_transmit *o)
{
	struct udp_transmit_packet *n;

	while ((n = timed_queue_pop(&o->held)) != NULL)
		free(n);
	timed_queue_free(&o->held);
}

/*
 * Hold a copy of a datagram until at_ns.  If there is no room for the copy,
 * count it as lost.
 */
static inline void
udp_transmit_hold_copy(struct udp_transmit *o, const union addr *to,
    uint8_t tos, const void *p, size_t len, uint64_t at_ns)
{
	struct udp_transmit_packet *n = o->held.count >= UDP_TRANSMIT_HELD_MAX
					    ? NULL
					    : malloc(sizeof(*n) + len);

	if (n != NULL) {
		*n = (struct udp_transmit_packet){ .to = *to, .tos = tos,
		    .len = len };
		memcpy(n->bytes, p, len);
		if (timed_queue_push(&o->held, at_ns, n))
			return;
		free(n);
	}
	o->impair.lost++;
}

static inline uint64_t
udp_transmit_deadline_ns(const struct udp_transmit *o)
{
	return timed_queue_due(&o->held);
}

static inline void
udp_transmit_flush(struct udp_transmit *o, uint64_t now_ns)
{
	while (o->held.count > 0 && timed_queue_due(&o->held) <= now_ns) {
		struct udp_transmit_packet *n = timed_queue_pop(&o->held);

		udpio_send(o->u, &n->to, n->tos, n->bytes, n->len);
		free(n);
	}
}

/* Write a datagram to the capture, if there is one. */
static inline void
udp_transmit_write_capture(struct udp_transmit *o, const union addr *to,
    uint8_t tos, const void *p, size_t len, uint64_t now_ns)
{
	if (o->capture != NULL)
		udpio_capture(o->capture, &o->u->local, to, tos, p, len,
		    now_ns);
}

static inline bool
udp_transmit_is_plain(const struct udp_transmit *o)
{
	return !impair_any(&o->impair) && o->propagation_ns == 0;
}

/*
 * Send a datagram with impairment.  If the kernel refuses the datagram, count
 * this in the socket and return false.
 */
static inline bool
udp_transmit_send_impaired(struct udp_transmit *o, const union addr *to,
    uint8_t tos, const void *p, size_t len, uint64_t now_ns)
{
	uint64_t at[2];
	const int copies = impair_plan(&o->impair, now_ns +
	    o->propagation_ns, at);
	bool sent = true;

	for (int i = 0; i < copies; i++) {
		if (at[i] <= now_ns)
			sent = udpio_send(o->u, to, tos, p, len) && sent;
		else
			udp_transmit_hold_copy(o, to, tos, p, len, at[i]);
	}
	return sent;
}

static inline bool
udp_transmit_send(struct udp_transmit *o, const union addr *to, uint8_t tos,
    const void *p, size_t len, uint64_t now_ns)
{
	udp_transmit_write_capture(o, to, tos, p, len, now_ns);
	if (!udp_transmit_is_plain(o))
		return udp_transmit_send_impaired(o, to, tos, p, len, now_ns);
	return udpio_send(o->u, to, tos, p, len);
}

/* Write a datagram of a run to the capture.  With impairment, also send it. */
static inline void
udp_transmit_record(struct udp_transmit *o, const union addr *to, uint8_t tos,
    const void *p, size_t len, uint64_t now_ns)
{
	udp_transmit_write_capture(o, to, tos, p, len, now_ns);
	if (!udp_transmit_is_plain(o))
		udp_transmit_send_impaired(o, to, tos, p, len, now_ns);
}

static inline int
udp_transmit_send_gather(struct udp_transmit *o, const union addr *to,
    uint8_t tos, const struct iovec *iov, int per, int count, size_t seg_bytes,
    uint64_t now_ns)
{
	const bool bad = !udp_transmit_is_plain(o);
	uint8_t whole[UDPIO_PACKET_BYTES];
	int sent = count, saved;

	if (!bad)
		sent = udpio_send_gather(o->u, to, tos, iov, per, count,
		    seg_bytes);
	if (!bad && o->capture == NULL)
		return sent;
	saved = errno;
	for (int k = 0; k < sent; k++, iov += per) {
		size_t len = 0;

		for (int i = 0; i < per; i++) {
			assert(iov[i].iov_len <= sizeof(whole) - len);
			memcpy(whole + len, iov[i].iov_base, iov[i].iov_len);
			len += iov[i].iov_len;
		}
		udp_transmit_record(o, to, tos, whole, len, now_ns);
	}
	errno = saved;
	return sent;
}

static inline int
udp_transmit_send_room(struct udp_transmit *o, const union addr *to,
    uint8_t tos, const struct iovec *iov, int per, int count, size_t seg_bytes,
    uint64_t now_ns, bool *blocked)
{
	const bool crowded = udpio_is_crowded(o->u);
	const int sent = crowded ? 0 : udp_transmit_send_gather(o, to, tos, iov,
	    per, count, seg_bytes, now_ns);

	*blocked = crowded || (sent < count && errno == EAGAIN);
	o->u->link_full = o->u->link_full && !crowded;
	return sent;
}

static inline int
udp_transmit_send_run(struct udp_transmit *o, const union addr *to, uint8_t tos,
    const void *base, size_t seg_bytes, int count, size_t last_bytes,
    uint64_t now_ns)
{
	const bool bad = !udp_transmit_is_plain(o);
	const uint8_t *p = base;
	int sent = count, saved;

	if (!bad)
		sent = udpio_send_run(o->u, to, tos, base, seg_bytes, count,
		    last_bytes);
	if (!bad && o->capture == NULL)
		return sent;
	saved = errno;
	for (int k = 0; k < sent; k++, p += seg_bytes)
		udp_transmit_record(o, to, tos, p, k < count - 1 ? seg_bytes :
		    last_bytes, now_ns);
	errno = saved;
	return sent;
}

#endif
