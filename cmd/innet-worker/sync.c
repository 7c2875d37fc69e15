/*
 * sync.c - one worker of a synchronous job: iSwitch, sections 3.3 and 3.4
 *
 * iswitch/sync-worker.h makes the decisions, sync-io.h owns the packets and the
 * vectors, and this file owns the clock and the child.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/crc32c.h"
#include "common/base/message.h"
#include "common/base/progress.h"
#include "common/iswitch/sync-worker-control.h"
#include "common/net/timer.h"
#include "common/traffic/synthetic.h"

#include "cmd/innet-worker/sync.h"

static const char *const count_name[COUNTS] = {
	"joins", "control_ignored", "round_p10_ns", "round_p50_ns",
	"round_p90_ns", "round_mean_ns", "results", "foreign", "malformed",
	"bad_mac", "bad_proof", "send_failed"
};

static const char *const verdict_name[SYNC_WORKER_VERDICTS] = {
	NULL, "duplicates", "stale", "ahead", "bad_index", "bad_length"
};

static const char *const step_name[SYNC_WORKER_COUNTS] = {
	"iterations", "missed", "partial", "segments_sent", "retransmitted",
	"timeouts", "helps_sent", "helps_answered", "helps_ignored",
	"probes_sent", "states", "nacks"
};

/*
 * Allocate a vector and touch all its pages.  Exits with status 1 if out of
 * memory.
 */
static float *
allocate_vector(uint32_t elements)
{
	float *v = malloc((size_t)elements * sizeof(*v));

	if (v == NULL)
		err(1, "no memory for a vector of %" PRIu32 " elements",
		    elements);
	memset(v, 0, (size_t)elements * sizeof(*v));
	return v;
}

/* Join the job, starting with iteration `next`. */
static void
join_job(struct sync *w, uint64_t next, uint32_t crc, uint32_t xid,
    uint64_t now_ns)
{
	const struct sync_io_join at = { .next = next, .crc = crc, .xid = xid,
	    .mtu = w->mtu, .sends_state = w->cf->synthetic > 0 ||
	    w->c.order.sends_state };

	sync_io_join(&w->io, &at, now_ns);
}

/*
 * Join the job, once the length of vectors and the first iteration are known.
 */
static void
begin_job(struct sync *w, uint64_t next, uint32_t crc, uint64_t now_ns)
{
	const struct worker_conf *cf = w->cf;

	w->io.elements = w->c.elements;
	if (sync_has_ring(w))
		sync_open_ring(w);
	for (int i = 0; i < 2 && !sync_has_ring(w); i++) {
		w->io.grad[i] = allocate_vector(w->c.elements);
		w->io.result[i] = allocate_vector(w->c.elements);
	}
	pending_results_init(&w->pending_results, w->c.elements);
	w->left = cf->synthetic > 0 ? cf->count : 0;
	join_job(w, next, crc, control_first_xid(timer_wall_ns()), now_ns);
}

/*
 * Join the job with a ring, which begins at iteration 0.  The results that the
 * child gets are counted from the iteration of its weights.
 */
static void
begin_ring(struct sync *w, const struct stream_head *h, const uint8_t *body,
    uint64_t now_ns)
{
	begin_job(w, 0, sync_io_ring_crc(body, stream_body_bytes(h)), now_ns);
	w->io.given = h->iteration;
}

/* Send all packets that are due. */
static void
send_all(struct sync *w, uint64_t now_ns)
{
	w->io.blocked = w->c.blocked;
	sync_io_send(&w->io, now_ns);
	w->c.blocked = w->io.blocked;
}

/* Handle a datagram from the switch. */
static void
take_packet(void *ctx, const struct udpio_packet *p, uint64_t now_ns)
{
	struct sync *w = ctx;

	sync_io_receive(&w->io, p, now_ns);
}

