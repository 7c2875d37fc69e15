/*
 * Test that reading ahead returns the same as plain reading: frames of all
 * sizes, damage and stops.
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/rng.h"
#include "common/capture/pcapio.h"
#include "common/wire/inetsum.h"
#include "tests/unit/tap.h"

static char path[] = "/tmp/test-ahead.XXXXXX";

/* Write n frames of up to max bytes; return the size of the file. */
static off_t
make_file(unsigned n, uint32_t max)
{
	struct rng g = rng_seed(n);
	struct pcapio_out out;
	struct stat st;

	pcapio_create_or_exit(&out, path);
	for (unsigned i = 0; i < n; i++) {
		uint32_t len = (uint32_t)rng_below(&g, max + 1);

		if (i % 7 == 0)
			len = max;
		memset(pcapio_room(&out), (int)i & 0xff, len);
		pcapio_commit(&out, i, len, len);
	}
	if (pcapio_close(&out) == -1 || stat(path, &st) == -1)
		abort();
	return st.st_size;
}

/* Return a digest of at most n packets of the file, and how it ended. */
static uint64_t
digest_packets(bool ahead, unsigned n, int *end)
{
	struct pcapio_in in;
	struct pcapio_packet p = { 0 };
	uint64_t sum = 0;

	pcapio_open_or_exit(&in, path);
	if (ahead)
		pcapio_read_ahead(&in);
	while (n-- > 0 && (*end = pcapio_next(&in, &p)) == 1)
		sum = sum * 31 + p.stamp_ns + p.caplen +
		    inetsum_add(0, p.data, p.caplen);
	sum += in.packets;
	pcapio_close_in(&in);
	return sum;
}

static bool
same_digests(unsigned n)
{
	int a = 9, b = 9;

	return digest_packets(false, n, &a) == digest_packets(true, n, &b) &&
	       a == b;
}

int
main(void)
{
	off_t size;
	int fd = mkstemp(path), bad = 0;

	if (fd == -1)
		return 99;
	close(fd);
	make_file(3, 100);
	ok(same_digests(99), "a small file, read without a thread");
	make_file(5000, 1500);
	ok(same_digests(99999), "5000 small frames have the same digest");
	for (unsigned n = 0; n < 5000; n += 499)
		bad += !same_digests(n);
	ok(bad == 0, "reading can stop at any packet");
	size = make_file(60, PCAPIO_FRAME_MAX_BYTES);
	ok(same_digests(999), "frames as large as a block have the same "
	    "digest");
	for (off_t cut = 1; cut < 1000000; cut = cut * 3 + 1)
		bad += truncate(path, size - cut) == -1 || !same_digests(999);
	ok(bad == 0, "a file that was cut anywhere has the same digest");
	unlink(path);
	return tap_end();
}
