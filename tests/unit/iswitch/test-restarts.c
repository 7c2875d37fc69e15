/*
 * Test a rack with few slots after a restart of its parent or of its workers,
 * with traces of random runs that hung or sent packets without end. Also test
 * an asynchronous rack that was restarted itself and lacks many rounds.
 */
#include "tests/unit/iswitch/rig.h"
#include "tests/unit/tap.h"

enum { ELEMENTS = 16, SEGS = 4 };

static const struct control_join first = { .type = CONTROL_WORKER,
	.elements = ELEMENTS, .repairs = true, .sends_state = true };

/* Return the parent's answer to a Join: the job's instance has that number. */
static struct control_ack
admit(uint32_t instance)
{
	return (struct control_ack){ .action = CONTROL_JOIN, .timeout_s = 10,
	    .elements = ELEMENTS, .floats = 4, .repairs = true, .span = 2,
	    .instance = instance };
}

/* Answer the last message to the parent. */
static void
answer(struct control_ack up)
{
	struct control c;
	uint8_t m[256], *p;

	control_parse(rig_out[rig_n - 1].bytes, rig_out[rig_n - 1].len, &c);
	p = control_put_ack(control_put(m, CONTROL_ACK, 1, c.xid), &up);
	rig_n = 0;
	iswitch_receive_parent(&rig, 1, CONTROL_TOS, m, (size_t)(p - m),
	    rig_now);
	outbox_flush(rig.out);
}

/* Open a rack with slots for two segments, and one worker. */
static void
open_rack(struct control_join j, uint32_t slots)
{
	struct job_conf cf = rig_conf(1);
	struct control_ack a;

	cf.child = true;
	cf.slots = slots;
	rig_open(&cf, 0);
	rig_join_as(1000, j, &a);
	answer(admit(7));
	rig_join_as(1000, j, &a);
}

/*
 * Open a rack whose parent keeps whole vectors.  Worker j sends a Join, and the
 * parent answers the Join of the rack with `up`.
 */
static void
begin_rack(uint16_t h, struct control_join j, struct control_ack up)
{
	struct job_conf cf = rig_conf(h);
	struct control_ack a;

	cf.child = true;
	cf.async = up.async = j.async;
	up.span = 0;
	rig_open(&cf, 0);
	rig_join_as((uint16_t)(1000 + j.worker), j, &a);
	answer(up);
}

/* Let time pass until the rack sends its parent a Join, and return it. */
static struct control_join
await_join(void)
{
	struct control_join j = { 0 };
	struct control c;

	rig_n = 0;
	for (int k = 0; k < 100; k++) {
		rig_now += 100000000;
		iswitch_run_deadlines(&rig, rig_now);
		outbox_flush(rig.out);
		if (rig_n > 0 && rig_out[rig_n - 1].to == POST_PARENT &&
		    control_parse(rig_out[rig_n - 1].bytes,
		    rig_out[rig_n - 1].len, &c) && c.action == CONTROL_JOIN &&
		    control_get_join(&c, &j))
			return j;
	}
	return j;
}

/* Return the parent's result of segment i at t. */
static const uint8_t *
result_of(uint32_t t, uint32_t i)
{
	static uint8_t m[SEG_HEADER_BYTES + 16];

	seg_put(m, t, 2, i);
	return m;
}

/* Send the parent's result of segment i at t. */
static void
send_result(uint32_t t, uint32_t i)
{
	rig_n = 0;
	iswitch_receive_parent(&rig, 1, SEG_TOS, result_of(t, i),
	    SEG_HEADER_BYTES + 16, rig_now);
	outbox_flush(rig.out);
}

/* Return the number of posts of a kind since rig_n was cleared. */
static uint32_t
count_posts(enum post_to to, uint8_t tos, uint8_t action)
{
	uint32_t n = 0;

	for (uint32_t k = 0; k < rig_n; k++)
		n += rig_out[k].to == to && rig_out[k].tos == tos &&
		    (tos == SEG_TOS || rig_out[k].bytes[0] == action);
	return n;
}

/* Seed 570005181: a challenge of an old Join arrives long after its Ack. */
static void
test_old_challenge(void)
{
	struct control_join said;
	uint32_t before;

	open_rack(first, 3);
	for (uint32_t i = 0; i < 2; i++) {
		rig_segment(0, 0, i, 4, 1);
		send_result(0, i);
	}
	before = (uint32_t)rig_count(JOB_FROM_PARENT);
	membership_receive_doubtful(&rig.job[0]->parent.membership,
	    CHANNEL_CLIENT_CHALLENGED, &(struct control){ .xid = 1 }, rig_now);
	said = await_join();
	ok(said.wants_instance && said.elements == ELEMENTS,
	    "a rack asks its parent which instance of the job it has");
	answer(admit(7));
	rig_segment(0, 0, 1, 4, 1);
	send_result(0, 1);
	ok(before == 2 && rig_count(JOB_DUPLICATE) == 1 &&
	    rig_count(JOB_PARENT_OLD) == 1,
	    "a rack that was challenged keeps its sums if the parent still has "
	    "the same instance of the job");
	await_join();
	answer(admit(8));
	send_result(0, 0);
	ok(rig_count(JOB_PARENT_OLD) == 1,
	    "it begins the iteration again if the parent has another instance");
	rigged_close(&rig_plane);
}

