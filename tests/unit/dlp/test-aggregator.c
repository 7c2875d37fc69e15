/*
 * Test the aggregator of a DLP session: every rule of innet-dlp(7), packet by
 * packet.
 */
#include <stdlib.h>

#include "common/base/rng.h"
#include "common/dlp/aggregator.h"
#include "tests/unit/tap.h"

static struct dlp_aggregator job;
static struct dlp_aggregator_out out;
static uint64_t now;

/* Return the address of worker w, which has its own port. */
static struct dlp_aggregator_peer
worker(unsigned w)
{
	struct dlp_aggregator_peer p;

	memset(&p, 0, sizeof(p));
	p.at.in.sin_family = p.to.in.sin_family = AF_INET;
	p.at.in.sin_port = htons((uint16_t)(5000 + w));
	p.at.in.sin_addr.s_addr = p.to.in.sin_addr.s_addr = htonl(0x7f000001);
	p.to.in.sin_port = htons(DLP_SWITCH_PORT);
	return p;
}

/* Deliver a packet of worker w; its answers are in out. */
static void
send_packet(unsigned w, uint8_t state, uint8_t nodes, uint32_t step, int32_t v)
{
	static struct dlp_aggregator_peer from[64];
	const struct dlp d = { .state = state, .node_count = nodes,
	    .step = step, .param = { v, -v, 2 * v, 0, v == 0 ? 0 : 7, v } };
	uint8_t bytes[DLP_BYTES];

	from[w] = worker(w);
	dlp_put(bytes, &d);
	dlp_aggregator_receive(&job, bytes, DLP_BYTES, &from[w], &out, now);
}

/*
 * Is there exactly one answer, to worker w, with this head and first parameter?
 */
static bool
is_answered(unsigned w, uint8_t state, uint8_t nodes, uint32_t step, int32_t v)
{
	const struct dlp_aggregator_peer p = worker(w);

	return out.n == 1 && addr_same(&out.to[0]->at, &p.at) &&
	    addr_same(&out.to[0]->to, &p.to) && out.d.state == state &&
	    out.d.node_count == nodes && out.d.step == step &&
	    out.d.param[0] == v;
}

static void
start_session(enum dlp_aggregator_as as, bool median, bool late, uint8_t nodes,
    int32_t iterations)
{
	const struct dlp_aggregator_conf cf = { .as = as, .median = median,
	    .late = late, .session = { .nodes = nodes,
	    .param = { iterations } } };

	dlp_aggregator_init(&job, &cf);
	if (as == DLP_AGGREGATOR_SWITCH)
		send_packet(0, DLP_CONFIGURE, 0, 0, 0);
}

/* Start a session with n workers, up to LEARNING. */
static void
start_learning(enum dlp_aggregator_as as, bool median, bool late, uint8_t n,
    int32_t iterations)
{
	start_session(as, median, late, n, iterations);
	for (unsigned w = 0; w < n; w++)
		send_packet(w, DLP_SETUP, 1, 0, 0);
}

static void
test_defaults(void)
{
	static const int32_t usual[] = { 100, 1000, 200, 1, 1, 1000 };

	start_session(DLP_AGGREGATOR_SWITCH, false, false, 0, 0);
	ok(job.state == DLP_SETUP && job.session.nodes == 5 &&
	    memcmp(job.session.param, usual, sizeof(usual)) == 0,
	    "CONFIGURE with zeros selects the defaults, with five workers");
	start_session(DLP_AGGREGATOR_SERVER, false, false, 0, 0);
	ok(job.state == DLP_SETUP && job.session.nodes == 5 &&
	    job.session.param[DLP_ETA_SCALE] == 1 &&
	    job.session.param[DLP_SCALE] == 1000,
	    "a server begins in SETUP, and its eta*scale is 1");
	start_session(DLP_AGGREGATOR_SWITCH, false, false, 32, 7);
	ok(job.session.nodes == 32 && job.session.param[0] == 7,
	    "the caller can choose other defaults");
}

