/*
 * Test a switch's side of loss recovery: NACKs, STATEs, notices and
 * retransmissions.
 */
#include "tests/unit/iswitch/rig.h"
#include "tests/unit/tap.h"

enum { SEGS = 32, F = 4, NOT_THERE = 9999 };

static uint32_t probe_xid = 1000000;

/* Make a switch with one or two members that can repair losses. */
static void
open_with(uint32_t members)
{
	const struct job_conf cf = rig_conf(2);
	struct control_ack a;

	rig_open(&cf, 0);
	for (uint32_t w = 0; w < members; w++)
		rig_join_as((uint16_t)(1000 + w), (struct control_join){
		    .type = CONTROL_WORKER, .worker = w, .repairs = true,
		    .elements = SEGS * F }, &a);
}

static void
add(uint32_t w, uint32_t t, uint32_t i)
{
	rig_segment(w, t, i, F, 1);
}

/* Return the first missing index of a NACK that was sent, or NOT_THERE. */
static uint32_t
nack(struct repair_help *h)
{
	struct control c;

	for (uint32_t k = 0; k < rig_n; k++) {
		if (rig_out[k].tos == CONTROL_TOS && control_parse(
		    rig_out[k].bytes, rig_out[k].len, &c) &&
		    repair_is_help(&c) && repair_get_help(&c, h))
			return h->lacks.base;
	}
	return NOT_THERE;
}

/*
 * Return the number of STATEs that were sent to worker w, and the last in *s.
 */
static int
state(uint32_t w, struct repair_state *s)
{
	struct control c;
	int n = 0;

	for (uint32_t k = 0; k < rig_n; k++)
		n += rig_out[k].tos == CONTROL_TOS && rig_out[k].port ==
		    1000 + w && control_parse(rig_out[k].bytes,
		    rig_out[k].len, &c) && repair_is_state(&c) &&
		    repair_get_state(&c, s);
	return n;
}

static int
probe(uint32_t w, const struct repair_help *h, struct repair_state *s)
{
	const union addr from = rig_addr((uint16_t)(1000 + w));
	uint8_t m[CONTROL_MAX_BYTES];
	uint8_t *p = control_put(m, CONTROL_HELP, 1, probe_xid++);

	rig_n = 0;
	p = repair_put_help(p, h);
	rigged_take(&rig_plane, &from, CONTROL_TOS, m, (size_t)(p - m),
	    rig_now);
	rig_flush();
	return state(w, s);
}

static void
test_nacks(void)
{
	struct repair_help h;
	struct repair_state s;
	bool quiet = true;

	open_with(2);
	for (uint32_t i = 0; i < SEGS; i++) {
		add(0, 0, i);
		quiet = quiet && rig_n == 0;
	}
	ok(quiet, "without a gap there is no NACK");
	for (uint32_t i = 0; i < 6; i++) {
		if (i == 2)
			continue;
		quiet = quiet && nack(&h) == NOT_THERE;
		add(1, 0, i);
	}
	ok(quiet && nack(&h) == 2 && h.lacks.bytes == 1 && h.last == 5 &&
	    h.mark == 0 && !repair_lacks(&h.lacks, 3),
	    "a switch sends a NACK when 3 segments have arrived after a gap");
	for (uint32_t i = 7; i < 13; i++) {
		add(1, 0, i);
		quiet = quiet && nack(&h) == NOT_THERE;
	}
	add(1, 0, 13);
	quiet = quiet && nack(&h) == NOT_THERE;
	add(1, 0, 14);
	ok(quiet && nack(&h) == 6 && !repair_lacks(&h.lacks, 2) &&
	    !repair_lacks(&h.lacks, 7), "the next NACK follows after 8 "
	    "segments, and names no index twice");
	add(1, 0, 2);
	probe(1, &(struct repair_help){ .mark = 16, .upto = SEGS,
	    .last = REPAIR_NONE }, &s);
	quiet = s.dups == 0;
	add(1, 0, 2);
	add(1, 0, 3);
	probe(1, &(struct repair_help){ .mark = 16, .upto = 15,
	    .last = REPAIR_NONE }, &s);
	ok(quiet && s.dups == 1, "a duplicate of a requested segment is "
	    "counted, and of another segment is not");
	ok(rig.job[0]->core.members.m[1].loss_detect->slack ==
		2 * LOSS_DETECT_SLACK,
	    "from then on more segments may arrive before a late one");
	rigged_close(&rig_plane);
}

