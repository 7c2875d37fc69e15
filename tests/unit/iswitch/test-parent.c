/*
 * Test an aggregation switch below another: the packets it sends up, and its
 * reactions to the parent.
 */
#include <time.h>

#include "tests/unit/iswitch/rig.h"
#include "tests/unit/tap.h"

/* Return the parent's answer to a Join of rig_join(0, 4, ...). */
static struct control_ack
admit_rack(void)
{
	return (struct control_ack){ .action = CONTROL_JOIN, .timeout_s = 10,
	    .elements = 4, .floats = 4 };
}

/* Make a switch below another. */
static void
test_child(void)
{
	struct job_conf cf = rig_conf(2);
	struct control_ack up = admit_rack();
	struct control c;
	uint8_t m[256], *p;
	struct seg g;

	cf.child = true;
	rig_open(&cf, 0);
	rig_now = 1000;
	ok(rig_join(0, 4, 0) == -1 && rig_n == 1 && rig_out[0].to ==
	    POST_PARENT, "the first Join is forwarded to the parent before it "
	    "is answered");
	control_parse(rig_out[0].bytes, rig_out[0].len, &c);
	p = control_put_ack(control_put(m, CONTROL_ACK, 1, c.xid), &up);
	iswitch_receive_parent(&rig, 1, CONTROL_TOS, m, (size_t)(p - m),
	    rig_now);
	ok(rig_join(0, 4, 0) == CONTROL_DONE && rig_join(1, 4, 0) ==
	    CONTROL_DONE, "then all Joins are answered");
	rig_segment(0, 0, 0, 4, 1);
	rig_segment(1, 0, 0, 4, 2);
	ok(rig_n == 1 && rig_out[0].to == POST_PARENT &&
	    rig_result(&g) == 3 && g.contributions == 2,
	    "the sum of the rack goes to the parent");
	p = seg_put(m, 0, 5, 0);
	for (size_t k = 0; k < 4; k++)
		vec_set(p, k, 30);
	rig_n = 0;
	iswitch_receive_parent(&rig, 1, SEG_TOS, m, 24, rig_now);
	outbox_flush(rig.out);
	ok(rig_n == 1 && rig_out[0].to == POST_GROUP &&
	    rig_result(&g) == 30 && g.contributions == 5,
	    "a result of the parent goes to all workers");
	iswitch_receive_parent(&rig, 1, SEG_TOS, m, 24, rig_now);
	ok(rig_count(JOB_PARENT_OLD) == 1, "a second copy of the result is "
	    "dropped");
	rig_now += (uint64_t)3340000000;
	rig_n = 0;
	iswitch_run_deadlines(&rig, rig_now);
	outbox_flush(rig.out);
	ok(rig_n == 1 && rig_out[0].to == POST_PARENT,
	    "the rack sends signs of life to its parent");
	rigged_close(&rig_plane);
}

/* Check a rack whose worker sends one Join and no other. */
static void
check_forgotten(bool answered)
{
	struct job_conf cf = rig_conf(2);
	struct control_ack up = admit_rack();
	struct control c;
	uint8_t m[256], *p;

	cf.child = true;
	rig_open(&cf, 0);
	rig_join(0, 4, 0);
	control_parse(rig_out[0].bytes, rig_out[0].len, &c);
	p = control_put_ack(control_put(m, CONTROL_ACK, 1, c.xid), &up);
	if (answered)
		iswitch_receive_parent(&rig, 1, CONTROL_TOS, m, (size_t)(p - m),
		    rig_now);
	rig_now += 10000000000;
	rig_n = 0;
	iswitch_run_deadlines(&rig, rig_now);
	outbox_flush(rig.out);
	ok(iswitch_deadline_ns(&rig) == UINT64_MAX &&
		rig.budget.used_bytes == 0,
	    "a job that no worker requests again is dropped%s",
	    answered ? ", joined upward or not" : "");
	control_parse(rig_out[rig_n - 1].bytes, rig_out[rig_n - 1].len, &c);
	ok(rig_out[rig_n - 1].to == POST_PARENT && c.action == CONTROL_LEAVE,
	    "the rack sends a Leave, because the parent may have admitted it");
	rigged_close(&rig_plane);
}