static void
test_states(void)
{
	const struct dlp_aggregator_conf cf = { 0 };

	dlp_aggregator_init(&job, &cf);
	for (unsigned s = 0; s < 256; s++) {
		if (s == DLP_RESET || s == DLP_CONFIGURE)
			continue;
		send_packet(3, (uint8_t)s, 9, 77, 5);
		if (!is_answered(3, DLP_WAITING, 9, 0, 5) ||
		    out.d.param[1] != -5 || out.d.param[4] != 7)
			ok(false, "state %u in WAITING is echoed", s);
	}
	ok(job.n[DLP_AGGREGATOR_POLLED] == 254,
	    "any other state is answered with the packet and the current state "
	    "and step");
	send_packet(3, DLP_CONFIGURE, 2, 0, 0);
	ok(is_answered(3, DLP_CONFIGURE, 2, 0, 100) && job.state == DLP_SETUP,
	    "CONFIGURE is answered with the settings, and then the state is "
	    "SETUP");
	send_packet(3, DLP_LEARNING, 1, 4, 8);
	ok(is_answered(3, DLP_SETUP, 1, 0, 8), "a gradient in SETUP is "
	    "answered with the current state");
	send_packet(1, DLP_SETUP, 1, 0, 0);
	send_packet(2, DLP_SETUP, 1, 0, 0);
	send_packet(1, DLP_LEARNING, 1, 0, 1);
	send_packet(2, DLP_LEARNING, 1, 0, 1);
	send_packet(9, DLP_POLL, 1, 0, 3);
	ok(is_answered(9, DLP_LEARNING, 1, 1, 3),
	    "a poll with state 10 in LEARNING is answered with state and step");
	send_packet(9, DLP_SETUP, 1, 0, 0);
	ok(is_answered(9, DLP_LEARNING, 1, 1, 0),
	    "SETUP from an unknown worker in LEARNING is answered with state "
	    "and step");
	send_packet(9, DLP_CONFIGURE, 3, 0, 0);
	ok(is_answered(9, DLP_LEARNING, 3, 1, 0) && job.session.nodes == 2,
	    "CONFIGURE does not end a session that learns");
	send_packet(9, DLP_RESET, 1, 8, 6);
	ok(is_answered(9, DLP_WAITING, 1, 0, 6) && job.now.n == 0,
	    "RESET ends a session that learns: step 0, state WAITING");
	send_packet(1, DLP_LEARNING, 1, 0, 1);
	ok(is_answered(1, DLP_WAITING, 1, 0, 1),
	    "after RESET, the aggregate of the last step is gone");
}

static void
test_configure(void)
{
	const struct dlp_aggregator_conf cf = { 0 };

	dlp_aggregator_init(&job, &cf);
	send_packet(1, DLP_CONFIGURE, 33, 0, 0);
	ok(is_answered(1, DLP_ERROR, 33, 0, 0) && job.state == DLP_WAITING,
	    "CONFIGURE for 33 workers is refused with ERROR");
	send_packet(1, DLP_CONFIGURE, 2, 0, 1);
	ok(is_answered(1, DLP_ERROR, 2, 0, 1) &&
		job.n[DLP_AGGREGATOR_REFUSED] == 2,
	    "CONFIGURE with a negative setting is refused");
	send_packet(1, DLP_CONFIGURE, 3, 0, 0);
	send_packet(1, DLP_SETUP, 1, 0, 0);
	send_packet(1, DLP_CONFIGURE, 3, 0, 0);
	ok(job.now.n == 1 && is_answered(1, DLP_CONFIGURE, 3, 1, 100),
	    "CONFIGURE with the same settings changes nothing; step is the "
	    "number of workers so far");
	send_packet(1, DLP_CONFIGURE, 4, 0, 0);
	ok(job.now.n == 0 && job.session.nodes == 4,
	    "CONFIGURE with other settings starts again");
}

