/*
 * worker.h - a worker of DLP sessions: which packets it sends, and how it
 *   handles answers
 *
 * struct dlp_ask implements the protocol, which is stop-and-wait.  One packet
 * is outstanding at a time, and the worker sends this packet again until the
 * answer arrives.  (The published workers do not send packets again.)  The
 * phases are
 *
 * 	[RESET] [CONFIGURE] SETUP POLL ready (STEP ready)... over
 *
 * When a worker has its index, it sends polls.  It sends SETUP again only if an
 * answer has state WAITING, because the published switch assigns a new place to
 * each SETUP.  The published switch also adds every gradient that it receives,
 * so the worker never sends a gradient to it twice.  The answer to a poll
 * identifies the aggregator.  The published switch returns the poll unchanged,
 * the published server returns it without content, and an aggregator of innet
 * writes the missing workers into it.
 *
 * struct dlp_worker is the worker.  It accepts one gradient at a time and sends
 * the gradient as integers when a session is open.  When the aggregate of that
 * step has arrived, the worker returns the aggregate as a sum of contributions
 * and accepts the next gradient.  An element that does not fit into 32 bits is
 * NaN in this sum.  If the worker has waited too long for an answer, it ends.
 *
 * The functions use no clock and no socket, and allocate no memory: time is an
 * argument (monotonic, in ns).  Time-outs are those of arq/rtt.h, from 10 ms to
 * 1 s.
 */
#ifndef INNET_DLP_WORKER_H
#define INNET_DLP_WORKER_H

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "common/arq/backoff.h"
#include "common/arq/rtt.h"
#include "common/base/vec.h"
#include "common/wire/dlp.h"

#define DLP_ASK_NEVER UINT64_MAX

enum {
	DLP_ASK_PAUSE_NS = 1000000,	/* initial pause before the packet of a
					 * phase is sent again */
	DLP_ASK_PAUSE_MAX_NS = 100000000	/* longest pause; each pause is
						 * twice the previous one */
};

static const struct rtt_limits dlp_ask_rtt = { .first_ns = 100000000,
	.floor_ns = 10000000, .ceiling_ns = 1000000000,
	.sample_ns = UINT64_MAX, .variations = 4 };

enum dlp_ask_phase {
	DLP_ASK_OVER,		/* there is no session; dlp_ask_start() joins a
				 * session */
	DLP_ASK_RESET, DLP_ASK_CONFIGURE, DLP_ASK_SETUP, DLP_ASK_POLL,
	DLP_ASK_READY,		/* dlp_ask_send_gradient() may be called */
	DLP_ASK_STEP
};

enum dlp_ask_news {
	DLP_ASK_NOTHING, DLP_ASK_OPEN, DLP_ASK_RESULT, DLP_ASK_REFUSED,
	DLP_ASK_LOST,	/* we have a place, but its index was lost */
	DLP_ASK_IGNORED
};

/*
 * The kind of the aggregator, which the worker learns from the answers to
 * polls.
 */
enum dlp_ask_peer {
	DLP_ASK_ANY, DLP_ASK_INNET, DLP_ASK_OLD_SWITCH, DLP_ASK_OLD_SERVER
};

struct dlp_ask {
	enum dlp_ask_phase phase;
	bool configures, resets;	/* this worker sends CONFIGURE; it sends
					 * RESET before it sends CONFIGURE */
	struct dlp_session wish;	/* settings for CONFIGURE; 0: use the
					 * default */
	struct dlp_session session;	/* the current settings */
	uint32_t index, step;
	enum dlp_ask_peer peer;
	struct dlp out;			/* the packet that was sent last or will
					 * be sent next */
	const int32_t *gradient;	/* borrowed; this worker's gradient for
					 * the step */
	uint32_t elements;		/* number of elements at `gradient` */
	uint32_t others;		/* if our vectors were refused: number
					 * of elements in the session's vectors;
					 * otherwise 0 */
	uint32_t missing;		/* bit set of the workers that were
					 * missing according to the answer to
					 * the last poll */
	uint64_t out_ns;		/* time when `out` was last sent */
	uint64_t deadline_ns;		/* time when `out` must be sent
					 * (again) */
	unsigned tries;			/* number of times that `out` was
					 * sent */
	struct rtt rtt;
	uint64_t pause_ns;		/* the next pause */
	uint64_t since_ns;		/* time of the last progress */
	bool heard;			/* an answer has arrived since since_ns;
					 * the next three fields describe the
					 * answer */
	uint8_t heard_state, heard_nodes;
	uint32_t heard_step;
	uint64_t sent, repeated, wrong_step;	/* counters */
};

