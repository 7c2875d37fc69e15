/* A worker's side of a DLP session: what it sends, and what it believes. */
#include "common/dlp/ask.h"
#include "tests/unit/tap.h"

#define MS 1000000u

static struct dlpask ask;
static uint64_t now;

/* Is this sent now? */
static bool
sends(uint8_t state, uint8_t nodes, uint32_t step, int32_t v)
{
	return dlpask_due(&ask, now) && ask.out.state == state &&
	    ask.out.node_count == nodes && ask.out.step == step &&
	    ask.out.param[0] == v;
}

static enum dlpask_news
hears(uint8_t state, uint8_t nodes, uint32_t step, int32_t v)
{
	const struct dlp d = { .state = state, .node_count = nodes,
	    .step = step, .param = { v, 1000, 200, 1, 1, 1000 } };

	return dlpask_take(&ask, &d, now);
}

/* The aggregator echoes what was sent last, in this state and step. */
static enum dlpask_news
hears_echo(uint8_t state, uint32_t step)
{
	struct dlp d = ask.out;

	d.state = state;
	d.step = step;
	return dlpask_take(&ask, &d, now);
}

static void
begin(bool resets, bool configures)
{
	ask = (struct dlpask){ .resets = resets, .configures = configures,
	    .wish = { .nodes = 3, .param = { 7 } } };
	now = 1000 * (uint64_t)MS;
	dlpask_begin(&ask, now);
}

/* In the phase ready, in a session of two steps. */
static void
open_session(void)
{
	begin(false, false);
	dlpask_due(&ask, now);
	hears(DLP_SETUP, 5, 2, 2);
	dlpask_due(&ask, now);
	hears_echo(DLP_LEARNING, 0);
}

static void
test_lead(void)
{
	begin(true, true);
	ok(sends(DLP_RESET, 1, 0, 0), "RESET first");
	ok(hears_echo(DLP_WAITING, 0) == DLPASK_NOTHING &&
	    sends(DLP_CONFIGURE, 3, 0, 7), "then CONFIGURE, as wished");
	ok(hears(DLP_SETUP, 1, 0, 0) == DLPASK_IGNORED &&
	    ask.phase == DLPASK_CONFIGURE,
	    "an answer to RESET, once more, is none to CONFIGURE");
	ok(hears_echo(DLP_LEARNING, 9) == DLPASK_NOTHING &&
	    !dlpask_due(&ask, now), "a session that learns is let be");
	now += 2 * MS;
	ok(sends(DLP_CONFIGURE, 3, 0, 7), "and asked again in a while");
	ok(hears_echo(DLP_SETUP, 0) == DLPASK_NOTHING &&
	    sends(DLP_SETUP, 1, 0, 0), "then SETUP");
	begin(false, true);
	dlpask_due(&ask, now);
	ok(hears_echo(DLP_ERROR, 0) == DLPASK_REFUSED, "ERROR is refusal");
}

static void
test_setup(void)
{
	begin(false, false);
	ok(sends(DLP_SETUP, 1, 0, 0), "SETUP, node count 1 and zeros");
	ok(hears(DLP_WAITING, 1, 0, 0) == DLPASK_NOTHING &&
	    ask.phase == DLPASK_SETUP && !dlpask_due(&ask, now),
	    "no session yet: a pause");
	now += MS;
	ok(sends(DLP_SETUP, 1, 0, 0), "of 1 ms at first");
	hears(DLP_WAITING, 1, 0, 0);
	now += MS;
	ok(!dlpask_due(&ask, now), "then longer");
	now += MS;
	ok(sends(DLP_SETUP, 1, 0, 0), "2 ms");
	ok(hears(DLP_SETUP, 5, 2, 100) == DLPASK_NOTHING && ask.index == 2 &&
	    ask.session.nodes == 5 && ask.session.param[0] == 100,
	    "index and settings");
	ok(dlpask_due(&ask, now) && ask.out.state == DLP_POLL,
	    "then a poll");
	ok(hears(DLP_SETUP, 5, 2, 100) == DLPASK_IGNORED,
	    "SETUP's answer once more changes nothing");
	ok(hears_echo(DLP_SETUP, 0) == DLPASK_NOTHING &&
	    ask.phase == DLPASK_SETUP, "others are missing: SETUP again");
	ok(hears_echo(DLP_SETUP, 0) == DLPASK_IGNORED, "one pause at a time");
	now += 100 * MS;
	ok(sends(DLP_SETUP, 1, 0, 0), "after a pause");
	hears(DLP_SETUP, 5, 2, 100);
	dlpask_due(&ask, now);
	ok(hears_echo(DLP_LEARNING, 3) == DLPASK_NOTHING &&
	    ask.phase == DLPASK_SETUP, "a session under way is another's");
	now += 100 * MS;
	dlpask_due(&ask, now);
	hears(DLP_SETUP, 5, 2, 100);
	dlpask_due(&ask, now);
	ok(hears_echo(DLP_LEARNING, 0) == DLPASK_OPEN &&
	    ask.phase == DLPASK_READY &&
	    dlpask_next_ns(&ask) == DLPASK_NEVER, "LEARNING at 0: ready");
	ok(hears_echo(DLP_LEARNING, 0) == DLPASK_IGNORED, "and silent");
}

