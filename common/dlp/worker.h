/*
 * worker.h - a worker of DLP sessions: what it takes, gives and waits for
 *
 * One gradient at a time is taken.  It leaves as integers, once a session is
 * open, and the next is taken when the aggregate of its step has come, which
 * is given as a sum of contributions; what did not fit 32 bits is not a number.
 * What is asked for and when, dlp/ask.h
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

#include "common/base/vec.h"
#include "common/dlp/ask.h"

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
