/* Test the aggregation switch: its members, sums and deadlines. */
#include <math.h>

#include "tests/unit/iswitch/rig.h"
#include "tests/unit/tap.h"

static void
test_sums(void)
{
	struct job_conf cf = rig_conf(2);
	struct seg g;

	rig_open(&cf, 0);
	ok(rig_join(0, 6, 5) == CONTROL_DONE && rig_join(1, 6, 5) ==
	    CONTROL_DONE, "two workers join");
	rig_segment(0, 5, 1, 2, 1);
	ok(rig_n == 0, "with one of two contributions nothing is sent");
	rig_segment(1, 5, 1, 2, 2);
	ok(rig_result(&g) == 3 && g.contributions == 2 && g.iteration == 5 &&
	    g.index == 1 && g.n == 2 && rig_out[0].to == POST_GROUP,
	    "with both contributions the sum goes to all");
	rig_segment(0, 5, 1, 2, 1);
	ok(rig_result(&g) == 3 && rig_out[0].to == POST_ONE &&
	    rig_out[0].port == 1000, "a repeated contribution gets the result, "
	    "for its sender alone");
	rig_segment(0, 7, 1, 2, 1);
	ok(rig_n == 0 && rig_count(JOB_EARLY) == 1,
	    "a contribution two iterations ahead is too early");
	rig_segment(0, 6, 1, 2, 4);
	rig_segment(0, 6, 1, 2, 4);
	ok(rig_count(JOB_DUPLICATE) == 1, "a second contribution to a slot is "
	    "a duplicate");
	rig_segment(0, 6, 0, 3, 4);
	rig_segment(0, 6, 2, 3, 4);
	ok(rig_count(JOB_MISMATCHED) == 2, "contributions of other lengths are "
	    "not added");
	{
		const union addr from = rig_addr(1000);
		uint8_t m[24] = { 0 };

		seg_put(m, 6, 0, 0);
		rigged_take(&rig_plane, &from, SEG_TOS, m, 24, rig_now);
		ok(rig_count(JOB_MISMATCHED) == 3,
		    "a segment with a contribution count of 0 is not added");
	}
	rig_segment(9, 6, 0, 4, 4);
	ok(rig.n[ISWITCH_FOREIGN] == 1 && rig_n == 1 && rig_out[0].port ==
	    1009, "an unknown worker learns once that it is not a member");
	rig_segment(9, 6, 0, 4, 4);
	ok(rig.n[ISWITCH_FOREIGN] == 2 && rig_n == 0,
	    "an unknown worker is not told again at once");
	rigged_close(&rig_plane);
}

/* Restarted workers reach a restarted switch first. */
static void
test_furthest(void)
{
	struct job_conf cf = rig_conf(3);
	struct control_ack a;
	struct control_join fresh = { .type = CONTROL_WORKER, .elements = 4,
	    .next = 1, .sends_state = true };
	struct control_join far = { .type = CONTROL_WORKER, .elements = 4,
	    .next = 7, .worker = 1 };

	rig_open(&cf, 0);
	rig_join_as(1000, fresh, &a);
	ok(rig_join_as(1001, far, &a) == CONTROL_REFUSED && a.next == 1,
	    "a worker that is ahead and cannot send its state is refused");
	far.sends_state = true;
	ok(rig_join_as(1001, far, &a) == CONTROL_DONE && a.next == 7,
	    "a worker that is ahead and can send its state sets the iteration "
	    "of the job");
	ok(rig_join_as(1000, fresh, &a) == CONTROL_REFUSED && a.next == 7,
	    "the first worker must fetch this state");
	fresh.next = 7;
	ok(rig_join_as(1000, fresh, &a) == CONTROL_DONE && a.next == 7,
	    "then the first worker joins");
	fresh.worker = 2;
	rig_join_as(1002, fresh, &a);
	for (uint32_t i = 0; i < 3; i++)
		rig_segment(i == 0 ? 1 : i == 1 ? 0 : 2, 7, 0, 4, 1);
	far.next = 9;
	ok(rig_join_as(1001, far, &a) == CONTROL_DONE && a.next == 7,
	    "a job with results keeps its iteration");
	rigged_close(&rig_plane);
	rig_open(&cf, 0);
	fresh.worker = 0;
	fresh.next = 0;
	rig_join_as(1000, fresh, &a);
	far.next = 9000000;
	ok(rig_join_as(1001, far, &a) == CONTROL_DONE && a.next == 9000000 &&
	    rig_join_as(1000, fresh, &a) == CONTROL_REFUSED &&
	    a.next == 9000000,
	    "no worker is behind iteration 0, even by more than 2^23");
	rigged_close(&rig_plane);
	rig_open(&cf, 0);
	fresh.next = SEG_ITERATIONS - 1;
	rig_join_as(1000, fresh, &a);
	far.next = 0;
	ok(rig_join_as(1001, far, &a) == CONTROL_DONE && a.next == 0,
	    "a worker that comes after the iteration number wraps joins at 0");
	rigged_close(&rig_plane);
}

