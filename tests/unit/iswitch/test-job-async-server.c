/*
 * Test asynchronous parameter servers that use the packets of a switch: whole
 * vectors, one at a time.
 */
#include <math.h>

#include "common/base/rng.h"
#include "tests/unit/iswitch/rig.h"
#include "tests/unit/tap.h"

/* Return the crc with which worker w joins again from `port` at `next`. */
static int
join_at(uint32_t w, uint16_t port, uint32_t next, uint32_t crc,
    struct control_ack *a)
{
	return rig_join_as(port, (struct control_join){ .next = next,
	    .type = CONTROL_WORKER, .worker = w, .elements = 6, .crc = crc,
	    .async = rig.cf.job.async }, a);
}

/* Send two segments, of 4 and 2 floats; returns how many packets came. */
static uint32_t
send_vector(uint32_t w, uint32_t t, float v)
{
	rig_segment(w, t, 0, 4, v);
	if (rig_n != 0)
		return 99;
	rig_segment(w, t, 1, 2, v);
	return rig_n;
}

static void
check_whole(enum reduce_kind kind, bool as_came, const char *name)
{
	struct job_conf cf = rig_conf(3);
	struct seg g;
	float sum;

	cf.whole = true;
	cf.as_came = as_came;
	cf.rule.reduce.kind = kind;
	rig_open(&cf, 0);
	for (uint32_t w = 0; w < 3; w++)
		rig_join(w, 6, 0);
	rig_segment(2, 0, 0, 4, 1);
	rig_segment(1, 0, 0, 4, 0x1p24f);
	rig_segment(0, 0, 0, 4, 1);
	ok(rig_n == 0 && rig.job[0]->core.sums.ready[0] == 1,
	    "%s: with all of segment 0, the server waits for segment 1", name);
	send_vector(2, 0, 5);
	send_vector(1, 0, 5);
	rig_segment(0, 0, 1, 2, 5);
	ok(rig_n == 6 && rig_result(&g) == 15 && g.index == 1 && g.n == 2,
	    "%s: with the last segment of the last vector, the server sends "
	    "all of the sum", name);
	seg_parse(rig_out[0].bytes, rig_out[0].len, &g);
	sum = vec_get(g.vec, 0);
	/* 1 + 2^24 is 2^24 in binary32; 1 + 1 + 2^24 is not */
	ok(sum == 0x1p24f && g.contributions == 3 && g.index == 0,
	    "%s: the sum equals that of a switch, %g", name, (double)sum);
	rigged_close(&rig_plane);
}

/*
 * Return the sum: 1 + 2^24 + 1 in order of number, 1 + 1 + 2^24 in order of
 * arrival.
 */
static float
sum_in_order(bool as_came)
{
	struct job_conf cf = rig_conf(3);
	struct seg g;
	float sum;

	cf.whole = true;
	cf.as_came = as_came;
	cf.rule.reduce.kind = REDUCE_ORDERED;
	rig_open(&cf, 0);
	for (uint32_t w = 0; w < 3; w++)
		rig_join(w, 4, 0);
	rig_segment(0, 0, 0, 4, 1);
	rig_segment(2, 0, 0, 4, 1);
	rig_segment(1, 0, 0, 4, 0x1p24f);
	sum = rig_result(&g);
	rigged_close(&rig_plane);
	return sum;
}

/* Is the k-th datagram a Help for segment i of iteration t to that port? */
static bool
is_asked(uint32_t k, uint16_t port, uint32_t t, uint32_t i)
{
	struct control c;

	return k < rig_n && rig_out[k].port == port &&
	    control_parse(rig_out[k].bytes, rig_out[k].len, &c) &&
	    c.action == CONTROL_HELP && bytes_get(c.body, 8) ==
	    seg_word(t, 0, i);
}

/* Advance the time by ns. */
static void
advance_time(uint64_t ns)
{
	rig_now += ns;
	rig_n = 0;
	iswitch_run_deadlines(&rig, rig_now);
	rig_flush();
}