/* Seeds 124541, 188544: results of the parent's earlier instance are late. */
static void
test_late_results(void)
{
	open_rack(first, 3);
	rig_segment(0, 0, 0, 4, 1);
	send_result(0, 2);
	ok(rig_count(JOB_PARENT_OLD) == 1 &&
	    count_posts(POST_GROUP, SEG_TOS, 0) == 0,
	    "with few slots a rack drops the result of a segment that may not "
	    "begin yet");
	send_result(0, 0);
	ok(count_posts(POST_GROUP, SEG_TOS, 0) == 1,
	    "a rack passes on the result that is due");
	rigged_close(&rig_plane);
}

/* Answer the last Probe to the parent: it lacks the segments in `bits`. */
static void
send_state(uint8_t bits)
{
	uint8_t m[CONTROL_MAX_BYTES], *p;
	const struct repair_state st = { .iteration = 0, .seen = 1,
	    .lacks = { .bits = &bits, .bytes = 1 } };
	struct control c = { 0 };

	for (uint32_t k = 0; k < rig_n; k++) {
		if (rig_out[k].to == POST_PARENT &&
		    rig_out[k].tos == CONTROL_TOS)
			control_parse(rig_out[k].bytes, rig_out[k].len, &c);
	}
	p = repair_put_state(control_put(m, CONTROL_ACK, 1, c.xid), &st);
	rig_n = 0;
	iswitch_receive_parent(&rig, 1, CONTROL_TOS, m, (size_t)(p - m),
	    rig_now);
	outbox_flush(rig.out);
}

/* A late result was believed, but the parent lacks its segment. */
static void
test_believed_result(uint32_t slots)
{
	open_rack(first, slots);
	send_result(0, 0);
	rig_segment(0, 0, 1, 4, 1);
	rig_n = 0;
	rig_now += 1000000000;
	iswitch_run_deadlines(&rig, rig_now);
	outbox_flush(rig.out);
	send_state(1);
	ok(count_posts(POST_ONE, CONTROL_TOS, CONTROL_HELP) == 1,
	    "a rack asks for a segment again whose result it has but never "
	    "sent, if its parent lacks it (%s)", slots > 0 ? "few slots" :
	    "whole vectors");
	rig_segment(0, 0, 0, 4, 1);
	ok(count_posts(POST_PARENT, SEG_TOS, 0) == 1, "and sends its sum up");
	rigged_close(&rig_plane);
}

/* The same for a segment that was sent before the late result arrived. */
static void
test_late_result(uint32_t slots)
{
	open_rack(first, slots);
	for (uint32_t i = 0; i < 2; i++)
		rig_segment(0, 0, i, 4, 1);
	rig_n = 0;
	rig_now += 1000000000;
	iswitch_run_deadlines(&rig, rig_now);
	outbox_flush(rig.out);
	send_state(0);
	rig_now += 1000000000;
	iswitch_run_deadlines(&rig, rig_now);
	outbox_flush(rig.out);
	iswitch_receive_parent(&rig, 1, SEG_TOS, result_of(0, 0),
	    SEG_HEADER_BYTES + 16, rig_now);
	send_state(1);
	ok(count_posts(POST_ONE, CONTROL_TOS, CONTROL_HELP) == 0 &&
	    count_posts(POST_PARENT, SEG_TOS, 0) == 0,
	    "a rack believes a result that crossed its Probe (%s)", slots > 0 ?
	    "few slots" : "whole vectors");
	rig_n = 0;
	rig_now += 1000000000;
	iswitch_run_deadlines(&rig, rig_now);
	outbox_flush(rig.out);
	send_state(1);
	ok(count_posts(POST_ONE, CONTROL_TOS, CONTROL_HELP) == 1 &&
	    count_posts(POST_PARENT, SEG_TOS, 0) == 0,
	    "it asks for a segment again that it has sent, if the parent lacks "
	    "the segment and the result was there before the Probe");
	rig_segment(0, 0, 0, 4, 1);
	ok(count_posts(POST_PARENT, SEG_TOS, 0) == 1 &&
	    bytes_get(rig_out[rig_n - 1].bytes, 8) == seg_word(0, 1, 0),
	    "and sends the sum of its members up, not the result");
	rigged_close(&rig_plane);
}

