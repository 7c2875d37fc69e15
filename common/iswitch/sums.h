/*
 * sums.h - the sums of the segments of one job, and their memory
 *
 * This file implements sections 3.2 to 3.4 of iSwitch.  In a synchronous job,
 * each segment has two slots (ways), one for even and one for odd iterations.
 * In an asynchronous job, each segment has one slot, which can begin the next
 * round immediately.  The sum of a slot is computed inside the packet that will
 * carry the result.  This packet consists of a Seg and floats.  The packets of
 * a vector lie one after another, so a run of results is contiguous in memory.
 * The packets form a ring of `depth` vectors, one for each recent iteration.  A
 * result stays in the ring until its place is needed again, so that a member
 * that did not receive the result can still get it.
 *
 * A switch may have less memory than a vector needs (section 3.1).  In that
 * case there are only 2 * span slots.  If the segments of all iterations are
 * numbered consecutively, segment n shares its slot with segments n - 2 * span
 * and n + 2 * span.  Older results are not kept.
 *
 * Iterations have 64 bits and never wrap (sums_unwrap()).  job.h determines
 * which members may contribute, when a slot is complete and where the result is
 * sent.  sums_free() frees the memory.
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

enum sums_state {
	SUMS_EMPTY,
	SUMS_FILLING,
	SUMS_READY,		/* the slot has H contributions, but other slots
				 * of its vector do not */
	SUMS_SENT_UP,		/* only if the switch has a parent: the slot
				 * waits for the result from the parent */
	SUMS_COMPLETE
};

enum { SUMS_NONE = UINT32_MAX };

/*
 * SUMS_NEVER is less than every iteration.  The first iteration of a job is
 * SUMS_EPOCH plus the value of `next` in the job's first Join.
 */
#define SUMS_NEVER ((int64_t)0)
#define SUMS_EPOCH ((int64_t)1 << 40)

struct sums_slot {
	int64_t iteration;
	uint64_t began_ns;	/* time when the slot began its iteration */
	uint64_t posted; /* outbox round in which the sum of the slot was sent
			  * to the parent; 0: none */
	uint32_t accepted;	/* number of packets in the sum that count
				 * towards H */
	uint32_t rows;		/* number of packets in the sum */
	uint32_t n;		/* number of floats in the segment */
	uint32_t index;		/* index of the segment */
	uint32_t before, after;	/* previous and next slot in the list of filling
				 * slots */
	uint16_t contributions;	/* number of worker vectors in the sum, at most
				 * 65,535 */
	uint8_t state;		/* enum sums_state */
	/*
	 * 1 + the time, in ms, when members were last asked for the segment; 0:
	 * never
	 */
	uint32_t asked_ms;
};

/* The description of the result at one place of the ring. */
struct sums_kept {
	int64_t iteration;	/* SUMS_NEVER: no result yet */
	uint64_t posted;	/* outbox round in which the result was sent; 0:
				 * none */
	uint32_t index;		/* index of the segment */
	uint32_t n;		/* number of floats */
	uint32_t done;		/* serial number of the completed segment */
};

/* The layout of the memory. */
struct sums_shape {
	uint32_t elements, floats, segs;
	uint32_t ways;		/* number of slots of a segment: 1 if the job is
				 * asynchronous and the switch has no parent,
				 * otherwise 2 */
	uint32_t depth;		/* number of vectors in the ring */
	uint32_t apart; /* 2: slots have packets outside the ring; 0: slots have
			 * no packets of their own */
	uint32_t words;		/* number of words in a bitmap; each word is for
				 * 64 members; 0: no bitmaps */
	uint32_t rows;		/* number of contributions that a slot can keep,
				 * if contributions are kept */
	uint32_t span;		/* number of slots of a way if there are fewer
				 * slots than segments (then `ways` is 2 and
				 * `apart` is 0); otherwise 0 */
	uint32_t tag_bytes;	/* number of bytes of the tag after the Seg of a
				 * packet; 0: no tag */
};