enum { DLP_WORKER_WHY_BYTES = 320, DLP_WORKER_HEARD_BYTES = 160 };

struct dlp_worker_conf {
	bool leads, resets;		/* send CONFIGURE; send RESET before
					 * CONFIGURE */
	struct dlp_session wish;	/* settings for CONFIGURE */
	bool median;			/* aggregates are doubled medians */
	uint64_t give_up_ns;		/* longest time without progress */
};

/* The reason why the worker has ended.  dlp_worker_why() explains it. */
enum dlp_worker_end {
	DLP_WORKER_GOING, DLP_WORKER_REFUSED, DLP_WORKER_LOST,
	DLP_WORKER_STUCK,
	DLP_WORKER_LONG		/* vectors are too long for a published
				   aggregator */
};

enum dlp_worker_count {
	DLP_WORKER_GRADIENTS, DLP_WORKER_RESULTS, DLP_WORKER_SESSIONS,
	DLP_WORKER_SATURATED,	/* number of gradient elements that were
				 * saturated */
	DLP_WORKER_OVERFLOWN,	/* number of result elements that are NaN */
	DLP_WORKER_IGNORED, DLP_WORKER_COUNTS
};

struct dlp_worker {
	struct dlp_worker_conf cf;
	struct dlp_ask ask;
	enum dlp_worker_end end;
	uint32_t elements;		/* at most DLP_ELEMENTS_MAX */
	float vec[DLP_ELEMENTS_MAX];	/* the gradient, which the caller
					 * writes */
	bool have;			/* the gradient in `vec` has not been
					 * sent, because the session is not open
					 * yet */
	int32_t param[DLP_ELEMENTS_MAX];	/* the gradient as integers, as
						 * it is sent */
	uint32_t step;			/* step of the last result */
	uint8_t sum[4 * DLP_ELEMENTS_MAX];	/* the last result, as float32
						 * in the encoding of packets */
	uint64_t n[DLP_WORKER_COUNTS];
};

/* Initialise w. */
static inline void dlp_worker_init(struct dlp_worker *w,
    const struct dlp_worker_conf *cf);

/* Join a session with vectors of `elements` elements. */
static inline void dlp_worker_start(struct dlp_worker *w, uint32_t elements,
    uint64_t now_ns);

/*
 * Tell whether a gradient is waiting or being sent.  If the result is true, the
 * worker accepts no other gradient.
 */
static inline bool dlp_worker_is_busy(const struct dlp_worker *w);

/*
 * Accept the gradient that the caller has written to w->vec, for the next step
 * or for the next session.
 */
static inline void dlp_worker_take_gradient(struct dlp_worker *w,
    uint64_t now_ns);

/* Tell whether the packet ask.out must be sent at now_ns. */
static inline bool dlp_worker_next(struct dlp_worker *w, uint64_t now_ns);

/*
 * Process packet d of the aggregator.  If this function returns DLP_ASK_RESULT,
 * w->step and w->sum are set.
 */
static inline enum dlp_ask_news dlp_worker_receive(struct dlp_worker *w,
    const struct dlp *d, uint64_t now_ns);

/*
 * Return the time at which dlp_worker_next() must be called if nothing arrives.
 */
static inline uint64_t dlp_worker_deadline_ns(const struct dlp_worker *w);

/* Tell whether an answer is outstanding. */
static inline bool dlp_worker_is_waiting(const struct dlp_worker *w);

/*
 * Return the largest parameter that may be sent.  It is smaller for a median,
 * because the aggregator returns twice the median.
 */
static inline int32_t dlp_worker_largest_value(const struct dlp_worker *w);

/*
 * Write to `text` the reason why the worker ended, as a phrase for a message
 * after the name of the aggregator.  Returns `text`, which may be empty.
 */
static inline const char *dlp_worker_why(const struct dlp_worker *w,
    char text[DLP_WORKER_WHY_BYTES]);

/* Begin to join a session.  The phase must be DLP_ASK_OVER. */
static inline void dlp_ask_start(struct dlp_ask *a, uint64_t now_ns);

