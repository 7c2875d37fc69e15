/* Test a worker's membership at a switch: Join, signs of life and Leave. */
#include <string.h>

#include "common/iswitch/membership.h"
#include "tests/unit/tap.h"

#define MS ((uint64_t)1000000)
#define SECOND ((uint64_t)MEMBERSHIP_SECOND_NS)

static uint8_t msg[MEMBERSHIP_MESSAGE_BYTES];
static struct control sent;
static struct control_join join;
static char why[MEMBERSHIP_WHY_BYTES];
static bool foretold = true; /* membership_join_is_due() predicted every Join so
			      * far */

static const struct membership_conf worker = { .type = CONTROL_WORKER,
	.job = 3, .number = 5, .elements = 100, .async = true,
	.floats_max = 366, .xid = 77, .give_up_ns = 5 * SECOND };

static struct membership
make_member(const struct membership_conf *cf)
{
	struct membership m;

	membership_init(&m, cf, 1);
	return m;
}

/* Write the message due at now_ns; return its action, or 0. */
static unsigned
write_message(struct membership *m, uint64_t now_ns)
{
	const struct membership_place at = { 9, 0xabc, true };
	const bool joins = membership_join_is_due(m, now_ns);
	const size_t len = membership_next(m, now_ns, &at, msg);

	sent.action = 0;
	if (len > 0 && (!control_parse(msg, len, &sent) ||
	    (sent.action == CONTROL_JOIN && !control_get_join(&sent, &join))))
		return 0;
	foretold = foretold && joins == (sent.action == CONTROL_JOIN);
	return sent.action;
}

/* Receive an Ack of `action` with that xid. */
static enum membership_news
receive_ack(struct membership *m, uint16_t job, uint32_t xid,
    struct control_ack a, uint64_t now_ns)
{
	uint8_t p[CONTROL_MAX_BYTES];
	struct control c;
	const size_t len = (size_t)(control_put_ack(control_put(p,
	    CONTROL_ACK, job, xid), &a) - p);

	return control_parse(p, len, &c) ? membership_receive(m, &c, now_ns) :
	    MEMBERSHIP_IGNORED;
}

static enum membership_news
receive_action(
    struct membership *m, enum control_action action, uint64_t now_ns)
{
	uint8_t p[CONTROL_MAX_BYTES];
	struct control c;

	control_put(p, (uint8_t)action, 3, 1);
	bytes_put(p + CONTROL_HEADER_BYTES, seg_word(4, 0, 2), 8);
	control_parse(p, CONTROL_HEADER_BYTES + 8, &c);
	return membership_receive(m, &c, now_ns);
}

static const struct control_ack in = { .action = CONTROL_JOIN, .floats = 30,
	.elements = 100, .next = 12, .h = 4, .members = 2, .timeout_s = 9,
	.async = true };

/* Make a membership that was accepted at 2 ns. */
static struct membership
member(void)
{
	struct membership m = make_member(&worker);

	write_message(&m, 1);
	receive_ack(&m, 3, 77, in, 2);
	return m;
}

static void
test_join(void)
{
	struct membership m = make_member(&worker);

	ok(write_message(&m, 1) == CONTROL_JOIN &&
		join.type == CONTROL_WORKER && join.worker == 5 && join.async &&
		join.elements == 100 && join.next == 9 && join.crc == 0xabc &&
		join.again && join.floats == 0 && sent.job == 3 &&
		sent.xid == 77,
	    "a Join has the worker's number and its next iteration");
	ok(write_message(&m, 2) == 0 &&
		membership_deadline_ns(&m) == 20 * MS + 1,
	    "a Join is not repeated at once");
	ok(write_message(&m, 20 * MS + 1) == CONTROL_JOIN && sent.xid == 77 &&
	    membership_deadline_ns(&m) == 60 * MS + 1,
	    "without an answer a Join is repeated, after twice as long each "
	    "time");
	ok(receive_ack(&m, 3, 76, in, 21 * MS) == MEMBERSHIP_IGNORED &&
	    receive_ack(&m, 4, 77, in, 21 * MS) == MEMBERSHIP_IGNORED &&
	    m.ignored == 2, "an Ack for another request is ignored");
	ok(receive_ack(&m, 3, 77, in, 21 * MS) == MEMBERSHIP_IN &&
	    membership_works(&m) && m.floats == 30 && m.segs == 4 &&
	    m.job_next == 12 && m.h == 4 && m.members == 2,
	    "the Ack of the Join makes the worker a member");
	ok(membership_deadline_ns(&m) == 20 * MS + 1 + 3 * SECOND &&
		write_message(&m, membership_deadline_ns(&m)) == CONTROL_JOIN &&
		sent.xid == 78 && join.floats == 30,
	    "after a third of 9 s without a message the worker sends a sign of "
	    "life");
	ok(receive_ack(&m, 3, 78, in, 3100 * MS) == MEMBERSHIP_STAYS,
	    "the answer to a sign of life changes nothing");
	write_message(&m, 6100 * MS + 1);
	membership_xid(&m);
	ok(write_message(&m, 6200 * MS) == CONTROL_JOIN && sent.xid == 81 &&
	    receive_ack(&m, 3, 79, in, 6200 * MS) == MEMBERSHIP_STAYS &&
	    membership_deadline_ns(&m) == 9200 * MS,
	    "a Join after another request has a new xid, and either Ack "
	    "counts");
	membership_note_sent(&m, 7000 * MS);
	ok(membership_deadline_ns(&m) == 10000 * MS,
	    "any message counts as a sign of life");
}

