/*
 * sync-worker.h - a synchronous worker: what it sends, requests and receives
 *
 * The worker's side of iSwitch (sections 3.3, 3.4).  A worker joins a job and
 * sends the segments of a gradient in increasing index, at most a window of
 * them without a result.  It recovers losses with arq/retransmit.h if the
 * switch does, and otherwise requests missing results with Help messages.
 *
 * The caller reports when it has the gradient of iteration `t`
 * (sync_worker_set_gradient), passes the packets of the switch
 * (sync_worker_receive_result; sync_worker_receive_control of
 * sync-worker-control.h), and sends what sync_worker_next() (there too) writes
 * until it writes nothing more before sync_worker_deadline_ns().  It keeps the
 * gradients of t and t - 1, and the results of t and t + 1.  When
 * sync_worker_is_whole(), it removes the result of t and calls
 * sync_worker_advance().
 *
 * Pure: time is an argument (ns, monotonic), no socket is touched, and vectors
 * are the caller's.  Iterations are those of the wire, modulo 2^24.  Owns its
 * memory: sync_worker_free().
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
	SYNC_WORKER_WINDOW = 64,	/* first window, in segments */
	SYNC_WORKER_WINDOW_MAX = RETRANSMIT_WINDOW,	/* by default */
	SYNC_WORKER_HELPS = 16,		/* most requests at a time-out */
	SYNC_WORKER_ASKS = 256,		/* queued requests */
	SYNC_WORKER_ANSWERS = 256,	/* queued answers to Help */
	SYNC_WORKER_OPEN_NS = 100000000, /* largest time-out before the first
					    result */
	SYNC_WORKER_AGAIN_NS = 1000000000, /* between Joins that refresh H */
	SYNC_WORKER_ASK_NS = 1000000000, /* for the list of members */
	SYNC_WORKER_TEXT_MAX = 1 << 20	/* bytes of that list */
};

struct sync_worker_conf {
	uint32_t next;			/* first iteration not applied */
	uint32_t crc;			/* of the weights then; 0 unknown */
	uint32_t window;		/* segments; 0: adaptive */
	uint32_t run_bytes;		/* bytes that one send can carry */
	uint64_t buffer_bytes;		/* receive buffer that was granted */
};

/* Why the worker has ended; if GOING, `in` may have. */
enum sync_worker_end {
	SYNC_WORKER_GOING,
	SYNC_WORKER_STUCK, /* on segment `oldest` of t */
	SYNC_WORKER_LOST,  /* the result of t is not kept */
	SYNC_WORKER_NO_MEMORY
};

/* The effect of a result. */
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
	bool again;			/* sent before */
	bool repaired;			/* from the retransmission queue */
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
	uint16_t h;			/* or the most contributions seen */
	uint32_t floats, segs;		/* 0 before the first time */
	uint32_t from;			/* first iteration we may add to */

	/* the list of members, to report which are missing */
	bool asking;			/* no Ack yet */
	uint32_t ask_xid;
	uint64_t ask_ns;
	uint16_t page;
	char *text;			/* pages received so far; owned */
	size_t text_bytes;

	/* the two iterations, [t & 1] */
	uint32_t t;			/* first without a complete result */
	uint32_t seen;			/* newest iteration of any result */
	uint16_t *given[2];		/* contributions by index; 0: missing;
					   owned */
	uint32_t got[2];
	uint16_t most[2], least[2];	/* contributions of any segment */
	bool have[2];			/* the gradient of t, of t - 1 */
	uint32_t oldest;		/* all before have a result */

	uint64_t *sent_ns;		/* by index; 0: no sample; owned */
	uint32_t sent;			/* segments, in order of index */
	uint32_t skipped;		/* of those: were not needed */
	uint32_t flight;		/* sent, without a result */
	uint32_t spare;			/* added to the window after a stall */
	uint32_t window, slow, grown;
	uint64_t timer_ns, progress_ns, sampled_ns;
	uint64_t first_ns;		/* when t's first was sent, or 0 */

	uint64_t answer[SYNC_WORKER_ANSWERS];	/* Seg words, a queue */
	uint32_t answers, answered;
	uint32_t ask[SYNC_WORKER_ASKS];	/* indices, a queue */
	uint32_t asks, asked;
	bool repairs;			/* both sides use `retransmit`, not
					   Help */
	struct retransmit retransmit;
	bool redo;			/* t is contributed to once more */
	bool asks_on;			/* each requested result triggers more
					   requests */
	uint32_t ask_from;		/* index of the next request */
	/* of a server, whose vectors come whole */
	struct loss_timer loss_timer;
};