/*
 * Send a gradient of `elements` values at param (1 to DLP_ELEMENTS_MAX).  The
 * phase must be DLP_ASK_READY.  The caller must keep the values until an answer
 * arrives.
 */
static inline void dlp_ask_send_gradient(struct dlp_ask *a,
    const int32_t *param, uint32_t elements, uint64_t now_ns);

/*
 * Tell whether the packet a->out must be sent at now_ns.  If the result is
 * true, count the packet as sent.
 */
static inline bool dlp_ask_next(struct dlp_ask *a, uint64_t now_ns);

/*
 * Process packet d of the aggregator.  If this function returns DLP_ASK_RESULT,
 * d contains the aggregate.
 */
static inline enum dlp_ask_news dlp_ask_receive(struct dlp_ask *a,
    const struct dlp *d, uint64_t now_ns);

/*
 * Return the time at which dlp_ask_next() will have a packet to send, or NEVER.
 */
static inline uint64_t dlp_ask_deadline_ns(const struct dlp_ask *a);

/* Tell whether an answer is outstanding. */
static inline bool dlp_ask_is_waiting(const struct dlp_ask *a);

/* implementation */

/* Enter a phase.  Its packet is sent at now_ns. */
static inline void
dlp_ask_enter_phase(
    struct dlp_ask *a, enum dlp_ask_phase phase, uint64_t now_ns)
{
	static const uint8_t state[] = { [DLP_ASK_RESET] = DLP_RESET,
	    [DLP_ASK_CONFIGURE] = DLP_CONFIGURE, [DLP_ASK_SETUP] = DLP_SETUP,
	    [DLP_ASK_POLL] = DLP_POLL, [DLP_ASK_READY] = DLP_POLL,
	    [DLP_ASK_STEP] = DLP_LEARNING };

	a->phase = phase;
	a->out = (struct dlp){ .state = state[phase], .node_count = 1 };
	a->deadline_ns = now_ns;
	a->tries = 0;
	if (phase == DLP_ASK_CONFIGURE) {
		a->out.node_count = a->wish.nodes;
		memcpy(a->out.param, a->wish.param, sizeof(a->wish.param));
	} else if (phase == DLP_ASK_POLL) {
		dlp_poll_put(a->out.param);
	} else if (phase == DLP_ASK_STEP) {
		a->out.step = a->step;
		a->out.more = (uint16_t)(a->elements <= DLP_PARAMS ? 0 :
		    a->elements - DLP_PARAMS);
		memcpy(a->out.param, a->gradient,
		    a->elements * sizeof(*a->gradient));
	}
}

/* Reset the waits, because there was progress. */
static inline void
dlp_ask_note_progress(struct dlp_ask *a, uint64_t now_ns)
{
	a->since_ns = now_ns;
	a->heard = false;
	a->missing = 0;
	a->pause_ns = DLP_ASK_PAUSE_NS;
}

static inline void
dlp_ask_start(struct dlp_ask *a, uint64_t now_ns)
{
	dlp_ask_note_progress(a, now_ns);
	a->step = a->others = 0;
	a->peer = DLP_ASK_ANY;
	dlp_ask_enter_phase(a, a->resets ? DLP_ASK_RESET : a->configures ?
	    DLP_ASK_CONFIGURE : DLP_ASK_SETUP, now_ns);
}

static inline void
dlp_ask_send_gradient(
    struct dlp_ask *a, const int32_t *param, uint32_t elements, uint64_t now_ns)
{
	dlp_ask_note_progress(a, now_ns);
	a->gradient = param;
	a->elements = elements;
	dlp_ask_enter_phase(a, DLP_ASK_STEP, now_ns);
}

static inline bool
dlp_ask_is_waiting(const struct dlp_ask *a)
{
	return a->phase != DLP_ASK_OVER && a->phase != DLP_ASK_READY;
}

static inline uint64_t
dlp_ask_deadline_ns(const struct dlp_ask *a)
{
	return dlp_ask_is_waiting(a) ? a->deadline_ns : DLP_ASK_NEVER;
}

/*
 * While a gradient is unanswered, send the gradient and polls in turn, to find
 * out which workers are missing.
 */
