/*
 * Fuzz the packets that innet-replay sends: a byte of settings, then the bytes
 * of the capture.  Every packet must be sent or counted under a reason, due
 * times must never decrease, and a file with new timestamps must be read again
 * completely.
 */
#include "cmd/innet-replay/conf.h"
#include "common/net/timer.h"
#include "tests/fuzz/fuzz.h"

static const volatile sig_atomic_t stopped;

/* Name the file by its descriptor; it is read from its start. */
static void
name(char path[32], int fd)
{
	snprintf(path, 32, "/proc/self/fd/%d", fd);
}

/* Read all packets; return how many were accepted. */
static uint64_t
walk(const char *path, const struct trace_want *want, uint64_t loops)
{
	struct trace_packet p;
	uint64_t last_ns = 0, n = 0, out = 0;
	struct trace t;

	trace_open(&t, path, want, loops);
	while (trace_next(&t, &p) == 1) {
		must(n > 0 || p.deadline_ns == 0, "the first is due at once");
		must(p.deadline_ns >= last_ns, "due times never go back");
		must(!p.update || p.f.payload_bytes >= UPDATE_HEADER_BYTES,
		    "an update has a header");
		last_ns = p.deadline_ns;
		n++;
	}
	for (unsigned i = 0; i < TRACE_REASONS; i++) {
		out += t.skipped[i];
		must(trace_reason(i)[0] != '\0', "reasons have names");
	}
	must(n == t.taken && t.loops_left < loops, "what was taken is told");
	must(loops > 1 || n + out + t.in.copies + t.split.frames ==
	    t.in.packets + t.split.datagrams,
	    "every packet is taken or counted");
	trace_close(&t);
	return n;
}

/* Write the packets with new timestamps. */
static void
rewrite(const char *path, const struct conf *cf, uint64_t taken)
{
	struct pcapio_packet p = { 0 };
	struct tally n = { 0 };
	struct frame f;
	struct trace t;
	struct pcapio_in in;
	uint64_t sound = 0, last_ns = 0;

	trace_open(&t, path, &cf->want, cf->loops);
	retime_trace(cf, &t, &n);
	trace_close(&t);
	must(n.packets <= taken, "no more is written than there is");
	must(pcapio_open(&in, cf->out) == 0, "what is written opens");
	while (pcapio_next(&in, &p) == 1) {
		must(p.stamp_ns >= last_ns, "written times never go back");
		last_ns = p.stamp_ns;
		sound += frame_parse(FRAME_ETHERNET, p.data, p.caplen, p.len,
		    &f) == FRAME_UDP && frame_checksums_ok(p.data, &f);
	}
	must(sound == n.packets, "what is written is sound");
	pcapio_close_in(&in);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	char path[32], out[32];
	struct pcapio_in in;
	struct conf cf = { .loops = 1, .speed = 1, .stamp = true,
	    .stop = &stopped,
	    .duration_ns = TIMER_NEVER };
	int fd, to;

	if (len < 1 || len > 1 << 20)
		return 0;
	cf.want.program = (enum trace_program)(p[0] & 3);
	cf.loops += p[0] >> 2 & 1;
	cf.speed = (p[0] & 16) != 0 ? 0.000001 : (p[0] & 8) != 0 ? 0.5 : 1;
	if (pcapio_open_fd(&in, fuzz_file(p + 1, len - 1), "mem") == -1) {
		pcapio_close_in(&in);
		return 0;
	}
	pcapio_close_in(&in);
	fd = fuzz_file(p + 1, len - 1);
	to = fuzz_file(NULL, 0);
	name(path, fd);
	name(out, to);
	cf.out = out;
	rewrite(path, &cf, walk(path, &cf.want, cf.loops));
	close(fd);
	close(to);
	return 0;
}