/* Check that a synthetic sum has the right values. */
static void
check_sum(struct sync *w, const float *vec)
{
	const uint32_t t = w->io.l.t, n = w->c.elements;
	const uint32_t i = synthetic_wrong(vec, n, w->cf->check, t);

	if (i == n)
		return;
	warnx("%s: job %u: iteration %" PRIu32 ", element %" PRIu32
	    ": the sum is %g, not %g", w->cf->to_name, w->cf->job, t, i,
	    (double)vec[i], (double)synthetic_sum(w->cf->check, t, i));
	carrier_fail(&w->c);
}

/* Send a result to the child. */
static void
give_result(struct sync *w, const struct pending_result *r, bool more)
{
	struct stream_head h = { .kind = STREAM_RESULT,
	    .elements = w->c.elements, .contributions = r->contributions,
	    .flags = (uint16_t)((r->partial ? STREAM_PARTIAL : 0) |
	    (more ? STREAM_MORE : 0)) };

	h.staleness = (uint32_t)(w->io.given - w->based);
	h.iteration = ++w->io.given;
	if (w->cf->synthetic == 0)
		child_send(&w->c.child, &h, r->vec);
}

/* Handle the complete result of iteration t. */
static void
take_result(struct sync *w, uint64_t now_ns)
{
	struct sync_worker *l = &w->io.l;
	const uint32_t way = l->t & 1;
	const struct pending_result r = {.vec = w->io.result[way],
	    .contributions = l->most[way],
	    .partial = sync_worker_is_partial(l)};

	sync_worker_level_segments(l, w->io.result[way]);
	if (w->cf->check > 0)
		check_sum(w, w->io.result[way]);
	if (l->first_ns != 0)
		durations_add(&w->rounds, now_ns - l->first_ns);
	sync_worker_advance(l, now_ns);
	w->c.last |= w->left > 0 && --w->left == 0;
	if (w->pending || w->cf->synthetic > 0) {
		w->pending = sync_worker_is_whole(l) && !w->c.last;
		give_result(w, &r, w->pending);
	} else {
		w->io.result[way] = pending_results_put(
		    &w->pending_results, &r);
	}
}

/*
 * Take the child's gradient for the next iteration.  If results are already
 * waiting for the child, the gradient is too late and the child gets these
 * results instead.
 */
static void
take_gradient(struct sync *w, const uint8_t *body, uint64_t now_ns)
{
	const uint32_t t = sync_worker_iteration(&w->io.l), way = t & 1;
	struct pending_result r;

	w->based = w->io.given;
	if (pending_results_count(&w->pending_results) > 0) {
		while (pending_results_take(&w->pending_results, &r))
			give_result(w, &r,
			    pending_results_count(&w->pending_results) > 0);
		return;
	}
	if (w->cf->synthetic == 0)
		memcpy(w->io.grad[way], body, 4 * (size_t)w->c.elements);
	else if (w->cf->check > 0 || w->io.given < 2)
		synthetic_fill(w->io.grad[way], w->c.elements, w->cf->worker,
		    t);
	w->pending = true;
	sync_worker_set_gradient(&w->io.l, now_ns);
}

/*
 * Offer the state of this worker after `given` results to the worker that
 * requested the state.
 */
static void
offer_state(struct sync *w, uint8_t *body, uint32_t bytes, uint64_t given,
    uint64_t now_ns)
{
	state_transfer_set_snapshot(&w->io.transfer, body, bytes, given,
	    now_ns);
	control_send_transfer(&w->io.transfer, &w->io.control, &w->io.l.in,
	    now_ns);
}

/*
 * If another worker requests the state of this worker, get the state from the
 * child.
 */
static void
request_state(struct sync *w, uint64_t now_ns)
{
	if (!w->io.transfer.sender.wanted)
		return;
	if (w->cf->synthetic == 0)
		carrier_ask_state(&w->c);
	else
		offer_state(w, NULL, 0, w->io.given, now_ns);
}