static inline void
dlp_ask_alternate_packets(struct dlp_ask *a)
{
	const uint64_t at = a->deadline_ns;
	const unsigned tries = a->tries;

	if (a->phase != DLP_ASK_STEP || a->peer != DLP_ASK_INNET || tries < 2)
		return;
	dlp_ask_enter_phase(
	    a, tries % 2 == 0 ? DLP_ASK_POLL : DLP_ASK_STEP, at);
	a->phase = DLP_ASK_STEP;
	a->tries = tries;
}

static inline bool
dlp_ask_next(struct dlp_ask *a, uint64_t now_ns)
{
	if (now_ns < dlp_ask_deadline_ns(a) ||
	    dlp_ask_deadline_ns(a) == DLP_ASK_NEVER)
		return false;
	dlp_ask_alternate_packets(a);
	if (a->tries++ > 0) {
		a->repeated++;
		rtt_expire(&a->rtt, &dlp_ask_rtt);
	}
	a->sent++;
	a->out_ns = now_ns;
	a->deadline_ns =
	    a->phase == DLP_ASK_STEP && a->peer == DLP_ASK_OLD_SWITCH
		? DLP_ASK_NEVER
		: now_ns + rtt_timeout_ns(&a->rtt, &dlp_ask_rtt);
	return true;
}

/*
 * Add the round trip time of an answer as a sample, unless the answer may
 * belong to an earlier transmission.
 */
static inline void
dlp_ask_count_round_trip(struct dlp_ask *a, uint64_t now_ns)
{
	if (a->tries != 1)
		return;
	rtt_sample(&a->rtt, &dlp_ask_rtt, now_ns - a->out_ns);
	rtt_restore(&a->rtt);
}

/*
 * Send the packet of a phase after a pause, because the aggregator is not
 * ready.
 */
static inline void
dlp_ask_pause(struct dlp_ask *a, enum dlp_ask_phase phase, uint64_t now_ns)
{
	dlp_ask_enter_phase(a, phase, now_ns +
	    backoff_take_ns(&a->pause_ns, DLP_ASK_PAUSE_MAX_NS));
}

/* Process an answer to a RESET or a CONFIGURE. */
static inline enum dlp_ask_news
dlp_ask_receive_lead(struct dlp_ask *a, const struct dlp *d, uint64_t now_ns)
{
	if (a->phase == DLP_ASK_RESET) {
		if (d->state != DLP_WAITING && d->state != DLP_SETUP)
			return DLP_ASK_IGNORED;
		dlp_ask_note_progress(a, now_ns);
		dlp_ask_enter_phase(a, a->configures ? DLP_ASK_CONFIGURE :
		    DLP_ASK_SETUP, now_ns);
		return DLP_ASK_NOTHING;
	}
	if (d->state == DLP_CONFIGURE && d->node_count > 0) {
		dlp_ask_note_progress(a, now_ns);
		dlp_ask_enter_phase(a, DLP_ASK_SETUP, now_ns);
		return DLP_ASK_NOTHING;
	}
	if (memcmp(d->param, a->out.param, sizeof(a->wish.param)) != 0)
		return DLP_ASK_IGNORED;	/* ignore the second answer to the
					 * RESET */
	if (d->state == DLP_ERROR)
		return DLP_ASK_REFUSED;
	dlp_ask_pause(a, DLP_ASK_CONFIGURE, now_ns);
	return DLP_ASK_NOTHING;
}

/*
 * Tell whether packet d is the answer to a SETUP and not a poll that was
 * returned unchanged.
 */
static inline bool
dlp_ask_is_setup(const struct dlp *d)
{
	return d->state == DLP_SETUP && d->node_count > 0 &&
	    d->param[DLP_ITERATIONS] > 0 && d->param[DLP_SCALE] > 0 &&
	    !dlp_is_poll(d);
}

/*
 * Return the kind of aggregator that answers a poll with packet d.  The state
 * in d is SETUP or LEARNING.
 */
static inline enum dlp_ask_peer
dlp_ask_identify_peer(const struct dlp *d)
{
	if (!dlp_is_poll(d))
		return DLP_ASK_OLD_SERVER;
	return d->param[DLP_PARAMS - 1] != 0 ? DLP_ASK_INNET :
	    DLP_ASK_OLD_SWITCH;
}

/*
 * Process the answer to a poll.  Either all workers are present, or this worker
 * has lost its place because the session was reset.
 */
