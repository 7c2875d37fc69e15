/*
 * Test a worker of DLP sessions: it sends integers, receives sums, and its
 * waits end.
 */
#include <math.h>
#include <string.h>

#include "common/dlp/worker.h"
#include "tests/unit/tap.h"

#define MS ((uint64_t)1000000)
#define SECOND ((uint64_t)1000000000)

static struct dlp_worker w;
static uint64_t now;

static void
make_worker(bool leads, bool median)
{
	dlp_worker_init(&w, &(struct dlp_worker_conf){ .leads = leads,
	    .median = median, .give_up_ns = 3 * SECOND });
	now = SECOND;
}

/* Does the worker send a packet with this state now? */
static bool
sends_packet(uint8_t state)
{
	return dlp_worker_next(&w, now) && w.ask.out.state == state;
}

/*
 * Receive a packet whose first parameters are these; for SETUP, with a scale of
 * 100.
 */
static enum dlp_ask_news
receive_packet(uint8_t state, uint32_t step, int32_t a, int32_t b)
{
	const struct dlp d = { .state = state, .node_count = 4, .step = step,
	    .param = { a, b, 200, 1, 1, 100 } };

	return dlp_worker_receive(&w, &d, now);
}

/* Answer the poll as an aggregator of innet, with these workers missing. */
static enum dlp_ask_news
answer_poll(uint8_t state, uint32_t step, int32_t missing)
{
	struct dlp d = { .state = state, .node_count = 1, .step = step };

	dlp_poll_put(d.param);
	d.param[DLP_PARAMS - 1] = missing;
	return dlp_worker_receive(&w, &d, now);
}

/* Open a session of two steps and four workers. */
static bool
open_session(void)
{
	bool good = sends_packet(DLP_SETUP);

	receive_packet(DLP_SETUP, 1, 2, 1000);
	good = sends_packet(DLP_POLL) && good;
	return answer_poll(DLP_LEARNING, 0, 15) == DLP_ASK_OPEN && good;
}

static void
gradient(float a, float b)
{
	w.vec[0] = a;
	w.vec[1] = b;
	dlp_worker_take_gradient(&w, now);
}

static bool
is_near(uint32_t i, float v)
{
	return fabsf(vec_get(w.sum, i) - v) < 1e-6f;
}

static void
test_session(void)
{
	make_worker(false, false);
	ok(!dlp_worker_is_waiting(&w) && !dlp_worker_next(&w, now) &&
	    dlp_worker_deadline_ns(&w) == DLP_ASK_NEVER,
	    "a worker sends nothing before it knows the length");
	dlp_worker_start(&w, 2, now);
	gradient(0.129f, -1);
	ok(dlp_worker_is_busy(&w) && open_session() &&
		sends_packet(DLP_LEARNING) && w.ask.out.param[0] == 12 &&
		w.ask.out.param[1] == -100 && w.ask.out.param[2] == 0,
	    "a gradient waits for the session, and is sent as integers");
	ok(dlp_worker_is_busy(&w) && dlp_worker_is_waiting(&w),
	    "the next gradient waits for the aggregate");
	ok(receive_packet(DLP_LEARNING, 0, 50, -125) == DLP_ASK_RESULT &&
		w.step == 0 && is_near(0, 0.5f) && is_near(1, -1.25f) &&
		!dlp_worker_is_busy(&w) && !dlp_worker_is_waiting(&w),
	    "the aggregate is returned as a sum");
	gradient(3e9f, -3e9f);
	ok(sends_packet(DLP_LEARNING) && w.ask.out.step == 1 &&
	    w.ask.out.param[0] == DLP_VALUE_MAX &&
	    w.n[DLP_WORKER_SATURATED] == 2, "a value that is too large is "
	    "clamped");
	ok(receive_packet(DLP_LEARNING, 1, 0, 0) == DLP_ASK_RESULT &&
	    w.n[DLP_WORKER_SESSIONS] == 1 && w.n[DLP_WORKER_RESULTS] == 2 &&
	    !dlp_worker_is_waiting(&w), "the last step ends the session");
	gradient(1, 1);
	ok(open_session() && sends_packet(DLP_LEARNING) && w.ask.out.step == 0,
	    "another gradient starts another session");
	make_worker(false, true);
	dlp_worker_start(&w, 2, now);
	gradient(1.1e7f, 1);
	open_session();
	sends_packet(DLP_LEARNING);
	ok(w.ask.out.param[0] == DLP_VALUE_MAX / 2 &&
	    w.n[DLP_WORKER_SATURATED] == 1, "for a median, a value is clamped "
	    "to half of the limit");
	receive_packet(DLP_LEARNING, 0, 50, -125);
	ok(is_near(0, 1) && is_near(1, -2.5f),
	    "half of a median's aggregate counts for each of four workers");
	gradient(1, 1);
	sends_packet(DLP_LEARNING);
	receive_packet(DLP_LEARNING, 1, INT32_MAX, 200);
	ok(isnan(vec_get(w.sum, 0)) && is_near(1, 4) &&
	    w.n[DLP_WORKER_OVERFLOWN] == 1, "a saturated result is NaN");
}

/* Has the worker ended with this reason? */
static void
ended_with(const char *words)
{
	char why[DLP_WORKER_WHY_BYTES];

	ok(w.end != DLP_WORKER_GOING && !dlp_worker_next(&w, now) &&
	    dlp_worker_deadline_ns(&w) == DLP_ASK_NEVER &&
	    strcmp(dlp_worker_why(&w, why), words) == 0, "%s", why);
}

