/*
 * Test that sums of synchronous workers over random networks are exact and
 * arrive in time. With FROM and TO as arguments it runs all seeds between them,
 * otherwise a few.
 */
#include "tests/unit/tap.h"
#include "tests/unit/iswitch/tiers.h"

static struct tiers_conf
draw_conf(uint64_t seed)
{
	struct rng r = rng_seed(seed);
	struct tiers_conf c = { .seed = seed, .limit_ns = 3600000000000 };
	uint32_t segs;

	c.workers = 1 + (int)rng_below(&r, 6);
	c.racks = rng_below(&r, 3) == 0 ? 1 + (int)rng_below(&r, 3) : 0;
	c.racks = c.racks < c.workers ? c.racks : c.workers;
	segs = 1 + (uint32_t)rng_below(&r, rng_below(&r, 4) == 0 ? 200 : 30);
	c.elements = segs * TIERS_FLOATS - (uint32_t)rng_below(&r, 2);
	c.goal = 1 + (uint32_t)rng_below(&r, 6);
	c.next = rng_below(&r, 2) == 0 ? (uint32_t)rng_below(&r, 65536) :
	    SEG_ITERATIONS - 1 - (uint32_t)rng_below(&r, 4);
	c.window = rng_below(&r, 2) == 0 ? 0 : 2 + (uint32_t)rng_below(&r, 200);
	c.run = 1 + (uint32_t)rng_below(&r, 44);
	c.loss = rng_below(&r, 4) == 0 ? 0 : 0.4 * rng_double(&r);
	c.twice = rng_below(&r, 2) == 0 ? 0 : 0.2 * rng_double(&r);
	c.late = rng_below(&r, 2) == 0 ? 0 : 0.3 * rng_double(&r);
	c.run_loss = rng_below(&r, 4) != 0 ? 0 : 0.3 * rng_double(&r);
	c.pause = rng_below(&r, 3) != 0 ? 0 : 0.02 * rng_double(&r);
	c.full = rng_below(&r, 3) != 0 ? 0 : 0.3 * rng_double(&r);
	c.packet_ns = 200 + rng_below(&r, 20000);
	c.queue_ns = rng_below(&r, 4) != 0 ? 0 : 4 * c.packet_ns +
	    rng_below(&r, 5000000);
	c.delay_ns = 1000 + rng_below(&r, rng_below(&r, 2) == 0 ? 100000 :
	    5000000);
	c.late_ns = rng_below(&r, 4 * c.delay_ns);
	c.pause_ns = rng_below(&r, 100000000);
	c.think_ns = rng_below(&r, 2000000);
	c.skew_ns = rng_below(&r, 2) == 0 ? 0 : rng_below(&r, 3000000000);
	c.grain_ns = rng_below(&r, 2) == 0 ? 0 : rng_below(&r, 200000);
	/* the job opens after a second without a Join, without some workers */
	c.follows = rng_below(&r, 4) == 0 && c.skew_ns < 500000000 &&
	    c.racks == 0 && c.loss < 0.05 && c.run_loss == 0;
	c.restarts = rng_below(&r, 8) != 0 || c.follows ? 0 :
	    1 + (uint32_t)rng_below(&r, 3);
	if (rng_below(&r, 3) == 0) {
		c.slots = 4 + (uint32_t)rng_below(&r, 60);
		c.slots_root = 4 + (uint32_t)rng_below(&r, 60);
	}
	return c;
}

/* Let the workers of network c add pieces of random lengths to a ring. */
static struct tiers_conf
draw_ring(const struct tiers_conf *c)
{
	struct rng r = rng_seed(c->seed + 1);
	struct tiers_conf ring = *c;

	ring.limit_ns *= 4;		/* a rack with one slot needs seconds
					 * for each segment */
	ring.depth = 1 + (uint32_t)rng_below(&r, 6);
	ring.goal = 1 + (uint32_t)rng_below(&r, 30);
	ring.piece_most = 1 + (uint32_t)rng_below(&r, rng_below(&r, 3) == 0 ?
	    3 * c->elements : c->elements);
	return ring;
}

