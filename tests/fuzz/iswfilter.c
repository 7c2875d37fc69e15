/*
 * The aggregation switch as a filter: three bytes of settings, then the bytes
 * of a capture.  Every packet is counted once, and what the switch sent reads
 * back, in order, with right checksums.
 */
#include "cmd/innet-switch/iswitch-filter.h"
#include "tests/fuzz/fuzz.h"

/* What the filter wrote. */
static void
check_output(int fd, const struct iswitch_passed *passed)
{
	struct pcapio_packet p = { 0 };
	struct pcapio_in in;
	struct frame f = { 0 };
	uint64_t n = 0, last_ns = 0;

	must(pcapio_open_fd(&in, fd, "out") == 0, "the output opens");
	while (pcapio_next(&in, &p) == 1) {
		n++;
		if (frame_parse(FRAME_ETHERNET, p.data, p.caplen, p.len, &f) !=
		    FRAME_UDP || f.flow.sport != 46638 ||
		    memcmp(f.flow.src, "\x0a\xff\xff\x01", 4) != 0 ||
		    (frame_dscp_tos(&f) != SEG_TOS &&
		    frame_dscp_tos(&f) != CONTROL_TOS))
			continue;	/* not the switch's own */
		must(frame_checksums_ok(p.data, &f),
		    "what leaves has right checksums");
		must(p.stamp_ns >= last_ns || p.stamp_ns < 1000000000000000,
		    "what leaves is in order");	/* files end in 2106 */
		last_ns = p.stamp_ns;
	}
	must(in.why[0] == '\0', "the output is whole");
	must(n == passed->out + passed->regular + passed->passed,
	    "what passed and what was sent is there");
	pcapio_close_in(&in);
}

static void
check_account(const struct iswitch_passed *p)
{
	uint64_t sum = p->taken + p->own + p->regular + p->passed;

	for (unsigned w = 0; w < JUDGE_VERDICTS; w++)
		sum += p->ignored[w];
	must(sum == p->packets, "every packet is counted once");
}

static struct iswitch_filter_conf
settings(const uint8_t *p)
{
	struct iswitch_filter_conf cf = {
	    .listen.in = { .sin_family = AF_INET, .sin_port = htons(46638) },
	    .parent.in = { .sin_family = AF_INET, .sin_port = htons(46638) },
	    .rate_bps = (uint64_t)1000 << (p[1] & 31),
	    .propagation_ns = p[1] & 32 ? 1000 : 0,
	    .feed = { .until_ns = UINT64_MAX, .quiet = true } };
	struct job_conf *j = &cf.iswitch.job;

	cf.listen.in.sin_addr.s_addr = htonl(0x0affff01);
	cf.parent.in.sin_addr.s_addr = htonl(0x0affff02);
	if (p[1] & 64) {
		cf.feed.until_ns = 2000000000;
		cf.feed.until_relative = true;
	}
	cf.iswitch.floats = 4;
	cf.iswitch.floats_max = 366;
	cf.iswitch.memory_bytes = 1 << 18;
	cf.iswitch.implicit = p[2] & 3;
	j->reduce = (struct reduce){ .kind = (enum reduce_kind)(p[0] % 5),
	    .trim = 1, .fixed_bits = 24 };
	j->async = (p[0] & 8) != 0;
	j->child = (p[0] & 16) != 0 && j->reduce.kind < REDUCE_MEDIAN;
	j->straggler_ns = (p[0] & 64) != 0 && !j->async ? 30000000 : 0;
	j->h = p[2] >> 2 & 3;
	j->keep = 1 + (p[2] >> 4 & 3);
	j->keep_bytes = 1000;
	j->member_timeout_ns = 10000000000;
	return cf;
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	static const volatile sig_atomic_t never;
	static struct iswitch s;
	struct iswitch_filter_conf cf;
	struct iswitch_passed passed;
	struct pcapio_out out;
	struct pcapio_in in;
	char path[32];
	int fd;

	if (len < 3)
		return 0;
	cf = settings(p);
	cf.feed.stop = &never;
	if (pcapio_open_fd(&in, fuzz_file(p + 3, len - 3), "mem") == -1) {
		pcapio_close_in(&in);
		return 0;
	}
	fd = fuzz_file(NULL, 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	must(pcapio_create(&out, path) == 0, "there is a file");
	iswitch_filter_run(&cf, &s, &passed, &in, 1, &out);
	must(pcapio_close(&out) == 0, "all is written");
	check_account(&passed);
	pcapio_close_in(&in);
	check_output(fd, &passed);
	iswitch_free(&s);
	return 0;
}