static void
test_helps(void)
{
	struct job_conf cf = rig_conf(2);
	struct control_ack a;

	cf.whole = true;
	rig_open(&cf, 0);
	rig_join(0, 6, 0);
	rig_join(1, 6, 0);
	send_vector(0, 0, 1);
	rig_segment(1, 0, 0, 4, 1);
	advance_time(LOSS_TIMER_QUIET_NS / 2);
	ok(rig_n == 0, "within a vector there may be a short silence");
	advance_time(LOSS_TIMER_QUIET_NS);
	ok(rig_n == 1 && is_asked(0, 1001, 0, 1),
	    "then the server requests segment 1 from the worker that lacks it, "
	    "and from no other");
	advance_time(LOSS_TIMER_QUIET_NS);
	ok(rig_n == 0, "the server waits twice as long before the next "
	    "request");
	advance_time(2 * LOSS_TIMER_QUIET_NS);
	ok(rig_n == 1 && is_asked(0, 1001, 0, 1),
	    "then the server requests the segment again");
	rig_segment(1, 0, 1, 2, 1);
	ok(rig_n == 4, "when the segment arrives, both workers get both "
	    "segments");
	advance_time(LOSS_TIMER_CEILING_NS);
	ok(rig_n == 0, "a worker that has not started a vector gets no "
	    "request");
	ok(rig_say(1000, CONTROL_HELP, seg_word(1, 0, 0), 8, &a) ==
	    CONTROL_DONE && rig_n == 1, "a worker sends Help before any "
	    "segment of iteration 1");
	advance_time(LOSS_TIMER_QUIET_NS);
	ok(rig_n == 2 && is_asked(0, 1000, 1, 0) && is_asked(1, 1000, 1, 1),
	    "that Help shows that all of its vector was lost, so the server "
	    "requests all of it");
	rigged_close(&rig_plane);
}

/*
 * Return after how many ms the server requests segment 1 of t from worker 1; 0:
 * never.
 */
static uint32_t
measure_patience(uint32_t t)
{
	for (uint32_t ms = 1; ms <= 1000; ms++) {
		advance_time(1000000);
		if (rig_n == 1 && is_asked(0, 1001, t, 1))
			return ms;
	}
	return 0;
}

/*
 * Does the server request the lost segment 1 of t from worker 1 after wait_ms? 
 * The worker sends it more_ms later.
 */
static bool
check_patience(uint32_t t, uint32_t wait_ms, uint32_t more_ms)
{
	bool good;

	send_vector(0, t, 1);
	rig_segment(1, t, 0, 4, 1);
	good = measure_patience(t) == wait_ms;
	rig_now += more_ms * UINT64_C(1000000);
	rig_segment(1, t, 1, 2, 1);
	return good;
}

static void
test_waits(void)
{
	struct job_conf cf = rig_conf(2);
	bool same = true;

	cf.whole = true;
	rig_open(&cf, 0);
	rig_join(0, 6, 0);
	rig_join(1, 6, 0);
	for (uint32_t t = 0; t < 8; t++)
		same = check_patience(t, 20, 0) && same;
	ok(same, "the eighth loss is found as soon as the first");
	ok(check_patience(8, 20, 15) && check_patience(9, 20 + 2 * 15, 0),
	    "if segments are late, the server waits longer for the next");
	rigged_close(&rig_plane);
}

