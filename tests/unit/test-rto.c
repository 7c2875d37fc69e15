/* Unit tests of rtt.h against RFC 6298. */
#include <math.h>

#include "common/base/rng.h"
#include "common/arq/rtt.h"

#include "tests/unit/tap.h"

/* The RFC's formulas in real numbers, clamped; within rounding of ours. */
static bool
twin(void)
{
	struct rng rng = rng_seed(1);
	struct rto r = { 0 };
	double srtt = 0, var = 0, want;
	bool same = true;

	for (int i = 0; i < 10000; i++) {
		double rtt = floor(rng_uniform(&rng, 1e4, i % 2 ? 2e6 : 4e8));

		var = i == 0 ? rtt / 2 : 0.75 * var + 0.25 *
		    fabs(rtt - srtt);
		srtt = i == 0 ? rtt : 0.875 * srtt + 0.125 * rtt;
		want = srtt + fmax(RTO_GRAIN_NS, 4 * var);
		want = fmin(fmax(want, RTO_FLOOR_NS), RTO_CEILING_NS);
		rto_sample(&r, (uint64_t)rtt);
		same = same && fabs((double)rto_ns(&r) - want) < 64;
	}
	return same;
}

int
main(void)
{
	struct rto r = { 0 };

	ok(rto_ns(&r) == RTO_FIRST_NS, "before a sample, the first time-out");
	rto_expired(&r);
	ok(rto_ns(&r) == 2 * RTO_FIRST_NS, "and twice that after it ran out");
	for (int i = 0; i < 100; i++)
		rto_expired(&r);
	ok(rto_ns(&r) == RTO_CEILING_NS, "doubling ends at the ceiling");
	rto_heard(&r);
	ok(rto_ns(&r) == RTO_CEILING_NS, "and stays until there is a sample");
	rto_sample(&r, 10000000);
	rto_heard(&r);
	ok(r.srtt_ns == 10000000 && rto_ns(&r) == 30000000,
	    "the first sample: 10 ms gives 10 + 4 * 5");
	for (int i = 0; i < 1000; i++)
		rto_sample(&r, 50000);
	ok(rto_ns(&r) == RTO_FLOOR_NS, "short round trips end at the floor");
	for (int i = 0; i < 100; i++)
		rto_sample(&r, UINT64_MAX);
	ok(rto_ns(&r) == RTO_CEILING_NS, "long ones at the ceiling");
	rto_expired(&r);
	ok(r.doubled == 0, "at the ceiling nothing doubles");
	ok(twin(), "as the RFC's formulas, in real numbers");
	return tap_end();
}