/* Is this the text after a refusal with status `no`? */
static void
refused(struct control_ack no, const char *words)
{
	struct membership m = make_member(&worker);

	no.action = CONTROL_JOIN;
	write_message(&m, 1);
	ok(receive_ack(&m, 3, 77, no, 2) == MEMBERSHIP_ENDED &&
		m.end == MEMBERSHIP_REFUSED &&
		write_message(&m, 100 * SECOND) == 0 &&
		membership_deadline_ns(&m) == MEMBERSHIP_NEVER &&
		strcmp(membership_why(&m, why), words) == 0,
	    "%s", why);
}

static void
refusals(void)
{
	struct control_ack odd = in;

	refused((struct control_ack){ .status = CONTROL_REFUSED, .next = 12 },
	    "job 3: refused: it cannot continue from iteration 9 with these "
	    "weights; restore the weights of iteration 12");
	refused((struct control_ack){ .status = CONTROL_NO_ROOM },
	    "job 3: refused: no room");
	refused((struct control_ack){ .status = CONTROL_BAD_VALUE,
	    .elements = 50, .floats = 7, .async = true }, "job 3: refused: its "
	    "vectors have 50 elements, 7 in a segment; the vector of this "
	    "worker has 100");
	refused((struct control_ack){ .status = CONTROL_BAD_VALUE,
	    .async = true }, "job 3: refused: it cannot sum a vector of 100 "
	    "elements with 366 in a segment");
	refused((struct control_ack){ .status = CONTROL_BAD_VALUE,
	    .elements = 50, .floats = 7 }, "job 3: refused: the switch sums "
	    "synchronously; start innet-worker without --async");
	odd.floats = 367;
	refused(odd, "job 3: refused: its segments have 367 floats, and those "
	    "of this worker 366");
	odd = (struct control_ack){ .status = CONTROL_BAD_VALUE,
	    .elements = 100, .floats = 366, .async = true };
	refused(odd, "job 3: refused: bad value");
}

static void
test_end(void)
{
	struct membership m = make_member(&worker);
	uint64_t now = 1;

	while (m.end == MEMBERSHIP_GOING && now < 60 * SECOND) {
		write_message(&m, now);
		now = membership_deadline_ns(&m);
	}
	ok(m.end == MEMBERSHIP_UNANSWERED && m.joins == 10 && strcmp(
	    membership_why(&m, why), "job 3: no answer to a Join after 5.0 s;"
	    " is a switch running there?") == 0,
	    "a worker gives up after a limited time: %s",
	    why);
	m = member();
	ok(receive_action(&m, CONTROL_RESET, 3) == MEMBERSHIP_ENDED &&
	    m.end == MEMBERSHIP_RESET && write_message(&m, 1000 * SECOND) == 0,
	    "a Reset ends the membership: %s", membership_why(&m, why));
}

