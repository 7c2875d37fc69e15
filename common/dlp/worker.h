/*
 * worker.h - a worker of DLP sessions: what it takes, gives and waits for
 *
 * One gradient at a time is taken.  It leaves as integers, once a session is
 * open, and the next is taken when the aggregate of its step has come, which
 * is given as a sum of contributions; what did not fit 32 bits is not a number.
 * What is asked for and when, struct dlp_ask
 * decides; what is waited for too long ends it.  Pure: time is an argument
 * (ns, monotonic), no socket is touched, nothing is owned.
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
	DLP_ASK_PAUSE_NS = 1000000,	/* after "not yet", doubling, */
	DLP_ASK_PAUSE_MAX_NS = 100000000	/* up to this */
};

static const struct rtt_limits dlp_ask_rtt = { .first_ns = 100000000,
	.floor_ns = 10000000, .ceiling_ns = 1000000000,
	.sample_ns = UINT64_MAX, .variations = 4 };

enum dlp_ask_phase {
	DLP_ASK_OVER,		/* no session: dlp_ask_begin() */
	DLP_ASK_RESET, DLP_ASK_CONFIGURE, DLP_ASK_SETUP, DLP_ASK_POLL,
	DLP_ASK_READY,		/* for a gradient: dlp_ask_gradient() */
	DLP_ASK_STEP
};

enum dlp_ask_news {
	DLP_ASK_NOTHING, DLP_ASK_OPEN, DLP_ASK_RESULT, DLP_ASK_REFUSED,
	DLP_ASK_LOST,	/* there is a place, but its number was lost */
	DLP_ASK_IGNORED
};

/* Who answers, as polls have shown. */
enum dlp_ask_peer {
	DLP_ASK_ANY, DLP_ASK_INNET, DLP_ASK_OLD_SWITCH, DLP_ASK_OLD_SERVER
};

struct dlp_ask {
	enum dlp_ask_phase phase;
	bool configures, resets;	/* this worker leads the session */
	struct dlp_session wish;	/* what it asks for then; 0: default */
	struct dlp_session session;	/* what was answered */
	uint32_t index, step;
	enum dlp_ask_peer peer;
	struct dlp out;			/* sent last, or to be sent */
	const int32_t *gradient;	/* of the step; borrowed */
	uint32_t elements;		/* at gradient */
	uint32_t others;		/* elements of the session's vectors,
					 * when ours were refused */
	uint32_t missing;		/* workers, a bit each, as heard */
	uint64_t out_ns;		/* last sent */
	uint64_t deadline_ns;		/* to be sent (again) */
	unsigned tries;			/* of it, since it is news */
	struct rtt rtt;
	uint64_t pause_ns;		/* the next, after "not yet" */
	uint64_t since_ns;		/* of the last step forward */
	bool heard;			/* anything, since then: */
	uint8_t heard_state, heard_nodes;
	uint32_t heard_step;
	uint64_t sent, repeated, wrong_step;	/* counted */
};

/* The packet of the phase, to be sent at now_ns. */
static inline void
dlp_ask_enter(struct dlp_ask *a, enum dlp_ask_phase phase, uint64_t now_ns)
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

/* A step forward: what waits has news to wait for. */
static inline void
dlp_ask_forward(struct dlp_ask *a, uint64_t now_ns)
{
	a->since_ns = now_ns;
	a->heard = false;
	a->missing = 0;
	a->pause_ns = DLP_ASK_PAUSE_NS;
}

/* Take part in a session, from the phase over. */
static inline void
dlp_ask_begin(struct dlp_ask *a, uint64_t now_ns)
{
	dlp_ask_forward(a, now_ns);
	a->step = a->others = 0;
	a->peer = DLP_ASK_ANY;
	dlp_ask_enter(a, a->resets ? DLP_ASK_RESET : a->configures ?
	    DLP_ASK_CONFIGURE : DLP_ASK_SETUP, now_ns);
}

/*
 * Send a gradient, from the phase ready: the first `elements` at param, 1 to
 * DLP_ELEMENTS_MAX, which stay until it is answered.
 */