static void
test_setup(void)
{
	start_session(DLP_AGGREGATOR_SWITCH, false, false, 3, 0);
	send_packet(7, DLP_SETUP, 1, 9, 5);
	ok(is_answered(7, DLP_SETUP, 3, 0, 100) && out.d.param[1] == 1000 &&
	    out.d.param[2] == 200 && out.d.param[3] == 1 &&
	    out.d.param[4] == 1 && out.d.param[5] == 1000,
	    "SETUP is answered with node count, index 0 and the six settings");
	send_packet(4, DLP_SETUP, 1, 0, 0);
	ok(is_answered(4, DLP_SETUP, 3, 1, 100), "the next worker has index 1");
	send_packet(7, DLP_SETUP, 1, 0, 0);
	ok(is_answered(7, DLP_SETUP, 3, 0, 100) && job.now.n == 2 &&
	    job.n[DLP_AGGREGATOR_SETUP_AGAIN] == 1,
	    "a repeated SETUP gets the same answer");
	send_packet(5, DLP_SETUP, 1, 0, 0);
	ok(is_answered(5, DLP_SETUP, 3, 2, 100) && job.state == DLP_LEARNING &&
	    job.step == 0, "after the last SETUP the state is LEARNING at step "
	    "0");
	send_packet(5, DLP_SETUP, 1, 0, 0);
	ok(is_answered(5, DLP_SETUP, 3, 2, 100),
	    "the last worker can repeat its SETUP");
	send_packet(5, DLP_LEARNING, 1, 0, 1);
	send_packet(5, DLP_SETUP, 1, 0, 0);
	ok(is_answered(5, DLP_LEARNING, 1, 0, 0),
	    "a worker that has sent a gradient cannot repeat its SETUP");
}

/*
 * Send a poll of worker w as innet does; return the last parameter of the
 * answer.
 */
static uint32_t
poll_missing(unsigned w)
{
	static struct dlp_aggregator_peer from;
	struct dlp d = { .state = DLP_POLL, .node_count = 1 };
	uint8_t bytes[DLP_BYTES];

	from = worker(w);
	dlp_poll_put(d.param);
	dlp_put(bytes, &d);
	dlp_aggregator_receive(&job, bytes, DLP_BYTES, &from, &out, now);
	return out.n == 1 && dlp_is_poll(&out.d) ?
	    (uint32_t)out.d.param[DLP_PARAMS - 1] : UINT32_MAX;
}

static void
test_polls(void)
{
	start_session(DLP_AGGREGATOR_SWITCH, false, false, 3, 0);
	send_packet(1, DLP_SETUP, 1, 0, 0);
	ok(poll_missing(1) == 6 && out.d.state == DLP_SETUP,
	    "the answer to a poll of innet says which places are free");
	ok(poll_missing(2) == 0 && out.d.state == DLP_WAITING,
	    "a worker without a place gets WAITING");
	send_packet(2, DLP_SETUP, 1, 0, 0);
	send_packet(3, DLP_SETUP, 1, 0, 0);
	send_packet(2, DLP_LEARNING, 1, 0, 5);
	ok(poll_missing(2) == 5 && out.d.state == DLP_LEARNING,
	    "the answer to a poll of innet says whose gradients are missing");
	ok(poll_missing(4) == 0 && out.d.state == DLP_WAITING,
	    "an unknown worker does not get that answer");
	send_packet(4, DLP_RESET, 1, 0, 0);
	ok(poll_missing(2) == 0 && out.d.state == DLP_WAITING,
	    "no worker gets that answer after RESET");
}

