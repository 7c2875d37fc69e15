/*
 * Test transmission control: the probabilities at the end of
 * tests/data/olaf-vectors.txt, and which switch's status a model carries to the
 * worker.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/rng.h"
#include "common/queue/txctl.h"
#include "tests/unit/tap.h"

#define MS 1000000u

/*
 * Make a worker with T = 400 ms that got a status with N active clusters at 1
 * s.
 */
static struct txctl
set_status(enum txctl_kind kind, uint16_t active)
{
	const struct update_status s = { .filled = true, .active = active,
	    .capacity = 8 };
	struct txctl t = { .kind = kind, .threshold_ns = 400 * MS };

	txctl_set_status(&t, &s, 1000 * MS);
	return t;
}

static enum txctl_kind
kind_of(const char *name)
{
	return strcmp(name, "1/T") == 0 ? TXCTL_URGENT : TXCTL_FAIR;
}

static void
expect_probability(const char *name, uint16_t active, unsigned ms, double want)
{
	const struct txctl t = set_status(kind_of(name), active);
	double is = txctl_probability(&t, (1000 + (uint64_t)ms) * MS);

	if (!ok(fabs(is - want) < 1e-9, "v = %s, N = %u: %g after %u ms", name,
	    active, want, ms))
		note("%.17g", is);
}

/*
 * Read "1/T [(0, 0.8), (400, 0.8)]" or "N=20 [('1/T', 400, 0.4)]"; return the
 * number of pairs.
 */
static int
test_vectors(const char *line)
{
	char name[8];
	unsigned ms, active;
	double want;
	int n = 0;

	if (sscanf(line, "N=%u [", &active) == 1) {
		for (const char *p = line; (p = strchr(p, '(')) != NULL; p++)
			if (sscanf(p, "('%7[^']', %u, %lf)", name, &ms,
			    &want) == 3) {
				expect_probability(
				    name, (uint16_t)active, ms, want);
				n++;
			}
	} else if (sscanf(line, "%7s [", name) == 1 &&
	    (strcmp(name, "T") == 0 || strcmp(name, "1/T") == 0)) {
		for (const char *p = line; (p = strchr(p, '(')) != NULL; p++)
			if (sscanf(p, "(%u, %lf)", &ms, &want) == 2) {
				expect_probability(name, 10, ms, want);
				n++;
			}
	}
	return n;
}

static void
test_file(void)
{
	const char *dir = getenv("srcdir");
	char path[4096], line[512];
	bool eight = false, none = false;
	int n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/tests/data/olaf-vectors.txt",
	    dir == NULL ? "." : dir);
	f = fopen(path, "r");
	if (!ok(f != NULL, "the file of vectors can be read"))
		return;
	while (fgets(line, sizeof(line), f) != NULL) {
		n += test_vectors(line);
		eight = eight || strcmp(line, "N=8 1.0\n") == 0;
		none = none || strcmp(line, "none 1.0\n") == 0;
	}
	fclose(f);
	ok(n == 24 && eight && none, "all vectors were read");
}

/* Is the probability 1 at any time? */
static bool
test_certainty(const struct txctl *t)
{
	return txctl_probability(t, 0) == 1 &&
	    txctl_probability(t, 1000 * MS) == 1 &&
	    txctl_probability(t, UINT64_MAX) == 1 &&
	    txctl_should_send(t, 1000 * MS, 0x1.fffffffffffffp-1);
}