struct sums {
	struct sums_shape s;
	struct reduce reduce;
	uint32_t stride;	/* number of bytes in a packet */
	size_t work_stride;	/* number of bytes of working memory of a
				 * slot */
	struct sums_slot *slot;	/* array of sums_slots() slots */
	uint64_t *bits;		/* for each slot, a bitmap of `words` words: the
				 * members that have contributed to the slot */
	uint8_t *packet;	/* a packet for each place in the ring and, if
				 * `apart` is set, for each slot */
	struct sums_kept *kept;	/* by place in the ring: description of the
				 * result */
	uint8_t *work;		/* working memory: work_stride bytes for each
				 * slot */
	uint32_t oldest, newest;	/* first and last slot of the list of
					 * filling slots */
	uint32_t filling;	/* number of slots in the list of filling
				 * slots */
	uint32_t *ready;	/* by way: number of slots in state
				 * SUMS_READY */
	struct reduce_count count;
};

/*
 * Return the 64-bit iteration nearest to `near` that has the number t in
 * packets.
 */
static inline int64_t sums_unwrap(uint32_t t, int64_t near);

/* Return the number of bytes before the floats of a packet. */
static inline uint32_t sums_head_bytes(const struct sums_shape *s);

/* Does reduction r keep all contributions until it computes the result? */
static inline bool sums_keeps_rows(const struct reduce *r);

/* Return the number of slots of shape s. */
static inline uint64_t sums_slots(const struct sums_shape *s);

/*
 * Return the number of packets of shape s: those in the ring and, if `apart` is
 * set, those in the slots.
 */
static inline uint64_t sums_packets(const struct sums_shape *s);

/* Return the number of bytes of memory that a job of shape s needs in all. */
static inline uint64_t sums_bytes(const struct reduce *r,
    const struct sums_shape *s);

/*
 * Allocate memory of shape s and write to all of its pages.  Returns false if
 * there is no memory.
 */
static inline bool sums_init(struct sums *a, const struct reduce *r,
    const struct sums_shape *s);

/*
 * Enlarge the memory to shape s and keep all sums.  If there is no memory,
 * change nothing and return false.  The caller must have flushed the outbox.
 */
static inline bool sums_reshape(struct sums *a, const struct sums_shape *s);

/* Free the memory. */
static inline void sums_free(struct sums *a);

/* Return the slot of segment i at iteration t. */
static inline uint32_t sums_at(const struct sums *a, int64_t t, uint32_t i);

/* Return the index of the segment in slot `at`. */
static inline uint32_t sums_slot_index(const struct sums *a, uint32_t at);

/*
 * Compare the content of slot `at`, which is the slot of segment i at iteration
 * t, with that segment.  Returns -1 if the content is older than the segment, 1
 * if it is newer, and 0 if it is the sum of this segment.
 */
static inline int sums_compare(const struct sums *a, uint32_t at, int64_t t,
    uint32_t i);

/*
 * Has the sum of segment i at iteration t been completed?  It has if its slot
 * contains this sum, complete, or a later one.
 */
static inline bool sums_is_complete(const struct sums *a, int64_t t,
    uint32_t i);

/*
 * May segment i of iteration t use its slot?  It may if the segment that used
 * the slot before is complete.  Iterations before `fresh` count as complete.
 */
static inline bool sums_may_begin(const struct sums *a, int64_t fresh,
    int64_t t, uint32_t i);

/*
 * Begin iteration t in slot `at`, with no contributions and with n floats in
 * the packet of the slot.  The old result in the slot is lost.  The caller must
 * have flushed the outbox.
 */
static inline void sums_restart_slot(struct sums *a, uint32_t at, int64_t t,
    uint32_t n, uint64_t now_ns);

/* Remove all contributions from slot `at`. */
static inline void sums_clear_slot(struct sums *a, uint32_t at);

/* Set the state of slot `at`. */
static inline void sums_set_state(struct sums *a, uint32_t at,
    enum sums_state to);

/*
 * Restart the timer of slot `at`, which is filling, as if the slot had begun
 * now.
 */
static inline void sums_restart_timer(struct sums *a, uint32_t at,
    uint64_t now_ns);

/*
 * Does slot `at` have room for another row?  If not, the caller makes room with
 * sums_reshape().
 */
static inline bool sums_has_room(const struct sums *a, uint32_t at);