static void
report_run(const struct tiers *w)
{
	const struct tiers_conf *c = &w->cf;

	note("seed %llu: %d workers, %d racks, %u elements, %u from %u, window "
	    "%u, run %u, loss %.2f, twice %.2f, late %.2f, run loss %.2f, "
	    "pause %.3f, full %.2f, delay %llu, queue %llu, skew %llu%s",
	    (unsigned long long)c->seed, c->workers, c->racks, c->elements,
	    c->goal, c->next, c->window, c->run, c->loss, c->twice, c->late,
	    c->run_loss, c->pause, c->full, (unsigned long long)c->delay_ns,
	    (unsigned long long)c->queue_ns, (unsigned long long)c->skew_ns,
	    c->follows ? ", follows" : "");
	for (int k = 0; k < c->workers; k++) {
		const struct tiers_node *n = &w->node[k];
		char why[SYNC_WORKER_WHY_BYTES];

		note("worker %d: %u done%s, %u of %u segments of %u: %s", k,
		    n->done, n->wrong ? ", wrong" : "", n->l.got[n->l.t & 1],
		    n->l.segs, n->l.t, sync_worker_why(&n->l, why));
	}
	if (c->depth > 0)
		note("ring: pieces of at most %u elements, %u at a time",
		    c->piece_most, c->depth);
	note("slots %u, of the root %u, %u of %u restarts", c->slots,
	    c->slots_root, w->restarts, c->restarts);
	note("%.3f s, %llu events, %llu sent, %llu segments, %llu again",
	    (double)w->now_ns / 1e9, (unsigned long long)w->steps,
	    (unsigned long long)w->sent,
	    (unsigned long long)tiers_count(w, RETRANSMIT_SENT),
	    (unsigned long long)tiers_count(w, RETRANSMIT_REPEATED));
}

static double most_copies;
static uint64_t most_seed, needless;

/* Was every retransmission needed? */
static bool
is_needed(const struct tiers *w)
{
	const struct tiers_conf *c = &w->cf;
	const struct iswitch *s = rigged_switch(&w->node[w->nodes - 1].plane);

	return c->loss > 0 || c->run_loss > 0 || c->late > 0 || c->twice > 0 ||
	    c->queue_ns > 0 || c->racks > 0 || c->restarts > 0 ||
	    tiers_count(w, RETRANSMIT_REPEATED) <= s->job[0]->core.n[JOB_EARLY];
}

/* Return the number of segments that the workers would send without faults. */
static double
count_segments(const struct tiers *w)
{
	const struct tiers_conf *c = &w->cf;
	uint64_t segs = 0;

	for (uint32_t k = 0; k < c->goal; k++)
		segs += seg_count(c->depth > 0 ? tiers_piece_elements(w, k) :
		    c->elements, TIERS_FLOATS);
	return (double)segs * c->workers;
}

/* Run a network; returns whether all workers ended with the right sums. */
static bool
run_well(struct tiers *w, const struct tiers_conf *c)
{
	bool good = true;
	double copies;

	tiers_open(w, c);
	while (tiers_step(w))
		;
	for (int k = 0; k < c->workers; k++) {
		const struct tiers_node *n = &w->node[k];

		good = good && n->l.in.end == MEMBERSHIP_LEFT && !n->wrong &&
		    n->done == c->goal;
	}
	copies = (double)(tiers_count(w, RETRANSMIT_SENT) +
	    tiers_count(w, RETRANSMIT_REPEATED)) / count_segments(w);
	if (copies > most_copies) {
		most_copies = copies;
		most_seed = c->seed;
	}
	needless += !is_needed(w);
	if (!good || !is_needed(w) || copies >= 10)
		report_run(w);
	tiers_close(w);
	return good;
}

/*
 * Networks that once failed, with slots for whole vectors and for few segments.
 */
static const struct {
	uint64_t seed;
	bool bounded;
} once[] = { { 3997, false }, { 6656, false }, { 20576, false },
    { 214, true }, { 1075, true }, { 42476, true },
    { 57123, true }, { 16665, true } };

int
main(int argc, char *argv[])
{
	const uint64_t from = argc > 2 ? strtoull(argv[1], NULL, 10) : 1,
	    to = argc > 2 ? strtoull(argv[2], NULL, 10) : 300;
	struct tiers *w = malloc(sizeof(*w));
	uint64_t failed = 0, rings = 0;

	for (size_t k = 0; k < sizeof(once) / sizeof(*once); k++) {
		struct tiers_conf c = draw_conf(once[k].seed);

		if (!once[k].bounded)
			c.slots = c.slots_root = 0;
		failed += !run_well(w, &c);
	}
	for (uint64_t seed = from; seed < to; seed++) {
		const struct tiers_conf c = draw_conf(seed),
		    ring = draw_ring(&c);

		failed += !run_well(w, &c);
		rings += !run_well(w, &ring);
	}
	ok(failed == 0, "in %llu random networks every sum is exact and each "
	    "worker ends", (unsigned long long)(to - from));
	ok(rings == 0, "the sums of pieces in a ring are exact as well");
	ok(needless == 0, "without a loss nothing is sent again");
	ok(most_copies < 10, "no segment is sent again endlessly");
	note("at most %.1f copies of a segment (seed %llu)", most_copies,
	    (unsigned long long)most_seed);
	free(w);
	return tap_end();
}