/* Initialise l; the first Join is due at once. */
static inline void sync_worker_init(struct sync_worker *l,
    const struct membership_conf *in, const struct sync_worker_conf *cf,
    uint64_t now_ns);

/* Free the memory of l. */
static inline void sync_worker_free(struct sync_worker *l);

/* The caller has the gradient of its iteration. */
static inline void sync_worker_set_gradient(struct sync_worker *l,
    uint64_t now_ns);

/*
 * Process a segment from the switch.  After SYNC_WORKER_TAKE the caller copies
 * its floats to their place in the result of its iteration, t or t + 1.
 */
static inline enum sync_worker_verdict sync_worker_receive_result(
    struct sync_worker *l,
    const struct seg *s, uint64_t now_ns);

/* Tell whether the result of t is complete. */
static inline bool sync_worker_is_whole(const struct sync_worker *l);

/*
 * Scale the segments of the complete result of t in vec to the largest number
 * of contributions, so that one division serves all.
 */
static inline void sync_worker_level_segments(const struct sync_worker *l,
    float *vec);

/* The caller has removed the result of t: go on to the next iteration. */
static inline void sync_worker_advance(struct sync_worker *l, uint64_t now_ns);

/* Return when there is something to do, even if nothing arrives. */
static inline uint64_t sync_worker_deadline_ns(const struct sync_worker *l);

/* Return the iteration that the caller is at. */
static inline uint32_t sync_worker_iteration(const struct sync_worker *l);

/* Tell whether the worker has not ended yet. */
static inline bool sync_worker_is_going(const struct sync_worker *l);

/* Tell whether results from the network are outstanding. */
static inline bool sync_worker_is_waiting(const struct sync_worker *l);

/*
 * Tell whether the complete result of t has fewer contributions than members.
 */
static inline bool sync_worker_is_partial(const struct sync_worker *l);

/* Return the contributions of segment i to the result of t. */
static inline uint16_t sync_worker_contributions(const struct sync_worker *l,
    uint32_t i);

/* Return counter `what`. */
static inline uint64_t sync_worker_count(const struct sync_worker *l,
    enum sync_worker_count what);

/* implementation */

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

static inline uint64_t
sync_worker_count(const struct sync_worker *l, enum sync_worker_count what)
{
	static const int repaired[SYNC_WORKER_COUNTS] = {
		[SYNC_WORKER_SEGMENTS] = 1 + RETRANSMIT_SENT,
		[SYNC_WORKER_RETRANSMITTED] = 1 + RETRANSMIT_REPEATED,
		[SYNC_WORKER_TIMEOUTS] = 1 + RETRANSMIT_EXPIRED,
		[SYNC_WORKER_PROBES] = 1 + RETRANSMIT_PROBES_SENT,
		[SYNC_WORKER_STATES] = 1 + RETRANSMIT_STATES,
		[SYNC_WORKER_NACKS] = 1 + RETRANSMIT_NACKS
	};

	return l->n[what] + (repaired[what] == 0 ? 0 :
	    l->retransmit.n[repaired[what] - 1]);
}

static inline bool
sync_worker_is_going(const struct sync_worker *l)
{
	return l->end == SYNC_WORKER_GOING && l->in.end == MEMBERSHIP_GOING;
}

static inline bool
sync_worker_is_whole(const struct sync_worker *l)
{
	return l->segs > 0 && l->got[l->t & 1] == l->segs;
}

/*
 * Tell whether the worker may not contribute to t and only fetches its results.
 */
static inline bool
sync_worker_fetches(const struct sync_worker *l)
{
	return seg_before(l->t, l->from);
}