/*
 * Add the floats at vec, which are a contribution of `member`, to slot `at`,
 * which is filling.  The slot must have room.
 */
static inline void sums_add_vector(struct sums *a, uint32_t at, uint32_t member,
    const uint8_t *vec, uint16_t contributions);

/* Has `member` contributed to slot `at`? */
static inline bool sums_has(const struct sums *a, uint32_t at, uint32_t member);

/*
 * If `by` is 1, count the contributions of `member` from iteration `from` on
 * towards H again.  If `by` is -1, no longer count these contributions.
 */
static inline void sums_recount_member(struct sums *a, uint32_t member,
    int64_t from, int by);

/*
 * Write the numbers of the rows of slot `at` to order[], sorted by the rank of
 * their members.  order[] must have room for all rows.  Rows of the same member
 * stay in order of arrival.
 */
static inline void sums_order_rows(const struct sums *a, uint32_t at,
    const uint32_t *rank, uint32_t *order);

/*
 * Combine the contributions of slot `at` and write the result to the packet of
 * the slot.  The kinds `sum` and `fixed` ignore the order of the rows.
 */
static inline void sums_finish_slot(struct sums *a, uint32_t at,
    const uint32_t *order);

/* Record that the packet of segment i at t contains a result of n floats. */
static inline void sums_record_result( struct sums *a, int64_t t, uint32_t i,
    uint32_t n, uint64_t posted);

/* Return the packet that slot `at` fills. */
static inline uint8_t *sums_slot_packet(const struct sums *a, uint32_t at);

/* Return the packet in the ring for the result of segment i at t. */
static inline uint8_t *sums_ring_packet(const struct sums *a, int64_t t,
    uint32_t i);

/* Return the ring's description of the result of segment i at t. */
static inline struct sums_kept *sums_kept(const struct sums *a, int64_t t,
    uint32_t i);

/*
 * Return the packet with the result of segment i at t, or NULL if the result is
 * no longer kept.
 */
static inline const uint8_t *sums_find_result(const struct sums *a, int64_t t,
    uint32_t i);

/* Return the description of `result`, a packet in the ring. */
static inline struct sums_kept *sums_entry_of(const struct sums *a,
    const uint8_t *result);

/* Return the length, in bytes, of a packet that sums_find_result() returned. */
static inline uint32_t sums_result_bytes(const struct sums *a,
    const uint8_t *result);

/* implementation */

static inline uint32_t
sums_head_bytes(const struct sums_shape *s)
{
	return SEG_HEADER_BYTES + s->tag_bytes;
}

static inline int64_t
sums_unwrap(uint32_t t, int64_t near)
{
	return seg_unwrap(t, near);
}

static inline bool
sums_keeps_rows(const struct reduce *r)
{
	return r->kind != REDUCE_SUM && r->kind != REDUCE_FIXED;
}

/*
 * Return the size, in bytes, of the table in which a slot records the member of
 * each row.
 */
static inline size_t
sums_table_bytes(const struct reduce *r, uint32_t rows)
{
	return sums_keeps_rows(r) ?
	    ((size_t)rows * sizeof(uint32_t) + 31) & ~(size_t)31 : 0;
}

/* Return the number of bytes of working memory of a slot. */
static inline size_t
sums_work_bytes(const struct reduce *r, const struct sums_shape *s)
{
	return (sums_table_bytes(r, s->rows) +
	    reduce_work_bytes(r, s->rows, s->floats) + 31) & ~(size_t)31;
}

static inline uint64_t
sums_slots(const struct sums_shape *s)
{
	return (uint64_t)s->ways * (s->span != 0 ? s->span : s->segs);
}

/* Return the number of places in the ring. */
static inline uint64_t
sums_places(const struct sums_shape *s)
{
	return s->span != 0 ? sums_slots(s) : (uint64_t)s->depth * s->segs;
}

static inline uint64_t
sums_packets(const struct sums_shape *s)
{
	return sums_places(s) + (uint64_t)s->apart * s->segs;
}