/* Send a Probe from port, of a member that has sent two segments. */
static void
send_probe(uint16_t port)
{
	const struct repair_help h = { .last = UINT32_MAX, .upto = 2 };
	struct control_ack a;
	uint8_t body[CONTROL_MAX_BYTES];

	rig_control(port, CONTROL_HELP, 1, body,
	    (size_t)(repair_put_help(body, &h) - body), &a);
}

/*
 * A worker was killed and replaced at once.  Packets that it had sent arrive
 * after the Join of its replacement.
 */
static void
test_late_process(void)
{
	enum { DEAD = 1001, NEW = 1002 };
	struct job_conf cf = rig_conf(2);
	struct control_ack a;
	struct control_join j = { .type = CONTROL_WORKER, .elements = 8,
	    .worker = 1, .repairs = true };

	rig_open(&cf, 0);
	ok(rig_join_as(NEW, j, &a) == CONTROL_DONE &&
	    rig_join_as(DEAD, j, &a) == CONTROL_DONE &&
	    rig_join_as(NEW, j, &a) == -1,
	    "a late Join of a process that has ended gets its number back, "
	    "and the replacement has no answer yet");
	rig_segment(1, 0, 0, 4, 1);
	ok(rig_join_as(NEW, j, &a) == -1,
	    "a late segment of that process changes nothing");
	rig_now += 2000000000;
	ok(rig_join_as(NEW, j, &a) == CONTROL_DONE,
	    "after a second the replacement has the number again");
	send_probe(NEW);
	ok(rig_join_as(DEAD, j, &a) == CONTROL_TAKEN,
	    "a process that sends a Probe after its Join keeps the number");
	rigged_close(&rig_plane);
}

/*
 * The same after a restart of the switch, which no longer knows the process
 * that has ended.  Two packets of that process arrive after the Join of the
 * replacement: a late Join, and a Join or a Probe.
 */
static void
test_two_late_packets(bool join)
{
	enum { DEAD = 1001, NEW = 1002 };
	struct job_conf cf = rig_conf(2);
	struct control_ack a;
	struct control_join j = { .type = CONTROL_WORKER, .elements = 8,
	    .worker = 1, .repairs = true };
	int again = -1;

	rig_open(&cf, 0);
	rig_join_as(NEW, j, &a);
	rig_now += 300000000;
	rig_join_as(DEAD, j, &a);
	rig_now += 300000000;
	if (join)
		rig_join_as(DEAD, j, &a);
	else
		send_probe(DEAD);
	ok(rig_join_as(NEW, j, &a) == -1, "after two late packets of a process "
	    "that has ended the replacement has no answer yet (%s)",
	    join ? "two Joins" : "a Join and a Probe");
	rig_now += 1000000000;
	again = rig_join_as(NEW, j, &a);
	ok(again == CONTROL_DONE, "after a second it has the number again, "
	    "and is not told that another process has it");
	rig_now += 1000000000;
	rig_join_as(NEW, j, &a);
	ok(rig_join_as(DEAD, j, &a) == CONTROL_TAKEN,
	    "a Join of a living process keeps the number");
	rigged_close(&rig_plane);
}