static void
test_halt(void)
{
	struct control_ack not_yet = { .action = CONTROL_JOIN,
	    .status = CONTROL_NOT_READY }, closed = in;
	struct membership m = member();

	ok(receive_action(&m, CONTROL_HALT, SECOND) == MEMBERSHIP_HALTED &&
		!membership_works(&m) &&
		receive_action(&m, CONTROL_HALT, SECOND) == MEMBERSHIP_NOTHING,
	    "a Halt stops the worker");
	ok(membership_deadline_ns(&m) == 2 * SECOND &&
	    write_message(&m, 2 * SECOND) == CONTROL_JOIN &&
	    receive_ack(&m, 3, 78, not_yet, 2 * SECOND) == MEMBERSHIP_NOTHING &&
	    membership_deadline_ns(&m) == 3 * SECOND,
	    "a halted worker sends a Join every second");
	write_message(&m, 3 * SECOND);
	ok(receive_ack(&m, 3, 79, in, 3 * SECOND) == MEMBERSHIP_RESUMED &&
	    membership_works(&m), "an Ack lets the worker continue");
	receive_action(&m, CONTROL_HALT, 4 * SECOND);
	ok(receive_action(&m, CONTROL_RESUME, 5 * SECOND) ==
		    MEMBERSHIP_RESUMED &&
		membership_works(&m) &&
		membership_deadline_ns(&m) == 6 * SECOND,
	    "a Resume lets the worker continue");
	ok(receive_action(&m, CONTROL_HELP, 5 * SECOND) == MEMBERSHIP_ASKED &&
	    m.seg.iteration == 4 && m.seg.index == 2,
	    "a Help requests a segment");
	closed.closed = true;
	m = make_member(&worker);
	write_message(&m, 1);
	ok(receive_ack(&m, 3, 77, closed, 1) == MEMBERSHIP_IN && m.closed &&
	    membership_deadline_ns(&m) == 50 * MS + 1,
	    "while others have not joined, the worker asks again after 50 ms");
	receive_action(&m, CONTROL_HALT, 2);
	receive_action(&m, CONTROL_RESUME, 3);
	ok(membership_deadline_ns(&m) <= 2 + SECOND &&
		write_message(&m, 2 + SECOND) == CONTROL_JOIN,
	    "the worker also asks again after a Halt");
}

static void
test_loss(void)
{
	const struct control_ack out = { .action = CONTROL_HELP,
	    .status = CONTROL_NOT_MEMBER, .seg = 1 };
	const struct control_ack gone = { .action = CONTROL_HELP,
	    .status = CONTROL_GONE, .seg = seg_word(8, 0, 1) };
	const struct control_ack left = { .action = CONTROL_LEAVE };
	struct membership m = member();

	ok(receive_ack(&m, 3, 5, gone, 2) == MEMBERSHIP_LOST &&
	    m.seg.iteration == 8 && m.seg.index == 1,
	    "a result that the switch no longer has is reported");
	ok(receive_ack(&m, 0, 5, out, 2) == MEMBERSHIP_OUT &&
	    !membership_works(&m) && write_message(&m, 2) == CONTROL_JOIN,
	    "an Ack with job 0 means that the worker is no longer a member, "
	    "and it joins again");
	ok(receive_ack(&m, 3, 78, in, 3) == MEMBERSHIP_IN,
	    "then the worker is a member again");
	membership_leave(&m, 4);
	ok(write_message(&m, 4) == CONTROL_LEAVE && write_message(&m, 5) == 0 &&
	    write_message(&m, 20000004) == CONTROL_LEAVE,
	    "a Leave is repeated");
	ok(receive_ack(&m, 3, 79, left, 6) == MEMBERSHIP_ENDED &&
	    m.end == MEMBERSHIP_LEFT && membership_why(&m, why)[0] == '\0',
	    "a Leave is repeated until it is answered");
	m = make_member(&worker);
	membership_leave(&m, 4);
	ok(m.end == MEMBERSHIP_LEFT, "a worker that is not a member does not "
	    "send a Leave");
	m = member();
	membership_leave(&m, 4);
	for (uint64_t now = 4; m.end == MEMBERSHIP_GOING;
	    now = membership_deadline_ns(&m))
		write_message(&m, now);
	ok(m.leaves == MEMBERSHIP_LEAVES && m.end == MEMBERSHIP_LEFT,
	    "a Leave is repeated only a limited number of times");
}

/*
 * Seed 8030102529: an answer to a message that was sent before the last Join
 * arrives twice, and the second copy arrives late.
 */
