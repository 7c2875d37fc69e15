/*
 * Fuzz the repair of losses by a member (retransmit.h) and by a switch with two
 * members.  The input is four bytes, then events.  The first two bytes are the
 * number of segments; the third says whether they become ready in any order
 * (bit 0) and asynchronously (bit 1); the fourth is unused.  An event is a byte
 * with its kind (3 bits) and a number (5 bits), a length of two bytes, and a
 * body of that length.
 */
#include "common/arq/retransmit.h"
#include "tests/unit/iswitch/rigged.h"
#include "tests/fuzz/fuzz.h"

enum { JOB = 1, SWITCH_SEGS = 64, F = 1 };

static struct rigged plane;
static struct retransmit m;
static uint32_t xid;
static uint64_t now_ns;
static struct control c;

static void
deliver(void *ctx, const struct post *p)
{
	struct repair_state st;
	struct repair_help h;
	struct control said;

	(void)ctx;
	if (p->tos != CONTROL_TOS)
		return;
	must(control_parse(p->p, p->bytes, &said), "a message is one");
	if (repair_is_state(&said))
		must(repair_get_state(&said, &st) && st.lacks.bytes <=
		    REPAIR_BITMAP_BYTES, "a STATE is whole");
	if (repair_is_help(&said))
		must(repair_get_help(&said, &h) && h.lacks.bytes > 0,
		    "a NACK names something");
}

static union addr
source(uint32_t k)
{
	return (union addr){ .in = { .sin_family = AF_INET,
	    .sin_port = htons((uint16_t)(5000 + k)) } };
}

static void
give(uint32_t member, uint8_t tos, const uint8_t *p, size_t len)
{
	const union addr from = source(member);

	rigged_take(&plane, &from, tos, p, len, now_ns);
	outbox_flush(rigged_switch(&plane)->out);
}

static void
open_switch(uint32_t segs)
{
	const struct iswitch_conf cf = { .floats = F, .floats_max = F,
	    .job = { .h = 2, .keep = 16, .member_timeout_ns = UINT32_MAX,
	    .rule.reduce = { .kind = REDUCE_SUM,
	    .fixed_bits = 24 } } };

	rigged_open(&plane, &cf, 1, deliver, NULL);
	for (uint32_t k = 0; k < 2; k++) {
		const struct control_join j = { .type = CONTROL_WORKER,
		    .worker = k, .elements = segs * F, .repairs = true };
		uint8_t msg[64];

		give(k, CONTROL_TOS, msg, (size_t)(control_put_join(
		    control_put(msg, CONTROL_JOIN, JOB, 1), &j) - msg));
	}
}

/* The counters must agree with the segments. */
static void
check(void)
{
	uint32_t here = 0, flies = 0, again = 0, out = 0;

	for (uint32_t i = 0; i < m.segs; i++) {
		const struct retransmit_segment *s = &m.s[i];

		here += (s->flags & RETRANSMIT_HERE) != 0;
		flies += (s->flags & RETRANSMIT_IN_FLIGHT) != 0;
		again += (s->flags & RETRANSMIT_AGAIN) != 0;
		out += s->times > 0 && (s->flags & RETRANSMIT_HERE) == 0;
	}
	must(here == m.here && flies == m.flight && again == m.agains &&
	    out == m.out, "segments are counted");
	must(m.next <= m.readied && m.readied <= m.segs && m.upto <= m.next,
	    "what is sent was ready");
	must(m.again_end - m.again_first <= m.segs, "the ring has room");
	must(m.limit.window > 0 && m.limit.flight > 0, "something may be sent");
}

/* Send all segments that are ready, or only a part of them. */
static void
send_all(bool part)
{
	uint8_t room[REPAIR_BITMAP_BYTES], msg[CONTROL_MAX_BYTES];
	struct repair_help h;
	uint32_t first, n;
	bool again;

	while ((n = retransmit_next_run(&m, 44, &first, &again, now_ns)) > 0) {
		for (uint32_t k = 0; k < n; k++)
			must(first + k < m.segs && ((again && !m.acks) ||
			    (m.s[first + k].flags & RETRANSMIT_HERE) == 0),
			    "what lacks is sent");
		if (!part)
			continue;
		retransmit_unsent(&m, first, n, (n + 1) / 2, again);
		break;
	}
	if (!retransmit_probe_is_due(&m, now_ns))
		return;
	retransmit_fill_probe(&m, ++xid, &h, room, now_ns);
	must(repair_put_help(msg + CONTROL_HEADER_BYTES, &h) <=
	    msg + sizeof(msg), "a Probe has room");
	must(
	    retransmit_deadline_ns(&m) > now_ns, "there is time after a Probe");
}