static void
test_states(void)
{
	struct repair_help h = { .mark = 1000, .upto = 8,
	    .last = REPAIR_NONE };
	struct repair_state s;
	uint8_t room[REPAIR_BITMAP_BYTES];

	open_with(2);
	for (uint32_t i = 0; i < 8; i++)
		add(0, 0, i);
	for (uint32_t i = 0; i < 7; i += 2)
		add(1, 0, i);
	h.upto = 6;
	ok(probe(1, &h, &s) == 1 && !s.whole && !s.notice && s.mark == 4 &&
	    s.seen == h.mark && s.resent == 0 && s.lacks.base == 1 &&
	    repair_lacks(&s.lacks, 3) && repair_lacks(&s.lacks, 5) &&
	    !repair_lacks(&s.lacks, 7), "a STATE says which of the sent "
	    "segments are missing");
	probe_xid--;
	h.mark = 3;
	ok(probe(1, &h, &s) == 0, "a Probe with the same xid is not answered "
	    "again");
	ok(probe(1, &h, &s) == 1 && s.seen == 3,
	    "a lower mark means that the member restarted");
	for (uint32_t i = 1; i < 8; i += 2)
		add(1, 0, i);
	for (uint32_t i = 0; i < 8; i++)
		repair_add(&h.lacks, room, i);
	h.last = 7;
	probe(0, &h, &s);
	ok(s.resent == 5 && rig_n == 6 && rig_out[0].tos == SEG_TOS &&
	    rig_out[5].tos == CONTROL_TOS, "the switch sends results again "
	    "that were complete 3 marks before the last that arrived, and then "
	    "the STATE");
	h.last = REPAIR_NONE;
	h.seen = 2;
	probe(0, &h, &s);
	ok(s.resent == 2, "it also sends results again that a STATE has "
	    "reported");
	for (uint32_t i = 8; i < SEGS; i++)
		add(0, 0, i);
	for (uint32_t i = 8; i < SEGS - 1; i++)
		add(1, 0, i);
	add(1, 0, SEGS - 1);
	ok(state(0, &s) == 1 && s.whole && s.notice && s.lacks.bytes == 0 &&
	    rig_out[0].tos == SEG_TOS, "the switch sends a notice when all "
	    "segments have arrived");
	ok(state(1, &s) == 1, "the notice goes to all members that had a STATE "
	    "with missing segments");
	add(1, 0, 2);
	ok(rig_n == 0 && rig_count(JOB_NOTICES) == 2 && rig_count(JOB_STATES)
	    == 4 && rig_count(JOB_PROBES) == 4, "the notice goes out once");
	rigged_close(&rig_plane);
}

/* A member has sent only the start of a vector, for example in a ring. */
static void
test_part(void)
{
	struct repair_help h = { .mark = 4, .upto = 4, .last = REPAIR_NONE };
	struct repair_state s;

	open_with(2);
	for (uint32_t i = 0; i < 4; i++)
		add(0, 0, i);
	ok(probe(0, &h, &s) == 1 && !s.whole && !s.notice,
	    "a STATE says that the results below upto are not complete");
	for (uint32_t i = 0; i < 3; i++)
		add(1, 0, i);
	ok(state(0, &s) == 0, "no notice is sent while one result is missing");
	add(1, 0, 3);
	ok(state(0, &s) == 1 && s.whole && s.notice,
	    "a notice follows when the results below upto are complete");
	ok(probe(1, &h, &s) == 1 && s.whole && !s.notice,
	    "a STATE says that the results below upto are complete");
	for (uint32_t i = 4; i < 8; i++)
		add(0, 0, i);
	h.mark = h.upto = 8;
	probe(0, &h, &s);
	add(0, 0, 8);
	for (uint32_t i = 4; i < 8; i++)
		add(1, 0, i);
	ok(state(0, &s) == 0, "a member that has sent later segments gets no "
	    "notice about the earlier ones");
	for (uint32_t i = 8; i < SEGS; i++) {
		add(0, 0, i);
		add(1, 0, i);
	}
	ok(state(0, &s) == 1 && s.whole && s.notice && rig_count(JOB_NOTICES)
	    == 3, "each member gets a notice about the whole iteration");
	rigged_close(&rig_plane);
}

/* A member that has sent nothing, among others that wait for a part. */
static void
test_no_part(void)
{
	struct repair_help h = { .mark = 4, .upto = 4, .last = REPAIR_NONE };
	struct repair_state s;
	int notices = 0;

	open_with(3);
	for (uint32_t i = 0; i < 4; i++)
		add(0, 0, i);
	probe(0, &h, &s);
	h.mark = h.upto = SEGS;
	probe(2, &h, &s);
	rig.job[0]->core.notify = true;
	add(1, 0, 4);
	ok(state(2, &s) == 0, "a member that has received no result gets no "
	    "notice, either");
	for (uint32_t i = 0; i < 3; i++) {
		add(1, 0, i);
		add(2, 0, i);
		notices += state(2, &s);
	}
	ok(notices == 0, "a member whose vector is not complete gets no "
	    "notice");
	rigged_close(&rig_plane);
}

