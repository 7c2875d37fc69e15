/*
 * sums.h - the segments of one job, being summed
 *
 * iSwitch section 3.2 to 3.4.  For each segment there are two slots, chosen by
 * the parity of the iteration (synchronous), or one that restarts at once
 * (asynchronous).  What a slot holds is written straight into the packet that
 * will carry the result: Seg and floats, one segment's packet behind the
 * other, so that a run of results is one stretch of memory.  Packets stand in
 * a ring of `depth` vectors by iteration; what is complete stays there until
 * its place is needed again, and answers whoever lost it.
 *
 * Iterations are counted here in 64 bits and never wrap: aggr_unwrap().
 * Who may add, when a slot is full and who hears of it is for job.h to say.
 * Owns its memory: aggr_free().
 */
#ifndef INNET_ISWITCH_SUMS_H
#define INNET_ISWITCH_SUMS_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/iswitch/reduce.h"
#include "common/wire/seg.h"

enum aggr_state {
	AGGR_EMPTY,
	AGGR_FILLING,
	AGGR_READY,		/* has all of H, waits for its vector */
	AGGR_SENT_UP,		/* a child's: waits for the parent */
	AGGR_COMPLETE
};

enum { AGGR_NONE = UINT32_MAX };

/* An iteration before any; the first of a job is AGGR_EPOCH + its `next`. */
#define AGGR_NEVER ((int64_t)0)
#define AGGR_EPOCH ((int64_t)1 << 40)

struct aggr_slot {
	int64_t iteration;
	uint64_t began_ns;	/* when it was restarted */
	uint64_t posted;	/* sent up: outbox round, 0 none */
	uint32_t accepted;	/* packets that count for H */
	uint32_t rows;		/* packets added */
	uint32_t n;		/* floats */
	uint32_t before, after;	/* in the list of filling slots */
	uint16_t contributions;	/* worker vectors inside, at most 65,535 */
	uint8_t state;		/* enum aggr_state */
};

/* What stands at a place of the ring. */
struct aggr_kept {
	int64_t iteration;	/* whose result; AGGR_NEVER: none yet */
	uint64_t posted;	/* outbox round, 0 none */
	uint32_t n;		/* floats */
};

/* What memory is laid out for. */
struct aggr_shape {
	uint32_t elements, floats, segs;
	uint32_t ways;		/* slots a segment: 2, or 1 asynchronous */
	uint32_t depth;		/* vectors in the ring */
	uint32_t apart;		/* 1: slots fill beside the ring */
	uint32_t words;		/* of 64 members in a bitmap; 0: none */
	uint32_t rows;		/* contributions kept, if they are kept */
};

struct aggr {
	struct aggr_shape s;
	struct reduce reduce;
	uint32_t stride;	/* bytes of a packet */
	size_t work_stride;	/* bytes of working memory of a slot */
	struct aggr_slot *slot;	/* ways x segs */
	uint64_t *bits;		/* ways x segs x words: who has added */
	uint8_t *packet;	/* (depth + apart) x segs x stride */
	struct aggr_kept *kept;	/* depth x segs */
	uint8_t *work;		/* ways x segs x work_stride */
	uint32_t oldest, newest;	/* ends of the list of filling slots */
	uint32_t filling;	/* its length */
	uint32_t *ready;	/* of way w: slots AGGR_READY */
	struct reduce_count count;
};

/* Iteration t of the wire, as the one nearest to `near`. */
static inline int64_t
aggr_unwrap(uint32_t t, int64_t near)
{
	uint32_t d = (t - (uint32_t)near) & (SEG_ITERATIONS - 1);

	return near + (d < SEG_ITERATIONS / 2 ? (int64_t)d :
	    (int64_t)d - SEG_ITERATIONS);
}

static inline bool
aggr_keeps_rows(const struct reduce *r)
{
	return r->kind != REDUCE_SUM && r->kind != REDUCE_FIXED;
}

