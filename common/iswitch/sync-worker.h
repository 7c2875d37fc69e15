/*
 * sync-worker.h - a synchronous worker: what it sends, asks and takes, and when
 *
 * The worker's side of iSwitch (sections 3.3, 3.4): it joins a job, sends the
 * segments of a gradient in increasing index, at most a window of them without
 * a result, and asks for what does not come (Help).  Pure: time is an
 * argument (ns, monotonic), no socket is touched, vectors are the caller's.
 *
 * The caller says when it has the gradient of iteration `t`
 * (sync_worker_gradient), gives what came from the switch (sync_worker_result,
 * and sync_worker_control of iswitch/sync-worker-control.h), and sends what
 * sync_worker_next() (there too) wants sent, until it wants nothing more before
 * sync_worker_due().  It keeps the gradients of t and t - 1, and the results of
 * t and t + 1 as told to take them; when sync_worker_whole(), it takes the
 * result of t away and calls sync_worker_advance().
 *
 * Iterations are the wire's: modulo 2^24.  Owns its memory: sync_worker_free().
 */
#ifndef INNET_ISWITCH_SYNC_WORKER_H
#define INNET_ISWITCH_SYNC_WORKER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/arq/loss-timer.h"
#include "common/arq/retransmit.h"
#include "common/arq/rtt.h"
#include "common/iswitch/membership.h"
#include "common/wire/seg.h"

#define SYNC_WORKER_NEVER MEMBERSHIP_NEVER

enum {
	SYNC_WORKER_WINDOW = 64, /* to begin with, or two runs */
	SYNC_WORKER_WINDOW_MAX =
	    RETRANSMIT_WINDOW,	/* unless one is asked for */
	SYNC_WORKER_HELPS = 16, /* asked for at a time-out, at most */
	SYNC_WORKER_ASKS = 256, /* waiting to be asked for */
	/* of Help, waiting to be sent */
	SYNC_WORKER_ANSWERS = 256,
	/* most patience before any result */
	SYNC_WORKER_OPEN_NS = 100000000,
	/* between Joins that ask for H */
	SYNC_WORKER_AGAIN_NS = 1000000000,
	SYNC_WORKER_ASK_NS = 1000000000, /* for the list of members */
	SYNC_WORKER_TEXT_MAX = 1 << 20	 /* bytes of it */
};

struct sync_worker_conf {
	uint32_t next;			/* first iteration not applied */
	uint32_t crc;			/* of the weights then; 0 unknown */
	uint32_t window;		/* segments; 0: as it turns out */
	uint32_t run_bytes;		/* what one send can carry */
	uint64_t buffer_bytes;		/* receive buffer that was granted */
};

/* Why it has ended, if not as a member; sync_worker_why() has the words. */
enum sync_worker_end {
	SYNC_WORKER_GOING,
	SYNC_WORKER_STUCK,			/* on segment `oldest` of t */
	SYNC_WORKER_LOST,			/* t is kept nowhere any more */
	SYNC_WORKER_NO_MEMORY
};

/* What became of a result. */
enum sync_worker_verdict {
	SYNC_WORKER_TAKE,			/* the caller copies it */
	SYNC_WORKER_DUPLICATE, SYNC_WORKER_STALE,
	SYNC_WORKER_AHEAD,			/* past t + 1 */
	SYNC_WORKER_BAD_INDEX, SYNC_WORKER_BAD_LENGTH, SYNC_WORKER_VERDICTS
};

enum sync_worker_count {
	SYNC_WORKER_ITERATIONS, SYNC_WORKER_MISSED, SYNC_WORKER_PARTIAL,
	SYNC_WORKER_SEGMENTS, SYNC_WORKER_RETRANSMITTED, SYNC_WORKER_TIMEOUTS,
	SYNC_WORKER_HELPS_SENT, SYNC_WORKER_HELPS_ANSWERED,
	    SYNC_WORKER_HELPS_IGNORED,
	SYNC_WORKER_PROBES, SYNC_WORKER_STATES, SYNC_WORKER_NACKS,
	SYNC_WORKER_COUNTS
};

/* To be sent: a run of segments of a gradient, or a control message. */
struct sync_worker_out {
	uint32_t iteration, first, count;	/* count 0: a message */
	bool again;			/* for a Help, or to mend */
	bool mended;			/* it is the mender's */
	size_t len;
	uint8_t message[CONTROL_MAX_BYTES];
};

