/* Compare departure times with the formula in 128-bit integers. */
#include "common/base/rng.h"
#include "common/queue/link.h"
#include "tests/unit/tap.h"

enum { FRAME_MOST = 262144 };

static uint64_t
test_formula(uint64_t rate, uint64_t bytes)
{
	return (uint64_t)(((unsigned __int128)8000000000u * bytes + rate / 2) /
	    rate);
}

static void
time_of(uint64_t rate, uint32_t extra, uint32_t bytes, uint64_t want)
{
	struct link l = { .rate_bps = rate, .extra_bytes = extra };
	uint64_t is = link_time_ns(&l, bytes);

	if (!ok(is == want && link_time_ns(&l, bytes) == want,
	    "%u + %u bytes at %llu bit/s take %llu ns", bytes, extra,
	    (unsigned long long)rate, (unsigned long long)want))
		note("%llu", (unsigned long long)is);
}

static bool
test_twin(uint64_t seed)
{
	struct rng r = rng_seed(seed);
	struct link l = { .rate_bps = 1 + rng_u64(&r) % (1ull <<
	    rng_below(&r, 42)), .extra_bytes = rng_below(&r, 2) ? 24 : 0 };
	uint64_t free_ns = 0, now = 0, is;
	bool same = true;

	for (int i = 0; i < 200 && same; i++) {
		uint32_t bytes = rng_below(&r, 3) ? 60 + 40 *
		    (uint32_t)rng_below(&r, 3) :
		    (uint32_t)rng_below(&r, FRAME_MOST + 1);

		now += rng_below(&r, 2 + 8000000000000 / l.rate_bps);
		is = link_start_frame(&l, now, bytes);
		free_ns = (now > free_ns ? now : free_ns) +
		    test_formula(l.rate_bps, (uint64_t)bytes + l.extra_bytes);
		same = is == free_ns;
	}
	return same;
}

int
main(void)
{
	const uint64_t most = UINT64_MAX;
	struct link l = { .rate_bps = 8000000000u };
	bool same = true;

	time_of(0, 24, FRAME_MOST, 0);
	time_of(1, 0, 0, 0);
	time_of(8000000000u, 0, 1, 1);
	time_of(16000000000u, 0, 1, 1);	/* half a nanosecond rounds up */
	time_of(16000000001u, 0, 1, 0);	/* just below that rounds down */
	time_of(40000000000u, 0, 1500, 300);
	time_of(40000000000u, 24, 1500, 305);
	time_of(10000000, 24, 60, 67200);
	time_of(3, 0, 1, 2666666667);
	time_of(1, 0, FRAME_MOST, 8000000000u * (uint64_t)FRAME_MOST);
	time_of(1, 24, FRAME_MOST, 8000000000u * (FRAME_MOST + 24ull));
	time_of(most, 0, FRAME_MOST, 0);
	time_of(1000000000, 0, UINT32_MAX, 8ull * UINT32_MAX);
	time_of(4, 0, UINT32_MAX, 2000000000u * (uint64_t)UINT32_MAX);
	time_of(1, UINT32_MAX, UINT32_MAX, LINK_END_NS);

	ok(link_start_frame(&l, 100, 50) == 150,
	    "an idle link starts a frame on arrival");
	ok(link_start_frame(&l, 120, 50) == 200,
	    "a busy link starts a frame when the previous one has left");
	ok(link_start_frame(&l, 200, 50) == 250,
	    "a frame that arrives at that instant starts at once");
	ok(link_start_frame(&l, 251, 50) == 301,
	    "a frame that arrives later starts on arrival");
	l = (struct link){ .rate_bps = 0 };
	ok(link_start_frame(&l, 5, FRAME_MOST) == 5 &&
		link_start_frame(&l, 4, 60) == 5,
	    "without a rate frames take no time and keep their order");

	l = (struct link){ .rate_bps = 8000000000u, .extra_bytes = 20,
	    .frame_ns = 7 };
	ok(link_start_frame(&l, 100, 50) == 177 &&
		link_start_frame(&l, 0, 50) == 254,
	    "the time per frame is added to the time of its bits");
	ok(link_delay(&l, 9) == 263 && link_start_frame(&l, 0, 50) == 340,
	    "a departure that is delayed delays the next one");
	l = (struct link){ .frame_ns = 7 };
	ok(link_start_frame(&l, 5, 50) == 12, "this is also true without a "
	    "rate");
	l = (struct link){ .frame_ns = UINT64_MAX, .rate_bps = 1 };
	ok(link_start_frame(&l, 5, 50) == LINK_END_NS &&
	    link_delay(&l, UINT64_MAX) == LINK_END_NS,
	    "no departure is later than the end of time");

	l = (struct link){ .rate_bps = 1000000000 };
	for (uint32_t b = 0; b <= 3000; b++)
		same =
		    same &&
		    link_time_ns(&l, b) == test_formula(l.rate_bps, b) &&
		    link_time_ns(&l, b / 2) == test_formula(l.rate_bps, b / 2);
	ok(same, "frames of alternating lengths each take their own time");
	same = true;
	for (uint64_t seed = 0; seed < 500; seed++)
		same = same && test_twin(seed);
	ok(same, "500 random links agree with the formula");

	l = (struct link){ .rate_bps = 1 };
	ok(link_start_frame(&l, LINK_END_NS - 8000000000u, 1) == LINK_END_NS,
	    "a frame can leave at the end of time");
	ok(link_start_frame(&l, 0, 1) == LINK_END_NS,
	    "no frame leaves later than that, or before the previous frame");
	ok(link_start_frame(&l, UINT64_MAX, UINT32_MAX) == UINT64_MAX,
	    "no frame leaves before its arrival");
	return tap_end();
}
