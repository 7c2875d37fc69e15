/*
 * dlp.c - one worker of a DLP session
 *
 * dlp/worker.h makes the decisions; this file owns the clock, the socket and
 * the child.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/message.h"
#include "common/base/progress.h"
#include "common/dlp/worker.h"
#include "common/net/timer.h"

#include "cmd/innet-worker/carrier.h"

enum count { SEND_FAILED, SENT, REPEATED, WRONG_STEP, COUNTS };

enum { ALL = (int)DLP_WORKER_COUNTS + (int)COUNTS };

/* Names of the counters of dlp/worker.h, then of the counters in this file. */
static const char *const count_name[ALL] = {
	"gradients", "results", "sessions", "saturated", "overflown", "ignored",
	"send_failed", "sent", "repeated", "wrong_step"
};

struct dlp_mode {
	const struct worker_conf *cf;
	struct carrier c;
	struct dlp_worker m;
	bool greeted;			/* this worker's hello was sent to the
					 * child */
	bool told_cut, told_over;
	uint64_t send_failed;
};

/* Print why the worker has ended. */
static void
explain_end(struct dlp_mode *w)
{
	char why[DLP_WORKER_WHY_BYTES];

	warnx("%s: %s", w->cf->to_name, dlp_worker_why(&w->m, why));
	carrier_fail(&w->c);
}

/* Send all packets that are due. */
static void
send_due(struct dlp_mode *w, uint64_t now_ns)
{
	uint8_t bytes[DLP_BYTES_MAX];
	uint32_t len;

	if (!dlp_worker_next(&w->m, now_ns))
		return;
	len = dlp_put(bytes, &w->m.ask.out);
	if (!udp_transmit_send(&w->c.out, &w->cf->to, 0, bytes, len,
	    timer_wall_ns()))
		w->send_failed++;
}

/* Take the child's gradient, or generate one. */
static void
take_gradient(struct dlp_mode *w, const uint8_t *body, uint64_t now_ns)
{
	for (uint32_t i = 0; i < w->c.elements; i++)
		w->m.vec[i] = w->cf->synthetic == 0 ? vec_get(body, i) :
		    (float)rng_uniform(&w->c.rng, -1, 1);
	dlp_worker_take_gradient(&w->m, now_ns);
}

/* Send the hello with the settings of the session, once these are complete. */
static void
send_hello(struct dlp_mode *w)
{
	const int32_t *p = w->m.ask.session.param;
	char more[256];

	w->c.worker = w->m.ask.index;
	if (w->greeted)
		return;
	w->greeted = true;
	snprintf(more, sizeof(more), ",\"iterations\":%" PRId32
	    ",\"eta_scale\":%" PRId32 ",\"inputs\":%" PRId32
	    ",\"features\":%" PRId32 ",\"classes\":%" PRId32 ",\"scale\":%"
	    PRId32, p[DLP_ITERATIONS], p[DLP_ETA_SCALE], p[DLP_INPUTS],
	    p[DLP_FEATURES], p[DLP_CLASSES], p[DLP_SCALE]);
	carrier_send_hello_with(&w->c, w->m.ask.session.nodes, more);
}

/*
 * Warn once about gradients with elements that are too large, and once about
 * such aggregates.
 */
static void
warn_size(struct dlp_mode *w)
{
	const uint64_t *n = w->m.n;
	const int32_t scale = w->m.ask.session.param[DLP_SCALE];

	if (n[DLP_WORKER_SATURATED] > 0 && !w->told_cut) {
		w->told_cut = true;
		warnx("%s: step %" PRIu32 ": an element of a gradient was "
		    "reduced to %g, the largest value possible with "
		    "scale=%" PRId32 "%s; a smaller scale= avoids this",
		    w->cf->to_name, w->m.step,
		    (double)dlp_worker_largest_value(&w->m) / scale, scale,
		    w->cf->dlp.median ? " and a median" : "");
	}
	if (n[DLP_WORKER_OVERFLOWN] > 0 && !w->told_over) {
		w->told_over = true;
		warnx("%s: step %" PRIu32 ": an element of an aggregate does "
		    "not fit into 32 bits and became NaN; a smaller scale= "
		    "avoids this", w->cf->to_name, w->m.step);
	}
}

/* Send the child the sum for the child's current step. */
static void
give_result(struct dlp_mode *w)
{
	const struct stream_head h = { .kind = STREAM_RESULT,
	    .elements = w->c.elements, .iteration = w->m.step,
	    .contributions = w->m.ask.session.nodes };
	const bool over = w->m.ask.phase == DLP_ASK_OVER;

	warn_size(w);
	if (w->cf->synthetic == 0)
		child_send(&w->c.child, &h, w->m.sum);
	else
		w->c.done |= over && w->cf->count == 0;
	w->c.done |= w->c.last;
}