static inline void
dlp_ask_gradient(struct dlp_ask *a, const int32_t *param, uint32_t elements,
    uint64_t now_ns)
{
	dlp_ask_forward(a, now_ns);
	a->gradient = param;
	a->elements = elements;
	dlp_ask_enter(a, DLP_ASK_STEP, now_ns);
}

/* Is an answer waited for? */
static inline bool
dlp_ask_waits(const struct dlp_ask *a)
{
	return a->phase != DLP_ASK_OVER && a->phase != DLP_ASK_READY;
}

/* When dlp_ask_due() has something to send next. */
static inline uint64_t
dlp_ask_next_ns(const struct dlp_ask *a)
{
	return dlp_ask_waits(a) ? a->deadline_ns : DLP_ASK_NEVER;
}

/* A gradient without an answer: every other packet asks who is missing. */
static inline void
dlp_ask_alternate(struct dlp_ask *a)
{
	const uint64_t at = a->deadline_ns;
	const unsigned tries = a->tries;

	if (a->phase != DLP_ASK_STEP || a->peer != DLP_ASK_INNET || tries < 2)
		return;
	dlp_ask_enter(a, tries % 2 == 0 ? DLP_ASK_POLL : DLP_ASK_STEP, at);
	a->phase = DLP_ASK_STEP;
	a->tries = tries;
}