static void
test_steps(void)
{
	start_learning(DLP_AGGREGATOR_SWITCH, false, false, 3, 2);
	send_packet(1, DLP_LEARNING, 1, 0, 10);
	ok(out.n == 0, "a gradient gets no answer while others are missing");
	send_packet(1, DLP_LEARNING, 1, 0, 99);
	ok(out.n == 0 && job.n[DLP_AGGREGATOR_REPEATED] == 1,
	    "a repeated gradient is ignored and counted");
	send_packet(1, DLP_LEARNING, 1, 1, 10);
	ok(is_answered(1, DLP_WRONG_STEP, 1, 0, 10),
	    "a gradient for another step is answered WRONG_STEP with the "
	    "current step");
	send_packet(8, DLP_LEARNING, 1, 0, 10);
	ok(out.n == 0 && job.n[DLP_AGGREGATOR_FOREIGN] == 1,
	    "a gradient of a worker without a place is not added");
	send_packet(2, DLP_LEARNING, 1, 0, -3);
	send_packet(0, DLP_LEARNING, 1, 0, 4);
	ok(out.n == 3 && out.d.state == DLP_LEARNING && out.d.step == 0 &&
	    out.d.node_count == 3 && out.d.param[0] == 11 &&
	    out.d.param[1] == -11 && out.d.param[2] == 22 &&
	    out.d.param[4] == 21, "after the last gradient, all workers get "
	    "the sum, the step and node count N");
	ok(addr_port(&out.to[0]->at) == 5001 && addr_port(&out.to[1]->at) ==
	    5002 && addr_port(&out.to[2]->at) == 5000,
	    "the sum goes out in the order in which the gradients arrived");
	send_packet(2, DLP_LEARNING, 1, 0, -3);
	ok(is_answered(2, DLP_LEARNING, 3, 0, 11) &&
	    job.n[DLP_AGGREGATOR_FINISHED] == 1,
	    "a gradient for the previous step gets the aggregate of that step "
	    "again");
	send_packet(8, DLP_LEARNING, 1, 0, -3);
	ok(out.n == 0, "a worker without a place does not get the aggregate");
	send_packet(2, DLP_LEARNING, 1, 1, 1);
	send_packet(2, DLP_LEARNING, 1, 0, -3);
	ok(is_answered(2, DLP_LEARNING, 3, 0, 11),
	    "a worker gets the aggregate again also after it has sent the next "
	    "gradient");
	send_packet(1, DLP_LEARNING, 1, 1, 1);
	send_packet(0, DLP_LEARNING, 1, 1, 1);
	ok(out.n == 3 && out.d.step == 1 && out.d.param[0] == 3 &&
	    job.state == DLP_WAITING && job.step == 0,
	    "after the last step the state is WAITING");
	send_packet(0, DLP_LEARNING, 1, 1, 1);
	ok(is_answered(0, DLP_LEARNING, 3, 1, 3),
	    "the aggregate of the last step can be requested");
	send_packet(0, DLP_LEARNING, 1, 0, 1);
	ok(is_answered(0, DLP_WAITING, 1, 0, 1),
	    "another aggregate cannot be requested");
	send_packet(0, DLP_CONFIGURE, 3, 0, 0);
	send_packet(1, DLP_SETUP, 3, 0, 0);
	send_packet(0, DLP_LEARNING, 1, 1, 1);
	ok(is_answered(0, DLP_LEARNING, 3, 1, 3),
	    "the last aggregate is available until the next session learns");
	send_packet(0, DLP_SETUP, 3, 0, 0);
	send_packet(2, DLP_SETUP, 3, 0, 0);
	send_packet(0, DLP_LEARNING, 1, 1, 1);
	ok(is_answered(0, DLP_WRONG_STEP, 1, 0, 1) &&
	    job.n[DLP_AGGREGATOR_SESSIONS] == 1 &&
	    job.n[DLP_AGGREGATOR_STEPS] == 2, "another session can start");
}