/* Every second one of the 100 segments of a vector is lost. */
static void
test_holes(void)
{
	enum { SEGS = 100 };
	struct job_conf cf = rig_conf(1);
	uint32_t asks = 0, i = 0, most = 0;

	cf.whole = true;
	rig_open(&cf, 0);
	rig_join(0, 4 * SEGS, 0);
	for (uint32_t k = 0; k < SEGS; k += 2)
		rig_segment(0, 0, k, 4, 1);
	advance_time(LOSS_TIMER_QUIET_NS);
	ok(rig_n == JOB_ASKS_FIRST && is_asked(0, 1000, 0, 1) &&
	    is_asked(JOB_ASKS_FIRST - 1, 1000, 0, 2 * JOB_ASKS_FIRST - 1),
	    "of 50 missing segments the server requests the first "
	    "%d", JOB_ASKS_FIRST);
	for (asks = rig_n; i + 1 < SEGS / 2; i++) {
		rig_segment(0, 0, 2 * i + 1, 4, 1);
		asks += rig_n;
		most = rig_n > most ? rig_n : most;
	}
	ok(asks == SEGS / 2 && most == 2,
	    "the server requests one or two more for each segment that "
	    "arrives, without a silence");
	rig_segment(0, 0, SEGS - 1, 4, 1);
	ok(rig_n == SEGS, "then the server sends the answer");
	rigged_close(&rig_plane);
}

/* Three workers get answers of 100 segments, one after another. */
static void
test_turns(void)
{
	enum { SEGS = 100 };
	struct job_conf cf = rig_conf(3);
	struct control_ack a;
	uint32_t n[3] = { 0 };
	bool good = true;

	cf.whole = true;
	rig_open(&cf, 0);
	for (uint32_t w = 0; w < 3; w++)
		rig_join_as((uint16_t)(1000 + w), (struct control_join){
		    .type = CONTROL_WORKER, .worker = w, .floats = 366,
		    .elements = SEGS * 366 }, &a);
	for (uint32_t w = 0; w < 3; w++) {
		for (uint32_t i = 0; i < SEGS; i++)
			rig_segment(w, 0, i, 366, 1);
	}
	for (uint32_t k = 0; k < rig_n; k++) {
		const uint32_t w = rig_out[k].port - 1000u;

		n[w]++;
		for (uint32_t v = 0; v < 3; v++)
			good = good && (v == w || n[v] % SEGS == 0);
	}
	ok(good && n[0] == SEGS && n[1] == SEGS && n[2] == SEGS,
	    "each worker gets its whole answer before the next answer begins");
	rigged_close(&rig_plane);
}

static struct job_conf
server_conf(uint16_t h)
{
	struct job_conf cf = rig_conf(h);

	cf.async = cf.server = true;
	return cf;
}

static void
test_answers(void)
{
	struct job_conf cf = server_conf(2);
	struct control_ack a;
	struct seg g;

	rig_open(&cf, 0);
	ok(join_at(0, 1000, 0, 7, &a) == CONTROL_DONE && a.next == 1 &&
	    send_vector(0, 0, 1) == 0 && rig_count(JOB_EARLY) == 2,
	    "before H workers have joined, a server ignores segments");
	ok(join_at(1, 1001, 0, 8, &a) == CONTROL_REFUSED,
	    "a worker with other first weights is refused");
	ok(join_at(1, 1001, 0, 7, &a) == CONTROL_DONE,
	    "the second worker has joined");
	ok(send_vector(0, 1, 1) == 2 && rig_result(&g) == 1 &&
		g.iteration == 0 && g.contributions == 1 &&
		rig_out[0].port == 1000,
	    "a vector is answered at once, to its sender alone, with round 0");
	ok(send_vector(1, 0, 2) == 2 && rig_result(&g) == 3 &&
		g.iteration == 0 && rig_out[0].port == 1001,
	    "another worker's first answer is 1 + 2, with round 0");
	ok(send_vector(1, 1, 4) == 2 && rig_result(&g) == 4 && g.iteration == 1,
	    "its next answer is 4, with round 1");
	ok(send_vector(0, 2, 1) == 2 && rig_result(&g) == 7 && g.iteration == 1,
	    "the next answer of the first worker is 2 + 4 + 1");
	rig_segment(0, 2, 0, 4, 1);
	ok(rig_n == 0 && rig_count(JOB_DUPLICATE) == 1,
	    "a second copy of a segment counts as a duplicate");
	rig_segment(0, 3, 0, 4, 100);
	ok(send_vector(0, 4, 2) == 2 && rig_result(&g) == 2 &&
	    rig_count(JOB_INCOMPLETE) == 1,
	    "a vector with a lost segment is not added, and counted");
	ok(send_vector(0, 5, NAN) == 2 && rig_result(&g) == 0 &&
	    rig_count(JOB_NONFINITE) == 1,
	    "a vector that is not finite is not added, but answered");
	rigged_close(&rig_plane);
}

