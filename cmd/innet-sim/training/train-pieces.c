/* train-pieces.c - workers with a ring of segments; see train-pieces.h */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/innet-sim/training/train-pieces.h"
#include "common/base/message.h"

enum {
	PIECES = 4,	/* largest number of pieces in an iteration */
	RINGS = 3	/* a piece is shorter than this number of rings */
};

struct train_pieces {
	struct sync_ring ring;
	struct rng lengths;	/* the same numbers at all workers */
	uint32_t left;		/* number of pieces of this iteration that have
				 * not been added */
	uint32_t added, checked;	/* number of pieces, in total */
};

void
train_pieces_open(const struct sim *s, struct train_worker *w)
{
	w->pieces = sim_alloc(1, sizeof(*w->pieces), "rings");
	if (!sync_ring_init(&w->pieces->ring, w->t->segs * w->t->carried))
		err(1, "no memory for rings");
	w->pieces->lengths = rng_seed(s->seed ^ 0x706965636573);
}

void
train_pieces_free(struct train_worker *w)
{
	if (w->pieces == NULL)
		return;
	for (uint32_t i = w->pieces->ring.first; i != w->pieces->ring.end; i++)
		free(w->pieces->ring.piece[i % SYNC_RING_PIECES].out);
	sync_ring_free(&w->pieces->ring);
	free(w->pieces);
	w->pieces = NULL;
}

/*
 * Return the segment of the ledger whose gradients are in segment i of piece k.
 * A piece has the segments of RINGS iterations of the ledger.
 */
static struct seg
name_segment(const struct train_worker *w, uint32_t k, uint32_t i)
{
	return (struct seg){ .iteration = k * RINGS + i / w->t->segs,
	    .index = i % w->t->segs, .n = LEDGER_FLOATS };
}

/*
 * Draw the length of a piece, in floats of simulated segments.  The last
 * segment of a piece may have only one of the two floats of the ledger.
 */
static uint32_t
draw_length(struct train_worker *w)
{
	const uint32_t ring = w->t->segs * LEDGER_FLOATS;
	struct rng *r = &w->pieces->lengths;

	return 1 + (uint32_t)rng_below(r, rng_below(r, 4) == 0 ?
	    RINGS * ring - 1 : ring);
}

/* Add the next piece: a random vector of the ledger, or a vector of ones. */
static void
add_piece(struct train_worker *w)
{
	struct train_pieces *p = w->pieces;
	const bool checked = w->t->ledger != NULL;
	const uint32_t n = checked ? draw_length(w) :
	    seg_count(training_elements(w->t->cf), w->t->floats);
	float *vec = sim_alloc(n + 1, sizeof(*vec), "pieces");

	for (uint32_t i = 0; i < n && !checked; i++)
		vec[i] = 1;
	for (uint32_t i = 0; i < n && checked; i += LEDGER_FLOATS) {
		const struct seg g = name_segment(w, p->added,
		    i / LEDGER_FLOATS);

		ledger_put(w->t->ledger, w->id, g.iteration, g.index,
		    (uint8_t *)(vec + i));
	}
	sync_ring_add(&p->ring, vec, vec, n);
	p->added++;
	p->left--;
}

/* Check a sum of vectors of ones. */
static void
count_wrong_ones(const struct train_worker *w, const struct sync_ring_piece *p)
{
	bool right = p->least == p->most;

	for (uint32_t i = 0; i < p->elements; i++)
		right = right && p->out[i] == (float)p->most;
	w->t->n[TRAIN_WRONG] += !right;
}

/* Check the sum of a piece: each element of each worker is in it once. */
static void
check_piece(struct sim *s, const struct train_worker *w,
    const struct sync_ring_piece *p)
{
	const uint64_t results = w->t->ledger->results;
	const char *why = p->least == p->most ? NULL :
	    "segments have different numbers of contributions";
	uint32_t i = 0;

	for (; i + 1 < p->elements && why == NULL; i += LEDGER_FLOATS) {
		struct seg g = name_segment(w, w->pieces->checked,
		    i / LEDGER_FLOATS);

		g.contributions = p->most;
		g.vec = (const uint8_t *)(p->out + i);
		why = ledger_check(w->t->ledger, w->id, &g);
	}
	if (i > 0 && i < p->elements && why == NULL &&
	    memcmp(p->out, p->out + i, sizeof(float)) != 0)
		why = "the last element is wrong";
	w->t->ledger->results = results;	/* they were counted when they
						 * arrived */
	if (why != NULL)
		sim_report_wrong(s, "sum: %s: %s: piece %" PRIu32 ", element %"
		    PRIu32 " of %" PRIu32, w->node->name, why,
		    w->pieces->checked, i, p->elements);
}

void
train_pieces_run(struct sim *s, struct train_worker *w)
{
	struct train_pieces *p = w->pieces;
	struct sync_ring_piece done;

	sync_ring_run(&p->ring, &w->l, s->now_ns);
	for (; sync_ring_take(&p->ring, &done); p->checked++) {
		if (w->t->ledger != NULL)
			check_piece(s, w, &done);
		else
			count_wrong_ones(w, &done);
		free(done.out);
	}
	while (p->left > 0 && sync_ring_has_room(&p->ring)) {
		add_piece(w);
		sync_ring_run(&p->ring, &w->l, s->now_ns);
	}
}

void
train_pieces_add(struct sim *s, struct train_worker *w)
{
	w->pieces->left = w->t->ledger == NULL ? 1 :
	    1 + (uint32_t)rng_below(&w->pieces->lengths, PIECES);
	train_pieces_run(s, w);
}

bool
train_pieces_has(const struct train_worker *w)
{
	return w->pieces->left == 0 && sync_ring_pieces(&w->pieces->ring) == 0;
}

void
train_pieces_put(const struct train_worker *w, uint32_t iteration, uint32_t i,
    uint8_t *vec)
{
	const uint32_t n = w->t->carried;

	memcpy(vec, sync_ring_gradient(&w->pieces->ring, &w->l, iteration) +
	    (size_t)i * n, 4 * (size_t)n);
}

void
train_pieces_store(struct train_worker *w, const struct seg *g)
{
	sync_ring_store(&w->pieces->ring, &w->l, g);
	if (w->t->ledger != NULL)
		w->t->ledger->results++;
}