/* Handle a packet from the network. */
static void
take_packet(void *ctx, const struct udpio_packet *p, uint64_t now_ns)
{
	struct dlp_mode *w = ctx;
	enum dlp_ask_news news;
	struct dlp d;

	if (!addr_same(p->from, &w->cf->to) ||
	    dlp_parse(p->data, p->len, &d) != DLP_OK) {
		w->m.n[DLP_WORKER_IGNORED]++;
		return;
	}
	news = dlp_worker_receive(&w->m, &d, now_ns);
	if (news == DLP_ASK_OPEN)
		send_hello(w);
	else if (news == DLP_ASK_RESULT)
		give_result(w);
}

/* Read the child's messages, or synthetic gradients. */
static void
read_carrier(void *ctx, uint64_t now_ns)
{
	struct dlp_mode *w = ctx;
	enum carrier_event e;
	struct stream_head h;
	const uint8_t *body;

	while (!dlp_worker_is_busy(&w->m) && (e = carrier_next(&w->c, now_ns,
	    &h, &body)) != CARRIER_NOTHING) {
		if (e == CARRIER_HELLO)
			dlp_worker_start(&w->m, w->c.elements, now_ns);
		else if (e == CARRIER_GRADIENT)
			take_gradient(w, body, now_ns);
	}
	w->c.child_paused = dlp_worker_is_busy(&w->m);
}

/* Check whether the child or the worker has waited for too long. */
static void
check_waits(struct dlp_mode *w, uint64_t now_ns)
{
	if (w->m.end != DLP_WORKER_GOING)
		explain_end(w);
	else if (dlp_worker_is_waiting(&w->m))
		w->c.child_heard_ns = now_ns; /* the child may be silent while
					       * this worker waits */
	else
		carrier_awaits_child(&w->c, now_ns);
}

static void
print_summary(const struct dlp_mode *w)
{
	const struct dlp_ask *a = &w->m.ask;
	uint64_t n[ALL], *ours = n + DLP_WORKER_COUNTS;

	memcpy(n, w->m.n, sizeof(w->m.n));
	ours[SEND_FAILED] = w->send_failed;
	ours[SENT] = a->sent;
	ours[REPEATED] = a->repeated;
	ours[WRONG_STEP] = a->wrong_step;
	carrier_summary(&w->c, count_name, n, ALL);
}

static void
check_second(struct dlp_mode *w, uint64_t now_ns)
{
	if (carrier_summary_requested(&w->c))
		print_summary(w);
	if (carrier_tick(&w->c, now_ns) && w->cf->progress)
		progress_say("step %" PRIu32 "/%" PRId32,
		    w->m.ask.step, w->m.ask.session.param[DLP_ITERATIONS]);
}

/*
 * Send all packets that are due, and check whether the child or the worker has
 * waited too long.
 */
static void
do_due_work(void *ctx, uint64_t now_ns)
{
	struct dlp_mode *w = ctx;

	send_due(w, now_ns);
	if (!w->c.done)
		check_waits(w, now_ns);
	check_second(w, now_ns);
}

static uint64_t
next_deadline(const void *ctx)
{
	const struct dlp_mode *w = ctx;

	return dlp_worker_deadline_ns(&w->m);
}

static const struct carrier_callbacks callbacks = {.deadline_ns = next_deadline,
    .receive = take_packet,
    .read_child = read_carrier,
    .act = do_due_work};

int
dlp_run(const struct worker_conf *cf)
{
	const struct dlp_worker_conf m = { .leads = cf->dlp.leads,
	    .resets = cf->dlp.resets, .wish = cf->dlp.session,
	    .median = cf->dlp.median, .give_up_ns = cf->give_up_ns };
	struct dlp_mode *w = calloc(1, sizeof(*w));
	uint64_t mtu;
	int rc;

	if (w == NULL)
		err(1, "worker");
	w->cf = cf;
	dlp_worker_init(&w->m, &m);
	carrier_open(&w->c, cf, 0, &mtu);
	w->c.mode_makes_vectors = true;
	carrier_run(&w->c, &callbacks, w);
	rc = carrier_close(&w->c);
	if (w->c.gradients == 0)
		rc = carrier_sent_nothing(&w->c, "");
	if (carrier_wants_summary(cf, rc))
		print_summary(w);
	free(w);
	return rc;
}