/* Answer the last message to the parent. */
static void
answer_as_parent(struct control_ack up)
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

static void
ack_as_parent(enum control_action action, enum control_status status)
{
	struct control_ack up = admit_rack();

	up.action = (uint8_t)action;
	up.status = (uint8_t)status;
	answer_as_parent(up);
}

/* A rack whose workers are all there waits for the other racks. */
static void
test_gate(void)
{
	struct job_conf cf = rig_conf(2);
	struct control_ack up = admit_rack();
	struct control_join j = { .type = CONTROL_WORKER, .elements = 4,
	    .async = true };
	struct control_ack a;

	cf.async = cf.child = up.async = up.closed = true;
	rig_open(&cf, 0);
	rig_now = 1000;
	rig_join_as(1000, j, &a);
	answer_as_parent(up);
	ok(rig_join_as(1000, j, &a) == CONTROL_DONE && a.closed,
	    "a worker learns that other workers have not joined");
	j.worker = 1;
	ok(rig_join_as(1001, j, &a) == CONTROL_DONE && a.closed,
	    "the last worker of a rack learns that the parent is not open");
	rig_segment(0, 0, 0, 4, 1);
	rig_segment(1, 0, 0, 4, 2);
	ok(rig_n == 0 && rig_count(JOB_EARLY) == 2,
	    "no sum goes to the parent yet");
	rig_now += MEMBERSHIP_OPEN_NS;
	rig_n = 0;
	iswitch_run_deadlines(&rig, rig_now);
	outbox_flush(rig.out);
	ok(rig_n == 1 && rig_out[0].to == POST_PARENT,
	    "the rack asks the parent again soon");
	up.closed = false;
	answer_as_parent(up);
	ok(rig_join_as(1001, j, &a) == CONTROL_DONE && !a.closed,
	    "when the parent is open, the rack is open");
	rig_segment(0, 1, 0, 4, 1);
	rig_segment(1, 1, 0, 4, 2);
	ok(rig_n == 1 && rig_out[0].to == POST_PARENT,
	    "then the sums of the rack go to the parent");
	rigged_close(&rig_plane);
}

/* The last message of the parent counts; a lost one is repeated later. */
static void
test_parent_says(void)
{
	struct job_conf cf = rig_conf(0);
	struct control_join j = { .type = CONTROL_WORKER, .elements = 4,
	    .next = 7, .crc = 77 }, up;
	struct control_ack a;
	struct control c;
	uint8_t m[8];

	cf.child = true;
	rig_open(&cf, 0);
	rig_join_as(1000, j, &a);
	ack_as_parent(CONTROL_JOIN, CONTROL_DONE);
	rig_join_as(1000, j, &a);
	control_put(m, CONTROL_HALT, 1, 1);
	iswitch_receive_parent(&rig, 1, CONTROL_TOS, m, 8, rig_now);
	ok(rig.job[0]->core.halted, "a parent can halt a rack");
	rig_now += 1000000000;
	rig_n = 0;
	iswitch_run_deadlines(&rig, rig_now);
	outbox_flush(rig.out);
	ok(rig_n == 1 && rig_out[0].to == POST_PARENT,
	    "a halted rack asks its parent every second whether it may "
	    "continue");
	ack_as_parent(CONTROL_JOIN, CONTROL_DONE);
	ok(!rig.job[0]->core.halted && rig_n == 1 && rig_out[0].to ==
	    POST_GROUP && rig_out[0].bytes[0] == CONTROL_RESUME,
	    "the rack continues although the Resume was lost");
	rig_segment(0, 7, 0, 4, 1);
	ack_as_parent(CONTROL_HELP, CONTROL_NOT_MEMBER);
	ok(rig_n == 1 && control_parse(rig_out[0].bytes, rig_out[0].len, &c) &&
	    control_get_join(&c, &up) && up.next == 7 && up.crc == 0,
	    "a rack does not tell a parent that has forgotten the job about "
	    "old weights");
	rigged_close(&rig_plane);
}