/* Offer the state that the child sent. */
static void
take_state(struct sync *w, const struct stream_head *h, const uint8_t *body,
    uint64_t now_ns)
{
	uint8_t *copy = malloc(h->elements + 1u);

	if (copy == NULL)
		err(1, "no memory for a state of %" PRIu32 " bytes",
		    h->elements);
	memcpy(copy, body, h->elements);
	offer_state(w, copy, h->elements, h->iteration, now_ns);
}

/*
 * Was the gradient computed from weights that the child replaced when it
 * received a state?
 */
static bool
is_outdated(struct sync *w, const struct stream_head *h)
{
	w->skips_outdated &= h->iteration != w->io.given;
	return w->skips_outdated;
}

/* Read the child's messages, or synthetic gradients. */
static void
read_carrier(struct sync *w, uint64_t now_ns)
{
	enum carrier_event e;
	struct stream_head h;
	const uint8_t *body;

	/* after its weights, a child with a ring sends pieces */
	while (!(w->io.begun && sync_has_ring(w)) &&
	    (!w->pending || carrier_has_state(&w->c)) &&
	    (e = carrier_next(&w->c, now_ns, &h, &body)) !=
	    CARRIER_NOTHING) {
		if (e == CARRIER_STATE)
			take_state(w, &h, body, now_ns);
		else if (e == CARRIER_GRADIENT && !is_outdated(w, &h))
			take_gradient(w, body, now_ns);
		else if (e == CARRIER_WEIGHTS && sync_has_ring(w))
			begin_ring(w, &h, body, now_ns);
		else if (e == CARRIER_WEIGHTS)
			begin_job(w, h.iteration, crc32c(0, body,
			    stream_body_bytes(&h)), now_ns);
		else if (w->cf->synthetic > 0)
			begin_job(w, 0, 0, now_ns);
	}
	if (w->io.begun && sync_has_ring(w))
		return;
	w->c.child_paused = (w->pending && !w->c.order.asked) ||
	    (w->io.begun && pending_results_are_full(&w->pending_results));
	w->c.done |= w->c.last && !w->pending;
}

/* Let the child continue from the state of another worker. */
static void
give_state(struct sync *w)
{
	struct state_receiver *e = &w->io.transfer.receiver;

	if (w->cf->synthetic == 0)
		carrier_give_state(&w->c, e->body, e->bytes, e->iteration);
	state_receiver_free(e);
	w->has_state = false;
	w->io.transfer.tries = 0;
}

/* Answer the child's hello, once the worker has joined the job. */
static void
greet_child(struct sync *w)
{
	char ring[40] = "";

	if (sync_has_ring(w))
		snprintf(ring, sizeof(ring), ",\"ring\":true,\"floats\":%"
		    PRIu32, w->io.l.floats);
	carrier_send_hello_with(&w->c, w->io.l.h > w->io.l.in.members ?
	    w->io.l.h : w->io.l.in.members, ring);
	w->greeted = true;
}

/* Handle complete results, and the gradients that follow them. */
static void
process_results(void *ctx, uint64_t now_ns)
{
	struct sync *w = ctx;

	if (w->io.begun && w->io.l.in.joined && !w->greeted)
		greet_child(w);
	if (w->has_state && w->greeted)
		give_state(w);
	request_state(w, now_ns);
	if (w->io.begun && sync_has_ring(w)) {
		sync_process_pieces(w, now_ns);
		return;
	}
	while (w->io.begun && sync_worker_is_whole(&w->io.l) && !w->c.done &&
	    !pending_results_are_full(&w->pending_results))
		take_result(w, now_ns);
	read_carrier(w, now_ns);
	if (w->io.begun && sync_has_ring(w))
		sync_process_pieces(w, now_ns);
}

/*
 * Fetch a state if the worker has ended and the state of another worker would
 * help.
 */
static bool
start_fetch(struct sync *w, uint64_t now_ns)
{
	if (!state_transfer_is_useful(&w->io.transfer, &w->io.l.in,
	    w->io.l.end == SYNC_WORKER_LOST, false))
		return false;
	state_transfer_start_fetch(&w->io.transfer, &w->io.l.in, true, now_ns);
	return true;
}

