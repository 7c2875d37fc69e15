/*
 * switch-push.h - what a rack of an asynchronous job sends to its parent
 *
 * A push is a partial sum of every segment, and one is under way at a time, as
 * a worker's is: it is over when a STATE says that the parent has all of it.
 * What members give meanwhile fills the next, which may have more than H
 * contributions then; when it is full, they wait (iSwitch, Algorithm 1, knows
 * of no tiers).  The round of results that is not all here is asked for by the
 * same Probes.
 */
#ifndef INNET_ISWITCH_SWITCH_PUSH_H
#define INNET_ISWITCH_SWITCH_PUSH_H

#include <stdbool.h>
#include <stdint.h>

#include "common/iswitch/switch-join.h"

/* The push that segment i waits for: one that has left, or the next to fill. */
static inline int64_t
iswitch_push_of(const struct job *j, uint32_t i)
{
	const struct sums_slot *s = &j->a.slot[job_latest(j, i)], *before;

	if (s->state == SUMS_EMPTY)
		return j->start;
	before = &j->a.slot[sums_at(&j->a, s->iteration - 1, i)];
	if (before->state == SUMS_SENT_UP &&
	    before->iteration == s->iteration - 1)
		return before->iteration;
	return s->iteration + (s->state == SUMS_COMPLETE);
}

/* Push t begins: what is full of it may go. */
static inline void
iswitch_push_turn(struct job *j, int64_t t, uint64_t now_ns)
{
	struct retransmit *m = j->retransmit;

	j->mends = t;
	j->news = true;		/* there is room again */
	retransmit_turn(m, (uint32_t)(t & (SEG_ITERATIONS - 1)), now_ns);
	for (uint32_t i = 0; i < j->a.s.segs; i++) {
		const uint32_t at = sums_at(&j->a, t, i);
		const struct sums_slot *s = &j->a.slot[at];

		if (s->state == SUMS_EMPTY || s->iteration < t)
			continue;
		if (s->iteration > t) {	/* its parent did not repair then */
			m->s[i].flags = RETRANSMIT_HERE;
			m->here++;
			retransmit_ready(m, i);
		} else if (s->state == SUMS_SENT_UP) {
			retransmit_ready(m, i);
		} else {
			job_test(j, at);
		}
	}
}

/* The parent has let us in: what it may lack of our push goes once more. */
static inline void
iswitch_push_begin(struct job *j, uint64_t now_ns)
{
	int64_t t = INT64_MAX;

	j->retransmit->acks = true;
	for (uint32_t i = 0; i < j->a.s.segs; i++) {
		const int64_t its = iswitch_push_of(j, i);

		t = its < t ? its : t;
	}
	j->round = iswitch_next(j);
	iswitch_push_turn(j, t, now_ns);
}

/*
 * Is all of round t here?  Rounds may come down in any order, and a later one
 * may be whole before.
 */
static inline bool
iswitch_push_whole(const struct job *j, int64_t t)
{
	return t < j->round || (job_whole(j, t) && iswitch_done(j, t));
}

/* Is a push over, and which round is owed to us? */
static inline void
iswitch_push_look(struct job *j, uint64_t now_ns)
{
	struct retransmit *m = j->retransmit;

	while (retransmit_whole(m)) {
		for (uint32_t i = 0; i < j->a.s.segs; i++) {
			const uint32_t at = sums_at(&j->a, j->mends, i);

			if (j->a.slot[at].iteration == j->mends)
				sums_turn(&j->a, at, SUMS_COMPLETE);
		}
		iswitch_push_turn(j, j->mends + 1, now_ns);
	}
	for (; j->round <= j->newest && iswitch_push_whole(j, j->round);
	    j->round++)
		j->news = true;
	m->round = (uint32_t)(j->round & (SEG_ITERATIONS - 1));
	m->fetches = j->round <= j->newest || j->round <= j->awaited;
}

/* Does push k of a member wait, of its first `upto` segments, for room? */
static inline bool
iswitch_push_full(const struct job *j, const struct loss_detect_view *v,
    int64_t k, uint32_t upto)
{
	for (uint32_t i = 0; i < upto && i < j->a.s.segs; i++) {
		if (job_full(j, job_latest(j, i)) && !loss_detect_has(v, k, i))
			return true;
	}
	return false;
}

/* A result of segment g from the parent; taken: it was the first. */
static inline void
iswitch_push_result(struct job *j, const struct seg *g, bool taken,
    uint64_t now_ns)
{
	const int64_t t = sums_unwrap(g->iteration, j->newest);

	if (!taken)
		retransmit_duplicate(j->retransmit, g->index);
	else
		retransmit_took_round(j->retransmit, g->index, g->iteration,
		    t > j->round && sums_result(&j->a, t - 1, g->index) ==
		    NULL, now_ns);
	iswitch_push_look(j, now_ns);
}

/* The parent keeps no result of that round any more. */
static inline void
iswitch_push_gone(struct job *j, uint32_t round, uint64_t now_ns)
{
	const int64_t t = sums_unwrap(round, j->newest);

	j->round = t >= j->round ? t + 1 : j->round;
	iswitch_push_look(j, now_ns);
}

/* What of the round is to be asked for by the Probe that is being filled. */
static inline void
iswitch_push_ask(struct job *j, struct repair_help *h, uint8_t *room)
{
	for (uint32_t i = 0; i < j->a.s.segs; i++) {
		if (sums_result(&j->a, j->round, i) == NULL &&
		    !retransmit_ask_round(j->retransmit, h, room, i))
			break;
	}
}

#endif
