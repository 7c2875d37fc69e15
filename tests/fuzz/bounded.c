/*
 * Fuzz live switches that have fewer slots than a vector has segments, in a
 * random network (see settings()).  A rack and the root have different numbers
 * of slots.  No switch may use more slots than it has, every sum must be exact,
 * and all workers must end.
 */
#include "common/base/bytes.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/iswitch/tiers.h"

/* Return a share of one, at most `most`. */
static double
share(struct bytes *in, double most)
{
	return most * bytes_u8(in) / 255;
}

/* Read a network from some bytes; missing bytes count as 0. */
static struct tiers_conf
settings(struct bytes *in)
{
	struct tiers_conf c = { .limit_ns = 3600000000000 };

	c.seed = bytes_u16(in);
	c.workers = 1 + bytes_u8(in) % 5;
	c.racks = bytes_u8(in) % 3;
	c.racks = c.racks < c.workers ? c.racks : c.workers;
	c.slots = 4 + bytes_u8(in) % 60u;
	c.slots_root = 4 + bytes_u8(in) % 60u;
	c.elements = (1 + bytes_u8(in) % 60u) * TIERS_FLOATS;
	c.elements -= bytes_u8(in) & 1u;
	c.goal = 1 + bytes_u8(in) % 5u;
	c.next = (SEG_ITERATIONS - bytes_u8(in) % 4u) & (SEG_ITERATIONS - 1);
	c.window = bytes_u8(in);
	c.window += c.window == 1;
	c.run = 1 + bytes_u8(in) % 44u;
	c.loss = share(in, 0.3);
	c.twice = share(in, 0.2);
	c.late = share(in, 0.3);
	c.run_loss = share(in, 0.2);
	c.full = share(in, 0.3);
	c.pause = share(in, 0.02);
	c.pause_ns = 100000000;
	c.packet_ns = 200 + 80u * bytes_u8(in);
	c.delay_ns = 1000 + 100u * bytes_u16(in);
	c.late_ns = 4 * c.delay_ns;
	c.think_ns = 10000u * bytes_u8(in);
	c.skew_ns = 10000000u * (uint64_t)bytes_u8(in);
	c.restarts = bytes_u8(in) % 3u;
	return c;
}

/* Check that no switch uses more slots than it has. */
static void
check(const struct tiers *w)
{
	for (int k = w->cf.workers; k < w->nodes; k++) {
		const struct iswitch *s = rigged_switch(&w->node[k].plane);
		uint64_t taken = 0;

		for (uint32_t i = 0; i < s->jobs; i++) {
			const struct job *j = &s->job[i]->core;

			must(!job_has_memory(j) || j->sums.s.span == 0 ||
			    sums_slots(&j->sums.s) == j->slots,
			    "what a job has it took of the switch's");
			must(j->sums.filling <= j->slots, "and fills no more");
			taken += j->slots;
		}
		must(taken == s->budget.slots && taken <= s->cf.job.slots,
		    "there are no more slots than that");
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	static struct tiers w;
	struct bytes in = bytes_over(p, len);
	const struct tiers_conf c = settings(&in);

	tiers_open(&w, &c);
	while (tiers_step(&w))
		check(&w);
	for (int k = 0; k < c.workers; k++) {
		const struct tiers_node *n = &w.node[k];

		must(!n->wrong, "every sum is exact");
		must(n->done == c.goal && n->l.in.end == MEMBERSHIP_LEFT,
		    "each worker ends");
	}
	for (int k = c.workers; k < w.nodes && c.restarts == 0; k++) {
		const struct iswitch *s = rigged_switch(&w.node[k].plane);

		must(s->jobs == 0 || s->job[0]->core.n[JOB_NO_SLOT] == 0,
		    "who keeps to his window finds a slot");
	}
	tiers_close(&w);
	return 0;
}
