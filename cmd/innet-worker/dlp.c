/*
 * dlp.c - one worker of a DLP session
 *
 * dlpask.h decides what is asked and when; this is its clock, its socket and
 * its vectors, which travel as integers.  One gradient at a time is taken, and
 * the next when the aggregate of its step has come.
 */
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/dlpask.h"
#include "common/timer.h"
#include "common/vec.h"

#include "cmd/innet-worker/carrier.h"

#define SPAN_NS 100000000u	/* of a nap, at most */

enum count {
	GRADIENTS, RESULTS, SESSIONS, SATURATED, IGNORED, SEND_FAILED, SENT,
	REPEATED, WRONG_STEP, COUNTS
};

static const char *const count_name[COUNTS] = {
	"gradients", "results", "sessions", "saturated", "ignored",
	"send_failed", "sent", "repeated", "wrong_step"
};

struct dlper {
	const struct worker_conf *cf;
	struct carrier c;
	struct dlpask ask;
	float vec[DLP_PARAMS];		/* waits for the session to open */
	bool have;			/* vec does */
	bool greeted;			/* the child has our hello */
	uint64_t n[COUNTS];
};

/* Send what is due. */
static void
send_due(struct dlper *w, uint64_t now_ns)
{
	uint8_t bytes[DLP_BYTES];

	if (!dlpask_due(&w->ask, now_ns))
		return;
	dlp_put(bytes, &w->ask.out);
	if (!outlet_send(&w->c.out, &w->cf->to, 0, bytes, DLP_BYTES,
	    timer_wall_ns()))
		w->n[SEND_FAILED]++;
}

/* The gradient that waits leaves as integers, once the session is open. */
static void
offer(struct dlper *w, uint64_t now_ns)
{
	const int32_t scale = w->ask.session.param[DLP_SCALE];
	int32_t param[DLP_PARAMS] = { 0 };

	if (!w->have || w->ask.phase != DLPASK_READY)
		return;
	for (uint32_t i = 0; i < w->c.elements; i++)
		param[i] = dlp_quantise(w->vec[i], scale, &w->n[SATURATED]);
	dlpask_gradient(&w->ask, param, now_ns);
	w->have = false;
}

/* A gradient is ready: for the next step, or for the next session. */
static void
take_gradient(struct dlper *w, const uint8_t *body, uint64_t now_ns)
{
	for (uint32_t i = 0; i < w->c.elements; i++)
		w->vec[i] = w->cf->synthetic == 0 ? vec_get(body, i) :
		    (float)rng_uniform(&w->c.rng, -1, 1);
	w->have = true;
	w->n[GRADIENTS]++;
	if (w->ask.phase == DLPASK_OVER)
		dlpask_begin(&w->ask, now_ns);
	offer(w, now_ns);
}

/* The session has all its workers: our hello, with its settings. */
static void
greet(struct dlper *w)
{
	const int32_t *p = w->ask.session.param;
	char more[256];

	w->c.worker = w->ask.index;
	if (w->greeted)
		return;
	w->greeted = true;
	snprintf(more, sizeof(more), ",\"iterations\":%" PRId32
	    ",\"eta_scale\":%" PRId32 ",\"inputs\":%" PRId32
	    ",\"features\":%" PRId32 ",\"classes\":%" PRId32 ",\"scale\":%"
	    PRId32, p[DLP_ITERATIONS], p[DLP_ETA_SCALE], p[DLP_INPUTS],
	    p[DLP_FEATURES], p[DLP_CLASSES], p[DLP_SCALE]);
	carrier_greet_with(&w->c, w->ask.session.nodes, more);
}

/*
 * The aggregate, as a sum of contributions: that of the step, or N times the
 * median.
 */
static void
give_result(struct dlper *w, const struct dlp *d)
{
	const uint8_t nodes = w->ask.session.nodes;
	const double unit = (w->cf->dlp.median ? nodes / 2.0 : 1) /
	    w->ask.session.param[DLP_SCALE];
	const bool over = w->ask.phase == DLPASK_OVER;
	const struct stream_head h = { .kind = STREAM_RESULT,
	    .elements = w->c.elements, .iteration = d->step,
	    .contributions = nodes };
	uint8_t body[4 * DLP_PARAMS];

	w->n[RESULTS]++;
	w->n[SESSIONS] += over;
	for (uint32_t i = 0; i < w->c.elements; i++)
		vec_set(body, i, (float)(d->param[i] * unit));
	if (w->cf->synthetic == 0)
		child_send(&w->c.child, &h, body);
	else
		w->c.done |= over && w->cf->count == 0;
	w->c.done |= w->c.last;
}