static void
test_keeps(void)
{
	struct job_conf cf = server_conf(1);
	struct control_ack a;
	struct seg g;
	bool good = true;

	rig_open(&cf, 0);
	join_at(0, 1000, 0, 7, &a);
	for (uint32_t t = 0; t < 20; t++)
		good = good && send_vector(0, t, (float)t) == 2 &&
		    rig_result(&g) == (float)t && g.iteration == t;
	ok(good, "20 vectors get 20 answers");
	ok(rig_say(1000, CONTROL_HELP, seg_word(4, 0, 1), 8, &a) ==
	    CONTROL_DONE && rig_n == 2 && rig_out[0].tos == SEG_TOS &&
	    seg_parse(rig_out[0].bytes, rig_out[0].len, &g) &&
	    g.iteration == 4 && g.index == 1 && vec_get(g.vec, 0) == 4,
	    "the 16th last answer is kept for Help");
	ok(rig_say(1000, CONTROL_HELP, seg_word(3, 0, 1), 8, &a) ==
	    CONTROL_GONE, "the answer before that is gone");
	ok(rig_say(1000, CONTROL_HELP, seg_word(20, 0, 1), 8, &a) ==
	    CONTROL_DONE && rig_n == 1, "the next answer does not exist yet");
	ok(join_at(1, 1001, 0, 7, &a) == CONTROL_DONE && a.next == 2 &&
	    rig_say(1001, CONTROL_HELP, seg_word(0, 0, 0), 8, &a) ==
	    CONTROL_DONE && seg_parse(rig_out[0].bytes, rig_out[0].len, &g) &&
	    vec_get(g.vec, 0) == 190,
	    "a worker that joins late gets the total as its round 0");
	ok(send_vector(1, 0, 10) == 2 && rig_result(&g) == 10 &&
		g.iteration == 1,
	    "then it gets the answer to its own vector");
	ok(join_at(0, 1005, 20, 0, &a) == CONTROL_DONE && a.next == 21,
	    "a worker that returns continues");
	rig_segment(5, 0, 0, 4, 1);
	rig_segment(5, 0, 1, 2, 1);
	ok(rig_result(&g) == 11 && g.iteration == 20,
	    "its next answer has the sums that it missed");
	ok(join_at(0, 1006, 0, 7, &a) == CONTROL_DONE && a.next == 2 &&
	    rig_say(1006, CONTROL_HELP, seg_word(0, 0, 0), 8, &a) ==
	    CONTROL_DONE && seg_parse(rig_out[0].bytes, rig_out[0].len, &g) &&
	    vec_get(g.vec, 0) == 201, "a worker that starts again gets the "
	    "total");
	ok(join_at(0, 1007, 9, 0, &a) == CONTROL_REFUSED,
	    "a worker that claims unknown rounds is refused");
	rigged_close(&rig_plane);
}

/* Answers are binary32 parts of a binary64 total: no part is lost. */
static void
test_drifts(void)
{
	enum { N = 100000 };
	double want = 0, got[2] = { 0, 0 };
	struct rng r = rng_seed(3);
	struct job_conf cf = server_conf(1);
	struct control_ack a;
	struct seg g;

	rig_open(&cf, 0);
	join_at(0, 1000, 0, 7, &a);
	join_at(1, 1001, 0, 7, &a);
	for (uint32_t t = 0; t < N; t++) {
		const uint32_t w = t % 3 == 0;
		const float v = (float)rng_uniform(&r, -1, 1.1);

		send_vector(w, t, v);
		want += (double)v;
		got[w] += (double)rig_result(&g);
	}
	send_vector(0, N, 0);
	got[0] += (double)rig_result(&g);
	send_vector(1, N, 0);
	got[1] += (double)rig_result(&g);
	ok(fabs(got[0] - want) < 1e-6 && fabs(got[1] - want) < 1e-6,
	    "after %d vectors no answer has lost a part by rounding", N);
	rigged_close(&rig_plane);
}

