/*
 * async-weights.h - the weights of an asynchronous worker (iSwitch, Algorithm
 * 1, weight update)
 *
 * Every worker starts with the same weights w and applies the same sums in the
 * same order.  So all workers have the same weights without a server:
 *
 * 	w <- w - q sum,  q = gamma / contributions
 *
 * The result of each operation is rounded to binary32.  Segment i applies round
 * r directly after round r - 1.  Segment i does not wait for the other
 * segments.  t_s is the first round that at least one segment has not applied
 * yet.  The CRC of each round before t_s is the same at all workers.  The CRC
 * of a round is the XOR of one CRC-32C for each segment i.  This CRC-32C covers
 * the index i (4 bytes, network order) and then the content of segment i after
 * that round.  If the sum of a segment contains NaN or infinity, the sum
 * changes no weight.
 *
 * Results may arrive in any order, twice, or not at all.  If a result arrives
 * too early, the worker keeps the result and immediately requests the missing
 * earlier results with Help messages.  It repeats an unanswered request after a
 * time-out.  If no result arrives for a while, it also requests results whose
 * loss may not have been noticed.
 *
 * This is a separate file because it contains only the arithmetic of the
 * algorithm; the code for jobs and messages is in other files.  Round numbers
 * have 64 bits.  The functions read no clock: time is an argument.
 * async_weights_free() frees the memory.  There is no locking; a caller with
 * two threads must lock.
 */
#ifndef INNET_ISWITCH_ASYNC_WEIGHTS_H
#define INNET_ISWITCH_ASYNC_WEIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/crc32c.h"
#include "common/base/vec.h"
#include "common/arq/backoff.h"
#include "common/arq/rtt.h"
#include "common/wire/seg.h"

#define ASYNC_WEIGHTS_NEVER UINT64_MAX

enum {
	/*
	 * maximum number of rounds by which one segment may be ahead of another
	 */
	ASYNC_WEIGHTS_SPREAD = 256,
	ASYNC_WEIGHTS_CRCS = 4096,		/* number of rounds whose CRC is
						 * kept */
	ASYNC_WEIGHTS_HELPS = 64,		/* maximum number of Helps that
						 * are unanswered at a time */
	ASYNC_WEIGHTS_EARLY_BYTES = 16 << 20,	/* limit on the memory for early
						 * results, in bytes */
	/*
	 * How long the worker waits for a result before it requests results:
	 * the initial wait and the longest wait.  The wait doubles each time
	 * that it ends without a result.
	 */
	ASYNC_WEIGHTS_QUIET_NS = 20000000,
	ASYNC_WEIGHTS_QUIET_MAX_NS = 1000000000
};

#define ASYNC_WEIGHTS_NONE UINT32_MAX	/* no segment */

/* How a result that arrived was handled. */
enum async_weights_verdict {
	ASYNC_WEIGHTS_APPLIED,
	ASYNC_WEIGHTS_EARLY,			/* kept */
	ASYNC_WEIGHTS_AHEAD,			/* the result is too early to be
						 * kept */
	ASYNC_WEIGHTS_DUPLICATE,
	ASYNC_WEIGHTS_BAD_INDEX, ASYNC_WEIGHTS_BAD_LENGTH,
	ASYNC_WEIGHTS_UNPROVEN,		/* the result is not accepted yet; see
					 * async_weights_enter_job() */
	ASYNC_WEIGHTS_PROVEN,
	/*
	 * the switch has a different result for a round that we have applied,
	 * so the worker ends
	 */
	ASYNC_WEIGHTS_OTHER,
	ASYNC_WEIGHTS_VERDICTS
};

/*
 * A result that arrived early.  `next` is the next early result of the same
 * segment.
 */
struct async_weights_early {
	struct async_weights_early *next;
	int64_t round;
	uint16_t contributions;
	uint8_t vec[];
};