/* A worker that requests a job from a rack and leaves is forgotten. */
static void
test_ghost(void)
{
	struct job_conf cf = rig_conf(0);

	cf.child = true;
	rig_open(&cf, 0);
	rig_join(0, 4, 0);
	ack_as_parent(CONTROL_JOIN, CONTROL_DONE);
	rig_now += cf.member_timeout_ns;
	rig_n = 0;
	iswitch_run_deadlines(&rig, rig_now);
	ok(rig_n > 0 && rig_out[rig_n - 1].to == POST_PARENT &&
	    rig_out[rig_n - 1].bytes[0] == CONTROL_LEAVE,
	    "if no worker returns for the parent's answer, the rack sends a "
	    "Leave");
	ok(!job_has_memory(&rig.job[0]->core) && rig.budget.used_bytes == 0 &&
		iswitch_deadline_ns(&rig) == UINT64_MAX,
	    "then the rack holds no memory, and nothing is due");
	rigged_close(&rig_plane);
}

/*
 * A job is charged for the buffers of its socket, whose size depends on the
 * vector.
 */
static void
test_socket_memory(void)
{
	struct job_conf cf = rig_conf(1);
	struct sums_shape s = job_shape(&cf, &cf.rule, 4, 4);
	uint64_t alone;

	rig_open(&cf, 0);
	rig_join(0, 4, 0);
	alone = rig.budget.used_bytes;
	rigged_close(&rig_plane);
	cf.child = true;
	rig_open(&cf, 0);
	rig_join(0, 4, 0);
	ok(rig.budget.used_bytes >= alone + 4 * JOB_SOCKET_MIN_BYTES &&
		rig.budget.used_bytes < alone + 5 * JOB_SOCKET_MIN_BYTES,
	    "the socket of a job to its parent is charged to the job");
	rigged_close(&rig_plane);
	ok(job_socket_bytes(&s) == JOB_SOCKET_MIN_BYTES,
	    "the socket of a short vector has small buffers");
	s = job_shape(&cf, &cf.rule, 100000, 366);
	ok(job_socket_bytes(&s) > 2 * 400000 &&
		job_socket_bytes(&s) < 4 * 400000,
	    "the buffers have room for two vectors");
	s = job_shape(&cf, &cf.rule, 100000000, 366);
	ok(job_socket_bytes(&s) == JOB_SOCKET_MAX_BYTES,
	    "the buffers of a long vector are limited");
}

/* A job without a socket is refused before it has memory. */
static void
test_socket_limit(void)
{
	struct job_conf cf = rig_conf(1);
	const struct control_join j = { .type = CONTROL_WORKER, .elements = 4 };
	uint8_t body[CONTROL_JOIN_MAX];
	const size_t len = (size_t)(control_put_join(body, &j) - body);
	struct control_ack a;

	cf.child = true;
	rig_open(&cf, 0);
	rig.cf.sockets = 1;
	rig_join(0, 4, 0);
	ok(!rig.lacks_sockets && job_has_memory(&rig.job[0]->core),
	    "the first job has a socket");
	ok(rig_control(1002, CONTROL_JOIN, 2, body, len, &a) ==
		CONTROL_NO_ROOM && rig.lacks_sockets &&
		!job_has_memory(&rig.job[1]->core) &&
		rig.budget.used_bytes == rig.job[0]->core.used_bytes,
	    "the second job is refused and costs no memory");
	rigged_close(&rig_plane);
}

/*
 * Open a rack with one worker, which sends two segments a vector, below a
 * parent that repairs or not.  Returns whether the rack offers repair to the
 * worker.
 */
static bool
open_rack_below(bool repairs, uint16_t h, struct control_join j)
{
	struct job_conf cf = rig_conf(h);
	struct control_ack up = admit_rack(), a = { 0 };

	cf.child = true;
	rig_open(&cf, 0);
	j.type = CONTROL_WORKER;
	j.elements = up.elements = 8;
	up.repairs = repairs;
	up.next = j.next;
	rig_join_as(1000, j, &a);
	answer_as_parent(up);
	rig_join_as(1000, j, &a);
	return a.repairs;
}

static void
open_rack(uint16_t h, struct control_join j)
{
	open_rack_below(true, h, j);
}

/* A rack asks its parent for lost results in the way that its workers ask. */
static void
test_rack_asks_as_it_can(void)
{
	const struct control_join j = { .repairs = true };

	ok(open_rack_below(true, 1, j), "a rack below a parent that repairs "
	    "offers repair too");
	rigged_close(&rig_plane);
	ok(!open_rack_below(false, 1, j), "otherwise workers send Help, which "
	    "the rack forwards");
	rigged_close(&rig_plane);
}

