/*
 * Test a member's side of loss recovery: which segments it retransmits and when
 * it requests results.
 */
#include "common/arq/retransmit.h"
#include "common/base/rng.h"
#include "tests/unit/tap.h"

#define MS ((uint64_t)1000000)

enum { MANY = 64 };

static uint8_t room[REPAIR_BITMAP_BYTES];
static uint32_t xid = 1;

/* Make a queue of segs segments, with all of iteration t ready. */
static struct retransmit
make_queue(uint32_t segs, uint32_t t)
{
	struct retransmit m = { 0 };

	retransmit_init(&m, segs, false);
	send_limits_set(&m.limit, segs, segs);
	retransmit_sample(&m, MS);
	retransmit_start(&m, t, 0);
	retransmit_ready_all(&m);
	return m;
}

/*
 * Send all that may go, in runs of at most `most`.  Return a bit for each of
 * the first 64 segments.
 */
static uint64_t
send_all(struct retransmit *m, uint32_t most, uint64_t now_ns)
{
	uint32_t first, n;
	uint64_t bits = 0;
	bool again;

	while ((n = retransmit_next_run(m, most, &first, &again, now_ns)) > 0) {
		for (uint32_t i = first; i < first + n; i++)
			bits |= (uint64_t)1 << i % MANY;
	}
	return bits;
}

/* Return whether a Probe is due, and store it and its mark. */
static bool
probed(struct retransmit *m, struct repair_help *h, uint64_t now_ns)
{
	if (!retransmit_probe_is_due(m, now_ns))
		return false;
	retransmit_fill_probe(m, ++xid, h, room, now_ns);
	return true;
}

/* Return the bitmap in which these bits are set. */
static struct repair_bitmap
bitmap(uint64_t bits)
{
	static uint8_t bytes[8];

	for (uint32_t k = 0; k < 8; k++)
		bytes[k] = (uint8_t)(bits >> 8 * k);
	return (struct repair_bitmap){ .bits = bytes, .bytes = 8 };
}

static void
receive_state(struct retransmit *m, struct repair_state s, uint64_t lacks,
    uint64_t now_ns)
{
	s.iteration = m->iteration;
	s.lacks = bitmap(lacks);
	retransmit_receive_state(m, xid, &s, now_ns);
}

static void
test_no_loss(void)
{
	struct retransmit m = make_queue(40, 0);
	struct repair_help h;
	uint64_t now = 0;
	uint32_t first, n;
	bool again, clean = true;

	for (uint32_t t = 0; t < 100; t++) {
		for (uint32_t came = 0; came < 40;) {
			while ((n = retransmit_next_run(
				    &m, 7, &first, &again, now)) > 0)
				clean = clean && !again;
			if (probed(&m, &h, now))
				receive_state(&m, (struct repair_state){ .seen =
				    h.mark }, 0, now + MS / 2);
			now += MS / 40;
			retransmit_take(&m, came++, now);
		}
		retransmit_start(&m, t + 1, now);
		retransmit_ready_all(&m);
	}
	ok(clean && m.n[RETRANSMIT_SENT] == 4000 &&
		m.n[RETRANSMIT_REPEATED] == 0,
	    "a member without losses retransmits nothing");
	ok(m.n[RETRANSMIT_PROBES_SENT] > 0 &&
		m.n[RETRANSMIT_PROBES_SENT] <= 2 * RETRANSMIT_LOSSY &&
		m.lossy == 0,
	    "a member without losses stops sending Probes about tails: %llu "
	    "Probes",
	    (unsigned long long)m.n[RETRANSMIT_PROBES_SENT]);
	retransmit_free(&m);
}

