/*
 * Test that a writing thread writes the same bytes, with the same counts and
 * failures.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/rng.h"
#include "common/capture/pcapio-out.h"
#include "common/wire/inetsum.h"
#include "tests/unit/tap.h"

static char path[] = "/tmp/test-behind.XXXXXX";

/* also test with the thread if there is one processor */
static void
force_thread(struct pcapio_out *out)
{
	if (out->behind == NULL)
		out->behind = write_behind_start(out->fd, out->bytes,
		    PCAPIO_BUFFER_BYTES);
	if (out->behind == NULL)
		abort();
}

/*
 * Write n frames of up to max bytes, with flushes in between if `flush` is set.
 */
static void
put_frames(struct pcapio_out *out, unsigned n, uint32_t max, unsigned flush)
{
	struct rng g = rng_seed(n);

	for (unsigned i = 0; i < n; i++) {
		const uint32_t len = (uint32_t)rng_below(&g, max + 1);

		memset(pcapio_room(out), (int)i & 0xff, len);
		pcapio_commit(out, i, len, len);
		if (flush > 0 && i % flush == 0)
			pcapio_flush(out);
	}
}

/* Return the whole file, which the caller must free, with *size set. */
static uint8_t *
read_file(size_t *size)
{
	const int fd = open(path, O_RDONLY);
	struct stat st;
	uint8_t *p;

	if (fd == -1 || fstat(fd, &st) == -1)
		abort();
	*size = (size_t)st.st_size;
	p = malloc(*size + 1);
	if (p == NULL || read(fd, p, *size) != (ssize_t)*size)
		abort();
	close(fd);
	return p;
}

static uint8_t *
write_file(bool thread, unsigned n, uint32_t max, unsigned flush, size_t *size,
    uint64_t *bytes)
{
	struct pcapio_out out;

	pcapio_create_or_exit(&out, path);
	if (thread)
		force_thread(&out);
	put_frames(&out, n, max, flush);
	pcapio_flush(&out);
	*bytes = out.bytes;
	if (pcapio_close(&out) == -1)
		abort();
	return read_file(size);
}

static void
test_same(unsigned n, uint32_t max, unsigned flush)
{
	size_t a, b;
	uint64_t in_a, in_b;
	uint8_t *one = write_file(false, n, max, flush, &a, &in_a);
	uint8_t *two = write_file(true, n, max, flush, &b, &in_b);

	ok(a == b && memcmp(one, two, a) == 0 && in_a == a && in_b == a,
	    "%u frames of up to %u bytes%s: the same %zu bytes", n, max,
	    flush > 0 ? ", some flushed" : "", a);
	free(one);
	free(two);
}

/* A full disk is noticed soon, remembered, and reported at the end. */
static void
test_full(void)
{
	struct pcapio_out out;
	unsigned n = 0;

	if (access("/dev/full", W_OK) == -1) {
		ok(true, "a full disk # SKIP no /dev/full");
		return;
	}
	pcapio_create_or_exit(&out, "/dev/full");
	force_thread(&out);
	while (out.failed == 0 && n++ < 100)
		put_frames(&out, 100, 1 << 14, 0);
	ok(out.failed == ENOSPC && n < 10 && out.bytes == 0,
	    "a full disk is known after a few blocks");
	put_frames(&out, 1000, 1 << 14, 0);
	errno = 0;
	ok(pcapio_close(&out) == -1 && errno == ENOSPC,
	    "later blocks are not written, and closing gives the error");
	pcapio_create_or_exit(&out, "/dev/full");
	force_thread(&out);
	put_frames(&out, 1, 10, 0);
	ok(pcapio_close(&out) == -1 && errno == ENOSPC,
	    "a block that was never full is not written either");
}

int
main(void)
{
	const int fd = mkstemp(path);

	if (fd == -1)
		abort();
	close(fd);
	test_same(0, 0, 0);
	test_same(1, 100, 0);
	test_same(200000, 100, 0);
	test_same(2000, 9000, 0);
	test_same(2000, 9000, 7);
	test_same(30, PCAPIO_FRAME_MAX_BYTES, 0);
	test_full();
	unlink(path);
	return tap_end();
}
