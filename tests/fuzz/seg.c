/*
 * Fuzz UDP payloads as gradient segments, and vectors that are cut into
 * segments.
 */
#include "common/wire/seg.h"
#include "tests/fuzz/fuzz.h"

/* Cut a vector of this number of elements. */
static void
cut(uint32_t elements, uint32_t floats)
{
	const uint32_t n = seg_count(elements, floats);

	must((n == 0) == (elements == 0), "nothing has no segment");
	if (n == 0)
		return;
	must(seg_floats_at(elements, floats, 0) == (n == 1 ? elements :
	    floats), "the first is full, or all there is");
	must((uint64_t)(n - 1) * floats + seg_floats_at(elements, floats,
	    n - 1) == elements, "the last one ends the vector");
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	uint8_t *q = fuzz_copy(p, len), head[SEG_HEADER_BYTES];
	struct seg s, t;
	bool is = seg_parse(q, len, &s);

	must(is == (len >= 12 && len % 4 == 0), "header and whole floats");
	if (is) {
		must(s.vec == q + SEG_HEADER_BYTES && s.n > 0 &&
		    SEG_HEADER_BYTES + (size_t)s.n * 4 == len,
		    "the vector ends where the payload does");
		must(seg_put(head, s.iteration, s.contributions, s.index) ==
		    head + sizeof(head) && memcmp(head, q, sizeof(head)) == 0,
		    "parsed and put: the same bytes");
		t = seg_split(bytes_get(q + len - 8, 8));
		must(!seg_before(s.iteration, t.iteration) ||
		    !seg_before(t.iteration, s.iteration),
		    "of two one is older");
		must(seg_before(s.iteration, seg_step(s.iteration, 1)),
		    "the next is newer");
		cut((uint32_t)bytes_get(s.vec, 4), s.contributions + 1u);
	}
	free(q);
	return 0;
}