struct async_weights_seg {
	int64_t next;			/* first round that the segment has not
					 * applied yet */
	int64_t known;			/* the job has completed all rounds of
					 * the segment before this one */
	int64_t asked;			/* round of the last Help; -1: none */
	uint64_t asked_ns;		/* time when the last Help was sent */
	struct async_weights_early *early;	/* owned, sorted by round */
	bool again;			/* the Help for the missing round was
					 * sent more than once */
	bool queued;			/* the index of the segment is in
					 * `queue` */
};

struct async_weights {
	uint32_t elements, floats, segs;	/* number of elements; of floats
						 * in a segment; of segments,
						 * which is 0 until `floats` is
						 * known */
	float gamma;			/* negative for gradient ascent */
	uint8_t *w;			/* owned; the weights, encoded as in
					 * packets */
	int64_t first;			/* first round that was or will be
					 * applied to w */
	int64_t t_s;			/* first round that at least one segment
					 * has not applied */
	int64_t most;			/* greatest `next` of any segment */
	int64_t latest;			/* greatest `known` of any segment */
	struct async_weights_seg *seg;
	uint32_t got[ASYNC_WEIGHTS_SPREAD];	/* ring, by round: number of
						 * segments that have applied
						 * the round */
	uint32_t crc[ASYNC_WEIGHTS_SPREAD];
	uint32_t crcs[ASYNC_WEIGHTS_CRCS];	/* CRCs of complete rounds */
	size_t early_bytes;		/* memory that early results use, in
					 * bytes */

	uint32_t *queue;		/* owned; ring of the indices of
					 * segments whose next results must be
					 * requested */
	uint32_t queue_at, queued;
	uint32_t helping;		/* number of unanswered requests */
	struct rtt rtt;			/* round trip time of a Help */
	uint64_t retry_ns;		/* time when unanswered Helps must be
					 * repeated, or NEVER */
	uint64_t quiet_ns, quiet_wait_ns;
	uint64_t heard_ns;		/* time when the last result was
					 * applied */
	bool repairs;			/* results are requested with Probes, so
					 * no Help is sent */
	bool proving;			/* the switch must prove that it still
					   has the job that we had joined */
	uint32_t proof_at;		/* index of the first segment that has
					 * applied a result, or
					 * ASYNC_WEIGHTS_NONE */
	uint32_t proof;			/* CRC of the last result that segment
					 * proof_at has applied */

	bool waits;			/* results are outstanding */
	uint64_t waits_ns;		/* time when the worker began to wait
					 * for results */
	uint8_t *copy;			/* owned; the weights before copy_round,
					 * for another worker; NULL: no copy is
					 * being made */
	int64_t copy_round;
	uint32_t copied;		/* number of segments that `copy`
					 * already contains */

	uint64_t n[ASYNC_WEIGHTS_VERDICTS];
	uint64_t applied;		/* number of results that were applied,
					 * also those that had arrived early */
	uint64_t helps, nonfinite;
};

/*
 * Initialise `a`.  `w` contains the weights before round `first`.  Returns
 * false if there is no memory.
 */
static inline bool async_weights_init(struct async_weights *a,
    uint32_t elements, const uint8_t *w, float gamma, int64_t first);

/* Free the memory of `a`. */
static inline void async_weights_free(struct async_weights *a);

/*
 * Set the number of floats in a segment and allocate memory for the segments.
 * Returns false if there is no memory.
 */
static inline bool async_weights_set_segments(struct async_weights *a,
    uint32_t floats);

/*
 * Record that the switch has accepted our Join.  `next` is the number of the
 * newest round of the switch, as on the wire, plus one.  If we had joined
 * before, the switch may have restarted, so its rounds may belong to another
 * job.  In that case no result is applied until a result from the switch proves
 * that the switch has the last result that we applied.  Returns false if the
 * switch cannot have that result.
 */
static inline bool async_weights_enter_job(struct async_weights *a,
    uint32_t next, uint64_t now_ns);

/* Process segment g, which arrived from the switch. */
static inline enum async_weights_verdict async_weights_receive_result(
    struct async_weights *a,
    const struct seg *g, uint64_t now_ns);