/* If two living processes have one number, the later one keeps it. */
static void
test_two_living(void)
{
	enum { FIRST = 1001, SECOND = 1002 };
	struct job_conf cf = rig_conf(2);
	struct control_ack a;
	struct control_join j = { .type = CONTROL_WORKER, .elements = 8,
	    .worker = 1, .repairs = true };

	rig_open(&cf, 0);
	rig_join_as(FIRST, j, &a);
	rig_now += 300000000;
	rig_join_as(SECOND, j, &a);
	send_probe(SECOND);
	ok(rig_join_as(FIRST, j, &a) == -1, "two processes start with one "
	    "number: a Probe in the first second does not tell which one is "
	    "living");
	rig_now += 1100000000;
	send_probe(SECOND);
	ok(rig_join_as(FIRST, j, &a) == CONTROL_TAKEN,
	    "a Probe after a second does");
	rigged_close(&rig_plane);
}

/* After a restart of the switch only some members have the last result. */
static void
test_admission(void)
{
	struct job_conf cf = rig_conf(2);
	struct control_ack a;
	struct control_join j = { .type = CONTROL_WORKER, .elements = 4,
	    .next = 7, .crc = 77 };
	struct seg g;

	rig_open(&cf, 0);
	ok(rig_join_as(1000, j, &a) == CONTROL_DONE && a.next == 7 &&
	    a.floats == 4 && a.elements == 4 && a.timeout_s == 10,
	    "the first Join says where a job begins");
	j.worker = 1;
	j.crc = 78;
	ok(rig_join_as(1001, j, &a) == CONTROL_REFUSED,
	    "other weights at the same iteration are refused");
	j.next = 5;
	ok(rig_join_as(1001, j, &a) == CONTROL_REFUSED,
	    "two iterations behind is refused");
	j.next = 6;
	ok(rig_join_as(1001, j, &a) == CONTROL_REFUSED,
	    "one behind, too, if not all can give that one again");
	rig.job[0]->core.members.m[0].can_give_from--;
	ok(rig_join_as(1001, j, &a) == CONTROL_DONE && a.next == 6,
	    "if they can, the job begins there");
	rig_segment(0, 6, 0, 4, 1);
	rig_segment(1, 6, 0, 4, 1);
	ok(rig_result(&g) == 2 && g.iteration == 6,
	    "a worker that is ahead sends that iteration again");
	j.worker = 2;
	ok(rig_join_as(1002, j, &a) == CONTROL_DONE,
	    "a worker whose next result is still kept is admitted");
	j.worker = 3;
	j.next = 4;
	ok(rig_join_as(1003, j, &a) == CONTROL_REFUSED,
	    "a worker whose next result is no longer kept is refused");
	j.elements = 5;
	ok(rig_join_as(1003, j, &a) == CONTROL_BAD_VALUE && a.elements == 4,
	    "a vector of another length is refused, and the Ack has the length "
	    "of the job");
	rigged_close(&rig_plane);
}

static void
test_repeated(void)
{
	struct job_conf cf = rig_conf(0);
	const union addr from = rig_addr(5);
	struct control_join j = { .type = CONTROL_WORKER, .elements = 4 };
	uint8_t m[64], first[RIG_BYTES];
	uint8_t *p = control_put_join(control_put(m, CONTROL_JOIN, 1, 100),
	    &j);

	rig_open(&cf, 0);
	rigged_take(&rig_plane, &from, CONTROL_TOS, m, (size_t)(p - m),
	    rig_now);
	outbox_flush(rig.out);
	memcpy(first, rig_out[0].bytes, RIG_BYTES);
	rigged_take(&rig_plane, &from, CONTROL_TOS, m, (size_t)(p - m),
	    rig_now);
	outbox_flush(rig.out);
	ok(rig_n == 2 && memcmp(first, rig_out[1].bytes, rig_out[1].len) == 0
	    && rig_count(JOB_JOINS) == 1, "a request with an equal xid gets "
	    "the same Ack");
	bytes_put(m + 4, 99, 4);
	rigged_take(&rig_plane, &from, CONTROL_TOS, m, (size_t)(p - m),
	    rig_now);
	outbox_flush(rig.out);
	ok(rig_n == 2 && rig_plane.pl.controls[CONTROLS_OLD_XID] == 1,
	    "a request with an older xid gets no answer");
	rigged_close(&rig_plane);
}

