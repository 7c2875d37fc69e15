/* Test the aggregator's memory: slots, places, and a larger layout. */
#include <math.h>

#include "common/base/rng.h"
#include "common/iswitch/sums.h"
#include "tests/unit/tap.h"

enum { ELEMENTS = 10, FLOATS = 4 };

/*
 * gcc must not know where this array is: otherwise it would build kernels for
 * this array alone, and warn of loops over more than FLOATS, which do not run
 * here.
 */
static uint8_t floats[4 * FLOATS], *volatile vec = floats;

static const uint8_t *
fill_vector(float v)
{
	for (size_t i = 0; i < FLOATS; i++)
		vec_set(vec, i, v);
	return vec;
}

static struct sums_shape
make_shape(void)
{
	return (struct sums_shape){ .elements = ELEMENTS, .floats = FLOATS,
	    .segs = seg_count(ELEMENTS, FLOATS), .ways = 2, .depth = 2,
	    .words = 1, .rows = 2 };
}

static void
test_iterations(void)
{
	const int64_t near = SUMS_EPOCH + SEG_ITERATIONS - 1;

	ok(sums_unwrap(SEG_ITERATIONS - 1, near) == near &&
	    sums_unwrap(0, near) == near + 1 &&
	    sums_unwrap(5, near) == near + 6 &&
	    sums_unwrap(SEG_ITERATIONS - 9, near) == near - 8,
	    "an iteration number on the wire means the nearest iteration, also "
	    "across the wrap");
}

static void
test_slots(void)
{
	const struct reduce r = { .kind = REDUCE_SUM };
	const struct sums_shape s = make_shape();
	const int64_t t = SUMS_EPOCH;
	struct sums a;
	uint32_t at;
	struct seg g;

	ok(sums_init(&a, &r, &s) && a.s.segs == 3,
	    "a vector has three segments");
	at = sums_at(&a, t, 1);
	sums_restart_slot(&a, at, t, FLOATS, 50);
	sums_add_vector(&a, at, 3, fill_vector(1), 2);
	sums_add_vector(&a, at, 5, fill_vector(2), 1);
	ok(sums_has(&a, at, 3) && sums_has(&a, at, 5) &&
	    !sums_has(&a, at, 4) && !sums_has(&a, at, 64) &&
	    a.filling == 1 && a.oldest == at, "a slot knows who has "
	    "contributed");
	sums_recount_member(&a, 5, t + 1, -1);
	ok(a.slot[at].accepted == 2, "slots of iterations before `from` do not "
	    "change");
	sums_recount_member(&a, 3, t, -1);
	ok(a.slot[at].accepted == 1 && a.slot[at].contributions == 3,
	    "a member that left counts only for the contributions");
	ok(sums_find_result(&a, t, 1) == NULL, "an incomplete slot has no "
	    "result");
	sums_finish_slot(&a, at, NULL);
	sums_set_state(&a, at, SUMS_COMPLETE);
	sums_record_result(&a, t, 1, FLOATS, 0);
	ok(seg_parse(sums_find_result(&a, t, 1), sums_result_bytes(&a,
	    sums_find_result(&a, t, 1)), &g) && g.n == FLOATS &&
	    vec_get(g.vec, 3) == 3 && g.contributions == 3 && g.index == 1 &&
	    a.filling == 0, "a result is a valid packet");
	ok(sums_ring_packet(&a, t, 2) - sums_ring_packet(&a, t, 1) == a.stride,
	    "the packet of the next segment follows it");
	sums_restart_slot(&a, sums_at(&a, t + 2, 1), t + 2, FLOATS, 60);
	ok(sums_find_result(&a, t, 1) == NULL, "a result is available until "
	    "its place is needed");
	sums_free(&a);
}

/*
 * Does memory that grows during an iteration end like memory that was large at
 * first?
 */
static bool
check_growth(struct reduce r, struct rng *rng)
{
	struct sums_shape small = make_shape(), large = small;
	const uint32_t rank[3] = { 2, 0, 1 };
	uint32_t order[8];
	struct sums a, b;
	bool same = true;

	large.depth = 18;
	large.rows = 8;
	large.words = 2;
	if (!sums_init(&a, &r, &small) || !sums_init(&b, &r, &large))
		return false;
	for (int64_t t = SUMS_EPOCH; t < SUMS_EPOCH + 2; t++) {
		for (uint32_t i = 0; i < 3; i++) {
			uint32_t n = seg_floats_at(ELEMENTS, FLOATS, i);

			sums_restart_slot(&a, sums_at(&a, t, i), t, n, 1);
			sums_restart_slot(&b, sums_at(&b, t, i), t, n, 1);
			for (uint32_t m = 0; m < 2; m++) {
				fill_vector((float)rng_uniform(rng, -1, 1));
				sums_add_vector(
				    &a, sums_at(&a, t, i), m, vec, 1);
				sums_add_vector(
				    &b, sums_at(&b, t, i), m, vec, 1);
			}
		}
	}
	if (!sums_reshape(&a, &large))
		return false;
	same = a.filling == 6 && a.oldest == b.oldest && a.newest == b.newest;
	for (uint32_t at = 0; at < 6; at++) {
		fill_vector((float)rng_uniform(rng, -1, 1));
		sums_add_vector(&a, at, 2, vec, 1);
		sums_add_vector(&b, at, 2, vec, 1);
		for (int k = 0; k < 2 && sums_keeps_rows(&r); k++)
			sums_order_rows(k == 0 ? &a : &b, at, rank, order);
		sums_finish_slot(&a, at, order);
		sums_finish_slot(&b, at, order);
		same = same && memcmp(sums_slot_packet(&a, at),
		    sums_slot_packet(&b, at), 8 + 4 * a.slot[at].n) == 0 &&
		    sums_has(&a, at, 0) && sums_has(&a, at, 2);
	}
	sums_free(&a);
	sums_free(&b);
	return same;
}

static void
test_ordered(void)
{
	const struct reduce r = { .kind = REDUCE_ORDERED };
	struct sums_shape s = make_shape();
	const uint32_t rank[4] = { 3, 1, 0, 2 };
	uint32_t order[4];
	struct sums a;

	s.rows = 4;
	sums_init(&a, &r, &s);
	sums_restart_slot(&a, 0, SUMS_EPOCH, FLOATS, 1);
	for (uint32_t m = 0; m < 4; m++)
		sums_add_vector(&a, 0, m, fill_vector((float)m), 1);
	sums_order_rows(&a, 0, rank, order);
	ok(order[0] == 2 && order[1] == 1 && order[2] == 3 && order[3] == 0,
	    "rows are sorted by rank");
	ok(!sums_has_room(&a, 0), "the number of rows is limited");
	sums_free(&a);
}

int
main(void)
{
	struct rng rng = rng_seed(1);
	const struct reduce kinds[] = { { .kind = REDUCE_SUM },
	    { .kind = REDUCE_ORDERED }, { .kind = REDUCE_FIXED,
	    .fixed_bits = 24 }, { .kind = REDUCE_MEDIAN },
	    { .kind = REDUCE_TRIMMED, .trim = 1 } };

	test_iterations();
	test_slots();
	test_ordered();
	for (int k = 0; k < 5; k++)
		ok(check_growth(kinds[k], &rng),
		    "memory that grows during an iteration gives the same "
		    "result, kind %d",
		    k);
	return tap_end();
}
