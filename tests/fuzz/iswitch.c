/*
 * Fuzz a whole aggregation switch, live.  The input is three bytes of settings,
 * then datagrams.  A datagram is a byte with the sender (3 bits), the delay (3
 * bits) and the kind (2 bits); a byte with its length (6 bits), whether it
 * belongs to the job at the parent (bit 6) and whether the parent sent it (bit
 * 7); and its bytes.  After each datagram all tables must agree with each
 * other.
 */
#include "tests/unit/iswitch/rigged.h"
#include "tests/fuzz/fuzz.h"

static uint64_t posted;		/* of all bytes, so that they are read */

static void
deliver(void *ctx, const struct post *p)
{
	const struct iswitch *s = rigged_switch(ctx);
	struct control c;
	struct seg g;

	must(p->count > 0 && p->last_bytes <= p->bytes, "a run is a run");
	must(p->to == POST_ONE || p->group < s->jobs, "a post is of a job");
	must(p->to != POST_PARENT || s->cf.job.child,
	    "only a child has a parent");
	for (uint32_t k = 0; k < p->count; k++) {
		const uint32_t len = k + 1 < p->count ? p->bytes :
		    p->last_bytes;
		const uint8_t *q = p->p + (size_t)k * p->bytes;

		for (uint32_t i = 0; i < len; i++)
			posted += q[i];
		if (p->tos == (s->cf.job.tagged ? SEG_TAGGED_TOS : SEG_TOS))
			must(seg_parse_as(p->tos, q, len, &g),
			    "a segment is one");
		else
			must(p->tos == CONTROL_TOS && control_parse(q, len,
			    &c), "a control message is one");
	}
}

/*
 * Check the list of filling slots in both directions, and other counts of
 * slots.
 */
static void
check_slots(const struct job *j)
{
	const struct sums *a = &j->sums;
	uint32_t last = SUMS_NONE, n = 0, filling = 0, ready[2] = { 0 };

	for (uint32_t at = a->oldest; at != SUMS_NONE; at = a->slot[at].after) {
		const struct sums_slot *s = &a->slot[at];

		must(s->before == last, "the list goes both ways");
		must(s->state == SUMS_FILLING, "in the list slots fill");
		must(last == SUMS_NONE || a->slot[last].began_ns <=
		    s->began_ns, "the list is in order of time");
		must(++n <= a->filling, "the list ends");
		last = at;
	}
	must(n == a->filling && a->newest == last, "the list is whole");
	must(a->s.span == 0 || sums_slots(&a->s) == j->slots,
	    "slots are taken from the switch's");
	for (uint32_t at = 0; at < sums_slots(&a->s); at++) {
		const struct sums_slot *s = &a->slot[at];
		uint32_t bits = 0, counts = 0;

		filling += s->state == SUMS_FILLING;
		ready[at / a->s.segs] += s->state == SUMS_READY;
		if (s->state == SUMS_EMPTY)
			continue;
		must(sums_at(a, s->iteration, sums_slot_index(a, at)) == at,
		    "a slot is its iteration's");
		must(s->n > 0 && s->n <= a->s.floats, "a slot has floats");
		must(s->accepted <= s->rows, "what counts was added");
		for (uint32_t m = 0; m < j->members.count; m++)
			bits += sums_has(a, at, m);
		for (uint32_t m = 0; m < j->members.count; m++)
			counts += sums_has(a, at, m) &&
			    j->members.m[m].present &&
			    j->members.m[m].from <= s->iteration;
		must(a->s.words == 0 || bits == s->rows,
		    "one bit, one packet");
		must(a->s.words == 0 || s->state != SUMS_FILLING ||
		    counts == s->accepted, "who is present counts");
	}
	must(filling == a->filling, "every filling slot is in the list");
	for (uint32_t w = 0; w < a->s.ways; w++)
		must(ready[w] == a->ready[w], "ready slots are counted");
}

/* Check the members that are present, and the lookup by address. */
static uint32_t
check_members(const struct iswitch *s, const struct job *j)
{
	const struct members *t = &j->members;
	uint32_t present = 0, ranks = 0;

	for (uint32_t i = 0; i < t->count; i++) {
		const struct iswitch_ref *who =
		    iswitch_find_address(s, &t->m[i].at);

		must(t->rank[i] < t->count, "ranks are of members");
		ranks += t->rank[i];
		if (!t->m[i].present)
			continue;
		present++;
		must(who != NULL && who->job == j->index && who->member == i,
		    "an address is its member's");
		must(t->m[i].from <= t->from_max, "from_max is the latest");
		must(!j->cf->async || t->m[i].pushed != NULL,
		    "pushes are remembered");
	}
	must(present == t->present, "who is present is counted");
	must(ranks == t->count * (t->count - 1) / 2 || t->count == 0,
	    "each rank is given once");
	return present;
}