static void
test_state(void)
{
	struct retransmit m = make_queue(40, 5);
	struct repair_help h;

	m.limit.flight = 20;
	ok(send_all(&m, 8, 0) == 0xfffff, "a member sends as many segments as "
	    "may be in flight");
	ok(probed(&m, &h, 100) && h.mark == 20 && h.upto == 20 &&
	    h.iteration == 5 && h.last == REPAIR_NONE,
	    "a member with a full window sends a Probe");
	retransmit_take(&m, 0, 200);
	retransmit_take(&m, 1, 200);
	ok(send_all(&m, 8, 200) == 0x300000, "a member sends more when results "
	    "arrive");
	receive_state(
	    &m, (struct repair_state){.seen = 20, .mark = 2}, 0x1f0f0c, 300);
	ok((send_all(&m, 8, 300) & 0x3fffff) == 0xf0f0c,
	    "a member retransmits only missing segments that it sent before "
	    "the Probe");
	ok(m.n[RETRANSMIT_REPEATED] == 10 && m.lossy == RETRANSMIT_LOSSY,
	    "a member retransmits each segment once");
	receive_state(
	    &m, (struct repair_state){.seen = 20, .mark = 2}, 0x1f0f0c, 400);
	ok(send_all(&m, 8, 400) == 0, "a second copy of a STATE causes no "
	    "retransmission");
	ok(retransmit_receive_state(
	       &m, xid, &(struct repair_state){.iteration = 4}, 500),
	    "a STATE of the previous iteration shows that the switch has "
	    "restarted");
	retransmit_start(&m, 6, 500);
	ok(retransmit_receive_state(
	       &m, xid, &(struct repair_state){.iteration = 5}, 600) == false,
	    "a late answer to a Probe of the previous iteration shows no "
	    "restart");
	retransmit_free(&m);
}

static void
test_nack(void)
{
	struct retransmit m = make_queue(40, 5);
	struct repair_help h = { .iteration = 5, .last = 9,
	    .lacks = bitmap(0x8108) };

	send_all(&m, 8, 0);
	h.iteration = 4;
	retransmit_receive_nack(&m, &h, 100);
	ok(send_all(&m, 8, 100) == 0, "a NACK of another iteration causes no "
	    "retransmission");
	h.iteration = 5;
	retransmit_receive_nack(&m, &h, 100);
	ok(send_all(&m, 8, 100) == 0x108,
	    "after a NACK a member retransmits what it sent before the newest "
	    "segment that arrived");
	retransmit_receive_nack(&m, &h, 200);
	ok(send_all(&m, 8, 200) == 0, "a second NACK does not repeat a "
	    "retransmission that is under way");
	h.last = 3;		/* segment 3 was sent twice: which copy arrived?
				 */
	h.lacks = bitmap(2);
	retransmit_receive_nack(&m, &h, 300);
	ok(send_all(&m, 8, 300) == 0, "a NACK causes nothing if the newest "
	    "segment that arrived was sent twice");
	ok(m.n[RETRANSMIT_NACKS] == 4, "a member counts all NACKs");
	retransmit_free(&m);
}

static void
test_time(void)
{
	struct retransmit m = make_queue(10, 0);
	struct repair_help h;
	uint64_t due, gap = 0, now = 0;

	send_all(&m, 44, 0);
	ok(probed(&m, &h, 0) && h.upto == 10, "a member sends a Probe about "
	    "the tail");
	ok(!probed(&m, &h, 0) && retransmit_deadline_ns(&m) > MS,
	    "a member sends one Probe about the tail, and then waits");
	for (int k = 0; k < 200; k++) {
		due = retransmit_deadline_ns(&m);
		gap = due - now;
		now = due;
		if (!probed(&m, &h, now) || send_all(&m, 44, now) != 0)
			break;
	}
	ok(m.n[RETRANSMIT_EXPIRED] == 200 && m.n[RETRANSMIT_REPEATED] == 0,
	    "a timeout sends a Probe, never data");
	ok(gap == RETRANSMIT_CEILING_NS, "the time between Probes grows to 250 "
	    "ms");
	receive_state(&m, (struct repair_state){ .seen = 10 }, 0, now + MS);
	ok(m.idle && retransmit_deadline_ns(&m) > now + 100 * MS,
	    "a member waits longer when all its segments have arrived at the "
	    "switch");
	receive_state(&m, (struct repair_state){ .seen = 10, .whole = true,
	    .notice = true, .mark = 10 }, 0, now + 2 * MS);
	ok(probed(&m, &h, now + 2 * MS) && h.lacks.base == 0 && h.seen == 10 &&
	    repair_lacks(&h.lacks, 9), "a member requests all results at once "
	    "if a notice says that they exist and none has arrived");
	for (uint32_t i = 0; i < 10; i++)
		retransmit_take(&m, i, now + 3 * MS);
	ok(retransmit_deadline_ns(&m) == UINT64_MAX &&
		!probed(&m, &h, UINT64_MAX),
	    "nothing is due when all results have arrived");
	retransmit_free(&m);
}