static inline enum dlp_ask_news
dlp_ask_receive_poll(struct dlp_ask *a, const struct dlp *d, uint64_t now_ns)
{
	if (d->state == DLP_SETUP || d->state == DLP_LEARNING)
		a->peer = dlp_ask_identify_peer(d);
	if (a->peer == DLP_ASK_INNET)
		a->missing = (uint32_t)d->param[DLP_PARAMS - 1];
	if (d->state == DLP_LEARNING && (d->step == 0 ||
	    a->peer == DLP_ASK_INNET)) {
		dlp_ask_note_progress(a, now_ns);
		a->phase = DLP_ASK_READY;
		return DLP_ASK_OPEN;
	}
	if (a->deadline_ns > now_ns && a->tries == 0)
		return DLP_ASK_IGNORED;	/* already pausing */
	dlp_ask_pause(a, d->state == DLP_WAITING ? DLP_ASK_SETUP :
	    DLP_ASK_POLL, now_ns);
	return DLP_ASK_NOTHING;
}

static inline enum dlp_ask_news
dlp_ask_receive_setup(struct dlp_ask *a, const struct dlp *d, uint64_t now_ns)
{
	if (dlp_ask_is_setup(d)) {
		a->session.nodes = d->node_count;
		memcpy(a->session.param, d->param, sizeof(a->session.param));
		a->index = d->step;
		dlp_ask_count_round_trip(a, now_ns);
		dlp_ask_enter_phase(a, DLP_ASK_POLL, now_ns);
		return DLP_ASK_NOTHING;
	}
	if (d->state == DLP_ERROR)
		return DLP_ASK_LOST;	/* the aggregator must be the published
					 * server */
	if (a->deadline_ns > now_ns && a->tries == 0)
		return DLP_ASK_IGNORED;	/* already pausing */
	dlp_ask_pause(a, DLP_ASK_SETUP, now_ns);
	return DLP_ASK_NOTHING;
}

/*
 * Process the list of missing workers.  Our gradient or its answer was lost if
 * the list contains this worker or is about a later step.  In that case send
 * the gradient again at once.
 */
static inline enum dlp_ask_news
dlp_ask_receive_missing(struct dlp_ask *a, const struct dlp *d, uint64_t now_ns)
{
	const bool ours = d->state == DLP_LEARNING && d->step == a->step;

	if (a->out.state != DLP_POLL)
		return DLP_ASK_IGNORED;
	a->missing = ours ? (uint32_t)d->param[DLP_PARAMS - 1] : 0;
	if (!ours || (a->missing >> a->index % 32 & 1) != 0)
		a->deadline_ns = now_ns;
	return DLP_ASK_NOTHING;
}

static inline enum dlp_ask_news
dlp_ask_receive_step(struct dlp_ask *a, const struct dlp *d, uint64_t now_ns)
{
	if (d->state == DLP_WRONG_STEP) {
		a->wrong_step++;
		if (a->tries > 0)	/* not pausing yet */
			dlp_ask_pause(a, DLP_ASK_STEP, now_ns);
		return DLP_ASK_NOTHING;
	}
	if (a->peer == DLP_ASK_INNET && d->state == DLP_ERROR &&
	    d->param[0] >= DLP_PARAMS) {
		a->others = (uint32_t)d->param[0];
		return DLP_ASK_REFUSED;
	}
	if (a->peer == DLP_ASK_INNET && dlp_is_poll(d))
		return dlp_ask_receive_missing(a, d, now_ns);
	if (d->state != DLP_LEARNING || d->step != a->step ||
	    d->node_count == 0 || dlp_is_poll(d) || d->more != a->out.more)
		return DLP_ASK_IGNORED;
	dlp_ask_count_round_trip(a, now_ns);
	dlp_ask_note_progress(a, now_ns);
	a->step++;
	a->phase = a->step == (uint32_t)a->session.param[DLP_ITERATIONS] ?
	    DLP_ASK_OVER : DLP_ASK_READY;
	return DLP_ASK_RESULT;
}

static inline enum dlp_ask_news
dlp_ask_receive(struct dlp_ask *a, const struct dlp *d, uint64_t now_ns)
{
	if (a->phase == DLP_ASK_OVER || a->phase == DLP_ASK_READY)
		return DLP_ASK_IGNORED;
	a->heard = true;
	a->heard_state = d->state;
	a->heard_nodes = d->node_count;
	a->heard_step = d->step;
	if (a->phase == DLP_ASK_RESET || a->phase == DLP_ASK_CONFIGURE)
		return dlp_ask_receive_lead(a, d, now_ns);
	if (a->phase == DLP_ASK_SETUP)
		return dlp_ask_receive_setup(a, d, now_ns);
	if (a->phase == DLP_ASK_POLL)
		return dlp_ask_is_setup(d) ? DLP_ASK_IGNORED :
		    dlp_ask_receive_poll(a, d, now_ns);
	return dlp_ask_receive_step(a, d, now_ns);
}

