/*
 * sync-worker.h - a synchronous worker: which packets it sends, and how it
 * handles results
 *
 * This file implements the worker's side of iSwitch (sections 3.3 and 3.4).  A
 * worker joins a job and sends the segments of a gradient in order of index.
 * At most one window of segments may be sent before their results arrive.  If
 * the switch supports arq/retransmit.h, the worker uses it to recover losses.
 * Otherwise it requests missing results with Help messages.
 *
 * The caller calls sync_worker_set_gradient() when it has the gradient of
 * iteration `t`.  It passes packets from the switch to
 * sync_worker_receive_result() and to sync_worker_receive_control() (in
 * sync-worker-control.h).  It calls sync_worker_next() (also in
 * sync-worker-control.h) again and again and sends the output, until
 * sync_worker_next() returns false.  At the time that sync_worker_deadline_ns()
 * returns, it calls sync_worker_next() again.  It keeps the gradients of t and
 * t - 1, and the results of t and t + 1.  When sync_worker_is_whole() returns
 * true, it takes the result of t and calls sync_worker_advance().
 *
 * With cf.ring the vector is a ring that sync-ring.h fills with pieces of any
 * length.  The caller then calls sync_worker_fill() instead of
 * sync_worker_set_gradient().  The worker sends the segments that are filled,
 * and waits only for their results.  This mode needs a switch that supports
 * Probes; otherwise the worker ends with SYNC_WORKER_NO_RING.
 *
 * The functions use no clock and no socket: time is an argument (monotonic, in
 * ns).  The caller owns the vectors.  Iteration numbers are those in packets,
 * which are modulo 2^24.  sync_worker_free() frees the memory.
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
	SYNC_WORKER_WINDOW_MAX = RETRANSMIT_WINDOW,	/* default limit on the
							 * window, in
							 * segments */
	SYNC_WORKER_HELPS = 16,		/* maximum number of results that are
					 * requested after one time-out */
	SYNC_WORKER_ASKS = 256,		/* maximum number of queued requests for
					 * results */
	SYNC_WORKER_ANSWERS = 256,	/* maximum number of queued answers to
					 * Helps */
	SYNC_WORKER_OPEN_NS = 100000000, /* longest time-out before the first
					    result */
	SYNC_WORKER_AGAIN_NS = 1000000000, /* time between Joins that refresh
					    * H */
	SYNC_WORKER_ASK_NS = 1000000000, /* time between requests for the list
					  * of members */
	SYNC_WORKER_TEXT_MAX = 1 << 20	/* maximum number of bytes in the list
					 * of members */
};

struct sync_worker_conf {
	uint32_t next;			/* first iteration whose result the
					 * worker has not applied */
	uint32_t crc;			/* checksum of the weights; 0:
					 * unknown */
	uint32_t window;		/* fixed window, in segments; 0: the
					 * window adapts */
	uint32_t run_bytes;		/* number of bytes that one system call
					 * can send */
	uint64_t buffer_bytes;		/* size of the receive buffer that the
					 * kernel has allocated */
	bool ring;			/* the caller fills the vector piece by
					 * piece */
};

/*
 * The reason why the worker has ended.  The value is also SYNC_WORKER_GOING if
 * the worker has ended because its membership `in` has ended.
 */
enum sync_worker_end {
	SYNC_WORKER_GOING,
	SYNC_WORKER_STUCK, /* the worker has waited too long for the result of
			    * segment `oldest` of t */
	SYNC_WORKER_LOST,  /* the switch no longer keeps the result of t */
	SYNC_WORKER_NO_RING, /* ring: the switch answers no Probes, or only
			      * whole vectors */
	SYNC_WORKER_NO_MEMORY
};

/*
 * How a result that arrived was handled, or what the caller must do with the
 * result.
 */
enum sync_worker_verdict {
	SYNC_WORKER_TAKE,			/* the caller must copy the
						 * result */
	SYNC_WORKER_DUPLICATE, SYNC_WORKER_STALE,
	SYNC_WORKER_AHEAD,			/* the result belongs to an
						 * iteration after t + 1 */
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

/* A packet to send: a run of segments of a gradient, or a control message. */
struct sync_worker_out {
	uint32_t iteration, first, count;	/* for a run: its iteration,
						 * first segment and number of
						 * segments; for a message,
						 * count is 0 */
	bool again;			/* the packet has been sent before */
	bool repaired;			/* the run was taken from the
					 * retransmission queue */
	size_t len;
	uint8_t message[CONTROL_MAX_BYTES];
};

struct sync_worker {
	struct sync_worker_conf cf;
	struct membership in;		/* membership in the job */
	struct rtt rtt;
	enum sync_worker_end end;
	bool is_short;			/* the worker leaves, because others
					 * have left and fewer than H remain */
	uint64_t n[SYNC_WORKER_COUNTS], verdicts[SYNC_WORKER_VERDICTS];

