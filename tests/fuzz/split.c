/*
 * Fuzz frames that may contain several datagrams.  Byte 0 has the codepoint in
 * its low two bits and the link type in the others, and byte 1 is the number of
 * bytes that were cut; the rest is the frame.
 */
#include "common/capture/soundness.h"
#include "common/wire/dlp.h"
#include "tests/fuzz/fuzz.h"

/* Datagram k, complete or cut, must be valid in its own frame. */
static void
put_again(const uint8_t *p, const struct frame *f, uint32_t k,
    const uint8_t *at, uint32_t have, uint32_t n)
{
	uint8_t *to = malloc((size_t)f->payload_at + have);
	struct frame made, back;
	uint32_t len;

	if (to == NULL)
		abort();
	len = split_put(to, p, f, k, at, have, n, &made);
	must(len == f->payload_at + have, "headers and what was there");
	must(frame_parse(FRAME_ETHERNET, to, len, f->payload_at + n, &back) ==
	    (have == n ? FRAME_UDP : FRAME_CUT), "it is a datagram");
	must(back.payload_bytes == n && back.payload_at == f->payload_at,
	    "of that length");
	/* a checksum can be right for the pseudo header alone too */
	must(have < n || frame_checksums_ok(to, &back), "its sums are right");
	free(to);
}

static void
walk(const uint8_t *p, uint32_t caplen, uint32_t len, int link,
    const struct frame *f, struct split s)
{
	const uint32_t left = s.left, count = s.count, each = s.each;
	uint32_t have = 0, n = 0, sum = 0, k = 0;
	const uint8_t *at = NULL;

	must(count > 1 && each > 0, "several are more than one");
	for (; split_next(&s, &at, &have, &n); k++, sum += n) {
		must(n == each || k + 1 == count, "all but the last are equal");
		must(n > 0 && n <= each && have <= n, "the last is no longer");
		must(at >= p && at + have <= p + caplen, "inside of the frame");
		if (link == FRAME_ETHERNET)
			put_again(p, f, k, at, have, n);
	}
	must(k == count && sum == left && left <= len, "all bytes, each once");
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	static const uint8_t tos[] = { UPDATE_TOS, SEG_TOS, CONTROL_TOS, 0 };
	static const int link[] = { FRAME_ETHERNET, FRAME_RAW };
	struct split_as as;
	struct split s;
	struct frame f;
	struct update u;
	uint32_t caplen, whole;
	enum frame_is is;
	enum split_is found;
	uint8_t *q;
	int l;

	if (len < 2 || len > FRAME_MAX_BYTES)
		return 0;
	as = split_as(tos[p[0] & 3], (p[0] & 3) == 3 ? dlp_bytes : NULL);
	l = link[p[0] >> 2 & 1];
	caplen = (uint32_t)len - 2;
	whole = caplen + 4u * p[1];
	q = fuzz_copy(p + 2, caplen);
	is = frame_parse(l, q, caplen, whole, &f);
	found = split_frame(&as, is, q, caplen, whole, &f, &s);
	if (found == SPLIT_SEVERAL)
		walk(q, caplen, whole, l, &f, s);
	else
		must(s.left == 0, "nothing is handed out of others");
	must(found == SPLIT_ONE || split_is_candidate(is, q, &f, whole),
	    "what may not be several is one");
	must(found != SPLIT_UNSEEN || caplen < whole, "all was seen");
	must(split_unsized(is, q, &f, whole) == SPLIT_ONE || f.payload_at > 0,
	    "without headers nothing is known");
	if (soundness_frame(NULL, true, l, q, caplen, whole, 9, &f, &u, &s) ==
	    SOUNDNESS_SEVERAL)
		must(s.count > 1, "several updates");
	free(q);
	return 0;
}