static void
check(const struct iswitch *s)
{
	uint64_t used = 0, slots = 0;
	uint32_t present = 0, bound = s->refs;

	for (uint32_t k = 0; k < s->jobs; k++) {
		const struct job *j = &s->job[k]->core;
		uint64_t sum = 0;

		for (unsigned w = JOB_ADDED; w <= JOB_NO_MEMORY; w++)
			sum += j->n[w];
		must(sum == j->n[JOB_SEGMENTS], "each segment counts once");
		must(job_has_memory(j) || j->members.count == 0,
		    "members have a vector");
		if (job_has_memory(j))
			check_slots(j);
		present += check_members(s, j);
		used += j->used_bytes;
		slots += j->slots;
	}
	must(slots == s->budget.slots && (s->cf.job.slots == 0 || slots <=
	    s->cf.job.slots), "slots add up, and there are no more");
	for (uint32_t r = s->ref_free; r != MEMBERS_NONE; r = s->ref[r].next)
		bound--;
	must(bound == present, "an address for each member, no more");
	must(used == s->budget.used_bytes, "memory adds up");
	must(s->budget.limit_bytes == 0 || used <= s->budget.limit_bytes,
	    "memory stays below its limit");
}

/* Return one of four IPv4 and four IPv6 addresses. */
static union addr
source(unsigned k)
{
	union addr a = { .in = { .sin_family = AF_INET,
	    .sin_port = htons((uint16_t)(5000 + k)) } };

	a.in.sin_addr.s_addr = htonl(0x0a000101 + k / 2);
	if (k < 4)
		return a;
	a = (union addr){ .in6 = { .sin6_family = AF_INET6,
	    .sin6_port = htons(5000) } };
	a.in6.sin6_addr.s6_addr[0] = 0xfd;
	a.in6.sin6_addr.s6_addr[15] = (uint8_t)k;
	return a;
}

/* Read settings that a tool can have from three bytes. */
static struct iswitch_conf
settings(const uint8_t *p)
{
	static const uint64_t memory[] = { 1 << 20, 1 << 14, 1 << 12, 600 };
	struct iswitch_conf cf = { .floats = 4, .floats_max = 12,
	    .memory_bytes = memory[p[2] & 3], .number = 9,
	    .job_limit = 1000 };
	struct job_conf *j = &cf.job;

	j->rule.reduce = (struct reduce){ .kind = (enum reduce_kind)(p[0] % 5),
	    .trim = 1, .fixed_bits = 24 };
	j->async = (p[0] & 8) != 0;
	j->child = (p[0] & 16) != 0 && j->rule.reduce.kind < REDUCE_MEDIAN;
	j->whole = (p[0] & 32) != 0 && !j->async && !j->child;
	j->rule.straggler_ns = (p[0] & 64) != 0 && !j->async ? 30000000 : 0;
	j->tagged = (p[0] & 128) != 0;	/* tokens, from the cookie 0 */
	j->h = p[1] & 3;
	j->keep = 1 + (p[1] >> 2 & 3);
	j->keep_bytes = (uint64_t)1 << (p[1] >> 4 & 15);
	j->member_timeout_ns = 10000000000;
	cf.implicit = p[2] >> 2 & 3;
	if ((p[2] & 16) != 0 && !j->async && !j->whole &&
	    j->rule.straggler_ns == 0 && cf.implicit == 0)
		j->slots = 4 + (p[2] >> 5);
	return cf;
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	static const uint64_t step[] = { 0, 1, 1000, 10000000, 50000000,
	    300000000, 1100000000, 11000000000 };
	static const uint8_t plain[] = { SEG_TOS, CONTROL_TOS, SEG_TOS + 1,
	    0 }, proved[] = { SEG_TAGGED_TOS, CONTROL_TOS, SEG_TOS, 0 };
	static struct rigged r;
	struct iswitch *s;
	uint64_t now_ns = 1000;
	struct iswitch_conf cf;
	const uint8_t *tos;

	if (len < 3)
		return 0;
	cf = settings(p);
	tos = cf.job.tagged ? proved : plain;
	rigged_open(&r, &cf, 7, deliver, &r);
	s = rigged_switch(&r);
	for (p += 3, len -= 3; len >= 2;) {
		const unsigned what = p[0];
		const bool parent = cf.job.child && (p[1] & 128) != 0;
		const uint16_t job = p[1] & 64 ? 2 : 1;
		size_t n = p[1] & 63;
		const union addr from = source(what & 7);
		uint8_t *copy;

		p += 2;
		len -= 2;
		n = n < len ? n : len;
		copy = fuzz_copy(p, n);
		p += n;
		len -= n;
		now_ns += step[what >> 3 & 7];
		iswitch_run_deadlines(s, now_ns);
		must(iswitch_deadline_ns(s) > now_ns,
		    "what is due has been done");
		check(s);
		if (parent)
			iswitch_receive_parent(s, job, tos[what >> 6], copy, n,
			    now_ns);
		else
			rigged_take(&r, &from, tos[what >> 6], copy, n,
			    now_ns);
		free(copy);
		outbox_flush(s->out);
		check(s);
	}
	rigged_close(&r);
	return 0;
}
