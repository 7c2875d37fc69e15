/*
 * Test H in a Join, and the Left messages that a switch sends if fewer than H
 * members remain.
 */
#include "tests/unit/iswitch/rig.h"
#include "tests/unit/tap.h"

enum { ELEMENTS = 8 };

/* Join as worker w, which names H and asks for Left messages if h is not 0. */
static int
join_with(uint32_t w, uint16_t h, struct control_ack *a)
{
	return rig_join_as((uint16_t)(1000 + w), (struct control_join){
	    .type = CONTROL_WORKER, .worker = w, .elements = ELEMENTS,
	    .repairs = true, .wants_left = h > 0, .h = h }, a);
}

/* Send a Probe of worker w, which has sent `upto` segments of an iteration. */
static void
probe_at(uint32_t w, uint32_t iteration, uint32_t upto)
{
	const union addr from = rig_addr((uint16_t)(1000 + w));
	const struct repair_help h = { .iteration = iteration,
	    .mark = 2 * iteration + upto, .upto = upto, .last = REPAIR_NONE };
	uint8_t m[CONTROL_MAX_BYTES];

	rig_n = 0;
	rigged_take(&rig_plane, &from, CONTROL_TOS, m,
	    repair_write_help(m, 1, rig_xid++, &h), rig_now);
	rig_flush();
}

/* Send a Probe of worker w, which has sent both segments of iteration 0. */
static void
probe(uint32_t w)
{
	probe_at(w, 0, 2);
}

/* Return the number of Lefts that were sent to worker w, or to the parent. */
static int
find_left(int w, struct control_left *l)
{
	struct control c;
	int n = 0;

	for (uint32_t k = 0; k < rig_n; k++) {
		const struct rig_sent *s = &rig_out[k];

		if (s->tos == CONTROL_TOS && (w < 0 ? s->to == POST_PARENT :
		    s->to == POST_ONE && s->port == 1000 + w) &&
		    control_parse(s->bytes, s->len, &c) &&
		    c.action == CONTROL_LEFT && control_get_left(&c, l))
			n++;
	}
	return n;
}

static void
test_h(void)
{
	const struct job_conf cf = rig_conf(4);
	struct control_ack a;

	rig_open(&cf, 0);
	ok(join_with(0, 2, &a) == CONTROL_DONE && a.h == 2,
	    "the first Join of a job names H");
	ok(join_with(1, 3, &a) == CONTROL_BAD_VALUE && a.h == 2,
	    "a Join with another H is refused, and the Ack names H");
	ok(join_with(1, 0, &a) == CONTROL_DONE && rig.job[0]->core.open,
	    "a Join without H is accepted, and the job opens with H members");
	rigged_close(&rig_plane);
	rig_open(&cf, 0);
	join_with(0, 0, &a);
	ok(join_with(1, 3, &a) == CONTROL_BAD_VALUE &&
	    join_with(1, 4, &a) == CONTROL_DONE,
	    "if the first Join names no H, the H of the switch counts");
	rigged_close(&rig_plane);
}

/* H belongs to a job, and not to the next job with the same number. */
static void
test_h_ends(void)
{
	const struct job_conf cf = rig_conf(4);
	struct control_ack a;

	rig_open(&cf, 0);
	join_with(0, 2, &a);
	rig_say(1000, CONTROL_LEAVE, 0, 0, &a);
	ok(join_with(0, 0, &a) == CONTROL_DONE && a.h == 4,
	    "a new job begins with the H of the switch");
	rigged_close(&rig_plane);
}

/* H of a median must be large enough, and a rack ignores H. */
static void
test_h_limits(void)
{
	struct job_conf cf = rig_conf(0);
	struct control_ack a;

	cf.rule.reduce.kind = REDUCE_TRIMMED;
	cf.rule.reduce.trim = 1;
	rig_open(&cf, 0);
	ok(join_with(0, 2, &a) == CONTROL_BAD_VALUE &&
	    join_with(0, 3, &a) == CONTROL_DONE,
	    "H must be large enough for the rule of the sum");
	ok(join_with(1, MEMBERS_MAX + 1, &a) == CONTROL_BAD_VALUE,
	    "H must not be larger than a job");
	rigged_close(&rig_plane);
	cf = rig_conf(2);
	cf.child = true;
	rig_open(&cf, 0);
	join_with(0, 8, &a);
	ok(rig.job[0]->core.h == 2 && rig.job[0]->named_h == 0,
	    "a switch with a parent ignores H");
	rigged_close(&rig_plane);
}