/* Send the parent's result of segment i at t. */
static void
send_parent_result(uint32_t t, uint32_t i)
{
	uint8_t m[SEG_HEADER_BYTES + 16] = { 0 };

	seg_put(m, t, 2, i);
	rig_n = 0;
	iswitch_receive_parent(&rig, 1, SEG_TOS, m, sizeof(m), rig_now);
	outbox_flush(rig.out);
}

/* Find the last Probe, or segment, to the parent; returns whether there is one.
 */
static bool
find_sent_up(uint8_t tos, struct repair_help *h, struct seg *g)
{
	struct control c;

	for (uint32_t k = rig_n; k-- > 0;) {
		const struct rig_sent *s = &rig_out[k];

		if (s->to == POST_PARENT && s->tos == tos)
			return tos == SEG_TOS ? seg_parse(s->bytes, s->len, g) :
			    control_parse(s->bytes, s->len, &c) &&
			    repair_is_help(&c) && repair_get_help(&c, h);
	}
	return false;
}

static void
test_rack_repairs(void)
{
	const union addr user = rig_addr(1);
	struct control_ack a;
	struct repair_help h;
	uint8_t m[8];
	struct seg g;

	open_rack(1, (struct control_join){ 0 });
	rig_segment(0, 0, 0, 4, 1);
	ok(find_sent_up(SEG_TOS, &h, &g) && !find_sent_up(CONTROL_TOS, &h, &g),
	    "a rack sends the segments that are ready");
	rig_segment(0, 0, 1, 4, 1);
	ok(find_sent_up(CONTROL_TOS, &h, &g) && h.mark == 2 && h.upto == 2,
	    "a rack sends a Probe about the tail of a vector");
	control_put(m, CONTROL_HALT, 1, rig_xid++);
	rigged_take(&rig_plane, &user, CONTROL_TOS, m, 8, rig_now);
	rig_now += 3000000000;
	iswitch_run_deadlines(&rig, rig_now);
	ok(iswitch_deadline_ns(&rig) > rig_now,
	    "a halted rack sends no Probe");
	rig_control(1, CONTROL_RESUME, 1, NULL, 0, &a);
	ok(find_sent_up(CONTROL_TOS, &h, &g), "a rack that continues sends a "
	    "Probe");
	rigged_close(&rig_plane);
}

/* The other racks continue without this one, and without its losses. */
static void
test_rack_behind(void)
{
	struct repair_help h;
	struct seg g;

	open_rack(1, (struct control_join){ 0 });
	for (uint32_t i = 0; i < 2; i++)
		rig_segment(0, 0, i, 4, 1);
	send_parent_result(0, 0);
	send_parent_result(1, 0);
	send_parent_result(1, 1);
	send_parent_result(0, 1);
	rig_segment(0, 2, 0, 4, 1);
	ok(find_sent_up(SEG_TOS, &h, &g) && g.iteration == 2,
	    "a rack continues after an iteration that arrived while an earlier "
	    "one was missing");
	rigged_close(&rig_plane);
	open_rack(1, (struct control_join){ 0 });
	for (uint32_t i = 0; i < 2; i++)
		rig_segment(0, 0, i, 4, 1);
	send_parent_result(0, 0);
	send_parent_result(1, 0);
	send_parent_result(1, 1);
	send_parent_result(2, 0);
	send_parent_result(0, 1);
	send_parent_result(2, 1);
	ok(job_is_whole(&rig.job[0]->core, 2),
	    "a late result does not count for the newest iteration");
	rigged_close(&rig_plane);
}

/*
 * Test a rack that has started while a second worker is one iteration behind.
 */
