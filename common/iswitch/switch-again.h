/*
 * switch-again.h - an iteration that is given once more
 *
 * A switch that was started again knows of no sum, and some of its members may
 * have had results that others have not: it then begins one iteration earlier,
 * and so does a rack below it, whose members are told by a STATE.
 */
#ifndef INNET_ISWITCH_SWITCH_AGAIN_H
#define INNET_ISWITCH_SWITCH_AGAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "common/iswitch/switch.h"

/* Can all members give the iteration before `next` once more? */
static inline bool
iswitch_gives_again(const struct job *j, int64_t next)
{
	for (uint32_t i = 0; i < j->members.count; i++) {
		if (j->members.m[i].present && j->members.m[i].since >= next)
			return false;
	}
	return next == j->start ? !j->ahead : j->members.from_max < next &&
	    !job_may_miss(j);
}

/* The job begins one iteration earlier than its members thought. */
static inline void
iswitch_step_back(struct job *j, uint32_t crc)
{
	j->start--;
	j->fresh = j->start;
	j->newest--;
	j->mends--;
	if (j->retransmit != NULL)	/* it has sent nothing yet */
		j->retransmit->iteration =
		    seg_step(j->retransmit->iteration, -1);
	j->ahead = true;
	j->crc[1] = j->crc[0];
	j->crc[0] = crc;
	for (uint32_t i = 0; i < j->members.count; i++)
		j->members.m[i].from = j->start;
	members_from_max(&j->members);
}

/* Slot `at` of iteration t or later is given once more. */
static inline void
iswitch_empty(struct job *j, uint32_t at, int64_t t, uint64_t now_ns)
{
	struct sums_slot *s = &j->a.slot[at];

	if (s->iteration > t) {		/* and the one before it was done */
		*sums_kept(&j->a, s->iteration, sums_index(&j->a, at)) =
		    (struct sums_kept){ 0 };
		s->iteration -= j->a.s.ways;
		sums_turn(&j->a, at, SUMS_COMPLETE);
	} else if (s->iteration == t && s->state == SUMS_COMPLETE) {
		sums_restart(&j->a, at, t, s->n, now_ns);
	}
}

/* The same where slots are fewer: what it held before is not known. */
static inline void
iswitch_vacate(struct job *j, uint32_t at)
{
	struct sums_slot *s = &j->a.slot[at];

	*sums_kept(&j->a, s->iteration, s->index) = (struct sums_kept){ 0 };
	s->iteration = SUMS_NEVER;
	s->posted = 0;
	sums_turn(&j->a, at, SUMS_EMPTY);
}

/*
 * The parent has no result of iteration t, whatever we have had: it has been
 * started again.  Members give again what was complete; their sums are gone.
 */
static inline void
iswitch_begin_again(struct job *j, int64_t t, uint64_t now_ns)
{
	outbox_flush(j->out);
	if (t < j->start)
		iswitch_step_back(j, 0);
	for (uint32_t at = 0; at < sums_slots(&j->a.s); at++) {
		if (j->a.s.span == 0)
			iswitch_empty(j, at, t, now_ns);
		else if (j->a.slot[at].iteration >= t)
			iswitch_vacate(j, at);
	}
	if (j->a.s.span != 0)
		j->fresh = t;
	j->newest = j->newest > t ? t : j->newest;
	for (int k = 0; k < JOB_DONE; k++) {
		if (j->done[k].t >= t)
			j->done[k].t = SUMS_NEVER;
	}
	for (uint32_t i = 0; i < j->members.count; i++) {
		if (j->members.m[i].loss_detect != NULL)
			j->members.m[i].loss_detect->t = LOSS_DETECT_NOTHING;
	}
}

/*
 * A rack that is a member says that it begins one iteration earlier than it
 * did: one of its own has come late, with fewer results.
 */
static inline void
iswitch_follow_rack(struct job *j, const struct control_join *join,
    uint64_t now_ns)
{
	const int64_t t = j->start - 1;

	if (join->type == CONTROL_SWITCH && !j->cf->async &&
	    sums_unwrap(join->next, j->newest) == t &&
	    j->done[j->start % JOB_DONE].t != j->start &&
	    iswitch_gives_again(j, j->start))
		iswitch_begin_again(j, t, now_ns);
}

#endif