/* H follows the members: they join, leave, and fall silent. */
static void
test_following(void)
{
	struct job_conf cf = rig_conf(0);
	struct control_ack a;
	struct seg g;

	rig_open(&cf, 0);
	rig_now = 1000;
	rig_join(0, 4, 0);
	rig_join(1, 4, 0);
	rig_segment(0, 0, 0, 4, 1);
	ok(rig_count(JOB_EARLY) == 1, "a job is closed at first");
	rig_now += JOB_OPEN_NS;
	rig_segment(0, 0, 0, 4, 1);
	ok(rig_count(JOB_ADDED) == 1, "a job opens after a second without a "
	    "Join");
	ok(rig_join(2, 4, 0) == CONTROL_DONE, "a third worker joins later");
	rig_segment(2, 0, 0, 4, 10);
	ok(rig_count(JOB_LATE) == 1, "the third worker cannot contribute to a "
	    "slot that has started");
	rig_segment(1, 0, 0, 4, 2);
	ok(rig_result(&g) == 3 && g.contributions == 2,
	    "that slot does not wait for the third worker");
	rig_segment(0, 1, 0, 4, 1);
	rig_segment(2, 1, 0, 4, 4);
	ok(rig_n == 0, "the next slot waits for the third worker");
	ok(rig_control(1001, CONTROL_LEAVE, 1, NULL, 0, &a) == CONTROL_DONE,
	    "one worker leaves");
	ok(rig_out[0].tos == SEG_TOS && rig_n == 2,
	    "when the third worker has left, the sum goes out without it");
	rig_now += cf.member_timeout_ns / 2;
	rig_segment(0, 2, 0, 4, 1);
	rig_now += cf.member_timeout_ns / 2 + 1;
	rig_n = 0;
	iswitch_run_deadlines(&rig, rig_now);
	outbox_flush(rig.out);
	ok(rig_result(&g) == 1 && g.contributions == 1 &&
	    rig_count(JOB_EVICTED) == 1,
	    "a silent member is removed, and its slots are completed");
	rig_now += cf.member_timeout_ns;
	iswitch_run_deadlines(&rig, rig_now);
	ok(rig.job[0]->core.members.present == 0 &&
		rig.budget.used_bytes == 0 &&
		iswitch_deadline_ns(&rig) == UINT64_MAX,
	    "a job without members holds no memory");
	rigged_close(&rig_plane);
}

/*
 * If all members that have started leave, a late worker does not wait forever.
 */
static void
test_inherited(void)
{
	struct job_conf cf = rig_conf(0);
	struct control_ack a;
	struct seg g;

	rig_open(&cf, 0);
	rig_now = 1000;
	rig_join(0, 8, 0);
	rig_join(1, 8, 0);
	rig_now += JOB_OPEN_NS;
	rig_segment(0, 0, 0, 4, 1);
	rig_join(2, 8, 0);
	rig_control(1000, CONTROL_LEAVE, 1, NULL, 0, &a);
	rig_control(1001, CONTROL_LEAVE, 1, NULL, 0, &a);
	rig_segment(2, 0, 0, 4, 2);
	ok(rig_result(&g) == 3 && g.contributions == 2,
	    "a late worker adds to slots that the workers before it have "
	    "started");
	rig_segment(2, 0, 1, 4, 2);
	ok(rig_result(&g) == 2 && g.index == 1, "a late worker starts the "
	    "other slots");
	rigged_close(&rig_plane);
}

