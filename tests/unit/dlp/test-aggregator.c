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

/* Worker w, at a port of its own. */
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

/* Worker w sends; what comes back is in out. */
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

/* Is it one answer, to worker w, with this head and first parameter? */
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

/* A session in LEARNING with n workers. */
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
	    "CONFIGURE with zeros: the defaults, five workers");
	start_session(DLP_AGGREGATOR_SERVER, false, false, 0, 0);
	ok(job.state == DLP_SETUP && job.session.nodes == 5 &&
	    job.session.param[DLP_ETA_SCALE] == 1 &&
	    job.session.param[DLP_SCALE] == 1000,
	    "a server begins in SETUP; its eta*scale is 1");
	start_session(DLP_AGGREGATOR_SWITCH, false, false, 32, 7);
	ok(job.session.nodes == 32 && job.session.param[0] == 7,
	    "defaults of one's own");
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
			ok(false, "state %u is echoed in WAITING", s);
	}
	ok(job.n[DLP_AGGREGATOR_POLLED] == 254,
	    "any other state is answered with the "
	    "packet, its state and step the current ones");
	send_packet(3, DLP_CONFIGURE, 2, 0, 0);
	ok(is_answered(3, DLP_CONFIGURE, 2, 0, 100) && job.state == DLP_SETUP,
	    "CONFIGURE is answered with the settings, and the state is SETUP");
	send_packet(3, DLP_LEARNING, 1, 4, 8);
	ok(is_answered(3, DLP_SETUP, 1, 0, 8), "a gradient in SETUP: likewise");
	send_packet(1, DLP_SETUP, 1, 0, 0);
	send_packet(2, DLP_SETUP, 1, 0, 0);
	send_packet(1, DLP_LEARNING, 1, 0, 1);
	send_packet(2, DLP_LEARNING, 1, 0, 1);
	send_packet(9, DLP_POLL, 1, 0, 3);
	ok(is_answered(9, DLP_LEARNING, 1, 1, 3),
	    "a poll with 10 in LEARNING: the "
	    "state and the step");
	send_packet(9, DLP_SETUP, 1, 0, 0);
	ok(is_answered(9, DLP_LEARNING, 1, 1, 0), "SETUP of a stranger too");
	send_packet(9, DLP_CONFIGURE, 3, 0, 0);
	ok(is_answered(9, DLP_LEARNING, 3, 1, 0) && job.session.nodes == 2,
	    "CONFIGURE does not break a session that learns");
	send_packet(9, DLP_RESET, 1, 8, 6);
	ok(is_answered(9, DLP_WAITING, 1, 0, 6) && job.now.n == 0,
	    "RESET does: step 0, state WAITING");
	send_packet(1, DLP_LEARNING, 1, 0, 1);
	ok(is_answered(1, DLP_WAITING, 1, 0, 1),
	    "and what was finished is gone");
}

static void
test_configure(void)
{
	const struct dlp_aggregator_conf cf = { 0 };

	dlp_aggregator_init(&job, &cf);
	send_packet(1, DLP_CONFIGURE, 33, 0, 0);
	ok(is_answered(1, DLP_ERROR, 33, 0, 0) && job.state == DLP_WAITING,
	    "33 workers are refused with ERROR");
	send_packet(1, DLP_CONFIGURE, 2, 0, 1);
	ok(is_answered(1, DLP_ERROR, 2, 0, 1) &&
		job.n[DLP_AGGREGATOR_REFUSED] == 2,
	    "so is a negative setting");
	send_packet(1, DLP_CONFIGURE, 3, 0, 0);
	send_packet(1, DLP_SETUP, 1, 0, 0);
	send_packet(1, DLP_CONFIGURE, 3, 0, 0);
	ok(job.now.n == 1 && is_answered(1, DLP_CONFIGURE, 3, 1, 100),
	    "the same again changes nothing; step says how many have come");
	send_packet(1, DLP_CONFIGURE, 4, 0, 0);
	ok(job.now.n == 0 && job.session.nodes == 4,
	    "other settings begin anew");
}