/* The parent restarts; a worker of the rack only knows Help. */
static void
test_help_alone(void)
{
	struct control_join j = first;

	j.repairs = false;
	open_rack(j, 3);
	rig_segment(0, 0, 0, 4, 1);
	send_result(0, 0);
	await_join();
	answer(admit(8));
	ok(rig.job[0]->core.members.present == 0,
	    "with few slots a worker that only knows Help has to join again "
	    "when the parent has another instance of the job");
	rigged_close(&rig_plane);
	open_rack(first, 3);
	rig_segment(0, 0, 0, 4, 1);
	send_result(0, 0);
	await_join();
	answer(admit(8));
	ok(rig.job[0]->core.members.present == 1, "one that repairs stays");
	rigged_close(&rig_plane);
}

/* Open a switch with the racks 0 and 1 as members; *j is the Join of rack 1. */
static void
open_two_racks(const struct job_conf *cf, struct control_join *j)
{
	struct control_ack a;

	rig_open(cf, 0);
	rig_join_as(1000, *j, &a);
	j->worker = 1;
	rig_join_as(1001, *j, &a);
}

/* Seed 81002091: a rack goes back, and the parent no longer has the results. */
static void
test_rack_goes_back(void)
{
	struct job_conf cf = rig_conf(2);
	struct control_join j = { .type = CONTROL_SWITCH, .elements = ELEMENTS,
	    .repairs = true, .sends_state = true, .next = 0 };
	struct control_ack a;

	cf.slots = 3;
	open_two_racks(&cf, &j);
	for (uint32_t i = 0; i < SEGS; i++)
		for (uint32_t w = 0; w < 2; w++)
			rig_segment(w, 0, i, 4, 1);
	rig_segment(0, 1, 0, 4, 1);
	j.next = 1;
	j.again = true;
	rig_join_as(1001, j, &a);
	ok(rig_join_as(1000, (struct control_join){ .type = CONTROL_SWITCH,
	    .elements = ELEMENTS, .repairs = true, .sends_state = true,
	    .next = 1, .again = true }, &a) == CONTROL_DONE &&
	    rig.job[0]->core.members.present == 2,
	    "racks that stand at the same iteration stay members");
	j.next = 0;
	j.again = false;
	ok(rig_join_as(1001, j, &a) == CONTROL_DONE && a.next == 0 &&
	    rig.job[0]->core.members.present == 1,
	    "a rack that goes back to results that have no slot makes the job "
	    "begin again there");
	rigged_close(&rig_plane);
}

/* Open a rack for a worker at iteration 6; return the rack's Join. */
static struct control_join
open_rack_at_6(bool again)
{
	struct control_join j = first, said = { 0 };
	struct control_ack a, up = admit(7);
	struct job_conf cf = rig_conf(2);
	struct control c;

	cf.child = true;
	rig_open(&cf, 0);
	j.next = up.next = 6;
	j.again = again;
	up.span = 0;
	rig_join_as(1000, j, &a);
	control_parse(rig_out[rig_n - 1].bytes, rig_out[rig_n - 1].len, &c);
	control_get_join(&c, &said);
	answer(up);
	rig_join_as(1000, j, &a);
	return said;
}

/* Seed 82010364: a worker of a rack is behind what the parent began with. */
static void
test_behind_parent(void)
{
	struct control_join j = first;
	struct control_ack a;

	ok(!open_rack_at_6(false).again && rig.job[0]->core.members.present ==
	    1, "a rack does not promise an iteration that its first worker "
	    "cannot give");
	rigged_close(&rig_plane);
	ok(open_rack_at_6(true).again, "but one that it can");
	j.worker = 1;
	j.next = 5;
	ok(rig_join_as(1001, j, &a) == CONTROL_REFUSED,
	    "a worker is refused that lacks results with which the parent "
	    "began: it fetches a state");
	j.sends_state = false;
	ok(rig_join_as(1001, j, &a) == CONTROL_DONE && a.next == 5,
	    "one that cannot fetch takes the rack back");
	rigged_close(&rig_plane);
}

/*
 * Restart a rack of an asynchronous job: its first worker is about to get round
 * 6, and its parent has sent round 12.
 */
static void
restart_async_rack(struct control_join *j)
{
	struct control_ack a, up = admit(7);

	j->async = true;
	up.next = 12;
	begin_rack(2, *j, up);
	rig_join_as(1000, *j, &a);
	for (uint32_t i = 0; i < SEGS; i++)
		send_result(12, i);
	j->worker = 1;
}

/* Request round 12 as worker 0, whose push has not started. */
static void
request_round(void)
{
	const union addr from = rig_addr(1000);
	uint8_t m[CONTROL_MAX_BYTES], room[REPAIR_BITMAP_BYTES];
	struct repair_help h = { .iteration = SEG_ITERATIONS - 1, .seen = 100,
	    .round = 12 };

	repair_add(&h.lacks, room, 1);
	rig_n = 0;
	rigged_take(&rig_plane, &from, CONTROL_TOS, m,
	    repair_write_help(m, 1, rig_xid++, &h), rig_now);
	rig_flush();
}