static void
test_late_answers(void)
{
	const struct control_ack out = { .action = CONTROL_HELP,
	    .status = CONTROL_NOT_MEMBER, .seg = 1 };
	struct membership_conf cf = worker;
	struct control_ack repairs = in;
	struct membership m;
	uint32_t help;

	cf.repairs = repairs.repairs = true;
	m = make_member(&cf);
	write_message(&m, 1);
	receive_ack(&m, 3, 77, repairs, 2);
	help = membership_xid(&m);
	ok(receive_ack(&m, 3, help, out, SECOND) == MEMBERSHIP_OUT &&
	    write_message(&m, SECOND) == CONTROL_JOIN &&
	    receive_ack(&m, 3, sent.xid, repairs, SECOND) == MEMBERSHIP_IN,
	    "a worker joins again if a Help says that it is no member");
	ok(receive_ack(&m, 3, help, out, 2 * SECOND) == MEMBERSHIP_IGNORED &&
	    membership_works(&m), "a late copy of this answer is ignored");
	ok(receive_ack(&m, 0, 5, out, SECOND + 249 * MS) == MEMBERSHIP_IGNORED,
	    "so is an answer to a segment soon after the Join");
	ok(receive_ack(&m, 0, 6, out, SECOND + 250 * MS) == MEMBERSHIP_OUT,
	    "later, such an answer makes the worker join again");
}

/* A switch with a parent never gives up, and uses its own number. */
static void
test_switch(void)
{
	const struct membership_conf cf = { .type = CONTROL_SWITCH, .job = 3,
	    .number = 2, .elements = 100, .floats = 30, .floats_max = 30,
	    .xid = 77, .give_up_ns = MEMBERSHIP_NEVER };
	struct control_ack no = { .action = CONTROL_JOIN,
	    .status = CONTROL_BAD_VALUE };
	struct membership m = make_member(&cf), gone;
	uint64_t now = 1;

	while (now < 1000 * SECOND) {
		write_message(&m, now);
		now = membership_deadline_ns(&m);
	}
	ok(m.end == MEMBERSHIP_GOING && sent.xid == 77 &&
	    join.type == CONTROL_SWITCH && join.worker == 2 && !join.async &&
	    join.floats == 30, "a switch sends Joins to its parent until the "
	    "parent answers");
	no.async = true;
	gone = m;
	receive_ack(&gone, 3, 77, no, now);
	ok(strcmp(membership_why(&gone, why), "job 3: refused: the switch "
	    "sums asynchronously; start innet-switch with --async") == 0, "%s",
	    why);
	ok(receive_ack(&m, 3, 77, in, now) == MEMBERSHIP_IN &&
	    receive_action(&m, CONTROL_HALT, now) == MEMBERSHIP_HALTED &&
	    receive_action(&m, CONTROL_RESUME, now) == MEMBERSHIP_RESUMED,
	    "a switch gets the Halt and the Reset that it must forward");
}

/* Tags use the cookie that the channel had when the worker joined. */
static void
passes(void)
{
	struct channel_client ch = { .cookie = "nonce--Aand time" };
	struct membership_conf cf = worker;
	struct control_ack a = in;
	struct membership m;

	cf.channel = &ch;
	cf.tagged = a.tagged = true;
	m = make_member(&cf);
	write_message(&m, 1);
	ch.cookie[0] = 'N';
	receive_ack(&m, 3, 77, a, 2);
	ok(memcmp(m.tags.cookie, ch.cookie, TAG_COOKIE_BYTES) == 0 &&
	    m.tags.on, "tags use the cookie with which the worker joined");
}

