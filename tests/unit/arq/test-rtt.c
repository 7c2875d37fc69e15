/* Unit tests of rtt.h against RFC 6298. */
#include <math.h>

#include "common/base/rng.h"
#include "common/arq/backoff.h"
#include "common/arq/rtt.h"

#include "tests/unit/tap.h"

static const struct rtt_limits *const l = &rtt_usual;

/*
 * Compare with the RFC's formulas in real numbers, clamped, except for
 * rounding.
 */
static bool
agrees_with_rfc(void)
{
	struct rng rng = rng_seed(1);
	struct rtt r = { 0 };
	double srtt = 0, var = 0, want;
	bool same = true;

	for (int i = 0; i < 10000; i++) {
		double rtt = floor(rng_uniform(&rng, 1e4, i % 2 ? 2e6 : 4e8));

		var = i == 0 ? rtt / 2 : 0.75 * var + 0.25 *
		    fabs(rtt - srtt);
		srtt = i == 0 ? rtt : 0.875 * srtt + 0.125 * rtt;
		want = srtt + fmax((double)l->grain_ns, 4 * var);
		want = fmin(
		    fmax(want, (double)l->floor_ns), (double)l->ceiling_ns);
		rtt_sample(&r, l, (uint64_t)rtt);
		same = same && fabs((double)rtt_timeout_ns(&r, l) - want) < 64;
	}
	return same;
}

int
main(void)
{
	struct rtt r = { 0 };
	uint64_t wait = 40;

	ok(rtt_timeout_ns(&r, l) == l->first_ns,
	    "before the first sample, the timeout has its initial value");
	rtt_expire(&r, l);
	ok(rtt_timeout_ns(&r, l) == 2 * l->first_ns,
	    "a timeout that expires doubles the next one");
	for (int i = 0; i < 100; i++)
		rtt_expire(&r, l);
	ok(rtt_timeout_ns(&r, l) == l->ceiling_ns,
	    "a timeout doubles only up to the ceiling");
	rtt_restore(&r);
	ok(rtt_timeout_ns(&r, l) == l->ceiling_ns,
	    "a timeout stays at the ceiling until there is a sample");
	rtt_sample(&r, l, 10000000);
	rtt_restore(&r);
	ok(r.srtt_ns == 10000000 && rtt_timeout_ns(&r, l) == 30000000,
	    "a first sample of 10 ms gives a timeout of 10 + 4 * 5 ms");
	for (int i = 0; i < 1000; i++)
		rtt_sample(&r, l, 50000);
	ok(rtt_timeout_ns(&r, l) == l->floor_ns,
	    "short round trips give the shortest timeout");
	for (int i = 0; i < 100; i++)
		rtt_sample(&r, l, UINT64_MAX);
	ok(rtt_timeout_ns(&r, l) == l->ceiling_ns,
	    "long round trips give the longest timeout");
	rtt_expire(&r, l);
	ok(r.doubled == 0, "a timeout at the ceiling does not double");
	ok(agrees_with_rfc(), "timeouts agree with the formulas of the RFC in "
	    "real numbers");
	ok(backoff_take_ns(&wait, 100) == 40 &&
	    backoff_take_ns(&wait, 100) == 80 &&
	    backoff_take_ns(&wait, 100) == 100 && wait == 100,
	    "a back-off doubles its wait, up to the limit");
	return tap_end();
}