/* Join again with the state that was received. */
static void
join_with_state(struct sync *w, uint64_t now_ns)
{
	const uint64_t at = w->io.transfer.receiver.iteration;
	const struct sync_worker was = w->io.l;
	struct pending_result r;

	while (pending_results_take(&w->pending_results, &r))
		continue;
	sync_worker_free(&w->io.l);
	join_job(w, at, 0, w->io.transfer.receiver.xid, now_ns);
	w->io.l.in.joins = was.in.joins;
	memcpy(w->io.l.n, was.n, sizeof(was.n));
	memcpy(w->io.l.verdicts, was.verdicts, sizeof(was.verdicts));
	if (w->left > 0)
		w->left = w->cf->count > at ? w->cf->count - at : 1;
	w->has_state = true;
	w->pending = false;
	w->skips_outdated = w->cf->synthetic == 0;
}

/* Continue to fetch a state; when the fetch has ended, handle its result. */
static void
advance_transfer(struct sync *w, uint64_t now_ns)
{
	struct state_transfer *h = &w->io.transfer;
	char text[CONTROL_IO_TEXT_BYTES];

	control_send_transfer(h, &w->io.control, &w->io.l.in, now_ns);
	if (h->receiver.end == STATE_RECEIVER_GOING)
		return;
	h->fetching = false;
	control_explain_transfer(h, w->cf, text);
	if (text[0] != '\0')
		warnx("%s", text);
	if (h->receiver.end == STATE_RECEIVER_HAS)
		join_with_state(w, now_ns);
	else
		carrier_fail(&w->c);
}

/* Print why the worker has ended. */
static void
explain_end(struct sync *w)
{
	char text[SYNC_IO_WHY_BYTES];

	sync_io_explain_end(&w->io, w->c.child.name, text);
	warnx("%s", text);
	carrier_fail(&w->c);
}

/* Print the summary. */
static void
print_summary(struct sync *w)
{
	enum { ALL = (int)COUNTS + (int)SYNC_WORKER_VERDICTS +
	    (int)SYNC_WORKER_COUNTS };
	static const unsigned percent[] = { 10, 50, 90 };
	const char *name[ALL];
	uint64_t n[ALL], own[COUNTS];
	size_t k = 0;

	own[JOINS] = w->io.l.in.joins;
	own[CONTROL_IGNORED] = w->io.l.in.ignored;
	for (int i = 0; i < 3; i++)
		own[ROUND_P10 + i] = durations_percentile(&w->rounds,
		    percent[i]);
	own[ROUND_MEAN] = durations_mean(&w->rounds);
	memcpy(own + IO, w->io.n, sizeof(w->io.n));
	for (int i = 0; i < SYNC_WORKER_COUNTS; i++, k++) {
		name[k] = step_name[i];
		n[k] = sync_worker_count(&w->io.l, (enum sync_worker_count)i);
	}
	for (int i = 1; i < SYNC_WORKER_VERDICTS; i++, k++) {
		name[k] = verdict_name[i];
		n[k] = w->io.l.verdicts[i];
	}
	for (int i = 0; i < COUNTS; i++, k++) {
		name[k] = count_name[i];
		n[k] = own[i];
	}
	carrier_summary(&w->c, name, n, k);
}

/* Print a summary if one was requested, and print progress once a second. */
static void
check_second(struct sync *w, uint64_t now_ns)
{
	if (carrier_summary_requested(&w->c))
		print_summary(w);
	if (carrier_tick(&w->c, now_ns) && w->cf->progress)
		progress_say("%" PRIu64 " iterations, %" PRIu64 " missed, "
		    "%" PRIu64 " requested again",
		    w->io.l.n[SYNC_WORKER_ITERATIONS],
		    w->io.l.n[SYNC_WORKER_MISSED],
		    sync_worker_count(&w->io.l, SYNC_WORKER_RETRANSMITTED) +
		    w->io.l.n[SYNC_WORKER_HELPS_SENT]);
}

