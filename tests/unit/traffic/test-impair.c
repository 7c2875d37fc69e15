/*
 * Test a simulated bad network: how its options are read, and how it changes
 * packets.
 */
#include <math.h>

#include "common/traffic/impair.h"
#include "tests/unit/tap.h"

enum { PACKETS = 200000 };

static void
check_error(const char *s, const char *want)
{
	struct impair im = { .loss = 7 };
	const char *why = impair_parse(s, &im);

	if (!ok(why != NULL && strcmp(why, want) == 0 && im.loss == 7,
	    "'%.30s' is refused: %s", s, want))
		note("%s", why == NULL ? "taken" : why);
}

static void
test_reads(void)
{
	struct impair im = { 0 };

	ok(impair_parse("", &im) == NULL && !impair_any(&im),
	    "without an option the network is good");
	ok(impair_parse("loss=1%,dup=0.1%,reorder=0.5,delay=2ms", &im) ==
	    NULL && im.loss == 0.01 && im.dup == 0.001 && im.reorder == 0.5 &&
	    im.delay_ns == 2000000, "each of the four options has its unit");
	im = (struct impair){ 0 };
	ok(impair_parse("loss=0,dup=0%,reorder=0,delay=0", &im) == NULL &&
	    !impair_any(&im), "options of 0 change nothing");
	ok(impair_parse("loss=100%", &im) == NULL && im.loss == 1 &&
	    impair_any(&im), "all packets can be lost");
	im.loss = 0;
	ok(impair_parse("delay=60s", &im) == NULL &&
	    im.delay_ns == 60000000000 && impair_any(&im),
	    "the longest delay is a minute");
	check_error("delay=60001ms", "too large");
	check_error("loss=101%", "too large");
	check_error("loss=-1", "too small");
	check_error("loss=", "not a number");
	check_error("jitter=1ms", "not one of loss=, dup=, reorder=, delay=");
	check_error("loss", "not one of loss=, dup=, reorder=, delay=; "
	    "the nearest is 'loss='");
	check_error("los=1%", "not one of loss=, dup=, reorder=, delay=; "
	    "the nearest is 'loss='");
	check_error(",loss=1%", "not one of loss=, dup=, reorder=, delay=");
	check_error("delay=0000000000000000000000000000000000000000000000000000"
	    "000000", "an item that is too long");
}

/* The share of packets that `what` should do, and five sigma around it. */
static bool
is_near(uint64_t count, double p)
{
	return fabs((double)count - PACKETS * p) <=
	    5 * sqrt(PACKETS * p * (1 - p)) + 1e-9;
}

static void
check_shares(double loss, double dup, double reorder)
{
	struct impair im = { .loss = loss, .dup = dup, .reorder = reorder,
	    .delay_ns = 1000, .rng = rng_seed(3) };
	uint64_t at[2], copies[3] = { 0 }, held = 0;
	bool times = true;

	for (uint64_t t = 0; t < PACKETS; t++) {
		int n = impair_plan(&im, t, at);

		copies[n]++;
		held += n > 0 && at[0] == t + 1000 + IMPAIR_REORDER_NS;
		times = times && (n == 0 || at[0] == t + 1000 ||
		    at[0] == t + 1000 + IMPAIR_REORDER_NS) &&
		    (n < 2 || at[1] == t + 1000);
	}
	ok(is_near(copies[0], loss) && is_near(copies[2], (1 - loss) * dup) &&
	    is_near(held, (1 - loss) * reorder),
	    "loss %g, dup %g, reorder %g: packets are affected as often as "
	    "requested", loss, dup,
	    reorder);
	ok(times, "each copy is late by the delay, and a reordered one by "
	    "more");
	ok(im.lost == copies[0] && im.duplicated == copies[2] &&
	    im.reordered == held, "the counters agree with the packets");
}

int
main(void)
{
	struct impair a = { .loss = 0.5, .dup = 0.5, .reorder = 0.5,
	    .rng = rng_seed(9) }, b = a, idle = { .rng = rng_seed(9) };
	const struct rng before = idle.rng;
	uint64_t x[2] = { 0 }, y[2] = { 0 };
	bool same = true;

	test_reads();
	check_shares(0, 0, 0);
	check_shares(1, 1, 1);
	check_shares(0, 1, 1);
	check_shares(0.1, 0.01, 0.3);
	check_shares(1e-4, 1, 0);
	for (uint64_t t = 0; t < 1000; t++)
		same = same && impair_plan(&a, t, x) == impair_plan(&b, t, y) &&
		    x[0] == y[0] && x[1] == y[1];
	ok(same, "the same seed gives the same result");
	ok(impair_plan(&idle, 5, x) == 1 && x[0] == 5 &&
	    idle.rng.state == before.state,
	    "a good network draws no random number");
	return tap_end();
}
