/*
 * ask.h - a worker's side of a DLP session: ask until it is answered
 *
 * Stop and wait: one packet is out at a time and is sent again until its
 * answer comes, which the published workers do not do.  Times are an argument;
 * nothing here sends: dlpask_due() says what is to be sent now, dlpask_take()
 * is given what came.
 *
 *	[RESET] [CONFIGURE] SETUP POLL ready (STEP ready)... over
 *
 * Time-outs are those of RFC 6298, from DLPASK_RTO_MIN_NS to _MAX_NS.
 */
#ifndef INNET_DLP_ASK_H
#define INNET_DLP_ASK_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "common/wire/dlp.h"

#define DLPASK_NEVER UINT64_MAX

enum {
	DLPASK_RTO_MIN_NS = 10000000, DLPASK_RTO_MAX_NS = 1000000000,
	DLPASK_PAUSE_NS = 1000000,	/* after "not yet", doubling, */
	DLPASK_PAUSE_MAX_NS = 100000000	/* up to this */
};

enum dlpask_phase {
	DLPASK_OVER,		/* no session: dlpask_begin() */
	DLPASK_RESET, DLPASK_CONFIGURE, DLPASK_SETUP, DLPASK_POLL,
	DLPASK_READY,		/* for a gradient: dlpask_gradient() */
	DLPASK_STEP
};

enum dlpask_news {
	DLPASK_NOTHING, DLPASK_OPEN, DLPASK_RESULT, DLPASK_REFUSED,
	DLPASK_IGNORED
};

struct dlpask {
	enum dlpask_phase phase;
	bool configures, resets;	/* this worker leads the session */
	struct dlp_session wish;	/* what it asks for then; 0: default */
	struct dlp_session session;	/* what was answered */
	uint32_t index, step;
	struct dlp out;			/* waits for its answer */
	uint64_t out_ns;		/* last sent */
	uint64_t due_ns;		/* to be sent (again) */
	unsigned tries;			/* of it, since it is news */
	uint64_t srtt_ns, var_ns, rto_ns, pause_ns;
	uint64_t since_ns;		/* of the last step forward */
	bool heard;			/* anything, since then: */
	uint8_t heard_state;
	uint32_t heard_step;
	uint64_t sent, repeated, wrong_step;	/* counted */
};

/* What a poll carries, to be known from an aggregate when it is echoed. */
static const char dlpask_mark[4 * DLP_PARAMS + 1] =
    "innet poll innet poll in";

static inline void
dlpask_marked(int32_t param[DLP_PARAMS])
{
	for (int i = 0; i < DLP_PARAMS; i++)
		param[i] = (int32_t)wire_get((const uint8_t *)dlpask_mark +
		    4 * i, 4);
}

/* The packet of the phase, to be sent at now_ns. */
static inline void
dlpask_enter(struct dlpask *a, enum dlpask_phase phase, uint64_t now_ns)
{
	static const uint8_t state[] = { [DLPASK_RESET] = DLP_RESET,
	    [DLPASK_CONFIGURE] = DLP_CONFIGURE, [DLPASK_SETUP] = DLP_SETUP,
	    [DLPASK_POLL] = DLP_POLL, [DLPASK_READY] = DLP_POLL,
	    [DLPASK_STEP] = DLP_LEARNING };

	a->phase = phase;
	a->out = (struct dlp){ .state = state[phase], .node_count = 1 };
	a->due_ns = now_ns;
	a->tries = 0;
	if (phase == DLPASK_CONFIGURE) {
		a->out.node_count = a->wish.nodes;
		memcpy(a->out.param, a->wish.param, sizeof(a->wish.param));
	} else if (phase == DLPASK_POLL) {
		dlpask_marked(a->out.param);
	} else if (phase == DLPASK_STEP) {
		a->out.step = a->step;
	}
}

/* A step forward: what waits has news to wait for. */
static inline void
dlpask_forward(struct dlpask *a, uint64_t now_ns)
{
	a->since_ns = now_ns;
	a->heard = false;
	a->pause_ns = DLPASK_PAUSE_NS;
	if (a->rto_ns == 0)
		a->rto_ns = DLPASK_RTO_MAX_NS / 10;
}

/* Take part in a session, from the phase over. */
static inline void
dlpask_begin(struct dlpask *a, uint64_t now_ns)
{
	dlpask_forward(a, now_ns);
	a->step = 0;
	dlpask_enter(a, a->resets ? DLPASK_RESET : a->configures ?
	    DLPASK_CONFIGURE : DLPASK_SETUP, now_ns);
}

/* Send a gradient, from the phase ready. */
static inline void
dlpask_gradient(struct dlpask *a, const int32_t param[DLP_PARAMS],
    uint64_t now_ns)
{
	dlpask_forward(a, now_ns);
	dlpask_enter(a, DLPASK_STEP, now_ns);
	memcpy(a->out.param, param, sizeof(a->out.param));
}

/* When dlpask_due() has something to send next. */
static inline uint64_t
dlpask_next_ns(const struct dlpask *a)
{
	return a->phase == DLPASK_OVER || a->phase == DLPASK_READY ?
	    DLPASK_NEVER : a->due_ns;
}

/* Is there a packet to send at now_ns?  It is in a->out. */
static inline bool
dlpask_due(struct dlpask *a, uint64_t now_ns)
{
	if (now_ns < dlpask_next_ns(a) ||
	    dlpask_next_ns(a) == DLPASK_NEVER)
		return false;
	if (a->tries++ > 0) {
		a->repeated++;
		a->rto_ns = a->rto_ns * 2 < DLPASK_RTO_MAX_NS ?
		    a->rto_ns * 2 : DLPASK_RTO_MAX_NS;
	}
	a->sent++;
	a->out_ns = now_ns;
	a->due_ns = now_ns + a->rto_ns;
	return true;
}