/*
 * Print that the worker waits, or that it cannot join the multicast group of
 * its job.
 */
static void
report_waits(struct sync *w, uint64_t now_ns)
{
	char text[STALL_REPORT_LINE_BYTES];

	if (!control_join_group(&w->io.control, &w->io.l.in, text, now_ns))
		warnx("%s", text);
	if (!w->io.transfer.fetching && stall_report_result(&w->stall,
	    w->cf->to_name, &w->io.l, durations_mean(&w->rounds), text, now_ns))
		warnx("%s", text);
}

/* Send all packets that are due, and check whether the worker can continue. */
static void
send_due(void *ctx, uint64_t now_ns)
{
	struct sync *w = ctx;

	if (w->io.transfer.fetching)
		advance_transfer(w, now_ns);
	else if (w->io.begun)
		send_all(w, now_ns);
	else if (!w->c.done)
		carrier_awaits_child(&w->c, now_ns);
	check_second(w, now_ns);
	if (w->io.begun)
		report_waits(w, now_ns);
	state_sender_drop_unused(&w->io.transfer.sender, now_ns);
	if (!w->io.transfer.fetching && !sync_worker_is_going(&w->io.l) &&
	    !start_fetch(w, now_ns))
		explain_end(w);
}

static uint64_t
next_deadline(const void *ctx)
{
	const struct sync *w = ctx;

	if (w->io.transfer.fetching)
		return state_transfer_deadline_ns(&w->io.transfer);
	return w->io.begun ? sync_worker_deadline_ns(&w->io.l) : TIMER_NEVER;
}

static const struct carrier_callbacks callbacks = {.deadline_ns = next_deadline,
    .receive = take_packet,
    .read_child = process_results,
    .act = send_due};

/* Leave the job, and wait a short time for the answer. */
static void
leave_job(struct sync *w)
{
	uint64_t now = timer_mono_ns();

	if (!w->io.begun)
		return;
	sync_worker_leave(&w->io.l, now);
	for (;;) {
		send_all(w, now);
		if (!sync_worker_is_going(&w->io.l))
			return;
		w->c.child_paused = true;
		w->c.end_ns = TIMER_NEVER;
		now = carrier_run_once(&w->c, &callbacks, w, now);
	}
}

int
sync_run(const struct worker_conf *cf)
{
	struct sync *w = calloc(1, sizeof(*w));
	int rc;

	if (w == NULL || !durations_reserve(&w->rounds))
		err(1, "worker");
	w->cf = cf;
	carrier_open(&w->c, cf, worker_tos(cf), &w->mtu);
	if (!sync_io_open(&w->io, cf, &w->c.out))
		err(1, "cannot get random numbers");
	if (cf->capture == NULL) {	/* a capture needs whole packets */
		w->c.in.find_place = sync_io_find_place;
		w->c.in.matches_place = sync_io_matches_place;
		w->c.in.ctx = &w->io;
	}
	udpio_limit_send_buffer(&w->c.u);
	w->c.mode_makes_vectors = true;
	w->c.order.can_ring = true;
	carrier_run(&w->c, &callbacks, w);
	leave_job(w);
	if (w->io.begun && w->io.l.is_short && w->c.rc == 0)
		explain_end(w);		/* it was ended while it left */
	rc = carrier_close(&w->c);
	if (sync_worker_count(&w->io.l, SYNC_WORKER_ITERATIONS) == 0 &&
	    sync_worker_count(&w->io.l, SYNC_WORKER_SEGMENTS) == 0)
		rc = carrier_sent_nothing(&w->c, "the job has not started");
	if (carrier_wants_summary(cf, rc))
		print_summary(w);
	pending_results_free(&w->pending_results);
	sync_close_ring(w);
	for (int i = 0; i < 2 && !sync_has_ring(w); i++) {
		free(w->io.grad[i]);
		free(w->io.result[i]);
	}
	sync_io_free(&w->io);
	durations_free(&w->rounds);
	free(w);
	return rc;
}