/* A notice about the first segments of a vector that is filled bit by bit. */
static void
test_part(void)
{
	struct retransmit m = make_queue(10, 0);
	struct repair_help h;

	m.fills = true;
	retransmit_start(&m, 6, 0);
	retransmit_fill(&m, 4, true, 0);
	send_all(&m, 44, 0);
	ok(probed(&m, &h, 0) && h.upto == 4, "a member sends a Probe after a "
	    "piece");
	for (uint32_t i = 0; i < 3; i++)
		retransmit_take(&m, i, MS);
	receive_state(&m, (struct repair_state){ .seen = 4 }, 0, MS);
	ok(!probed(&m, &h, MS), "it waits while other members may be late");
	receive_state(&m, (struct repair_state){ .seen = 4, .whole = true,
	    .notice = true, .mark = 4 }, 0, 2 * MS);
	ok(probed(&m, &h, 2 * MS) && h.lacks.base == 3 && h.upto == 4,
	    "it requests the missing result of the piece after a notice");
	retransmit_take(&m, 3, 3 * MS);
	retransmit_fill(&m, 6, true, 3 * MS);
	send_all(&m, 44, 3 * MS);
	receive_state(&m, (struct repair_state){ .seen = 4, .whole = true,
	    .mark = 4 }, 0, 3 * MS);
	ok(m.n[RETRANSMIT_REPEATED] == 0 && !m.s[4].asked,
	    "a STATE about a piece says nothing about the next piece");
	retransmit_free(&m);
}

/*
 * Seed 9510982980: a switch that has sent a member too many results again sends
 * it nothing for a while.  The member must not send a Probe for each STATE.
 */
static void
test_withheld(void)
{
	struct retransmit m = make_queue(10, 0);
	struct repair_help h;
	const struct repair_state st = { .seen = 10, .whole = true,
	    .mark = 10 };

	send_all(&m, 44, 0);
	probed(&m, &h, 0);
	receive_state(&m, st, 0, MS);
	ok(probed(&m, &h, MS) && h.seen == 10 && h.lacks.bytes == 2,
	    "a member requests the results that a STATE says are complete");
	receive_state(&m, st, 0, 2 * MS);
	ok(!probed(&m, &h, 2 * MS), "if the switch sends none of them, the "
	    "member sends no Probe at once");
	ok(retransmit_deadline_ns(&m) < 3 * RETRANSMIT_CEILING_NS,
	    "it sends the next Probe later");
	retransmit_free(&m);
}

/* Results arrive slowly, and the answers to Probes wait behind them. */
static void
test_slow(void)
{
	struct retransmit m = make_queue(400, 0);
	struct repair_help h;
	uint64_t now = 0;
	uint32_t first;

	send_all(&m, 44, now);
	probed(&m, &h, now);
	first = xid;
	for (uint32_t i = 0; i < 200; i++) {
		while (retransmit_deadline_ns(&m) < now + 4 * MS)
			probed(&m, &h, retransmit_deadline_ns(&m));
		now += 4 * MS;
		retransmit_take(&m, i, now);
	}
	ok(m.n[RETRANSMIT_PROBES_SENT] > RETRANSMIT_OPEN &&
		m.n[RETRANSMIT_PROBES_SENT] < RETRANSMIT_PROBES,
	    "a member sends no more Probes than it can remember: %llu",
	    (unsigned long long)m.n[RETRANSMIT_PROBES_SENT]);
	retransmit_receive_state(
	    &m, first, &(struct repair_state){.seen = 400}, now);
	ok(m.acked == 1 && m.rtt.srtt_ns > 10 * MS,
	    "a late answer to a Probe counts, and gives a round trip time");
	retransmit_free(&m);
}

static void
test_gaps(void)
{
	struct retransmit m = make_queue(40, 0);
	struct repair_help h;

	m.lossy = 0;
	send_all(&m, 44, 0);
	for (uint32_t i = 0; i < 6; i++) {
		if (i != 2)
			retransmit_take(&m, i, 100);
	}
	ok(!probed(&m, &h, 100), "a result may arrive up to 3 places late");
	retransmit_take(&m, 6, 100);
	ok(probed(&m, &h, 100) && repair_lacks(&h.lacks, 2) &&
	    !repair_lacks(&h.lacks, 3) && repair_lacks(&h.lacks, 39) &&
	    h.last == 6, "a result that is 4 places late causes a Probe for "
	    "all missing results");
	retransmit_take(&m, 2, 200);
	retransmit_duplicate(&m, 3);
	ok(m.order_slack == 0, "a duplicate result that was not requested "
	    "changes nothing");
	retransmit_duplicate(&m, 2);
	ok(m.order_slack == 1, "a duplicate of a requested result makes the "
	    "member tolerate later results");
	retransmit_free(&m);
}