/* Request a state as worker 1; return which member the rack asks. */
static enum post_to
fetch_state(void)
{
	const struct transfer_fetch f = { .worker = 1, .count = 1 };
	struct control_ack a;
	uint8_t body[32];

	rig_control(1001, CONTROL_FETCH, 1, body,
	    (size_t)(transfer_put_fetch(body, &f) - body), &a);
	return rig_n == 1 && rig_out[0].bytes[0] == CONTROL_FETCH &&
	    (rig_out[0].to == POST_PARENT || rig_out[0].port == 1000) ?
	    rig_out[0].to : POST_GROUP;
}

/* Send a state of worker 0; return whether the rack forwards it to worker 1. */
static bool
send_state_of(uint64_t iteration)
{
	const struct transfer_chunk k = { .receiver = 1, .ready = true,
	    .snapshot = 1, .iteration = iteration };
	struct transfer_chunk sent;
	struct control_ack a;
	struct control c;
	uint8_t body[64];

	rig_control(1000, CONTROL_CHUNK, 1, body,
	    (size_t)(transfer_put_chunk(body, &k) - body), &a);
	return rig_n == 1 && control_parse(rig_out[0].bytes, rig_out[0].len,
	    &c) && c.action == CONTROL_CHUNK && rig_out[0].port == 1001 &&
	    transfer_get_chunk(&c, &sent) && sent.ready;
}

/* A rack that was restarted lacks the rounds that it missed. */
static void
test_async_rack(void)
{
	struct control_join j = first;
	struct control_ack a;

	j.next = 6;
	restart_async_rack(&j);
	request_round();
	ok(count_posts(POST_ONE, SEG_TOS, 0) == 1 &&
	    count_posts(POST_ONE, CONTROL_TOS, CONTROL_ACK) == 1,
	    "a worker that waits for the other members gets results again");
	ok(rig_join_as(1001, j, &a) == CONTROL_DONE && a.next == 13 &&
	    rig.job[0]->core.open,
	    "a rack that was restarted admits a worker that lacks the rounds "
	    "that the rack still gets from its parent");
	rigged_close(&rig_plane);
	j = first;
	j.next = 6;
	restart_async_rack(&j);
	j.next = 5;
	ok(rig_join_as(1001, j, &a) == CONTROL_REFUSED &&
	    fetch_state() == POST_ONE && send_state_of(6),
	    "it refuses one that lacks an earlier round, which fetches the "
	    "state of the other");
	ok(fetch_state() == POST_ONE && !send_state_of(5) &&
	    fetch_state() == POST_PARENT,
	    "if the worker could not join with that state, the rack asks its "
	    "parent");
	rigged_close(&rig_plane);
}

/*
 * Seed 6000140952: a restarted rack has the results of the round before its
 * first round, because its first worker needed them as a proof.
 */
static void
test_async_early_results(void)
{
	struct control_join j = first;
	struct control_ack a;

	j.next = 6;
	restart_async_rack(&j);
	for (uint32_t i = 0; i < SEGS; i++)
		send_result(5, i);
	j.next = 5;
	ok(rig_count(JOB_FROM_PARENT) == 2 * SEGS &&
	    rig_count(JOB_PARENT_OLD) == 0 &&
	    rig_join_as(1001, j, &a) == CONTROL_REFUSED,
	    "a rack refuses a worker that begins before the first round of the "
	    "rack, even if the rack has the results of that round");
	rigged_close(&rig_plane);
}

/*
 * Seed 4110003012: two racks were restarted.  Each has one member, whose
 * segments are not even, and one worker that fetches the state of this member.
 */
static void
test_async_opens(void)
{
	struct control_join j = first;
	struct control_ack a;
	bool closed;

	j.next = 6;
	restart_async_rack(&j);
	j.next = 5;
	closed = rig_join_as(1001, j, &a) == CONTROL_REFUSED && a.closed &&
	    !rig.job[0]->core.open;
	ok(closed && fetch_state() == POST_ONE && rig.job[0]->core.open &&
	    rig.job[0]->core.members.present == 1,
	    "a rack opens if it lacks only workers that fetch a state");
	rigged_close(&rig_plane);
	j = first;
	j.next = 6;
	restart_async_rack(&j);
	j.next = 5;
	rig_join_as(1001, j, &a);
	rig.job[0]->core.parent_closed = true;
	ok(fetch_state() == POST_ONE && !rig.job[0]->core.open,
	    "it stays closed with the job of its parent");
	rigged_close(&rig_plane);
}

/*
 * A trace of --severe --kill-racks: the link of a rack was down,
 * and a worker comes with a state that is newer than the rack.
 */