static void
test_published_server(void)
{
	begin(false, false);
	dlpask_due(&ask, now);
	hears(DLP_SETUP, 2, 0, 100);
	dlpask_due(&ask, now);
	ok(dlpask_take(&ask, &(struct dlp){ .state = DLP_SETUP,
	    .node_count = 1 }, now) == DLPASK_NOTHING &&
	    ask.phase == DLPASK_SETUP, "a poll may be answered with zeros");
}

static void
test_steps(void)
{
	const int32_t g[DLP_PARAMS] = { 42 };

	open_session();
	dlpask_gradient(&ask, g, now);
	ok(sends(DLP_LEARNING, 1, 0, 42), "a gradient at step 0");
	ok(dlpask_next_ns(&ask) == now + 10 * MS, "time-out: 10 ms at least");
	now += 10 * MS;
	ok(sends(DLP_LEARNING, 1, 0, 42) && ask.repeated == 1 &&
	    dlpask_next_ns(&ask) == now + 20 * MS, "again, and it doubles");
	struct dlp poll = { .state = DLP_LEARNING };

	dlpask_marked(poll.param);
	ok(dlpask_take(&ask, &poll, now) == DLPASK_IGNORED,
	    "the echo of a poll is no aggregate");
	ok(hears(DLP_LEARNING, 5, 1, 9) == DLPASK_IGNORED &&
	    hears(DLP_SETUP, 5, 1, 9) == DLPASK_IGNORED &&
	    hears(77, 5, 1, 9) == DLPASK_IGNORED,
	    "nor is another step or state");
	ok(ask.heard && ask.heard_state == 77, "but it was heard");
	ok(hears(DLP_LEARNING, 5, 0, 9) == DLPASK_RESULT && ask.step == 1 &&
	    ask.phase == DLPASK_READY, "the aggregate: the next step");
	ok(hears(DLP_LEARNING, 5, 0, 9) == DLPASK_IGNORED, "given once");
	dlpask_gradient(&ask, g, now);
	dlpask_due(&ask, now);
	ok(hears(DLP_WRONG_STEP, 0, 0, 0) == DLPASK_NOTHING &&
	    ask.wrong_step == 1 && !dlpask_due(&ask, now),
	    "WRONG_STEP: others are behind");
	hears(DLP_WRONG_STEP, 0, 0, 0);
	now += MS;
	ok(sends(DLP_LEARNING, 1, 1, 42), "the same after 1 ms");
	ok(hears(DLP_LEARNING, 5, 1, 9) == DLPASK_RESULT &&
	    ask.phase == DLPASK_OVER &&
	    dlpask_next_ns(&ask) == DLPASK_NEVER, "the last step: over");
	dlpask_begin(&ask, now);
	ok(sends(DLP_SETUP, 1, 0, 0) && ask.step == 0, "a session more");
}

static void
test_timeout(void)
{
	const int32_t g[DLP_PARAMS] = { 1 };
	uint64_t span = 0;

	open_session();
	ask.session.param[0] = 1000;
	dlpask_gradient(&ask, g, now);
	for (int i = 0; i < 20; i++) {
		dlpask_due(&ask, now);
		span = dlpask_next_ns(&ask) - now;
		now += span;
	}
	ok(span == 1000 * MS, "it doubles up to 1 s");
	hears(DLP_LEARNING, 5, 0, 9);
	ok(ask.rto_ns == 1000 * MS, "a repeated packet measures nothing");
	for (int i = 1; i < 100; i++) {
		dlpask_gradient(&ask, g, now);
		dlpask_due(&ask, now);
		now += 40 * MS;
		hears(DLP_LEARNING, 5, (uint32_t)i, 9);
	}
	ok(ask.srtt_ns >= 39 * MS && ask.srtt_ns <= 40 * MS &&
	    ask.rto_ns >= 39 * MS && ask.rto_ns < 42 * MS,
	    "steady round trips of 40 ms: a time-out near them");
}

int
main(void)
{
	test_lead();
	test_setup();
	test_published_server();
	test_steps();
	test_timeout();
	return tap_end();
}