	/* The values of the job. */
	uint16_t h;			/* H of the job or, if it is greater,
					 * the largest number of contributions
					 * to a result */
	uint32_t floats, segs;		/* number of floats in a segment; number
					 * of segments; 0 until the first Join
					 * is accepted */
	uint32_t from;			/* first iteration to which we may
					 * contribute */

	/*
	 * The list of members, which the worker requests so that it can name
	 * the missing members.
	 */
	bool asking;			/* the Ack of the last request has not
					 * arrived yet */
	uint32_t ask_xid;
	uint64_t ask_ns;
	uint16_t page;
	char *text;			/* owned; the pages of the list that
					 * have arrived */
	size_t text_bytes;

	/* The state of iterations t and t + 1; the index is iteration & 1. */
	uint32_t t;			/* first iteration without a complete
					 * result */
	uint32_t seen;			/* newest iteration of all results that
					 * have arrived */
	uint16_t *given[2];		/* owned; by segment index: number of
					 * contributions, or 0 if the result is
					 * missing */
	uint32_t got[2];
	uint16_t most[2], least[2];	/* largest and smallest number of
					 * contributions to any segment */
	bool have[2];			/* the caller has the gradient of this
					 * iteration (t or t - 1) */
	uint32_t oldest;		/* index of the first segment that may
					 * have no result yet */
	uint32_t filled;		/* ring: number of segments filled in
					 * iteration sync_worker_iteration() */

	uint64_t *sent_ns;		/* owned; by segment index: time when
					 * the segment was sent, or 0 if its
					 * result gives no round trip time */
	uint32_t sent;			/* number of segments that were sent, in
					 * order of index */
	uint32_t skipped;		/* number of segments that were not sent
					 * because they were not needed */
	uint32_t flight;		/* number of segments that were sent and
					 * have no result yet */
	uint32_t spare;			/* number of segments by which the
					 * window was enlarged after a stall */
	uint32_t window, slow, grown;
	uint64_t timer_ns, progress_ns, sampled_ns;
	uint64_t first_ns;		/* time when the first segment of t was
					 * sent, or 0 */

