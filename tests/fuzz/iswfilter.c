/*
 * Fuzz program iswitch in a trace: three bytes of settings, then the bytes of a
 * capture.
 */
#include <math.h>

#include "common/iswitch/program.h"
#include "tests/fuzz/traced.h"

/* Did the switch itself send it? */
static bool
ours(const struct frame *f)
{
	return f->flow.sport == 46638 &&
	    memcmp(f->flow.src, "\x0a\xff\xff\x01", 4) == 0 &&
	    (frame_dscp_tos(f) == SEG_TOS || frame_dscp_tos(f) ==
	    CONTROL_TOS);
}

static union addr
address(uint32_t ip)
{
	return (union addr){ .in = { .sin_family = AF_INET,
	    .sin_port = htons(46638), .sin_addr = { htonl(ip) } } };
}

static void
set(struct iswitch_settings *s, const uint8_t *p)
{
	struct job_conf *j = &s->iswitch.job;

	iswitch_set_defaults(s);
	s->parent = address(0x0affff02);
	s->iswitch.floats = 4;
	s->iswitch.floats_max = 366;
	s->iswitch.implicit = p[2] & 3;
	j->rule.reduce = (struct reduce){ .kind = (enum reduce_kind)(p[0] % 5),
	    .trim = 1, .fixed_bits = 24 };
	j->async = (p[0] & 8) != 0;
	j->child = (p[0] & 16) != 0 && j->rule.reduce.kind < REDUCE_MEDIAN;
	j->rule.straggler_ns = (p[0] & 64) != 0 && !j->async ? 30000000 : 0;
	j->h = p[2] >> 2 & 3;
	j->keep = 1 + (p[2] >> 4 & 3);
	j->keep_bytes = 1000;
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	struct iswitch_settings settings;
	struct plane_conf cf = { .program = &iswitch_program,
	    .settings = &settings, .place = { .xid = 1,
	    .memory_bytes = 1 << 18 } };
	struct trace_conf tc = { .feed.until_ns = UINT64_MAX };

	if (len < 3)
		return 0;
	set(&settings, p);
	cf.place.address = address(0x0affff01);
	cf.ports.all = (struct port_conf){ .threshold = NAN,
	    .slots = p[2] & 64 ? 4 : 0, .active_window_ns = 1000000,
	    .rate_bps = p[2] & 128 ? 0 : (uint64_t)1000 << (p[1] & 31) };
	cf.regular_queued = (p[1] & 128) != 0;
	tc.propagation_ns = p[1] & 32 ? 1000 : 0;
	if (p[1] & 64) {
		tc.feed.until_ns = 2000000000;
		tc.feed.until_relative = true;
	}
	traced_run(&cf, &tc, p + 3, len - 3, ours);
	return 0;
}