static void
test_rack_steps_back(void)
{
	struct control_join j = { .type = CONTROL_WORKER, .worker = 1,
	    .elements = 8, .next = 4 };
	struct control_ack a, up = admit_rack();
	struct repair_help h;
	struct seg g;

	open_rack(2, (struct control_join){ .next = 5, .again = true });
	rig_join_as(1001, j, &a);
	up.elements = 8;
	up.next = 4;
	up.repairs = true;
	for (uint32_t i = 0; i < 4; i++)
		rig_segment(i / 2, 4, i % 2, 4, 1);
	ok(!find_sent_up(SEG_TOS, &h, &g) && !find_sent_up(CONTROL_TOS, &h, &g),
	    "a rack that goes back sends nothing until its Join is answered");
	rig_n = 0;
	rig_now += 1000000000;
	iswitch_run_deadlines(&rig, rig_now);
	outbox_flush(rig.out);
	answer_as_parent(up);
	iswitch_run_deadlines(&rig, rig_now);
	outbox_flush(rig.out);
	ok(find_sent_up(SEG_TOS, &h, &g) && g.iteration == 4 &&
	    find_sent_up(CONTROL_TOS, &h, &g) && h.iteration == 4,
	    "after the answer, it sends Probes about its new segments");
	rigged_close(&rig_plane);
}

/*
 * Return the xid of the Join among the datagrams that were sent to the parent,
 * or 0, and set *next to its iteration.
 */
static uint32_t
find_join_up(uint32_t *next)
{
	struct control_join j;
	struct control c;

	for (uint32_t k = 0; k < rig_n; k++) {
		if (rig_out[k].to == POST_PARENT &&
		    rig_out[k].tos == CONTROL_TOS &&
		    control_parse(rig_out[k].bytes, rig_out[k].len, &c) &&
		    c.action == CONTROL_JOIN && control_get_join(&c, &j)) {
			*next = j.next;
			return c.xid;
		}
	}
	return 0;
}

/* Let the rack act at this time; return what find_join_up() returns. */
static uint32_t
run_rack(uint64_t later_ns, uint32_t *next)
{
	rig_n = 0;
	rig_now += later_ns;
	iswitch_run_deadlines(&rig, rig_now);
	outbox_flush(rig.out);
	return find_join_up(next);
}

/* Send the parent's Ack of the Join with this xid. */
static void
answer_join(uint32_t xid, struct control_ack up)
{
	uint8_t m[256], *p;

	p = control_put_ack(control_put(m, CONTROL_ACK, 1, xid), &up);
	rig_n = 0;
	iswitch_receive_parent(&rig, 1, CONTROL_TOS, m, (size_t)(p - m),
	    rig_now);
	outbox_flush(rig.out);
}

/* A rack that began its parent's job joins again as a sign of life. */
static void
test_rack_sign_of_life(void)
{
	struct control_ack a, up = admit_rack();
	struct control_join said = { 0 };
	struct control c;
	struct job_conf cf = rig_conf(1);
	uint32_t next = 0;

	cf.child = true;
	rig_open(&cf, 0);
	rig_now += 1000;
	rig_join_as(1000, (struct control_join){ .type = CONTROL_WORKER,
	    .elements = 4, .repairs = true, .creates_job = true }, &a);
	control_parse(rig_out[0].bytes, rig_out[0].len, &c);
	ok(control_get_join(&c, &said) && said.creates_job,
	    "the first Join of a rack can be for a new job only");
	answer_join(c.xid, up);
	ok(run_rack(3500000000, &next) != 0 && control_parse(rig_out[0].bytes,
	    rig_out[0].len, &c) && control_get_join(&c, &said) &&
	    !said.creates_job, "later Joins are for any job");
	rigged_close(&rig_plane);
}

/*
 * Test a rack that goes back while its Join from before is not answered yet.
 * The answer to that Join does not mean that the parent knows of it.
 */
