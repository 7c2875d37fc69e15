/*
 * Fuzz the gradient stream.  Byte 0 is the size of the pieces in which the rest
 * arrives.  The messages that are found must not depend on it.
 */
#include "common/wire/stream.h"
#include "tests/fuzz/fuzz.h"

struct found {
	uint64_t offset;	/* bytes of complete messages */
	size_t messages;
	uint64_t mark;		/* a checksum of headers and bodies */
	bool refused;
};

static void
mark(struct found *f, const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		f->mark = (f->mark ^ p[i]) * 0x100000001b3;
}

/* Read all messages in the len bytes at p, in pieces of `step` bytes. */
static struct found
find(const uint8_t *p, size_t len, size_t step)
{
	struct found f = { 0 };
	struct stream_in in = { 0 };
	struct stream_head h;
	const uint8_t *body;
	const char *why = NULL;
	size_t missing = STREAM_HEADER_BYTES, n;
	uint8_t head[STREAM_HEADER_BYTES];
	int got = 0;

	for (; len > 0 && got == 0; p += n, len -= n) {
		n = len < step ? len : step;
		memcpy(stream_in_room(&in, n), p, n);
		in.have += n;
		while ((got = stream_in_next(&in, &h, &body, &missing,
		    &why)) == 1) {
			must((uintptr_t)body % 4 == 0, "a body is aligned");
			stream_put(head, &h);
			must(memcmp(head, body - STREAM_HEADER_BYTES,
			    STREAM_HEADER_BYTES) == 0,
			    "read and put: the same bytes");
			mark(&f, head, sizeof(head));
			mark(&f, body, stream_body_bytes(&h));
			f.messages++;
		}
		must(got == -1 || missing > 0, "something is missing");
		must(got == 0 || why != NULL, "a refusal says why");
	}
	f.offset = in.offset;
	f.refused = got == -1;
	stream_in_free(&in);
	return f;
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	struct found whole, parts;

	if (len < 1)
		return 0;
	whole = find(p + 1, len - 1, len);
	parts = find(p + 1, len - 1, (size_t)p[0] + 1);
	must(whole.offset <= len - 1, "messages lie in the bytes");
	must(whole.offset == parts.offset && whole.mark == parts.mark &&
	    whole.messages == parts.messages &&
	    whole.refused == parts.refused,
	    "pieces of any size hold the same messages");
	return 0;
}