static void
test_slack(void)
{
	struct retransmit m = make_queue(40, 0);
	struct repair_help h;
	bool full;

	send_all(&m, 44, 0);
	probed(&m, &h, 0);
	receive_state(&m, (struct repair_state){.seen = 40, .dups = 1}, 0, MS);
	ok(m.order_slack == 1, "a duplicate at the switch makes the member "
	    "tolerate later results");
	for (uint16_t k = 2; k < 40; k++)
		receive_state(
		    &m, (struct repair_state){.seen = 40, .dups = k}, 0, MS);
	full = m.order_slack == RETRANSMIT_ORDER;
	for (int k = 0; k < 33; k++)
		receive_state(
		    &m, (struct repair_state){.seen = 40, .dups = 39}, 0, MS);
	ok(full && m.order_slack == RETRANSMIT_ORDER - 1,
	    "the tolerance is at most a round trip, and falls after 32 clean "
	    "STATEs");
	m.iteration = 1;
	retransmit_start(&m, 1, 2 * MS);
	retransmit_ready_all(&m);
	send_all(&m, 44, 2 * MS);
	probed(&m, &h, 2 * MS + MS / 8);
	receive_state(
	    &m, (struct repair_state){.seen = 80, .dups = 39}, 1, 3 * MS);
	ok(send_all(&m, 44, 3 * MS) == 0 && m.wants,
	    "a segment sent shortly before a Probe may still arrive, so the "
	    "member sends another Probe");
	retransmit_free(&m);
}

/* Results of rounds arrive all the time, but no STATE about the push. */
static void
test_push_during_rounds(void)
{
	struct retransmit m = make_queue(4, 0);
	struct repair_help h;
	uint64_t now = 0;
	bool due = false;

	m.acks = true;
	send_all(&m, 4, 0);
	probed(&m, &h, 0);
	for (uint32_t k = 0; k < 1000 && !due; k++) {
		now += MS / 4;
		retransmit_take_round(&m, k % 4, k / 4, false, now);
		due = retransmit_probe_is_due(&m, now);
	}
	ok(due && now == RETRANSMIT_CEILING_NS,
	    "a Probe for a push is repeated although results arrive");
	retransmit_free(&m);
}

/* If the socket has no room, the rest of a run goes later, in its order. */
static void
test_unsent(void)
{
	const uint32_t segs = 7;
	struct retransmit m = make_queue(segs, 0);
	struct repair_help h;
	uint32_t first, n;
	bool again, right = true;

	n = retransmit_next_run(&m, 5, &first, &again, 0);
	retransmit_unsent(&m, first, n, 2, again);
	ok(n == 5 && m.flight == 3 && m.upto == 3 && m.serial == 3 &&
	    m.n[RETRANSMIT_SENT] == 3, "a segment for which there was no room "
	    "counts as not sent");
	n = retransmit_next_run(&m, 44, &first, &again, 0);
	ok(n == 4 && first == 3 && !again, "that segment is sent next");
	for (uint32_t k = 0; k < 20; k++) {
		probed(&m, &h, k * MS);
		receive_state(&m, (struct repair_state){ .seen = h.mark }, 0x6d,
		    k * MS + MS / 2);
		n = retransmit_next_run(
		    &m, 44, &first, &again, k * MS + MS / 2);
		right = right && n == 1 && first == 0 && again;
		n = retransmit_next_run(
		    &m, 44, &first, &again, k * MS + MS / 2);
		right = right && n == 2 && first == 2 && again;
		retransmit_unsent(&m, first, n, n, again);
		right = right && m.agains == 4;
		n = retransmit_next_run(
		    &m, 44, &first, &again, k * MS + MS / 2);
		right = right && n == 2 && first == 2 && again;
		right = right && send_all(&m, 44, k * MS + MS / 2) == 0x60;
		m.limit.lost = 0;	/* this part is not about losses */
	}
	ok(right && m.n[RETRANSMIT_REPEATED] == 100,
	    "a retransmitted segment without room is sent next, also in a ring "
	    "of 7 that wraps often");
	retransmit_start(&m, 1, 30 * MS);
	retransmit_ready_all(&m);
	retransmit_take(&m, 2, 30 * MS);	/* the other members have
						 * continued */
	n = retransmit_next_run(&m, 44, &first, &again, 30 * MS);
	retransmit_unsent(&m, first, n, 1, again);
	ok(n == 2 &&
		retransmit_next_run(&m, 44, &first, &again, 30 * MS) == 1 &&
		first == 1 && send_all(&m, 44, 30 * MS) == 0x78 &&
		m.upto == segs,
	    "a segment without room is sent before segments that are no longer "
	    "needed");
	retransmit_free(&m);
}