	uint64_t answer[SYNC_WORKER_ANSWERS];	/* queue of the Seg words of the
						 * segments that Helps
						 * requested */
	uint32_t answers, answered;
	uint32_t ask[SYNC_WORKER_ASKS];	/* queue of the segment indices of
					 * results to request */
	uint32_t asks, asked;
	bool repairs;			/* losses are repaired with `retransmit`
					 * and not with Helps */
	struct retransmit retransmit;
	bool redo;			/* the worker contributes to t again */
	bool asks_on;			/* when a requested result arrives,
					 * request more results */
	uint32_t ask_from;		/* index of the segment whose result is
					 * requested next */
	/* used if the switch is a server, whose answers are whole vectors */
	struct loss_timer loss_timer;
};

/* Initialise l; the first Join is due at once. */
static inline void sync_worker_init(struct sync_worker *l,
    const struct membership_conf *in, const struct sync_worker_conf *cf,
    uint64_t now_ns);

/* Free the memory of l. */
static inline void sync_worker_free(struct sync_worker *l);

/*
 * Record that the caller has the gradient of iteration sync_worker_iteration().
 */
static inline void sync_worker_set_gradient(struct sync_worker *l,
    uint64_t now_ns);

/*
 * Ring: record that the caller has filled the first n segments of iteration
 * sync_worker_iteration().  n must not decrease within an iteration.
 */
static inline void sync_worker_fill(struct sync_worker *l, uint32_t n,
    uint64_t now_ns);

/*
 * Process segment s, which arrived from the switch.  If this function returns
 * SYNC_WORKER_TAKE, the caller copies the floats of s to their place in the
 * result of their iteration, t or t + 1.
 */
static inline enum sync_worker_verdict sync_worker_receive_result(
    struct sync_worker *l,
    const struct seg *s, uint64_t now_ns);

/* Tell whether the result of t is complete. */
static inline bool sync_worker_is_whole(const struct sync_worker *l);

/*
 * Scale all segments of vec, the complete result of t, to the largest number of
 * contributions.  Then the caller can divide the whole vector by one number.
 */
static inline void sync_worker_level_segments(const struct sync_worker *l,
    float *vec);

/*
 * Advance to the next iteration, because the caller has used the result of t.
 */
static inline void sync_worker_advance(struct sync_worker *l, uint64_t now_ns);

/*
 * Return the time at which the caller must call sync_worker_next() again if
 * nothing arrives.
 */
static inline uint64_t sync_worker_deadline_ns(const struct sync_worker *l);

/*
 * Return the iteration at which the caller is: t, or t + 1 while the worker
 * contributes to t again.
 */
static inline uint32_t sync_worker_iteration(const struct sync_worker *l);

/* Tell whether the worker is still running. */
static inline bool sync_worker_is_going(const struct sync_worker *l);

/* Tell whether results from the network are outstanding. */
static inline bool sync_worker_is_waiting(const struct sync_worker *l);

/*
 * Tell whether the complete result of t has fewer contributions than the job
 * has members.
 */
static inline bool sync_worker_is_partial(const struct sync_worker *l);

/*
 * Return the number of contributions to the result of segment i of the current
 * iteration.
 */
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
 * Tell whether the worker may not contribute to t, so that it only requests the
 * results of t.
 */
static inline bool
sync_worker_fetches(const struct sync_worker *l)
{
	return seg_before(l->t, l->from);
}

static inline bool
sync_worker_is_waiting(const struct sync_worker *l)
{
	if (l->cf.ring)
		return l->in.joined && !l->in.forgotten && !l->in.halted &&
		    retransmit_is_waiting(&l->retransmit);
	return l->in.joined && !l->in.forgotten && !l->in.halted &&
	    !sync_worker_is_whole(l) && (l->flight > 0 ||
	    l->have[l->t & 1] || l->got[0] > 0 || l->got[1] > 0 ||
	    sync_worker_fetches(l) || seg_before(l->t, l->seen));
}

static inline size_t
sync_worker_segment_bytes(const struct sync_worker *l)
{
	return SEG_HEADER_BYTES + (l->in.cf.tagged ? SEG_TAG_BYTES : 0) +
	    4 * (size_t)l->floats;
}

/*
 * Return the largest number of segments in flight that the settings and buffers
 * allow.
 */
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
 * Return the initial window.  It is two runs, so that the worker can send one
 * run while the other run is on its way.
 */
static inline uint32_t
sync_worker_window_first(const struct sync_worker *l)
{
	const uint32_t max = sync_worker_window_max(l);
	uint64_t w = 2 * (l->cf.run_bytes / sync_worker_segment_bytes(l));

	w = w < SYNC_WORKER_WINDOW ? SYNC_WORKER_WINDOW : w;
	return w < max && l->cf.window == 0 ? (uint32_t)w : max;
}

/*
 * Grow the window because a result arrived.  As in TCP, it grows by one segment
 * for each result up to `slow`, and more slowly above `slow`.
 */
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

/* Restart the time-out if results are outstanding. */
static inline void
sync_worker_arm_timer(struct sync_worker *l, uint64_t now_ns)
{
	uint64_t ns = rtt_timeout_ns(&l->rtt, &rtt_usual);

	if (l->repairs)
		return;
	if (l->in.whole && l->got[l->t & 1] > 0)	/* the rest of a
							 * server's vector will
							 * follow */
		ns = loss_timer_ns(&l->loss_timer, l->rtt.doubled);
	if (l->n[SYNC_WORKER_ITERATIONS] == 0 && ns > SYNC_WORKER_OPEN_NS)
		/* the job may not be open yet */
		ns = SYNC_WORKER_OPEN_NS;
	l->timer_ns =
	    sync_worker_is_waiting(l) ? now_ns + ns : SYNC_WORKER_NEVER;
}

/* Record that a new result or answer has arrived. */
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

/*
 * Pass the segments of t that the caller has filled to the retransmission
 * queue.
 */
static inline void
sync_worker_ready_filled(struct sync_worker *l, uint64_t now_ns)
{
	const uint32_t n = l->redo ? l->segs : l->filled;

	if (l->repairs)
		retransmit_fill(&l->retransmit, n, !sync_worker_fetches(l),
		    now_ns);
}

static inline void
sync_worker_fill(struct sync_worker *l, uint32_t n, uint64_t now_ns)
{
	if (!sync_worker_is_waiting(l))
		l->progress_ns = now_ns;
	l->filled = n;
	l->have[sync_worker_iteration(l) & 1] = n > 0;
	if (!l->redo)
		sync_worker_ready_filled(l, now_ns);
}

/*
 * Return the index of the first segment from i on that has no result, or segs.
 */
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
 * Tell whether the result of segment i of t is missing.  If the switch reports
 * that a result is no longer kept and the worker has this result, the report is
 * the answer to an old request.
 */
static inline bool
sync_worker_lacks(const struct sync_worker *l, uint32_t i)
{
	return i >= l->segs || l->given[l->t & 1][i] == 0;
}

/* Queue requests for at most `most` of the next missing results of t. */
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

/* Forget which segments of t were sent and received, because t starts again. */
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
	if (l->cf.ring)
		sync_worker_ready_filled(l, now_ns);
	else if (l->have[l->t & 1] && !sync_worker_fetches(l))
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
			membership_join(&l->in, now_ns); /* to refresh H */
	}
	sync_worker_clear_iteration(l);
	l->t = seg_step(l->t, 1);
	if (!sync_worker_fetches(l))
		l->from = l->t;		/* keep `from` near t, because iteration
					 * numbers wrap */
	l->have[l->t & 1] = false;	/* the caller still has the gradient of
					 * t - 1 */
	l->filled = 0;
	sync_worker_start_repair(l, now_ns);
	sync_worker_note_progress(l, now_ns);
}