/* Test three workers, with 50 ms for the last of them. */
static void
straggle(bool median, bool late, uint8_t n)
{
	const struct dlp_aggregator_conf cf = { .median = median,
	    .late = late, .straggler_ns = 50, .session = { .nodes = n } };

	dlp_aggregator_init(&job, &cf);
	send_packet(0, DLP_CONFIGURE, 0, 0, 0);
	for (unsigned w = 0; w < n; w++)
		send_packet(w, DLP_SETUP, 1, 0, 0);
	now = 1000;
}

static void
test_stragglers(void)
{
	straggle(false, false, 3);
	ok(dlp_aggregator_deadline_ns(&job) == DLP_AGGREGATOR_NEVER,
	    "a step without a gradient has no deadline");
	send_packet(2, DLP_LEARNING, 1, 0, 10);
	now += 20;
	send_packet(0, DLP_LEARNING, 1, 0, 15);
	ok(dlp_aggregator_deadline_ns(&job) == 1050 &&
	    dlp_aggregator_run_timer(&job, 1049, &out) == 0,
	    "the time of a step counts from its first gradient");
	ok(dlp_aggregator_run_timer(&job, 1050, &out) == 2 && out.d.step == 0 &&
	    out.d.node_count == 2 && out.d.param[0] == 38 &&
	    out.d.param[1] == -38 && job.n[DLP_AGGREGATOR_PARTIAL] == 1 &&
	    job.left_out == 2 && job.now.member[1].missed == 1,
	    "at the deadline, the workers that sent get three times the mean");
	send_packet(1, DLP_LEARNING, 1, 0, 99);
	ok(is_answered(1, DLP_LEARNING, 2, 0, 38) && job.counted == 0,
	    "a late worker gets the same result, and its gradient is not "
	    "added");
	for (uint32_t t = 1; t < 40; t++) {
		send_packet(0, DLP_LEARNING, 1, t, (int32_t)t);
		dlp_aggregator_run_timer(&job, now += 50, &out);
	}
	send_packet(1, DLP_LEARNING, 1, 1, 99);
	ok(is_answered(1, DLP_LEARNING, 1, 1, 3),
	    "a worker many steps behind gets the result too");
	ok(job.now.member[1].missed == 40 && job.now.member[2].missed == 39,
	    "missed steps are counted for each worker");
	straggle(false, true, 3);
	send_packet(1, DLP_LEARNING, 1, 0, 10);
	dlp_aggregator_run_timer(&job, now += 50, &out);
	ok(out.n == 0, "a late first gradient gets no answer at once");
	send_packet(1, DLP_LEARNING, 1, 1, 10);
	ok(is_answered(1, DLP_LEARNING, 3, 1, 30),
	    "a late worker gets the result with the next step");
	send_packet(2, DLP_LEARNING, 1, 0, 10);
	ok(is_answered(2, DLP_LEARNING, 3, 0, 0),
	    "a worker that is behind gets zeros");
}

static void
test_straggling_medians(void)
{
	straggle(true, false, 5);
	send_packet(0, DLP_LEARNING, 1, 0, 1);
	send_packet(1, DLP_LEARNING, 1, 0, 1000000000);
	ok(dlp_aggregator_run_timer(&job, 1050, &out) == 0 &&
		job.n[DLP_AGGREGATOR_TOO_FEW] == 1 &&
		dlp_aggregator_deadline_ns(&job) == 1100,
	    "two of five gradients have no median");
	send_packet(2, DLP_LEARNING, 1, 0, 3);
	ok(dlp_aggregator_run_timer(&job, 1100, &out) == 3 &&
	    out.d.param[0] == 6 && out.d.node_count == 3,
	    "three of five gradients have a median");
	straggle(true, false, 2);
	send_packet(0, DLP_LEARNING, 1, 0, 1);
	send_packet(1, DLP_LEARNING, 1, 0, 8);
	ok(out.n == 2 && out.d.param[0] == 9, "in a session of two workers, "
	    "two gradients have a median");
}