static void
test_windows(void)
{
	struct retransmit m = make_queue(200, 0);
	struct repair_help h;
	uint32_t before;

	send_limits_set(&m.limit, 4, 100);
	send_all(&m, 44, 0);
	ok(m.out == 4, "a member starts with a window of 4");
	retransmit_take(&m, 0, MS);
	send_all(&m, 44, MS);
	ok(m.limit.window == 5 && m.out == 5,
	    "the window grows with each result");
	m.limit.window = 150;
	send_all(&m, 44, MS);
	probed(&m, &h, MS);
	receive_state(&m, (struct repair_state){ .seen = h.mark },
	    0xfffffffffffffffe, 2 * MS);
	ok(m.limit.flight < 100 && m.flight <= m.limit.flight,
	    "after a loss of most of a flight, fewer segments may be in "
	    "flight: %u", m.limit.flight);
	before = m.limit.flight;
	for (uint64_t k = 3; k < 12; k++) {
		send_all(&m, 44, k * MS);
		if (probed(&m, &h, k * MS))
			receive_state(&m, (struct repair_state){.seen = h.mark},
			    0, k * MS + MS);
	}
	ok(m.limit.flight > before, "more segments may be in flight when "
	    "results arrive: %u", m.limit.flight);
	ok(m.limit.window >= 150, "a loss alone does not narrow the window");
	m.limit.last_rtt_ns = 10 * m.limit.least_rtt_ns;
	retransmit_note_loss(&m, 60 * MS);
	ok(m.limit.window < 30 && m.limit.window >= 16,
	    "a longer round trip narrows the window");
	before = m.limit.window;
	retransmit_note_loss(&m, 60 * MS + 1);
	ok(m.limit.window == before,
	    "the window narrows once in two round trips");
	retransmit_free(&m);
}

/* A rack sends segments in the order in which they became ready. */
static void
test_order(void)
{
	struct retransmit m = { 0 };
	uint32_t first, n;
	bool again;

	retransmit_init(&m, 40, true);
	send_limits_set(&m.limit, 16, 1024);
	retransmit_sample(&m, MS);
	retransmit_start(&m, 0, 0);
	ok(retransmit_next_run(&m, 44, &first, &again, 0) == 0 &&
		retransmit_deadline_ns(&m) == UINT64_MAX,
	    "a rack sends nothing until a segment is ready");
	retransmit_ready_segment(&m, 7);
	retransmit_ready_segment(&m, 8);
	retransmit_ready_segment(&m, 3);
	n = retransmit_next_run(&m, 44, &first, &again, 0);
	ok(n == 2 && first == 7 &&
		retransmit_next_run(&m, 44, &first, &again, 0) == 1 &&
		first == 3,
	    "a rack sends ready segments at once, in runs");
	for (uint32_t i = 9; i < 39; i++)
		retransmit_ready_segment(&m, i);
	m.limit.window = 16;
	send_all(&m, 44, 0);
	ok(m.out == 33, "a rack does not wait for results, because racks could "
	    "wait for each other forever");
	retransmit_free(&m);
}

/*
 * The plain rule: remove segment i, whose result was taken back, from an
 * ordered queue as if it had never been ready.
 */
static void
remove_plainly(struct retransmit *m, uint32_t i)
{
	struct retransmit_segment *s = &m->s[i];
	uint32_t k = 0;

	s->flags &= (uint8_t)~RETRANSMIT_TAKEN_BACK;
	while (k < m->readied && m->order[k] != i)
		k++;
	if (k == m->readied)
		return;
	m->readied--;
	for (uint32_t to = k; to < m->readied; to++)
		m->order[to] = m->order[to + 1];
	if (k < m->next) {
		m->next--;
		m->upto--;
	}
	m->flight -= (s->flags & RETRANSMIT_IN_FLIGHT) != 0;
	m->agains -= (s->flags & RETRANSMIT_AGAIN) != 0;
	*s = (struct retransmit_segment){ .asked = s->asked,
	    .flags = s->flags & RETRANSMIT_QUEUED };
}