struct sync_worker {
	struct sync_worker_conf cf;
	struct membership in;		/* of the job */
	struct rtt rtt;
	enum sync_worker_end end;
	uint64_t n[SYNC_WORKER_COUNTS], verdicts[SYNC_WORKER_VERDICTS];

	/* the job, as it let us in */
	uint16_t h;			/* or the most contributions since */
	uint32_t floats, segs;		/* 0 before the first time */
	uint32_t from;			/* first iteration we may add to */

	/* who is missing: asked of the switch */
	bool asking;			/* no Ack yet */
	uint32_t ask_xid;
	uint64_t ask_ns;
	uint16_t page;
	char *text;			/* what Members said so far; owned */
	size_t text_bytes;

	/* the two iterations, [t & 1] */
	uint32_t t;			/* first whose results are not whole */
	uint32_t seen;			/* newest that any result was of */
	uint16_t *given[2];		/* contributions by index; 0 missing */
	uint32_t got[2];
	uint16_t most[2], least[2];	/* contributions of any segment */
	bool have[2];			/* the gradient; of t - 1, not t + 1 */
	uint32_t oldest;		/* none before misses its result */

	uint64_t *sent_ns;		/* by index; 0: gives no sample */
	uint32_t sent;			/* segments, in order of index */
	uint32_t skipped;		/* of those: were not needed */
	uint32_t flight;		/* sent, and no result yet */
	uint32_t spare;			/* window for a stall, this iteration */
	uint32_t window, slow, grown;
	uint64_t timer_ns, progress_ns, sampled_ns;
	uint64_t first_ns;		/* when t's first was sent, or 0 */

	uint64_t answer[SYNC_WORKER_ANSWERS];	/* Seg words, a queue */
	uint32_t answers, answered;
	uint32_t ask[SYNC_WORKER_ASKS];	/* indices, a queue */
	uint32_t asks, asked;
	bool repairs;			/* both sides: by this, not by Help */
	struct retransmit retransmit;
	bool redo;			/* t is done: once more for others */
	bool mends;			/* asks on as what it asked for comes */
	uint32_t mend;			/* from this index */
	/* of a vector that comes whole */
	struct loss_timer pause;
};

static inline void
sync_worker_init(struct sync_worker *l, const struct membership_conf *in,
    const struct sync_worker_conf *cf, uint64_t now_ns)
{
	*l = (struct sync_worker){.cf = *cf,
	    .t = cf->next & (SEG_ITERATIONS - 1),
	    .timer_ns = SYNC_WORKER_NEVER,
	    .progress_ns = now_ns};
	l->seen = seg_step(l->t, -1);
	membership_init(&l->in, in, now_ns);
	l->in.cf.repairs = true;
}

static inline void
sync_worker_free(struct sync_worker *l)
{
	free(l->given[0]);
	free(l->given[1]);
	free(l->sent_ns);
	free(l->text);
	retransmit_free(&l->retransmit);
	l->given[0] = l->given[1] = NULL;
	l->sent_ns = NULL;
	l->text = NULL;
}

/* So many of them so far. */
static inline uint64_t
sync_worker_count(const struct sync_worker *l, enum sync_worker_count what)
{
	static const int mended[SYNC_WORKER_COUNTS] = {
		[SYNC_WORKER_SEGMENTS] = 1 + RETRANSMIT_SENT,
		[SYNC_WORKER_RETRANSMITTED] = 1 + RETRANSMIT_REPEATED,
		[SYNC_WORKER_TIMEOUTS] = 1 + RETRANSMIT_EXPIRED,
		[SYNC_WORKER_PROBES] = 1 + RETRANSMIT_PROBES_SENT,
		[SYNC_WORKER_STATES] = 1 + RETRANSMIT_STATES,
		[SYNC_WORKER_NACKS] = 1 + RETRANSMIT_NACKS
	};

	return l->n[what] + (mended[what] == 0 ? 0 :
	    l->retransmit.n[mended[what] - 1]);
}

/* Has it not ended yet? */
static inline bool
sync_worker_going(const struct sync_worker *l)
{
	return l->end == SYNC_WORKER_GOING && l->in.end == MEMBERSHIP_GOING;
}