static inline uint64_t
sums_bytes(const struct reduce *r, const struct sums_shape *s)
{
	const uint64_t stride = sums_head_bytes(s) + 4 * (uint64_t)s->floats;

	return sums_slots(s) * (sizeof(struct sums_slot) +
	    8 * (uint64_t)s->words + sums_work_bytes(r, s)) +
	    sums_packets(s) * stride +
	    sums_places(s) * sizeof(struct sums_kept);
}

static inline void
sums_free(struct sums *a)
{
	free(a->slot);
	free(a->bits);
	free(a->packet);
	free(a->kept);
	free(a->work);
	free(a->ready);
	*a = (struct sums){ 0 };
}

static inline bool
sums_init(struct sums *a, const struct reduce *r, const struct sums_shape *s)
{
	const size_t slots = sums_slots(s), packets = sums_packets(s);

	*a = (struct sums){ 0 };
	if (sums_bytes(r, s) > PTRDIFF_MAX)
		return false;
	*a = (struct sums){ .s = *s, .reduce = *r, .oldest = SUMS_NONE,
	    .newest = SUMS_NONE,
	    .stride = sums_head_bytes(s) + 4 * s->floats,
	    .work_stride = sums_work_bytes(r, s) };
	a->slot = calloc(slots, sizeof(*a->slot));
	a->bits = calloc(slots * s->words + 1, sizeof(*a->bits));
	a->packet = malloc(packets * a->stride);
	a->kept = calloc(sums_places(s), sizeof(*a->kept));
	a->ready = calloc(s->ways, sizeof(*a->ready));
	if (a->work_stride > 0)
		a->work = aligned_alloc(32, slots * a->work_stride);
	if (a->slot == NULL || a->bits == NULL || a->packet == NULL ||
	    a->kept == NULL || a->ready == NULL ||
	    (a->work_stride > 0 && a->work == NULL)) {
		sums_free(a);
		return false;
	}
	memset(a->packet, 0, packets * a->stride);
	if (a->work != NULL)
		memset(a->work, 0, slots * a->work_stride);
	for (size_t at = 0; at < slots && s->span == 0; at++)
		a->slot[at].index = (uint32_t)(at % s->segs);
	return true;
}

/*
 * Return the way of iteration t, which selects one of the slots of a segment.
 */
static inline uint32_t
sums_slot_way(const struct sums *a, int64_t t)
{
	return a->s.ways == 1 ? 0 : (uint32_t)(t & 1);
}

static inline uint32_t
sums_at(const struct sums *a, int64_t t, uint32_t i)
{
	if (a->s.span == 0)
		return sums_slot_way(a, t) * a->s.segs + i;
	return (uint32_t)(((uint64_t)(t - SUMS_EPOCH / 2) * a->s.segs + i) %
	    (2 * a->s.span));
}

static inline uint32_t
sums_slot_index(const struct sums *a, uint32_t at)
{
	return a->slot[at].index;
}

static inline int
sums_compare(const struct sums *a, uint32_t at, int64_t t, uint32_t i)
{
	const struct sums_slot *s = &a->slot[at];

	if (s->state == SUMS_EMPTY || s->iteration < t)
		return -1;
	if (s->iteration > t)
		return 1;
	return s->index < i ? -1 : s->index > i;
}

static inline bool
sums_is_complete(const struct sums *a, int64_t t, uint32_t i)
{
	const uint32_t at = sums_at(a, t, i);
	const int is = sums_compare(a, at, t, i);

	return is > 0 || (is == 0 && a->slot[at].state == SUMS_COMPLETE);
}

/*
 * Return the index of the segment that used the slot before segment i of *t,
 * and set *t to the iteration of that segment.
 */
static inline uint32_t
sums_previous_segment(const struct sums *a, int64_t *t, uint32_t i)
{
	const uint32_t span = a->s.span != 0 ? a->s.span : a->s.segs;

	if (i >= span)
		return i - span;
	--*t;
	return i + a->s.segs - span;
}

static inline bool
sums_may_begin(const struct sums *a, int64_t fresh, int64_t t, uint32_t i)
{
	const uint32_t k = sums_previous_segment(a, &t, i);
	const uint32_t at = sums_at(a, t, k);

	return t < fresh || (a->slot[at].state == SUMS_COMPLETE &&
	    sums_compare(a, at, t, k) == 0);
}

