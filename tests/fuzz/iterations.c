/*
 * Fuzz innet-aom with packets of the programs iswitch and dlp.  The input is a
 * byte of settings, then packets.  A packet is a byte with its ends (4 bits),
 * the kind (2 bits), its capture (1 bit) and whether a snapshot length cut it;
 * a byte with the delay; a byte with its length; and its bytes.  Each segment
 * must be counted under one reason, and all memory must be freed.
 */
#include "cmd/innet-aom/timing/dlp-sessions.h"
#include "cmd/innet-aom/timing/iswitch-jobs.h"
#include "cmd/innet-aom/timing/rounds.h"
#include "common/wire/control.h"
#include "common/wire/dlp.h"
#include "common/wire/seg.h"
#include "tests/fuzz/fuzz.h"

enum { SMALL_BYTES = 6000, SECOND = 1000000000 };

static uint64_t now_ns, closed;

static void
report(void *arg, const struct job *j, const struct job_closed *c)
{
	(void)arg;
	closed++;
	must(c->contributors <= c->members && c->members <= j->members,
	    "who sent has a part");
	if (j->mode == JOB_ASYNC)	/* from the previous round, on average
					 */
		must(!c->whole || c->iteration_ns <= now_ns, "a round does");
	else
		must(!c->whole || (c->contributors > 0 && c->start_ns +
		    c->iteration_ns <= now_ns), "an iteration ends by now");
	must(c->slowest < (int32_t)j->members, "the slowest is a member");
	for (int k = 0; k < JOB_PHASES; k++)
		must(c->phase[k].count <= c->members && c->phase[k].total <=
		    now_ns * c->members, "phases are of members");
}

static union addr
address(unsigned who)
{
	union addr a = { .in = { .sin_family = AF_INET } };

	a.in.sin_addr.s_addr = htonl(0x0a000000 + who);
	a.in.sin_port = htons(who == 0 ? 46638 : who == 1 ?
	    DLP_SWITCH_PORT : (uint16_t)(5000 + who));
	return a;
}

/* Count the reasons under which segments were counted. */
static uint64_t
sorted_out(const struct jobs *s)
{
	static const enum job_count reason[] = { JOB_SEGMENTS,
	    JOB_RETRANSMITTED, JOB_RESULTS, JOB_RESENT, JOB_LATE, JOB_COPIES,
	    JOB_MISMATCHED };
	uint64_t n = s->bad_segment + s->unplaced + s->context.no_room;

	for (uint32_t i = 0; i < s->n; i++)
		for (size_t k = 0; k < sizeof(reason) / sizeof(*reason); k++)
			n += s->job[i]->n[reason[k]];
	return n;
}

static void
check_jobs(const struct jobs *s, uint64_t segments)
{
	must(s->context.budget.bytes <= s->context.budget.most_bytes,
	    "the budget is kept");
	must(s->too_many == 0, "so few are never too many");
	must(sorted_out(s) == segments, "one reason a segment");
	for (uint32_t i = 0; i < s->n; i++) {
		const struct job *j = s->job[i];
		uint64_t members = 0;

		for (uint32_t m = 0; m < j->members; m++)
			members += j->member[m].n[JOB_SEGMENTS];
		must(members == j->n[JOB_SEGMENTS], "members make the job");
	}
}

/*
 * Return the next packet at *p, of fewer than *len bytes, or false at the end.
 */
static bool
next(const uint8_t **p, size_t *len, struct packet *k, uint8_t *kind)
{
	const uint8_t *h = *p;
	size_t n;

	if (*len < 3)
		return false;
	n = h[2] < *len - 3 ? h[2] : *len - 3;
	now_ns += (uint64_t)h[1] * 1000;
	*kind = h[0] >> 4 & 3;
	*k = (struct packet){ .stamp_ns = now_ns, .file = h[0] >> 6 & 1,
	    .tos = *kind == 0 ? SEG_TOS : CONTROL_TOS,
	    .from = address(h[0] & 3), .to = address(h[0] >> 2 & 3),
	    .wire_bytes = (uint32_t)n + 42, .payload = h + 3,
	    .bytes = (uint32_t)n, .have = (uint32_t)n };
	if (h[0] >> 7 != 0)
		k->bytes += 8;
	*p += 3 + n;
	*len -= 3 + n;
	return true;
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	const uint8_t settings = len > 0 ? *p : 0;
	struct job_context context = { .report = report, .budget.most_bytes =
	    (settings & 1) != 0 ? SMALL_BYTES : 1 << 20,
	    .iterations_mask = UINT32_MAX };
	struct jobs jobs = { .context = context, .async = (settings & 2) != 0 };
	struct sessions sessions = {
	    .context = context, .late = (settings & 4) != 0};
	const union addr sw = address(2);
	uint64_t segments = 0;
	struct packet k;
	uint8_t kind, *copy;

	now_ns = SECOND;
	if (len > 0) {
		p++;
		len--;
	}
	if ((settings & 8) != 0)
		jobs_add_switch(&jobs, &sw);
	while (next(&p, &len, &k, &kind)) {
		copy = fuzz_copy(k.payload, k.have);
		k.payload = copy;
		if (kind < 2)
			jobs_receive(&jobs, &k);
		else
			sessions_receive(&sessions, &k);
		segments += kind == 0;
		free(copy);
		check_jobs(&jobs, segments);
	}
	jobs_end(&jobs);
	sessions_end(&sessions);
	check_jobs(&jobs, segments);
	must(jobs.context.budget.bytes == 0 &&
		 sessions.context.budget.bytes == 0,
	    "all memory comes back");
	jobs_free(&jobs);
	sessions_free(&sessions);
	return 0;
}