/* Is the result of t all here? */
static inline bool
sync_worker_whole(const struct sync_worker *l)
{
	return l->segs > 0 && l->got[l->t & 1] == l->segs;
}

/* May we not add to t, and only take its results? */
static inline bool
sync_worker_fetches(const struct sync_worker *l)
{
	return seg_before(l->t, l->from);
}

/* Is there something that the network owes us? */
static inline bool
sync_worker_waits(const struct sync_worker *l)
{
	return l->in.joined && !l->in.halted && !sync_worker_whole(l) &&
	    (l->flight > 0 || l->have[l->t & 1] || l->got[0] > 0 ||
	    l->got[1] > 0 || sync_worker_fetches(l) ||
	    seg_before(l->t, l->seen));
}

static inline size_t
sync_worker_segment_bytes(const struct sync_worker *l)
{
	return SEG_HEADER_BYTES + (l->in.cf.tagged ? SEG_TAG_BYTES : 0) +
	    4 * (size_t)l->floats;
}

/* The most segments in flight, as settings and buffers allow. */
static inline uint32_t
sync_worker_window_max(const struct sync_worker *l)
{
	const uint64_t fit = l->cf.buffer_bytes / 2 /
	    (l->in.members > l->h ? l->in.members : l->h > 0 ? l->h : 1) /
	    sync_worker_segment_bytes(l);
	uint64_t w = l->cf.window > 0 ? l->cf.window : SYNC_WORKER_WINDOW_MAX;

	w = w < fit ? w : fit;
	w = w < 2 ? 2 : w;
	return l->in.span != 0 && w > l->in.span ? l->in.span : (uint32_t)w;
}

/* To begin with: two runs, for one to fill while the other is under way. */
static inline uint32_t
sync_worker_window_first(const struct sync_worker *l)
{
	const uint32_t max = sync_worker_window_max(l);
	uint64_t w = 2 * (l->cf.run_bytes / sync_worker_segment_bytes(l));

	w = w < SYNC_WORKER_WINDOW ? SYNC_WORKER_WINDOW : w;
	return w < max && l->cf.window == 0 ? (uint32_t)w : max;
}

/* A result has come: as TCP's, the window grows to `slow`, then slowly. */
static inline void
sync_worker_widen(struct sync_worker *l)
{
	if (l->window >= sync_worker_window_max(l))
		return;
	if (l->window >= l->slow && ++l->grown < l->window)
		return;
	l->window++;
	l->grown = 0;
}

/* A time-out from now, unless nothing is waited for. */
static inline void
sync_worker_arm(struct sync_worker *l, uint64_t now_ns)
{
	uint64_t ns = rtt_timeout_ns(&l->rtt, &rtt_usual);

	if (l->repairs)
		return;
	if (l->in.whole && l->got[l->t & 1] > 0)	/* it comes in one go */
		ns = loss_timer_ns(&l->pause, l->rtt.doubled);
	if (l->n[SYNC_WORKER_ITERATIONS] == 0 && ns > SYNC_WORKER_OPEN_NS)
		/* the job may not be open yet */
		ns = SYNC_WORKER_OPEN_NS;
	l->timer_ns =
	    sync_worker_waits(l) ? now_ns + ns : SYNC_WORKER_NEVER;
}

/* Something new has come. */
static inline void
sync_worker_heard(struct sync_worker *l, uint64_t now_ns)
{
	l->progress_ns = now_ns;
	l->asking = false;
	rtt_restore(&l->rtt);
	sync_worker_arm(l, now_ns);
}

/* The iteration that the caller is at. */
static inline uint32_t
sync_worker_iteration(const struct sync_worker *l)
{
	return l->redo ? seg_step(l->t, 1) : l->t;
}

/* The caller has the gradient of its iteration. */
static inline void
sync_worker_gradient(struct sync_worker *l, uint64_t now_ns)
{
	if (!sync_worker_waits(l))
		l->progress_ns = now_ns;
	l->have[sync_worker_iteration(l) & 1] = true;
	if (l->repairs && !l->redo && !sync_worker_fetches(l))
		retransmit_ready_all(&l->retransmit);
}