/* Are the two queues equal, apart from stale marks outside `order`? */
static bool
are_equal(const struct retransmit *a, const struct retransmit *b)
{
	bool good = a->readied == b->readied && a->next == b->next &&
	    a->upto == b->upto && a->flight == b->flight && a->out == b->out &&
	    a->agains == b->agains && a->here == b->here &&
	    a->first == b->first &&
	    memcmp(a->order, b->order, a->readied * sizeof(*a->order)) == 0;

	for (uint32_t i = 0; i < a->segs; i++) {
		const struct retransmit_segment *s = &a->s[i], *t = &b->s[i];

		good = good && (s->flags & ~RETRANSMIT_TAKEN_BACK) ==
		    (t->flags & ~RETRANSMIT_TAKEN_BACK) &&
		    s->times == t->times && s->serial == t->serial &&
		    s->asked == t->asked && s->at_ns == t->at_ns;
	}
	return good;
}

/* Copy the queue `from`, with memory of its own. */
static struct retransmit
copy_queue(const struct retransmit *from)
{
	struct retransmit m = { 0 };
	struct retransmit_segment *s;
	uint32_t *again, *order;

	retransmit_init(&m, from->segs, true);
	s = m.s;
	again = m.again;
	order = m.order;
	m = *from;
	m.s = memcpy(s, from->s, m.segs * sizeof(*s));
	m.again = memcpy(again, from->again, m.segs * sizeof(*again));
	m.order = memcpy(order, from->order, m.segs * sizeof(*order));
	return m;
}

/*
 * Make a queue in which some segments are ready, some of these were sent, some
 * were lost, and some results have arrived, for segments in `order` and for
 * others.  Then fill a Probe.
 */
static struct retransmit
make_mixed(struct rng *rng, uint32_t segs)
{
	struct retransmit m = { 0 };
	struct repair_bitmap b = bitmap(rng_u64(rng));
	struct repair_help h;
	uint32_t first;
	bool again;

	retransmit_init(&m, segs, true);
	send_limits_set(&m.limit, segs, segs);
	retransmit_start(&m, 1, 0);
	for (uint32_t k = 0, i = rng_below(rng, segs); k < segs; k++) {
		if (rng_below(rng, 4) > 0)
			retransmit_ready_segment(&m, i);
		i = (i + 7) % segs;	/* 7 does not divide segs */
	}
	for (uint64_t k = rng_below(rng, segs); k-- > 0;)
		retransmit_next_run(&m, 1, &first, &again, 0);
	retransmit_receive_lacks(&m, &b, m.serial, 0, 0);
	for (uint32_t i = 0; i < segs - 1; i++) {
		if (rng_below(rng, 2) == 0)
			retransmit_take(&m, i, 0);
	}
	/* the parent lacks segments whose results have arrived */
	b = bitmap(rng_u64(rng));
	retransmit_receive_lacks(&m, &b, m.serial, 0, 0);
	for (uint64_t k = rng_below(rng, segs); k-- > 0;)
		retransmit_next_run(&m, 1, &first, &again, 0);
	retransmit_fill_probe(&m, ++xid, &h, room, 0);
	return m;
}