static inline void
dlp_worker_init(struct dlp_worker *w, const struct dlp_worker_conf *cf)
{
	*w = (struct dlp_worker){ .cf = *cf, .ask = { .wish = cf->wish,
	    .configures = cf->leads, .resets = cf->resets } };
}

static inline void
dlp_worker_start(struct dlp_worker *w, uint32_t elements, uint64_t now_ns)
{
	w->elements = elements;
	dlp_ask_start(&w->ask, now_ns);
}

static inline bool
dlp_worker_is_busy(const struct dlp_worker *w)
{
	return w->have || w->ask.phase == DLP_ASK_STEP;
}

static inline bool
dlp_worker_is_waiting(const struct dlp_worker *w)
{
	return dlp_ask_is_waiting(&w->ask);
}

static inline int32_t
dlp_worker_largest_value(const struct dlp_worker *w)
{
	return w->cf.median ? DLP_VALUE_MAX / 2 : DLP_VALUE_MAX;
}

/* If the session is open, send the waiting gradient as integers. */
static inline void
dlp_worker_send_gradient(struct dlp_worker *w, uint64_t now_ns)
{
	const int32_t scale = w->ask.session.param[DLP_SCALE];

	if (!w->have || w->ask.phase != DLP_ASK_READY)
		return;
	if (w->elements > DLP_PARAMS && w->ask.peer != DLP_ASK_INNET) {
		w->end = DLP_WORKER_LONG;
		return;
	}
	for (uint32_t i = 0; i < w->elements; i++)
		w->param[i] = dlp_quantise(w->vec[i], scale,
		    dlp_worker_largest_value(w), &w->n[DLP_WORKER_SATURATED]);
	dlp_ask_send_gradient(&w->ask, w->param, w->elements, now_ns);
	w->have = false;
}

static inline void
dlp_worker_take_gradient(struct dlp_worker *w, uint64_t now_ns)
{
	w->have = true;
	w->n[DLP_WORKER_GRADIENTS]++;
	if (w->ask.phase == DLP_ASK_OVER)
		dlp_ask_start(&w->ask, now_ns);
	dlp_worker_send_gradient(w, now_ns);
}

/*
 * Store the aggregate as a sum of contributions.  This is the sum of the step
 * or, for a median, the number of workers times the median.
 */
static inline void
dlp_worker_store_result(struct dlp_worker *w, const struct dlp *d)
{
	const double unit = (w->cf.median ? w->ask.session.nodes / 2.0 : 1) /
	    w->ask.session.param[DLP_SCALE];

	w->n[DLP_WORKER_RESULTS]++;
	w->n[DLP_WORKER_SESSIONS] += w->ask.phase == DLP_ASK_OVER;
	w->step = d->step;
	for (uint32_t i = 0; i < w->elements; i++) {
		const bool fits = dlp_fits(d->param[i]);

		w->n[DLP_WORKER_OVERFLOWN] += !fits;
		vec_set(w->sum, i, fits ? (float)(d->param[i] * unit) : NAN);
	}
}

static inline enum dlp_ask_news
dlp_worker_receive(struct dlp_worker *w, const struct dlp *d, uint64_t now_ns)
{
	const enum dlp_ask_news news = dlp_ask_receive(&w->ask, d, now_ns);

	switch (news) {
	case DLP_ASK_OPEN: dlp_worker_send_gradient(w, now_ns); break;
	case DLP_ASK_RESULT: dlp_worker_store_result(w, d); break;
	case DLP_ASK_REFUSED: w->end = DLP_WORKER_REFUSED; break;
	case DLP_ASK_LOST: w->end = DLP_WORKER_LOST; break;
	case DLP_ASK_IGNORED: w->n[DLP_WORKER_IGNORED]++; break;
	case DLP_ASK_NOTHING: break;
	}
	return news;
}