static void
test_async_behind(void)
{
	struct control_join j = first;
	struct control_ack a, up = admit(7);
	bool asks;

	up.async = true;
	up.span = 0;
	up.next = 21;
	j.next = 6;
	restart_async_rack(&j);
	j.next = 21;
	asks = rig_join_as(1001, j, &a) == -1 &&
	    count_posts(POST_PARENT, CONTROL_TOS, CONTROL_JOIN) == 1;
	ok(asks && rig_join_as(1001, j, &a) == -1 && rig_n == 0,
	    "a rack asks its parent for the round before it answers a worker "
	    "that is ahead of it");
	await_join();
	answer(up);
	ok(rig_join_as(1001, j, &a) == CONTROL_DONE && a.next == 21,
	    "it admits this worker if the parent has that round");
	j.worker = 2;
	j.next = 30;
	asks = rig_join_as(1002, j, &a) == CONTROL_REFUSED;
	rig_now += ISWITCH_AHEAD_NS;
	asks = rig_join_as(1002, j, &a) == -1 && asks;
	await_join();
	answer(up);
	ok(asks && rig_join_as(1002, j, &a) == CONTROL_REFUSED,
	    "it refuses a worker that is ahead of the parent, too");
	rigged_close(&rig_plane);
}

/* A rack that was restarted follows its parent at once. */
static void
test_async_next(void)
{
	struct control_join j = first;
	struct control_ack a, up = admit(7);

	up.async = j.async = true;
	j.next = 6;
	up.next = 12;
	up.span = 0;
	begin_rack(1, j, up);
	ok(rig_join_as(1000, j, &a) == CONTROL_DONE && a.next == 12,
	    "a rack that was restarted tells its workers the parent's round");
	await_join();
	up.instance = 8;
	answer(up);
	ok(rig.job[0]->core.missing_round == SUMS_EPOCH + 6,
	    "it still requests the rounds that it lacks after it has joined "
	    "its parent again");
	rigged_close(&rig_plane);
}

/*
 * Seed 6000349506: a rack that was restarted is refused because its first
 * worker is too far behind; then another worker comes with a newer state.
 */
static void
test_refused_for_another(void)
{
	struct control_join j = first, up;
	struct control_ack a, no = admit(7);

	j.async = no.async = true;
	no.status = CONTROL_REFUSED;
	no.next = 36;
	no.span = 0;
	j.next = 4;
	begin_rack(1, j, no);
	j.worker = 1;
	j.next = 37;
	ok(rig_join_as(1001, j, &a) == -1,
	    "a rack does not refuse a worker because its parent refused the "
	    "iteration of another worker");
	up = await_join();
	ok(up.next == 37, "it asks its parent about the iteration of this "
	    "worker");
	answer(no);
	j.worker = 0;
	j.next = 4;
	rig_n = 0;
	ok(rig_join_as(1000, j, &a) == CONTROL_REFUSED && a.next == 36 &&
	    count_posts(POST_PARENT, CONTROL_TOS, CONTROL_JOIN) == 0,
	    "it refuses a worker that is further behind without asking its "
	    "parent, so that two workers cannot prevent each other's answers");
	j.next = 50;
	rig_join_as(1000, j, &a);
	answer(no);
	j.next = 51;
	ok(rig_join_as(1001, j, &a) == CONTROL_REFUSED,
	    "it refuses a worker that is further ahead of the parent");
	j.next = 50;
	rig_join_as(1000, j, &a);
	answer(no);
	j.next = 36;
	ok(rig_join_as(1001, j, &a) == -1 && await_join().next == 36,
	    "it asks about a worker that is nearer to the parent");
	rigged_close(&rig_plane);
}

/* Request segment 1 of iteration t as worker 0; return whether it is gone. */
static bool
request_gone(uint32_t t)
{
	const union addr from = rig_addr(1000);
	uint8_t m[CONTROL_MAX_BYTES], room[REPAIR_BITMAP_BYTES];
	struct repair_help h = { .iteration = t };
	struct control_ack a;
	struct control c;

	repair_add(&h.lacks, room, 1);
	rig_n = 0;
	rigged_take(&rig_plane, &from, CONTROL_TOS, m,
	    repair_write_help(m, 1, rig_xid++, &h), rig_now);
	rig_flush();
	return rig_n == 2 && control_parse(rig_out[0].bytes, rig_out[0].len,
	    &c) && control_get_ack(&c, &a) && a.status == CONTROL_GONE;
}

/* A worker is killed, and starts again at the same port as before. */
static void
test_same_port(uint32_t slots)
{
	struct job_conf cf = rig_conf(1);
	struct control_join j = first;
	struct control_ack a;

	cf.slots = slots;
	rig_open(&cf, 0);
	j.next = 12;
	rig_join_as(1000, j, &a);
	j.next = 1;
	ok(rig_join_as(1000, j, &a) == CONTROL_DONE && a.next == 12 &&
	    request_gone(1) && !request_gone(12),
	    "results before the job's first iteration are gone (%s)",
	    slots > 0 ? "few slots" : "whole vectors");
	rigged_close(&rig_plane);
}

/*
 * Seed 7200222462: a restarted rack begins at the iteration of a worker that
 * cannot contribute to the iteration before.  Before this worker has sent its
 * Join again, another worker comes that needs the iteration before.
 */
