/*
 * traced.h - run a plane of any program over the bytes of a capture, for
 * fuzzing
 *
 * Every packet must be counted once, constituents must be conserved, and the
 * capture that is written must be read again completely.
 */
#ifndef INNET_FUZZ_TRACED_H
#define INNET_FUZZ_TRACED_H

#include <errno.h>
#include <stdio.h>

#include "common/switch/trace.h"
#include "tests/fuzz/fuzz.h"

/*
 * Each packet is counted under one of these; constituents are conserved at each
 * port.
 */
static void
traced_account(const struct plane *pl)
{
	const uint64_t *n = pl->n;
	uint64_t ignored = 0;

	for (unsigned w = 0; w < SOUNDNESS_VERDICTS; w++)
		ignored += pl->ignored[w];
	must(ignored == n[PLANE_IGNORED], "what is ignored has a reason");
	must(n[PLANE_TAKEN] + n[PLANE_OWN] + n[PLANE_REGULAR] +
	    n[PLANE_PASSED] + ignored == n[PLANE_PACKETS],
	    "every packet is counted once");
	for (uint32_t i = 0; i < pl->ports.n; i++) {
		if (pl->ports.port[i]->updates != NULL)
			must(tally_is_conserved(&pl->ports.port[i]->updates->
			    tally.all), "constituents are conserved");
	}
}

/* Read the frames that were written; our frames must have right checksums. */
static uint64_t
traced_output(int fd, bool (*ours)(const struct frame *))
{
	struct pcapio_packet p = { 0 };
	struct pcapio_in in;
	struct frame f = { 0 };
	uint64_t n = 0;

	must(pcapio_open_fd(&in, fd, "out") == 0, "the output opens");
	while (pcapio_next(&in, &p) == 1) {
		n++;
		if (frame_parse(FRAME_ETHERNET, p.data, p.caplen, p.len, &f) ==
		    FRAME_UDP && ours(&f))
			must(frame_checksums_ok(p.data, &f),
			    "what leaves has right checksums");
	}
	must(in.why[0] == '\0', "the output is whole");
	pcapio_close_in(&in);
	return n;
}

/* Run the len bytes of a capture at p through a plane, and free the plane. */
static void
traced_run(struct plane_conf *cf, struct trace_conf *tc, const uint8_t *p,
    size_t len, bool (*ours)(const struct frame *))
{
	static const volatile sig_atomic_t never;
	static struct plane pl;
	static struct trace t;
	struct pcapio_out out;
	struct pcapio_in in;
	char path[32];
	int fd;

	tc->feed.stop = &never;
	tc->feed.quiet = true;
	if (pcapio_open_fd(&in, fuzz_file(p, len), "mem") == -1) {
		pcapio_close_in(&in);
		return;
	}
	fd = fuzz_file(NULL, 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	must(plane_init(&pl, cf, &trace_driver, &t), "there is memory");
	must(pcapio_create(&out, path) == 0, "there is a file");
	trace_run(&t, tc, &pl, &in, 1, &out);
	must(pcapio_close(&out) == 0 || errno == EOVERFLOW,
	    "all is written, except for times after 2106");
	traced_account(&pl);
	pcapio_close_in(&in);
	traced_output(fd, ours);
	plane_free(&pl);
}

#endif