static void
test_helped(void)
{
	struct job_conf cf = rig_conf(3);
	struct control_ack a;
	struct seg g;

	rig_open(&cf, 0);
	for (uint32_t w = 0; w < 3; w++)
		rig_join(w, 4, 0);
	rig_segment(0, 0, 0, 4, 1);
	ok(rig_say(1001, CONTROL_HELP, seg_word(0, 0, 0), 8, &a) ==
	    CONTROL_DONE && rig_n == 3 && rig_out[0].port == 1001 &&
	    rig_out[1].port == 1002,
	    "Help for an incomplete slot requests the segment from all who "
	    "lack it");
	rig_say(1002, CONTROL_HELP, seg_word(0, 0, 0), 8, &a);
	ok(rig_n == 1, "a segment is requested from others once in 10 ms");
	rig_now += 10000000;
	rig_say(1002, CONTROL_HELP, seg_word(0, 0, 0), 8, &a);
	ok(rig_n == 3, "after 10 ms the segment is requested again");
	rig_segment(1, 0, 0, 4, 1);
	rig_segment(2, 0, 0, 4, 1);
	rig_say(1001, CONTROL_HELP, seg_word(0, 0, 0), 8, &a);
	ok(rig_out[0].tos == SEG_TOS && rig_out[0].port == 1001,
	    "Help for a complete slot gets the result");
	ok(rig_say(1001, CONTROL_HELP, seg_word(1, 0, 0), 8, &a) ==
	    CONTROL_DONE && rig_n == 4, "Help for a slot without a "
	    "contribution requests the segment from all");
	for (uint32_t t = 1; t < 3; t++)
		for (uint32_t w = 0; w < 3; w++)
			rig_segment(w, t, 0, 4, 1);
	ok(rig_say(1001, CONTROL_HELP, seg_word(0, 0, 0), 8, &a) ==
	    CONTROL_GONE && a.seg == seg_word(0, 0, 0),
	    "Help for an old iteration gets the answer that it is gone");
	ok(rig_say(1009, CONTROL_HELP, seg_word(0, 0, 0), 8, &a) ==
	    CONTROL_NOT_MEMBER, "an unknown worker gets no help");
	ok(rig_say(1009, CONTROL_SETH, 2, 2, &a) == CONTROL_DONE && a.h == 3,
	    "the answer to SetH has the previous value");
	rig_segment(0, 3, 0, 4, 1);
	rig_segment(1, 3, 0, 4, 1);
	ok(rig_result(&g) == 2, "two contributions are enough now");
	ok(rig_say(1009, CONTROL_FBCAST, seg_word(4, 0, 0), 8, &a) ==
	    CONTROL_NOT_READY, "an empty slot cannot be broadcast");
	rig_segment(0, 4, 0, 4, 1);
	rig_n = 0;
	ok(rig_say(1009, CONTROL_FBCAST, seg_word(4, 0, 0), 8, &a) ==
	    CONTROL_DONE && a.contributions == 1,
	    "FBcast broadcasts the contributions so far");
	for (uint32_t t = 5; t < 12; t++) {
		rig_segment(0, t, 0, 4, 1);
		rig_segment(1, t, 0, 4, 1);
	}
	rig_segment(2, 4, 0, 4, 1);
	ok(rig_result(&g) == 1 && g.iteration == 4 && g.contributions == 1 &&
	    rig_out[0].port == 1002,
	    "a worker that is behind gets a stored result");
	rigged_close(&rig_plane);
}