static void
test_memory(void)
{
	struct job_conf cf = server_conf(1);
	struct control_ack a;

	rig_open(&cf, 4000);
	ok(join_at(0, 1000, 0, 7, &a) == CONTROL_DONE,
	    "there is memory for one worker");
	ok(join_at(1, 1001, 0, 7, &a) == CONTROL_DONE ||
	    a.status == CONTROL_NO_ROOM, "there may be memory for another");
	for (uint32_t w = 2; w < 8; w++)
		join_at(w, (uint16_t)(1000 + w), 0, 7, &a);
	ok(a.status == CONTROL_NO_ROOM, "there is no memory for eight workers");
	rigged_close(&rig_plane);
}

/* Request an answer many times; return how many the server sends. */
static uint32_t
count_answers(uint32_t times, uint64_t every_ns, bool probes)
{
	const union addr from = rig_addr(1000);
	uint8_t m[256], bits[1] = { 1 }, *p;
	uint32_t sent = 0;

	for (uint32_t k = 0; k < times; k++, rig_now += every_ns) {
		const struct repair_help h = { .last = REPAIR_NONE,
		    .lacks = { .bits = bits, .bytes = 1 }, .seen = k };

		p = control_put(m, CONTROL_HELP, 1, rig_xid);
		p = bytes_put(p, seg_word(0, 0, 0), 8);
		if (probes)
			p = m + repair_write_help(m, 1, rig_xid, &h);
		rig_xid++;
		rig_n = 0;
		rigged_take(&rig_plane, &from, CONTROL_TOS, m, (size_t)(p - m),
		    rig_now);
		rig_flush();
		for (uint32_t i = 0; i < rig_n; i++)
			sent += rig_out[i].tos == SEG_TOS;
	}
	return sent;
}

/* Repeated answers have the same rate limit as repeated sums. */
static void
test_served_again(void)
{
	struct job_conf cf = rig_conf(1);
	struct control_ack a;
	uint64_t round = 0;
	uint32_t n;

	cf.async = cf.server = true;
	rig_open(&cf, 0);
	for (int probes = 0; probes < 2; probes++) {
		rig_join_as(1000, (struct control_join){ .async = true,
		    .type = CONTROL_WORKER, .elements = 4, .next = 0,
		    .repairs = probes == 1 }, &a);
		rig_now += 1000000000;
		rig_segment(0, (uint32_t)round++, 0, 4, 1);
		n = count_answers(1000, 0, probes);
		ok(n >= 4 && n <= 9 && rig_count(JOB_WITHHELD) >= 991,
		    "%s: of 1,000 requests for an answer, the server answers "
		    "%u",
		    probes ? "Probe" : "Help", n);
		n = count_answers(1000, 10000000, probes);
		ok(n >= 99 && n <= 101, "the server answers %u requests in ten "
		    "seconds", n);
	}
	rigged_close(&rig_plane);
}

int
main(void)
{
	check_whole(REDUCE_SUM, false, "sum");
	check_whole(REDUCE_ORDERED, true, "ordered, as they came");
	ok(sum_in_order(false) == 0x1p24f && sum_in_order(true) == 0x1p24f + 2,
	    "stored rows are added in the order of numbers, or of arrival");
	test_helps();
	test_waits();
	test_holes();
	test_turns();
	test_answers();
	test_keeps();
	test_drifts();
	test_memory();
	test_served_again();
	return tap_end();
}