/*
 * Tell whether a Help must be sent now.  If the result is true, set *word to
 * the segment word of the Help.
 */
static inline bool async_weights_next_help( struct async_weights *a,
    uint64_t now_ns, uint64_t *word);

/*
 * Return the time at which async_weights_next_help() must be called if nothing
 * arrives.
 */
static inline uint64_t async_weights_deadline_ns(const struct async_weights *a);

/* Record that results have been outstanding since now_ns. */
static inline void async_weights_expect_result(struct async_weights *a,
    uint64_t now_ns);

/*
 * Tell whether we still need result g.  The switch no longer keeps this result.
 */
static inline bool async_weights_needs(const struct async_weights *a,
    const struct seg *g);

/*
 * Tell whether no segment has applied round t_s, so that all segments are at
 * the same round.
 */
static inline bool async_weights_is_uniform(const struct async_weights *a);

/* Tell whether the job is more than one round ahead of us. */
static inline bool async_weights_is_behind(const struct async_weights *a);

/*
 * Return the staleness, in rounds, that a gradient has if it is applied at
 * round t_s and was computed from the weights of round t_w.
 */
static inline uint64_t async_weights_staleness(int64_t t_s, int64_t t_w);

/*
 * Return the CRC-32C of the weights for a Join.  If some segments are ahead of
 * others, return 0, which means that the CRC is unknown.
 */
static inline uint32_t async_weights_weights_crc(const struct async_weights *a);

/*
 * Set *crc to the CRC of a round that all segments have applied.  Returns false
 * if some segments have not applied the round or if its CRC is no longer kept.
 */
static inline bool async_weights_crc(const struct async_weights *a,
    int64_t round, uint32_t *crc);

/*
 * Return a copy of the weights for another worker.  All weights of the copy are
 * those before round *round, which this function sets.  If the copy is not
 * complete yet, return NULL; the caller then calls this function again after
 * results have been applied.  Each segment is copied when it reaches that
 * round, because the segments may never be at the same round at the same time.
 * The caller frees the copy.
 */
static inline uint8_t *async_weights_take_copy(struct async_weights *a,
    int64_t *round);

/* Return the number of `round` as it is in packets. */
static inline uint32_t async_weights_wire(int64_t round);

/* Return the name of verdict v. */
static inline const char *async_weights_verdict_name(unsigned v);

/* implementation */

static inline const char *
async_weights_verdict_name(unsigned v)
{
	static const char *const name[ASYNC_WEIGHTS_VERDICTS] = { "applied",
	    "early", "ahead", "duplicate", "bad_index", "bad_length",
	    "unproven", "proven", "other_job" };

	return name[v];
}

static inline void
async_weights_free(struct async_weights *a)
{
	for (uint32_t i = 0; i < a->segs; i++) {
		while (a->seg[i].early != NULL) {
			struct async_weights_early *e = a->seg[i].early;

			a->seg[i].early = e->next;
			free(e);
		}
	}
	free(a->seg);
	free(a->queue);
	free(a->copy);
	free(a->w);
	*a = (struct async_weights){ 0 };
}

static inline bool
async_weights_init(struct async_weights *a, uint32_t elements, const uint8_t *w,
    float gamma, int64_t first)
{
	*a = (struct async_weights){ .elements = elements, .gamma = gamma,
	    .first = first, .t_s = first, .most = first, .latest = first,
	    .proof_at = ASYNC_WEIGHTS_NONE,
	    .retry_ns = ASYNC_WEIGHTS_NEVER, .quiet_ns = ASYNC_WEIGHTS_NEVER };
	a->w = malloc(4 * (size_t)elements);
	if (a->w == NULL)
		return false;
	memcpy(a->w, w, 4 * (size_t)elements);
	return true;
}

static inline bool
async_weights_set_segments(struct async_weights *a, uint32_t floats)
{
	const uint32_t segs = seg_count(a->elements, floats);

	a->seg = calloc(segs, sizeof(*a->seg));
	a->queue = calloc(segs, sizeof(*a->queue));
	if (a->seg == NULL || a->queue == NULL)
		return false;
	a->floats = floats;
	a->segs = segs;
	for (uint32_t i = 0; i < segs; i++)
		a->seg[i] = (struct async_weights_seg){ .next = a->first,
		    .known = a->first, .asked = -1 };
	return true;
}

