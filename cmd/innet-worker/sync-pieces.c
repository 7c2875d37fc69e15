/*
 * sync-pieces.c - vectors of any length between a child and the ring of its
 * worker
 *
 * Each gradient of the child is a piece of the ring in common/iswitch/
 * sync-ring.h.  The child gets the result of each piece, in order.  It may send
 * further gradients before that.  The worker reads the next gradient when the
 * ring has room for all earlier ones, so the memory of the worker is limited by
 * the length of the ring and of one gradient.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/message.h"

#include "cmd/innet-worker/sync.h"

void
sync_open_ring(struct sync *w)
{
	if (!sync_ring_init(&w->ring, w->c.elements))
		err(1, "no memory for a ring of %" PRIu32 " elements",
		    w->c.elements);
	w->c.watch_paused = true;
	for (int i = 0; i < 2; i++)
		w->result[i] = w->ring.result[i];
}

void
sync_close_ring(struct sync *w)
{
	for (uint32_t i = w->ring.first; i != w->ring.end; i++)
		free(w->ring.piece[i % SYNC_RING_PIECES].out);
	sync_ring_free(&w->ring);
}

/* Add a gradient of the child to the ring. */
static void
add_piece(struct sync *w, const struct stream_head *h, const uint8_t *body,
    uint64_t now_ns)
{
	float *vec = malloc(stream_body_bytes(h));

	if (vec == NULL)
		err(1, "no memory for a vector of %" PRIu32 " elements",
		    h->elements);
	memcpy(vec, body, stream_body_bytes(h));
	w->added_ns[w->ring.end % SYNC_RING_PIECES] = now_ns;
	sync_ring_add(&w->ring, vec, vec, h->elements);
	sync_ring_run(&w->ring, &w->l, now_ns);
}

/*
 * Return the number of contributions of a complete sum.  Below a rack, the
 * worker knows this number only from --ranks.
 */
static uint16_t
all_contributions(const struct sync *w)
{
	return w->cf->members > 0 ? w->cf->members : w->l.h;
}

/* Send the results of pieces that are complete to the child. */
static void
give_pieces(struct sync *w, uint64_t now_ns)
{
	uint32_t at = w->ring.first;
	struct sync_ring_piece p;

	for (; sync_ring_take(&w->ring, &p); at++) {
		const struct stream_head h = { .kind = STREAM_RESULT,
		    .elements = p.elements, .contributions = p.most,
		    .flags = p.least < all_contributions(w) ?
		    STREAM_PARTIAL : 0,
		    .iteration = ++w->given };

		durations_add(&w->rounds, now_ns -
		    w->added_ns[at % SYNC_RING_PIECES]);
		child_send(&w->c.child, &h, p.out);
		free(p.out);
	}
}

void
sync_process_pieces(struct sync *w, uint64_t now_ns)
{
	enum carrier_event e;
	struct stream_head h;
	const uint8_t *body;

	sync_ring_run(&w->ring, &w->l, now_ns);
	give_pieces(w, now_ns);
	while (sync_ring_has_room(&w->ring) && (e = carrier_next(&w->c, now_ns,
	    &h, &body)) != CARRIER_NOTHING) {
		if (e == CARRIER_GRADIENT)
			add_piece(w, &h, body, now_ns);
	}
	give_pieces(w, now_ns);
	w->c.child_paused = !sync_ring_has_room(&w->ring);
	w->c.done |= w->c.last && sync_ring_pieces(&w->ring) == 0;
}