/* A message that could be forged does not end the membership. */
static void
doubts(void)
{
	struct control c = { .action = CONTROL_ACK, .job = 3, .xid = 77 };
	struct membership m = make_member(&worker);

	write_message(&m, 1);
	membership_receive_doubtful(&m, CHANNEL_CLIENT_CHALLENGED, &c, 2);
	ok(write_message(&m, 2) == CONTROL_JOIN && sent.xid == 77,
	    "after a challenge the worker sends the same Join at once, with "
	    "the same xid");
	membership_receive_doubtful(&m, CHANNEL_CLIENT_HINT, &c, 3);
	ok(m.end == MEMBERSHIP_GOING &&
		write_message(&m, 5 * SECOND + 1) == 0 &&
		m.end == MEMBERSHIP_KEYED &&
		strstr(membership_why(&m, why), "it has another key") != NULL,
	    "a hint at another key is reported when the worker gives up");
	m = make_member(&worker);
	write_message(&m, 1);
	membership_receive_doubtful(&m, CHANNEL_CLIENT_BAD, &c, 3);
	write_message(&m, 5 * SECOND + 1);
	ok(strstr(membership_why(&m, why), "are not authenticated") != NULL,
	    "an answer without a MAC is reported when the worker gives up");
	m = member();
	c.xid = 9;
	membership_receive_doubtful(
	    &m, CHANNEL_CLIENT_HINT, &c, 3 + MEMBERSHIP_HINT_NS);
	ok(write_message(&m, 3 + MEMBERSHIP_HINT_NS) == CONTROL_JOIN &&
		m.joined,
	    "a worker that may be forgotten sends a Join, and stays a member");
	membership_receive_doubtful(
	    &m, CHANNEL_CLIENT_HINT, &c, 4 + MEMBERSHIP_HINT_NS);
	ok(write_message(&m, 4 + MEMBERSHIP_HINT_NS) == 0,
	    "the worker does not do so for each hint");
	ok(receive_ack(&m, 3, m.join_xid, in, 5 + MEMBERSHIP_HINT_NS) ==
	    MEMBERSHIP_STAYS, "the worker stays a member if the switch still "
	    "knows it");
	membership_receive_doubtful(&m, CHANNEL_CLIENT_CHALLENGED, &c,
	    5 * SECOND);
	ok(m.joined && !membership_works(&m) &&
	    write_message(&m, 5 * SECOND) == CONTROL_JOIN,
	    "a member that is challenged sends no segments (chaos seed "
	    "6000557863)");
	ok(receive_ack(&m, 3, m.join_xid, in, 5 * SECOND + 1) ==
	    MEMBERSHIP_IN && membership_works(&m),
	    "it sends them again when its Join is answered");
	membership_receive_doubtful(&m, CHANNEL_CLIENT_CHALLENGED, &c,
	    5 * SECOND + 2);
	write_message(&m, 5 * SECOND + 2);
	receive_ack(&m, 3, m.join_xid, (struct control_ack){
	    .action = CONTROL_JOIN, .status = CONTROL_NOT_READY },
	    5 * SECOND + 3);
	membership_receive(&m, &(struct control){ .action = CONTROL_RESUME,
	    .job = 3, .xid = 90 }, 5 * SECOND + 4);
	ok(write_message(&m, 5 * SECOND + 4) == CONTROL_JOIN,
	    "if its Join was refused because of a halt, it sends the Join "
	    "again when the job resumes");
	receive_ack(&m, 3, m.join_xid, in, 5 * SECOND + 5);
	membership_join(&m, 6 * SECOND);
	write_message(&m, 6 * SECOND);
	membership_receive_doubtful(
	    &m, CHANNEL_CLIENT_CHALLENGED, &c, 6 * SECOND + 1);
	write_message(&m, 6 * SECOND + 1);
	ok(receive_ack(&m, 3, m.join_xid, in, 6 * SECOND + 2) == MEMBERSHIP_IN,
	    "a worker that was challenged for that Join becomes a member "
	    "again");
}

/*
 * Seed 8800026244 (--auth all): the switch executed two Joins of a member.
 * They had the cookies of two challenges, and the one with the newer cookie was
 * late.  The next Probe had the older cookie, and was challenged again.
 */
static void
test_challenged_member(void)
{
	struct channel_client ch = { 0 };
	struct membership_conf cf = worker;
	struct control_ack a = in;
	struct control c = { .action = CONTROL_ACK };
	struct membership m;
	bool joins;

	cf.channel = &ch;
	cf.tagged = a.tagged = true;
	m = make_member(&cf);
	write_message(&m, 1);
	memset(ch.cookie, 1, sizeof(ch.cookie));
	receive_ack(&m, 3, m.join_xid, a, 2);
	memset(ch.cookie, 2, sizeof(ch.cookie));
	membership_receive_doubtful(&m, CHANNEL_CLIENT_CHALLENGED, &c, 3);
	joins = write_message(&m, 3) == CONTROL_JOIN && m.joined;
	receive_ack(&m, 3, m.join_xid, a, 4);
	ok(joins && m.joined && memcmp(m.tags.cookie, ch.cookie,
	    TAG_COOKIE_BYTES) == 0,
	    "a member that is challenged joins again, and tags its data with "
	    "the new cookie");
	membership_leave(&m, 5);
	write_message(&m, 5);
	membership_receive_doubtful(&m, CHANNEL_CLIENT_CHALLENGED, &c, 6);
	ok(write_message(&m, 6) == CONTROL_LEAVE,
	    "a member that leaves sends its Leave again");
}

int
main(void)
{
	passes();
	doubts();
	test_join();
	refusals();
	test_end();
	test_halt();
	test_loss();
	test_late_answers();
	test_switch();
	test_challenged_member();
	ok(foretold, "the module predicts each Join");
	return tap_end();
}
