/*
 * Test a worker's side of a DLP session: which packets it sends and which it
 * accepts.
 */
#include "common/dlp/worker.h"
#include "tests/unit/tap.h"

#define MS 1000000u

static struct dlp_ask ask;
static uint64_t now;

/* Does the worker send this packet now? */
static bool
sends_packet(uint8_t state, uint8_t nodes, uint32_t step, int32_t v)
{
	return dlp_ask_next(&ask, now) && ask.out.state == state &&
	    ask.out.node_count == nodes && ask.out.step == step &&
	    ask.out.param[0] == v;
}

static enum dlp_ask_news
receive_packet(uint8_t state, uint8_t nodes, uint32_t step, int32_t v)
{
	const struct dlp d = { .state = state, .node_count = nodes,
	    .step = step, .param = { v, 1000, 200, 1, 1, 1000 } };

	return dlp_ask_receive(&ask, &d, now);
}

/*
 * Receive the aggregator's echo of the packet that the worker sent last, with
 * this state and step.
 */
static enum dlp_ask_news
hears_echo(uint8_t state, uint32_t step)
{
	struct dlp d = ask.out;

	d.state = state;
	d.step = step;
	return dlp_ask_receive(&ask, &d, now);
}

static void
start_ask(bool resets, bool configures)
{
	ask = (struct dlp_ask){ .resets = resets, .configures = configures,
	    .wish = { .nodes = 3, .param = { 7 } } };
	now = 1000 * (uint64_t)MS;
	dlp_ask_start(&ask, now);
}

/* Bring the worker into the phase ready, in a session of two steps. */
static void
open_session(void)
{
	start_ask(false, false);
	dlp_ask_next(&ask, now);
	receive_packet(DLP_SETUP, 5, 2, 2);
	dlp_ask_next(&ask, now);
	hears_echo(DLP_LEARNING, 0);
}

/* Do the same with an aggregator of innet, where worker 0 is missing. */
static void
open_innets(void)
{
	start_ask(false, false);
	dlp_ask_next(&ask, now);
	receive_packet(DLP_SETUP, 5, 2, 2);
	dlp_ask_next(&ask, now);
	ask.out.param[DLP_PARAMS - 1] = 1;
	hears_echo(DLP_LEARNING, 0);
}

/* Answer the last packet, a poll of this step, with the missing workers. */
static enum dlp_ask_news
hears_missing(uint32_t step, int32_t missing)
{
	struct dlp d = { .state = DLP_LEARNING, .node_count = 1,
	    .step = step };

	dlp_poll_put(d.param);
	d.param[DLP_PARAMS - 1] = missing;
	return dlp_ask_receive(&ask, &d, now);
}

static void
test_missing(void)
{
	static const int32_t g[DLP_PARAMS] = { 42 };

	open_innets();
	dlp_ask_send_gradient(&ask, g, DLP_PARAMS, now);
	dlp_ask_next(&ask, now);
	ok(hears_missing(0, 4) == DLP_ASK_IGNORED,
	    "an answer that was not requested is ignored");
	now += 10 * MS;
	dlp_ask_next(&ask, now);
	now += 20 * MS;
	ok(dlp_ask_next(&ask, now) && ask.out.state == DLP_POLL &&
	    dlp_is_poll(&ask.out), "after two copies of a gradient, the worker "
	    "asks who is missing");
	ok(hears_missing(0, 3) == DLP_ASK_NOTHING && ask.missing == 3 &&
	    !dlp_ask_next(&ask, now), "if others are missing, the worker "
	    "waits");
	now += 40 * MS;
	ok(sends_packet(DLP_LEARNING, 1, 0, 42),
	    "after the wait, the worker sends the gradient again");
	now += 80 * MS;
	dlp_ask_next(&ask, now);
	hears_missing(0, 6);
	ok(sends_packet(DLP_LEARNING, 1, 0, 42),
	    "if the worker itself is missing, it sends the gradient at once");
	now += 320 * MS;
	dlp_ask_next(&ask, now);
	hears_missing(1, 1);
	ok(sends_packet(DLP_LEARNING, 1, 0, 42) && ask.missing == 0,
	    "if the session is at another step, the worker sends the gradient "
	    "again");
}

