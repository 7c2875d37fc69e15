/*
 * Fuzz frames of any link type.  Byte 0 selects the link type, and byte 1 is
 * the number of bytes that were cut from the frame; the rest is the frame.
 */
#include "common/wire/frame.h"
#include "tests/fuzz/fuzz.h"

/*
 * Write the parsed frame again: it must parse equally, with a right checksum.
 */
static void
put_again(const uint8_t *payload, const struct frame *f)
{
	struct frame made, back;
	uint8_t *p;
	size_t head;

	if (f->payload_bytes > 65507)
		return;
	p = malloc(FRAME_V6_BYTES + f->payload_bytes);
	if (p == NULL)
		abort();
	head = frame_put(p, &f->flow, f->tos, f->payload_bytes, &made);
	memcpy(p + head, payload, f->payload_bytes);
	frame_put_checksum(p, &made);
	must(frame_checksums_ok(p, &made), "a sealed frame's sums are right");
	must(frame_parse(FRAME_ETHERNET, p, head + f->payload_bytes,
	    head + f->payload_bytes, &back) == FRAME_UDP, "put, then found");
	must(back.tos == f->tos && back.payload_at == made.payload_at &&
	    back.udp_at == made.udp_at && back.ip_at == made.ip_at &&
	    back.payload_bytes == f->payload_bytes &&
	    back.flow.v6 == f->flow.v6 && back.flow.sport == f->flow.sport &&
	    back.flow.dport == f->flow.dport &&
	    memcmp(back.flow.src, f->flow.src, f->flow.v6 ? 16 : 4) == 0 &&
	    memcmp(back.flow.dst, f->flow.dst, f->flow.v6 ? 16 : 4) == 0,
	    "the same is found");
	free(p);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	static const int link[] = { FRAME_ETHERNET, FRAME_NULL, FRAME_DLT_RAW,
	    FRAME_DLT_RAW_BSD, FRAME_RAW, FRAME_LOOP, FRAME_SLL, FRAME_IPV4,
	    FRAME_IPV6, FRAME_SLL2, 147, FRAME_PPP, FRAME_PPP_HDLC,
	    FRAME_PPP_ETHER, FRAME_WIFI, FRAME_RADIOTAP };
	const size_t links = sizeof(link) / sizeof(*link);
	struct frame f, g;
	enum frame_is is;
	uint8_t *q;
	bool sums;

	if (len < 2)
		return 0;
	q = fuzz_copy(p + 2, len - 2);
	is = frame_parse(link[p[0] % links], q, len - 2, len - 2 + p[1], &f);
	if (is == FRAME_UDP) {
		must((size_t)f.payload_at + f.payload_bytes <= len - 2,
		    "the payload lies in the frame");
		must(f.udp_at >= f.ip_at + 20 &&
		    f.payload_at == f.udp_at + FRAME_UDP_BYTES,
		    "headers stand in order");
		put_again(q + f.payload_at, &f);
		sums = frame_checksums_ok(q, &f);
		frame_put_checksum(q, &f);
		must(!sums || frame_checksums_ok(q, &f),
		    "a seal does not spoil a right frame");
		must(frame_parse(link[p[0] % links], q,
		    (size_t)f.payload_at + f.payload_bytes,
		    len - 2 + p[1], &g) == FRAME_UDP,
		    "what is behind the payload does not matter");
		if (f.payload_bytes > 0)
			must(frame_parse(link[p[0] % links], q,
			    (size_t)f.payload_at + f.payload_bytes - 1,
			    len - 2 + p[1], &g) == FRAME_CUT,
			    "a byte less is a cut");
	}
	must(is != FRAME_CUT || p[1] > 0, "whole frames are not cut");
	free(q);
	return 0;
}