/* Bytes of a slot's table that says whose row is whose. */
static inline size_t
aggr_table_bytes(const struct reduce *r, uint32_t rows)
{
	return aggr_keeps_rows(r) ?
	    ((size_t)rows * sizeof(uint32_t) + 31) & ~(size_t)31 : 0;
}

static inline size_t
aggr_work_bytes(const struct reduce *r, const struct aggr_shape *s)
{
	return (aggr_table_bytes(r, s->rows) +
	    reduce_work_bytes(r, s->rows, s->floats) + 31) & ~(size_t)31;
}

/* All the memory that a job of this shape takes, in bytes. */
static inline uint64_t
aggr_bytes(const struct reduce *r, const struct aggr_shape *s)
{
	const uint64_t slots = (uint64_t)s->ways * s->segs;
	const uint64_t stride = SEG_HEADER_BYTES + 4 * (uint64_t)s->floats;

	return slots * (sizeof(struct aggr_slot) + 8 * (uint64_t)s->words +
	    aggr_work_bytes(r, s)) + ((uint64_t)s->depth + s->apart) *
	    s->segs * stride + (uint64_t)s->depth * s->segs *
	    sizeof(struct aggr_kept);
}

static inline void
aggr_free(struct aggr *a)
{
	free(a->slot);
	free(a->bits);
	free(a->packet);
	free(a->kept);
	free(a->work);
	free(a->ready);
	*a = (struct aggr){ 0 };
}

/* Memory for shape s, all of it touched.  False without. */
static inline bool
aggr_init(struct aggr *a, const struct reduce *r, const struct aggr_shape *s)
{
	const size_t slots = (size_t)s->ways * s->segs;
	const size_t places = ((size_t)s->depth + s->apart) * s->segs;

	*a = (struct aggr){ 0 };
	if (aggr_bytes(r, s) > PTRDIFF_MAX)
		return false;
	*a = (struct aggr){ .s = *s, .reduce = *r, .oldest = AGGR_NONE,
	    .newest = AGGR_NONE,
	    .stride = SEG_HEADER_BYTES + 4 * s->floats,
	    .work_stride = aggr_work_bytes(r, s) };
	a->slot = calloc(slots, sizeof(*a->slot));
	a->bits = calloc(slots * s->words + 1, sizeof(*a->bits));
	a->packet = malloc(places * a->stride);
	a->kept = calloc((size_t)s->depth * s->segs, sizeof(*a->kept));
	a->ready = calloc(s->ways, sizeof(*a->ready));
	if (a->work_stride > 0)
		a->work = aligned_alloc(32, slots * a->work_stride);
	if (a->slot == NULL || a->bits == NULL || a->packet == NULL ||
	    a->kept == NULL || a->ready == NULL ||
	    (a->work_stride > 0 && a->work == NULL)) {
		aggr_free(a);
		return false;
	}
	memset(a->packet, 0, places * a->stride);
	if (a->work != NULL)
		memset(a->work, 0, slots * a->work_stride);
	return true;
}

static inline uint32_t
aggr_way(const struct aggr *a, int64_t t)
{
	return a->s.ways == 1 ? 0 : (uint32_t)(t & 1);
}

/* The number of the slot of segment i at iteration t. */
static inline uint32_t
aggr_at(const struct aggr *a, int64_t t, uint32_t i)
{
	return aggr_way(a, t) * a->s.segs + i;
}

static inline uint32_t
aggr_index(const struct aggr *a, uint32_t at)
{
	return at % a->s.segs;
}

/* The packet of segment i in the ring, where results of iteration t go. */
static inline uint8_t *
aggr_place(const struct aggr *a, int64_t t, uint32_t i)
{
	size_t turn = (size_t)(t % a->s.depth);

	return a->packet + (turn * a->s.segs + i) * a->stride;
}

/* The packet that slot `at` fills. */
static inline uint8_t *
aggr_packet(const struct aggr *a, uint32_t at)
{
	if (a->s.apart)
		return a->packet + ((size_t)a->s.depth * a->s.segs +
		    aggr_index(a, at)) * a->stride;
	return aggr_place(a, a->slot[at].iteration, aggr_index(a, at));
}