/* Return the index of the place in the ring for segment i at t. */
static inline size_t
sums_ring_index(const struct sums *a, int64_t t, uint32_t i)
{
	return a->s.span != 0 ? sums_at(a, t, i) :
	    (size_t)(t % a->s.depth) * a->s.segs + i;
}

static inline uint8_t *
sums_ring_packet(const struct sums *a, int64_t t, uint32_t i)
{
	return a->packet + sums_ring_index(a, t, i) * a->stride;
}

static inline uint8_t *
sums_slot_packet(const struct sums *a, uint32_t at)
{
	if (a->s.apart)
		return a->packet + ((size_t)a->s.depth * a->s.segs + at) *
		    a->stride;
	return sums_ring_packet(a, a->slot[at].iteration,
	    sums_slot_index(a, at));
}

static inline struct sums_kept *
sums_kept(const struct sums *a, int64_t t, uint32_t i)
{
	return &a->kept[sums_ring_index(a, t, i)];
}

/* Synchronous job: return the latest complete iteration of segment i. */
static inline int64_t
sums_latest_complete(const struct sums *a, uint32_t i)
{
	int64_t t = SUMS_NEVER;

	for (uint32_t at = i; at < a->s.ways * a->s.segs; at += a->s.segs) {
		if (a->slot[at].state == SUMS_COMPLETE &&
		    a->slot[at].iteration > t)
			t = a->slot[at].iteration;
	}
	return t;
}

static inline const uint8_t *
sums_find_result(const struct sums *a, int64_t t, uint32_t i)
{
	if (t <= SUMS_NEVER || sums_kept(a, t, i)->iteration != t ||
	    sums_kept(a, t, i)->index != i)
		return NULL;
	if (a->s.ways == 2 && !a->s.apart && a->s.depth > 2 &&
	    t <= sums_latest_complete(a, i) - (int64_t)(a->s.depth - 2))
		return NULL;
	return sums_ring_packet(a, t, i);
}

static inline struct sums_kept *
sums_entry_of(const struct sums *a, const uint8_t *result)
{
	return &a->kept[(size_t)(result - a->packet) / a->stride];
}

static inline uint32_t
sums_result_bytes(const struct sums *a, const uint8_t *result)
{
	return sums_head_bytes(&a->s) + 4 * sums_entry_of(a, result)->n;
}

/* Return the bitmap of the members that have contributed to slot `at`. */
static inline uint64_t *
sums_slot_bits(const struct sums *a, uint32_t at)
{
	return a->bits + (size_t)at * a->s.words;
}

static inline bool
sums_has(const struct sums *a, uint32_t at, uint32_t member)
{
	return member / 64 < a->s.words &&
	    (sums_slot_bits(a, at)[member / 64] >> member % 64 & 1) != 0;
}

/*
 * Insert slot `at` into the list of filling slots, which is ordered by
 * began_ns, then by index.  No slot in the list may have begun later than slot
 * `at`.
 */
static inline void
sums_link(struct sums *a, uint32_t at)
{
	struct sums_slot *s = &a->slot[at];
	uint32_t before = a->newest, after = SUMS_NONE;

	while (before != SUMS_NONE && a->slot[before].began_ns == s->began_ns &&
	       sums_slot_index(a, before) > sums_slot_index(a, at)) {
		after = before;
		before = a->slot[before].before;
	}
	s->before = before;
	s->after = after;
	if (before != SUMS_NONE)
		a->slot[before].after = at;
	else
		a->oldest = at;
	if (after != SUMS_NONE)
		a->slot[after].before = at;
	else
		a->newest = at;
	a->filling++;
}

/* Remove a slot from the list of filling slots. */
static inline void
sums_unlink(struct sums *a, uint32_t at)
{
	struct sums_slot *s = &a->slot[at];

	if (s->before != SUMS_NONE)
		a->slot[s->before].after = s->after;
	else
		a->oldest = s->after;
	if (s->after != SUMS_NONE)
		a->slot[s->after].before = s->before;
	else
		a->newest = s->before;
	a->filling--;
}

