/* A worker of DLP sessions: integers out, sums in, and waits that end. */
#include <math.h>
#include <string.h>

#include "common/dlp/worker.h"
#include "tests/unit/tap.h"

#define MS ((uint64_t)1000000)
#define SECOND ((uint64_t)1000000000)

static struct dlp_worker w;
static uint64_t now;

static void
fresh(bool leads, bool median)
{
	dlp_worker_init(&w, &(struct dlp_worker_conf){ .leads = leads,
	    .median = median, .give_up_ns = 3 * SECOND });
	now = SECOND;
}

/* Is this state sent now? */
static bool
sends(uint8_t state)
{
	return dlp_worker_next(&w, now) && w.ask.out.state == state;
}

/* A packet whose first parameters are those; for SETUP, a scale of 100. */
static enum dlp_ask_news
hears(uint8_t state, uint32_t step, int32_t a, int32_t b)
{
	const struct dlp d = { .state = state, .node_count = 4, .step = step,
	    .param = { a, b, 200, 1, 1, 100 } };

	return dlp_worker_receive(&w, &d, now);
}

/* The poll is answered by an aggregator of innet's, which lacks these. */
static enum dlp_ask_news
answer_poll(uint8_t state, uint32_t step, int32_t missing)
{
	struct dlp d = { .state = state, .node_count = 1, .step = step };

	dlp_poll_put(d.param);
	d.param[DLP_PARAMS - 1] = missing;
	return dlp_worker_receive(&w, &d, now);
}