static inline struct aggr_kept *
aggr_kept(const struct aggr *a, int64_t t, uint32_t i)
{
	return &a->kept[(size_t)(t % a->s.depth) * a->s.segs + i];
}

/* Synchronous: the latest iteration of segment i that is complete. */
static inline int64_t
aggr_latest(const struct aggr *a, uint32_t i)
{
	int64_t t = AGGR_NEVER;

	for (uint32_t at = i; at < a->s.ways * a->s.segs; at += a->s.segs) {
		if (a->slot[at].state == AGGR_COMPLETE &&
		    a->slot[at].iteration > t)
			t = a->slot[at].iteration;
	}
	return t;
}

/*
 * The result of segment i at iteration t, if it is still there, or NULL.  A
 * synchronous job that keeps results keeps as many as there are places beside
 * the slots', of each segment.
 */
static inline const uint8_t *
aggr_result(const struct aggr *a, int64_t t, uint32_t i)
{
	if (t <= AGGR_NEVER || aggr_kept(a, t, i)->iteration != t)
		return NULL;
	if (a->s.ways == 2 && a->s.depth > 2 &&
	    t <= aggr_latest(a, i) - (int64_t)(a->s.depth - 2))
		return NULL;
	return aggr_place(a, t, i);
}

/* What stands at a place that aggr_result() or aggr_place() found. */
static inline struct aggr_kept *
aggr_kept_at(const struct aggr *a, const uint8_t *result)
{
	return &a->kept[(size_t)(result - a->packet) / a->stride];
}

/* Bytes of a result, which aggr_result() found. */
static inline uint32_t
aggr_result_bytes(const struct aggr *a, const uint8_t *result)
{
	return SEG_HEADER_BYTES + 4 * aggr_kept_at(a, result)->n;
}

static inline uint64_t *
aggr_bits(const struct aggr *a, uint32_t at)
{
	return a->bits + (size_t)at * a->s.words;
}

static inline bool
aggr_has(const struct aggr *a, uint32_t at, uint32_t member)
{
	return member / 64 < a->s.words &&
	    (aggr_bits(a, at)[member / 64] >> member % 64 & 1) != 0;
}

/*
 * Into the list of filling slots, which is in order of began_ns and, of one
 * time, of index.  No slot in it began later.
 */
static inline void
aggr_link(struct aggr *a, uint32_t at)
{
	struct aggr_slot *s = &a->slot[at];
	uint32_t before = a->newest, after = AGGR_NONE;

	while (before != AGGR_NONE && a->slot[before].began_ns ==
	    s->began_ns && aggr_index(a, before) > aggr_index(a, at)) {
		after = before;
		before = a->slot[before].before;
	}
	s->before = before;
	s->after = after;
	if (before != AGGR_NONE)
		a->slot[before].after = at;
	else
		a->oldest = at;
	if (after != AGGR_NONE)
		a->slot[after].before = at;
	else
		a->newest = at;
	a->filling++;
}

static inline void
aggr_unlink(struct aggr *a, uint32_t at)
{
	struct aggr_slot *s = &a->slot[at];

	if (s->before != AGGR_NONE)
		a->slot[s->before].after = s->after;
	else
		a->oldest = s->after;
	if (s->after != AGGR_NONE)
		a->slot[s->after].before = s->before;
	else
		a->newest = s->before;
	a->filling--;
}

/* A slot leaves the state it is in for another. */
static inline void
aggr_turn(struct aggr *a, uint32_t at, enum aggr_state to)
{
	struct aggr_slot *s = &a->slot[at];

	if (s->state == AGGR_FILLING)
		aggr_unlink(a, at);
	else if (s->state == AGGR_READY)
		a->ready[at / a->s.segs]--;
	s->state = (uint8_t)to;
	if (to == AGGR_FILLING)
		aggr_link(a, at);
	else if (to == AGGR_READY)
		a->ready[at / a->s.segs]++;
}