/*
 * Request the oldest missing results, because nothing has arrived for too long.
 * After the second time-out in a row, request only one result, because such a
 * long wait means that the other members are late and not that a packet was
 * lost.
 */
static inline void
sync_worker_expire_timer(struct sync_worker *l, uint64_t now_ns)
{
	const uint32_t most = l->rtt.doubled == 0 ? SYNC_WORKER_HELPS : 1;

	l->n[SYNC_WORKER_TIMEOUTS]++;
	/* a server answers only whole vectors, so send the rest */
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

/*
 * Request the list of members from the switch, so that the worker can name the
 * missing members.
 */
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

/* Do the work that is due by now_ns. */
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
 * Count the first result of a segment: update the window, the timer and the
 * round trip time.
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
		sync_worker_queue_missing(l, 2); /* continue the requests */
	/*
	 * Use only one round trip time of a vector that arrives whole, because
	 * otherwise the samples of one vector would outweigh those of other
	 * vectors.
	 */
	if (l->sent_ns[index] != 0 && l->sampled_ns != now_ns &&
	    (!l->in.whole || l->sampled_ns == 0)) {
		rtt_sample(&l->rtt, &rtt_usual, now_ns - l->sent_ns[index]);
		l->sampled_ns = now_ns;
	}
}

/*
 * Report the first result of a segment to the retransmission queue.  If this
 * worker has no gradient for the iteration, the other workers continue without
 * this worker, so this worker expects all their results.
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
 * Report a repeated result to the retransmission queue.  If there are fewer
 * slots than segments, the repeated result means that a restarted switch now
 * has a slot for another segment, which the switch still lacks.
 */
static inline void
sync_worker_repair_duplicate(struct sync_worker *l, uint32_t index,
    uint64_t now_ns)
{
	retransmit_duplicate(&l->retransmit, index);
	if (l->in.span != 0)
		retransmit_want_probe(&l->retransmit, now_ns);
}

/*
 * Return what must be done with a result that belongs to neither t nor t + 1.
 */
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
		l->timer_ns = 0;	/* the job continues without us */
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
		l->h = s->contributions;	/* more members have joined
						 * since the last Ack */
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
 * Contribute to the previous iteration again, because the switch was restarted
 * and other workers lack the result of that iteration.  After that, continue
 * with iteration t.
 */
static inline void
sync_worker_go_back(struct sync_worker *l, uint64_t now_ns)
{
	const uint32_t before = seg_step(l->t, -1);

	/* keep the results of iteration t that arrived before the restart */
	if (l->redo || !l->have[before & 1])
		return;
	l->redo = true;
	l->t = before;
	if (seg_before(before, l->from))
		l->from = before;
	sync_worker_clear_iteration(l);
	sync_worker_start_repair(l, now_ns);
}

/* Finish the repeated contribution to the previous iteration. */
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
	 * Ignore the result, because the switch has removed us.  A late result
	 * must not advance us past the iteration in our Join, because the job
	 * may begin at that iteration.
	 */
	if (l->segs > 0 && !l->in.joined) {
		l->verdicts[SYNC_WORKER_STALE]++;
		return SYNC_WORKER_STALE;
	}
	v = sync_worker_check_result(l, s, now_ns);
	if (v == SYNC_WORKER_TAKE && l->redo && s->iteration == l->t) {
		v = SYNC_WORKER_STALE;	/* the caller already has this result */
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