static inline bool
sync_worker_is_waiting(const struct sync_worker *l)
{
	return l->in.joined && !l->in.halted && !sync_worker_is_whole(l) &&
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

/* Return the most segments in flight, by settings and buffers. */
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

/*
 * Return the first window: two runs, so that one fills while the other is under
 * way.
 */
static inline uint32_t
sync_worker_window_first(const struct sync_worker *l)
{
	const uint32_t max = sync_worker_window_max(l);
	uint64_t w = 2 * (l->cf.run_bytes / sync_worker_segment_bytes(l));

	w = w < SYNC_WORKER_WINDOW ? SYNC_WORKER_WINDOW : w;
	return w < max && l->cf.window == 0 ? (uint32_t)w : max;
}

/* Grow the window for a result: as in TCP, by one up to `slow`, then slowly. */
static inline void
sync_worker_widen_window(struct sync_worker *l)
{
	if (l->window >= sync_worker_window_max(l))
		return;
	if (l->window >= l->slow && ++l->grown < l->window)
		return;
	l->window++;
	l->grown = 0;
}

/* Start the time-out, unless nothing is outstanding. */
static inline void
sync_worker_arm_timer(struct sync_worker *l, uint64_t now_ns)
{
	uint64_t ns = rtt_timeout_ns(&l->rtt, &rtt_usual);

	if (l->repairs)
		return;
	if (l->in.whole && l->got[l->t & 1] > 0)	/* the rest follows */
		ns = loss_timer_ns(&l->loss_timer, l->rtt.doubled);
	if (l->n[SYNC_WORKER_ITERATIONS] == 0 && ns > SYNC_WORKER_OPEN_NS)
		/* the job may not be open yet */
		ns = SYNC_WORKER_OPEN_NS;
	l->timer_ns =
	    sync_worker_is_waiting(l) ? now_ns + ns : SYNC_WORKER_NEVER;
}

/* Something new has arrived. */
static inline void
sync_worker_note_progress(struct sync_worker *l, uint64_t now_ns)
{
	l->progress_ns = now_ns;
	l->asking = false;
	rtt_restore(&l->rtt);
	sync_worker_arm_timer(l, now_ns);
}

static inline uint32_t
sync_worker_iteration(const struct sync_worker *l)
{
	return l->redo ? seg_step(l->t, 1) : l->t;
}

static inline void
sync_worker_set_gradient(struct sync_worker *l, uint64_t now_ns)
{
	if (!sync_worker_is_waiting(l))
		l->progress_ns = now_ns;
	l->have[sync_worker_iteration(l) & 1] = true;
	if (l->repairs && !l->redo && !sync_worker_fetches(l))
		retransmit_ready_all(&l->retransmit);
}

/* Return the index of the first segment from i on without a result, or segs. */
static inline uint32_t
sync_worker_find_missing(struct sync_worker *l, uint32_t i)
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
 * Tell whether segment i of t has no result.  With fewer slots than segments
 * the switch may not keep it any more, and answers an old request so while
 * other results of t are outstanding.
 */
static inline bool
sync_worker_lacks(const struct sync_worker *l, uint32_t i)
{
	return i >= l->segs || l->given[l->t & 1][i] == 0;
}

/* Queue requests for the next missing results of t, at most `most`. */
static inline void
sync_worker_queue_missing(struct sync_worker *l, uint32_t most)
{
	const uint32_t end = l->sent > 0 ? l->sent : l->segs;
	uint32_t i = sync_worker_find_missing(l, l->ask_from);

	for (; most > 0 && i < end && l->asks - l->asked < SYNC_WORKER_ASKS;
	    most--) {
		l->ask[l->asks++ % SYNC_WORKER_ASKS] = i;
		i = sync_worker_find_missing(l, i + 1);
	}
	l->ask_from = i;
}

static inline bool
sync_worker_is_partial(const struct sync_worker *l)
{
	return l->least[l->t & 1] < l->h;
}

static inline uint16_t
sync_worker_contributions(const struct sync_worker *l, uint32_t i)
{
	return l->given[l->t & 1][i];
}

/* Forget what was sent and received of t: all of it is done again. */
static inline void
sync_worker_clear_iteration(struct sync_worker *l)
{
	const uint32_t way = l->t & 1;

	memset(l->given[way], 0, l->segs * sizeof(**l->given));
	l->got[way] = l->most[way] = l->least[way] = 0;
	l->sent = l->skipped = l->flight = l->oldest = l->spare = 0;
	l->asks = l->asked = l->ask_from = 0;
	l->asks_on = false;
	l->first_ns = l->sampled_ns = 0;
}

/* Start iteration t in the retransmission queue. */
static inline void
sync_worker_start_repair(struct sync_worker *l, uint64_t now_ns)
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

static inline void
sync_worker_advance(struct sync_worker *l, uint64_t now_ns)
{
	const uint32_t way = l->t & 1;

	l->n[SYNC_WORKER_ITERATIONS]++;
	l->n[SYNC_WORKER_MISSED] += l->sent < l->segs || l->skipped > 0 ||
	    l->retransmit.skipped > 0 || !l->have[way];
	if (sync_worker_is_partial(l)) {
		l->n[SYNC_WORKER_PARTIAL]++;
		if (now_ns - l->in.asked_ns >= SYNC_WORKER_AGAIN_NS)
			membership_join(&l->in, now_ns); /* refresh H */
	}
	sync_worker_clear_iteration(l);
	l->t = seg_step(l->t, 1);
	if (!sync_worker_fetches(l))
		l->from = l->t;		/* keep near: iterations wrap */
	l->have[l->t & 1] = false;	/* that of t - 1 stays */
	sync_worker_start_repair(l, now_ns);
	sync_worker_note_progress(l, now_ns);
}

/*
 * Nothing has arrived for too long: request the oldest missing results, or one
 * if it happens again, because then others are late and no packet is lost.
 */
static inline void
sync_worker_expire_timer(struct sync_worker *l, uint64_t now_ns)
{
	const uint32_t most = l->rtt.doubled == 0 ? SYNC_WORKER_HELPS : 1;

	l->n[SYNC_WORKER_TIMEOUTS]++;
	/* a server answers only whole vectors: send what is held back */
	if (l->sent < l->segs && l->spare < l->segs)
		l->spare = 2 * l->spare + l->window;
	if (l->rtt.doubled == 0 && l->cf.window == 0)
		l->slow = l->window = l->window / 2 < 2 ? 2 : l->window / 2;
	rtt_expire(&l->rtt, &rtt_usual);
	l->asks = l->asked = l->ask_from = 0;
	l->asks_on = l->in.whole && l->got[l->t & 1] > 0;
	sync_worker_queue_missing(l, most);
	loss_timer_request(&l->loss_timer, now_ns);
	sync_worker_arm_timer(l, now_ns);
}

/* Ask the switch for its list of members, to name the missing ones. */
static inline void
sync_worker_ask_members(struct sync_worker *l, uint64_t now_ns)
{
	if (l->asking)
		return;
	l->asking = true;
	l->page = 0;
	l->text_bytes = 0;
	l->ask_ns = now_ns;
}

static inline uint64_t
sync_worker_ask_deadline_ns(const struct sync_worker *l)
{
	const uint64_t give_up = l->in.cf.give_up_ns;
	const uint64_t before = give_up / 4 < SYNC_WORKER_ASK_NS ? give_up / 4 :
	    SYNC_WORKER_ASK_NS;

	return membership_after(l->progress_ns, give_up - before);
}

/* Do what is due by now_ns. */
static inline void
sync_worker_run_timers(struct sync_worker *l, uint64_t now_ns)
{
	if (l->in.leaving || !sync_worker_is_waiting(l))
		return;
	if (!l->repairs && now_ns >= l->timer_ns)
		sync_worker_expire_timer(l, now_ns);
	if (now_ns >= sync_worker_ask_deadline_ns(l))
		sync_worker_ask_members(l, now_ns);
	if (now_ns >= membership_after(l->progress_ns,
	    l->in.cf.give_up_ns)) {
		sync_worker_find_missing(l, 0);
		l->end = SYNC_WORKER_STUCK;
	}
}

static inline uint64_t
sync_worker_deadline_ns(const struct sync_worker *l)
{
	uint64_t due = membership_deadline_ns(&l->in), at;

	if (l->in.leaving || !sync_worker_is_waiting(l))
		return due;
	at = !l->repairs ? l->timer_ns
			 : retransmit_deadline_ns(&l->retransmit);
	due = at < due ? at : due;
	at = l->asking ? l->ask_ns : sync_worker_ask_deadline_ns(l);
	due = at < due ? at : due;
	at = membership_after(l->progress_ns, l->in.cf.give_up_ns);
	return at < due ? at : due;
}

/*
 * Count a first result of a segment: update window, timer and round-trip time.
 */
static inline void
sync_worker_count_result(struct sync_worker *l, uint32_t index, uint64_t now_ns)
{
	if (l->got[l->t & 1] > 1)
		loss_timer_receive(&l->loss_timer, now_ns);
	else
		loss_timer_start(&l->loss_timer, now_ns);
	if (index >= l->sent)
		return;
	l->flight--;
	sync_worker_widen_window(l);
	if (l->asks_on && l->sent_ns[index] == 0)
		sync_worker_queue_missing(l, 2); /* go on with the requests */
	/* a whole vector is one sample: more would outweigh others */
	if (l->sent_ns[index] != 0 && l->sampled_ns != now_ns &&
	    (!l->in.whole || l->sampled_ns == 0)) {
		rtt_sample(&l->rtt, &rtt_usual, now_ns - l->sent_ns[index]);
		l->sampled_ns = now_ns;
	}
}

/*
 * Report a first result to the retransmission queue.  Without a gradient, the
 * job goes on without us.
 */
static inline void
sync_worker_repair_result(
    struct sync_worker *l, uint32_t index, uint64_t now_ns)
{
	retransmit_take(&l->retransmit, index, now_ns);
	if (!l->have[l->t & 1])
		retransmit_expect(&l->retransmit, false);
}

/*
 * Report a repeated result to the retransmission queue.  With few slots, a
 * restarted switch has a slot now for more of what it lacks.
 */
static inline void
sync_worker_repair_duplicate(struct sync_worker *l, uint32_t index,
    uint64_t now_ns)
{
	retransmit_duplicate(&l->retransmit, index);
	if (l->in.span != 0)
		retransmit_want_probe(&l->retransmit, now_ns);
}

/* Return what a result of neither t nor t + 1 is. */
static inline enum sync_worker_verdict
sync_worker_check_other_iteration(struct sync_worker *l, uint32_t iteration)
{
	if (seg_before(iteration, l->t))
		return SYNC_WORKER_STALE;
	if (seg_before(l->seen, iteration))
		l->seen = iteration;
	if (l->repairs)
		retransmit_expect(&l->retransmit, false);
	else if (l->timer_ns == SYNC_WORKER_NEVER &&
		 sync_worker_is_waiting(l))
		l->timer_ns = 0;	/* the job goes on without us */
	return SYNC_WORKER_AHEAD;
}

static inline enum sync_worker_verdict
sync_worker_check_result(
    struct sync_worker *l, const struct seg *s, uint64_t now_ns)
{
	const uint32_t way = s->iteration & 1;
	const bool now = s->iteration == l->t;

	if (l->segs == 0 || s->index >= l->segs || s->contributions == 0)
		return SYNC_WORKER_BAD_INDEX;
	if (s->n != seg_floats_at(l->in.cf.elements, l->floats, s->index))
		return SYNC_WORKER_BAD_LENGTH;
	if (!now && s->iteration != seg_step(l->t, 1))
		return sync_worker_check_other_iteration(l, s->iteration);
	if (l->given[way][s->index] != 0) {
		if (l->repairs && now)
			sync_worker_repair_duplicate(l, s->index, now_ns);
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
		sync_worker_repair_result(l, s->index, now_ns);
	else if (now)
		sync_worker_count_result(l, s->index, now_ns);
	sync_worker_note_progress(l, now_ns);
	return SYNC_WORKER_TAKE;
}

/*
 * Contribute to the iteration before once more, because the switch was
 * restarted and other workers lack its result; then go on.
 */
static inline void
sync_worker_go_back(struct sync_worker *l, uint64_t now_ns)
{
	const uint32_t before = seg_step(l->t, -1);

	/* results of t may be here, from before the restart */
	if (l->redo || !l->have[before & 1])
		return;
	l->redo = true;
	l->t = before;
	if (seg_before(before, l->from))
		l->from = before;
	sync_worker_clear_iteration(l);
	sync_worker_start_repair(l, now_ns);
}

/* The iteration before is done again. */
static inline void
sync_worker_finish_redo(struct sync_worker *l, uint64_t now_ns)
{
	sync_worker_clear_iteration(l);
	l->t = seg_step(l->t, 1);
	l->redo = false;
	sync_worker_start_repair(l, now_ns);
}

static inline enum sync_worker_verdict
sync_worker_receive_result(
    struct sync_worker *l, const struct seg *s, uint64_t now_ns)
{
	enum sync_worker_verdict v;

	/*
	 * The switch has removed us.  A late result must not take us past the
	 * iteration that our Join names, because the job may begin there.
	 */
	if (l->segs > 0 && !l->in.joined) {
		l->verdicts[SYNC_WORKER_STALE]++;
		return SYNC_WORKER_STALE;
	}
	v = sync_worker_check_result(l, s, now_ns);
	if (v == SYNC_WORKER_TAKE && l->redo && s->iteration == l->t) {
		v = SYNC_WORKER_STALE;	/* the caller has it */
		if (sync_worker_is_whole(l))
			sync_worker_finish_redo(l, now_ns);
	}
	l->verdicts[v]++;
	return v;
}

static inline void
sync_worker_level_segments(const struct sync_worker *l, float *vec)
{
	const uint32_t way = l->t & 1, elements = l->in.cf.elements;
	const float most = l->most[way];

	for (uint32_t i = 0; i < l->segs && most > l->least[way]; i++) {
		const float by = most / (float)sync_worker_contributions(l, i);
		const uint32_t n = seg_floats_at(elements, l->floats, i);

		for (uint32_t k = 0; k < n && by != 1; k++)
			vec[(size_t)i * l->floats + k] *= by;
	}
}

#endif