/*
 * Slot `at` begins at iteration t with n floats a packet, empty and filling.
 * Whatever stood at its place in the ring is gone; the caller has settled the
 * outbox.
 */
static inline void
aggr_restart(struct aggr *a, uint32_t at, int64_t t, uint32_t n,
    uint64_t now_ns)
{
	struct aggr_slot *s = &a->slot[at];

	s->iteration = t;
	s->began_ns = now_ns;
	s->posted = 0;
	s->accepted = s->rows = 0;
	s->contributions = 0;
	s->n = n;
	memset(aggr_bits(a, at), 0, a->s.words * sizeof(uint64_t));
	if (!a->s.apart)
		*aggr_kept(a, t, aggr_index(a, at)) = (struct aggr_kept){ 0 };
	aggr_turn(a, at, AGGR_FILLING);
}

static inline uint8_t *
aggr_work(const struct aggr *a, uint32_t at)
{
	return a->work == NULL ? NULL : a->work + at * a->work_stride;
}

/* Is there room for one row more?  If not, aggr_reshape() makes some. */
static inline bool
aggr_has_room(const struct aggr *a, uint32_t at)
{
	return !aggr_keeps_rows(&a->reduce) ||
	    a->slot[at].rows < a->s.rows;
}

/*
 * Add a contribution of member to the filling slot `at`, which has room for
 * it; vec holds the slot's n floats.
 */
static inline void
aggr_add(struct aggr *a, uint32_t at, uint32_t member, const uint8_t *vec,
    uint16_t contributions)
{
	struct aggr_slot *s = &a->slot[at];
	uint8_t *work = aggr_work(a, at), *out = aggr_packet(a, at);
	const size_t table = aggr_table_bytes(&a->reduce, a->s.rows);

	assert(s->state == AGGR_FILLING && aggr_has_room(a, at));
	if (table > 0)
		memcpy(work + s->rows * sizeof(member), &member,
		    sizeof(member));
	if (work != NULL)
		work += table;
	if (s->rows == 0)
		reduce_first(&a->reduce, out + SEG_HEADER_BYTES, work, s->n,
		    vec, &a->count);
	else
		reduce_add(&a->reduce, out + SEG_HEADER_BYTES, work, s->rows,
		    s->n, vec, &a->count);
	if (member / 64 < a->s.words)
		aggr_bits(a, at)[member / 64] |= (uint64_t)1 << member % 64;
	s->rows++;
	s->accepted++;
	s->contributions = (uint16_t)(s->contributions + contributions >
	    UINT16_MAX ? UINT16_MAX : s->contributions + contributions);
}

/*
 * The rows of slot `at` in the order of their members' ranks (rank[member]),
 * in order[], which has room for them; rows of one member stay as they came.
 */
static inline void
aggr_order(const struct aggr *a, uint32_t at, const uint32_t *rank,
    uint32_t *order)
{
	const uint32_t rows = a->slot[at].rows;
	const uint8_t *table = aggr_work(a, at);
	uint32_t member;

	for (uint32_t k = 0; k < rows; k++) {
		uint32_t r, j = k;

		memcpy(&member, table + k * sizeof(member), sizeof(member));
		r = rank[member];
		for (; j > 0; j--) {	/* few, and mostly in order */
			memcpy(&member, table + order[j - 1] * sizeof(member),
			    sizeof(member));
			if (rank[member] <= r)
				break;
			order[j] = order[j - 1];
		}
		order[j] = k;
	}
}

/*
 * Make the result of slot `at` from its contributions, in the packet that it
 * fills; order is of its rows, and not used by sum and fixed.
 */
