/*
 * Test that an update is accepted once and in order, and that a worker may
 * restart.
 */
#include "cmd/innet-ps/newest.h"
#include "tests/unit/tap.h"

static struct newest n;

/* Is an update of worker 3 newer?  If so, record it. */
static bool
take_update(uint16_t following, uint32_t sequence)
{
	const struct update u = { .kind = UPDATE_UPDATE, .cluster = 1,
	    .worker = 3, .following = following, .sequence = sequence };

	if (!newest_is_newer(&n, &u))
		return false;
	newest_note(&n, &u);
	return true;
}

static void
take_weights(uint32_t sequence, uint64_t stamp_ns)
{
	const struct update u = { .kind = UPDATE_WEIGHTS, .cluster = 1,
	    .worker = 3, .sequence = sequence, .generated_ns = stamp_ns };

	newest_restart(&n, &u);
}

int
main(void)
{
	struct update other = { .cluster = 2, .worker = 3, .sequence = 1 };

	n = newest_with_limit(1, &hashmap_constant);
	ok(take_update(0, 5) && !take_update(0, 5),
	    "an update is accepted once");
	ok(!take_update(0, 4) && take_update(0, 6),
	    "an update is accepted only if it is newer");
	ok(take_update(1, 5) && take_update(2, 5) && !take_update(1, 5),
	    "each range is counted separately");
	ok(newest_is_newer(&n, &other), "each cluster is counted separately");
	ok(take_update(0, 0x80000005) && !take_update(0, 6) &&
		take_update(0, 0xffffffff) && take_update(0, 0),
	    "sequence numbers wrap");
	ok(take_update(0, 900), "sequence numbers may have gaps");
	take_weights(950, 10);
	ok(take_update(0, 901), "weights that are ahead do not change the "
	    "sequence");
	take_weights(0, 20);
	ok(take_update(0, 1) && take_update(0, 2),
	    "a worker restarts with weights");
	take_weights(0, 20);
	ok(!take_update(0, 1) && !take_update(0, 2),
	    "after a restart, updates must be newer than the last");
	ok(!take_update(1, 5), "a restart counts only for its range");
	for (uint32_t w = 10; w < 10 + NEWEST_LEAST; w++) {
		other.worker = w;
		newest_note(&n, &other);
	}
	ok(n.rows.count == NEWEST_LEAST && take_update(0, 1),
	    "the worker that was silent longest is forgotten");
	newest_free(&n);
	return tap_end();
}
