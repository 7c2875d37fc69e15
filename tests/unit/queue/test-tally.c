/*
 * Test the tally: it contains everything that was added, and detects a
 * violation of the law of conservation.
 */
#include "common/base/rng.h"
#include "common/queue/tally.h"
#include "tests/unit/tap.h"

static const enum tally_event out[] = { TALLY_DELIVERED, TALLY_SUPERSEDED,
    TALLY_DROPPED_FULL, TALLY_DROPPED_REWARD, TALLY_DROPPED_LIMIT,
    TALLY_QUEUED };

enum { OUTS = sizeof(out) / sizeof(*out) };

static bool
test_law(enum tally_event what)
{
	struct tally_cluster c = { 0 };

	c.of[what].constituents = 1;
	return !tally_is_conserved(&c);
}

static void
test_names(void)
{
	static const char *const want[TALLY_EVENTS] = { "arrived", "delivered",
	    "aggregated", "replaced", "replaced_reward", "superseded",
	    "dropped_full", "dropped_reward", "dropped_limit", "queued" };
	bool same = true;

	for (unsigned w = 0; w < TALLY_EVENTS; w++)
		same = same && strcmp(tally_name(w), want[w]) == 0;
	ok(same, "counters have the names of the report");
}

int
main(void)
{
	struct rng r = rng_seed(5);
	struct tally_cluster sum = { 0 };
	bool law = true, side = true;
	struct tally t;

	test_names();
	if (!ok(tally_init(&t, 65536, 3), "memory for a tally can be reserved"))
		return tap_end();
	ok(tally_is_conserved(&t.all) && tally_is_conserved(&t.cluster[65535]),
	    "an empty account is in balance");
	tally_add(&t, TALLY_ARRIVED, 65535, 65535);
	ok(t.cluster[65535].of[TALLY_ARRIVED].packets == 1 &&
	    t.cluster[65535].of[TALLY_ARRIVED].constituents == 65535 &&
	    t.all.of[TALLY_ARRIVED].constituents == 65535,
	    "the last cluster and the largest number of constituents are "
	    "counted");
	ok(!tally_is_conserved(&t.all),
	    "an arrival without a departure is detected");
	tally_add(&t, TALLY_DELIVERED, 65535, 65534);
	ok(!tally_is_conserved(&t.all), "a missing arrival is detected");
	tally_add(&t, TALLY_QUEUED, 0, 1);
	ok(tally_is_conserved(&t.all) &&
		!tally_is_conserved(&t.cluster[65535]) &&
		!tally_is_conserved(&t.cluster[0]),
	    "a balance of the total does not balance each cluster");
	tally_free(&t);

	for (size_t i = 0; i < OUTS; i++)
		law = law && test_law(out[i]);
	for (enum tally_event w = TALLY_AGGREGATED;
	    w <= TALLY_REPLACED_REWARD; w++)
		side = side && !test_law(w);
	ok(law && test_law(TALLY_ARRIVED), "every kind of arrival and "
	    "departure counts");
	ok(side, "merging and replacing do not change the balance");

	law = tally_init(&t, 65536, 3);
	for (int i = 0; i < 10000; i++) {
		uint16_t c = (uint16_t)rng_below(&r, 3);
		uint16_t n = (uint16_t)(1 + rng_below(&r, 65535));

		tally_add(&t, TALLY_ARRIVED, c, n);
		tally_add(&t, out[rng_below(&r, OUTS)], c, n);
	}
	for (int c = 0; c < 3; c++) {
		law = law && tally_is_conserved(&t.cluster[c]);
		for (int w = 0; w < TALLY_EVENTS; w++) {
			sum.of[w].packets += t.cluster[c].of[w].packets;
			sum.of[w].constituents +=
			    t.cluster[c].of[w].constituents;
		}
	}
	ok(law && tally_is_conserved(&t.all),
	    "10,000 updates with arrival and departure are in balance");
	ok(memcmp(&sum, &t.all, sizeof(sum)) == 0,
	    "the total is the sum of the clusters");
	tally_free(&t);

	law = tally_init(&t, 2, 3);
	for (uint16_t n = 1; n <= 6; n++)
		tally_count_delivery(&t, 1, n);
	tally_count_delivery(&t, 1, 65535);
	ok(law && t.merged[3] == 1 && t.merged[4] == 1 && t.merged[7] == 0 &&
	    t.merged[65535] == 1 &&
	    t.cluster[1].of[TALLY_DELIVERED].packets == 7,
	    "a table of merged updates grows and keeps its content");
	tally_free(&t);
	return tap_end();
}
