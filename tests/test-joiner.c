/* A worker's standing with its switch. */
#include <string.h>

#include "common/joiner.h"
#include "tests/tap.h"

static uint8_t msg[JOINER_MESSAGE_BYTES];
static struct control sent;
static struct control_join join;
static char why[JOINER_WHY_BYTES];

static struct joiner
fresh(uint64_t now_ns)
{
	struct joiner j;

	joiner_init(&j, &(struct joiner_conf){ .job = 3, .worker = 5,
	    .elements = 100, .async = true, .floats_max = 366, .xid = 77,
	    .give_up_ns = 5 * (uint64_t)JOINER_SECOND_NS }, now_ns);
	return j;
}

/* What is sent at now_ns: its action, or 0. */
static unsigned
says(struct joiner *j, uint64_t now_ns)
{
	const size_t len = joiner_next(j, now_ns, 9, 0xabc, msg);

	if (len == 0 || !control_parse(msg, len, &sent))
		return 0;
	if (sent.action == CONTROL_JOIN && !control_get_join(&sent, &join))
		return 0;
	return sent.action;
}

/* Hear an Ack of `action` under that xid. */
static enum joiner_news
hears(struct joiner *j, uint16_t job, uint32_t xid, struct control_ack a,
    uint64_t now_ns)
{
	uint8_t p[CONTROL_MAX_BYTES];
	struct control c;
	const size_t len = (size_t)(control_put_ack(control_put(p,
	    CONTROL_ACK, job, xid), &a) - p);

	return control_parse(p, len, &c) ? joiner_control(j, &c, now_ns) :
	    JOINER_IGNORED;
}

static enum joiner_news
told(struct joiner *j, enum control_action action, uint64_t now_ns)
{
	uint8_t p[CONTROL_MAX_BYTES];
	struct control c;

	control_put(p, (uint8_t)action, 3, 1);
	wire_put(p + CONTROL_HEADER_BYTES, seg_word(4, 0, 2), 8);
	control_parse(p, CONTROL_HEADER_BYTES + 8, &c);
	return joiner_control(j, &c, now_ns);
}

static const struct control_ack in = { .action = CONTROL_JOIN, .floats = 30,
	.elements = 100, .next = 12, .h = 4, .members = 2, .timeout_s = 9 };

static void
joins(void)
{
	const uint64_t ms = 1000000;
	struct joiner j = fresh(1);

	ok(says(&j, 1) == CONTROL_JOIN && join.worker == 5 && join.async &&
	    join.elements == 100 && join.next == 9 && join.crc == 0xabc &&
	    join.floats == 0 && sent.job == 3 && sent.xid == 77,
	    "a Join says who it is and where it stands");
	ok(says(&j, 2) == 0 && joiner_due(&j) == 20 * ms + 1,
	    "and is not repeated at once");
	ok(says(&j, 20 * ms + 1) == CONTROL_JOIN && sent.xid == 77 &&
	    joiner_due(&j) == 60 * ms + 1,
	    "without an answer it is, the same, after twice as long");
	ok(hears(&j, 3, 76, in, 21 * ms) == JOINER_IGNORED &&
	    hears(&j, 4, 77, in, 21 * ms) == JOINER_IGNORED &&
	    j.ignored == 2, "Acks of others mean nothing");
	ok(hears(&j, 3, 77, in, 21 * ms) == JOINER_IN && joiner_works(&j) &&
	    j.floats == 30 && j.segs == 4 && j.job_next == 12,
	    "its own lets it in");
	ok(joiner_due(&j) == 20 * ms + 1 + 3000 * ms &&
	    says(&j, joiner_due(&j)) == CONTROL_JOIN && sent.xid == 78 &&
	    join.floats == 30, "silent for a third of 9 s: a sign of life");
	ok(hears(&j, 3, 78, in, 3100 * ms) == JOINER_NOTHING,
	    "whose answer changes nothing");
	says(&j, 6100 * ms + 1);
	joiner_xid(&j);
	ok(says(&j, 6200 * ms) == CONTROL_JOIN && sent.xid == 81 &&
	    hears(&j, 3, 79, in, 6200 * ms) == JOINER_NOTHING &&
	    joiner_due(&j) == 9200 * ms,
	    "a Join after another request is a new one, either Ack will do");
	joiner_said(&j, 7000 * ms);
	ok(joiner_due(&j) == 10000 * ms, "whatever is said is one");
}