/* Serial numbers and iterations wrap around. */
static void
test_wraps(void)
{
	struct repair_help h = { .upto = 8, .last = REPAIR_NONE };
	struct repair_state s;
	uint8_t room[REPAIR_BITMAP_BYTES];

	open_with(2);
	rig.job[0]->core.serial = UINT32_MAX - 4;
	for (uint32_t i = 0; i < 8; i++) {
		add(0, 0, i);
		add(1, 0, i);
		repair_add(&h.lacks, room, i);
	}
	h.seen = UINT32_MAX;
	ok(probe(0, &h, &s) == 1 && s.mark == 3 && s.resent == 4,
	    "mark 2^32 - 1 is before mark 0");
	h.seen = 1;
	ok(probe(0, &h, &s) == 1 && s.resent == 6, "mark 1 is after mark 0");
	h.last = 7;
	h.seen = UINT32_MAX;
	ok(probe(0, &h, &s) == 1 && s.resent == 5,
	    "3 marks before mark 3 is mark 0");
	rigged_close(&rig_plane);
}

static void
test_closed(void)
{
	struct repair_help h = { .mark = 8, .upto = 8, .last = REPAIR_NONE };
	struct repair_state s;
	struct control_ack a;

	open_with(1);
	for (uint32_t i = 0; i < 8; i++)
		add(0, 0, i);
	ok(rig_count(JOB_EARLY) == 8 && probe(0, &h, &s) == 0,
	    "before a job opens, a STATE names no missing segments, because "
	    "they would be early again");
	rig_join_as(1001, (struct control_join){ .type = CONTROL_WORKER,
	    .worker = 1, .repairs = true, .elements = SEGS * F }, &a);
	ok(state(0, &s) == 1 && s.notice && !s.whole && s.lacks.base == 0 &&
	    repair_lacks(&s.lacks, 7) && !repair_lacks(&s.lacks, 8) &&
	    s.seen == 8, "when the job opens, a STATE requests all that was "
	    "sent");
	rigged_close(&rig_plane);
}

/*
 * Asynchronous: a Probe about a push that a later one has overtaken is no
 * restart, and no push counts twice.  A worker that has seen the answer and
 * still sends a Probe about that push has restarted.
 */
static void
test_recounts(void)
{
	struct job_conf cf = rig_conf(1);
	struct repair_state s = { 0 };
	struct control_ack a;
	uint64_t added;

	cf.async = true;
	rig_open(&cf, 0);
	rig_join_as(1000, (struct control_join){ .type = CONTROL_WORKER,
	    .repairs = true, .async = true, .elements = SEGS * F }, &a);
	for (uint32_t t = 0; t < 2; t++) {
		for (uint32_t i = 0; i < SEGS; i++)
			add(0, t, i);
	}
	added = rig_count(JOB_ADDED);
	ok(added == 2 * SEGS, "two pushes are accepted");
	ok(probe(0, &(struct repair_help){ .iteration = 0, .upto = SEGS,
	    .mark = SEGS }, &s) == 1 && s.iteration == 1 && s.lacks.bytes ==
	    0, "a Probe about an overtaken push gets the STATE of the later "
	    "push");
	add(0, 0, 3);
	ok(rig_count(JOB_ADDED) == added && rig_count(JOB_DUPLICATE) == 1,
	    "the overtaken push is not added again");
	ok(probe(0, &(struct repair_help){ .iteration = 0, .upto = SEGS,
	    .mark = SEGS, .seen = s.mark - 1 }, &s) == 1 && s.iteration == 1,
	    "the push is not added again after another Probe from before the "
	    "answer");
	ok(probe(0, &(struct repair_help){ .iteration = 0, .upto = SEGS,
	    .mark = SEGS, .seen = s.mark }, &s) == 1 && s.iteration == 0 &&
	    repair_lacks(&s.lacks, 0) && repair_lacks(&s.lacks, SEGS - 1),
	    "a member that has seen the mark has restarted, and lacks all of "
	    "its push");
	add(0, 0, 3);
	ok(rig_count(JOB_ADDED) == added + 1, "the push of the restarted "
	    "member is added");
}

int
main(void)
{
	test_nacks();
	test_states();
	test_part();
	test_no_part();
	test_wraps();
	test_closed();
	test_recounts();
	return tap_end();
}