/* Is there a packet to send at now_ns?  It is in a->out. */
static inline bool
dlp_ask_due(struct dlp_ask *a, uint64_t now_ns)
{
	if (now_ns < dlp_ask_next_ns(a) ||
	    dlp_ask_next_ns(a) == DLP_ASK_NEVER)
		return false;
	dlp_ask_alternate(a);
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

/* The answer came; a round trip counts if it cannot be another try's. */
static inline void
dlp_ask_measure(struct dlp_ask *a, uint64_t now_ns)
{
	if (a->tries != 1)
		return;
	rtt_sample(&a->rtt, &dlp_ask_rtt, now_ns - a->out_ns);
	rtt_restore(&a->rtt);
}

/* Not yet: in a while, the packet of this phase. */
static inline void
dlp_ask_pause(struct dlp_ask *a, enum dlp_ask_phase phase, uint64_t now_ns)
{
	dlp_ask_enter(a, phase, now_ns +
	    backoff_take_ns(&a->pause_ns, DLP_ASK_PAUSE_MAX_NS));
}

/* An answer while a session is to be reset or configured. */
static inline enum dlp_ask_news
dlp_ask_take_lead(struct dlp_ask *a, const struct dlp *d, uint64_t now_ns)
{
	if (a->phase == DLP_ASK_RESET) {
		if (d->state != DLP_WAITING && d->state != DLP_SETUP)
			return DLP_ASK_IGNORED;
		dlp_ask_forward(a, now_ns);
		dlp_ask_enter(a, a->configures ? DLP_ASK_CONFIGURE :
		    DLP_ASK_SETUP, now_ns);
		return DLP_ASK_NOTHING;
	}
	if (d->state == DLP_CONFIGURE && d->node_count > 0) {
		dlp_ask_forward(a, now_ns);
		dlp_ask_enter(a, DLP_ASK_SETUP, now_ns);
		return DLP_ASK_NOTHING;
	}
	if (memcmp(d->param, a->out.param, sizeof(a->wish.param)) != 0)
		return DLP_ASK_IGNORED;	/* RESET's, a second time */
	if (d->state == DLP_ERROR)
		return DLP_ASK_REFUSED;
	dlp_ask_pause(a, DLP_ASK_CONFIGURE, now_ns);
	return DLP_ASK_NOTHING;
}

/* Is it the answer to SETUP, and not the echo of a poll? */
static inline bool
dlp_ask_is_setup(const struct dlp *d)
{
	return d->state == DLP_SETUP && d->node_count > 0 &&
	    d->param[DLP_ITERATIONS] > 0 && d->param[DLP_SCALE] > 0 &&
	    !dlp_is_poll(d);
}

/* A poll in SETUP or LEARNING was answered: by whom? */
static inline enum dlp_ask_peer
dlp_ask_who(const struct dlp *d)
{
	if (!dlp_is_poll(d))
		return DLP_ASK_OLD_SERVER;
	return d->param[DLP_PARAMS - 1] != 0 ? DLP_ASK_INNET :
	    DLP_ASK_OLD_SWITCH;
}

/* Have all come?  Or is the place lost, in a session that was reset? */
static inline enum dlp_ask_news
dlp_ask_take_poll(struct dlp_ask *a, const struct dlp *d, uint64_t now_ns)
{
	if (d->state == DLP_SETUP || d->state == DLP_LEARNING)
		a->peer = dlp_ask_who(d);
	if (a->peer == DLP_ASK_INNET)
		a->missing = (uint32_t)d->param[DLP_PARAMS - 1];
	if (d->state == DLP_LEARNING && (d->step == 0 ||
	    a->peer == DLP_ASK_INNET)) {
		dlp_ask_forward(a, now_ns);
		a->phase = DLP_ASK_READY;
		return DLP_ASK_OPEN;
	}
	if (a->deadline_ns > now_ns && a->tries == 0)
		return DLP_ASK_IGNORED;	/* pausing already */
	dlp_ask_pause(a, d->state == DLP_WAITING ? DLP_ASK_SETUP :
	    DLP_ASK_POLL, now_ns);
	return DLP_ASK_NOTHING;
}

static inline enum dlp_ask_news
dlp_ask_take_setup(struct dlp_ask *a, const struct dlp *d, uint64_t now_ns)
{
	if (dlp_ask_is_setup(d)) {
		a->session.nodes = d->node_count;
		memcpy(a->session.param, d->param, sizeof(a->session.param));
		a->index = d->step;
		dlp_ask_measure(a, now_ns);
		dlp_ask_enter(a, DLP_ASK_POLL, now_ns);
		return DLP_ASK_NOTHING;
	}
	if (d->state == DLP_ERROR)
		return DLP_ASK_LOST;	/* so the published server */
	if (a->deadline_ns > now_ns && a->tries == 0)
		return DLP_ASK_IGNORED;	/* pausing already */
	dlp_ask_pause(a, DLP_ASK_SETUP, now_ns);
	return DLP_ASK_NOTHING;
}

/* Who is missing is heard.  If it is our gradient, or this is about a later
 * step, ours, or its answer, was lost: at once again. */
static inline enum dlp_ask_news
dlp_ask_take_missing(struct dlp_ask *a, const struct dlp *d, uint64_t now_ns)
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
dlp_ask_take_step(struct dlp_ask *a, const struct dlp *d, uint64_t now_ns)
{
	if (d->state == DLP_WRONG_STEP) {
		a->wrong_step++;
		if (a->tries > 0)	/* not pausing already */
			dlp_ask_pause(a, DLP_ASK_STEP, now_ns);
		return DLP_ASK_NOTHING;
	}
	if (a->peer == DLP_ASK_INNET && d->state == DLP_ERROR &&
	    d->param[0] >= DLP_PARAMS) {
		a->others = (uint32_t)d->param[0];
		return DLP_ASK_REFUSED;
	}
	if (a->peer == DLP_ASK_INNET && dlp_is_poll(d))
		return dlp_ask_take_missing(a, d, now_ns);
	if (d->state != DLP_LEARNING || d->step != a->step ||
	    d->node_count == 0 || dlp_is_poll(d) || d->more != a->out.more)
		return DLP_ASK_IGNORED;
	dlp_ask_measure(a, now_ns);
	dlp_ask_forward(a, now_ns);
	a->step++;
	a->phase = a->step == (uint32_t)a->session.param[DLP_ITERATIONS] ?
	    DLP_ASK_OVER : DLP_ASK_READY;
	return DLP_ASK_RESULT;
}

/* The aggregator says d.  After a result, the aggregate is d's. */
static inline enum dlp_ask_news
dlp_ask_take(struct dlp_ask *a, const struct dlp *d, uint64_t now_ns)
{
	if (a->phase == DLP_ASK_OVER || a->phase == DLP_ASK_READY)
		return DLP_ASK_IGNORED;
	a->heard = true;
	a->heard_state = d->state;
	a->heard_nodes = d->node_count;
	a->heard_step = d->step;
	if (a->phase == DLP_ASK_RESET || a->phase == DLP_ASK_CONFIGURE)
		return dlp_ask_take_lead(a, d, now_ns);
	if (a->phase == DLP_ASK_SETUP)
		return dlp_ask_take_setup(a, d, now_ns);
	if (a->phase == DLP_ASK_POLL)
		return dlp_ask_is_setup(d) ? DLP_ASK_IGNORED :
		    dlp_ask_take_poll(a, d, now_ns);
	return dlp_ask_take_step(a, d, now_ns);
}

enum { DLP_WORKER_WHY_BYTES = 320, DLP_WORKER_HEARD_BYTES = 160 };

struct dlp_worker_conf {
	bool leads, resets;		/* CONFIGURE, and RESET before it */
	struct dlp_session wish;	/* to lead with */
	bool median;			/* what the aggregator sends twice */
	uint64_t give_up_ns;		/* without a step forward */
};

/* Why it has ended; dlp_worker_why() has the words. */
enum dlp_worker_end {
	DLP_WORKER_GOING, DLP_WORKER_REFUSED, DLP_WORKER_LOST,
	DLP_WORKER_STUCK,
	DLP_WORKER_LONG		/* vectors, for a published aggregator */
};

enum dlp_worker_count {
	DLP_WORKER_GRADIENTS, DLP_WORKER_RESULTS, DLP_WORKER_SESSIONS,
	DLP_WORKER_SATURATED,	/* elements of gradients, cut to size */
	DLP_WORKER_OVERFLOWN,	/* of results: not a number */
	DLP_WORKER_IGNORED, DLP_WORKER_COUNTS
};

struct dlp_worker {
	struct dlp_worker_conf cf;
	struct dlp_ask ask;
	enum dlp_worker_end end;
	uint32_t elements;		/* DLP_ELEMENTS_MAX at most */
	float vec[DLP_ELEMENTS_MAX];	/* waits for the session to open */
	bool have;			/* vec does */
	int32_t param[DLP_ELEMENTS_MAX];	/* what was sent of it */
	uint32_t step;			/* of the last result: */
	uint8_t sum[4 * DLP_ELEMENTS_MAX];	/* float32, as in packets */
	uint64_t n[DLP_WORKER_COUNTS];
};

static inline void
dlp_worker_init(struct dlp_worker *w, const struct dlp_worker_conf *cf)
{
	*w = (struct dlp_worker){ .cf = *cf, .ask = { .wish = cf->wish,
	    .configures = cf->leads, .resets = cf->resets } };
}

/* Vectors have so many elements: take part in a session. */
static inline void
dlp_worker_begin(struct dlp_worker *w, uint32_t elements, uint64_t now_ns)
{
	w->elements = elements;
	dlp_ask_begin(&w->ask, now_ns);
}

/* Is a gradient on its way, or waiting?  Then none is taken. */
static inline bool
dlp_worker_busy(const struct dlp_worker *w)
{
	return w->have || w->ask.phase == DLP_ASK_STEP;
}

/* Is it the network that is waited for? */
static inline bool
dlp_worker_waits(const struct dlp_worker *w)
{
	return dlp_ask_waits(&w->ask);
}

/* The largest parameter there is: a median comes back twice. */
static inline int32_t
dlp_worker_most(const struct dlp_worker *w)
{
	return w->cf.median ? DLP_VALUE_MAX / 2 : DLP_VALUE_MAX;
}

/* The gradient that waits leaves as integers, once the session is open. */
static inline void
dlp_worker_offer(struct dlp_worker *w, uint64_t now_ns)
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
		    dlp_worker_most(w), &w->n[DLP_WORKER_SATURATED]);
	dlp_ask_gradient(&w->ask, w->param, w->elements, now_ns);
	w->have = false;
}

