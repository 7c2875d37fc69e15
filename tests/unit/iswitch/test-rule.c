/*
 * Test the rule that the first Join of a job names: how the switch combines
 * contributions, and how long it waits for them.
 */
#include "tests/unit/iswitch/rig.h"
#include "tests/unit/tap.h"

enum { ELEMENTS = 4 };

static const struct control_rule median = {
	.reduce = 1 + REDUCE_MEDIAN }, trimmed = {
	.reduce = 1 + REDUCE_TRIMMED, .detail = 1 }, fixed = {
	.reduce = 1 + REDUCE_FIXED, .detail = 20 }, brief = {
	.straggler_us = 50000 }, none = { 0 };

/* Join as worker w, with H of 3 members, and name a rule. */
static int
join_with(uint32_t w, struct control_rule rule, struct control_ack *a)
{
	return rig_join_as((uint16_t)(1000 + w), (struct control_join){
	    .type = CONTROL_WORKER, .worker = w, .elements = ELEMENTS,
	    .wants_left = true, .h = 3, .rule = rule,
	    .async = rig.cf.job.async }, a);
}

/* Does the refusal contain this text? */
static bool
refused(int status, const struct control_ack *a, const char *text)
{
	return status != CONTROL_DONE &&
	    memmem(a->text, a->text_bytes, text, strlen(text)) != NULL;
}

/* Return the first element of the last result, and its contributions. */
static float
result(uint16_t *contributions)
{
	struct seg g;

	*contributions = 0;
	for (uint32_t k = rig_n; k-- > 0;) {
		if (rig_out[k].tos != SEG_TOS || !seg_parse(rig_out[k].bytes,
		    rig_out[k].len, &g))
			continue;
		*contributions = g.contributions;
		return vec_get(g.vec, 0);
	}
	return 0;
}

/* A job of three computes the median, and the next job of the switch sums. */
static void
test_median(void)
{
	const struct job_conf cf = rig_conf(3);
	struct control_ack a;
	uint16_t n;

	rig_open(&cf, 0);
	ok(join_with(0, median, &a) == CONTROL_DONE &&
	    a.rule.reduce == median.reduce, "the first Join of a job names "
	    "the rule, and the Ack repeats it");
	ok(refused(join_with(1, trimmed, &a), &a, "it has --reduce median, and "
	    "this worker expects --reduce trimmed:1"),
	    "a Join with another rule is refused, and the text names both");
	ok(join_with(1, none, &a) == CONTROL_DONE && a.rule.reduce == 0 &&
	    join_with(2, median, &a) == CONTROL_DONE,
	    "Joins without a rule and with the same rule are accepted");
	rig_segment(0, 0, 0, ELEMENTS, 1);
	rig_segment(1, 0, 0, ELEMENTS, 2);
	rig_segment(2, 0, 0, ELEMENTS, 900);
	ok(result(&n) == 6 && n == 3, "the result is 3 times the median");
	for (uint16_t w = 0; w < 3; w++)
		rig_say((uint16_t)(1000 + w), CONTROL_LEAVE, 0, 0, &a);
	ok(join_with(0, none, &a) == CONTROL_DONE &&
	    rig.job[0]->core.rule.reduce.kind == REDUCE_SUM,
	    "the next job has the rule of the switch");
	rigged_close(&rig_plane);
}

/* A sum does not wait for a straggler, which is counted. */
static void
test_straggler(void)
{
	const struct job_conf cf = rig_conf(3);
	struct control_ack a;
	uint16_t n;

	rig_open(&cf, 0);
	for (uint32_t w = 0; w < 3; w++)
		join_with(w, brief, &a);
	ok(a.rule.straggler_us == 50000 && a.rule.reduce == 1 + REDUCE_SUM,
	    "the Ack has the whole rule of the job");
	rig_segment(0, 0, 0, ELEMENTS, 1);
	rig_segment(1, 0, 0, ELEMENTS, 2);
	rig_n = 0;
	rig_now += 49000000;
	iswitch_run_deadlines(&rig, rig_now);
	rig_flush();
	result(&n);
	ok(n == 0, "before the time has passed, the sum is not complete");
	rig_now += 2000000;
	iswitch_run_deadlines(&rig, rig_now);
	rig_flush();
	ok(result(&n) == 3 && n == 2,
	    "then it is completed with two contributions");
	rig_segment(2, 0, 0, ELEMENTS, 4);
	ok(result(&n) == 3 && n == 2 && rig.job[0]->core.members.m[2].late == 1
	    && rig.job[0]->core.members.m[1].late == 0,
	    "the late member receives the same result, and is counted");
	rigged_close(&rig_plane);
}

