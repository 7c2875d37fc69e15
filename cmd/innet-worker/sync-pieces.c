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
	if (!sync_io_open_ring(&w->io))
		err(1, "no memory for a ring of %" PRIu32 " elements",
		    w->c.elements);
	w->c.watch_paused = true;
}

void
sync_close_ring(struct sync *w)
{
	const struct sync_ring *r = &w->io.ring;

	for (uint32_t i = r->first; i != r->end; i++)
		free(r->piece[i % SYNC_RING_PIECES].out);
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
	w->added_ns[w->io.ring.end % SYNC_RING_PIECES] = now_ns;
	sync_ring_add(&w->io.ring, vec, vec, h->elements);
	sync_ring_run(&w->io.ring, &w->io.l, now_ns);
}

/* Send the results of pieces that are complete to the child. */
static void
give_pieces(struct sync *w, uint64_t now_ns)
{
	uint32_t at = w->io.ring.first;
	struct sync_ring_piece p;

	for (; sync_ring_take(&w->io.ring, &p); at++) {
		const struct stream_head h = { .kind = STREAM_RESULT,
		    .elements = p.elements, .contributions = p.most,
		    .flags = p.least < sync_io_all_contributions(&w->io) ?
		    STREAM_PARTIAL : 0,
		    .iteration = ++w->io.given };

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

	sync_ring_run(&w->io.ring, &w->io.l, now_ns);
	give_pieces(w, now_ns);
	while (sync_ring_has_room(&w->io.ring) && (e = carrier_next(&w->c,
	    now_ns, &h, &body)) != CARRIER_NOTHING) {
		if (e == CARRIER_GRADIENT)
			add_piece(w, &h, body, now_ns);
	}
	give_pieces(w, now_ns);
	w->c.child_paused = !sync_ring_has_room(&w->io.ring);
	w->c.done |= w->c.last && sync_ring_pieces(&w->io.ring) == 0;
}