/* The answer came; a round trip counts if it cannot be another try's. */
static inline void
dlpask_measure(struct dlpask *a, uint64_t now_ns)
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
	a->rto_ns = a->srtt_ns + 4 * a->var_ns;
	if (a->rto_ns < DLPASK_RTO_MIN_NS)
		a->rto_ns = DLPASK_RTO_MIN_NS;
	if (a->rto_ns > DLPASK_RTO_MAX_NS)
		a->rto_ns = DLPASK_RTO_MAX_NS;
}

/* Not yet: in a while, the packet of this phase. */
static inline void
dlpask_pause(struct dlpask *a, enum dlpask_phase phase, uint64_t now_ns)
{
	const struct dlp out = a->out;

	dlpask_enter(a, phase, now_ns + a->pause_ns);
	if (phase == DLPASK_STEP)
		a->out = out;
	a->pause_ns = a->pause_ns * 2 < DLPASK_PAUSE_MAX_NS ?
	    a->pause_ns * 2 : DLPASK_PAUSE_MAX_NS;
}

/* An answer while a session is to be reset or configured. */
static inline enum dlpask_news
dlpask_take_lead(struct dlpask *a, const struct dlp *d, uint64_t now_ns)
{
	if (a->phase == DLPASK_RESET) {
		if (d->state != DLP_WAITING && d->state != DLP_SETUP)
			return DLPASK_IGNORED;
		dlpask_forward(a, now_ns);
		dlpask_enter(a, a->configures ? DLPASK_CONFIGURE :
		    DLPASK_SETUP, now_ns);
		return DLPASK_NOTHING;
	}
	if (memcmp(d->param, a->out.param, sizeof(d->param)) != 0)
		return DLPASK_IGNORED;	/* RESET's, a second time */
	if (d->state == DLP_ERROR)
		return DLPASK_REFUSED;
	if (d->state != DLP_SETUP) {
		dlpask_pause(a, DLPASK_CONFIGURE, now_ns);
		return DLPASK_NOTHING;
	}
	dlpask_forward(a, now_ns);
	dlpask_enter(a, DLPASK_SETUP, now_ns);
	return DLPASK_NOTHING;
}

/* Is it the answer to SETUP, and not the echo of a poll? */
static inline bool
dlpask_is_setup(const struct dlp *d)
{
	int32_t mark[DLP_PARAMS];

	dlpask_marked(mark);
	return d->state == DLP_SETUP && d->node_count > 0 &&
	    d->param[DLP_ITERATIONS] > 0 && d->param[DLP_SCALE] > 0 &&
	    memcmp(d->param, mark, sizeof(mark)) != 0;
}

static inline enum dlpask_news
dlpask_take_setup(struct dlpask *a, const struct dlp *d, uint64_t now_ns)
{
	if (dlpask_is_setup(d)) {
		if (a->phase == DLPASK_POLL)
			return DLPASK_IGNORED;	/* a second time */
		a->session.nodes = d->node_count;
		memcpy(a->session.param, d->param, sizeof(d->param));
		a->index = d->step;
		dlpask_measure(a, now_ns);
		dlpask_enter(a, DLPASK_POLL, now_ns);
		return DLPASK_NOTHING;
	}
	if (a->phase == DLPASK_POLL && d->state == DLP_LEARNING &&
	    d->step == 0) {
		dlpask_forward(a, now_ns);
		a->phase = DLPASK_READY;
		return DLPASK_OPEN;
	}
	if (a->due_ns > now_ns && a->tries == 0)
		return DLPASK_IGNORED;	/* pausing already */
	dlpask_pause(a, DLPASK_SETUP, now_ns);
	return DLPASK_NOTHING;
}

static inline enum dlpask_news
dlpask_take_step(struct dlpask *a, const struct dlp *d, uint64_t now_ns)
{
	int32_t mark[DLP_PARAMS];

	dlpask_marked(mark);
	if (d->state == DLP_WRONG_STEP) {
		a->wrong_step++;
		if (a->tries > 0)	/* not pausing already */
			dlpask_pause(a, DLPASK_STEP, now_ns);
		return DLPASK_NOTHING;
	}
	if (d->state != DLP_LEARNING || d->step != a->step ||
	    memcmp(d->param, mark, sizeof(mark)) == 0)
		return DLPASK_IGNORED;
	dlpask_measure(a, now_ns);
	dlpask_forward(a, now_ns);
	a->step++;
	a->phase = a->step == (uint32_t)a->session.param[DLP_ITERATIONS] ?
	    DLPASK_OVER : DLPASK_READY;
	return DLPASK_RESULT;
}

/* The aggregator says d.  After a result, the aggregate is d's. */
static inline enum dlpask_news
dlpask_take(struct dlpask *a, const struct dlp *d, uint64_t now_ns)
{
	if (a->phase == DLPASK_OVER || a->phase == DLPASK_READY)
		return DLPASK_IGNORED;
	a->heard = true;
	a->heard_state = d->state;
	a->heard_step = d->step;
	if (a->phase == DLPASK_RESET || a->phase == DLPASK_CONFIGURE)
		return dlpask_take_lead(a, d, now_ns);
	if (a->phase == DLPASK_SETUP || a->phase == DLPASK_POLL)
		return dlpask_take_setup(a, d, now_ns);
	return dlpask_take_step(a, d, now_ns);
}

#endif
