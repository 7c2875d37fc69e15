/*
 * ask.h - a worker's side of a DLP session: ask until it is answered
 *
 * Stop and wait: one packet is out at a time and is sent again until its
 * answer comes, which the published workers do not do.  Times are an argument;
 * nothing here sends: dlp_ask_due() says what is to be sent now, dlp_ask_take()
 * is given what came.
 *
 *	[RESET] [CONFIGURE] SETUP POLL ready (STEP ready)... over
 *
 * Once a worker has its index it polls, and says SETUP again only when it
 * hears of WAITING: the published switch gives each SETUP another place.  That
 * switch also adds each gradient that it gets, so that nothing is repeated to
 * it.  It is known by the echo of a poll: the published server empties it, and
 * an aggregator of innet's says in it who is missing.
 *
 * Time-outs are those of RFC 6298, from DLP_ASK_RTO_MIN_NS to _MAX_NS.
 */
#ifndef INNET_DLP_ASK_H
#define INNET_DLP_ASK_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "common/wire/dlp.h"

#define DLP_ASK_NEVER UINT64_MAX

enum {
	DLP_ASK_RTO_MIN_NS = 10000000, DLP_ASK_RTO_MAX_NS = 1000000000,
	DLP_ASK_PAUSE_NS = 1000000,	/* after "not yet", doubling, */
	DLP_ASK_PAUSE_MAX_NS = 100000000	/* up to this */
};

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
	uint64_t srtt_ns, var_ns, rtt_timeout_ns, loss_timer_ns;
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
	a->loss_timer_ns = DLP_ASK_PAUSE_NS;
	if (a->rtt_timeout_ns == 0)
		a->rtt_timeout_ns = DLP_ASK_RTO_MAX_NS / 10;
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
		a->rtt_timeout_ns = a->rtt_timeout_ns * 2 < DLP_ASK_RTO_MAX_NS ?
		    a->rtt_timeout_ns * 2 : DLP_ASK_RTO_MAX_NS;
	}
	a->sent++;
	a->out_ns = now_ns;
	a->deadline_ns =
	    a->phase == DLP_ASK_STEP && a->peer == DLP_ASK_OLD_SWITCH
		? DLP_ASK_NEVER
		: now_ns + a->rtt_timeout_ns;
	return true;
}

/* The answer came; a round trip counts if it cannot be another try's. */
static inline void
dlp_ask_measure(struct dlp_ask *a, uint64_t now_ns)
{
	const uint64_t r = now_ns - a->out_ns;
	const uint64_t off = r > a->srtt_ns ? r - a->srtt_ns : a->srtt_ns - r;

	if (a->tries != 1)
		return;
	if (a->srtt_ns == 0) {
		a->srtt_ns = r;
		a->var_ns = r / 2;
	} else {
		a->var_ns = (3 * a->var_ns + off) / 4;
		a->srtt_ns = (7 * a->srtt_ns + r) / 8;
	}
	a->rtt_timeout_ns = a->srtt_ns + 4 * a->var_ns;
	if (a->rtt_timeout_ns < DLP_ASK_RTO_MIN_NS)
		a->rtt_timeout_ns = DLP_ASK_RTO_MIN_NS;
	if (a->rtt_timeout_ns > DLP_ASK_RTO_MAX_NS)
		a->rtt_timeout_ns = DLP_ASK_RTO_MAX_NS;
}

/* Not yet: in a while, the packet of this phase. */
static inline void
dlp_ask_pause(struct dlp_ask *a, enum dlp_ask_phase phase, uint64_t now_ns)
{
	dlp_ask_enter(a, phase, now_ns + a->loss_timer_ns);
	a->loss_timer_ns = a->loss_timer_ns * 2 < DLP_ASK_PAUSE_MAX_NS ?
	    a->loss_timer_ns * 2 : DLP_ASK_PAUSE_MAX_NS;
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

#endif