/* Results of an earlier instance of the parent's job are taken back. */
static void
test_take_back(void)
{
	enum { SEGS = 60 };
	struct rng rng = rng_seed(38);
	bool equal = true, bounded = true, ordered = true;
	uint32_t all = 0;

	for (uint32_t turn = 0; turn < 400; turn++) {
		struct retransmit m = make_mixed(&rng, SEGS), plain;
		const uint64_t lacks = rng_u64(&rng);
		uint32_t *order = m.order, steps, n = 0;

		for (uint32_t i = 0; i < SEGS; i++) {
			/* a search of the order would end the test */
			m.order = (uint32_t *)1;
			if ((lacks >> i & 1) != 0)
				n += retransmit_take_back(&m, i, xid);
			m.order = order;
		}
		plain = copy_queue(&m);
		for (uint32_t i = 0; i < SEGS; i++) {
			if ((m.s[i].flags & RETRANSMIT_TAKEN_BACK) != 0)
				remove_plainly(&plain, i);
		}
		steps = m.readied;
		bounded = bounded && retransmit_remove_taken_back(&m) ==
		    (n > 0 ? steps : 0) && retransmit_remove_taken_back(&m) ==
		    0;
		equal = equal && are_equal(&m, &plain);
		for (uint32_t i = 0; i < SEGS; i++) {
			if ((m.s[i].flags & RETRANSMIT_TAKEN_BACK) == 0)
				continue;	/* it was never ready */
			retransmit_ready_segment(&m, i);
			ordered = ordered && m.s[i].flags == 0 &&
			    m.order[m.readied - 1] == i;
		}
		all += n;
		retransmit_free(&m);
		retransmit_free(&plain);
	}
	ok(equal && all > 1000, "results that are taken back leave the order "
	    "as if each were removed alone");
	ok(bounded, "one pass over the order serves all results of a STATE, "
	    "and a STATE without such a result costs no pass");
	ok(ordered, "segments that were never ready become ready");
}

static void
test_wraps(void)
{
	struct retransmit m = make_queue(40, SEG_ITERATIONS - 1);
	struct repair_help h;

	m.serial = UINT32_MAX - 19;
	m.seen = UINT32_MAX - 1;
	send_all(&m, 44, 0);
	ok(probed(&m, &h, 100) && h.mark == 20 && h.iteration == 0xffffff,
	    "marks wrap after 2^32 - 1");
	receive_state(&m, (struct repair_state){.seen = UINT32_MAX, .mark = 3},
	    0xc00000, 200);
	ok(send_all(&m, 44, 200) == 0 && m.seen == 3,
	    "a segment sent after mark 2^32 - 1 counts as later");
	receive_state(&m, (struct repair_state){.seen = 2, .mark = UINT32_MAX},
	    0xf00000, 300);
	ok(send_all(&m, 44, 300) == 0x300000 && m.seen == 3,
	    "mark 2 follows mark 2^32 - 1");
	m.iteration = 0;
	ok(retransmit_receive_state(
	       &m, xid, &(struct repair_state){.iteration = 0xffffff}, 400),
	    "the iteration before 0 is 2^24 - 1");
	retransmit_free(&m);
}

/* Asynchronous: a STATE takes the place of results. */
/* A segment that is lost again and again is in the queue once. */
static void
test_queue(void)
{
	struct retransmit m = make_queue(2, 1);
	struct repair_bitmap b = bitmap(2);

	send_all(&m, 2, 0);
	retransmit_receive_lacks(&m, &b, m.serial, MS, MS);
	b = bitmap(1);
	for (int k = 0; k < 5; k++) {
		retransmit_receive_lacks(&m, &b, m.serial, MS, MS);
		retransmit_take(&m, 0, MS);
	}
	ok(send_all(&m, 2, 2 * MS) == 2,
	    "a segment that is lost again and again does not delay others");
	retransmit_free(&m);
}

static void
test_acks(void)
{
	struct retransmit m = make_queue(40, 9);
	struct repair_help h;

	m.acks = true;
	send_all(&m, 44, 0);
	ok(probed(&m, &h, 100) && h.lacks.bytes == 0 && h.mark == 40,
	    "an asynchronous member sends Probes about its push");
	retransmit_receive_state(&m, xid,
	    &(struct repair_state){
		.iteration = 9, .seen = 40, .whole = true, .notice = true},
	    200);
	ok(m.here == 0, "a notice counts for its round and not for a push of "
	    "the same number");
	receive_state(&m, (struct repair_state){ .seen = 40 }, 0x81, 300);
	ok(m.here == 38 && send_all(&m, 44, 300) == 0x81,
	    "a STATE says which segments of the push have arrived and which "
	    "are missing");
	probed(&m, &h, 400);
	receive_state(&m, (struct repair_state){ .seen = 42 }, 0, 500);
	ok(retransmit_is_whole(&m), "a later STATE says that the push is "
	    "complete");
	retransmit_free(&m);
}

int
main(void)
{
	test_no_loss();
	test_state();
	test_nack();
	test_time();
	test_part();
	test_withheld();
	test_slow();
	test_gaps();
	test_slack();
	test_push_during_rounds();
	test_unsent();
	test_windows();
	test_order();
	test_take_back();
	test_wraps();
	test_queue();
	test_acks();
	return tap_end();
}