static void
test_setup(void)
{
	start_session(DLP_AGGREGATOR_SWITCH, false, false, 3, 0);
	send_packet(7, DLP_SETUP, 1, 9, 5);
	ok(is_answered(7, DLP_SETUP, 3, 0, 100) && out.d.param[1] == 1000 &&
	    out.d.param[2] == 200 && out.d.param[3] == 1 &&
	    out.d.param[4] == 1 && out.d.param[5] == 1000,
	    "SETUP: node count, index 0, the six settings");
	send_packet(4, DLP_SETUP, 1, 0, 0);
	ok(is_answered(4, DLP_SETUP, 3, 1, 100), "the next one has index 1");
	send_packet(7, DLP_SETUP, 1, 0, 0);
	ok(is_answered(7, DLP_SETUP, 3, 0, 100) && job.now.n == 2 &&
	    job.n[DLP_AGGREGATOR_SETUP_AGAIN] == 1,
	    "a repeat gets its own again");
	send_packet(5, DLP_SETUP, 1, 0, 0);
	ok(is_answered(5, DLP_SETUP, 3, 2, 100) && job.state == DLP_LEARNING &&
	    job.step == 0, "after the Nth: LEARNING at step 0");
	send_packet(5, DLP_SETUP, 1, 0, 0);
	ok(is_answered(5, DLP_SETUP, 3, 2, 100), "whose answer was lost, too");
	send_packet(5, DLP_LEARNING, 1, 0, 1);
	send_packet(5, DLP_SETUP, 1, 0, 0);
	ok(is_answered(5, DLP_LEARNING, 1, 0, 0),
	    "but not once it has learned");
}

/* Worker w polls as innet's do; the last parameter of the answer. */
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
	    "a poll of innet's hears which places are not taken");
	ok(poll_missing(2) == 0 && out.d.state == DLP_WAITING,
	    "one from who has no place, WAITING");
	send_packet(2, DLP_SETUP, 1, 0, 0);
	send_packet(3, DLP_SETUP, 1, 0, 0);
	send_packet(2, DLP_LEARNING, 1, 0, 5);
	ok(poll_missing(2) == 5 && out.d.state == DLP_LEARNING,
	    "and whose gradients have not come");
	ok(poll_missing(4) == 0 && out.d.state == DLP_WAITING,
	    "a stranger again not");
	send_packet(4, DLP_RESET, 1, 0, 0);
	ok(poll_missing(2) == 0 && out.d.state == DLP_WAITING,
	    "nor after RESET");
}