static void
test_lead(void)
{
	start_ask(true, true);
	ok(sends_packet(DLP_RESET, 1, 0, 0), "the worker sends RESET first");
	ok(hears_echo(DLP_WAITING, 0) == DLP_ASK_NOTHING &&
	    sends_packet(DLP_CONFIGURE, 3, 0, 7),
	    "the worker sends CONFIGURE with its settings");
	ok(receive_packet(DLP_SETUP, 1, 0, 0) == DLP_ASK_IGNORED &&
	    ask.phase == DLP_ASK_CONFIGURE,
	    "a second answer to RESET is no answer to CONFIGURE");
	ok(hears_echo(DLP_LEARNING, 9) == DLP_ASK_NOTHING &&
	    !dlp_ask_next(&ask, now), "the worker does not disturb a session "
	    "that learns");
	now += 2 * MS;
	ok(sends_packet(DLP_CONFIGURE, 3, 0, 7),
	    "the worker sends CONFIGURE again later");
	ok(receive_packet(DLP_CONFIGURE, 3, 0, 7) == DLP_ASK_NOTHING &&
	    sends_packet(DLP_SETUP, 1, 0, 0), "after CONFIGURE the worker "
	    "sends SETUP");
	start_ask(false, true);
	dlp_ask_next(&ask, now);
	ok(hears_echo(DLP_ERROR, 0) == DLP_ASK_REFUSED,
	    "ERROR refuses the worker");
}

static void
test_setup(void)
{
	start_ask(false, false);
	ok(sends_packet(DLP_SETUP, 1, 0, 0), "the worker sends SETUP with node "
	    "count 1 and zeros");
	ok(receive_packet(DLP_WAITING, 1, 0, 0) == DLP_ASK_NOTHING &&
	    ask.phase == DLP_ASK_SETUP && !dlp_ask_next(&ask, now),
	    "without a session, the worker pauses");
	now += MS;
	ok(sends_packet(DLP_SETUP, 1, 0, 0), "the first pause is 1 ms");
	receive_packet(DLP_WAITING, 1, 0, 0);
	now += MS;
	ok(!dlp_ask_next(&ask, now), "the next pause is longer than 1 ms");
	now += MS;
	ok(sends_packet(DLP_SETUP, 1, 0, 0), "the next pause is 2 ms");
	ok(receive_packet(DLP_SETUP, 5, 2, 100) == DLP_ASK_NOTHING &&
		ask.index == 2 && ask.session.nodes == 5 &&
		ask.session.param[0] == 100,
	    "the answer to SETUP has the index and the settings");
	ok(dlp_ask_next(&ask, now) && ask.out.state == DLP_POLL,
	    "then the worker polls");
	ok(receive_packet(DLP_SETUP, 5, 2, 100) == DLP_ASK_IGNORED,
	    "a second answer to SETUP changes nothing");
	ok(hears_echo(DLP_SETUP, 0) == DLP_ASK_NOTHING &&
	    ask.phase == DLP_ASK_POLL, "if others are missing, the worker does "
	    "not send SETUP again");
	ok(hears_echo(DLP_SETUP, 0) == DLP_ASK_IGNORED,
	    "a second answer does not start a second pause");
	now += 100 * MS;
	ok(dlp_ask_next(&ask, now) && ask.out.state == DLP_POLL,
	    "after the pause, the worker polls again");
	ok(hears_echo(DLP_LEARNING, 3) == DLP_ASK_NOTHING &&
	    ask.phase == DLP_ASK_POLL, "a session at another step belongs to "
	    "other workers");
	now += 100 * MS;
	dlp_ask_next(&ask, now);
	ok(hears_echo(DLP_WAITING, 0) == DLP_ASK_NOTHING &&
	    ask.phase == DLP_ASK_SETUP, "WAITING means that the place is lost");
	now += 100 * MS;
	dlp_ask_next(&ask, now);
	receive_packet(DLP_SETUP, 5, 2, 100);
	dlp_ask_next(&ask, now);
	ok(hears_echo(DLP_LEARNING, 0) == DLP_ASK_OPEN &&
	    ask.phase == DLP_ASK_READY &&
	    dlp_ask_deadline_ns(&ask) == DLP_ASK_NEVER,
	    "LEARNING at step 0 means that the worker may start");
	ok(hears_echo(DLP_LEARNING, 0) == DLP_ASK_IGNORED,
	    "a worker that may start ignores other answers");
}