static void
test_rack_steps_back_after_join(void)
{
	struct control_ack a, up = admit_rack();
	uint32_t before, after, next = 0;
	struct repair_help h;
	struct seg g;

	open_rack(2, (struct control_join){ .next = 5, .again = true });
	up.elements = 8;
	up.next = 5;
	up.repairs = true;
	before = run_rack(3500000000, &next);
	ok(before != 0 && next == 5, "a rack renews its membership");
	rig_join_as(1001, (struct control_join){ .type = CONTROL_WORKER,
	    .worker = 1, .elements = 8, .next = 4 }, &a);
	for (uint32_t i = 0; i < 4; i++)
		rig_segment(i / 2, 4, i % 2, 4, 1);
	answer_join(before, up);
	iswitch_run_deadlines(&rig, rig_now);
	outbox_flush(rig.out);
	ok(!find_sent_up(SEG_TOS, &h, &g), "the answer to a Join from before "
	    "the rack went back does not let it send");
	after = find_join_up(&next);
	if (after == 0)
		after = run_rack(1000000000, &next);
	ok(after != 0 && next == 4, "the rack sends a Join with the earlier "
	    "iteration");
	after = run_rack(1000000000, &next);
	ok(after != 0 && next == 4, "a Join that is lost is sent again");
	up.next = 4;
	answer_join(after, up);
	iswitch_run_deadlines(&rig, rig_now);
	outbox_flush(rig.out);
	ok(find_sent_up(SEG_TOS, &h, &g) && g.iteration == 4,
	    "its answer lets the rack send");
	rigged_close(&rig_plane);
}

/* Test a rack that goes back to an iteration that its parent refuses. */
static void
test_rack_steps_back_refused(void)
{
	const struct control_join j = { .type = CONTROL_WORKER, .worker = 1,
	    .elements = 8, .next = 4 };
	struct control_ack a, up = admit_rack();
	uint32_t xid, next = 0;

	open_rack(2, (struct control_join){ .next = 5, .again = true });
	rig_join_as(1001, j, &a);
	xid = run_rack(1000000000, &next);
	up.status = CONTROL_REFUSED;
	answer_join(xid, up);
	ok(xid != 0 && rig.job[0]->core.members.present == 0,
	    "if the parent refuses the earlier iteration, the members must "
	    "join again");
	ok(rig_join_as(1001, j, &a) == -1 && find_join_up(&next) != 0 &&
	    next == 4, "the next Join of a worker is forwarded to the parent");
	up = admit_rack();
	up.elements = 8;
	up.next = 4;
	answer_join(find_join_up(&next), up);
	ok(rig_join_as(1001, j, &a) == CONTROL_DONE && a.next == 4,
	    "the worker is admitted if the parent admits the rack then");
	rigged_close(&rig_plane);
}

/* Answer the last Probe to the parent, which is at t and has no segment. */
static void
send_parent_state(uint32_t t)
{
	uint8_t m[CONTROL_MAX_BYTES], bits = 3, *p;
	struct repair_state st = { .iteration = t,
	    .lacks = { .bits = &bits, .bytes = 1 } };
	struct control c = { 0 };

	for (uint32_t k = 0; k < rig_n; k++) {
		if (rig_out[k].to == POST_PARENT &&
		    rig_out[k].tos == CONTROL_TOS)
			control_parse(rig_out[k].bytes, rig_out[k].len, &c);
	}
	p = repair_put_state(control_put(m, CONTROL_ACK, 1, c.xid), &st);
	rig_n = 0;
	iswitch_receive_parent(
	    &rig, 1, CONTROL_TOS, m, (size_t)(p - m), rig_now);
	outbox_flush(rig.out);
}

/* Restart the parent, which admits the rack again; returns its Join. */
static struct control_join
restart_parent(void)
{
	struct control_ack up = admit_rack();
	struct control_join said = { 0 };
	struct control c;

	rig_now += 4000000000;		/* a sign of life is due */
	rig_n = 0;
	iswitch_run_deadlines(&rig, rig_now);
	outbox_flush(rig.out);
	ack_as_parent(CONTROL_HELP, CONTROL_NOT_MEMBER);
	rig_now += 1000000000;
	iswitch_run_deadlines(&rig, rig_now);
	outbox_flush(rig.out);
	control_parse(rig_out[rig_n - 1].bytes, rig_out[rig_n - 1].len, &c);
	control_get_join(&c, &said);
	up.elements = 8;
	up.repairs = true;
	answer_as_parent(up);
	return said;
}