static void
test_limits(void)
{
	struct job_conf cf = rig_conf(1);
	struct control_ack a;
	uint64_t need;
	int done = 0, full = 0;

	rig_open(&cf, 0);
	rig_join(0, 1000, 0);
	need = rig.budget.used_bytes;
	rigged_close(&rig_plane);
	rig_open(&cf, need);
	ok(rig_join(0, 1000, 0) == CONTROL_DONE,
	    "a job may need exactly the allowed memory");
	ok(rig_control(2, CONTROL_STATS, 1, (uint8_t[2]){ 0 }, 2, &a) == 0,
	    "the switch still answers requests");
	rigged_close(&rig_plane);
	rig_open(&cf, need - 1);
	ok(rig_join(0, 1000, 0) == CONTROL_NO_ROOM &&
	    rig.budget.used_bytes == 0, "with one byte less the job is "
	    "refused");
	rigged_close(&rig_plane);
	rig_open(&cf, 0);
	for (uint32_t w = 0; w < 10000; w++) {
		int status = rig_join(w, 4, 0);

		done += status == CONTROL_DONE;
		full += status == CONTROL_NO_ROOM;
	}
	ok(done == MEMBERS_MAX && full == 10000 - MEMBERS_MAX,
	    "a flood of Joins gets as many members as there is room for");
	rig_now += 2 * cf.member_timeout_ns;
	iswitch_run_deadlines(&rig, rig_now);
	ok(rig.job[0]->core.members.present == 0,
	    "all of these members are gone in the end");
	rigged_close(&rig_plane);
}

/* A member that leaves, returns and leaves again counts for H once. */
static void
test_to_and_fro(void)
{
	struct job_conf cf = rig_conf(0);
	struct control_ack a;
	struct seg g;

	rig_open(&cf, 0);
	for (uint32_t w = 0; w < 3; w++)
		rig_join(w, 4, 1);
	rig_now += JOB_OPEN_NS;
	iswitch_run_deadlines(&rig, rig_now);
	rig_segment(0, 1, 0, 4, 1);
	rig_say(1000, CONTROL_LEAVE, 0, 0, &a);
	ok(rig_join(0, 4, 2) == CONTROL_DONE, "a member that left joins again");
	rig_say(1000, CONTROL_LEAVE, 0, 0, &a);
	rig_segment(1, 1, 0, 4, 2);
	ok(rig_n == 0 && rig_count(JOB_RESULTS) == 0,
	    "its earlier segment no longer counts for H, and is subtracted "
	    "once");
	rig_segment(2, 1, 0, 4, 4);
	ok(rig_result(&g) == 7 && g.contributions == 3,
	    "the remaining members complete the result");
	rigged_close(&rig_plane);
}

/*
 * Without Joins the switch learns the length of the vector from its segments.
 */
static void
test_implied(void)
{
	struct job_conf cf = rig_conf(0);
	struct seg g;

	rig_open(&cf, 0);
	rig.cf.implicit = 2;
	rig_segment(0, 1, 1, 2, 1);
	rig_segment(1, 1, 0, 4, 2);
	ok(rig_count(JOB_ADDED) == 2 && rig.job[0]->core.members.present == 2,
	    "the first two sources become members");
	rig_segment(2, 1, 0, 4, 2);
	ok(rig.n[ISWITCH_FOREIGN] == 1, "the third source does not become a "
	    "member");
	rig_segment(0, 1, 0, 4, 1);
	ok(rig_result(&g) == 3 && g.n == 4, "a longer segment is added");
	rig_segment(1, 1, 1, 2, 2);
	ok(rig_result(&g) == 3 && g.n == 2,
	    "a result is as long as its segment");
	rig_segment(0, 1, 1, 2, 2);
	ok(rig_result(&g) == 3 && g.n == 2 && rig_out[0].to == POST_ONE,
	    "a result that is sent again is as long as its segment");
	rigged_close(&rig_plane);
}