/*
 * Return the 64-bit round nearest to `near` that has the number t in packets.
 */
static inline int64_t
async_weights_unwrap(uint32_t t, int64_t near)
{
	const uint32_t d = (t - (uint32_t)near) & (SEG_ITERATIONS - 1);

	return near + (d < SEG_ITERATIONS / 2 ? (int64_t)d :
	    (int64_t)d - SEG_ITERATIONS);
}

static inline uint32_t
async_weights_wire(int64_t round)
{
	return (uint32_t)round & (SEG_ITERATIONS - 1);
}

static inline bool
async_weights_is_uniform(const struct async_weights *a)
{
	return a->most == a->t_s;
}

static inline bool
async_weights_is_behind(const struct async_weights *a)
{
	return a->latest > a->t_s + 1 || a->most > a->t_s + 1;
}

/* Record that the job has completed all rounds of segment s before `round`. */
static inline void
async_weights_note_known(struct async_weights *a, struct async_weights_seg *s,
    int64_t round)
{
	s->known = round > s->known ? round : s->known;
	a->latest = round > a->latest ? round : a->latest;
}

static inline uint32_t
async_weights_weights_crc(const struct async_weights *a)
{
	return async_weights_is_uniform(a) ?
	    crc32c(0, a->w, 4 * (size_t)a->elements) :
	    0;
}

static inline bool
async_weights_crc(const struct async_weights *a, int64_t round, uint32_t *crc)
{
	if (round < a->first || round >= a->t_s ||
	    a->t_s - round > ASYNC_WEIGHTS_CRCS)
		return false;
	*crc = a->crcs[round % ASYNC_WEIGHTS_CRCS];
	return true;
}

static inline uint64_t
async_weights_staleness(int64_t t_s, int64_t t_w)
{
	return t_s > t_w ? (uint64_t)(t_s - t_w) : 0;
}

static inline void
async_weights_expect_result(struct async_weights *a, uint64_t now_ns)
{
	if (!a->waits)
		a->waits_ns = now_ns;
	a->waits = true;
}

/*
 * Add segment i to the queue of segments to request, unless it is already in
 * the queue.
 */
static inline void
async_weights_queue_help(struct async_weights *a, uint32_t i)
{
	struct async_weights_seg *s = &a->seg[i];

	if (a->repairs || s->queued || s->asked == s->next)
		return;
	s->queued = true;
	a->queue[(a->queue_at + a->queued++) % a->segs] = i;
}

/* Restart the timer that measures how long no result has arrived. */
static inline void
async_weights_restart_silence(struct async_weights *a, uint64_t now_ns)
{
	a->quiet_wait_ns = ASYNC_WEIGHTS_QUIET_NS;
	a->heard_ns = now_ns;
	a->quiet_ns = now_ns + (a->proving || !async_weights_is_uniform(a) ?
	    ASYNC_WEIGHTS_QUIET_NS : ASYNC_WEIGHTS_QUIET_MAX_NS);
}

/* Advance t_s past the rounds that all segments have applied. */
static inline void
async_weights_advance(struct async_weights *a)
{
	uint32_t k;

	while (a->got[k =
	    (uint32_t)(a->t_s % ASYNC_WEIGHTS_SPREAD)] == a->segs) {
		a->crcs[a->t_s % ASYNC_WEIGHTS_CRCS] = a->crc[k];
		a->got[k] = a->crc[k] = 0;
		a->t_s++;
	}
}

/* Copy segment i for another worker if it has reached the round of the copy. */
static inline void
async_weights_copy_segment(struct async_weights *a, uint32_t i)
{
	const size_t at = 4 * (size_t)i * a->floats;

	if (a->copy == NULL || a->seg[i].next != a->copy_round)
		return;
	memcpy(a->copy + at, a->w + at,
	    4 * (size_t)seg_floats_at(a->elements, a->floats, i));
	a->copied++;
}