static void
test_limits(void)
{
	struct txctl t = set_status(TXCTL_URGENT, 8);
	const struct update_status empty = { .active = 100, .capacity = 1 };

	ok(test_certainty(&t), "N = 8 with a slot for each cluster: a worker "
	    "always sends");
	t = set_status(TXCTL_FAIR, 0);
	ok(test_certainty(&t), "N = 0: a worker always sends");
	t = set_status(TXCTL_NONE, 10);
	ok(test_certainty(&t), "without control a worker always sends");
	t = (struct txctl){ .kind = TXCTL_FAIR };
	ok(test_certainty(&t), "without a status a worker always sends");
	txctl_set_status(&t, &empty, 5);
	ok(!t.known && test_certainty(&t),
	    "an empty status does not count");
	t = set_status(TXCTL_URGENT, 9);
	ok(txctl_probability(&t, 1000 * MS) == 8 / 9.0,
	    "N = 9, one cluster more than slots: the probability is 8/9");
	ok(txctl_probability(&t, 0) == 8 / 9.0,
	    "a clock before the status adds nothing");
	ok(txctl_probability(&t, 1400 * MS) == 8 / 9.0 &&
	    txctl_probability(&t, 1400 * MS + 1) > 8 / 9.0,
	    "the probability grows from the first nanosecond after T");
	ok(txctl_probability(&t, UINT64_MAX) == 1,
	    "the probability never exceeds 1");
	t = set_status(TXCTL_URGENT, 16);
	ok(txctl_should_send(&t, 1000 * MS, 0x1.fffffffffffffp-2) &&
	    !txctl_should_send(&t, 1000 * MS, 0.5),
	    "with probability 1/2, draws below 1/2 send and others do not");
	t.threshold_ns = 0;
	ok(txctl_probability(&t, 1000 * MS) == 0.5 &&
	    txctl_probability(&t, 1000 * MS + 1) == 1,
	    "urgent with T = 0: the probability is 1 as soon as time has "
	    "passed");
	t.kind = TXCTL_FAIR;
	ok(txctl_probability(&t, 9000 * MS) == 0.5,
	    "fair with T = 0: the probability never grows");
	t = set_status(TXCTL_URGENT_LOCKED, 7);
	ok(test_certainty(&t), "locked slot, N = 7 of 8: a worker always "
	    "sends");
	t = set_status(TXCTL_URGENT_LOCKED, 8);
	ok(txctl_probability(&t, 1000 * MS) == 7 / 8.0 &&
	    txctl_probability(&t, 1800 * MS) == 1,
	    "locked slot, N = 8: seven slots count, and urgent grows to 1");
	t = set_status(TXCTL_FAIR_LOCKED, 14);
	ok(txctl_probability(&t, 1000 * MS) == 0.5 &&
	    txctl_probability(&t, 2400 * MS) == 0.5 + 0.4,
	    "locked slot, N = 14: the probability is 1/2, and fair grows by T "
	    "(d - T)");
	t = set_status(TXCTL_FAIR, 65535);
	t.last.capacity = 0;
	ok(txctl_probability(&t, 1000 * MS) == 0,
	    "without a slot a worker never sends");
}

/*
 * Switches pass a model in turn: the first of those with the least room is
 * reported.
 */
static bool
test_narrowest(uint64_t seed)
{
	struct update_status field = { .active = 1, .capacity = 60000 }, own;
	const uint64_t most = seed % 2 ? UINT16_MAX : 4;
	struct rng r = rng_seed(seed);
	uint32_t best = 0, capacity = 0, active = 0;
	bool same = true;

	for (uint32_t i = 0; i < 6; i++) {
		bool narrower;

		own = (struct update_status){ .occupancy = i, .full = i % 2,
		    .active = (uint16_t)(1 + rng_below(&r, most)),
		    .capacity = (uint16_t)(1 + rng_below(&r, most)) };
		narrower = i == 0 || (long double)own.capacity / own.active <
		    (long double)capacity / active;
		same = same && txctl_write_status(&field, &own) == narrower;
		if (narrower) {
			best = i;
			capacity = own.capacity;
			active = own.active;
		}
		same = same && field.filled && field.occupancy == best &&
		    field.full == best % 2 && field.capacity == capacity &&
		    field.active == active;
	}
	return same;
}

static void
test_write_status(void)
{
	struct update_status f = { .capacity = 1, .active = 100 };
	struct update_status own = { .capacity = 50, .active = 1,
	    .occupancy = 3 };
	bool same = true;

	ok(txctl_write_status(&f, &own) && f.filled && f.capacity == 50 &&
	    f.occupancy == 3, "the first switch writes its status, whatever "
	    "was there");
	own = (struct update_status){ .capacity = 100, .active = 2,
	    .occupancy = 4 };
	ok(!txctl_write_status(&f, &own) && f.occupancy == 3,
	    "a switch with an equal ratio does not change the status");
	own.active = 3;
	ok(txctl_write_status(&f, &own) && f.occupancy == 4 && f.filled,
	    "a switch with less room writes its status");
	own = (struct update_status){ .capacity = 100, .active = 0 };
	ok(!txctl_write_status(&f, &own),
	    "a switch without a cluster never writes its status");
	f = own;
	f.filled = true;
	own.active = 1;
	ok(txctl_write_status(&f, &own) && f.active == 1,
	    "a switch with a cluster replaces the status of one without");
	for (uint64_t seed = 0; seed < 2000; seed++)
		same = same && test_narrowest(seed);
	ok(same, "on 2,000 paths of six switches the status of the bottleneck "
	    "arrives");
}

int
main(void)
{
	test_file();
	test_limits();
	test_write_status();
	return tap_end();
}