static void
test_steps(void)
{
	start_learning(DLP_AGGREGATOR_SWITCH, false, false, 3, 2);
	send_packet(1, DLP_LEARNING, 1, 0, 10);
	ok(out.n == 0, "a gradient waits for the others");
	send_packet(1, DLP_LEARNING, 1, 0, 99);
	ok(out.n == 0 && job.n[DLP_AGGREGATOR_REPEATED] == 1,
	    "a repeat within a step is ignored and counted");
	send_packet(1, DLP_LEARNING, 1, 1, 10);
	ok(is_answered(1, DLP_WRONG_STEP, 1, 0, 10),
	    "another step is answered WRONG_STEP with the current step");
	send_packet(8, DLP_LEARNING, 1, 0, 10);
	ok(out.n == 0 && job.n[DLP_AGGREGATOR_FOREIGN] == 1,
	    "who was not set up is not counted");
	send_packet(2, DLP_LEARNING, 1, 0, -3);
	send_packet(0, DLP_LEARNING, 1, 0, 4);
	ok(out.n == 3 && out.d.state == DLP_LEARNING && out.d.step == 0 &&
	    out.d.node_count == 3 && out.d.param[0] == 11 &&
	    out.d.param[1] == -11 && out.d.param[2] == 22 &&
	    out.d.param[4] == 21, "the Nth: the sum, to all N, with the step "
	    "finished and node count N");
	ok(addr_port(&out.to[0]->at) == 5001 && addr_port(&out.to[1]->at) ==
	    5002 && addr_port(&out.to[2]->at) == 5000, "in order of arrival");
	send_packet(2, DLP_LEARNING, 1, 0, -3);
	ok(is_answered(2, DLP_LEARNING, 3, 0, 11) &&
	    job.n[DLP_AGGREGATOR_FINISHED] == 1,
	    "a packet for the step just finished gets its aggregate again");
	send_packet(8, DLP_LEARNING, 1, 0, -3);
	ok(out.n == 0, "but not a stranger's");
	send_packet(2, DLP_LEARNING, 1, 1, 1);
	send_packet(2, DLP_LEARNING, 1, 0, -3);
	ok(is_answered(2, DLP_LEARNING, 3, 0, 11),
	    "also when it has sent the next");
	send_packet(1, DLP_LEARNING, 1, 1, 1);
	send_packet(0, DLP_LEARNING, 1, 1, 1);
	ok(out.n == 3 && out.d.step == 1 && out.d.param[0] == 3 &&
	    job.state == DLP_WAITING && job.step == 0,
	    "after the last step: WAITING");
	send_packet(0, DLP_LEARNING, 1, 1, 1);
	ok(is_answered(0, DLP_LEARNING, 3, 1, 3),
	    "whose result can be asked for");
	send_packet(0, DLP_LEARNING, 1, 0, 1);
	ok(is_answered(0, DLP_WAITING, 1, 0, 1), "and no other");
	send_packet(0, DLP_CONFIGURE, 3, 0, 0);
	send_packet(1, DLP_SETUP, 3, 0, 0);
	send_packet(0, DLP_LEARNING, 1, 1, 1);
	ok(is_answered(0, DLP_LEARNING, 3, 1, 3),
	    "until the next session learns");
	send_packet(0, DLP_SETUP, 3, 0, 0);
	send_packet(2, DLP_SETUP, 3, 0, 0);
	send_packet(0, DLP_LEARNING, 1, 1, 1);
	ok(is_answered(0, DLP_WRONG_STEP, 1, 0, 1) &&
	    job.n[DLP_AGGREGATOR_SESSIONS] == 1 &&
	    job.n[DLP_AGGREGATOR_STEPS] == 2, "a session more can begin");
}

/* Three workers, and 50 ms for the last of them. */
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
	    "a step that has not begun may last");
	send_packet(2, DLP_LEARNING, 1, 0, 10);
	now += 20;
	send_packet(0, DLP_LEARNING, 1, 0, 15);
	ok(dlp_aggregator_deadline_ns(&job) == 1050 &&
	    dlp_aggregator_run_timer(&job, 1049, &out) == 0,
	    "its time counts from the first gradient");
	ok(dlp_aggregator_run_timer(&job, 1050, &out) == 2 && out.d.step == 0 &&
	    out.d.node_count == 2 && out.d.param[0] == 38 &&
	    out.d.param[1] == -38 && job.n[DLP_AGGREGATOR_PARTIAL] == 1 &&
	    job.left_out == 2 && job.now.member[1].missed == 1,
	    "then those who came have three times their mean");
	send_packet(1, DLP_LEARNING, 1, 0, 99);
	ok(is_answered(1, DLP_LEARNING, 2, 0, 38) && job.counted == 0,
	    "who is late has it too, and adds nothing");
	for (uint32_t t = 1; t < 40; t++) {
		send_packet(0, DLP_LEARNING, 1, t, (int32_t)t);
		dlp_aggregator_run_timer(&job, now += 50, &out);
	}
	send_packet(1, DLP_LEARNING, 1, 1, 99);
	ok(is_answered(1, DLP_LEARNING, 1, 1, 3),
	    "and so who is many steps behind");
	ok(job.now.member[1].missed == 40 && job.now.member[2].missed == 39,
	    "they are counted by name");
	straggle(false, true, 3);
	send_packet(1, DLP_LEARNING, 1, 0, 10);
	dlp_aggregator_run_timer(&job, now += 50, &out);
	ok(out.n == 0, "late: nothing is sent");
	send_packet(1, DLP_LEARNING, 1, 1, 10);
	ok(is_answered(1, DLP_LEARNING, 3, 1, 30), "but with the next step");
	send_packet(2, DLP_LEARNING, 1, 0, 10);
	ok(is_answered(2, DLP_LEARNING, 3, 0, 0),
	    "late: who is behind gets zeros");
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
	    "no median of two of five");
	send_packet(2, DLP_LEARNING, 1, 0, 3);
	ok(dlp_aggregator_run_timer(&job, 1100, &out) == 3 &&
	    out.d.param[0] == 6 && out.d.node_count == 3, "but of three");
	straggle(true, false, 2);
	send_packet(0, DLP_LEARNING, 1, 0, 1);
	send_packet(1, DLP_LEARNING, 1, 0, 8);
	ok(out.n == 2 && out.d.param[0] == 9, "of two where there are two");
}