static void
test_left(void)
{
	const struct job_conf cf = rig_conf(0);
	struct control_left l = { 0 };
	struct control_ack a;

	rig_open(&cf, 0);
	for (uint32_t w = 0; w < 3; w++)
		join_with(w, 3, &a);
	for (uint32_t i = 0; i < 2; i++)
		rig_segment(0, 0, i, 4, 1);
	probe(0);
	ok(find_left(0, &l) == 0,
	    "no Left is sent while all members are there");
	rig_say(1001, CONTROL_LEAVE, 0, 0, &a);
	rig_now += 400000000;
	probe(0);
	ok(find_left(0, &l) == 0, "no Left is sent at once, because a member "
	    "that leaves may join again");
	rig_now += 100000000;
	probe(0);
	ok(find_left(0, &l) == 1 && l.worker == 1 && l.type == CONTROL_WORKER &&
	    !l.evicted && l.h == 3 && l.members == 2 && l.ago_ms == 500 &&
	    l.port == 1001, "a Probe gets a Left half a second later");
	rig_say(1002, CONTROL_LEAVE, 0, 0, &a);
	rig_now += 7000000;
	probe(0);
	ok(find_left(0, &l) == 1 && l.worker == 1 && l.members == 1 &&
	    l.ago_ms == 507, "the Left names the member that left first");
	join_with(1, 3, &a);
	rig_now += 600000000;
	probe(0);
	ok(find_left(0, &l) == 1 && l.worker == 2 && l.members == 2,
	    "if the first is back, the Left names the second");
	join_with(2, 3, &a);
	probe(0);
	ok(find_left(0, &l) == 0, "no Left is sent when H members are back");
	rigged_close(&rig_plane);
}

/* A worker that does not ask waits for a replacement. */
static void
test_not_asked(void)
{
	const struct job_conf cf = rig_conf(2);
	struct control_left l;
	struct control_ack a;

	rig_open(&cf, 0);
	join_with(0, 0, &a);
	join_with(1, 0, &a);
	for (uint32_t i = 0; i < 2; i++)
		rig_segment(0, 0, i, 4, 1);
	probe(0);
	rig_say(1001, CONTROL_LEAVE, 0, 0, &a);
	rig_now += 1000000000;
	probe(0);
	ok(find_left(0, &l) == 0, "a member that has not asked gets no Left");
	rigged_close(&rig_plane);
}

/* The member is silent, and its sums are complete without it. */
static void
test_silent(void)
{
	const struct job_conf cf = rig_conf(2);
	struct control_left l;
	struct control_ack a;

	rig_open(&cf, 0);
	join_with(0, 2, &a);
	join_with(1, 2, &a);
	for (uint32_t i = 0; i < 2; i++)
		for (uint32_t w = 0; w < 2; w++)
			rig_segment(w, 0, i, 4, 1);
	rig_now += 6000000000;
	probe(0);
	rig_now += 6000000000;
	rig_n = 0;
	iswitch_run_deadlines(&rig, rig_now);
	rig_flush();
	probe(0);
	ok(rig.job[0]->core.members.present == 1 && find_left(0, &l) == 0,
	    "a member whose sums are complete gets no Left");
	rig_now += 500000000;
	rig_segment(0, 1, 0, 4, 1);
	probe_at(0, 1, 1);
	ok(find_left(0, &l) == 1 && l.evicted && l.worker == 1,
	    "the message says that the member was silent");
	rigged_close(&rig_plane);
}

/* Send a Left about worker v from member w, or from the parent if w < 0. */
static void
send_left(int w, uint32_t v)
{
	const struct control_left l = { .type = CONTROL_WORKER, .worker = v,
	    .h = 2, .members = 1, .ago_ms = 500 };
	uint8_t m[64];
	const size_t n = (size_t)(control_put_left(control_put(m,
	    CONTROL_LEFT, 1, rig_xid++), &l) - m);
	const union addr from = rig_addr((uint16_t)(1000 + w));

	rig_n = 0;
	if (w < 0)
		iswitch_receive_parent(&rig, 1, CONTROL_TOS, m, n, rig_now);
	else
		rigged_take(&rig_plane, &from, CONTROL_TOS, m, n, rig_now);
	rig_flush();
}

/* Was a Left about worker v sent to worker w, or to the parent if w < 0? */
static bool
told(int w, uint32_t v)
{
	struct control_left l;

	return find_left(w, &l) == 1 && l.worker == v;
}

/* Was no Left sent to worker w, or to the parent if w < 0? */
static bool
untold(int w)
{
	struct control_left l;

	return find_left(w, &l) == 0;
}