static void
test_published_server(void)
{
	static const int32_t g[DLP_PARAMS] = { 42 };

	start_ask(false, false);
	dlp_ask_next(&ask, now);
	ok(dlp_ask_receive(&ask, &(struct dlp){ .state = DLP_ERROR,
	    .node_count = 1 }, now) == DLP_ASK_LOST,
	    "ERROR to SETUP means that the answer with the index was lost");
	receive_packet(DLP_SETUP, 2, 0, 100);
	dlp_ask_next(&ask, now);
	ok(dlp_ask_receive(&ask, &(struct dlp){ .state = DLP_SETUP,
	    .node_count = 1 }, now) == DLP_ASK_NOTHING &&
	    ask.phase == DLP_ASK_POLL && ask.peer == DLP_ASK_OLD_SERVER,
	    "an answer to a poll may have zeros");
	now += MS;
	dlp_ask_next(&ask, now);
	ok(dlp_ask_receive(&ask, &(struct dlp){ .state = DLP_LEARNING }, now) ==
	    DLP_ASK_OPEN, "LEARNING opens the session");
	dlp_ask_send_gradient(&ask, g, DLP_PARAMS, now);
	dlp_ask_next(&ask, now);
	ok(dlp_ask_receive(&ask, &(struct dlp){ .state = DLP_LEARNING }, now) ==
	    DLP_ASK_IGNORED, "a late answer with zeros is no aggregate");
	ok(dlp_ask_receive(&ask, &(struct dlp){ .state = DLP_ERROR,
	    .node_count = 1 }, now) == DLP_ASK_IGNORED &&
	    dlp_ask_deadline_ns(&ask) != DLP_ASK_NEVER,
	    "ERROR to a repeated gradient means that the first copy counts");
}

static void
test_published_switch(void)
{
	static const int32_t g[DLP_PARAMS] = { 42 };

	open_session();
	ok(ask.peer == DLP_ASK_OLD_SWITCH, "a poll that comes back unchanged "
	    "shows a published switch");
	dlp_ask_send_gradient(&ask, g, DLP_PARAMS, now);
	ok(sends_packet(DLP_LEARNING, 1, 0, 42) && dlp_ask_is_waiting(&ask) &&
	    dlp_ask_deadline_ns(&ask) == DLP_ASK_NEVER,
	    "the worker sends a gradient once and waits for the answer");
	receive_packet(DLP_WRONG_STEP, 1, 0, 42);
	now += MS;
	ok(sends_packet(DLP_LEARNING, 1, 0, 42),
	    "after WRONG_STEP the worker sends the gradient again");
}