static inline void
sums_set_state(struct sums *a, uint32_t at, enum sums_state to)
{
	struct sums_slot *s = &a->slot[at];

	if (s->state == SUMS_FILLING)
		sums_unlink(a, at);
	else if (s->state == SUMS_READY)
		a->ready[at / a->s.segs]--;
	s->state = (uint8_t)to;
	if (to == SUMS_FILLING)
		sums_link(a, at);
	else if (to == SUMS_READY)
		a->ready[at / a->s.segs]++;
}

static inline void
sums_restart_timer(struct sums *a, uint32_t at, uint64_t now_ns)
{
	sums_unlink(a, at);
	a->slot[at].began_ns = now_ns;
	sums_link(a, at);
}

static inline void
sums_clear_slot(struct sums *a, uint32_t at)
{
	struct sums_slot *s = &a->slot[at];

	s->posted = 0;
	s->accepted = s->rows = 0;
	s->contributions = 0;
	s->asked_ms = 0;
	memset(sums_slot_bits(a, at), 0, a->s.words * sizeof(uint64_t));
	if (!a->s.apart)
		*sums_kept(a, s->iteration, sums_slot_index(a, at)) =
		    (struct sums_kept){ 0 };
}

static inline void
sums_restart_slot(struct sums *a, uint32_t at, int64_t t, uint32_t n,
    uint64_t now_ns)
{
	struct sums_slot *s = &a->slot[at];

	s->iteration = t;
	s->began_ns = now_ns;
	s->n = n;
	sums_clear_slot(a, at);
	sums_set_state(a, at, SUMS_FILLING);
}

/* Return the working memory of slot `at`. */
static inline uint8_t *
sums_slot_work(const struct sums *a, uint32_t at)
{
	return a->work == NULL ? NULL : a->work + at * a->work_stride;
}

static inline bool
sums_has_room(const struct sums *a, uint32_t at)
{
	return !sums_keeps_rows(&a->reduce) ||
	    a->slot[at].rows < a->s.rows;
}

static inline void
sums_add_vector(struct sums *a, uint32_t at, uint32_t member,
    const uint8_t *vec, uint16_t contributions)
{
	struct sums_slot *s = &a->slot[at];
	uint8_t *work = sums_slot_work(a, at);
	uint8_t *vector = sums_slot_packet(a, at) + sums_head_bytes(&a->s);
	const size_t table = sums_table_bytes(&a->reduce, a->s.rows);

	assert(s->state == SUMS_FILLING && sums_has_room(a, at));
	if (table > 0)
		memcpy(work + s->rows * sizeof(member), &member,
		    sizeof(member));
	if (work != NULL)
		work += table;
	if (s->rows == 0)
		reduce_first(&a->reduce, vector, work, s->n, vec, &a->count);
	else
		reduce_add(&a->reduce, vector, work, s->rows, s->n, vec,
		    &a->count);
	if (member / 64 < a->s.words)
		sums_slot_bits(a, at)[member / 64] |= (uint64_t)1
						      << member % 64;
	s->rows++;
	s->accepted++;
	s->contributions = (uint16_t)(s->contributions + contributions >
	    UINT16_MAX ? UINT16_MAX : s->contributions + contributions);
}

static inline void
sums_order_rows(const struct sums *a, uint32_t at, const uint32_t *rank,
    uint32_t *order)
{
	const uint32_t rows = a->slot[at].rows;
	const uint8_t *table = sums_slot_work(a, at);
	uint32_t member;

	for (uint32_t k = 0; k < rows; k++) {
		uint32_t r, j = k;

		memcpy(&member, table + k * sizeof(member), sizeof(member));
		r = rank[member];
		for (; j > 0; j--) {	/* insertion sort is enough, because
					 * there are few rows, which are almost
					 * in order */
			memcpy(&member, table + order[j - 1] * sizeof(member),
			    sizeof(member));
			if (rank[member] <= r)
				break;
			order[j] = order[j - 1];
		}
		order[j] = k;
	}
}

