/* Test frames that contain several datagrams: when and how they are split. */
#include <stdlib.h>

#include "common/base/rng.h"
#include "common/capture/split.h"
#include "common/wire/dlp.h"
#include "tests/unit/tap.h"

enum { ROOM = 70000 };

static const struct frame_flow v4 = { { 10, 0, 1, 1 }, { 10, 255, 255, 1 },
    4000, 46638, false };
static const struct frame_flow v6 = { { 0xfd, 0, 1 }, { 0xfd, 0, 2, [15] = 9 },
    4001, 46638, true };

static uint8_t frame[ROOM], payload[ROOM];
static uint32_t bytes;		/* of payload */

/* Add an update with n of all `elements` elements. */
static void
add_update(uint32_t elements, uint32_t n, uint16_t following, float value)
{
	const struct update u = { .kind = UPDATE_UPDATE, .cluster = 3,
	    .worker = 8, .sequence = bytes, .merged = 1, .generated_ns = 99,
	    .elements = elements, .following = following };
	uint8_t *vec = update_put(payload + bytes, &u);

	for (uint32_t i = 0; i < n; i++)
		vec_set(vec, i, value);
	bytes += UPDATE_HEADER_BYTES + 4 * n;
}

static void
add_segment(uint32_t iteration, uint32_t index, uint16_t summed, uint32_t n,
    float value)
{
	uint8_t *vec = seg_put(payload + bytes, iteration, summed, index);

	for (uint32_t i = 0; i < n; i++)
		vec_set(vec, i, value);
	bytes += SEG_HEADER_BYTES + 4 * n;
}

static void
add_help(uint32_t xid)
{
	bytes_put(control_put(payload + bytes, CONTROL_HELP, 1, xid), 7, 8);
	bytes += CONTROL_HEADER_BYTES + 8;
}

/* Add the same with the bytes that these flags announce, whatever they are. */
static void
sealed_help(uint32_t xid, uint8_t flags)
{
	add_help(xid);
	payload[bytes - 15] = flags;
	for (uint32_t i = 0; i < 48; i++)
		payload[bytes++] = (uint8_t)(31 * i + xid);
}

/*
 * Put the payload into a frame whose UDP checksum covers only the pseudo
 * header.
 */
static uint32_t
make_frame(const struct frame_flow *flow, uint8_t tos, struct frame *f)
{
	const size_t head = frame_put(frame, flow, tos, bytes, f);
	const uint16_t sum = inetsum_fold(frame_pseudo_sum(frame, f));

	memcpy(frame + head, payload, bytes);
	memcpy(frame + f->udp_at + 6, &sum, 2);
	return (uint32_t)head + bytes;
}

/* Call split_frame() with an exact copy of the first caplen bytes. */
static enum split_is
split_copy(uint8_t tos, split_bytes_fn *own, uint32_t caplen, uint32_t len,
    struct split *s)
{
	const struct split_as as = split_as(tos, own);
	uint8_t *p = malloc(caplen + 1);
	struct frame f;
	enum frame_is is;
	enum split_is found;

	memcpy(p, frame, caplen);
	is = frame_parse(FRAME_ETHERNET, p, caplen, len, &f);
	found = split_frame(&as, is, p, caplen, len, &f, s);
	if (found == SPLIT_SEVERAL)
		s->p = frame + (s->p - p);
	free(p);
	return found;
}

/* Check how the payload is classified, under both versions of IP. */
static bool
check_split(uint8_t tos, split_bytes_fn *own, enum split_is want, uint32_t each,
    uint32_t count)
{
	struct frame f;
	struct split s;
	bool good = true;

	for (int i = 0; i < 2; i++) {
		const uint32_t len = make_frame(i == 0 ? &v4 : &v6, tos, &f);
		const enum split_is found = split_copy(tos, own, len, len, &s);

		good = good && found == want && (want != SPLIT_SEVERAL ||
		    (s.each == each && s.count == count));
		if (!good)
			note("%d: %u of %u", found, s.count, s.each);
	}
	bytes = 0;
	return good;
}

