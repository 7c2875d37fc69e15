/*
 * async-worker.h - an asynchronous worker: which packets it sends, and how it
 * handles packets that arrive
 *
 * This is the worker of iSwitch's Algorithm 1.  It is a member of a job
 * (membership.h) and applies results to its weights (async-weights.h).  It
 * sends the gradients that the caller commits, one at a time.  It sends all
 * segments of a gradient, in order of index.  A parameter server answers each
 * gradient before it accepts the next gradient.  If the server requests
 * segments of a gradient, the worker sends them again.  If the server neither
 * requests segments nor answers for one second, the worker sends the whole
 * gradient again.
 *
 * If the switch repairs losses (arq/retransmit.h), a push ends when a STATE
 * acknowledges all of it.  Until that STATE arrives, the worker keeps the
 * gradient and repairs losses.  If it did not, a segment that was lost would
 * from then on have one contribution fewer than the other segments.  The worker
 * sends Probes after a push and during a round.  These Probes also request
 * missing results of the round.
 *
 * The caller commits a gradient when async_worker_is_ready() returns true, and
 * keeps it until it commits the next one.  It passes packets from the switch to
 * async_worker_receive_result() and async_worker_receive_control().  It calls
 * async_worker_next() again and again and sends the output, until
 * async_worker_next() returns false.  At the time that
 * async_worker_deadline_ns() returns, it calls async_worker_next() again.
 * After each run it reports to async_worker_count_sent() how many segments were
 * sent.  If the socket had no room for all of them, the caller calls
 * async_worker_note_room() as soon as there may be room again.  Messages go
 * through the caller's secure channel (channel-client.h).
 *
 * The functions use no clock and no socket: time is an argument (monotonic, in
 * ns).  async_worker_free() frees the memory.  There is no locking; a caller
 * with two threads must lock.
 */
#ifndef INNET_ISWITCH_ASYNC_WORKER_H
#define INNET_ISWITCH_ASYNC_WORKER_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/arq/retransmit.h"
#include "common/arq/send-limits.h"
#include "common/iswitch/async-weights.h"
#include "common/iswitch/membership.h"

#define ASYNC_WORKER_NEVER MEMBERSHIP_NEVER

enum {
	ASYNC_WORKER_ASKS = 256,	/* maximum number of segments that a
					 * server has requested and that are
					 * queued */
	ASYNC_WORKER_BURST_NS = 1000000,	/* longest duration of a burst
						 * if vectors are paced */
	ASYNC_WORKER_AGAIN_NS = 1000000000,	/* if nothing arrives from a
						 * server for this time, the
						 * whole gradient is sent
						 * again */
	/*
	 * a gradient may be committed if at most this number of bytes waits for
	 * the link; it is the size of one run, as the kernel counts it
	 */
	ASYNC_WORKER_UNSENT_BYTES = 80000,
	ASYNC_WORKER_WHY_BYTES = MEMBERSHIP_WHY_BYTES
};

struct async_worker_conf {
	float gamma;			/* learning rate; negative for gradient
					 * ascent */
	int64_t first;			/* first round that will be applied to
					 * the weights */
	uint64_t staleness; /* largest staleness of a gradient that is sent, in
			     * rounds */
	uint64_t pace_bps;		/* limit on the rate of vectors, in
					 * bits/s; 0: no limit */
	uint32_t run_segments;		/* number of segments that one system
					 * call can send */
};

/*
 * The reason why the worker has ended.  The value is also ASYNC_WORKER_GOING if
 * the worker has ended because its membership `in` has ended.
 */
enum async_worker_end {
	ASYNC_WORKER_GOING,
	ASYNC_WORKER_NO_MEMORY,
	ASYNC_WORKER_STUCK,		/* the worker cannot continue, because
					 * `round` of segment `index` is
					 * missing */
	/*
	 * The next two values mean that the switch has a different job.
	 * `round` of segment `index` shows this.
	 */
	ASYNC_WORKER_AHEAD,		/* the job has not reached `round` */
	ASYNC_WORKER_OTHER,		/* the job has a different result for
					 * `round` */
	ASYNC_WORKER_SILENT,		/* the job does not send the result of
					 * `round` */
	ASYNC_WORKER_GONE		/* the job no longer keeps the result of
					 * `round` */
};