static void
test_late(enum dlp_aggregator_as as)
{
	const bool server = as == DLP_AGGREGATOR_SERVER;
	const char *who = server ? "server" : "switch";

	start_learning(as, false, true, 2, 3);
	send_packet(1, DLP_LEARNING, 1, 0, 10);
	ok(is_answered(1, DLP_LEARNING, server ? 1 : 2, 0, 0),
	    "%s, late: the first of step 0 gets zeros at once", who);
	send_packet(1, DLP_LEARNING, 1, 0, 10);
	ok(is_answered(1, DLP_LEARNING, server ? 1 : 2, 0, 0) &&
	    job.n[DLP_AGGREGATOR_REPEATED] == 1, "%s, late: again if repeated",
	    who);
	send_packet(1, DLP_LEARNING, 1, 1, 10);
	ok(is_answered(1, DLP_WRONG_STEP, server ? 0 : 1, 0, server ? 0 : 10),
	    "%s, late: too early for the next", who);
	send_packet(0, DLP_LEARNING, 1, 0, 5);
	ok(is_answered(0, DLP_LEARNING, 2, 0, 0), "%s, late: so the last", who);
	send_packet(0, DLP_LEARNING, 1, 1, 1);
	ok(is_answered(0, DLP_LEARNING, server ? 1 : 2, 1, 15),
	    "%s, late: at step 1 the aggregate of step 0", who);
	send_packet(1, DLP_LEARNING, 1, 0, 10);
	ok(is_answered(1, DLP_LEARNING, server ? 1 : 2, 0, 0),
	    "%s, late: the step before has its own answer again", who);
	send_packet(1, DLP_LEARNING, 1, 1, 2);
	ok(is_answered(1, DLP_LEARNING, 2, 1, 15), "%s, late: both the same",
	    who);
	send_packet(0, DLP_LEARNING, 1, 1, 1);
	ok(is_answered(0, DLP_LEARNING, server ? 1 : 2, 1, 15),
	    "%s, late: with the place it had", who);
	send_packet(0, DLP_LEARNING, 1, 2, 1);
	send_packet(1, DLP_LEARNING, 1, 2, 1);
	ok(is_answered(1, DLP_LEARNING, 2, 2, 3) && job.state == DLP_WAITING,
	    "%s, late: the last answer is of the last step but one", who);
	send_packet(1, DLP_LEARNING, 1, 2, 1);
	ok(is_answered(1, DLP_LEARNING, 2, 2, 3), "%s, late: again", who);
}