static void
test_updates(void)
{
	for (int i = 0; i < 44; i++)
		add_update(360, 360, 0, 1);
	ok(check_split(UPDATE_TOS, 0, SPLIT_SEVERAL, 1472, 44),
	    "44 complete vectors are split");
	for (int i = 0; i < 3; i++)
		add_update(9, 9, 0, 1);
	add_update(5, 5, 0, 1);
	ok(check_split(UPDATE_TOS, 0, SPLIT_SEVERAL, 68, 4),
	    "the last datagram may be shorter");
	for (uint16_t i = 0; i < 9; i++)
		add_update(1000, 100, (uint16_t)(9 - i), 0);
	ok(check_split(UPDATE_TOS, 0, SPLIT_SEVERAL, 432, 9),
	    "parts of a vector of zeros are split, although they look like one "
	    "update");
	add_update(1000, 100, 0, 1);	/* the end of one, and another */
	add_update(1000, 100, 9, 1);
	ok(check_split(UPDATE_TOS, 0, SPLIT_SEVERAL, 432, 2),
	    "the end of a vector and the beginning of the next are split");
	for (int i = 0; i < 44; i++) {
		add_update(356, 356, 0, 1);
		bytes += UPDATE_TAIL_BYTES;
	}
	ok(check_split(UPDATE_TAGGED_TOS, 0, SPLIT_SEVERAL, 1472, 44),
	    "44 updates with tags are split");
	for (uint16_t i = 0; i < 9; i++) {
		add_update(1000, 100, (uint16_t)(9 - i), 1);
		bytes += UPDATE_TAIL_BYTES;
	}
	ok(check_split(UPDATE_TAGGED_TOS, 0, SPLIT_SEVERAL, 448, 9),
	    "parts of a vector with tags are split");
	add_update(360, 360, 0, 1);
	ok(check_split(UPDATE_TOS, 0, SPLIT_ONE, 0, 0),
	    "a single update is not split");
	add_update(10000, 100, 7, 0);
	ok(check_split(UPDATE_TOS, 0, SPLIT_ONE, 0, 0),
	    "a single part of a vector is not split");
	add_update(9, 9, 0, 1);
	bytes += 70;
	ok(check_split(UPDATE_TOS, 0, SPLIT_CANNOT, 0, 0),
	    "a payload longer than the vector but without a second header "
	    "cannot be split");
	add_update(9, 9, 0, 1);
	payload[0] = 2;
	ok(check_split(UPDATE_TOS, 0, SPLIT_ONE, 0, 0),
	    "a payload of another version is not split");
}

static void
test_segments(void)
{
	for (uint32_t i = 0; i < 44; i++)
		add_segment(5, 7 + i, 1, 366, 0);
	ok(check_split(SEG_TOS, 0, SPLIT_SEVERAL, 1472, 44),
	    "44 segments are split");
	for (uint32_t i = 0; i < 4; i++)
		add_segment(5, 40 - 9 * i, (uint16_t)(1 + i), 361, 0);
	ok(check_split(SEG_TOS, 0, SPLIT_SEVERAL, 1452, 4),
	    "segments at the usual MTU are split in any order");
	add_segment(0xffffff, 41, 3, 100, 0);
	add_segment(0, 0, 3, 100, 0);
	add_segment(0, 1, 3, 7, 0);
	ok(check_split(SEG_TOS, 0, SPLIT_SEVERAL, 408, 3),
	    "segments are split where the next vector begins and iterations "
	    "wrap");
	for (uint32_t i = 0; i < 3; i++)
		add_segment(0, i, 1, 16, 0);
	ok(check_split(SEG_TOS, 0, SPLIT_SEVERAL, 72, 3),
	    "small segments are split");
	add_segment(0, 0, 1, 16374, 0);
	ok(check_split(SEG_TOS, 0, SPLIT_ONE, 0, 0),
	    "a segment of the greatest length with zeros is not split");
}