/* The top switch sends a Left of a rack to its members, and repeats it. */
static void
test_passes_on(void)
{
	const struct job_conf cf = rig_conf(3);
	struct control_left l = { 0 };
	struct control_ack a;

	rig_open(&cf, 0);
	for (uint32_t w = 0; w < 3; w++)
		rig_join_as((uint16_t)(1000 + w), (struct control_join){
		    .type = w < 2 ? CONTROL_SWITCH : CONTROL_WORKER,
		    .worker = w, .elements = ELEMENTS, .repairs = true,
		    .wants_left = w != 2 }, &a);
	send_left(2, 7);
	ok(untold(0) && untold(1), "a Left of a worker goes nowhere");
	send_left(5, 7);
	ok(untold(0) && untold(1), "nor does that of a stranger");
	for (uint32_t i = 0; i < 2; i++)
		rig_segment(1, 0, i, 4, 1);
	send_left(0, 7);
	ok(told(0, 7) && told(1, 7) && untold(2), "a Left of a rack goes to "
	    "all members that ask for it, and the rack is one of them");
	send_left(0, 7);
	ok(told(0, 7) && untold(1), "if the rack repeats it, it goes to "
	    "the rack alone");
	rig_say(1000, CONTROL_LEAVE, 0, 0, &a);
	rig_now += 700000000;
	probe(1);
	ok(told(1, 7) && find_left(1, &l) == 1 && l.ago_ms == 1200,
	    "a Probe gets it again, although the rack has left");
	send_left(0, 8);
	send_left(1, 9);
	ok(told(1, 7), "the first Left counts");
	rig_join_as(1000, (struct control_join){ .type = CONTROL_SWITCH,
	    .elements = ELEMENTS, .repairs = true }, &a);
	probe(1);
	ok(untold(1), "after a Join it is forgotten");
	send_left(1, 9);
	for (uint32_t w = 0; w < 3; w++)
		rig_segment(w, 0, 0, 4, 1);
	probe(1);
	ok(untold(1), "after a sum it is forgotten");
	rigged_close(&rig_plane);
}

/*
 * Open a rack with workers 0 and 1.  Its parent lets it in, and it expects no
 * result.
 */
static void
open_rack(void)
{
	struct job_conf cf = rig_conf(2);
	struct control_ack a, up = { .action = CONTROL_JOIN, .timeout_s = 10,
	    .elements = ELEMENTS, .floats = 4, .repairs = true };
	struct control_join said;
	struct control c;
	uint8_t m[128];

	cf.child = true;
	rig_open(&cf, 0);
	join_with(0, 2, &a);
	control_parse(rig_out[0].bytes, rig_out[0].len, &c);
	ok(control_get_join(&c, &said) && said.wants_left && said.h == 0,
	    "a rack asks for Left messages if its first worker does");
	iswitch_receive_parent(&rig, 1, CONTROL_TOS, m, (size_t)(
	    control_put_ack(control_put(m, CONTROL_ACK, 1, c.xid), &up) - m),
	    rig_now);
	join_with(0, 2, &a);
	join_with(1, 2, &a);
	for (uint32_t i = 0; i < 2; i++)
		rig_segment(0, 0, i, 4, 1);
}

/* A rack tells its parent first. */
static void
test_rack(void)
{
	struct control_ack a;

	open_rack();
	rig_say(1001, CONTROL_LEAVE, 0, 0, &a);
	rig_now += 500000000;
	probe(0);
	ok(told(-1, 1) && untold(0), "a rack first tells its parent");
	probe(0);
	ok(told(-1, 1) && untold(0), "it repeats that with the next Probe");
	send_left(-1, 1);
	ok(told(0, 1) && untold(-1), "the answer of the parent goes to the "
	    "members");
	send_left(-1, 3);
	ok(untold(0), "the first answer counts");
	probe(0);
	ok(told(0, 1) && untold(-1), "a Probe gets it again");
	rigged_close(&rig_plane);

	open_rack();
	rig_say(1001, CONTROL_LEAVE, 0, 0, &a);
	rig_now += 1999000000;
	probe(0);
	ok(told(-1, 1) && untold(0), "a rack waits for its parent's answer");
	rig_now += 1000000;
	probe(0);
	ok(told(-1, 1) && told(0, 1), "it waits for at most 1.5 s");
	send_left(-1, 3);
	ok(told(0, 3) && untold(-1), "what the parent says takes precedence");
	rigged_close(&rig_plane);
}

/* A switch between racks and the top switch. */
static void
test_between(void)
{
	struct control_ack a;

	open_rack();
	rig_join_as(1002, (struct control_join){ .type = CONTROL_SWITCH,
	    .worker = 2, .elements = ELEMENTS, .repairs = true,
	    .wants_left = true }, &a);
	send_left(2, 7);
	ok(told(-1, 7) && untold(0) && untold(2),
	    "a Left of a rack goes to the parent");
	send_left(2, 8);
	ok(told(-1, 7) && untold(0) && untold(2),
	    "the parent is told about the first member again");
	rig_now += 1500000000;
	probe(0);
	ok(told(-1, 7) && told(0, 7), "the parent's answer is late");
	send_left(-1, 7);
	ok(told(0, 7) && told(2, 7), "the parent's answer goes to all");
	send_left(2, 7);
	ok(told(2, 7) && untold(-1) && untold(0),
	    "a rack that asks again gets the answer");
	rigged_close(&rig_plane);
}

int
main(void)
{
	test_h();
	test_h_ends();
	test_h_limits();
	test_left();
	test_not_asked();
	test_silent();
	test_passes_on();
	test_rack();
	test_between();
	return tap_end();
}