static inline void
sums_finish_slot(struct sums *a, uint32_t at, const uint32_t *order)
{
	struct sums_slot *s = &a->slot[at];
	uint8_t *work = sums_slot_work(a, at), *out = sums_slot_packet(a, at);

	if (work != NULL)
		work += sums_table_bytes(&a->reduce, a->s.rows);
	reduce_finish(&a->reduce, out + sums_head_bytes(&a->s), work, s->rows,
	    order, s->n, s->contributions, &a->count);
	seg_put(out, (uint32_t)(s->iteration & (SEG_ITERATIONS - 1)),
	    s->contributions, sums_slot_index(a, at));
}

static inline void
sums_record_result(struct sums *a, int64_t t, uint32_t i, uint32_t n,
    uint64_t posted)
{
	*sums_kept(a, t, i) = (struct sums_kept){ .iteration = t,
	    .posted = posted, .index = i, .n = n };
}

static inline void
sums_recount_member(struct sums *a, uint32_t member, int64_t from, int by)
{
	for (uint32_t at = a->oldest; at != SUMS_NONE; at = a->slot[at].after) {
		if (a->slot[at].iteration >= from && sums_has(a, at, member))
			a->slot[at].accepted += (uint32_t)by;
	}
}

/*
 * Return the slot of the larger memory b that corresponds to slot `at` of `a`.
 */
static inline uint32_t
sums_new_slot(const struct sums *b, const struct sums *a, uint32_t at)
{
	return a->s.span != 0 ? at :
	    at / a->s.segs * b->s.segs + at % a->s.segs;
}

/* Copy the slots, bitmaps, rows and results of `a` to the larger memory b. */
static inline void
sums_copy(struct sums *b, const struct sums *a)
{
	for (uint32_t at = a->oldest; at != SUMS_NONE; at = a->slot[at].after) {
		const uint32_t to = sums_new_slot(b, a, at);

		b->slot[to].began_ns = a->slot[at].began_ns;
		b->slot[to].index = a->slot[at].index;
		sums_link(b, to);
	}
	for (uint32_t from = 0; from < sums_slots(&a->s); from++) {
		const uint32_t at = sums_new_slot(b, a, from);
		const size_t ta = sums_table_bytes(&a->reduce, a->s.rows);
		const size_t tb = sums_table_bytes(&b->reduce, b->s.rows);
		struct sums_slot *s = &b->slot[at];
		uint32_t before = s->before, after = s->after;

		*s = a->slot[from];
		s->before = before;
		s->after = after;
		memcpy(sums_slot_bits(b, at), sums_slot_bits(a, from),
		    a->s.words * sizeof(uint64_t));
		if (s->state == SUMS_EMPTY)
			continue;
		memcpy(sums_slot_packet(b, at), sums_slot_packet(a, from),
		    a->stride);
		if (a->work == NULL)
			continue;
		memcpy(sums_slot_work(b, at), sums_slot_work(a, from), ta);
		memcpy(sums_slot_work(b, at) + tb, sums_slot_work(a, from) + ta,
		    reduce_work_bytes(&a->reduce, s->rows, s->n));
	}
	for (size_t k = 0; k < sums_places(&a->s); k++) {
		const int64_t t = a->kept[k].iteration;
		const uint32_t i = a->kept[k].index;

		if (t == SUMS_NEVER)
			continue;
		memcpy(sums_ring_packet(b, t, i), sums_ring_packet(a, t, i),
		    a->stride);
		*sums_kept(b, t, i) = a->kept[k];
	}
	memcpy(b->ready, a->ready, a->s.ways * sizeof(*b->ready));
	b->count = a->count;
}

static inline bool
sums_reshape(struct sums *a, const struct sums_shape *s)
{
	struct sums b;

	assert(s->segs >= a->s.segs && s->floats >= a->s.floats &&
	    s->depth >= a->s.depth && s->words >= a->s.words &&
	    s->rows >= a->s.rows && s->ways == a->s.ways &&
	    s->apart == a->s.apart && s->span == a->s.span &&
	    s->tag_bytes == a->s.tag_bytes &&
	    (s->span == 0 || s->segs == a->s.segs));
	if (!sums_init(&b, &a->reduce, s))
		return false;
	sums_copy(&b, a);
	sums_free(a);
	*a = b;
	return true;
}

#endif
