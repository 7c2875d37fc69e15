/*
 * Test the byte cursor: write and read every width, and cut the buffer
 * everywhere.
 */
#include <math.h>
#include <stdlib.h>

#include "common/base/bytes.h"
#include "common/base/rng.h"
#include "tests/unit/tap.h"

static const uint8_t bytes[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14,
    15, 16, 17, 18, 0x3f, 0xc0, 0, 0 };

/* Read all fields from the first len bytes; return how many fitted. */
static int
read_all(size_t len, bool *right)
{
	uint8_t *copy = malloc(len + (len == 0));	/* for ASan */
	struct bytes w = bytes_over(memcpy(copy, bytes, len), len);
	int n = 0;
	bool good = true;

	good = good && (bytes_u8(&w) == 1) == bytes_ok(&w);
	n += bytes_ok(&w);
	good = good && (bytes_u16(&w) == 0x0203) == bytes_ok(&w);
	n += bytes_ok(&w);
	good = good && (bytes_u24(&w) == 0x040506) == bytes_ok(&w);
	n += bytes_ok(&w);
	good = good && (bytes_u32(&w) == 0x0708090a) == bytes_ok(&w);
	n += bytes_ok(&w);
	good = good && (bytes_u64(&w) == 0x0b0c0d0e0f101112) == bytes_ok(&w);
	n += bytes_ok(&w);
	good = good && (bytes_f32(&w) == 1.5f) == bytes_ok(&w);
	n += bytes_ok(&w);
	*right = *right && good;
	free(copy);
	return n;
}

int
main(void)
{
	static const size_t ends[] = { 1, 3, 6, 10, 18, 22 };
	struct bytes w = bytes_over(bytes, 4);
	struct rng r = rng_seed(4);
	uint8_t out[16];
	bool good = true, count = true;

	for (size_t len = 0; len <= sizeof(bytes); len++) {
		int want = 0;

		for (size_t i = 0; i < 6; i++)
			want += len >= ends[i];
		count = count && read_all(len, &good) == want;
	}
	ok(count, "a cursor over a cut buffer reads the fields before the cut");
	ok(good, "the fields before the cut have their values, and those after "
	    "it are 0");

	ok(bytes_take(&w, 5) == NULL && !bytes_ok(&w),
	    "a cursor refuses five bytes when four are left");
	ok(bytes_u8(&w) == 0 && bytes_take(&w, 0) == NULL && w.left == 4,
	    "a bad cursor stays bad and does not move");
	w = bytes_over(bytes, 4);
	ok(bytes_take(&w, 4) == bytes && w.left == 0 && bytes_ok(&w),
	    "a cursor gives four bytes when four are left");
	ok(bytes_take(&w, SIZE_MAX) == NULL, "a cursor refuses SIZE_MAX more "
	    "bytes");
	w = bytes_over(bytes, 0);
	ok(bytes_take(&w, 0) == bytes && bytes_ok(&w) && bytes_u8(&w) == 0 &&
	    !bytes_ok(&w), "a cursor without a buffer gives no bytes");

	good = true;
	for (size_t n = 1; n <= 8; n++) {
		for (int run = 0; run < 200; run++) {
			uint64_t v = rng_u64(&r);
			uint8_t *end = bytes_put(out, v, n);

			good = good && end == out + n &&
			    bytes_get(out, n) == v << (64 - 8 * n) >>
			    (64 - 8 * n);
		}
	}
	ok(good, "values of 1 to 8 bytes are read as they were written");
	ok(bytes_put(out, 7, 0) == out, "writing no bytes does nothing");
	bytes_put_f32(out, -0.0f);
	ok(bytes_get(out, 4) == 0x80000000, "-0 keeps its sign");
	bytes_put(out, 0x7fc12345, 4);
	w = bytes_over(out, 4);
	bytes_put_f32(out + 4, bytes_f32(&w));
	ok(bytes_get(out + 4, 4) == 0x7fc12345, "a NaN keeps its bits");
	return tap_end();
}