static inline uint8_t *
async_weights_take_copy(struct async_weights *a, int64_t *round)
{
	uint8_t *copy;

	if (a->proving || a->segs == 0)
		return NULL;
	if (a->copy == NULL) {
		a->copy = malloc(4 * (size_t)a->elements);
		a->copy_round = async_weights_is_behind(a) ? a->latest :
		    a->most;
		a->copied = 0;
		for (uint32_t i = 0; i < a->segs; i++)
			async_weights_copy_segment(a, i);
	}
	if (a->copied < a->segs)
		return NULL;
	copy = a->copy;
	a->copy = NULL;
	*round = a->copy_round;
	return copy;
}

/* Apply the next round to segment i. */
static inline void
async_weights_apply(struct async_weights *a, uint32_t i, const uint8_t *vec,
    uint16_t given)
{
	struct async_weights_seg *s = &a->seg[i];
	const uint32_t k = (uint32_t)(s->next % ASYNC_WEIGHTS_SPREAD);
	const uint32_t n = seg_floats_at(a->elements, a->floats, i);
	const uint8_t index[4] = { (uint8_t)(i >> 24), (uint8_t)(i >> 16),
	    (uint8_t)(i >> 8), (uint8_t)i };
	uint8_t *w = a->w + 4 * (size_t)i * a->floats;

	if (vec_finite(vec, n))
		vec_descend(w, vec, n, a->gamma / (float)given);
	else
		a->nonfinite++;
	if (i <= a->proof_at) {
		a->proof_at = i;
		a->proof = crc32c(given, vec, 4 * (size_t)n);
	}
	a->applied++;
	a->crc[k] ^= crc32c(crc32c(0, index, 4), w, 4 * (size_t)n);
	a->got[k]++;
	if (++s->next > a->most)
		a->most = s->next;
	async_weights_copy_segment(a, i);
	async_weights_note_known(a, s, s->next);
	async_weights_advance(a);
}

/* Keep a result until the rounds before it have been applied. */
static inline enum async_weights_verdict
async_weights_store_early(
    struct async_weights *a, const struct seg *g, int64_t round)
{
	const size_t bytes = sizeof(struct async_weights_early) + 4 *
	    (size_t)g->n;
	struct async_weights_early **at = &a->seg[g->index].early, *e;

	while (*at != NULL && (*at)->round < round)
		at = &(*at)->next;
	if (*at != NULL && (*at)->round == round)
		return ASYNC_WEIGHTS_DUPLICATE;
	if (a->early_bytes + bytes > ASYNC_WEIGHTS_EARLY_BYTES ||
	    round >= a->t_s + ASYNC_WEIGHTS_SPREAD)
		return ASYNC_WEIGHTS_AHEAD;
	e = malloc(bytes);
	if (e == NULL)
		return ASYNC_WEIGHTS_AHEAD;
	*e = (struct async_weights_early){ .next = *at, .round = round,
	    .contributions = g->contributions };
	memcpy(e->vec, g->vec, 4 * (size_t)g->n);
	*at = e;
	a->early_bytes += bytes;
	return ASYNC_WEIGHTS_EARLY;
}

/* Apply the early results of segment i whose turn has come. */
static inline void
async_weights_apply_early(struct async_weights *a, uint32_t i)
{
	const uint32_t n = seg_floats_at(a->elements, a->floats, i);
	struct async_weights_seg *s = &a->seg[i];
	struct async_weights_early *e;

	while ((e = s->early) != NULL && e->round <= s->next &&
	    s->next < a->t_s + ASYNC_WEIGHTS_SPREAD) {
		if (e->round == s->next)
			async_weights_apply(a, i, e->vec, e->contributions);
		s->early = e->next;
		a->early_bytes -= sizeof(*e) + 4 * (size_t)n;
		free(e);
	}
}