/* A packet from the network. */
static void
take_packet(struct dlper *w, const struct udpio_packet *p, uint64_t now_ns)
{
	struct dlp d;

	if (!addr_same(p->from, &w->cf->to) ||
	    dlp_parse(p->data, p->len, &d) != DLP_OK) {
		w->n[IGNORED]++;
		return;
	}
	switch (dlpask_take(&w->ask, &d, now_ns)) {
	case DLPASK_OPEN:
		greet(w);
		break;
	case DLPASK_RESULT:
		give_result(w, &d);
		break;
	case DLPASK_REFUSED:
		warnx("%s: the session's settings are refused",
		    w->cf->to_name);
		carrier_fail(&w->c);
		break;
	case DLPASK_IGNORED:
		w->n[IGNORED]++;
		break;
	case DLPASK_NOTHING:
		break;
	}
}

/* What the child says, or what is made up in its place. */
static void
read_carrier(struct dlper *w, uint64_t now_ns)
{
	bool busy = w->have || w->ask.phase == DLPASK_STEP;
	enum carrier_event e;
	struct stream_head h;
	const uint8_t *body;

	while (!busy && (e = carrier_next(&w->c, now_ns, &h, &body)) !=
	    CARRIER_NOTHING) {
		if (e == CARRIER_HELLO)
			dlpask_begin(&w->ask, now_ns);
		else if (e == CARRIER_GRADIENT)
			take_gradient(w, body, now_ns);
		busy = e == CARRIER_GRADIENT;
	}
	w->c.full = busy;
}

/* What the worker waits for, as the end of "no ...". */
static void
name_wait(const struct dlper *w, char *to, size_t room)
{
	static const char *const name[] = { [DLPASK_RESET] = "answer to RESET",
	    [DLPASK_CONFIGURE] = "session that can be configured",
	    [DLPASK_SETUP] = "session to take part in",
	    [DLPASK_POLL] = "session with all its workers" };

	if (w->ask.phase == DLPASK_STEP)
		snprintf(to, room, "result of step %" PRIu32, w->ask.step);
	else
		snprintf(to, room, "%s", name[w->ask.phase]);
}

/* What is waited for too long: name it and fail. */
static void
check_waits(struct dlper *w, uint64_t now_ns)
{
	const struct dlpask *a = &w->ask;
	char what[64], heard[64] = "nothing was heard";

	if (dlpask_next_ns(a) == DLPASK_NEVER) {
		carrier_waits(&w->c, now_ns);
		return;
	}
	w->c.spoke_ns = now_ns;		/* the child may wait, as we do */
	if (now_ns - a->since_ns < w->cf->give_up_ns)
		return;
	name_wait(w, what, sizeof(what));
	if (a->heard)
		snprintf(heard, sizeof(heard), "last heard: state %u (%s), "
		    "step %" PRIu32, a->heard_state,
		    dlp_state_name(a->heard_state), a->heard_step);
	warnx("%s: no %s after %.1f s; %s", w->cf->to_name, what,
	    (double)w->cf->give_up_ns / 1e9, heard);
	carrier_fail(&w->c);
}

static void
summary(struct dlper *w)
{
	w->n[SENT] = w->ask.sent;
	w->n[REPEATED] = w->ask.repeated;
	w->n[WRONG_STEP] = w->ask.wrong_step;
	carrier_summary(&w->c, count_name, w->n, COUNTS);
}

static void
tick(struct dlper *w, uint64_t now_ns)
{
	if (carrier_asked(&w->c))
		summary(w);
	if (carrier_tick(&w->c, now_ns) && w->cf->progress)
		fprintf(stderr, "\rstep %" PRIu32 "/%" PRId32 "\033[K",
		    w->ask.step, w->ask.session.param[DLP_ITERATIONS]);
}

/* How long to nap at most. */
static uint64_t
span(const struct dlper *w, uint64_t now_ns)
{
	const uint64_t due = dlpask_next_ns(&w->ask);

	if (due == DLPASK_NEVER)
		return SPAN_NS;
	return due > now_ns ? timer_first(due - now_ns, SPAN_NS) : 0;
}

static void
loop(struct dlper *w)
{
	uint64_t now = timer_mono_ns();
	struct udpio_packet p;

	while (!carrier_over(&w->c, now)) {
		carrier_nap(&w->c, now, span(w, now));
		now = timer_mono_ns();
		while (carrier_packet(&w->c, &p))
			take_packet(w, &p, now);
		offer(w, now);
		read_carrier(w, now);
		now = timer_mono_ns();
		send_due(w, now);
		if (!w->c.done)
			check_waits(w, now);
		tick(w, now);
	}
}

int
dlp_run(const struct worker_conf *cf)
{
	struct dlper *w = calloc(1, sizeof(*w));
	uint64_t mtu;
	int rc;

	if (w == NULL)
		err(1, "worker");
	w->cf = cf;
	w->ask = (struct dlpask){ .configures = cf->dlp.leads,
	    .resets = cf->dlp.resets, .wish = cf->dlp.session };
	carrier_open(&w->c, cf, 0, &mtu);
	w->c.own = true;
	loop(w);
	rc = carrier_close(&w->c);
	if (!cf->quiet)
		summary(w);
	free(w);
	return rc;
}