/* A session of two steps and four workers opens. */
static bool
opens(void)
{
	bool good = sends(DLP_SETUP);

	hears(DLP_SETUP, 1, 2, 1000);
	good = sends(DLP_POLL) && good;
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
near(uint32_t i, float v)
{
	return fabsf(vec_get(w.sum, i) - v) < 1e-6f;
}

static void
test_session(void)
{
	fresh(false, false);
	ok(!dlp_worker_is_waiting(&w) && !dlp_worker_next(&w, now) &&
	    dlp_worker_deadline_ns(&w) == DLP_ASK_NEVER,
	    "before the length is known nothing is asked");
	dlp_worker_start(&w, 2, now);
	gradient(0.129f, -1);
	ok(dlp_worker_is_busy(&w) && opens() && sends(DLP_LEARNING) &&
	    w.ask.out.param[0] == 12 && w.ask.out.param[1] == -100 &&
	    w.ask.out.param[2] == 0, "a gradient waits for the session, and "
	    "leaves as integers");
	ok(dlp_worker_is_busy(&w) && dlp_worker_is_waiting(&w),
	    "the next has to wait for the aggregate");
	ok(hears(DLP_LEARNING, 0, 50, -125) == DLP_ASK_RESULT && w.step == 0 &&
	    near(0, 0.5f) && near(1, -1.25f) && !dlp_worker_is_busy(&w) &&
	    !dlp_worker_is_waiting(&w), "which is given as a sum");
	gradient(3e9f, -3e9f);
	ok(sends(DLP_LEARNING) && w.ask.out.step == 1 &&
	    w.ask.out.param[0] == DLP_VALUE_MAX &&
	    w.n[DLP_WORKER_SATURATED] == 2, "what is too large is cut to size");
	ok(hears(DLP_LEARNING, 1, 0, 0) == DLP_ASK_RESULT &&
	    w.n[DLP_WORKER_SESSIONS] == 1 && w.n[DLP_WORKER_RESULTS] == 2 &&
	    !dlp_worker_is_waiting(&w), "the last step ends the session");
	gradient(1, 1);
	ok(opens() && sends(DLP_LEARNING) && w.ask.out.step == 0,
	    "another gradient begins another");
	fresh(false, true);
	dlp_worker_start(&w, 2, now);
	gradient(1.1e7f, 1);
	opens();
	sends(DLP_LEARNING);
	ok(w.ask.out.param[0] == DLP_VALUE_MAX / 2 &&
	    w.n[DLP_WORKER_SATURATED] == 1, "to half of it for a median");
	hears(DLP_LEARNING, 0, 50, -125);
	ok(near(0, 1) && near(1, -2.5f),
	    "half of what a median's aggregator sends counts for each of four");
	gradient(1, 1);
	sends(DLP_LEARNING);
	hears(DLP_LEARNING, 1, INT32_MAX, 200);
	ok(isnan(vec_get(w.sum, 0)) && near(1, 4) &&
	    w.n[DLP_WORKER_OVERFLOWN] == 1, "what does not fit is no number");
}

/* It has ended, and says why. */
static void
over(const char *words)
{
	char why[DLP_WORKER_WHY_BYTES];

	ok(w.end != DLP_WORKER_GOING && !dlp_worker_next(&w, now) &&
	    dlp_worker_deadline_ns(&w) == DLP_ASK_NEVER &&
	    strcmp(dlp_worker_why(&w, why), words) == 0, "%s", why);
}

static void
wait(void)
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

	fresh(false, false);
	dlp_worker_start(&w, 2, now);
	ok(dlp_worker_why(&w, why)[0] == '\0', "while it goes on, no words");
	wait();
	over("no session to take part in after 3.0 s; nothing was heard");
	ok(now == 4 * SECOND, "in time");
	fresh(true, false);
	dlp_worker_start(&w, 2, now);
	sends(DLP_CONFIGURE);
	w.ask.out.state = DLP_LEARNING;
	w.ask.out.step = 7;
	dlp_worker_receive(&w, &w.ask.out, now);
	wait();
	over("no session that can be configured after 3.0 s; last heard: state "
	    "2 (LEARNING), step 7");
	fresh(true, false);
	dlp_worker_start(&w, 2, now);
	sends(DLP_CONFIGURE);
	w.ask.out.state = DLP_ERROR;
	dlp_worker_receive(&w, &w.ask.out, now);
	over("the session's settings are refused");
	fresh(false, false);
	dlp_worker_start(&w, 2, now);
	sends(DLP_SETUP);
	dlp_worker_receive(&w, &(struct dlp){ .state = DLP_ERROR }, now);
	over("this address has a place in the session, but the answer with its "
	    "index is lost");
	fresh(false, false);
	dlp_worker_start(&w, 2, now);
	sends(DLP_SETUP);
	hears(DLP_SETUP, 1, 2, 1000);
	sends(DLP_POLL);
	answer_poll(DLP_LEARNING, 0, 0);
	gradient(1, 1);
	ok(sends(DLP_LEARNING) &&
		dlp_worker_deadline_ns(&w) == now + 3 * SECOND,
	    "what is sent once is given up in time");
	fresh(false, false);
	dlp_worker_start(&w, 2, now);
	sends(DLP_SETUP);
	hears(DLP_SETUP, 1, 2, 1000);
	sends(DLP_POLL);
	answer_poll(DLP_SETUP, 0, 12);
	wait();
	over("no session with all its workers after 3.0 s; "
	    "without workers 2 3");
	fresh(false, false);
	dlp_worker_start(&w, 2, now);
	opens();
	gradient(1, 1);
	while (w.ask.out.state != DLP_POLL)
		dlp_worker_next(&w, now += MS);
	answer_poll(DLP_LEARNING, 0, 8);
	wait();
	over("no result of step 0 after 3.0 s; without worker 3");
	fresh(false, false);
	dlp_worker_start(&w, 2, now);
	sends(DLP_SETUP);
	hears(DLP_SETUP, 1, 2, 1000);
	sends(DLP_POLL);
	dlp_worker_receive(&w, &(struct dlp){ .state = DLP_SETUP,
	    .node_count = 3 }, now);
	wait();
	over("no session with all its workers after 3.0 s; last heard: state 1 "
	    "(SETUP), step 0, 3 of 4 workers");
	fresh(false, false);
	dlp_worker_start(&w, 2, now);
	opens();
	now += 100 * SECOND;
	ok(!dlp_worker_next(&w, now) && w.end == DLP_WORKER_GOING,
	    "it may wait for a gradient for ever");
	gradient(1, 1);
	since = now;
	while (w.end == DLP_WORKER_GOING && now < since + 60 * SECOND) {
		dlp_worker_next(&w, now);
		now += MS;
	}
	over("no result of step 0 after 3.0 s; nothing was heard");
}

/* More than six elements, to innet's aggregator and to a published one. */
static void
test_long(void)
{
	struct dlp d = { .state = DLP_LEARNING, .node_count = 4, .more = 2,
	    .param = { [7] = 150 } };

	fresh(false, false);
	dlp_worker_start(&w, 8, now);
	w.vec[7] = 0.5f;
	gradient(1, 1);
	ok(opens() && sends(DLP_LEARNING) && w.ask.out.more == 2 &&
	    w.ask.out.param[7] == 50, "all of them leave");
	ok(hears(DLP_LEARNING, 0, 1, 1) == DLP_ASK_IGNORED &&
	    dlp_worker_receive(&w, &d, now) == DLP_ASK_RESULT && near(7, 1.5f),
	    "and come back, not less");
	gradient(1, 1);
	sends(DLP_LEARNING);
	ok(hears(DLP_ERROR, 1, 7, 0) == DLP_ASK_REFUSED, "another length");
	over("the session's vectors have 7 elements, not 8");
	fresh(false, false);
	dlp_worker_start(&w, 8, now);
	gradient(1, 1);
	sends(DLP_SETUP);
	hears(DLP_SETUP, 1, 2, 1000);
	sends(DLP_POLL);
	answer_poll(DLP_LEARNING, 0, 0);
	over("a published aggregator takes 6 elements, not 8");
}

int
main(void)
{
	test_session();
	test_ends();
	test_long();
	return tap_end();
}
