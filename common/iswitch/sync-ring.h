/*
 * sync-ring.h - sums of vectors of any length, in the segments of one
 * synchronous job
 *
 * A synchronous job sums a vector of fixed length.  Here this vector is a ring:
 * each iteration is one turn of the ring.  The caller adds vectors of any
 * length, which are called pieces.  A piece takes the next segments of the
 * ring, and zeros fill the rest of its last segment.  A piece can continue in
 * the next turn, and can be longer than the ring.  The results of pieces return
 * in order, while later pieces are already in the network.  All workers must
 * add pieces of the same lengths in the same order.
 *
 * The ring belongs to a worker of sync-worker.h with cf.ring.  The caller adds
 * pieces with sync_ring_add(), sends gradients from sync_ring_gradient(), and
 * passes results that the worker takes to sync_ring_store().  It calls
 * sync_ring_run() after each of these events, and then gets finished pieces
 * from sync_ring_take().  The caller owns the two vectors of a piece: the
 * gradient, which the ring only reads, and the result.  Both can be the same
 * vector, in which the result then replaces the gradient.  The caller must keep
 * them until sync_ring_take() returns the piece.
 *
 * The ring keeps the gradients of three turns.  The worker fills the current
 * turn and the next turn.  It needs the previous turn if the switch is
 * restarted and other workers lack results of that turn.
 *
 * The functions read no clock: time is an argument (monotonic, in ns).
 * sync_ring_free() frees the memory of the ring, but not that of the pieces.
 */
#ifndef INNET_ISWITCH_SYNC_RING_H
#define INNET_ISWITCH_SYNC_RING_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/iswitch/sync-worker.h"
#include "common/wire/seg.h"

enum {
	SYNC_RING_PIECES = 1024,	/* maximum number of pieces at a time */
	SYNC_RING_TURNS = 3		/* number of turns whose gradients are
					 * kept */
};

struct sync_ring_piece {
	const float *in;		/* the gradient; borrowed from the
					 * caller */
	float *out;			/* the result; borrowed; may be `in` */
	uint32_t elements;
	uint32_t put;			/* number of elements copied into the
					 * ring */
	uint32_t got;			/* number of elements replaced by their
					 * results */
	uint16_t most, least;		/* largest and smallest number of
					 * contributions to a segment */
};

struct sync_ring {
	uint32_t elements;		/* length of the ring */
	float *grad[SYNC_RING_TURNS];	/* owned; by turn % SYNC_RING_TURNS */
	float *result[2];		/* owned; by iteration & 1 */
	uint64_t turn;			/* number of complete turns */
	uint32_t filled;		/* number of segments filled, from the
					 * start of the current turn on; at most
					 * two turns */
	uint32_t taken;			/* number of segments of the current
					 * turn whose results were copied to
					 * their pieces */
	/* a queue of pieces; each index counts up, modulo SYNC_RING_PIECES */
	struct sync_ring_piece piece[SYNC_RING_PIECES];
	uint32_t first;			/* oldest piece */
	uint32_t getting;		/* first piece that lacks results */
	uint32_t putting;		/* first piece that lacks segments */
	uint32_t end;			/* place of the next piece */
};

/*
 * Initialise a ring of `elements` elements, which is the length of the worker's
 * vector.  Returns false if there is no memory.
 */
static inline bool sync_ring_init(struct sync_ring *r, uint32_t elements);

/* Free the memory of the ring. */
static inline void sync_ring_free(struct sync_ring *r);

/*
 * May the caller add a piece?  It may if the ring has room for all earlier
 * pieces, and if there are fewer than SYNC_RING_PIECES pieces.
 */
static inline bool sync_ring_has_room(const struct sync_ring *r);

/*
 * Add a piece of n elements, whose gradient is at `in` and whose result the
 * ring writes to `out`; n is not 0.  sync_ring_has_room() must be true.
 */
static inline void sync_ring_add(struct sync_ring *r, const float *in,
    float *out, uint32_t n);

/*
 * Copy results that have arrived to their pieces, advance to the next turn, and
 * copy elements of waiting pieces into the ring, as far as possible.
 */
static inline void sync_ring_run(struct sync_ring *r, struct sync_worker *l,
    uint64_t now_ns);

/*
 * Remove the oldest piece if its result is complete, and store it in *p.
 * Returns false if there is none.  The result is the sum of p->most
 * contributions.
 */
static inline bool sync_ring_take(struct sync_ring *r,
    struct sync_ring_piece *p);

/* Return the number of pieces that sync_ring_take() has not returned yet. */
static inline uint32_t sync_ring_pieces(const struct sync_ring *r);

/* Return the vector from which the gradient of an iteration must be sent. */
static inline float *sync_ring_gradient(const struct sync_ring *r,
    const struct sync_worker *l, uint32_t iteration);

/*
 * Store result s, for which sync_worker_receive_result() has returned
 * SYNC_WORKER_TAKE.
 */
static inline void sync_ring_store(struct sync_ring *r,
    const struct sync_worker *l, const struct seg *s);

/* implementation */

static inline void
sync_ring_free(struct sync_ring *r)
{
	for (int i = 0; i < SYNC_RING_TURNS; i++)
		free(r->grad[i]);
	free(r->result[0]);
	free(r->result[1]);
	memset(r->grad, 0, sizeof(r->grad));
	memset(r->result, 0, sizeof(r->result));
}

static inline bool
sync_ring_init(struct sync_ring *r, uint32_t elements)
{
	bool good = true;

	*r = (struct sync_ring){ .elements = elements };
	for (int i = 0; i < SYNC_RING_TURNS; i++) {
		r->grad[i] = calloc(elements, sizeof(**r->grad));
		good = good && r->grad[i] != NULL;
	}
	for (int i = 0; i < 2; i++) {
		r->result[i] = calloc(elements, sizeof(**r->result));
		good = good && r->result[i] != NULL;
	}
	if (!good)
		sync_ring_free(r);
	return good;
}

