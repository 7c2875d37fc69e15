#include <fcntl.h>
#include <stdio.h>

#include "common/wire/stream.h"
#include "tests/unit/tap.h"

/*
 * Push all of p into `in` in pieces of step bytes; return the number of
 * messages.
 */
static int
feed_pieces(struct stream_in *in, const uint8_t *p, size_t len, size_t step)
{
	struct stream_head h;
	const uint8_t *body;
	const char *why;
	size_t missing;
	int got = 0;

	for (size_t n; len > 0; p += n, len -= n) {
		n = len < step ? len : step;
		memcpy(stream_in_room(in, n), p, n);
		in->have += n;
		while (stream_in_next(in, &h, &body, &missing, &why) == 1)
			got += (uintptr_t)body % 4 == 0;
	}
	return got;
}

int
main(void)
{
	const struct stream_head in = { STREAM_GRADIENT, STREAM_MORE, 3, 1.5f,
	    0x1122334455667788, 9, 10 };
	const float v[3] = { 1, 2, 3 };
	uint8_t all[512], bad[32];
	struct stream_head out = { 0 };
	struct stream_in s = { 0 };
	const uint8_t *body;
	const char *why = NULL;
	size_t missing, len = 0;
	int fd[2], got;

	stream_put(all, &in);
	ok(memcmp(all, "INET\2\0\4\0\3\0\0\0\0\0\300\77", 16) == 0,
	    "a header is little-endian");
	ok(stream_get(all, &out) == NULL && out.iteration == in.iteration &&
	    out.reward == 1.5f && out.staleness == 10,
	    "a header is read as it was written");
	if (pipe(fd) == -1)
		return 1;
	stream_write_all(fd[1], &(struct stream_head){ .kind = STREAM_HELLO,
	    .elements = 5 }, "{\"a\"}");
	stream_write_all(fd[1], &in, v);
	stream_write_all(fd[1], &(struct stream_head){ .kind = STREAM_BYE },
	    NULL);
	len = (size_t)read(fd[0], all, sizeof(all));
	ok(len == 32 + 5 + 32 + 12 + 32, "a hello, a gradient and a bye have "
	    "the right length");
	for (size_t step = 1; step < 40; step += 6) {
		got = feed_pieces(&s, all, len, step);
		ok(got == 3, "three messages are read, aligned, in steps of "
		    "%zu bytes", step);
		stream_in_free(&s);
	}
	memcpy(bad, all, 32);
	bad[0] = 'X';
	memcpy(stream_in_room(&s, 32), bad, 32);
	s.have += 32;
	ok(stream_in_next(&s, &out, &body, &missing, &why) == -1 &&
	    s.offset == 0, "a message without magic is refused, at offset 0");
	stream_put(bad, &(struct stream_head){ .kind = 7 });
	ok(stream_get(bad, &out) != NULL, "a message of kind 7 is refused");
	stream_put(bad, &(struct stream_head){ .kind = STREAM_STATE,
	    .elements = STREAM_STATE_MAX + 1 });
	ok(stream_get(bad, &out) != NULL, "a state of 1 GiB and a byte is "
	    "refused");
	stream_put(bad, &(struct stream_head){ .kind = STREAM_HELLO,
	    .elements = 65537 });
	ok(stream_get(bad, &out) != NULL, "a hello of 64 KiB and one byte is "
	    "refused");
	stream_put(bad, &(struct stream_head){ .kind = STREAM_RESULT,
	    .elements = STREAM_ELEMENTS_MAX + 1 });
	ok(stream_get(bad, &out) != NULL, "a vector above the limit is "
	    "refused");
	stream_in_free(&s);
	return tap_end();
}