static void
test_awaits_founder(void)
{
	struct control_join j = first;
	struct control_ack a;

	j.worker = 1;
	j.next = 26;
	begin_rack(2, j, admit(7));
	j.worker = 0;
	j.next = 25;
	j.again = true;
	ok(rig_join_as(1000, j, &a) == -1,
	    "a rack does not answer a worker that needs an iteration to which "
	    "the first worker cannot contribute");
	j.worker = 1;
	j.next = 26;
	j.again = false;
	ok(rig_join_as(1001, j, &a) == CONTROL_DONE && a.next == 26 &&
	    a.members == 1, "it still expects the first worker");
	j.worker = 0;
	j.next = 25;
	j.again = true;
	ok(rig_join_as(1000, j, &a) == CONTROL_REFUSED && a.next == 26,
	    "when the first worker is a member, the rack refuses the other "
	    "one, which fetches a state");
	rigged_close(&rig_plane);
	j.next = 26;
	j.again = false;
	j.worker = 1;
	begin_rack(2, j, admit(7));
	rig_now += ISWITCH_FOUNDER_NS;
	j.worker = 0;
	j.next = 25;
	j.again = true;
	ok(rig_join_as(1000, j, &a) == CONTROL_DONE && a.next == 25,
	    "it does not wait for a first worker that has ended");
	rigged_close(&rig_plane);
}

/* Send the parent's answer that the result of segment 0 of t is gone. */
static void
send_gone(uint32_t t)
{
	const struct control_ack gone = { .action = CONTROL_HELP,
	    .status = CONTROL_GONE, .seg = seg_word(t, 0, 0) };
	uint8_t m[256], *p;

	p = control_put_ack(control_put(m, CONTROL_ACK, 1, 1000), &gone);
	rig_n = 0;
	iswitch_receive_parent(&rig, 1, CONTROL_TOS, m, (size_t)(p - m),
	    rig_now);
	outbox_flush(rig.out);
}

/*
 * Seed 6000084502: a restarted rack begins at the iteration of a worker that
 * has restarted, too.  This worker then fetches the state of the other one, so
 * no member needs the first iteration, which the parent no longer keeps.
 */
static void
test_needless_iteration(void)
{
	struct control_join j = first;
	struct control_ack a;

	begin_rack(1, j, admit(7));
	rig_join_as(1000, j, &a);
	j.worker = 1;
	j.next = 1;
	j.again = true;
	rig_join_as(1001, j, &a);
	send_result(1, 0);	/* its sum was sent before the restart */
	send_gone(0);
	ok(rig.job[0]->core.members.present == 2 &&
	    count_posts(POST_GROUP, CONTROL_TOS, CONTROL_ACK) == 1,
	    "a rack tells its workers that the result of an iteration is gone");
	rig_say(1000, CONTROL_LEAVE, 0, 0, &a);
	j.worker = 0;
	rig_join_as(1000, j, &a);
	send_gone(0);
	ok(rig.job[0]->core.members.present == 0,
	    "if no worker needs that iteration, the rack lets its workers join "
	    "again");
	rigged_close(&rig_plane);
}

/* A rack that was restarted gives an iteration whose first results are gone. */
static void
test_rack_gives_again(void)
{
	struct job_conf cf = rig_conf(2);
	struct control_join j = { .type = CONTROL_SWITCH, .elements = ELEMENTS,
	    .repairs = true, .sends_state = true, .next = 2 };
	struct control_ack a;

	cf.slots = 3;
	open_two_racks(&cf, &j);
	for (uint32_t i = 0; i < SEGS; i++)
		for (uint32_t w = 0; w < 2 && i + w < SEGS; w++)
			rig_segment(w, 2, i, 4, 1);
	rig_say(1001, CONTROL_LEAVE, 0, 0, &a);
	j.next = 3;
	j.again = true;
	ok(rig_join_as(1001, j, &a) == CONTROL_DONE && a.next == 3 &&
	    rig.job[0]->core.members.present == 1,
	    "the job begins again with a rack that must give segments again "
	    "that have no slot");
	rigged_close(&rig_plane);
}

/* Request all of round t as worker 1; return the number of rounds sent. */
static uint32_t
request_whole_round(uint32_t t)
{
	const union addr from = rig_addr(1001);
	const uint32_t segs = rig.job[0]->core.sums.s.segs;
	uint8_t m[CONTROL_MAX_BYTES], room[REPAIR_BITMAP_BYTES];
	struct repair_help h = { .iteration = SEG_ITERATIONS - 1,
	    .seen = rig.job[0]->core.serial, .last = REPAIR_NONE, .round = t };

	for (uint32_t i = 0; i < segs; i++)
		repair_add(&h.lacks, room, i);
	rig_n = 0;
	rigged_take(&rig_plane, &from, CONTROL_TOS, m,
	    repair_write_help(m, 1, rig_xid++, &h), rig_now);
	rig_flush();
	return count_posts(POST_ONE, SEG_TOS, 0) / segs;
}