static void
test_others(void)
{
	for (uint32_t i = 0; i < 9; i++)
		add_help(0xfffffffe + i);
	ok(check_split(CONTROL_TOS, 0, SPLIT_SEVERAL, 16, 9),
	    "control messages are split");
	for (uint32_t i = 0; i < 9; i++)
		sealed_help(i, CONTROL_HAS_COOKIE | CONTROL_HAS_MAC);
	ok(check_split(CONTROL_TOS, 0, SPLIT_SEVERAL, 64, 9),
	    "control messages with cookies and tags are split");
	for (uint32_t i = 0; i < 9; i++)
		sealed_help(i, CONTROL_HAS_MAC | CONTROL_HAS_COOKIE |
		    CONTROL_COMMANDS);
	ok(check_split(CONTROL_TOS, 0, SPLIT_SEVERAL, 64, 9),
	    "control messages under another key are split");
	sealed_help(1, CONTROL_HAS_COOKIE | CONTROL_HAS_MAC);
	sealed_help(2, 0x10);
	ok(check_split(CONTROL_TOS, 0, SPLIT_ONE, 0, 0),
	    "a control message with an invalid flag is not split");
	add_help(7);
	ok(check_split(CONTROL_TOS, 0, SPLIT_ONE, 0, 0),
	    "a single control message is not split");
	add_help(7);
	add_help(7 + SPLIT_XID_FAR);
	ok(check_split(CONTROL_TOS, 0, SPLIT_ONE, 0, 0),
	    "a control message with a body is not split");
	bytes = 270;
	ok(check_split(0, dlp_bytes, SPLIT_SEVERAL, 30, 9),
	    "DLP packets of 30 bytes are split");
	bytes = 271;
	ok(check_split(0, dlp_bytes, SPLIT_ONE, 0, 0),
	    "a DLP payload that is not a multiple of 30 bytes is not split");
	bytes = 30;
	ok(check_split(0, dlp_bytes, SPLIT_ONE, 0, 0),
	    "a single DLP packet of 30 bytes is not split");
	bytes = 60;
	payload[0] = DLP_VECTOR;
	payload[7] = 13;
	ok(check_split(0, dlp_bytes, SPLIT_ONE, 0, 0),
	    "a DLP vector of 13 elements, which is as long as two packets, is "
	    "not split");
	for (uint32_t i = 0; i < 5; i++)
		memcpy(payload + 60 * i, payload, 60);
	bytes = 300;
	ok(check_split(0, dlp_bytes, SPLIT_SEVERAL, 60, 5),
	    "five DLP vectors of equal length are split");
	payload[127] = 12;
	ok(check_split(0, dlp_bytes, SPLIT_ONE, 0, 0),
	    "DLP packets are not split if one is shorter");
	bytes = 60;
	payload[0] = 0;
	ok(check_split(0, 0, SPLIT_ONE, 0, 0), "regular traffic is not split");
}