static void
test_limits(void)
{
	struct job_conf cf = rig_conf(3);
	struct control_ack a;

	rig_open(&cf, 0);
	ok(refused(join_with(0, (struct control_rule){ .reduce = 9 }, &a), &a,
	    "does not know this --reduce") && refused(join_with(0,
	    (struct control_rule){ .reduce = 1 + REDUCE_FIXED, .detail = 63 },
	    &a), &a, "does not know this --reduce"),
	    "unknown rules are refused");
	ok(refused(join_with(0, (struct control_rule){
	    .reduce = 1 + REDUCE_TRIMMED, .detail = 2 }, &a), &a,
	    "--reduce trimmed:2 needs at least 5 members"),
	    "a rule that needs more members than H is refused");
	ok(join_with(0, fixed, &a) == CONTROL_DONE && a.rule.detail == 20 &&
	    rig.job[0]->core.rule.reduce.fixed_bits == 20,
	    "a rule can name the bits after the binary point");
	rigged_close(&rig_plane);
	cf.async = true;
	rig_open(&cf, 0);
	ok(refused(join_with(0, median, &a), &a, "its own options say"),
	    "an asynchronous job has the rule of its switch");
	rigged_close(&rig_plane);
	cf = rig_conf(3);
	cf.slots = 8;
	rig_open(&cf, 0);
	ok(refused(join_with(0, brief, &a), &a, "its --slots-of-sums cannot"),
	    "a switch with few slots always waits for stragglers");
	rigged_close(&rig_plane);
}

/* A rack names the rule to its parent, and there is no median of medians. */
static void
test_rack(void)
{
	struct job_conf cf = rig_conf(3);
	const struct control_rule slow = { .reduce = 1 + REDUCE_ORDERED,
	    .straggler_us = 30000 };
	struct control_join join = { 0 };
	struct control_ack a;
	struct control c;

	cf.child = true;
	rig_open(&cf, 0);
	ok(refused(join_with(0, median, &a), &a, "no median of medians"),
	    "a rack refuses the median");
	(void)join_with(0, slow, &a);
	for (uint32_t k = 0; k < rig_n; k++) {
		if (rig_out[k].to == POST_PARENT && control_parse(
		    rig_out[k].bytes, rig_out[k].len, &c) &&
		    c.action == CONTROL_JOIN)
			(void)control_get_join(&c, &join);
	}
	ok(join.rule.reduce == slow.reduce && join.rule.straggler_us == 60000,
	    "it names other rules to its parent, which waits twice as long");
	rigged_close(&rig_plane);
	cf.child = false;
	rig_open(&cf, 0);
	ok(refused(rig_join_as(1000, (struct control_join){
	    .type = CONTROL_SWITCH, .worker = 7, .elements = ELEMENTS,
	    .wants_left = true, .rule = median }, &a), &a,
	    "no median of medians"), "a switch refuses the median of a rack");
	rigged_close(&rig_plane);
}

/* A member ends if the switch does not repeat the rule. */
static void
test_old_switch(void)
{
	const struct membership_conf in = { .type = CONTROL_WORKER, .job = 1,
	    .elements = 4, .floats_max = 366, .wants_left = true, .h = 3,
	    .rule = median, .give_up_ns = MEMBERSHIP_NEVER };
	const struct membership_place at = { 0 };
	uint8_t m[MEMBERSHIP_MESSAGE_BYTES];
	char why[MEMBERSHIP_WHY_BYTES];

	for (int knows = 0; knows < 2; knows++) {
		struct control_ack a = { .action = CONTROL_JOIN, .floats = 366,
		    .elements = 4, .h = 3 };
		struct membership l;
		struct control c;
		uint8_t *p;

		membership_init(&l, &in, 0);
		(void)membership_next(&l, 0, &at, m);
		if (knows == 1)
			a.rule = median;
		p = control_put_ack(control_put(m, CONTROL_ACK, 1,
		    l.join_xid), &a);
		ok(control_parse(m, (size_t)(p - m), &c) &&
		    membership_receive(&l, &c, 1) == (knows == 1 ?
		    MEMBERSHIP_IN : MEMBERSHIP_ENDED), "a member %s a switch "
		    "that %s its rule", knows == 1 ? "joins" : "does not join",
		    knows == 1 ? "repeats" : "ignores");
		ok(knows == 1 || strstr(membership_why(&l, why),
		    "too old for --reduce") != NULL, "the reason is given");
	}
}

int
main(void)
{
	test_median();
	test_straggler();
	test_limits();
	test_rack();
	test_old_switch();
	return tap_end();
}
