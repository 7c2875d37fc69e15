/*
 * udp-scatter.h - receive a run of datagrams with their bodies side by side
 *
 * A vector arrives in datagrams, each with a header.  If the caller knows which
 * parts come next, the kernel can separate the headers and write the bodies to
 * the places where they belong.  Then no copy is needed.
 *
 *	n = udp_scatter_recv(u, &place);	(into u->got[0])
 *	if (udp_scatter_fits(&u->got[0], &place) && headers are as expected)
 *		while (udp_scatter_next(&u->got[0], &place, &at, &p)) ...
 *	else
 *		udp_scatter_gather(u, &place);	(then udpio_next())
 *
 * The place is a guess.  If other datagrams arrive, udp_scatter_gather() copies
 * them elsewhere, and meaningless bytes remain in the place.  The place must
 * therefore be memory that the caller has not filled yet.
 */
#ifndef INNET_WORKER_UDP_SCATTER_H
#define INNET_WORKER_UDP_SCATTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/uio.h>

#include "common/net/udp-io.h"

enum {
	UDP_SCATTER_HEAD_BYTES = 32,	/* room for a header */
	UDP_SCATTER_PIECES = 2 * UDPIO_RUN_MAX + 1
};

/* The place where the next parts of the vector belong; borrowed. */
struct udp_scatter {
	uint8_t *body;
	size_t bytes;	/* number of bytes at `body`, for all of these parts */
	uint32_t head_bytes;		/* length of a datagram's header */
	uint32_t body_bytes;	/* length of each body, except the last one */
};

/*
 * Return the buffer for bytes that do not fit into the place.
 * udp_scatter_gather() also uses this buffer.
 */
static inline uint8_t *
udp_scatter_rest(const struct udpio *u)
{
	return u->bytes + UDPIO_STRIDE_BYTES;
}

/*
 * Fill v with pieces for headers and bodies alternately, followed by the buffer
 * for all other bytes.  Returns the number of pieces.
 */
static inline int
udp_scatter_pieces(const struct udpio *u, const struct udp_scatter *l,
    struct iovec v[UDP_SCATTER_PIECES])
{
	size_t at = 0;
	int n = 0;

	while (n + 2 < UDP_SCATTER_PIECES && at < l->bytes) {
		const size_t left = l->bytes - at;
		const size_t len = left < l->body_bytes ? left :
		    l->body_bytes;

		v[n] = (struct iovec){ u->bytes + (size_t)(n / 2) *
		    UDP_SCATTER_HEAD_BYTES, l->head_bytes };
		v[n + 1] = (struct iovec){ l->body + at, len };
		at += len;
		n += 2;
	}
	v[n++] = (struct iovec){ udp_scatter_rest(u), UDPIO_PACKET_BYTES };
	return n;
}

/*
 * Receive one message into the place, as udpio_recv() does, but only from the
 * socket whose turn it is.  Returns 1, or 0 if there is no message.
 */
static inline int
udp_scatter_recv(struct udpio *u, const struct udp_scatter *l)
{
	struct iovec v[UDP_SCATTER_PIECES];
	struct mmsghdr m = { .msg_hdr = { .msg_name = &u->got[0].from,
	    .msg_namelen = sizeof(u->got[0].from), .msg_iov = v,
	    .msg_iovlen = (size_t)udp_scatter_pieces(u, l, v),
	    .msg_control = u->control,
	    .msg_controllen = UDPIO_CONTROL_BYTES } };

	const bool group = udpio_group_is_next(u);
	int n;

	u->got[0].data = u->bytes;
	n = group ? udpio_recv_into(u, u->group_fd, &u->group,
	    &u->group_drops, &m, 1) :
	    udpio_recv_into(u, u->fd, &u->local, &u->drops, &m, 1);
	udpio_note_received(u);
	return n;
}

/* Do the datagrams of the message have the sizes that the place expects? */
static inline bool
udp_scatter_fits(const struct udpio_message *m, const struct udp_scatter *l)
{
	const size_t each = l->head_bytes + l->body_bytes;
	const size_t n = udpio_count_datagrams(m),
		     body = m->len - n * l->head_bytes;

	return m->len > n * l->head_bytes && n <= UDPIO_RUN_MAX && (n == 1 ||
	    m->seg_bytes == each) && (body == n * l->body_bytes ?
	    body <= l->bytes : body == l->bytes && n == (l->bytes +
	    l->body_bytes - 1) / l->body_bytes);
}

/*
 * Does a message that fits into the place fill the whole place?  If so, no
 * other datagram is expected, and the caller need not read the socket again.
 */
static inline bool
udp_scatter_fills(const struct udpio_message *m, const struct udp_scatter *l)
{
	return m->len - udpio_count_datagrams(m) * l->head_bytes == l->bytes;
}

/* Return the header of datagram k. */
static inline uint8_t *
udp_scatter_head(const struct udpio_message *m, size_t k)
{
	return m->data + k * UDP_SCATTER_HEAD_BYTES;
}

/*
 * Return the next datagram: p->data is only the header, and p->body is the
 * body.
 */
static inline bool
udp_scatter_next(const struct udpio_message *m, const struct udp_scatter *l,
    size_t *at, struct udpio_packet *p)
{
	const size_t each = l->head_bytes + l->body_bytes, k = *at / each;

	if (!udpio_next_datagram(m, at, p))
		return false;
	p->data = udp_scatter_head(m, k);
	p->body = l->body + k * l->body_bytes;
	return true;
}

/* Assemble the message as udpio_recv() would have received it. */
static inline void
udp_scatter_gather(struct udpio *u, const struct udp_scatter *l)
{
	struct iovec v[UDP_SCATTER_PIECES];
	const int n = udp_scatter_pieces(u, l, v);
	struct udpio_message *m = &u->got[0];
	uint8_t *to = udp_scatter_rest(u) + UDPIO_STRIDE_BYTES;
	size_t left = m->len;

	m->data = to;
	for (int i = 0; i < n && left > 0; i++) {
		const size_t len = left < v[i].iov_len ? left : v[i].iov_len;

		memcpy(to, v[i].iov_base, len);
		to += len;
		left -= len;
	}
}

#endif