/* The index of the first segment from i on without a result, or segs. */
static inline uint32_t
sync_worker_missing(struct sync_worker *l, uint32_t i)
{
	const uint16_t *given = l->given[l->t & 1];
	const bool oldest = i <= l->oldest;

	if (l->segs == 0)
		return 0;
	for (i = oldest ? l->oldest : i; i < l->segs && given[i] != 0; i++)
		;
	if (oldest)
		l->oldest = i;
	return i;
}

/*
 * Is there no result of segment i of t?  Where slots are fewer than segments it
 * may be kept no more, and what was asked long ago is answered so, while others
 * of t are yet to come.
 */
static inline bool
sync_worker_lacks(const struct sync_worker *l, uint32_t i)
{
	return i >= l->segs || l->given[l->t & 1][i] == 0;
}

/* Queue what misses of the result of t, from where that was left; so many. */
static inline void
sync_worker_ask_on(struct sync_worker *l, uint32_t most)
{
	const uint32_t end = l->sent > 0 ? l->sent : l->segs;
	uint32_t i = sync_worker_missing(l, l->mend);

	for (; most > 0 && i < end && l->asks - l->asked < SYNC_WORKER_ASKS;
	    most--) {
		l->ask[l->asks++ % SYNC_WORKER_ASKS] = i;
		i = sync_worker_missing(l, i + 1);
	}
	l->mend = i;
}

/* Fewer contributions than members in the result of t, which is whole? */
static inline bool
sync_worker_partial(const struct sync_worker *l)
{
	return l->least[l->t & 1] < l->h;
}

/* Contributions of segment i to the result of t. */
static inline uint16_t
sync_worker_given(const struct sync_worker *l, uint32_t i)
{
	return l->given[l->t & 1][i];
}

/* Forget what was sent and what came of t: all is to be done again. */
static inline void
sync_worker_begin(struct sync_worker *l)
{
	const uint32_t way = l->t & 1;

	memset(l->given[way], 0, l->segs * sizeof(**l->given));
	l->got[way] = l->most[way] = l->least[way] = 0;
	l->sent = l->skipped = l->flight = l->oldest = l->spare = 0;
	l->asks = l->asked = l->mend = 0;
	l->mends = false;
	l->first_ns = l->sampled_ns = 0;
}

/* Iteration t begins, for what mends it. */
static inline void
sync_worker_mend(struct sync_worker *l, uint64_t now_ns)
{
	struct retransmit *m = &l->retransmit;

	if (!l->repairs)
		return;
	retransmit_start(m, l->t, now_ns);
	for (uint32_t i = 0; i < l->segs && l->got[l->t & 1] > 0; i++) {
		if (l->given[l->t & 1][i] != 0)
			retransmit_take(m, i, now_ns);
	}
	if (sync_worker_fetches(l) || l->got[l->t & 1] > 0 ||
	    seg_before(l->t, l->seen))
		retransmit_expect(m, sync_worker_fetches(l));
	if (l->have[l->t & 1] && !sync_worker_fetches(l))
		retransmit_ready_all(m);
}

/* The result of t has been taken away: on to the next. */
static inline void
sync_worker_advance(struct sync_worker *l, uint64_t now_ns)
{
	const uint32_t way = l->t & 1;

	l->n[SYNC_WORKER_ITERATIONS]++;
	l->n[SYNC_WORKER_MISSED] += l->sent < l->segs || l->skipped > 0 ||
	    l->retransmit.skipped > 0 || !l->have[way];
	if (sync_worker_partial(l)) {
		l->n[SYNC_WORKER_PARTIAL]++;
		if (now_ns - l->in.asked_ns >= SYNC_WORKER_AGAIN_NS)
			membership_join(&l->in, now_ns); /* is H still H? */
	}
	sync_worker_begin(l);
	l->t = seg_step(l->t, 1);
	if (!sync_worker_fetches(l))
		l->from = l->t;		/* lest it come round again */
	l->have[l->t & 1] = false;	/* that of t - 1 stays */
	sync_worker_mend(l, now_ns);
	sync_worker_heard(l, now_ns);
}

/*
 * Nothing has come for too long: ask for the oldest that miss; if it happens
 * again, for one, for then others are late rather than packets lost.
 */