/* The same is true of pushes. */
static void
test_implied_async(void)
{
	struct job_conf cf = rig_conf(2);
	struct seg g;

	cf.async = true;
	rig_open(&cf, 0);
	rig.cf.implicit = 3;
	rig_segment(0, 1, 0, 4, 1);
	rig_segment(0, 1, 9, 4, 1);
	rig_segment(0, 1, 8, 4, 1);
	rig_segment(0, 1, 0, 4, 1);
	rig_segment(0, 1, 9, 4, 1);
	ok(rig_count(JOB_ADDED) == 3 && rig_count(JOB_DUPLICATE) == 2,
	    "pushes are known after a vector has grown");
	rig_segment(1, 1, 9, 3, 1);
	ok(rig_count(JOB_MISMATCHED) == 1 && rig_count(JOB_ADDED) == 3,
	    "a push shorter than the others of its round is not added");
	rig_segment(1, 1, 9, 4, 2);
	ok(rig_result(&g) == 3 && g.n == 4, "a complete push is added");
	rigged_close(&rig_plane);
}

static void
test_implied_and_joined(void)
{
	struct job_conf cf = rig_conf(0);

	rig_open(&cf, 0);
	rig.cf.implicit = 2;
	rig_join(1, 4, 1);
	rig_segment(0, 1, 0, 4, 1);
	ok(rig.job[0]->core.members.present == 2,
	    "one member has joined, and one sends only data");
	rig_say(1001, CONTROL_LEAVE, 0, 0, &(struct control_ack){ 0 });
	ok(rig.job[0]->core.members.present == 1 && rig_count(JOB_LEAVES) == 1,
	    "they are two members, whatever their numbers");
	rigged_close(&rig_plane);
}

/* Slots that started at the same time end in order of the index. */
static void
test_stragglers(void)
{
	struct job_conf cf = rig_conf(2);
	struct seg g;

	cf.rule.straggler_ns = 100;
	rig_open(&cf, 0);
	rig_join(0, 12, 1);
	rig_join(1, 12, 1);
	rig_segment(0, 1, 2, 4, 1);
	rig_segment(0, 1, 0, 4, 1);
	rig_segment(0, 1, 1, 4, 1);
	rig_n = 0;
	ok(iswitch_deadline_ns(&rig) == rig_now + 100,
	    "incomplete slots have a deadline");
	iswitch_run_deadlines(&rig, rig_now + 100);
	outbox_flush(rig.out);
	ok(rig_n == 3 && seg_parse(rig_out[0].bytes, 24, &g) &&
	    g.index == 0 && seg_parse(rig_out[1].bytes, 24, &g) &&
	    g.index == 1 && seg_parse(rig_out[2].bytes, 24, &g) &&
	    g.index == 2 && rig_count(JOB_PARTIAL) == 3,
	    "slots that started at the same time end in order of their index");
	rigged_close(&rig_plane);
}

/* The contributions of a member that left do not count for H. */
static void
test_comes_and_goes(void)
{
	struct job_conf cf = rig_conf(0);
	struct control_ack a;

	rig_open(&cf, 0);
	rig_join(0, 4, 1);
	rig_join(1, 4, 1);
	rig_now += JOB_OPEN_NS;
	rig_segment(0, 1, 0, 4, 1);
	for (int k = 0; k < 2; k++) {
		rig_say(1000, CONTROL_LEAVE, 0, 0, &a);
		rig_join(0, 4, 1);
	}
	ok(rig_count(JOB_RESULTS) == 0 &&
		rig.job[0]->core.sums.slot[1].accepted == 0,
	    "a member that left twice is subtracted once");
	rig_segment(1, 1, 0, 4, 2);
	ok(rig_count(JOB_RESULTS) == 1 && rig_count(JOB_PARTIAL) == 0 &&
	    rig.job[0]->core.sums.slot[1].contributions == 2,
	    "the slot waits for the members that are there");
	rigged_close(&rig_plane);
}

static int
join_job(uint16_t port, uint16_t job)
{
	const struct control_join j = { .type = CONTROL_WORKER,
	    .elements = 4 };
	struct control_ack a;
	uint8_t body[CONTROL_JOIN_MAX];

	return rig_control(port, CONTROL_JOIN, job, body,
	    (size_t)(control_put_join(body, &j) - body), &a);
}