/* Check whether result g proves that this is the job that we had joined. */
static inline enum async_weights_verdict
async_weights_check_proof(struct async_weights *a, const struct seg *g,
    uint64_t now_ns)
{
	const int64_t last = a->seg[a->proof_at].next - 1;

	if (g->index != a->proof_at ||
	    async_weights_unwrap(g->iteration, last) != last)
		return ASYNC_WEIGHTS_UNPROVEN;
	if (crc32c(g->contributions, g->vec, 4 * (size_t)g->n) != a->proof)
		return ASYNC_WEIGHTS_OTHER;
	a->proving = false;
	async_weights_restart_silence(a, now_ns);
	return ASYNC_WEIGHTS_PROVEN;
}

/*
 * Mark the request for segment i as answered, because the missing round has
 * arrived.
 */
static inline void
async_weights_end_help(struct async_weights *a, uint32_t i, uint64_t now_ns)
{
	struct async_weights_seg *s = &a->seg[i];

	if (s->asked == s->next) {
		a->helping--;
		if (!s->again)
			rtt_sample(&a->rtt, &rtt_usual, now_ns - s->asked_ns);
		rtt_restore(&a->rtt);
	}
}

static inline enum async_weights_verdict
async_weights_check_result(struct async_weights *a, const struct seg *g,
    uint64_t now_ns)
{
	struct async_weights_seg *s;
	enum async_weights_verdict v;
	int64_t round;

	if (g->index >= a->segs || g->contributions == 0)
		return ASYNC_WEIGHTS_BAD_INDEX;
	if (g->n != seg_floats_at(a->elements, a->floats, g->index))
		return ASYNC_WEIGHTS_BAD_LENGTH;
	if (a->proving)
		return async_weights_check_proof(a, g, now_ns);
	s = &a->seg[g->index];
	round = async_weights_unwrap(g->iteration, s->next);
	if (round < s->next)
		return ASYNC_WEIGHTS_DUPLICATE;
	async_weights_note_known(a, s, round + 1);
	if (round > s->next || round >= a->t_s + ASYNC_WEIGHTS_SPREAD) {
		v = async_weights_store_early(a, g, round);
		async_weights_expect_result(a, now_ns);
		async_weights_queue_help(a, g->index);
		return v;
	}
	async_weights_end_help(a, g->index, now_ns);
	async_weights_apply(a, g->index, g->vec, g->contributions);
	async_weights_apply_early(a, g->index);
	a->waits = false;
	async_weights_restart_silence(a, now_ns);
	if (s->next < s->known) {
		async_weights_expect_result(a, now_ns);
		async_weights_queue_help(a, g->index);
	}
	return ASYNC_WEIGHTS_APPLIED;
}

static inline enum async_weights_verdict
async_weights_receive_result(struct async_weights *a, const struct seg *g,
    uint64_t now_ns)
{
	const enum async_weights_verdict v =
	    async_weights_check_result(a, g, now_ns);

	a->n[v]++;
	return v;
}

static inline bool
async_weights_enter_job(struct async_weights *a, uint32_t next, uint64_t now_ns)
{
	const int64_t job = async_weights_unwrap(next, a->most);

	if (job < a->most)
		return false;
	a->proving = a->proof_at != ASYNC_WEIGHTS_NONE;
	for (uint32_t i = 0; i < a->segs; i++) {
		struct async_weights_seg *s = &a->seg[i];

		async_weights_note_known(a, s, job - 1);
		if (s->next < s->known)
			async_weights_queue_help(a, i);
	}
	a->waits = false;
	if (a->queued > 0 || a->proving)
		async_weights_expect_result(a, now_ns);
	async_weights_restart_silence(a, now_ns);
	if (a->proving)
		a->quiet_ns = now_ns;
	return true;
}

static inline bool
async_weights_needs(const struct async_weights *a, const struct seg *g)
{
	int64_t need;

	if (g->index >= a->segs)
		return false;
	need = a->seg[g->index].next - a->proving;
	return async_weights_unwrap(g->iteration, need) == need;
}

/*
 * Add each segment whose request was not answered in time to the queue again.
 */