/* A restarted parent has no result, and needs the sums of all racks. */
static void
test_rack_gives_again(void)
{
	struct control_join up;
	struct repair_help h;
	struct seg g;

	open_rack(1, (struct control_join){ 0 });
	rig_segment(0, 0, 0, 4, 1);
	rig_segment(0, 0, 1, 4, 1);
	send_parent_result(0, 0);
	up = restart_parent();
	ok(up.next == 0 && !up.again, "a rack in its first iteration cannot "
	    "send an earlier one again");
	rig_segment(0, 0, 0, 4, 1);
	ok(find_sent_up(SEG_TOS, &h, &g) && g.index == 0 &&
		g.contributions == 1,
	    "a complete sum goes to the restarted parent as the sum of this "
	    "rack");
	send_parent_result(0, 0);
	send_parent_result(0, 1);
	up = restart_parent();
	ok(up.next == 1 && up.again, "the members of the rack can send their "
	    "last gradient again");
	rig_segment(0, 1, 0, 4, 1);
	rig_segment(0, 1, 1, 4, 1);
	ok(find_sent_up(CONTROL_TOS, &h, &g) && h.iteration == 1,
	    "they do so if the parent needs it");
	send_parent_state(0);
	rig_segment(0, 0, 0, 4, 1);
	ok(find_sent_up(SEG_TOS, &h, &g) && g.iteration == 0 &&
	    g.contributions == 1, "the parent is one iteration behind");
	rigged_close(&rig_plane);
}

/* A switch above racks: a rack that has started goes back for a late worker. */
static void
test_core_follows_rack(void)
{
	struct control_join j = { .type = CONTROL_SWITCH, .elements = 8,
	    .next = 5, .again = true, .repairs = true };
	struct job_conf cf = rig_conf(2);
	struct control_ack a;

	rig_open(&cf, 0);
	rig_join_as(1000, j, &a);
	j.worker = 1;
	rig_join_as(1001, j, &a);
	rig_segment(0, 5, 0, 4, 1);
	j.next = 4;
	ok(rig_join_as(1001, j, &a) == CONTROL_DONE && a.next == 4,
	    "a rack that goes back takes its parent back too");
	rig_segment(0, 4, 0, 4, 1);
	rig_segment(1, 4, 0, 4, 2);
	ok(rig_count(JOB_RESULTS) == 1, "the other racks go back, and their "
	    "sums are sent again");
	rig_segment(0, 5, 0, 4, 1);
	rig_segment(1, 5, 0, 4, 2);
	ok(rig_count(JOB_RESULTS) == 2, "racks that were ahead go back too");
	j.next = 3;
	ok(rig_join_as(1001, j, &a) == CONTROL_DONE && a.next == 4,
	    "a rack goes back only once");
	rigged_close(&rig_plane);
}

/*
 * Return the processor time in ns of one second in which n jobs repeat their
 * Joins to a parent that does not answer.  Their Joins are due at different
 * times.
 */
static double
time_joins(uint16_t n)
{
	const struct control_join j = { .type = CONTROL_WORKER,
	    .elements = 4 };
	struct job_conf cf = rig_conf(1);
	uint8_t body[CONTROL_JOIN_MAX];
	const size_t len = (size_t)(control_put_join(body, &j) - body);
	struct control_ack a;
	struct timespec began, ended;

	cf.child = true;
	rig_open(&cf, 0);
	for (uint16_t id = 1; id <= n; id++) {
		rig_now += 1000;
		rig_control(1000 + id, CONTROL_JOIN, id, body, len, &a);
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &began);
	rig_now += 1000000000;
	iswitch_run_deadlines(&rig, rig_now);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ended);
	rigged_close(&rig_plane);
	return 1e9 * (double)(ended.tv_sec - began.tv_sec) +
	    (double)(ended.tv_nsec - began.tv_nsec);
}

/*
 * A switch with 1,000 jobs must not spend all its time on deadlines: it once
 * checked all jobs for each message that was due.
 */
static void
test_many_jobs(void)
{
	const double few = time_joins(100), many = time_joins(1000);

	ok(many < 60 * few, "the time for deadlines does not grow with the "
	    "square of the jobs (%.1f)", many / few);
}

int
main(void)
{
	test_child();
	test_many_jobs();
	check_forgotten(false);
	check_forgotten(true);
	test_gate();
	test_parent_says();
	test_ghost();
	test_socket_memory();
	test_socket_limit();
	test_rack_asks_as_it_can();
	test_rack_repairs();
	test_rack_behind();
	test_rack_steps_back();
	test_rack_sign_of_life();
	test_rack_steps_back_after_join();
	test_rack_steps_back_refused();
	test_rack_gives_again();
	test_core_follows_rack();
	return tap_end();
}