/* Ten thousand workers join one after another: ids are used again. */
static void
test_come_and_go(void)
{
	struct job_conf cf = rig_conf(2);
	struct control_ack a;
	uint32_t in = 0, out = 0;

	rig_open(&cf, 0);
	rig_join(20000, 4, 1);	/* this worker stays, so the job stays too */
	for (uint32_t w = 0; w < 10000; w++, rig_now++) {
		in += rig_join(w, 4, 1) == CONTROL_DONE;
		out += rig_say((uint16_t)(1000 + w), CONTROL_LEAVE, 0, 0,
		    &a) == CONTROL_DONE;
	}
	ok(in == 10000 && out == 10000, "10,000 workers join and leave in "
	    "turn: %u joined, %u left", in, out);
	rigged_close(&rig_plane);
}

/* Only jobs with members keep their place in the table. */
static void
test_many_jobs(void)
{
	struct job_conf cf = rig_conf(0);
	struct control_ack a;
	bool all = true;

	rig_open(&cf, 0);
	rig_control(999, CONTROL_JOIN, 9999, NULL, 0, &a);
	ok(rig.jobs == 0, "an invalid Join makes no job");
	for (uint16_t k = 0; k < ISWITCH_JOBS_MAX; k++, rig_now++)
		all = all && join_job((uint16_t)(1000 + k), k) ==
		    CONTROL_DONE;
	ok(all && join_job(999, 5000) == CONTROL_NO_ROOM,
	    "the number of jobs is limited");
	rig_control(1007, CONTROL_LEAVE, 7, NULL, 0, &a);
	rig_control(1003, CONTROL_LEAVE, 3, NULL, 0, &a);
	ok(join_job(999, 5000) == CONTROL_DONE &&
		iswitch_find_job(&rig, 3) == NULL &&
		iswitch_find_job(&rig, 7) != NULL &&
		iswitch_find_job(&rig, 5000) == rig.job[3],
	    "a job without members gives its place to another");
	rigged_close(&rig_plane);
}

/* A result that is sent again is not overwritten before it has left. */
static void
test_resent_in_time(void)
{
	struct job_conf cf = rig_conf(1);
	const union addr from = rig_addr(1000);
	uint8_t m[SEG_HEADER_BYTES + 16];
	struct seg g;

	cf.async = true;	/* keeps 17 rounds */
	rig_open(&cf, 0);
	rig_join(0, 4, 0);
	rig_segment(0, 0, 0, 4, 1);
	rig_n = 0;
	for (uint32_t k = 0; k < 18; k++) {
		uint8_t *p = seg_put(m, k, 1, 0);

		if (k == 0) {	/* Help for round 0, and then the next round at
				 * once */
			p = control_put(m, CONTROL_HELP, 1, rig_xid++);
			p = bytes_put(p, seg_word(0, 0, 0), 8);
			rigged_take(&rig_plane, &from, CONTROL_TOS, m,
			    (size_t)(p - m), rig_now);
			continue;
		}
		for (uint32_t i = 0; i < 4; i++)
			vec_set(p, i, 50);
		rigged_take(&rig_plane, &from, SEG_TOS, m, sizeof(m), rig_now);
	}
	outbox_flush(rig.out);
	ok(rig_out[0].tos == SEG_TOS && rig_out[0].to == POST_ONE &&
	    seg_parse(rig_out[0].bytes, 24, &g) && g.iteration == 0 &&
	    vec_get(g.vec, 0) == 1, "a result that is sent again is unchanged");
	rigged_close(&rig_plane);
}

int
main(void)
{
	test_sums();
	test_admission();
	test_furthest();
	test_late_process();
	test_two_late_packets(true);
	test_two_late_packets(false);
	test_two_living();
	test_repeated();
	test_following();
	test_inherited();
	test_helped();
	test_limits();
	test_to_and_fro();
	test_implied();
	test_implied_async();
	test_implied_and_joined();
	test_stragglers();
	test_comes_and_goes();
	test_come_and_go();
	test_many_jobs();
	test_resent_in_time();
	return tap_end();
}