static void
test_steps(void)
{
	static const int32_t g[DLP_PARAMS] = { 42 };

	open_innets();
	ok(ask.peer == DLP_ASK_INNET, "the answer with missing workers shows "
	    "an aggregator of innet");
	dlp_ask_send_gradient(&ask, g, DLP_PARAMS, now);
	ok(sends_packet(DLP_LEARNING, 1, 0, 42),
	    "the worker sends a gradient at step 0");
	ok(dlp_ask_deadline_ns(&ask) == now + 10 * MS,
	    "a timeout is at least 10 ms");
	now += 10 * MS;
	ok(sends_packet(DLP_LEARNING, 1, 0, 42) && ask.repeated == 1 &&
		dlp_ask_deadline_ns(&ask) == now + 20 * MS,
	    "after a timeout the worker sends again and doubles the timeout");
	struct dlp poll = { .state = DLP_LEARNING, .node_count = 1 };

	dlp_poll_put(poll.param);
	ok(dlp_ask_receive(&ask, &poll, now) == DLP_ASK_IGNORED,
	    "the echo of a poll is no aggregate");
	ok(receive_packet(DLP_LEARNING, 5, 1, 9) == DLP_ASK_IGNORED &&
	    receive_packet(DLP_SETUP, 5, 1, 9) == DLP_ASK_IGNORED &&
	    receive_packet(77, 5, 1, 9) == DLP_ASK_IGNORED,
	    "an answer of another step or state is no aggregate");
	ok(ask.heard && ask.heard_state == 77, "an answer of another state "
	    "counts as heard");
	ok(receive_packet(DLP_LEARNING, 5, 0, 9) == DLP_ASK_RESULT &&
		ask.step == 1 && ask.phase == DLP_ASK_READY,
	    "the aggregate starts the next step");
	ok(receive_packet(DLP_LEARNING, 5, 0, 9) == DLP_ASK_IGNORED,
	    "the same aggregate is ignored the second time");
	dlp_ask_send_gradient(&ask, g, DLP_PARAMS, now);
	dlp_ask_next(&ask, now);
	ok(receive_packet(DLP_WRONG_STEP, 0, 0, 0) == DLP_ASK_NOTHING &&
	    ask.wrong_step == 1 && !dlp_ask_next(&ask, now),
	    "after WRONG_STEP the worker waits for others");
	receive_packet(DLP_WRONG_STEP, 0, 0, 0);
	now += MS;
	ok(sends_packet(DLP_LEARNING, 1, 1, 42),
	    "the worker sends the same gradient again after 1 ms");
	ok(receive_packet(DLP_LEARNING, 5, 1, 9) == DLP_ASK_RESULT &&
	    ask.phase == DLP_ASK_OVER &&
	    dlp_ask_deadline_ns(&ask) == DLP_ASK_NEVER,
	    "the aggregate of the last step ends the session");
	dlp_ask_start(&ask, now);
	ok(sends_packet(DLP_SETUP, 1, 0, 0) && ask.step == 0,
	    "the worker can start another session");
}

static void
test_timeout(void)
{
	static const int32_t g[DLP_PARAMS] = { 1 };
	uint64_t span = 0;

	open_innets();
	ask.session.param[0] = 1000;
	dlp_ask_send_gradient(&ask, g, DLP_PARAMS, now);
	for (int i = 0; i < 20; i++) {
		dlp_ask_next(&ask, now);
		span = dlp_ask_deadline_ns(&ask) - now;
		now += span;
	}
	ok(span == 1000 * MS, "the timeout doubles up to 1 s");
	receive_packet(DLP_LEARNING, 5, 0, 9);
	ok(rtt_timeout_ns(&ask.rtt, &dlp_ask_rtt) == 1000 * MS,
	    "a repeated packet gives no round trip time");
	for (int i = 1; i < 100; i++) {
		dlp_ask_send_gradient(&ask, g, DLP_PARAMS, now);
		dlp_ask_next(&ask, now);
		now += 40 * MS;
		receive_packet(DLP_LEARNING, 5, (uint32_t)i, 9);
	}
	ok(ask.rtt.srtt_ns >= 39 * MS && ask.rtt.srtt_ns <= 40 * MS &&
		rtt_timeout_ns(&ask.rtt, &dlp_ask_rtt) >= 39 * MS &&
		rtt_timeout_ns(&ask.rtt, &dlp_ask_rtt) < 42 * MS,
	    "steady round trips of 40 ms give a timeout near 40 ms");
}

int
main(void)
{
	test_lead();
	test_setup();
	test_missing();
	test_published_server();
	test_published_switch();
	test_steps();
	test_timeout();
	return tap_end();
}
