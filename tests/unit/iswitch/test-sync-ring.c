/*
 * Test rings of segments: pieces of any length are summed exactly and in order,
 * over clean and bad networks, in segments of 366 floats.
 */
#define TIERS_FLOATS 366
#include "tests/unit/tap.h"
#include "tests/unit/iswitch/tiers.h"

enum { F = TIERS_FLOATS, SEGS = 8 };

/* Return a clean network of two workers with a ring of SEGS segments. */
static struct tiers_conf
clean_conf(const uint32_t *piece, uint32_t goal, uint32_t depth)
{
	return (struct tiers_conf){ .seed = 1, .limit_ns = 60000000000,
	    .workers = 2, .elements = SEGS * F, .goal = goal, .run = 4,
	    .packet_ns = 1000, .delay_ns = 20000, .late_ns = 100000,
	    .depth = depth, .piece = piece, .piece_most = 3 * SEGS * F };
}

/* Did all workers end with the right sums? */
static bool
is_well(const struct tiers *w)
{
	const struct tiers_conf *c = &w->cf;
	bool good = true;

	for (int k = 0; k < c->workers; k++) {
		const struct tiers_node *n = &w->node[k];
		char why[SYNC_WORKER_WHY_BYTES];

		good = good && n->l.in.end == MEMBERSHIP_LEFT && !n->wrong &&
		    n->done == c->goal;
		if (!good)
			note("worker %d: %u of %u pieces, %u added%s, turn %u, "
			    "%u filled, %u taken: %s", k, n->done, c->goal,
			    n->added, n->wrong ? ", wrong" : "", n->l.t,
			    n->ring.filled, n->ring.taken,
			    sync_worker_why(&n->l, why));
	}
	return good;
}

/* Run a network; returns whether all workers ended with the right sums. */
static bool
run_well(struct tiers *w, const struct tiers_conf *c)
{
	tiers_open(w, c);
	while (tiers_step(w))
		;
	return is_well(w);
}

static bool
run_once(struct tiers *w, const struct tiers_conf *c)
{
	const bool good = run_well(w, c);

	tiers_close(w);
	return good;
}

/* Each length at every position of the ring. */
static void
test_lengths(struct tiers *w)
{
	static const uint32_t length[] = { 1, F - 1, F, F + 1, 2 * F,
	    (SEGS - 1) * F, SEGS * F - 1, SEGS * F, SEGS * F + 1,
	    (SEGS + 1) * F, 2 * SEGS * F, 5 * SEGS * F + 7 };
	uint32_t piece[3 * SEGS];
	bool good = true;

	for (size_t i = 0; i < sizeof(length) / sizeof(*length); i++) {
		for (uint32_t depth = 1; depth < 4; depth += 2) {
			struct tiers_conf c = clean_conf(piece, 3 * SEGS,
			    depth);

			for (uint32_t k = 0; k < c.goal; k++)
				piece[k] = k % 2 == 0 ? length[i] : 1 + k * 11;
			good = run_once(w, &c) && good;
		}
	}
	ok(good, "pieces of 1, 365, 366 and 367 elements, and of a ring less "
	    "one, a ring, a ring and one, and several rings give exact sums in "
	    "order");
}

/* The last segment of the ring may be shorter than the others. */
static void
test_short_end(struct tiers *w)
{
	struct tiers_conf c = clean_conf(NULL, 100, 3);
	bool good = true;

	c.elements = SEGS * F - 100;
	good = run_once(w, &c);
	c.elements = F + 1;
	c.piece_most = 5 * F;
	good = run_once(w, &c) && good;
	c.elements = 7;
	c.piece_most = 40;
	good = run_once(w, &c) && good;
	ok(good, "the length of a ring need not be a multiple of the length of "
	    "a segment");
}

/* A ring sends nothing while no piece is outstanding. */
static void
test_idle(struct tiers *w)
{
	struct tiers_conf c = clean_conf(NULL, 4, 1);
	bool good;

	c.workers = 1;			/* it never waits for another worker */
	c.piece_most = 3 * F;
	c.think_ns = 10000000000;
	good = run_well(w, &c);
	ok(good && tiers_count(w, RETRANSMIT_PROBES_SENT) <= 4 &&
	    tiers_count(w, RETRANSMIT_REPEATED) == 0,
	    "a worker without pieces sends no Probes: %llu Probes",
	    (unsigned long long)tiers_count(w, RETRANSMIT_PROBES_SENT));
	tiers_close(w);
}

/* Several pieces are in the network at a time. */
static void
test_overlap(struct tiers *w)
{
	static const uint32_t piece[12] = { F, F, F, F, F, F, F, F, F, F, F,
	    F };
	struct tiers_conf c = clean_conf(piece, 4, 1);
	uint64_t one, four;

	c.delay_ns = 1000000;
	run_well(w, &c);
	one = w->now_ns;
	tiers_close(w);
	c.depth = 4;
	run_well(w, &c);
	four = w->now_ns;
	tiers_close(w);
	ok(one - four > 5000000, "four pieces share round trips: %.1f ms, and "
	    "%.1f ms one after another", (double)four / 1e6,
	    (double)one / 1e6);
}

