/*
 * Fuzz program olaf in a trace: two bytes of settings, then the bytes of a
 * capture.
 */
#include <math.h>

#include "common/olaf/program.h"
#include "tests/fuzz/traced.h"

static bool
ours(const struct frame *f)
{
	return frame_dscp_tos(f) == UPDATE_TOS;
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	static const struct olaf_conf settings;
	struct plane_conf cf = { .program = &olaf_program,
	    .settings = &settings };
	struct trace_conf tc = { .feed.until_ns = UINT64_MAX };

	if (len < 2)
		return 0;
	cf.ports.all = (struct port_conf){ .slots = 1 + (p[0] & 7),
	    .queue = p[0] & 8 ? PORT_FIFO : PORT_OLAF,
	    .combine = p[0] & 16 ? OLAF_QUEUE_SUM : OLAF_QUEUE_MEAN,
	    .threshold = p[0] & 32 ? 0.5 : NAN,
	    .rate_bps = (uint64_t)1000 << (p[1] & 31),
	    .active_window_ns = 1000000 };
	cf.regular_queued = (p[0] & 64) != 0;
	tc.propagation_ns = p[0] & 128 ? 1000 : 0;
	tc.impair = (struct impair){ .loss = p[1] & 64 ? 0.1 : 0,
	    .dup = p[1] & 128 ? 0.1 : 0, .rng = rng_seed(1) };
	traced_run(&cf, &tc, p + 2, len - 2, ours);
	return 0;
}
