/* udp-receiver.c - the datagrams that arrive at a socket; see udp-receiver.h */
#include "cmd/innet-worker/udp-receiver.h"

#define PLACED_BYTES 8192u	/* shorter messages are not received directly
				 * into their place in the vector */

/*
 * Find the place in the vector for the data of the next message.  Returns false
 * if the place is not known.  A place is not used for short messages, because
 * one call receives many of them.  With a multicast group, only messages of the
 * group have a place.
 */
static bool
find_place(struct udp_receiver *r)
{
	if (r->misses > 0 || r->find_place == NULL || !r->u->gro ||
	    (r->u->in_multicast_group && !udpio_group_is_next(r->u)) ||
	    r->u->got[0].len < PLACED_BYTES)
		return false;
	return r->find_place(r->ctx, &r->place);
}

/*
 * Receive messages, or receive one message directly into its place in the
 * vector.
 */
static int
receive_messages(struct udp_receiver *r)
{
	const bool placed = find_place(r);
	struct udpio *u = r->u;
	int n;

	r->placed = false;
	r->misses -= r->misses > 0;
	if (!placed)
		return udpio_recv(u);
	n = udp_scatter_recv(u, &r->place);
	if (n == 0)	/* the group has no messages; try the worker's own
			 * socket */
		return u->more ? udpio_recv(u) : 0;
	r->placed = udp_scatter_fits(&u->got[0], &r->place) &&
	    r->matches_place(r->ctx, &u->got[0]);
	if (r->placed && udp_scatter_fills(&u->got[0], &r->place))
		udpio_expect_no_more(u);
	if (!r->placed) {
		r->misses = UDP_RECEIVER_MISSES;
		udp_scatter_gather(u, &r->place);
	}
	return n;
}

/* Return the next datagram of the current message. */
static bool
next_packet(struct udp_receiver *r, struct udpio_packet *p)
{
	const struct udpio_message *m = &r->u->got[r->next];

	return r->placed ? udp_scatter_next(m, &r->place, &r->at, p) :
	    udpio_next_datagram(m, &r->at, p);
}

/* Go to the next message.  Returns false if there is none yet. */
static bool
next_message(struct udp_receiver *r)
{
	r->at = 0;
	if (r->next + 1 < r->got) {
		r->next++;
		return true;
	}
	r->next = r->got = 0;
	if (r->batches == UDP_RECEIVER_BATCHES ||
	    (r->batches > 0 && !r->u->more))
		return false;
	r->batches++;
	r->got = receive_messages(r);
	return r->got > 0;
}

bool
udp_receiver_next(struct udp_receiver *r, struct udpio_packet *p)
{
	while (r->got == 0 || !next_packet(r, p)) {
		if (!next_message(r))
			return false;
	}
	return true;
}