static void
test_late(enum dlp_aggregator_as as)
{
	const bool server = as == DLP_AGGREGATOR_SERVER;
	const char *who = server ? "server" : "switch";

	start_learning(as, false, true, 2, 3);
	send_packet(1, DLP_LEARNING, 1, 0, 10);
	ok(is_answered(1, DLP_LEARNING, server ? 1 : 2, 0, 0),
	    "%s, late: the first gradient of step 0 gets zeros at once", who);
	send_packet(1, DLP_LEARNING, 1, 0, 10);
	ok(is_answered(1, DLP_LEARNING, server ? 1 : 2, 0, 0) &&
	    job.n[DLP_AGGREGATOR_REPEATED] == 1,
	    "%s, late: a repeated gradient gets zeros again",
	    who);
	send_packet(1, DLP_LEARNING, 1, 1, 10);
	ok(is_answered(1, DLP_WRONG_STEP, server ? 0 : 1, 0, server ? 0 : 10),
	    "%s, late: a gradient for the next step is too early", who);
	send_packet(0, DLP_LEARNING, 1, 0, 5);
	ok(is_answered(0, DLP_LEARNING, 2, 0, 0),
	    "%s, late: the last gradient of step 0 gets zeros too", who);
	send_packet(0, DLP_LEARNING, 1, 1, 1);
	ok(is_answered(0, DLP_LEARNING, server ? 1 : 2, 1, 15),
	    "%s, late: a gradient of step 1 gets the aggregate of step 0", who);
	send_packet(1, DLP_LEARNING, 1, 0, 10);
	ok(is_answered(1, DLP_LEARNING, server ? 1 : 2, 0, 0),
	    "%s, late: a gradient of the previous step gets its own answer "
	    "again", who);
	send_packet(1, DLP_LEARNING, 1, 1, 2);
	ok(is_answered(1, DLP_LEARNING, 2, 1, 15),
	    "%s, late: both workers get the same aggregate",
	    who);
	send_packet(0, DLP_LEARNING, 1, 1, 1);
	ok(is_answered(0, DLP_LEARNING, server ? 1 : 2, 1, 15),
	    "%s, late: a repeated gradient gets the same node count", who);
	send_packet(0, DLP_LEARNING, 1, 2, 1);
	send_packet(1, DLP_LEARNING, 1, 2, 1);
	ok(is_answered(1, DLP_LEARNING, 2, 2, 3) && job.state == DLP_WAITING,
	    "%s, late: the last answer is the aggregate of the last step but "
	    "one", who);
	send_packet(1, DLP_LEARNING, 1, 2, 1);
	ok(is_answered(1, DLP_LEARNING, 2, 2, 3),
	    "%s, late: a repeated gradient gets the last answer again", who);
}