static void
test_faults(struct tiers *w)
{
	struct tiers_conf c = clean_conf(NULL, 60, 5);
	bool good = true;

	c.workers = 3;
	c.loss = 0.05;
	good = run_once(w, &c);
	c.loss = 0.3;
	good = run_once(w, &c) && good;
	ok(good, "sums are exact if 5 %% or 30 %% of the packets are lost");
	c.loss = 0.02;
	c.twice = 0.3;
	good = run_once(w, &c);
	ok(good, "sums are exact if 30 %% of the packets arrive twice");
	c.late = 0.5;
	good = run_once(w, &c);
	ok(good, "sums are exact if half of the packets are late");
	c.racks = 2;
	good = run_once(w, &c);
	c.slots = c.slots_root = 4;
	good = run_once(w, &c) && good;
	ok(good, "sums are exact over racks, and with fewer slots than "
	    "segments");
}

/* The switch restarts at random times and loses its state. */
static void
test_restarts(struct tiers *w)
{
	uint64_t restarts = 0;
	bool good = true;

	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct tiers_conf c = clean_conf(NULL, 60, 1 +
		    (uint32_t)seed % 6);

		c.seed = seed;
		c.workers = 1 + (int)seed % 4;
		c.piece_most = seed % 3 == 0 ? 3 * SEGS * F : 3 * F;
		c.loss = seed % 2 == 0 ? 0.05 : 0;
		c.restarts = 5;
		c.think_ns = 100000;
		good = run_well(w, &c) && good;
		restarts += w->restarts;
		tiers_close(w);
	}
	ok(good && restarts > 100, "no sum is wrong or missing after %llu "
	    "restarts of the switch", (unsigned long long)restarts);
}

/*
 * Has one worker filled the turn after a turn that another worker has not
 * completed?  It then needs the gradients of three turns.
 */
static bool
is_torn(const struct tiers *w)
{
	const struct sync_ring *a = &w->node[0].ring, *b = &w->node[1].ring;
	const struct sync_ring *ahead = a->turn > b->turn ? a : b;

	return a->turn != b->turn && ahead->filled > SEGS;
}

/* The switch restarts whenever workers are in different turns. */
static void
test_torn_turns(struct tiers *w)
{
	struct tiers_conf c = clean_conf(NULL, 200, 3);
	uint32_t restarts = 0;
	bool good = true;

	c.piece_most = 2 * SEGS * F;
	c.loss = 0.1;
	for (c.seed = 1; c.seed <= 5; c.seed++) {
		tiers_open(w, &c);
		while (tiers_step(w)) {
			const uint32_t done = w->node[0].done;

			if (!is_torn(w) || done + 2 + c.depth > c.goal)
				continue;
			tiers_restart_root(w);
			restarts++;
			while (is_torn(w) && tiers_step(w))
				;
		}
		good = is_well(w) && good;
		tiers_close(w);
	}
	ok(good && restarts > 100, "a worker repeats a turn for another worker "
	    "while it fills the next turn: %u restarts", restarts);
}

/* Segments with fewer contributions are scaled to the largest number. */
static void
test_levels(void)
{
	static const float sum[3] = { 2, 1, 3 };
	float vec[3] = { 0 };
	struct sync_ring_piece p = { .out = vec, .elements = 3 };

	sync_ring_get(&p, &sum[0], 1, 2);
	sync_ring_get(&p, &sum[1], 1, 1);
	ok(vec[0] == 2 && vec[1] == 2 && p.most == 2 && p.least == 1,
	    "a segment with fewer contributions is scaled");
	sync_ring_get(&p, &sum[2], 1, 4);
	ok(vec[0] == 4 && vec[1] == 4 && vec[2] == 3 && p.most == 4 &&
	    p.got == 3, "a segment with more contributions scales the others");
}

/* Answer the Join of a worker with a ring: does the worker end, and why? */
static bool
is_refused(bool repairs, bool whole)
{
	const struct membership_conf in = { .type = CONTROL_WORKER,
	    .job = TIERS_JOB, .elements = F, .floats_max = F,
	    .give_up_ns = 1000000000 };
	const struct sync_worker_conf cf = { .run_bytes = 1, .ring = true };
	const struct control_ack a = { .action = CONTROL_JOIN, .h = 1,
	    .members = 1, .floats = F, .elements = F, .timeout_s = 10,
	    .repairs = repairs, .whole = whole };
	char why[SYNC_WORKER_WHY_BYTES];
	uint8_t m[CONTROL_MAX_BYTES];
	struct sync_worker_out o;
	struct sync_worker l;
	struct control c;
	bool refused;

	sync_worker_init(&l, &in, &cf, 0);
	sync_worker_next(&l, 0, &o);
	control_parse(m, (size_t)(control_put_ack(control_put(m, CONTROL_ACK,
	    TIERS_JOB, l.in.join_xid), &a) - m), &c);
	sync_worker_receive_control(&l, &c, 0);
	refused = l.end == SYNC_WORKER_NO_RING && !sync_worker_is_going(&l) &&
	    strstr(sync_worker_why(&l, why), "a ring needs a switch") != NULL;
	sync_worker_free(&l);
	return refused;
}

static void
test_old_switch(void)
{
	ok(is_refused(false, false) && is_refused(true, true) &&
	    !is_refused(true, false), "a ring ends with a reason if the switch "
	    "knows only Help or adds only whole vectors");
}

int
main(void)
{
	struct tiers *w = malloc(sizeof(*w));

	assert(w != NULL);
	test_lengths(w);
	test_short_end(w);
	test_idle(w);
	test_overlap(w);
	test_faults(w);
	test_restarts(w);
	test_torn_turns(w);
	test_levels();
	test_old_switch();
	free(w);
	return tap_end();
}