/* Test lengths of IP and UDP that are 0, or those of the first datagram. */
static void
test_lengths(const struct frame_flow *flow, const char *name)
{
	const uint32_t ip = flow->v6 ? 0 : 20, at = flow->v6 ? 4 : 2;
	struct split s;
	struct frame f;
	uint32_t len;

	for (int i = 0; i < 9; i++)
		add_update(9, 9, 0, 1);
	len = make_frame(flow, UPDATE_TOS, &f);
	bytes_put(frame + f.ip_at + at, 0, 2);
	bytes_put(frame + f.udp_at + 4, 0, 2);
	ok(split_copy(UPDATE_TOS, 0, len, len, &s) == SPLIT_SEVERAL &&
		s.count == 9,
	    "%s: a frame with both lengths 0 is split", name);
	frame[f.payload_at + 68] = 9;
	frame[f.payload_at + 136] = 9;
	frame[f.payload_at + 8 * 68] = 9;
	ok(split_copy(UPDATE_TOS, 0, len, len, &s) == SPLIT_CANNOT,
	    "%s: a frame with both lengths 0 cannot be split if its end is "
	    "unclear", name);
	len = make_frame(flow, UPDATE_TOS, &f);
	bytes_put(frame + f.udp_at + 4, 76, 2);
	ok(split_copy(UPDATE_TOS, 0, len, len, &s) == SPLIT_SEVERAL &&
		s.count == 9,
	    "%s: a frame with the UDP length of the first datagram is "
	    "split", name);
	bytes_put(frame + f.ip_at + at, ip + 76, 2);
	if (!flow->v6) {
		memset(frame + f.ip_at + 10, 0, 2);
		uint16_t sum = (uint16_t)~inetsum_fold(inetsum_add(0, frame +
		    f.ip_at, 20));
		memcpy(frame + f.ip_at + 10, &sum, 2);
	}
	ok(split_copy(UPDATE_TOS, 0, len, len, &s) == SPLIT_SEVERAL &&
		s.count == 9,
	    "%s: a frame with the IP length of the first datagram is "
	    "split", name);
	bytes = 0;
	add_update(9, 9, 0, 1);
	len = make_frame(flow, UPDATE_TOS, &f);
	ok(split_copy(UPDATE_TOS, 0, len, len + 11, &s) == SPLIT_ONE,
	    "%s: padding does not count as a datagram", name);
	bytes = 0;
	for (int i = 0; i < 9; i++)
		add_update(9, 9, 0, 1);
	len = make_frame(flow, UPDATE_TOS, &f);
	bytes_put(frame + f.ip_at + at, 0, 2);
	bytes_put(frame + f.udp_at + 4, 0, 2);
	ok(split_copy(UPDATE_TOS, 0, len, f.payload_at + 900 * 68, &s) ==
	    SPLIT_SEVERAL && s.count == 900, "%s: the captured part of a frame "
	    "that was cut is split", name);
	ok(split_copy(UPDATE_TOS, 0, len, 4000000000, &s) == SPLIT_ONE,
	    "%s: a frame that claims to have 4 GB is not split", name);
	bytes = 0;
}

/* A payload with a checksum over all of it was one datagram. */
static void
test_sealed(void)
{
	struct split s;
	struct frame f;
	uint32_t len;

	for (uint16_t i = 0; i < 9; i++)
		add_update(1000, 100, (uint16_t)(9 - i), 0);
	len = make_frame(&v4, UPDATE_TOS, &f);
	frame_put_checksum(frame, &f);
	ok(split_copy(UPDATE_TOS, 0, len, len, &s) == SPLIT_ONE,
	    "a frame with a valid checksum is one datagram");
	memset(frame + f.udp_at + 6, 0, 2);
	ok(split_copy(UPDATE_TOS, 0, len, len, &s) == SPLIT_SEVERAL &&
		s.count == 9,
	    "a frame without a valid checksum may be several datagrams");
	frame[f.ip_at + 8]++;
	ok(split_copy(UPDATE_TOS, 0, len, len, &s) == SPLIT_ONE,
	    "a frame with a damaged IP header is not split");
	bytes = 0;
}

/* Cut the frame at every byte: only captured bytes are returned. */
static void
test_cuts(void)
{
	const uint32_t head = FRAME_V4_BYTES;
	uint32_t len, there, n, at, whole;
	bool good = true, unseen = true;
	const uint8_t *p;
	struct split s;
	struct frame f;

	for (int i = 0; i < 5; i++)
		add_update(9, 9, 0, 1);
	len = make_frame(&v4, UPDATE_TOS, &f);
	for (uint32_t cut = head + UPDATE_HEADER_BYTES; cut <= len; cut++) {
		good = good && split_copy(UPDATE_TOS, 0, cut, len, &s) ==
		    SPLIT_SEVERAL && s.count == 5;
		at = whole = 0;
		while (good && split_next(&s, &p, &there, &n)) {
			good = n == 68 && p == frame + (head + at < cut ?
			    head + at : cut) && there == (cut < head + at ?
			    0 : cut - head - at < 68 ? cut - head - at : 68);
			whole += there == 68;
			at += 68;
		}
		good = good && at == 5 * 68 && whole == (cut - head) / 68;
	}
	ok(good, "complete vectors are split at any cut after the first "
	    "header");
	bytes = 0;
	for (uint16_t i = 0; i < 5; i++)
		add_update(1000, 100, (uint16_t)(9 - i), 0);
	len = make_frame(&v4, UPDATE_TOS, &f);
	for (uint32_t cut = head; cut <= len; cut++)
		unseen = unseen && split_copy(UPDATE_TOS, 0, cut, len, &s) ==
		    (cut < head + 432 + 32 ? SPLIT_UNSEEN : SPLIT_SEVERAL);
	ok(unseen, "parts of a vector are split only if the second header was "
	    "captured");
	bytes = 0;
}