static inline bool
sync_ring_has_room(const struct sync_ring *r)
{
	return r->putting == r->end && r->end - r->first < SYNC_RING_PIECES;
}

static inline void
sync_ring_add(struct sync_ring *r, const float *in, float *out, uint32_t n)
{
	assert(n > 0 && sync_ring_has_room(r));
	r->piece[r->end++ % SYNC_RING_PIECES] = (struct sync_ring_piece){
	    .in = in, .out = out, .elements = n };
}

static inline uint32_t
sync_ring_pieces(const struct sync_ring *r)
{
	return r->end - r->first;
}

static inline bool
sync_ring_take(struct sync_ring *r, struct sync_ring_piece *p)
{
	if (r->first == r->getting)
		return false;
	*p = r->piece[r->first++ % SYNC_RING_PIECES];
	return true;
}

static inline float *
sync_ring_gradient(const struct sync_ring *r, const struct sync_worker *l,
    uint32_t iteration)
{
	const uint64_t turn = r->turn +
	    (iteration == sync_worker_iteration(l) ? 0 : SYNC_RING_TURNS - 1);

	return r->grad[turn % SYNC_RING_TURNS];
}

static inline void
sync_ring_store(struct sync_ring *r, const struct sync_worker *l,
    const struct seg *s)
{
	memcpy(r->result[s->iteration & 1] + (size_t)s->index * l->floats,
	    s->vec, 4 * (size_t)s->n);
}

/*
 * Copy as many elements of piece p into the ring as the rest of one turn has
 * room for, and fill the rest of the last segment with zeros.
 */
static inline void
sync_ring_put(struct sync_ring *r, const struct sync_worker *l,
    struct sync_ring_piece *p)
{
	const uint64_t turn = r->turn + r->filled / l->segs;
	const uint32_t at = r->filled % l->segs * l->floats;
	const uint32_t left = p->elements - p->put, room = r->elements - at;
	const uint32_t n = left < room ? left : room;
	const uint32_t segs = (uint32_t)(((uint64_t)n + l->floats - 1) /
	    l->floats);
	float *to = r->grad[turn % SYNC_RING_TURNS] + at;

	memcpy(to, p->in + p->put, n * sizeof(*to));
	for (uint32_t i = n; i < room && i < segs * l->floats; i++)
		to[i] = 0;
	p->put += n;
	r->filled += segs;
}

/* Copy elements of waiting pieces into the ring while it has room. */
static inline void
sync_ring_fill(struct sync_ring *r, struct sync_worker *l, uint64_t now_ns)
{
	uint32_t n;

	while (r->putting != r->end && r->filled < 2 * l->segs) {
		struct sync_ring_piece *p =
		    &r->piece[r->putting % SYNC_RING_PIECES];

		sync_ring_put(r, l, p);
		r->putting += p->put == p->elements;
	}
	n = r->filled < l->segs ? r->filled : l->segs;
	if (n != l->filled)
		sync_worker_fill(l, n, now_ns);
}

static inline void
sync_ring_scale(float *vec, uint32_t n, float by)
{
	for (uint32_t i = 0; i < n; i++)
		vec[i] *= by;
}

/*
 * Copy n elements of a result to piece p.  If segments have different numbers
 * of contributions, scale all of them to the largest number.
 */
static inline void
sync_ring_get(struct sync_ring_piece *p, const float *from, uint32_t n,
    uint16_t contributions)
{
	float *to = p->out + p->got;

	memcpy(to, from, n * sizeof(*to));
	if (p->got == 0)
		p->most = p->least = contributions;
	if (contributions < p->most)
		sync_ring_scale(to, n, (float)p->most / contributions);
	if (contributions > p->most) {
		sync_ring_scale(p->out, p->got, (float)contributions / p->most);
		p->most = contributions;
	}
	p->least = contributions < p->least ? contributions : p->least;
	p->got += n;
}

/* Copy the results that have arrived, in order, to their pieces. */
static inline void
sync_ring_get_results(struct sync_ring *r, struct sync_worker *l)
{
	/* while the worker repeats the previous turn, l->t is that turn */
	const uint32_t here = l->redo ? 0 : sync_worker_find_missing(l, 0);

	for (; r->taken < here && r->taken < r->filled; r->taken++) {
		struct sync_ring_piece *p =
		    &r->piece[r->getting % SYNC_RING_PIECES];
		const uint32_t left = p->elements - p->got,
		    n = seg_floats_at(r->elements, l->floats, r->taken);

		sync_ring_get(p, r->result[l->t & 1] +
		    (size_t)r->taken * l->floats, left < n ? left : n,
		    sync_worker_contributions(l, r->taken));
		r->getting += p->got == p->elements;
	}
}

/* Advance to the next turn if the current turn is complete. */
static inline bool
sync_ring_advance(struct sync_ring *r, struct sync_worker *l, uint64_t now_ns)
{
	if (l->redo || r->taken < l->segs || !sync_worker_is_whole(l))
		return false;
	sync_worker_advance(l, now_ns);
	r->turn++;
	r->taken = 0;
	r->filled -= l->segs;
	return true;
}

static inline void
sync_ring_run(struct sync_ring *r, struct sync_worker *l, uint64_t now_ns)
{
	if (l->segs == 0)		/* the worker has not joined yet */
		return;
	do {
		sync_ring_fill(r, l, now_ns);
		sync_ring_get_results(r, l);
	} while (sync_ring_advance(r, l, now_ns));
}

#endif