static void
ends(void)
{
	struct control_ack no = { .action = CONTROL_JOIN,
	    .status = CONTROL_REFUSED };
	struct joiner j = fresh(1);
	uint64_t now = 1;

	while (j.end == JOINER_GOING && now < 60000000000) {
		says(&j, now);
		now = joiner_due(&j);
	}
	ok(j.end == JOINER_UNANSWERED && j.joins == 10 && strcmp(joiner_why(
	    &j, 9, why), "job 3: no answer to a Join after 5.0 s; is a switch "
	    "there?") == 0, "it gives up in time: %s", why);
	j = fresh(1);
	says(&j, 1);
	ok(hears(&j, 3, 77, no, 2) == JOINER_STOPPED &&
	    j.end == JOINER_REFUSED && strstr(joiner_why(&j, 9, why),
	    "iteration 9 is not kept") != NULL, "refused: %s", why);
	j = fresh(1);
	says(&j, 1);
	no.status = CONTROL_BAD_VALUE;
	no.elements = 50;
	no.floats = 7;
	hears(&j, 3, 77, no, 2);
	ok(strcmp(joiner_why(&j, 9, why), "job 3: refused: it has 50 elements,"
	    " 7 a segment; here are 100, 366 at most") == 0, "%s", why);
	j = fresh(1);
	says(&j, 1);
	no.elements = 0;
	hears(&j, 3, 77, no, 2);
	ok(strstr(joiner_why(&j, 9, why), "takes no asynchronous job") !=
	    NULL, "%s", why);
	j = fresh(1);
	says(&j, 1);
	hears(&j, 3, 77, in, 2);
	ok(told(&j, CONTROL_RESET, 3) == JOINER_STOPPED &&
	    j.end == JOINER_RESET && says(&j, 1000000000000) == 0,
	    "a Reset ends it: %s", joiner_why(&j, 9, why));
}

static void
halts(void)
{
	const uint64_t s = JOINER_SECOND_NS;
	struct control_ack not_yet = { .action = CONTROL_JOIN,
	    .status = CONTROL_NOT_READY };
	struct joiner j = fresh(1);

	says(&j, 1);
	hears(&j, 3, 77, in, 1);
	ok(told(&j, CONTROL_HALT, s) == JOINER_STOPPED && !joiner_works(&j) &&
	    told(&j, CONTROL_HALT, s) == JOINER_NOTHING, "halted");
	ok(joiner_due(&j) == 2 * s && says(&j, 2 * s) == CONTROL_JOIN &&
	    hears(&j, 3, 78, not_yet, 2 * s) == JOINER_NOTHING &&
	    joiner_due(&j) == 3 * s, "a Join once a second");
	says(&j, 3 * s);
	ok(hears(&j, 3, 79, in, 3 * s) == JOINER_RESUMED && joiner_works(&j),
	    "until it is let in again");
	told(&j, CONTROL_HALT, 4 * s);
	ok(told(&j, CONTROL_RESUME, 5 * s) == JOINER_RESUMED &&
	    joiner_works(&j) && joiner_due(&j) == 6 * s, "or told to go on");
	ok(told(&j, CONTROL_HELP, 5 * s) == JOINER_ASKED &&
	    j.seg.iteration == 4 && j.seg.index == 2, "asked for a segment");
}

static void
loses(void)
{
	const struct control_ack out = { .action = CONTROL_HELP,
	    .status = CONTROL_NOT_MEMBER, .seg = 1 };
	const struct control_ack gone = { .action = CONTROL_HELP,
	    .status = CONTROL_GONE, .seg = seg_word(8, 0, 1) };
	struct joiner j = fresh(1);

	says(&j, 1);
	hears(&j, 3, 77, in, 1);
	ok(hears(&j, 3, 5, gone, 2) == JOINER_LOST && j.seg.iteration == 8 &&
	    j.seg.index == 1, "a result that nobody has is told");
	ok(hears(&j, 0, 5, out, 2) == JOINER_OUT && !joiner_works(&j) &&
	    says(&j, 2) == CONTROL_JOIN,
	    "no member any more, under job 0: it joins again");
	ok(hears(&j, 3, 78, in, 3) == JOINER_IN, "and is in again");
	joiner_leave(&j, 4);
	ok(says(&j, 4) == CONTROL_LEAVE && says(&j, 5) == 0 &&
	    says(&j, 20000004) == CONTROL_LEAVE, "Leave is repeated");
	ok(hears(&j, 3, 79, (struct control_ack){ .action = CONTROL_LEAVE },
	    6) == JOINER_STOPPED && j.end == JOINER_LEFT, "until it is heard");
	j = fresh(1);
	joiner_leave(&j, 4);
	ok(j.end == JOINER_LEFT, "who is not in need not leave");
}

int
main(void)
{
	joins();
	ends();
	halts();
	loses();
	return tap_end();
}