/*
 * Compute the entries of `order` that remain after a STATE has taken results
 * back.
 */
static void
take_back(const struct repair_state *st)
{
	static uint32_t left[12000];
	const uint32_t readied = m.readied;
	uint32_t n = 0, back = 0;

	if (st->iteration != m.iteration)
		return;
	for (uint32_t i = st->lacks.base; i < m.segs &&
	    i < st->lacks.base + 8 * st->lacks.bytes; i++)
		back += repair_lacks(&st->lacks, i) &&
		    retransmit_take_back(&m, i, c.xid);
	if (m.order == NULL)
		return;
	for (uint32_t k = 0; k < readied; k++) {
		if ((m.s[m.order[k]].flags & RETRANSMIT_TAKEN_BACK) == 0)
			left[n++] = m.order[k];
	}
	must(retransmit_remove_taken_back(&m) == (back > 0 ? readied : 0),
	    "one pass at most");
	must(m.readied == n && memcmp(left, m.order, n * sizeof(*left)) == 0,
	    "all other segments stay in order");
}

/* Start another iteration, some segments of which are ready. */
static void
turn(unsigned how, const uint8_t *p, size_t len)
{
	static uint8_t is[12000 / 8 + 1];

	retransmit_start(&m, seg_step(m.iteration, (int)(how & 3)), now_ns);
	if (m.order == NULL) {
		retransmit_ready_all(&m);
		return;
	}
	memset(is, 0, sizeof(is));
	for (size_t k = 0; k + 1 < len; k += 2) {
		const uint32_t i = (uint32_t)bytes_get(p + k, 2) % m.segs;

		if ((is[i / 8] >> i % 8 & 1) == 0)
			retransmit_ready_segment(&m, i);
		is[i / 8] |= (uint8_t)(1u << i % 8);
	}
}

static void
happen(unsigned what, unsigned how, const uint8_t *p, size_t len)
{
	static const uint64_t step[] = { 0, 1, 1000, 100000, 1000000, 20000000,
	    250000000, 1000000000 };
	static uint8_t msg[CONTROL_HEADER_BYTES + 4096];
	const uint32_t i = len < 2 ? 0 : (uint32_t)bytes_get(p, 2) % m.segs;
	const enum control_action action = what == 1 ? CONTROL_ACK :
	    CONTROL_HELP;
	uint8_t seg[SEG_HEADER_BYTES + 4 * F] = { 0 };
	struct repair_state st;
	struct repair_help h;

	memcpy(control_put(msg, (uint8_t)action, JOB, xid - how % 4), p, len);
	must(control_parse(msg, CONTROL_HEADER_BYTES + len, &c), "it is one");
	switch (what) {
	case 0:
		now_ns += step[how & 7];
		send_all((how & 8) != 0);
		break;
	case 1:
		if (!repair_is_state(&c) || !repair_get_state(&c, &st))
			break;
		if (!retransmit_receive_state(&m, c.xid, &st, now_ns))
			take_back(&st);
		break;
	case 2:
		if (repair_is_help(&c) && repair_get_help(&c, &h))
			retransmit_receive_nack(&m, &h, now_ns);
		break;
	case 3:
		if ((m.s[i].flags & RETRANSMIT_HERE) == 0)
			retransmit_take(&m, i, now_ns);
		break;
	case 4: retransmit_duplicate(&m, i); break;
	case 5: turn(how, p, len); break;
	case 6:
		control_put(msg, CONTROL_HELP, JOB, ++xid);
		give(how & 1, CONTROL_TOS, msg, CONTROL_HEADER_BYTES + len);
		break;
	default:
		seg_put(seg, how >> 1, 1, i);
		give(how & 1, SEG_TOS, seg, sizeof(seg));
		break;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	uint32_t segs;

	if (len < 4)
		return 0;
	segs = 1 + (uint32_t)bytes_get(p, 2) % 12000;
	xid = 100;
	now_ns = 1000000000;
	m = (struct retransmit){ 0 };
	if (!retransmit_init(&m, segs, (p[2] & 1) != 0))
		return 0;
	m.acks = (p[2] & 3) == 2;
	send_limits_set(&m.limit, 64, 1024);
	turn(0, p, 0);
	open_switch(segs < SWITCH_SEGS ? segs : SWITCH_SEGS);
	for (p += 4, len -= 4; len >= 3;) {
		const unsigned what = p[0];
		size_t n = bytes_get(p + 1, 2);

		p += 3;
		len -= 3;
		n = n < len ? n : len;
		n = n < 4096 ? n : 4096;
		happen(what & 7, what >> 3, p, n);
		check();
		p += n;
		len -= n;
	}
	retransmit_free(&m);
	rigged_close(&plane);
	return 0;
}
