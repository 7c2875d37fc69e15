/*
 * Compare the mapping of workers to other names with a table that is searched.
 */
#include "common/base/rng.h"
#include "common/olaf/program.h"
#include "tests/unit/tap.h"

static struct groups_name
make_name(uint16_t cluster, uint32_t worker)
{
	return (struct groups_name){ cluster, worker };
}

static bool
is_same(struct groups_name a, struct groups_name b)
{
	return a.cluster == b.cluster && a.worker == b.worker;
}

static void
test_one(void)
{
	struct groups g = { 0 };

	ok(is_same(groups_name_above(&g, make_name(1, 2)), make_name(1, 2)) &&
	    is_same(groups_name_below(&g, make_name(1, 2)), make_name(1, 2)),
	    "a worker that was not moved has its own name");
	ok(groups_move(&g, make_name(1, 2), make_name(65535, UINT32_MAX)) &&
		is_same(groups_name_above(&g, make_name(1, 2)),
		    make_name(65535, UINT32_MAX)) &&
		is_same(groups_name_below(&g, make_name(65535, UINT32_MAX)),
		    make_name(1, 2)),
	    "a worker that was moved has another name above and its own below");
	ok(!groups_move(&g, make_name(1, 3), make_name(65535, UINT32_MAX)) &&
	    is_same(groups_name_above(&g, make_name(1, 3)), make_name(1, 3)),
	    "a name belongs to one worker");
	ok(groups_move(&g, make_name(1, 2), make_name(4, 4)) &&
		is_same(groups_name_below(&g, make_name(65535, UINT32_MAX)),
		    make_name(65535, UINT32_MAX)) &&
		groups_move(&g, make_name(1, 3), make_name(65535, UINT32_MAX)),
	    "a worker that is moved again leaves its last name");
	ok(groups_move(&g, make_name(1, 2), make_name(1, 2)) &&
	    is_same(groups_name_above(&g, make_name(1, 2)), make_name(1, 2)) &&
	    is_same(groups_name_below(&g, make_name(4, 4)), make_name(4, 4)),
	    "a worker can move back to its own name");
	groups_free(&g);
}

enum { NAMES = 12, MOVES = 200000 };

/* Check every name both ways, after each of many moves. */
static void
test_twin(void)
{
	struct rng r = rng_seed(7);
	struct groups g = { 0 };
	uint32_t up[NAMES];	/* the name above, for each name */
	bool good = true, moved, taken;
	uint32_t rows = 0;

	for (uint32_t i = 0; i < NAMES; i++)
		up[i] = i;
	for (int k = 0; k < MOVES && good; k++) {
		const uint32_t own = (uint32_t)(rng_u64(&r) % NAMES),
		    to = (uint32_t)(rng_u64(&r) % NAMES);

		taken = false;
		for (uint32_t i = 0; i < NAMES; i++)
			taken = taken || (i != own && up[i] != i &&
			    up[i] == to);
		moved = groups_move(&g, make_name(0, own), make_name(0, to));
		good = moved == !taken;
		if (moved)
			up[own] = to;
		for (uint32_t i = 0; i < NAMES; i++) {
			good = good &&
			       groups_name_above(&g, make_name(0, i)).worker ==
				   up[i];
			if (up[i] != i)
				good = good && groups_name_below(
						   &g, make_name(0, up[i]))
						       .worker == i;
		}
		rows = g.count;
	}
	ok(good, "%d moves agree with a table", MOVES);
	ok(rows <= NAMES, "rows are used again: %u", rows);
	groups_free(&g);
}

int
main(void)
{
	test_one();
	test_twin();
	return tap_end();
}