static inline void
aggr_finish(struct aggr *a, uint32_t at, const uint32_t *order)
{
	struct aggr_slot *s = &a->slot[at];
	uint8_t *work = aggr_work(a, at), *out = aggr_packet(a, at);

	if (work != NULL)
		work += aggr_table_bytes(&a->reduce, a->s.rows);
	reduce_finish(&a->reduce, out + SEG_HEADER_BYTES, work, s->rows, order,
	    s->n, s->contributions, &a->count);
	seg_put(out, (uint32_t)(s->iteration & (SEG_ITERATIONS - 1)),
	    s->contributions, aggr_index(a, at));
}

/* What stands in the ring for segment i at t is the result, of n floats. */
static inline void
aggr_keep(struct aggr *a, int64_t t, uint32_t i, uint32_t n, uint64_t posted)
{
	*aggr_kept(a, t, i) = (struct aggr_kept){ t, posted, n };
}

/* Copy what a holds into the larger b: slots, bitmaps, rows, results. */
static inline void
aggr_copy(struct aggr *b, const struct aggr *a)
{
	for (uint32_t at = a->oldest; at != AGGR_NONE; at = a->slot[at].after) {
		const uint32_t to = at / a->s.segs * b->s.segs +
		    aggr_index(a, at);

		b->slot[to].began_ns = a->slot[at].began_ns;
		aggr_link(b, to);
	}
	for (uint32_t from = 0; from < a->s.ways * a->s.segs; from++) {
		const uint32_t way = from / a->s.segs, i = from % a->s.segs;
		const uint32_t at = way * b->s.segs + i;
		const size_t ta = aggr_table_bytes(&a->reduce, a->s.rows);
		const size_t tb = aggr_table_bytes(&b->reduce, b->s.rows);
		struct aggr_slot *s = &b->slot[at];
		uint32_t before = s->before, after = s->after;

		*s = a->slot[from];
		s->before = before;
		s->after = after;
		memcpy(aggr_bits(b, at), aggr_bits(a, from),
		    a->s.words * sizeof(uint64_t));
		if (s->state == AGGR_EMPTY)
			continue;
		memcpy(aggr_packet(b, at), aggr_packet(a, from), a->stride);
		if (a->work == NULL)
			continue;
		memcpy(aggr_work(b, at), aggr_work(a, from), ta);
		memcpy(aggr_work(b, at) + tb, aggr_work(a, from) + ta,
		    reduce_work_bytes(&a->reduce, s->rows, s->n));
	}
	for (size_t k = 0; k < (size_t)a->s.depth * a->s.segs; k++) {
		const int64_t t = a->kept[k].iteration;
		const uint32_t i = (uint32_t)(k % a->s.segs);

		if (t == AGGR_NEVER)
			continue;
		memcpy(aggr_place(b, t, i), aggr_place(a, t, i), a->stride);
		*aggr_kept(b, t, i) = a->kept[k];
	}
	memcpy(b->ready, a->ready, a->s.ways * sizeof(*b->ready));
	b->count = a->count;
}

/*
 * Lay the memory out for the larger shape s, and keep all that is there.
 * False without memory, and then nothing has changed.  The caller has settled
 * the outbox.  Nothing of s may be smaller than it was.
 */
static inline bool
aggr_reshape(struct aggr *a, const struct aggr_shape *s)
{
	struct aggr b;

	assert(s->segs >= a->s.segs && s->floats >= a->s.floats &&
	    s->depth >= a->s.depth && s->words >= a->s.words &&
	    s->rows >= a->s.rows && s->ways == a->s.ways &&
	    s->apart == a->s.apart);
	if (!aggr_init(&b, &a->reduce, s))
		return false;
	aggr_copy(&b, a);
	aggr_free(a);
	*a = b;
	return true;
}

/*
 * What member has given to slots of iteration `from` and later is no longer,
 * or again, of those that count for H.
 */
static inline void
aggr_recount(struct aggr *a, uint32_t member, int64_t from, int by)
{
	for (uint32_t at = a->oldest; at != AGGR_NONE; at = a->slot[at].after) {
		if (a->slot[at].iteration >= from && aggr_has(a, at, member))
			a->slot[at].accepted += (uint32_t)by;
	}
}

#endif
