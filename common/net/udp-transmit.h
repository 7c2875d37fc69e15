/*
 * udp-transmit.h - what a live tool sends: through a socket, past a capture,
 * and through a bad network if one is asked for
 *
 * Without impairment everything leaves at once, runs as runs.  With it each
 * datagram's copies leave when impair.h says: those that are late are held
 * here, UDP_TRANSMIT_HELD_MAX of them, until udp_transmit_flush() at their
 * time, in order of time and, at one time, in the order they were sent.  The
 * capture shows what would have been sent by a good network.  Borrows socket
 * and capture; owns what it holds, udp_transmit_free().  Time is an argument.
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

/* A datagram that is late. */
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
	uint64_t propagation_ns;	/* everything leaves so much later */
	/* struct udp_transmit_packet, owned */
	struct timed_queue held;
};

static inline struct udp_transmit
udp_transmit_over(struct udpio *u, const struct impair *impair,
    struct pcapio_out *capture)
{
	return (struct udp_transmit){ .u = u, .impair = *impair,
	    .capture = capture };
}

/* What is held is not sent any more. */
static inline void
udp_transmit_free(struct udp_transmit *o)
{
	struct udp_transmit_packet *n;

	while ((n = timed_queue_pop(&o->held)) != NULL)
		free(n);
	timed_queue_free(&o->held);
}

/* Hold a copy until at_ns; without room it is lost, and counted so. */
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

/* When the first of those held is to leave; UDP_TRANSMIT_NEVER: none is held.
 */
static inline uint64_t
udp_transmit_deadline_ns(const struct udp_transmit *o)
{
	return timed_queue_due(&o->held);
}

/* Send what is due by now_ns; with UDP_TRANSMIT_NEVER, all. */
static inline void
udp_transmit_flush(struct udp_transmit *o, uint64_t now_ns)
{
	while (o->held.count > 0 && timed_queue_due(&o->held) <= now_ns) {
		struct udp_transmit_packet *n = timed_queue_pop(&o->held);

		udpio_send(o->u, &n->to, n->tos, n->bytes, n->len);
		free(n);
	}
}

static inline void
udp_transmit_write_capture(struct udp_transmit *o, const union addr *to,
    uint8_t tos, const void *p, size_t len, uint64_t now_ns)
{
	if (o->capture != NULL)
		udpio_capture(o->capture, &o->u->local, to, tos, p, len,
		    now_ns);
}

/* Does everything leave at once, as it is? */
static inline bool
udp_transmit_is_plain(const struct udp_transmit *o)
{
	return !impair_any(&o->impair) && o->propagation_ns == 0;
}

/* Through the bad network; false, and counted, if the kernel refused it. */
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

/*
 * Send one datagram; false, and counted in the socket, if the kernel did not
 * take it.  Captured in either case.
 */
static inline bool
udp_transmit_send(struct udp_transmit *o, const union addr *to, uint8_t tos,
    const void *p, size_t len, uint64_t now_ns)
{
	udp_transmit_write_capture(o, to, tos, p, len, now_ns);
	if (!udp_transmit_is_plain(o))
		return udp_transmit_send_impaired(o, to, tos, p, len, now_ns);
	return udpio_send(o->u, to, tos, p, len);
}

/* A datagram of a run: into the capture, and through the bad network. */
static inline void
udp_transmit_record(struct udp_transmit *o, const union addr *to, uint8_t tos,
    const void *p, size_t len, uint64_t now_ns)
{
	udp_transmit_write_capture(o, to, tos, p, len, now_ns);
	if (!udp_transmit_is_plain(o))
		udp_transmit_send_impaired(o, to, tos, p, len, now_ns);
}

/*
 * Send count datagrams of `per` pieces each to one address, as
 * udpio_send_gather() has it: how many were taken, and errno if not all.
 * Those that were taken are captured.  A bad network takes all; what the
 * kernel then refuses is counted in the socket.
 */
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

/*
 * The same, but nothing of it while the socket has enough to send of vectors
 * (udpio_is_crowded).  *blocked: what is left waits for room.
 */
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

/* The same for datagrams that lie one after another: udpio_send_run(). */
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
