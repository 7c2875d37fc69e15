/*
 * Fuzz the bytes as a capture file: classic, or in any format that libpcap
 * reads.
 */
#include "common/capture/pcapio.h"
#include "tests/fuzz/fuzz.h"

enum { KEPT = 64 };	/* packets that are written again */

static uint64_t
mark(const uint8_t *p, size_t n)
{
	uint64_t h = 0xcbf29ce484222325;

	for (size_t i = 0; i < n; i++)
		h = (h ^ p[i]) * 0x100000001b3;
	return h;
}

static void
check(const struct pcapio_packet *p)
{
	must(p->caplen <= PCAPIO_FRAME_MAX_BYTES, "frames fit a writer");
	must(p->len >= p->caplen, "no more is captured than there was");
}

/* Write the first packets of `in` to fd; return a checksum of them. */
static size_t
copy(struct pcapio_in *in, int fd, struct pcapio_packet *kept, uint64_t *marks)
{
	char path[32];
	struct pcapio_out out;
	struct pcapio_packet p;
	size_t n = 0;
	int got;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (pcapio_create(&out, path) == -1)
		err(1, "%s", path);
	while ((got = pcapio_next(in, &p)) == 1) {
		check(&p);
		if (n < KEPT && p.stamp_ns / 1000000000 <= UINT32_MAX) {
			kept[n] = p;
			marks[n++] = mark(p.data, p.caplen);
			pcapio_write(&out, p.stamp_ns, p.data, p.caplen,
			    p.len);
		}
	}
	must(got == 0 || in->why[0] != '\0', "damage is named");
	must(out.packets == n && pcapio_close(&out) == 0, "all is written");
	return n;
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	static struct pcapio_packet kept[KEPT];
	static uint64_t marks[KEPT];
	struct pcapio_packet q;
	struct pcapio_in in;
	size_t n;
	int fd;

	if (pcapio_open_fd(&in, fuzz_file(p, len), "mem") == -1) {
		must(in.why[0] != '\0', "a refusal says why");
		pcapio_close_in(&in);
		return 0;
	}
	fd = fuzz_file(NULL, 0);
	n = copy(&in, fd, kept, marks);
	pcapio_close_in(&in);
	must(pcapio_open_fd(&in, fd, "copy") == 0, "what is written opens");
	for (size_t i = 0; i < n; i++) {
		must(pcapio_next(&in, &q) == 1 && q.caplen == kept[i].caplen &&
		    q.len == kept[i].len && q.stamp_ns == kept[i].stamp_ns &&
		    mark(q.data, q.caplen) == marks[i],
		    "written and read: the same packet");
	}
	must(pcapio_next(&in, &q) == 0, "and no more");
	pcapio_close_in(&in);
	return 0;
}