static void
test_server(void)
{
	start_session(DLP_AGGREGATOR_SERVER, false, false, 2, 1);
	send_packet(0, DLP_POLL, 1, 7, 0);
	ok(is_answered(0, DLP_SETUP, 0, 0, 0),
	    "server: a poll in SETUP says that no worker has joined");
	send_packet(0, DLP_SETUP, 1, 0, 0);
	send_packet(0, DLP_POLL, 1, 7, 0);
	ok(is_answered(0, DLP_SETUP, 1, 0, 0), "server: a poll in SETUP says "
	    "that one worker has joined");
	send_packet(1, DLP_SETUP, 1, 0, 0);
	send_packet(1, DLP_POLL, 1, 7, 0);
	ok(is_answered(1, DLP_LEARNING, 0, 0, 0),
	    "server: a poll in LEARNING says that no gradient has arrived");
	send_packet(0, DLP_LEARNING, 1, 0, 3);
	send_packet(1, DLP_POLL, 1, 7, 0);
	ok(is_answered(1, DLP_LEARNING, 1, 0, 0),
	    "server: a poll in LEARNING says that one gradient has arrived");
	send_packet(1, DLP_LEARNING, 1, 1, 3);
	ok(is_answered(1, DLP_WRONG_STEP, 0, 0, 0) && out.d.param[1] == 0 &&
	    out.d.param[4] == 0 && out.d.param[5] == 0,
	    "server: WRONG_STEP has 29 zero bytes");
	send_packet(1, DLP_LEARNING, 1, 0, 4);
	ok(out.n == 2 && out.d.param[0] == 7, "server: both workers get the "
	    "sum");
	send_packet(1, DLP_SETUP, 1, 0, 0);
	ok(out.n == 0 && job.n[DLP_AGGREGATOR_NOT_OPEN] == 1,
	    "server: SETUP after the last step gets no answer");
	send_packet(1, DLP_POLL, 1, 0, 0);
	ok(is_answered(1, DLP_WAITING, 0, 0, 0),
	    "server: a poll after the last step gets an answer");
	send_packet(1, DLP_RESET, 1, 0, 0);
	ok(is_answered(1, DLP_SETUP, 0, 0, 0),
	    "server: RESET starts again in SETUP");
	send_packet(1, DLP_CONFIGURE, 9, 0, 0);
	ok(is_answered(1, DLP_CONFIGURE, 9, 0, 1) && job.session.nodes == 9,
	    "server: CONFIGURE in SETUP is accepted");
}

static int
by_value(const void *a, const void *b)
{
	const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

	return (x > y) - (x < y);
}

/* Reduce N values by the job, and compare with a sort. */
static bool
median_is_sorting(uint8_t n, struct rng *rng, int32_t range)
{
	int32_t v[DLP_NODES_MAX];

	start_learning(DLP_AGGREGATOR_SWITCH, true, false, n, 1);
	for (unsigned w = 0; w < n; w++) {
		v[w] = (int32_t)rng_below(rng, 2 * (uint64_t)range + 1) -
		    range;
		send_packet(w, DLP_LEARNING, 1, 0, v[w]);
	}
	qsort(v, n, sizeof(*v), by_value);
	return out.n == n && out.d.param[0] == (n % 2 == 1 ? 2 * v[n / 2] :
	    v[n / 2 - 1] + v[n / 2]);
}

static void
test_median(void)
{
	struct rng rng = rng_seed(1);

	for (uint8_t n = 1; n <= DLP_NODES_MAX; n++) {
		bool good = true;

		for (int k = 0; k < 50; k++)
			good = good && median_is_sorting(n, &rng, k % 2 == 0 ?
			    3 : 1000000);
		ok(good, "twice the median of %u values equals that of a "
		    "sort", n);
	}
}

static void
test_saturation(void)
{
	start_learning(DLP_AGGREGATOR_SWITCH, false, false, 2, 2);
	send_packet(0, DLP_LEARNING, 1, 0, 1073741823);
	send_packet(1, DLP_LEARNING, 1, 0, 1073741823);
	ok(out.d.param[0] == INT32_MAX - 1 && out.d.param[2] == INT32_MAX &&
	    job.n[DLP_AGGREGATOR_SATURATED] == 1,
	    "a sum out of range is clamped and counted, and a sum at the limit "
	    "is exact");
	start_learning(DLP_AGGREGATOR_SWITCH, true, false, 1, 2);
	send_packet(0, DLP_LEARNING, 1, 0, -1073741823);
	ok(out.d.param[0] == INT32_MIN + 2 && out.d.param[2] == INT32_MIN &&
	    job.n[DLP_AGGREGATOR_SATURATED] == 1,
	    "twice a median out of range is clamped");
}

static void
test_lengths(void)
{
	const struct dlp_aggregator_peer p = worker(0);
	const uint8_t bytes[DLP_BYTES + 1] = { DLP_POLL };

	start_session(DLP_AGGREGATOR_SWITCH, false, false, 1, 1);
	ok(dlp_aggregator_receive(&job, bytes, 29, &p, &out, 0) == 0 &&
	    dlp_aggregator_receive(&job, bytes, 31, &p, &out, 0) == 0 &&
	    dlp_aggregator_receive(&job, bytes, 0, &p, &out, 0) == 0 &&
	    out.n == 0 &&
	    job.n[DLP_AGGREGATOR_SHORT] == 2 && job.n[DLP_AGGREGATOR_LONG] == 1,
	    "a packet that has not 30 bytes is counted and not answered");
}