static inline void
sync_worker_expire(struct sync_worker *l, uint64_t now_ns)
{
	const uint32_t most = l->rtt.doubled == 0 ? SYNC_WORKER_HELPS : 1;

	l->n[SYNC_WORKER_TIMEOUTS]++;
	/* a server answers whole vectors alone: what is held back must go */
	if (l->sent < l->segs && l->spare < l->segs)
		l->spare = 2 * l->spare + l->window;
	if (l->rtt.doubled == 0 && l->cf.window == 0)
		l->slow = l->window = l->window / 2 < 2 ? 2 : l->window / 2;
	rtt_expire(&l->rtt, &rtt_usual);
	l->asks = l->asked = l->mend = 0;
	l->mends = l->in.whole && l->got[l->t & 1] > 0;
	sync_worker_ask_on(l, most);
	loss_timer_request(&l->pause, now_ns);
	sync_worker_arm(l, now_ns);
}

/* Begin or go on to ask who is missing. */
static inline void
sync_worker_ask(struct sync_worker *l, uint64_t now_ns)
{
	if (l->asking)
		return;
	l->asking = true;
	l->page = 0;
	l->text_bytes = 0;
	l->ask_ns = now_ns;
}

static inline uint64_t
sync_worker_ask_due(const struct sync_worker *l)
{
	const uint64_t give_up = l->in.cf.give_up_ns;
	const uint64_t before = give_up / 4 < SYNC_WORKER_ASK_NS ? give_up / 4 :
	    SYNC_WORKER_ASK_NS;

	return membership_after(l->progress_ns, give_up - before);
}

/* What is due by now_ns. */
static inline void
sync_worker_fire(struct sync_worker *l, uint64_t now_ns)
{
	if (l->in.leaving || !sync_worker_waits(l))
		return;
	if (!l->repairs && now_ns >= l->timer_ns)
		sync_worker_expire(l, now_ns);
	if (now_ns >= sync_worker_ask_due(l))
		sync_worker_ask(l, now_ns);
	if (now_ns >= membership_after(l->progress_ns,
	    l->in.cf.give_up_ns)) {
		sync_worker_missing(l, 0);
		l->end = SYNC_WORKER_STUCK;
	}
}

/* When there is something to do, even if nothing comes. */
static inline uint64_t
sync_worker_due(const struct sync_worker *l)
{
	uint64_t due = membership_due(&l->in), at;

	if (l->in.leaving || !sync_worker_waits(l))
		return due;
	at = !l->repairs ? l->timer_ns
			 : retransmit_deadline_ns(&l->retransmit);
	due = at < due ? at : due;
	at = l->asking ? l->ask_ns : sync_worker_ask_due(l);
	due = at < due ? at : due;
	at = membership_after(l->progress_ns, l->in.cf.give_up_ns);
	return at < due ? at : due;
}

/* A first result of a segment: the window, the clock, a sample. */
static inline void
sync_worker_count_result(struct sync_worker *l, uint32_t index, uint64_t now_ns)
{
	if (l->got[l->t & 1] > 1)
		loss_timer_receive(&l->pause, now_ns);
	else
		loss_timer_start(&l->pause, now_ns);
	if (index >= l->sent)
		return;
	l->flight--;
	sync_worker_widen(l);
	if (l->mends && l->sent_ns[index] == 0)
		sync_worker_ask_on(l, 2);	/* that comes: ask on */
	/* a whole answer is one sample: many would outvote the others */
	if (l->sent_ns[index] != 0 && l->sampled_ns != now_ns &&
	    (!l->in.whole || l->sampled_ns == 0)) {
		rtt_sample(&l->rtt, &rtt_usual, now_ns - l->sent_ns[index]);
		l->sampled_ns = now_ns;
	}
}

/* The same of one that is mended: that of a job which goes on without us? */
static inline void
sync_worker_mended(struct sync_worker *l, uint32_t index, uint64_t now_ns)
{
	retransmit_take(&l->retransmit, index, now_ns);
	if (!l->have[l->t & 1])
		retransmit_expect(&l->retransmit, false);
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
		retransmit_want_probe(&l->retransmit, now_ns);
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
		retransmit_expect(&l->retransmit, false);
	else if (l->timer_ns == SYNC_WORKER_NEVER &&
		 sync_worker_waits(l))
		l->timer_ns = 0;	/* the job goes on without us */
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
