/*
 * sync-worker-results.h - what a synchronous worker makes of a result
 *
 * Whether it is to be taken, is too late or too early, and what it shows of the
 * network: iSwitch section 3.3.  Also what is given once more for others, when
 * a switch has been started again (section 3.4).
 */
#ifndef INNET_ISWITCH_SYNC_WORKER_RESULTS_H
#define INNET_ISWITCH_SYNC_WORKER_RESULTS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/iswitch/sync-worker.h"

/* A first result of a segment: the window, the clock, a sample. */
static inline void
sync_worker_count_result(struct sync_worker *l, uint32_t index, uint64_t now_ns)
{
	if (l->got[l->t & 1] > 1)
		loss_timer_took(&l->pause, now_ns);
	else
		loss_timer_since(&l->pause, now_ns);
	if (index >= l->sent)
		return;
	l->flight--;
	sync_worker_widen(l);
	if (l->mends && l->sent_ns[index] == 0)
		sync_worker_ask_on(l, 2);	/* that comes: ask on */
	/* a whole answer is one sample: many would outvote the others */
	if (l->sent_ns[index] != 0 && l->sampled_ns != now_ns &&
	    (!l->in.whole || l->sampled_ns == 0)) {
		rtt_sample(&l->rtt, now_ns - l->sent_ns[index]);
		l->sampled_ns = now_ns;
	}
}

/* The same of one that is mended: that of a job which goes on without us? */
static inline void
sync_worker_mended(struct sync_worker *l, uint32_t index, uint64_t now_ns)
{
	retransmit_take(&l->retransmit, index, now_ns);
	if (!l->have[l->t & 1])
		retransmit_fetch(&l->retransmit, false);
}

/*
 * A result that is here comes again.  Where slots are few a switch that was
 * started again has one now for more of what it lacks.
 */
static inline void
sync_worker_mended_again(struct sync_worker *l, uint32_t index,
    uint64_t now_ns)
{
	retransmit_duplicate(&l->retransmit, index);
	if (l->in.span != 0)
		retransmit_want(&l->retransmit, now_ns);
}

/* What a result at odds with the two iterations is. */
static inline enum sync_worker_verdict
sync_worker_astray(struct sync_worker *l, uint32_t iteration)
{
	if (seg_before(iteration, l->t))
		return SYNC_WORKER_STALE;
	if (seg_before(l->seen, iteration))
		l->seen = iteration;
	if (l->repairs)
		retransmit_fetch(&l->retransmit, false);
	else if (l->timer_from_timespec == SYNC_WORKER_NEVER &&
		 sync_worker_waits(l))
		l->timer_from_timespec = 0;	/* the job goes on without us */
	return SYNC_WORKER_AHEAD;
}

static inline enum sync_worker_verdict
sync_worker_judge(struct sync_worker *l, const struct seg *s, uint64_t now_ns)
{
	const uint32_t way = s->iteration & 1;
	const bool now = s->iteration == l->t;

	if (l->segs == 0 || s->index >= l->segs || s->contributions == 0)
		return SYNC_WORKER_BAD_INDEX;
	if (s->n != seg_floats_at(l->in.cf.elements, l->floats, s->index))
		return SYNC_WORKER_BAD_LENGTH;
	if (!now && s->iteration != seg_step(l->t, 1))
		return sync_worker_astray(l, s->iteration);
	if (l->given[way][s->index] != 0) {
		if (l->repairs && now)
			sync_worker_mended_again(l, s->index, now_ns);
		return SYNC_WORKER_DUPLICATE;
	}
	l->given[way][s->index] = s->contributions;
	if (l->got[way]++ == 0)
		l->most[way] = l->least[way] = s->contributions;
	if (s->contributions > l->most[way])
		l->most[way] = s->contributions;
	if (s->contributions > l->h)
		l->h = s->contributions;	/* more have joined since */
	if (s->contributions < l->least[way])
		l->least[way] = s->contributions;
	if (seg_before(l->seen, s->iteration))
		l->seen = s->iteration;
	if (now && l->repairs)
		sync_worker_mended(l, s->index, now_ns);
	else if (now)
		sync_worker_count_result(l, s->index, now_ns);
	sync_worker_heard(l, now_ns);
	return SYNC_WORKER_TAKE;
}

/*
 * The switch is at the iteration before, for it has been started again and
 * others have no result of that: give it once more, and go on from there.
 */
static inline void
sync_worker_go_back(struct sync_worker *l, uint64_t now_ns)
{
	const uint32_t before = seg_step(l->t, -1);

	/* results of t there may be, of the switch that is no more */
	if (l->redo || !l->have[before & 1])
		return;
	l->redo = true;
	l->t = before;
	if (seg_before(before, l->from))
		l->from = before;
	sync_worker_begin(l);
	sync_worker_mend(l, now_ns);
}

/* That is done. */
static inline void
sync_worker_redone(struct sync_worker *l, uint64_t now_ns)
{
	sync_worker_begin(l);
	l->t = seg_step(l->t, 1);
	l->redo = false;
	sync_worker_mend(l, now_ns);
}

/*
 * A segment from the switch.  If it is to be taken, the caller copies its
 * floats to their place in the result of its iteration: t or t + 1.
 */
static inline enum sync_worker_verdict
sync_worker_result(struct sync_worker *l, const struct seg *s, uint64_t now_ns)
{
	enum sync_worker_verdict v = sync_worker_judge(l, s, now_ns);

	if (v == SYNC_WORKER_TAKE && l->redo && s->iteration == l->t) {
		v = SYNC_WORKER_STALE;	/* the caller has it */
		if (sync_worker_whole(l))
			sync_worker_redone(l, now_ns);
	}
	l->verdicts[v]++;
	return v;
}

/*
 * The segments of t's result, whole in vec, that differ in contributions: bring
 * them to the most, so that one division serves them all.
 */
static inline void
sync_worker_level(const struct sync_worker *l, float *vec)
{
	const uint32_t way = l->t & 1, elements = l->in.cf.elements;
	const float most = l->most[way];

	for (uint32_t i = 0; i < l->segs && most > l->least[way]; i++) {
		const float by = most / (float)sync_worker_given(l, i);
		const uint32_t n = seg_floats_at(elements, l->floats, i);

		for (uint32_t k = 0; k < n && by != 1; k++)
			vec[(size_t)i * l->floats + k] *= by;
	}
}

#endif