/*
 * An asynchronous worker that missed many rounds must get them faster than new
 * ones are completed.  Each Probe doubles the number of rounds, up to `most`.
 */
static void
test_catches_up(uint32_t segs, uint32_t most)
{
	struct job_conf cf = rig_conf(1);
	struct control_join j = first;
	struct control_ack a;
	uint32_t t = 0, n;
	bool doubles = true;

	cf.async = j.async = true;
	cf.keep_bytes = 16 << 20;
	j.elements = 4 * segs;
	rig_open(&cf, 0);
	rig_join_as(1000, j, &a);
	j.worker = 1;
	rig_join_as(1001, j, &a);
	for (uint32_t k = 0; k < 60; k++) {
		for (uint32_t i = 0; i < segs; i++)
			rig_segment(0, k, i, 4, 1);
	}
	for (n = 1; n <= most; n *= 2) {
		doubles = doubles && request_whole_round(t) == n;
		t += n;
	}
	ok(doubles && request_whole_round(t) == most,
	    "a worker that requests one round after the other gets twice as "
	    "many for each Probe, up to %u of %u segments", most, segs);
	for (t += most; t < 60; t += n)
		n = request_whole_round(t);
	ok(t == 60, "it gets no rounds that are not complete");
	ok(request_whole_round(3) == 1 && request_whole_round(9) == 1,
	    "a worker that requests single rounds gets only these");
	rigged_close(&rig_plane);
}

/* Join as worker w, which sends Probes, at iteration `next`. */
static int
join_probing(uint32_t w, uint32_t next)
{
	struct control_ack a;

	return rig_join_as((uint16_t)(1000 + w), (struct control_join){
	    .type = CONTROL_WORKER, .worker = w, .elements = 4, .next = next,
	    .repairs = true }, &a);
}

/*
 * Seed 8100060082: a rack and its worker are restarted together, and the rack
 * joins from the same address.  Its parent must not take it for the member that
 * the parent knows.
 */
static void
test_lost_state(void)
{
	const struct job_conf cf = rig_conf(2);

	rig_open(&cf, 0);
	join_probing(0, 0);
	join_probing(1, 0);
	for (uint32_t t = 0; t < 5; t++) {
		rig_segment(0, t, 0, 4, 1);
		rig_segment(1, t, 0, 4, 1);
	}
	rig_xid -= 100;
	ok(join_probing(0, 0) == -1 && rig.job[0]->core.members.present == 2,
	    "a late copy of an old Join changes nothing");
	rig_xid += 100;
	ok(join_probing(0, 3) == CONTROL_DONE,
	    "a member may still lack the results that are kept");
	ok(join_probing(0, 0) == CONTROL_REFUSED &&
	    rig.job[0]->core.members.present == 1,
	    "a member that needs older results has lost its state, so it is "
	    "refused");
	ok(join_probing(0, 5) == CONTROL_DONE,
	    "it can join again with a newer state");
	rigged_close(&rig_plane);
}

/*
 * A member that has lost its state is removed.  If H is the number of members,
 * an iteration that only lacked that member is complete then.
 */
static void
test_lost_state_completes(void)
{
	const struct job_conf cf = rig_conf(0);

	rig_open(&cf, 0);
	for (uint32_t w = 0; w < 3; w++)
		join_probing(w, 0);
	rig_now += 1000000000;
	iswitch_run_deadlines(&rig, rig_now);
	for (uint32_t t = 0; t < 6; t++)
		for (uint32_t w = 0; w < 3 - (t == 5); w++)
			rig_segment(w, t, 0, 4, 1);
	ok(count_posts(POST_GROUP, SEG_TOS, 0) == 0,
	    "an iteration lacks one member");
	ok(join_probing(2, 0) == CONTROL_REFUSED &&
	    count_posts(POST_GROUP, SEG_TOS, 0) == 1,
	    "it is complete after this member has lost its state");
	rigged_close(&rig_plane);
}

/* A worker with a ring may join only before the first sum is complete. */
static void
test_new_job_only(void)
{
	const struct job_conf cf = rig_conf(2);
	struct control_join j = { .type = CONTROL_WORKER, .elements = 4,
	    .repairs = true, .creates_job = true };
	struct control_ack a;

	rig_open(&cf, 0);
	rig_join_as(1000, j, &a);
	rig_segment(0, 0, 0, 4, 1);
	j.worker = 1;
	ok(rig_join_as(1001, j, &a) == CONTROL_DONE,
	    "a Join for a new job is accepted while no sum is complete");
	rig_segment(0, 0, 0, 4, 1);
	rig_segment(1, 0, 0, 4, 1);
	j.worker = 2;
	ok(rig_join_as(1002, j, &a) == CONTROL_REFUSED,
	    "after the first sum, it is refused");
	j.creates_job = false;
	ok(rig_join_as(1002, j, &a) == CONTROL_DONE,
	    "a Join for any job is still accepted");
	rigged_close(&rig_plane);
}