enum async_worker_count {
	ASYNC_WORKER_SENT,		/* complete gradients sent */
	ASYNC_WORKER_SEGMENTS,
	ASYNC_WORKER_RESENT,		/* segments */
	ASYNC_WORKER_PROBES, ASYNC_WORKER_STATES, ASYNC_WORKER_NACKS,
	ASYNC_WORKER_COUNTS
};

/* A packet to send: a run of segments of the gradient, or a control message. */
struct async_worker_out {
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

struct async_worker {
	struct async_worker_conf cf;
	struct membership in;		/* membership in the job */
	struct async_weights weights;
	enum async_worker_end end;
	int64_t round;			/* the round because of which the worker
					 * ended */
	uint32_t index;			/* index of the segment to which `round`
					 * belongs */
	uint64_t n[ASYNC_WORKER_COUNTS];

	/*
	 * Are lost segments of the last push and missing results of a round
	 * requested with Probes?  If so, `retransmit` is the state of this
	 * repair.
	 */
	bool repairs;
	struct retransmit retransmit;

	/* The gradient that was committed last. */
	uint32_t pushes;		/* number of gradients committed */
	uint32_t sent;			/* number of segments of the last
					 * gradient that have been sent */
	bool busy;			/* the last gradient is being sent or
					 * repaired */
	bool again;			/* the whole gradient is being sent
					 * again */
	bool blocked;			/* the socket had no room for a
					 * packet */
	int64_t need;			/* value of t_s when the server's answer
					 * has been applied */
	uint64_t send_ns;		/* earliest time of the next run */
	uint64_t asked_ns;		/* time when a segment of the gradient
					 * was last sent or requested */
	uint32_t ask[ASYNC_WORKER_ASKS];	/* queue of the indices of
						 * requested segments */
	uint32_t asks, asked;
};

/*
 * Initialise w with in->elements weights.  Returns false if there is no memory.
 */
static inline bool async_worker_init(struct async_worker *w,
    const struct membership_conf *in, const struct async_worker_conf *cf,
    const uint8_t *weights, uint64_t now_ns);

/* Free the memory of w. */
static inline void async_worker_free(struct async_worker *w);

/*
 * Tell whether a gradient may be committed now.  The caller sets `room` if at
 * most ASYNC_WORKER_UNSENT_BYTES bytes wait for the link.
 */
static inline bool async_worker_is_ready(const struct async_worker *w,
    bool room, uint64_t now_ns);

/*
 * Return the time from which a gradient may be committed if nothing else
 * arrives.  Returns NEVER if a packet must arrive or be sent first.  No
 * gradient may be committed while the last gradient is being sent or while a
 * round is arriving, because a worker that pushes faster than rounds arrive
 * only fills queues.  A worker that is behind must catch up first, because its
 * gradient would be stale.  But if nothing arrives for one second, the worker
 * may push, because otherwise all workers may wait for each other.  If the
 * switch is a parameter server, its answer must arrive first.
 */
static inline uint64_t async_worker_ready_ns(const struct async_worker *w);

/*
 * Tell whether a gradient with a staleness of `stale` rounds may be sent.  If
 * the result is false, the caller must discard the gradient.
 */
static inline bool async_worker_is_fresh(const struct async_worker *w,
    uint64_t stale);

/* Commit a gradient.  Its segments may be sent from time at_ns on. */
static inline void async_worker_commit(struct async_worker *w, uint64_t at_ns);

/* Process a control message from the switch that the channel has accepted. */
static inline void async_worker_receive_control(struct async_worker *w,
    const struct control *c, uint64_t now_ns);

/* Process segment s, which arrived from the switch. */
static inline enum async_weights_verdict async_worker_receive_result(
    struct async_worker *w,
    const struct seg *s, uint64_t now_ns);

/*
 * Store the next packet or run to send in *o.  Returns false if there is
 * nothing to send now or if the worker has ended.  Before the next call the
 * caller must report how many segments of a run were sent.
 */
static inline bool async_worker_next(struct async_worker *w, uint64_t now_ns,
    struct async_worker_out *o);

/*
 * Record that the first n segments of run o were sent.  If n is less than the
 * length of the run, the socket had no room for the rest.
 */
static inline void async_worker_count_sent(struct async_worker *w,
    const struct async_worker_out *o, uint32_t n, uint64_t now_ns);

/* Record that the socket may have room again. */
static inline void async_worker_note_room(struct async_worker *w);

/*
 * Return the time at which the caller must call async_worker_next() again if
 * nothing arrives and the socket gets no room.
 */
static inline uint64_t async_worker_deadline_ns(const struct async_worker *w);

/*
 * Leave the job.  After this call, async_worker_next() writes the Leave
 * messages.
 */
static inline void async_worker_leave(struct async_worker *w, uint64_t now_ns);

/* Tell whether the worker is still running. */
static inline bool async_worker_is_going(const struct async_worker *w);

/* Return counter `what`. */
static inline uint64_t async_worker_count(const struct async_worker *w,
    enum async_worker_count what);

/*
 * Write to `text` the reason why the worker ended, as a phrase for a message
 * after the name of the switch.  Returns `text`, which may be empty.
 */
static inline const char *async_worker_why(const struct async_worker *w,
    char text[ASYNC_WORKER_WHY_BYTES]);

/* implementation */

/*
 * Tell the retransmission queue which round is missing and whether results are
 * outstanding.  If all segments of the push are acknowledged, mark the worker
 * as no longer busy.
 */
static inline void
async_worker_update_repair(struct async_worker *w)
{
	if (!w->repairs)
		return;
	w->retransmit.fetches =
	    !w->weights.proving && (w->weights.t_s < w->need ||
				       !async_weights_is_uniform(&w->weights) ||
				       async_weights_is_behind(&w->weights));
	w->retransmit.round = async_weights_wire(w->weights.t_s);
	if (w->busy && retransmit_is_whole(&w->retransmit))
		w->busy = false;
}

/*
 * Start the retransmission queue after a Join if the switch repairs losses.
 * Returns false if there is no memory.
 */
static inline bool
async_worker_start_repair(struct async_worker *w, uint64_t now_ns)
{
	const uint32_t segs = w->weights.segs;

	w->repairs = w->in.repairs;
	w->weights.repairs = w->repairs;
	/* the whole gradient must be sent again, because this may be another
	 * switch */
	w->again = w->again || (w->busy && w->sent == segs);
	w->sent = w->busy ? 0 : w->sent;
	if (!w->repairs)
		return true;
	if (!retransmit_init(&w->retransmit, segs, false))
		return false;
	w->retransmit.acks = true;
	send_limits_set(&w->retransmit.limit, segs, segs);
	if (w->in.rtt_ns > 0)
		retransmit_sample(&w->retransmit, w->in.rtt_ns);
	retransmit_start(&w->retransmit, (w->pushes - 1) & (SEG_ITERATIONS - 1),
	    now_ns);
	if (w->busy)
		retransmit_ready_all(&w->retransmit);
	async_worker_update_repair(w);
	return true;
}

/* Put the committed gradient into the retransmission queue. */
static inline void
async_worker_repair_push(struct async_worker *w, uint64_t now_ns)
{
	if (!w->repairs)
		return;
	retransmit_start(&w->retransmit, (w->pushes - 1) & (SEG_ITERATIONS - 1),
	    now_ns);
	retransmit_ready_all(&w->retransmit);
}

/* Report result g to the retransmission queue. */
static inline void
async_worker_repair_result(struct async_worker *w, const struct seg *g,
    enum async_weights_verdict v, uint64_t now_ns)
{
	if (!w->repairs || g->index >= w->weights.segs)
		return;
	if (v == ASYNC_WEIGHTS_DUPLICATE)
		retransmit_duplicate(&w->retransmit, g->index);
	else if (v == ASYNC_WEIGHTS_APPLIED || v == ASYNC_WEIGHTS_EARLY)
		retransmit_take_round(&w->retransmit, g->index, g->iteration,
		    v == ASYNC_WEIGHTS_EARLY, now_ns);
}

/* Process message c if it is a STATE or a NACK.  Returns false otherwise. */
static inline bool
async_worker_receive_repair(struct async_worker *w, const struct control *c,
    uint64_t now_ns)
{
	bool behind;

	if (!w->repairs || c->job != w->in.cf.job ||
	    !retransmit_receive(&w->retransmit, c, c->xid, &behind, now_ns))
		return false;
	async_worker_update_repair(w);
	return true;
}

/* Write a Probe, if one is due. */
static inline bool
async_worker_put_probe(struct async_worker *w, struct async_worker_out *o,
    uint64_t now_ns)
{
	struct async_weights *a = &w->weights;
	struct retransmit *m = &w->retransmit;
	uint8_t room[REPAIR_BITMAP_BYTES];
	struct repair_help h;
	uint32_t xid;

	if (!w->repairs || !retransmit_probe_is_due(m, now_ns))
		return false;
	xid = membership_xid(&w->in);
	retransmit_fill_probe(m, xid, &h, room, now_ns);
	for (uint32_t i = 0; i < a->segs; i++) {
		if (a->seg[i].next == a->t_s &&
		    !retransmit_ask_round(m, &h, room, i))
			break;
	}
	o->count = 0;
	o->len = repair_write_help(o->message, w->in.cf.job, xid, &h);
	membership_note_sent(&w->in, now_ns);
	return true;
}

static inline bool
async_worker_init(struct async_worker *w, const struct membership_conf *in,
    const struct async_worker_conf *cf, const uint8_t *weights,
    uint64_t now_ns)
{
	*w = (struct async_worker){ .cf = *cf };
	membership_init(&w->in, in, now_ns);
	w->in.cf.repairs = true;
	return async_weights_init(&w->weights, in->elements, weights, cf->gamma,
	    cf->first);
}

static inline void
async_worker_free(struct async_worker *w)
{
	async_weights_free(&w->weights);
	retransmit_free(&w->retransmit);
}

static inline uint64_t
async_worker_count(const struct async_worker *w, enum async_worker_count what)
{
	switch (what) {
	case ASYNC_WORKER_PROBES:
		return w->retransmit.n[RETRANSMIT_PROBES_SENT];
	case ASYNC_WORKER_STATES: return w->retransmit.n[RETRANSMIT_STATES];
	case ASYNC_WORKER_NACKS: return w->retransmit.n[RETRANSMIT_NACKS];
	default: return w->n[what];
	}
}

static inline bool
async_worker_is_going(const struct async_worker *w)
{
	return w->end == ASYNC_WORKER_GOING && w->in.end == MEMBERSHIP_GOING;
}

/*
 * End the worker for the reason `end`, which concerns `round` of segment
 * `index`.
 */
static inline void
async_worker_end_with(struct async_worker *w, enum async_worker_end end,
    int64_t round, uint32_t index)
{
	w->end = end;
	w->round = round;
	w->index = index;
}

/*
 * Return the round of segment i that we need next, or the round that proves
 * that we are in the same job.
 */
static inline int64_t
async_worker_needed_round(const struct async_worker *w, uint32_t i)
{
	return w->weights.seg[i].next - w->weights.proving;
}

static inline bool
async_worker_is_fresh(const struct async_worker *w, uint64_t stale)
{
	return stale <= w->cf.staleness;
}

static inline uint64_t
async_worker_ready_ns(const struct async_worker *w)
{
	const struct async_weights *a = &w->weights;

	if (w->busy || w->end != ASYNC_WORKER_GOING || a->proving ||
	    !membership_works(&w->in) || a->t_s < w->need)
		return ASYNC_WORKER_NEVER;
	if (async_weights_is_behind(a))	/* the missing round may be incomplete
					 * until we push */
		return a->heard_ns + ASYNC_WEIGHTS_QUIET_MAX_NS;
	return async_weights_is_uniform(a) ? 0 : a->heard_ns +
	    ASYNC_WEIGHTS_QUIET_NS;
}

static inline bool
async_worker_is_ready(const struct async_worker *w, bool room, uint64_t now_ns)
{
	return room && now_ns >= async_worker_ready_ns(w);
}

static inline void
async_worker_commit(struct async_worker *w, uint64_t at_ns)
{
	w->busy = true;
	w->pushes++;
	w->sent = w->asks = w->asked = 0;
	w->need = w->in.whole ? w->weights.t_s + 1 : 0;
	if (w->send_ns < at_ns)
		w->send_ns = at_ns;
	async_weights_expect_result(&w->weights, at_ns);
	async_worker_repair_push(w, at_ns);
}

/*
 * Enter the job after a Join.  After the first Join, set the size of the
 * segments.
 */
static inline void
async_worker_enter_job(struct async_worker *w, uint64_t now_ns)
{
	struct async_weights *a = &w->weights;

	if (a->segs == 0 && !async_weights_set_segments(a, w->in.floats))
		w->end = ASYNC_WORKER_NO_MEMORY;
	else if (!async_weights_enter_job(a, w->in.job_next, now_ns))
		async_worker_end_with(w, ASYNC_WORKER_AHEAD, a->most, 0);
	else if (!async_worker_start_repair(w, now_ns))
		w->end = ASYNC_WORKER_NO_MEMORY;
}

/*
 * Queue the segment that a server requests.  The segment belongs to the last
 * gradient, which the caller still has.
 */
static inline void
async_worker_receive_help(struct async_worker *w, const struct seg *s,
    uint64_t now_ns)
{
	const uint32_t last = (w->pushes - 1) & (SEG_ITERATIONS - 1);

	if (w->pushes == 0 || s->iteration != last ||
	    s->index >= w->weights.segs ||
	    (w->busy && !w->again && s->index >= w->sent) ||
	    w->asks - w->asked == ASYNC_WORKER_ASKS)
		return;
	w->ask[w->asks++ % ASYNC_WORKER_ASKS] = s->index;
	w->asked_ns = now_ns;
}

static inline void
async_worker_receive_control(struct async_worker *w, const struct control *c,
    uint64_t now_ns)
{
	const struct seg *s = &w->in.seg;

	if (w->end != ASYNC_WORKER_GOING ||
	    async_worker_receive_repair(w, c, now_ns))
		return;
	switch (membership_receive(&w->in, c, now_ns)) {
	case MEMBERSHIP_IN: async_worker_enter_job(w, now_ns); break;
	case MEMBERSHIP_RESUMED: w->weights.waits = false; break;
	case MEMBERSHIP_ASKED: async_worker_receive_help(w, s, now_ns); break;
	case MEMBERSHIP_LOST:
		if (async_weights_needs(&w->weights, s))
			async_worker_end_with(w, ASYNC_WORKER_GONE,
			    async_worker_needed_round(w, s->index), s->index);
		break;
	case MEMBERSHIP_NOTHING:
	case MEMBERSHIP_IGNORED:
	case MEMBERSHIP_STAYS:
	case MEMBERSHIP_SHORT:
	case MEMBERSHIP_OUT:
	case MEMBERSHIP_HALTED:
	case MEMBERSHIP_ENDED: break;
	}
}

static inline enum async_weights_verdict
async_worker_receive_result(struct async_worker *w, const struct seg *s,
    uint64_t now_ns)
{
	enum async_weights_verdict v = ASYNC_WEIGHTS_OTHER;

	if (w->end != ASYNC_WORKER_GOING)
		return v;
	v = async_weights_receive_result(&w->weights, s, now_ns);
	async_worker_repair_result(w, s, v, now_ns);
	async_worker_update_repair(w);
	if (v == ASYNC_WEIGHTS_OTHER)
		async_worker_end_with(w, ASYNC_WORKER_OTHER,
		    async_worker_needed_round(w, 0), 0);
	return v;
}

/*
 * Return the time at which the worker stops waiting for a missing round, or
 * NEVER.
 */
static inline uint64_t
async_worker_give_up_ns(const struct async_worker *w)
{
	return w->weights.waits ? membership_after(w->weights.waits_ns,
	    w->in.cf.give_up_ns) : ASYNC_WORKER_NEVER;
}

/*
 * End the worker because no round has arrived for too long, and find the round
 * and segment that are missing.
 */
static inline void
async_worker_end_stuck(struct async_worker *w)
{
	const struct async_weights *a = &w->weights;
	uint32_t i = a->proving ? a->proof_at : 0;

	while (!a->proving && i + 1 < a->segs && a->seg[i].next > a->t_s)
		i++;
	async_worker_end_with(w, a->proving ? ASYNC_WORKER_SILENT :
	    ASYNC_WORKER_STUCK, async_worker_needed_round(w, i), i);
}

/*
 * Return the time at which the whole gradient must be sent again, or NEVER.  It
 * is sent again because a server may have received none of it.
 */
static inline uint64_t
async_worker_repeat_ns(const struct async_worker *w)
{
	const uint64_t heard = w->weights.heard_ns;

	return w->busy || w->repairs || w->weights.t_s >= w->need ?
	    ASYNC_WORKER_NEVER :
	    (w->asked_ns > heard ? w->asked_ns : heard) + ASYNC_WORKER_AGAIN_NS;
}

/* Do the work that is due by now_ns. */
static inline void
async_worker_run_timers(struct async_worker *w, uint64_t now_ns)
{
	if (!membership_works(&w->in))
		return;
	if (now_ns >= async_worker_give_up_ns(w)) {
		async_worker_end_stuck(w);
	} else if (!w->in.closed && now_ns >= async_worker_repeat_ns(w)) {
		w->busy = w->again = true;
		w->sent = 0;
	}
}

/* Write a Join or a Leave, if one is due. */
static inline bool
async_worker_put_membership(struct async_worker *w, struct async_worker_out *o,
    uint64_t now_ns)
{
	const struct membership_place at = {
	    .next = async_weights_wire(w->weights.t_s),
	    .crc = membership_join_is_due(&w->in, now_ns) ?
	    async_weights_weights_crc(&w->weights) : 0 };

	o->count = 0;
	o->len = membership_next(&w->in, now_ns, &at, o->message);
	return o->len > 0;
}

/* Write a Help, if one is due. */
static inline bool
async_worker_put_help(struct async_worker *w, struct async_worker_out *o,
    uint64_t now_ns)
{
	uint64_t word;

	if (!async_weights_next_help(&w->weights, now_ns, &word))
		return false;
	o->count = 0;
	o->len = (size_t)(bytes_put(control_put(o->message, CONTROL_HELP,
	    w->in.cf.job, membership_xid(&w->in)), word, 8) - o->message);
	membership_note_sent(&w->in, now_ns);
	return true;
}

/* Return the largest number of segments in one burst. */
static inline uint32_t
async_worker_burst_segments(const struct async_worker *w)
{
	const uint64_t bits = 8 * (SEG_HEADER_BYTES +
	    4 * (uint64_t)w->weights.floats);
	uint64_t n = w->cf.run_segments;

	if (w->cf.pace_bps > 0)
		n = w->cf.pace_bps / bits * ASYNC_WORKER_BURST_NS / 1000000000;
	n = n == 0 ? 1 : n;
	return n < w->cf.run_segments ? (uint32_t)n : w->cf.run_segments;
}

/*
 * Return the number of segments in the next run of requested segments, at most
 * `most`.  Set *first to the index of the first segment of the run.
 */
static inline uint32_t
async_worker_next_answer(const struct async_worker *w, uint32_t most,
    uint32_t *first)
{
	uint32_t n = 0;

	*first = w->ask[w->asked % ASYNC_WORKER_ASKS];
	while (n < most && w->asked + n != w->asks &&
	    w->ask[(w->asked + n) % ASYNC_WORKER_ASKS] == *first + n)
		n++;
	return n;
}

/*
 * Store the next run of the gradient in *o.  Segments that a server has
 * requested are sent first.
 */
static inline bool
async_worker_next_run(struct async_worker *w, struct async_worker_out *o,
    uint64_t now_ns)
{
	const uint32_t most = async_worker_burst_segments(w);

	o->repaired = w->repairs && w->asked == w->asks;
	o->again = w->asked != w->asks;
	o->iteration = (w->pushes - 1) & (SEG_ITERATIONS - 1);
	if (o->again) {
		o->count = async_worker_next_answer(w, most, &o->first);
	} else if (w->repairs) {
		o->count = retransmit_next_run(
		    &w->retransmit, most, &o->first, &o->again, now_ns);
		return o->count > 0;
	} else if (w->busy) {
		o->first = w->sent;
		o->count = w->weights.segs - w->sent < most ?
		    w->weights.segs - w->sent : most;
	}
	return o->again || w->busy;
}

static inline bool
async_worker_next(struct async_worker *w, uint64_t now_ns,
    struct async_worker_out *o)
{
	async_worker_run_timers(w, now_ns);
	if (w->end != ASYNC_WORKER_GOING)
		return false;
	if (async_worker_put_membership(w, o, now_ns))
		return true;
	if (!membership_works(&w->in))
		return false;
	if (!w->in.closed && !w->blocked && now_ns >= w->send_ns &&
	    async_worker_next_run(w, o, now_ns))
		return true;
	/*
	 * a Help is sent after the segments, because the segments may complete
	 * the round that the Help requests
	 */
	return async_worker_put_probe(w, o, now_ns) ||
	    async_worker_put_help(w, o, now_ns);
}

/*
 * Set the earliest time of the next run after n segments were sent.  If the
 * process has woken up late, it may send at most one longest burst at once.
 */
static inline void
async_worker_pace_next(struct async_worker *w, uint32_t n, uint64_t now_ns)
{
	const double bits = 8.0 * n * (SEG_HEADER_BYTES +
	    4.0 * w->weights.floats);

	if (w->cf.pace_bps == 0)
		return;
	if (w->send_ns + ASYNC_WORKER_BURST_NS < now_ns)
		w->send_ns = now_ns - ASYNC_WORKER_BURST_NS;
	w->send_ns += (uint64_t)(bits / (double)w->cf.pace_bps * 1e9);
}

static inline void
async_worker_count_sent(struct async_worker *w,
    const struct async_worker_out *o, uint32_t n, uint64_t now_ns)
{
	w->blocked = n < o->count;
	w->n[o->again || w->again ? ASYNC_WORKER_RESENT :
	    ASYNC_WORKER_SEGMENTS] += n;
	async_worker_pace_next(w, n, now_ns);
	if (n > 0)
		membership_note_sent(&w->in, now_ns);
	if (o->repaired) {
		retransmit_unsent(
		    &w->retransmit, o->first, o->count, o->count - n, o->again);
		w->sent += o->again ? 0 : n;
	} else if (o->again) {
		w->asked += n;
	} else {
		w->sent += n;
	}
	if (o->again || w->sent < w->weights.segs)
		return;
	w->n[ASYNC_WORKER_SENT] += !w->again;
	w->busy = w->repairs;
	w->again = false;
	w->asked_ns = now_ns;
	async_weights_expect_result(&w->weights, now_ns);
}

static inline void
async_worker_note_room(struct async_worker *w)
{
	w->blocked = false;
}

static inline void
async_worker_leave(struct async_worker *w, uint64_t now_ns)
{
	if (w->end == ASYNC_WORKER_GOING)
		membership_leave(&w->in, now_ns);
}

static inline uint64_t
async_worker_deadline_ns(const struct async_worker *w)
{
	uint64_t due = membership_deadline_ns(&w->in), at;

	if (w->end != ASYNC_WORKER_GOING)
		return ASYNC_WORKER_NEVER;
	if (!membership_works(&w->in))
		return due;
	at = async_weights_deadline_ns(&w->weights);
	due = at < due ? at : due;
	at = async_worker_give_up_ns(w);
	due = at < due ? at : due;
	if (w->in.closed)
		return due;
	at = async_worker_repeat_ns(w);
	due = at < due ? at : due;
	if (!w->blocked && (w->asked != w->asks || (w->repairs ?
	    retransmit_has_run(&w->retransmit) : w->busy)))
		due = w->send_ns < due ? w->send_ns : due;
	at = w->repairs ? retransmit_deadline_ns(&w->retransmit)
			: ASYNC_WORKER_NEVER;
	return at < due ? at : due;
}

static inline const char *
async_worker_why(const struct async_worker *w,
    char text[ASYNC_WORKER_WHY_BYTES])
{
	static const char *const what[] = {
		[ASYNC_WORKER_AHEAD] = "is not known to the switch, which was "
		    "restarted",
		[ASYNC_WORKER_OTHER] = "is different at the switch, which was "
		    "restarted",
		[ASYNC_WORKER_SILENT] = "is not reported by the switch, which "
		    "may have been restarted",
		[ASYNC_WORKER_GONE] = "is no longer kept by the switch"
	};
	const uint16_t job = w->in.cf.job;

	switch (w->end) {
	case ASYNC_WORKER_GOING: return membership_why(&w->in, text);
	case ASYNC_WORKER_NO_MEMORY:
		snprintf(text, ASYNC_WORKER_WHY_BYTES, "job %u: no memory for "
		    "%" PRIu32 " elements", job, w->in.cf.elements);
		break;
	case ASYNC_WORKER_STUCK:
		snprintf(text, ASYNC_WORKER_WHY_BYTES, "job %u: round "
		    "%" PRId64 " of segment %" PRIu32 " did not arrive in %.1f "
		    "s; members that have joined: %u, contributions needed: %u",
		    job, w->round,
		    w->index, (double)w->in.cf.give_up_ns / 1e9,
		    w->in.members, w->in.h);
		break;
	default:
		snprintf(text, ASYNC_WORKER_WHY_BYTES, "job %u: round %" PRId64
		    " of segment %" PRIu32 " %s; restore weights that all "
		    "workers share", job, w->round, w->index, what[w->end]);
		break;
	}
	return text;
}

#endif