/* Each datagram gets its own frame: valid, in order and unchanged. */
static void
test_pieces(const struct frame_flow *flow, const char *name)
{
	static uint8_t to[ROOM];
	uint32_t len, there, n, k = 0, at = 0;
	struct frame f, made, g;
	const uint8_t *p;
	struct split s;
	uint16_t sum;
	bool good;

	for (int i = 0; i < 5; i++)
		add_update(9, 9, 0, 1);
	add_update(5, 5, 0, 1);
	len = make_frame(flow, UPDATE_TOS | 1, &f);
	if (!flow->v6) {	/* the datagram may be fragmented, so its IP id
				 * counts */
		bytes_put(frame + f.ip_at + 4, 7 << 16, 4);
		memset(frame + f.ip_at + 10, 0, 2);
		sum = (uint16_t)~inetsum_fold(inetsum_add(0, frame + f.ip_at,
		    20));
		memcpy(frame + f.ip_at + 10, &sum, 2);
	}
	good = split_copy(UPDATE_TOS, 0, len, len, &s) == SPLIT_SEVERAL;
	for (; good && split_next(&s, &p, &there, &n); k++, at += n) {
		len = split_put(to, frame, &f, k, p, there, n, &made);
		good = frame_parse(FRAME_ETHERNET, to, len, len, &g) ==
		    FRAME_UDP && frame_sums(to, &g) == FRAME_SUMS_RIGHT &&
		    g.payload_bytes == n && g.tos == (UPDATE_TOS | 1) &&
		    memcmp(&g.flow, &f.flow, sizeof(f.flow)) == 0 &&
		    memcmp(to + g.payload_at, payload + at, n) == 0 &&
		    (flow->v6 || bytes_get(to + g.ip_at + 4, 2) == 7 + k);
	}
	ok(good && k == 6 && at == bytes, "%s: each datagram gets a frame of "
	    "its own",
	    name);
	bytes = 0;
}

/*
 * Test that no sparse vector in one datagram is split, or split at a wrong
 * place.
 */
static void
test_noise(void)
{
	struct rng r = rng_seed(9);
	unsigned wrong = 0;

	for (int run = 0; run < 2000; run++) {
		const uint32_t n = 9 + (uint32_t)rng_below(&r, 400);
		const uint32_t count = 1 + (uint32_t)rng_below(&r, 9);
		struct frame f;
		struct split s;
		uint32_t len;

		bytes = 0;
		for (uint32_t k = 0; k < count; k++)
			if (run % 2 == 0)
				add_update(40 * n, n, (uint16_t)(39 - k), 1);
			else
				add_segment(0, k, 1, n, 1);
		for (uint32_t i = 0; i < bytes; i += 4)
			if (i % (bytes / count) >= (run % 2 == 0 ?
			    UPDATE_HEADER_BYTES : SEG_HEADER_BYTES))
				vec_set(payload + i, 0, rng_below(&r, 2) == 0 ?
				    0 : (float)rng_double(&r) - 0.5f);
		len = make_frame(&v4, run % 2 == 0 ? UPDATE_TOS : SEG_TOS, &f);
		wrong += split_copy(f.tos, 0, len, len, &s) != (count == 1 ?
		    SPLIT_ONE : SPLIT_SEVERAL) || (count > 1 &&
		    s.count != count);
	}
	ok(wrong == 0, "of 2,000 frames of sparse vectors %u are split wrongly",
	    wrong);
	bytes = 0;
}

int
main(void)
{
	test_updates();
	test_segments();
	test_others();
	test_lengths(&v4, "IPv4");
	test_lengths(&v6, "IPv6");
	test_sealed();
	test_cuts();
	test_pieces(&v4, "IPv4");
	test_pieces(&v6, "IPv6");
	test_noise();
	return tap_end();
}