static inline void
async_weights_expire_helps(struct async_weights *a, uint64_t now_ns)
{
	const uint64_t patience = rtt_timeout_ns(&a->rtt, &rtt_usual);
	const uint32_t had = a->helping;

	for (uint32_t i = 0; i < a->segs; i++) {
		struct async_weights_seg *s = &a->seg[i];

		if (s->asked != s->next || s->asked_ns + patience > now_ns)
			continue;
		s->asked = -1;
		s->again = true;
		a->helping--;
		async_weights_queue_help(a, i);
	}
	if (a->helping < had)
		rtt_expire(&a->rtt, &rtt_usual);
	a->retry_ns = a->helping > 0
			  ? now_ns + rtt_timeout_ns(&a->rtt, &rtt_usual)
			  : ASYNC_WEIGHTS_NEVER;
}

/*
 * Return the segment word of a Help for `round` of segment i.  Expect an answer
 * only if the job is known to have completed that round.
 */
static inline uint64_t
async_weights_make_help(struct async_weights *a, uint32_t i, int64_t round,
    uint64_t now_ns)
{
	struct async_weights_seg *s = &a->seg[i];

	a->helps++;
	if (s->asked == round) {
		s->again = true;
	} else if (round == s->next && s->next < s->known) {
		s->asked = s->next;
		s->asked_ns = now_ns;
		if (a->helping++ == 0)
			a->retry_ns =
			    now_ns + rtt_timeout_ns(&a->rtt, &rtt_usual);
	}
	return seg_word(async_weights_wire(round), 0, i);
}

/*
 * If no result has arrived for a while, request results for the segments that
 * are behind the others.  If no segment is behind, request a result for the
 * first segment, because the loss of a result may not have been noticed.
 * Returns true if a Help with segment word *word must be sent.
 */
static inline bool
async_weights_end_silence(
    struct async_weights *a, uint64_t now_ns, uint64_t *word)
{
	uint32_t i = 0;

	backoff_take_ns(&a->quiet_wait_ns, ASYNC_WEIGHTS_QUIET_MAX_NS);
	a->quiet_ns = now_ns + a->quiet_wait_ns;
	if (a->proving) {
		i = a->proof_at;
		*word = async_weights_make_help(
		    a, i, a->seg[i].next - 1, now_ns);
		return true;
	}
	if (a->repairs && !async_weights_is_uniform(a))
		return false;	/* results are requested with Probes instead */
	for (uint32_t k = 0; k < a->segs && a->queued < ASYNC_WEIGHTS_HELPS;
	    k++) {
		struct async_weights_seg *s = &a->seg[k];

		if (s->next >= a->most)
			continue;
		s->known = s->known > s->next ? s->known : s->next + 1;
		async_weights_queue_help(a, k);
		i = k;
	}
	*word = async_weights_make_help(a, i, a->seg[i].next, now_ns);
	return true;
}

static inline bool
async_weights_next_help(
    struct async_weights *a, uint64_t now_ns, uint64_t *word)
{
	if (a->segs == 0)
		return false;
	if (now_ns >= a->retry_ns)
		async_weights_expire_helps(a, now_ns);
	if (now_ns >= a->quiet_ns && async_weights_end_silence(a, now_ns, word))
		return true;
	while (a->queued > 0 && a->helping < ASYNC_WEIGHTS_HELPS &&
	    !a->proving) {
		const uint32_t i = a->queue[a->queue_at];
		struct async_weights_seg *s = &a->seg[i];

		a->queue_at = (a->queue_at + 1) % a->segs;
		a->queued--;
		s->queued = false;
		if (s->next >= s->known || s->asked == s->next)
			continue;
		s->again = s->again && s->asked == -1;
		*word = async_weights_make_help(a, i, s->next, now_ns);
		return true;
	}
	return false;
}

static inline uint64_t
async_weights_deadline_ns(const struct async_weights *a)
{
	return a->retry_ns < a->quiet_ns ? a->retry_ns : a->quiet_ns;
}

#endif