static void
test_server(void)
{
	start_session(DLP_AGGREGATOR_SERVER, false, false, 2, 1);
	send_packet(0, DLP_POLL, 1, 7, 0);
	ok(is_answered(0, DLP_SETUP, 0, 0, 0),
	    "server: a poll in SETUP, none yet");
	send_packet(0, DLP_SETUP, 1, 0, 0);
	send_packet(0, DLP_POLL, 1, 7, 0);
	ok(is_answered(0, DLP_SETUP, 1, 0, 0), "server: one so far");
	send_packet(1, DLP_SETUP, 1, 0, 0);
	send_packet(1, DLP_POLL, 1, 7, 0);
	ok(is_answered(1, DLP_LEARNING, 0, 0, 0), "server: LEARNING, none yet");
	send_packet(0, DLP_LEARNING, 1, 0, 3);
	send_packet(1, DLP_POLL, 1, 7, 0);
	ok(is_answered(1, DLP_LEARNING, 1, 0, 0), "server: one in this step");
	send_packet(1, DLP_LEARNING, 1, 1, 3);
	ok(is_answered(1, DLP_WRONG_STEP, 0, 0, 0) && out.d.param[1] == 0 &&
	    out.d.param[4] == 0 && out.d.param[5] == 0,
	    "server: WRONG_STEP and 29 zero bytes");
	send_packet(1, DLP_LEARNING, 1, 0, 4);
	ok(out.n == 2 && out.d.param[0] == 7, "server: the sum to both");
	send_packet(1, DLP_SETUP, 1, 0, 0);
	ok(out.n == 0 && job.n[DLP_AGGREGATOR_NOT_OPEN] == 1,
	    "server: SETUP after the last step is not answered");
	send_packet(1, DLP_POLL, 1, 0, 0);
	ok(is_answered(1, DLP_WAITING, 0, 0, 0), "server: a poll is");
	send_packet(1, DLP_RESET, 1, 0, 0);
	ok(is_answered(1, DLP_SETUP, 0, 0, 0),
	    "server: RESET begins anew in SETUP");
	send_packet(1, DLP_CONFIGURE, 9, 0, 0);
	ok(is_answered(1, DLP_CONFIGURE, 9, 0, 1) && job.session.nodes == 9,
	    "server: and CONFIGURE is taken as well");
}

static int
by_value(const void *a, const void *b)
{
	const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

	return (x > y) - (x < y);
}

/* N values through the job, against sorting them. */
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
		ok(good, "twice the median of %u values is sorting's", n);
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
	    "a sum past the end is the end, "
	    "and is counted; one that is not is exact");
	start_learning(DLP_AGGREGATOR_SWITCH, true, false, 1, 2);
	send_packet(0, DLP_LEARNING, 1, 0, -1073741823);
	ok(out.d.param[0] == INT32_MIN + 2 && out.d.param[2] == INT32_MIN &&
	    job.n[DLP_AGGREGATOR_SATURATED] == 1, "twice a median likewise");
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
	    "what is not 30 bytes is counted and not answered");
}

/* Worker w gives n elements, v and then multiples of it. */
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

/* Has the aggregate in out n elements, multiples of v? */
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
	    "long vectors are summed to the end");
	send_vector(0, 1, 7, 1);
	ok(is_answered(0, DLP_ERROR, 2, 1, 366) && job.counted == 0 &&
	    job.n[DLP_AGGREGATOR_MISMATCHED] == 1, "one of another length is "
	    "answered ERROR, with theirs, and does not count");
	send_vector(0, 2, 366, 1);
	ok(out.d.state == DLP_WRONG_STEP && dlp_elements(&out.d) == 6,
	    "an echo has six");
	send_vector(1, 0, 366, 1);
	ok(result_is(366, 7), "a finished step again, whole");
	send_packet(0, DLP_RESET, 0, 0, 0);
	start_learning(DLP_AGGREGATOR_SWITCH, true, false, 3, 1);
	send_vector(0, 0, 100, 5);
	send_vector(1, 0, 100, -9);
	send_vector(2, 0, 100, 1);
	ok(out.n == 3 && result_is(100, 2),
	    "a session may have another length; "
	    "twice its median");
	send_vector(2, 0, 100, 1);
	send_packet(0, DLP_CONFIGURE, 1, 0, 0);
	send_vector(1, 0, 100, 1);
	ok(result_is(100, 2), "as long in SETUP of the next session");
	start_learning(DLP_AGGREGATOR_SERVER, false, true, 2, 2);
	send_vector(1, 0, 50, 4);
	ok(result_is(50, 0), "late: zeros as long as what came");
	send_vector(0, 0, 50, 4);
	send_vector(0, 1, 50, 1);
	ok(result_is(50, 8), "and then the step before");
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