static void
test_wait(void)
{
	while (w.end == DLP_WORKER_GOING && now < 60 * SECOND) {
		dlp_worker_next(&w, now);
		now = w.end == DLP_WORKER_GOING ? dlp_worker_deadline_ns(&w)
						: now;
	}
}

static void
test_ends(void)
{
	char why[DLP_WORKER_WHY_BYTES];
	uint64_t since;

	make_worker(false, false);
	dlp_worker_start(&w, 2, now);
	ok(dlp_worker_why(&w, why)[0] == '\0', "a worker that has not ended "
	    "has no reason");
	test_wait();
	ended_with("no session to take part in after 3.0 s; no packet was "
	    "received");
	ok(now == 4 * SECOND, "the worker gives up after 3 s");
	make_worker(true, false);
	dlp_worker_start(&w, 2, now);
	sends_packet(DLP_CONFIGURE);
	w.ask.out.state = DLP_LEARNING;
	w.ask.out.step = 7;
	dlp_worker_receive(&w, &w.ask.out, now);
	test_wait();
	ended_with(
	    "no session that can be configured after 3.0 s; the last packet "
	    "had state 2 (LEARNING) and step 7");
	make_worker(true, false);
	dlp_worker_start(&w, 2, now);
	sends_packet(DLP_CONFIGURE);
	w.ask.out.state = DLP_ERROR;
	dlp_worker_receive(&w, &w.ask.out, now);
	ended_with("the aggregator refused the session's settings");
	make_worker(false, false);
	dlp_worker_start(&w, 2, now);
	sends_packet(DLP_SETUP);
	dlp_worker_receive(&w, &(struct dlp){ .state = DLP_ERROR }, now);
	ended_with(
	    "this address already has a place in the session, but the "
	    "answer with its index was lost");
	make_worker(false, false);
	dlp_worker_start(&w, 2, now);
	sends_packet(DLP_SETUP);
	receive_packet(DLP_SETUP, 1, 2, 1000);
	sends_packet(DLP_POLL);
	answer_poll(DLP_LEARNING, 0, 0);
	gradient(1, 1);
	ok(sends_packet(DLP_LEARNING) &&
		dlp_worker_deadline_ns(&w) == now + 3 * SECOND,
	    "a packet that was sent once has a limited time");
	make_worker(false, false);
	dlp_worker_start(&w, 2, now);
	sends_packet(DLP_SETUP);
	receive_packet(DLP_SETUP, 1, 2, 1000);
	sends_packet(DLP_POLL);
	answer_poll(DLP_SETUP, 0, 12);
	test_wait();
	ended_with("no session with all its workers after 3.0 s; "
	    "without workers 2 3");
	make_worker(false, false);
	dlp_worker_start(&w, 2, now);
	open_session();
	gradient(1, 1);
	while (w.ask.out.state != DLP_POLL)
		dlp_worker_next(&w, now += MS);
	answer_poll(DLP_LEARNING, 0, 8);
	test_wait();
	ended_with("no result of step 0 after 3.0 s; without worker 3");
	make_worker(false, false);
	dlp_worker_start(&w, 2, now);
	sends_packet(DLP_SETUP);
	receive_packet(DLP_SETUP, 1, 2, 1000);
	sends_packet(DLP_POLL);
	dlp_worker_receive(&w, &(struct dlp){ .state = DLP_SETUP,
	    .node_count = 3 }, now);
	test_wait();
	ended_with(
	    "no session with all its workers after 3.0 s; the last packet had "
	    "state 1 (SETUP) and step 0, 3 of 4 workers");
	make_worker(false, false);
	dlp_worker_start(&w, 2, now);
	open_session();
	now += 100 * SECOND;
	ok(!dlp_worker_next(&w, now) && w.end == DLP_WORKER_GOING,
	    "a worker may wait for its own gradient without a limit");
	gradient(1, 1);
	since = now;
	while (w.end == DLP_WORKER_GOING && now < since + 60 * SECOND) {
		dlp_worker_next(&w, now);
		now += MS;
	}
	ended_with("no result of step 0 after 3.0 s; no packet was received");
}

/*
 * Send more than six elements to an aggregator of innet and to a published one.
 */
static void
test_long(void)
{
	struct dlp d = { .state = DLP_LEARNING, .node_count = 4, .more = 2,
	    .param = { [7] = 150 } };

	make_worker(false, false);
	dlp_worker_start(&w, 8, now);
	w.vec[7] = 0.5f;
	gradient(1, 1);
	ok(open_session() && sends_packet(DLP_LEARNING) &&
		w.ask.out.more == 2 && w.ask.out.param[7] == 50,
	    "all elements of a long vector are sent");
	ok(receive_packet(DLP_LEARNING, 0, 1, 1) == DLP_ASK_IGNORED &&
		dlp_worker_receive(&w, &d, now) == DLP_ASK_RESULT &&
		is_near(7, 1.5f),
	    "all elements of a long result are needed");
	gradient(1, 1);
	sends_packet(DLP_LEARNING);
	ok(receive_packet(DLP_ERROR, 1, 7, 0) == DLP_ASK_REFUSED,
	    "ERROR refuses a vector of another length");
	ended_with("the session's vectors have 7 elements, not 8");
	make_worker(false, false);
	dlp_worker_start(&w, 8, now);
	gradient(1, 1);
	sends_packet(DLP_SETUP);
	receive_packet(DLP_SETUP, 1, 2, 1000);
	sends_packet(DLP_POLL);
	answer_poll(DLP_LEARNING, 0, 0);
	ended_with("a published aggregator takes 6 elements, not 8");
}

int
main(void)
{
	test_session();
	test_ends();
	test_long();
	return tap_end();
}