/* Worker w sends n elements: v and then multiples of it. */
static void
send_vector(unsigned w, uint32_t step, uint32_t n, int32_t v)
{
	static struct dlp_aggregator_peer from[64];
	struct dlp d = { .state = DLP_LEARNING, .node_count = 1,
	    .step = step, .more = (uint16_t)(n - DLP_PARAMS) };
	uint8_t bytes[DLP_BYTES_MAX];

	for (uint32_t i = 0; i < n; i++)
		d.param[i] = v * (int32_t)(i + 1);
	from[w] = worker(w);
	dlp_aggregator_receive(&job, bytes, dlp_put(bytes, &d), &from[w], &out,
	    now);
}

/* Does the aggregate in out have n elements that are multiples of v? */
static bool
result_is(uint32_t n, int32_t v)
{
	bool good = out.n > 0 && out.d.state == DLP_LEARNING &&
	    dlp_elements(&out.d) == n;

	for (uint32_t i = 0; i < n && good; i++)
		good = out.d.param[i] == v * (int32_t)(i + 1);
	return good;
}

static void
test_vectors(void)
{
	start_learning(DLP_AGGREGATOR_SWITCH, false, false, 2, 3);
	send_vector(0, 0, 366, 10);
	send_vector(1, 0, 366, -3);
	ok(out.n == 2 && result_is(366, 7),
	    "long vectors are summed completely");
	send_vector(0, 1, 7, 1);
	ok(is_answered(0, DLP_ERROR, 2, 1, 366) && job.counted == 0 &&
	    job.n[DLP_AGGREGATOR_MISMATCHED] == 1,
	    "a vector of another length is answered ERROR with the right "
	    "length and is not added");
	send_vector(0, 2, 366, 1);
	ok(out.d.state == DLP_WRONG_STEP && dlp_elements(&out.d) == 6,
	    "an echo has six elements");
	send_vector(1, 0, 366, 1);
	ok(result_is(366, 7), "the aggregate of the previous step comes again "
	    "completely");
	send_packet(0, DLP_RESET, 0, 0, 0);
	start_learning(DLP_AGGREGATOR_SWITCH, true, false, 3, 1);
	send_vector(0, 0, 100, 5);
	send_vector(1, 0, 100, -9);
	send_vector(2, 0, 100, 1);
	ok(out.n == 3 && result_is(100, 2),
	    "another session may have another length, here with twice its "
	    "median");
	send_vector(2, 0, 100, 1);
	send_packet(0, DLP_CONFIGURE, 1, 0, 0);
	send_vector(1, 0, 100, 1);
	ok(result_is(100, 2), "the last aggregate keeps its length in SETUP of "
	    "the next session");
	start_learning(DLP_AGGREGATOR_SERVER, false, true, 2, 2);
	send_vector(1, 0, 50, 4);
	ok(result_is(50, 0), "late: zeros have the length of the gradient");
	send_vector(0, 0, 50, 4);
	send_vector(0, 1, 50, 1);
	ok(result_is(50, 8), "late: then the aggregate of the previous step "
	    "comes");
}

int
main(void)
{
	test_defaults();
	test_states();
	test_configure();
	test_setup();
	test_polls();
	test_steps();
	test_stragglers();
	test_straggling_medians();
	test_late(DLP_AGGREGATOR_SWITCH);
	test_late(DLP_AGGREGATOR_SERVER);
	test_server();
	test_median();
	test_saturation();
	test_lengths();
	test_vectors();
	return tap_end();
}