/* A gradient is at vec: for the next step, or for the next session. */
static inline void
dlp_worker_gradient(struct dlp_worker *w, uint64_t now_ns)
{
	w->have = true;
	w->n[DLP_WORKER_GRADIENTS]++;
	if (w->ask.phase == DLP_ASK_OVER)
		dlp_ask_begin(&w->ask, now_ns);
	dlp_worker_offer(w, now_ns);
}

/*
 * The aggregate, as a sum of contributions: that of the step, or N times the
 * median.
 */
static inline void
dlp_worker_result(struct dlp_worker *w, const struct dlp *d)
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

/* The aggregator says d.  After a result, its step and sum are there. */
static inline enum dlp_ask_news
dlp_worker_take(struct dlp_worker *w, const struct dlp *d, uint64_t now_ns)
{
	const enum dlp_ask_news news = dlp_ask_take(&w->ask, d, now_ns);

	switch (news) {
	case DLP_ASK_OPEN: dlp_worker_offer(w, now_ns); break;
	case DLP_ASK_RESULT: dlp_worker_result(w, d); break;
	case DLP_ASK_REFUSED: w->end = DLP_WORKER_REFUSED; break;
	case DLP_ASK_LOST: w->end = DLP_WORKER_LOST; break;
	case DLP_ASK_IGNORED: w->n[DLP_WORKER_IGNORED]++; break;
	case DLP_ASK_NOTHING: break;
	}
	return news;
}