/*
 * Seed 9530091060: the Leave of an asynchronous worker was lost.  The worker
 * comes back with weights that do not belong to any round of the job.
 */
static void
test_other_weights(void)
{
	struct job_conf cf = rig_conf(1);
	struct control_join j = { .type = CONTROL_WORKER, .async = true,
	    .elements = 4, .repairs = true, .creates_job = true };
	struct control_ack a;

	cf.async = true;
	cf.keep_bytes = 10000;
	rig_open(&cf, 0);
	rig_join_as(1000, j, &a);
	j.worker = 1;
	rig_join_as(1001, j, &a);
	rig_segment(0, 0, 0, 4, 1);
	rig_segment(1, 0, 0, 4, 1);
	rig_xid = rig.job[0]->core.members.m[1].join_xid;
	ok(rig_join_as(1001, j, &a) == CONTROL_DONE,
	    "a copy of a Join for a new job is accepted");
	j.next = 1;
	ok(rig_join_as(1001, j, &a) == CONTROL_REFUSED &&
	    rig.job[0]->core.members.present == 1,
	    "a member that can join only a new job is refused, although its "
	    "Leave was lost");
	j.creates_job = false;
	ok(rig_join_as(1001, j, &a) == CONTROL_DONE,
	    "it can join again with a state of the job");
	rigged_close(&rig_plane);
}

/*
 * Seed 9540040368: a rack was restarted.  Its first worker lacks round 1, but
 * the parent is complete up to round 2 and no longer keeps round 1.
 */
static void
test_skips_round(void)
{
	struct control_join j = first;
	struct control_ack a, up = admit(7), gone = { .action = CONTROL_HELP,
	    .status = CONTROL_GONE, .seg = seg_word(1, 0, 0) };
	uint32_t sent = 0;
	uint8_t m[64];

	j.worker = 1;
	j.next = up.next = 1;
	begin_rack(2, j, up);
	rig_join_as(1001, j, &a);
	j.worker = 0;
	j.next = 2;
	j.again = true;
	rig_join_as(1000, j, &a);
	for (uint32_t i = 0; i < SEGS; i++)
		send_result(2, i);
	rig_n = 0;
	rig_now += 300000000;
	iswitch_run_deadlines(&rig, rig_now);
	outbox_flush(rig.out);
	ok(count_posts(POST_PARENT, CONTROL_TOS, CONTROL_HELP) > 0,
	    "a rack requests the round that its parent has completed");
	/* the worker that lacks the round has fetched a state */
	rig.job[0]->core.members.m[0].next = rig.job[0]->core.members.m[1].next;
	for (uint32_t i = 0; i < 2 * SEGS; i++) {
		rig_segment(i % 2, 3, i / 2, 4, 1);
		sent += count_posts(POST_PARENT, SEG_TOS, 0);
	}
	ok(sent == 0, "segments of a later round must wait");
	rig_n = 0;
	iswitch_receive_parent(&rig, 1, CONTROL_TOS, m, (size_t)(
	    control_put_ack(control_put(m, CONTROL_ACK, 1, 900), &gone) - m),
	    rig_now);
	outbox_flush(rig.out);
	ok(count_posts(POST_PARENT, SEG_TOS, 0) == SEGS,
	    "the rack goes on if nobody needs the round that is gone");
	rigged_close(&rig_plane);
}

/* Seed 9540280415: a late copy of a result must not be counted again. */
static void
test_counts_once(void)
{
	const struct job_conf cf = rig_conf(1);

	rig_open(&cf, 0);
	join_probing(0, 0);
	rig_segment(0, 0, 0, 4, 1);
	ok(job_is_whole(&rig.job[0]->core, 0), "an iteration is complete");
	job_count_completion(&rig.job[0]->core, 0, 0);
	ok(job_is_whole(&rig.job[0]->core, 0),
	    "it is complete after a late copy of a result, too");
	rigged_close(&rig_plane);
}

int
main(void)
{
	test_old_challenge();
	test_late_results();
	test_believed_result(3);
	test_believed_result(0);
	test_late_result(3);
	test_late_result(0);
	test_help_alone();
	test_rack_goes_back();
	test_behind_parent();
	test_async_rack();
	test_async_early_results();
	test_async_opens();
	test_async_behind();
	test_async_next();
	test_refused_for_another();
	test_same_port(3);
	test_same_port(0);
	test_awaits_founder();
	test_needless_iteration();
	test_catches_up(SEGS, 16);
	test_catches_up(300, MEMBERS_CATCH_UP_LEAST);
	test_rack_gives_again();
	test_lost_state();
	test_lost_state_completes();
	test_new_job_only();
	test_other_weights();
	test_skips_round();
	test_counts_once();
	return tap_end();
}
