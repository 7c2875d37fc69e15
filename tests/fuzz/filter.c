/*
 * The whole filter: two bytes of settings, then the bytes of a capture file.
 * Constituents are conserved, and what is written reads back, in order of
 * departure, with right checksums.
 */
#include <math.h>
#include "cmd/innet-switch/filter.h"
#include "common/frame.h"
#include "tests/fuzz/fuzz.h"

/* What the filter wrote: updates that it changed must be whole. */
static void
check_output(int fd)
{
	struct pcapio_packet p = { 0 };
	struct pcapio_in in;
	struct frame f = { 0 };

	must(pcapio_open_fd(&in, fd, "out") == 0, "the output opens");
	while (pcapio_next(&in, &p) == 1) {
		if (frame_parse(FRAME_ETHERNET, p.data, p.caplen, p.len, &f) ==
		    FRAME_UDP && frame_dscp_tos(&f) == UPDATE_TOS)
			must(frame_checksums_ok(p.data, &f),
			    "what leaves has right checksums");
	}
	must(in.why[0] == '\0', "the output is whole");
	pcapio_close_in(&in);
}

static void
check_account(const struct egress *e, const struct filter_passed *passed)
{
	uint64_t seen = e->tally.all.of[TALLY_ARRIVED].packets +
	    passed->regular + e->regular + e->regular_dropped +
	    passed->models + passed->weights;

	must(tally_conserved(&e->tally.all), "constituents are conserved");
	for (unsigned w = 0; w < JUDGE_VERDICTS; w++)
		seen += e->tally.ignored[w];
	for (uint32_t i = 0; i < e->slots.count; i++)
		seen += !e->slots.ring[(e->slots.head + i) %
		    e->slots.size].is_update;
	must(seen == passed->packets, "every packet is counted once");
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	static const volatile sig_atomic_t never;
	struct filter_conf cf = { .feed = { .until_ns = UINT64_MAX,
	    .stop = &never, .quiet = true } };
	struct filter_passed passed;
	struct pcapio_out out;
	struct pcapio_in in;
	struct egress e;
	char path[32];
	int fd;

	if (len < 2)
		return 0;
	cf.egress = (struct egress_conf){ .slots = 1 + (p[0] & 7),
	    .program = p[0] & 8 ? EGRESS_FIFO : EGRESS_OLAF,
	    .combine = p[0] & 16 ? OLAFQ_SUM : OLAFQ_MEAN,
	    .threshold = p[0] & 32 ? 0.5 : NAN,
	    .rate_bps = (uint64_t)1000 << (p[1] & 31),
	    .active_window_ns = 1000000 };
	cf.regular_queued = (p[0] & 64) != 0;
	cf.propagation_ns = p[0] & 128 ? 1000 : 0;
	if (pcapio_open_fd(&in, fuzz_file(p + 2, len - 2), "mem") == -1) {
		pcapio_close_in(&in);
		return 0;
	}
	fd = fuzz_file(NULL, 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	must(egress_init(&e, &cf.egress), "there is memory");
	must(pcapio_create(&out, path) == 0, "there is a file");
	filter_run(&cf, &e, &passed, &in, 1, &out);
	must(pcapio_close(&out) == 0, "all is written");
	check_account(&e, &passed);
	pcapio_close_in(&in);
	check_output(fd);
	egress_free(&e);
	return 0;
}