static inline bool
dlp_worker_next(struct dlp_worker *w, uint64_t now_ns)
{
	if (w->end != DLP_WORKER_GOING)
		return false;
	if (dlp_worker_is_waiting(w) &&
	    now_ns - w->ask.since_ns >= w->cf.give_up_ns)
		w->end = DLP_WORKER_STUCK;
	return w->end == DLP_WORKER_GOING && dlp_ask_next(&w->ask, now_ns);
}

static inline uint64_t
dlp_worker_deadline_ns(const struct dlp_worker *w)
{
	const uint64_t due = dlp_ask_deadline_ns(&w->ask),
	    left = DLP_ASK_NEVER - w->ask.since_ns;
	const uint64_t end = w->cf.give_up_ns > left ? DLP_ASK_NEVER :
	    w->ask.since_ns + w->cf.give_up_ns;

	if (w->end != DLP_WORKER_GOING || !dlp_worker_is_waiting(w))
		return DLP_ASK_NEVER;
	return due < end ? due : end;
}

/*
 * Write the name of the answer or event for which the worker waits, as a text
 * that follows "no".
 */
static inline void
dlp_worker_describe_wait(const struct dlp_worker *w, char *to, size_t room)
{
	static const char *const name[] = { [DLP_ASK_RESET] = "answer to RESET",
	    [DLP_ASK_CONFIGURE] = "session that can be configured",
	    [DLP_ASK_SETUP] = "session to take part in",
	    [DLP_ASK_POLL] = "session with all its workers" };

	if (w->ask.phase == DLP_ASK_STEP)
		snprintf(to, room, "result of step %" PRIu32, w->ask.step);
	else
		snprintf(to, room, "%s", name[w->ask.phase]);
}

/*
 * Write which workers are missing.  If no worker is missing, write the last
 * answer.
 */
static inline void
dlp_worker_describe_last(const struct dlp_worker *w, char *to, size_t room)
{
	const struct dlp_ask *a = &w->ask;
	const char *more = (a->missing & (a->missing - 1)) != 0 ? "s" : "";
	size_t at;

	if (!a->heard) {
		snprintf(to, room, "no packet was received");
	} else if (a->missing != 0) {
		at = (size_t)snprintf(to, room, "without worker%s", more);
		for (unsigned i = 0; i < 32 && at < room; i++) {
			if ((a->missing >> i & 1) != 0)
				at += (size_t)snprintf(to + at, room - at,
				    " %u", i);
		}
	} else {
		at = (size_t)snprintf(to, room, "the last packet had state %u "
		    "(%s) and step %" PRIu32, a->heard_state,
		    dlp_state_name(a->heard_state), a->heard_step);
		if (a->phase == DLP_ASK_POLL && a->peer == DLP_ASK_OLD_SERVER)
			snprintf(to + at, room - at, ", %u of %u workers",
			    a->heard_nodes, a->session.nodes);
	}
}

static inline const char *
dlp_worker_why(const struct dlp_worker *w, char text[DLP_WORKER_WHY_BYTES])
{
	char what[48], heard[DLP_WORKER_HEARD_BYTES];

	text[0] = '\0';
	if (w->end == DLP_WORKER_REFUSED && w->ask.others > 0)
		snprintf(text, DLP_WORKER_WHY_BYTES, "the session's vectors "
		    "have %" PRIu32 " elements, not %" PRIu32, w->ask.others,
		    w->elements);
	else if (w->end == DLP_WORKER_REFUSED)
		snprintf(text, DLP_WORKER_WHY_BYTES,
		    "the aggregator refused the session's settings");
	if (w->end == DLP_WORKER_LONG)
		snprintf(text, DLP_WORKER_WHY_BYTES, "a published aggregator "
		    "takes %d elements, not %" PRIu32, DLP_PARAMS,
		    w->elements);
	if (w->end == DLP_WORKER_LOST)
		snprintf(text, DLP_WORKER_WHY_BYTES, "this address already has "
		    "a place in the session, but the answer with its index was "
		    "lost");
	if (w->end != DLP_WORKER_STUCK)
		return text;
	dlp_worker_describe_wait(w, what, sizeof(what));
	dlp_worker_describe_last(w, heard, sizeof(heard));
	snprintf(text, DLP_WORKER_WHY_BYTES, "no %s after %.1f s; %s", what,
	    (double)w->cf.give_up_ns / 1e9, heard);
	return text;
}

#endif