/* Is there a packet to send at now_ns?  It is in ask.out. */
static inline bool
dlp_worker_next(struct dlp_worker *w, uint64_t now_ns)
{
	if (w->end != DLP_WORKER_GOING)
		return false;
	if (dlp_worker_waits(w) &&
	    now_ns - w->ask.since_ns >= w->cf.give_up_ns)
		w->end = DLP_WORKER_STUCK;
	return w->end == DLP_WORKER_GOING && dlp_ask_due(&w->ask, now_ns);
}

/* When dlp_worker_next() is due, even if nothing comes. */
static inline uint64_t
dlp_worker_due(const struct dlp_worker *w)
{
	const uint64_t due = dlp_ask_next_ns(&w->ask),
	    left = DLP_ASK_NEVER - w->ask.since_ns;
	const uint64_t end = w->cf.give_up_ns > left ? DLP_ASK_NEVER :
	    w->ask.since_ns + w->cf.give_up_ns;

	if (w->end != DLP_WORKER_GOING || !dlp_worker_waits(w))
		return DLP_ASK_NEVER;
	return due < end ? due : end;
}

/* What it waits for, as the end of "no ...". */
static inline void
dlp_worker_wait(const struct dlp_worker *w, char *to, size_t room)
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

/* Who is missing, as far as it was heard, or else what was heard last. */
static inline void
dlp_worker_heard(const struct dlp_worker *w, char *to, size_t room)
{
	const struct dlp_ask *a = &w->ask;
	const char *more = (a->missing & (a->missing - 1)) != 0 ? "s" : "";
	size_t at;

	if (!a->heard) {
		snprintf(to, room, "nothing was heard");
	} else if (a->missing != 0) {
		at = (size_t)snprintf(to, room, "without worker%s", more);
		for (unsigned i = 0; i < 32 && at < room; i++) {
			if ((a->missing >> i & 1) != 0)
				at += (size_t)snprintf(to + at, room - at,
				    " %u", i);
		}
	} else {
		at = (size_t)snprintf(to, room, "last heard: state %u (%s), "
		    "step %" PRIu32, a->heard_state,
		    dlp_state_name(a->heard_state), a->heard_step);
		if (a->phase == DLP_ASK_POLL && a->peer == DLP_ASK_OLD_SERVER)
			snprintf(to + at, room - at, ", %u of %u workers",
			    a->heard_nodes, a->session.nodes);
	}
}

/* What ended it, in words to follow the aggregator's name; text, or "". */
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
		    "the session's settings are refused");
	if (w->end == DLP_WORKER_LONG)
		snprintf(text, DLP_WORKER_WHY_BYTES, "a published aggregator "
		    "takes %d elements, not %" PRIu32, DLP_PARAMS,
		    w->elements);
	if (w->end == DLP_WORKER_LOST)
		snprintf(text, DLP_WORKER_WHY_BYTES, "this address has a place "
		    "in the session, but the answer with its index is lost");
	if (w->end != DLP_WORKER_STUCK)
		return text;
	dlp_worker_wait(w, what, sizeof(what));
	dlp_worker_heard(w, heard, sizeof(heard));
	snprintf(text, DLP_WORKER_WHY_BYTES, "no %s after %.1f s; %s", what,
	    (double)w->cf.give_up_ns / 1e9, heard);
	return text;
}

#endif
