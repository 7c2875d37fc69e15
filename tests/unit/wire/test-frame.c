/*
 * Test frames: a datagram that is written is found again under every link
 * layer, and wrong lengths are detected.
 */
#include <stdlib.h>

#include "common/base/rng.h"
#include "common/wire/frame.h"
#include "tests/unit/tap.h"

enum { ROOM = 70000 };
static const struct frame_flow v4 = { { 10, 0, 1, 1 }, { 10, 255, 255, 1 },
    4000, 46638, false };
static const struct frame_flow v6 = { { 0xfd, 0, 1 }, { 0xfd, 0, 2, [15] = 9 },
    4001, 46638, true };

/*
 * Make a frame with right checksums and n bytes of payload at p; return its
 * length.
 */
static size_t
make_frame(uint8_t *p, const struct frame_flow *flow, size_t n)
{
	struct frame f;
	size_t head = frame_put(p, flow, 0x2d, n, &f);

	for (size_t i = 0; i < n; i++)
		p[head + i] = (uint8_t)(i * 7);
	frame_put_checksum(p, &f);
	return head + n;
}

/*
 * Call frame_parse() with an exact copy, so that ASan detects a read past the
 * end.
 */
static enum frame_is
parse_copy(
    int link, const uint8_t *p, size_t caplen, size_t len, struct frame *f)
{
	uint8_t *copy = malloc(caplen + (caplen == 0));
	enum frame_is is;

	memcpy(copy, p, caplen);
	is = frame_parse(link, copy, caplen, len, f);
	if (is == FRAME_UDP)
		frame_checksums_ok(copy, f);
	free(copy);
	return is;
}

static bool
same_flow(const struct frame_flow *a, const struct frame_flow *b)
{
	const size_t n = a->v6 ? 16 : 4;

	return a->v6 == b->v6 && memcmp(a->src, b->src, n) == 0 &&
	    memcmp(a->dst, b->dst, n) == 0 && a->sport == b->sport &&
	    a->dport == b->dport;
}

static void
round_trip(uint8_t *p, const struct frame_flow *flow, const char *name)
{
	static const size_t sizes[] = { 0, 1, 2, 31, 256, 1472, 65507 };
	const size_t head = flow->v6 ? FRAME_V6_BYTES : FRAME_V4_BYTES;
	struct frame f;
	bool good = true, sums = true, cut = true;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		size_t len = make_frame(p, flow, sizes[i]);

		good = good && len == head + sizes[i] &&
		    parse_copy(FRAME_ETHERNET, p, len, len, &f) == FRAME_UDP &&
		    same_flow(&f.flow, flow) && f.tos == 0x2d &&
		    f.payload_at == head && f.payload_bytes == sizes[i];
		sums = sums && frame_checksums_ok(p, &f);
	}
	ok(good, "%s: the payload that was written is found, 0 to 65,507 "
	    "bytes", name);
	ok(frame_dscp_tos(&f) == 0x2c, "%s: the ECN bits are ignored", name);
	ok(sums, "%s: checksums are right", name);

	make_frame(p, flow, 20);
	for (size_t n = 0; n < head + 20; n++) {
		enum frame_is is =
		    parse_copy(FRAME_ETHERNET, p, n, head + 20, &f);

		cut = cut && is == (n < head - 8 ? FRAME_OTHER : FRAME_CUT);
		is = parse_copy(FRAME_ETHERNET, p, n, n, &f);
		cut = cut && is == (n < head - 8 ? FRAME_OTHER : FRAME_LENGTH);
	}
	ok(cut, "%s: a frame that was cut at any byte is recognised, by "
	    "snapshot length or on the wire",
	    name);
}

/* Parse IP and its payload after n bytes of another link header. */
static bool
parses_under(
    int link, const void *head, size_t n, const struct frame_flow *flow)
{
	uint8_t p[512], q[512];
	size_t len = make_frame(p, flow, 40) - FRAME_ETH_BYTES;
	struct frame f;

	memcpy(q, head, n);
	memcpy(q + n, p + FRAME_ETH_BYTES, len);
	for (size_t cut = 0; cut < n + len; cut++)
		if (parse_copy(link, q, cut, n + len, &f) == FRAME_UDP)
			return false;
	return parse_copy(link, q, n + len, n + len, &f) == FRAME_UDP &&
	    f.ip_at == n && same_flow(&f.flow, flow) &&
	    f.payload_bytes == 40 && frame_checksums_ok(q, &f);
}

#define MACS "\2\0\12\0\0\1\2\0\12\0\0\2"

#define SNAP "\xaa\xaa\3\0\0\0\x08\0"
#define ADDRESSES "\0\0\1\2\3\4\5\6\1\2\3\4\5\6\1\2\3\4\5\6"

/* Is the packet after these n bytes of a link header other traffic? */
static bool
is_other(int link, const void *head, size_t n)
{
	uint8_t p[512], q[512];
	size_t len = make_frame(p, &v4, 40) - FRAME_ETH_BYTES;
	struct frame f;

	memcpy(q, head, n);
	memcpy(q + n, p + FRAME_ETH_BYTES, len);
	return parse_copy(link, q, n + len, n + len, &f) == FRAME_OTHER &&
	    f.ethertype == 0;
}

static void
test_ppp(void)
{
	ok(parses_under(FRAME_PPP, "\0\x21", 2, &v4) &&
	    parses_under(FRAME_PPP, "\x57", 1, &v6) &&
	    parses_under(FRAME_PPP, "\xff\3\0\x57", 4, &v6) &&
	    parses_under(FRAME_PPP_HDLC, "\xff\3\x21", 3, &v4) &&
	    parses_under(FRAME_PPP_HDLC, "\x0f\0\x08\0", 4, &v4) &&
	    parses_under(FRAME_PPP_HDLC, "\x8f\0\x86\xdd", 4, &v6),
	    "PPP is read, framed or not, with a protocol of one or two bytes, "
	    "and with Cisco's header");
	ok(parses_under(FRAME_PPP_ETHER, "\x11\0\0\7\0\0\0\x21", 8, &v4) &&
	    parses_under(FRAME_PPP_ETHER, "\x11\0\0\7\0\0\x57", 7, &v6),
	    "PPP over Ethernet is read");
	ok(is_other(FRAME_PPP, "\xc0\x21", 2) &&
		is_other(FRAME_PPP, "\x80\x21", 2) &&
		is_other(FRAME_PPP, "\x0f\0\x08\0", 4) &&
		is_other(FRAME_PPP_ETHER, "\x11\7\0\7\0\0\0\x21", 8),
	    "LCP, IPCP and discovery are other traffic");
}

static void
test_wifi(void)
{
	ok(parses_under(
	       FRAME_WIFI, "\x08\1" ADDRESSES "\x10\0" SNAP, 32, &v4) &&
		parses_under(FRAME_WIFI,
		    "\x88\2" ADDRESSES "\0\0"
		    "\7\0" SNAP,
		    34, &v4) &&
		parses_under(FRAME_WIFI,
		    "\x08\3" ADDRESSES "\0\0"
		    "\1\2\3\4\5"
		    "\6" SNAP,
		    38, &v4) &&
		parses_under(FRAME_WIFI,
		    "\x88\x83" ADDRESSES "\0\0"
		    "\1\2\3\4\5\6"
		    "\0\0"
		    "\0\0\0\0" SNAP,
		    44, &v4) &&
		parses_under(FRAME_WIFI,
		    "\x08\1" ADDRESSES "\0\0"
		    "\xaa\xaa\3\0\0"
		    "\xf8\x86\xdd",
		    32, &v6),
	    "802.11 is read: plain, QoS, four addresses, all with HTC");
	ok(is_other(FRAME_WIFI, "\x08\x41" ADDRESSES "\0\0" SNAP, 32) &&
	    is_other(FRAME_WIFI, "\x08\5" ADDRESSES "\0\0" SNAP, 32) &&
	    is_other(FRAME_WIFI, "\x08\1" ADDRESSES "\1\0" SNAP, 32) &&
	    is_other(FRAME_WIFI, "\x48\1" ADDRESSES "\0\0" SNAP, 32) &&
	    is_other(FRAME_WIFI, "\x80\0" ADDRESSES "\0\0" SNAP, 32) &&
	    is_other(FRAME_WIFI, "\x09\1" ADDRESSES "\0\0" SNAP, 32) &&
	    is_other(FRAME_WIFI, "\x88\1" ADDRESSES "\0\0" "\x80\0" SNAP, 34) &&
	    is_other(FRAME_WIFI, "\x08\1" ADDRESSES "\0\0" "\x42\x42\3\0\0\0"
	    "\x08\0", 32), "encrypted, fragmented, null, beacon, other "
	    "versions, A-MSDU and no SNAP are other traffic");
	ok(parses_under(FRAME_RADIOTAP, "\0\0\x08\0\0\0\0\0" "\x08\1" ADDRESSES
	    "\0\0" SNAP, 40, &v4) &&
	    parses_under(FRAME_RADIOTAP, "\0\0\x09\0\2\0\0\0" "\x10" "\x88\1"
	    ADDRESSES "\0\0" "\0\0" SNAP, 43, &v4) &&
	    parses_under(FRAME_RADIOTAP, "\0\0\x19\0\3\0\0\x80\0\0\0\0\0\0\0\0"
	    "\1\2\3\4\5\6\7\x08" "\x20" "\x88\1" ADDRESSES "\0\0" "\0\0"
	    "\0\0" SNAP, 61, &v4),
	    "radiotap is read: bare, with FCS, with words, time and padding");
	ok(parse_copy(FRAME_RADIOTAP, (const uint8_t *)"\1\0\x08\0\0\0\0\0", 8,
	       8, &(struct frame){0}) == FRAME_OTHER,
	    "another version of radiotap is other traffic");
}

static void
rare_links(void)
{
	test_ppp();
	test_wifi();
	ok(is_other(FRAME_SLL, "\0\0\3\x38\0\6\2\0\0\0\0\1\0\0\x08\0", 16) &&
	    is_other(FRAME_SLL2, "\x08\0\0\0\0\0\0\1\3\x38\0\6\2\0\0\0\0\1"
	    "\0\0", 20), "netlink has no ethertype");
}

static void
test_links(void)
{
	static const int raw[] = { FRAME_DLT_RAW, FRAME_DLT_RAW_BSD,
	    FRAME_RAW, FRAME_IPV4, FRAME_IPV6 };
	struct frame f;
	uint8_t p[512];
	bool good = true;

	ok(parses_under(FRAME_ETHERNET, MACS "\x81\0\0\7\x08\0", 18, &v4) &&
		parses_under(
		    FRAME_ETHERNET, MACS "\x81\0\0\7\x86\xdd", 18, &v6),
	    "frames with a VLAN tag are read");
	ok(parses_under(
	       FRAME_ETHERNET, MACS "\x88\xa8\0\7\x81\0\0\7\x08\0", 22, &v4) &&
		parses_under(FRAME_ETHERNET,
		    MACS "\x91\0\0\7\x81\0\0\7\x86\xdd", 22, &v6),
	    "frames with two VLAN tags are read");
	ok(parses_under(
	       FRAME_SLL, "\0\0\0\1\0\6\2\0\0\0\0\1\0\0\x08\0", 16, &v4) &&
		parses_under(
		    FRAME_SLL, "\0\0\0\1\0\6\2\0\0\0\0\1\0\0\x86\xdd", 16, &v6),
	    "SLL frames are read");
	ok(parses_under(FRAME_SLL2,
	       "\x08\0\0\0\0\0\0\1\0\1\0\6\2\0\0\0\0\1\0\0", 20, &v4) &&
		parses_under(FRAME_SLL2,
		    "\x86\xdd\0\0\0\0\0\1\0\1\0\6\2\0\0\0\0"
		    "\1\0\0",
		    20, &v6),
	    "SLL2 frames are read");
	ok(parses_under(FRAME_NULL, "\2\0\0\0", 4, &v4) &&
	    parses_under(FRAME_NULL, "\36\0\0\0", 4, &v6) &&
	    parses_under(FRAME_LOOP, "\0\0\0\2", 4, &v4),
	    "null and loop headers are read");
	for (size_t i = 0; i < sizeof(raw) / sizeof(*raw); i++)
		good = good && parses_under(raw[i], "", 0, i == 4 ? &v6 : &v4);
	ok(good, "raw IP is read");
	rare_links();
	for (size_t i = 0; i + 1 < sizeof(p); i += 2)
		bytes_put(p + i, 0x8100, 2);
	ok(parse_copy(FRAME_ETHERNET, p, sizeof(p), sizeof(p), &f) ==
		FRAME_OTHER,
	    "VLAN tags without end are other traffic");
	ok(parse_copy(147, p, sizeof(p), sizeof(p), &f) == FRAME_OTHER,
	    "an unknown link type is other traffic");
	bytes_put(p + 12, 0x0806, 2);
	ok(parse_copy(FRAME_ETHERNET, p, 60, 60, &f) == FRAME_OTHER &&
	    f.ethertype == 0x0806, "ARP is other traffic");
}

/* Set n bytes at p + at to v; return the kind of the frame then. */
static enum frame_is
parse_changed(const struct frame_flow *flow, size_t at, uint64_t v, size_t n)
{
	uint8_t p[512];
	struct frame f;
	size_t len = make_frame(p, flow, 40);
	enum frame_is is;

	memset(&f, 0xee, sizeof(f));
	bytes_put(p + at, v, n);
	is = parse_copy(FRAME_ETHERNET, p, len, len, &f);
	if (is == FRAME_FRAGMENT && (f.flow.sport != 0 || f.flow.dport != 0))
		return FRAME_UDP;	/* ports outside of the packet */
	return is;
}

static void
test_lies(void)
{
	enum { IP = FRAME_ETH_BYTES, UDP4 = IP + 20, UDP6 = IP + 40 };
	struct frame f;
	uint8_t p[512];
	size_t len;

	ok(parse_changed(&v4, IP + 6, 0x2000, 2) == FRAME_FRAGMENT &&
	    parse_changed(&v4, IP + 6, 1, 2) == FRAME_FRAGMENT &&
	    parse_changed(&v4, IP + 6, 0x1fff, 2) == FRAME_FRAGMENT,
	    "a fragment flag or an offset makes a fragment");
	ok(parse_changed(&v4, IP + 6, 0, 2) == FRAME_UDP &&
	    parse_changed(&v4, IP + 6, 0x8000, 2) == FRAME_UDP,
	    "a frame without them is complete, whatever the other flags");
	ok(parse_changed(&v4, UDP4 + 4, 7, 2) == FRAME_LENGTH &&
	    parse_changed(&v4, UDP4 + 4, 0, 2) == FRAME_LENGTH &&
	    parse_changed(&v4, UDP4 + 4, 49, 2) == FRAME_LENGTH &&
	    parse_changed(&v4, UDP4 + 4, 0xffff, 2) == FRAME_LENGTH,
	    "UDP lengths of 0, 7, one too many and 65,535 are wrong");
	ok(parse_changed(&v4, UDP4 + 4, 8, 2) == FRAME_UDP &&
	    parse_changed(&v4, UDP4 + 4, 47, 2) == FRAME_UDP,
	    "the UDP length may be shorter than IP says, down to 8");
	ok(parse_changed(&v4, IP + 2, 19, 2) == FRAME_LENGTH &&
		parse_changed(&v4, IP + 2, 67, 2) == FRAME_LENGTH &&
		parse_changed(&v4, IP + 2, 69, 2) == FRAME_LENGTH &&
		parse_changed(&v4, IP + 2, 0, 2) == FRAME_LENGTH,
	    "wrong IPv4 lengths are detected");
	ok(parse_changed(&v4, IP, 0x44, 1) == FRAME_OTHER &&
		parse_changed(&v4, IP, 0x65, 1) == FRAME_OTHER &&
		parse_changed(&v4, IP, 0x4f, 1) != FRAME_UDP,
	    "wrong IPv4 headers are detected");
	ok(parse_changed(&v4, IP + 9, 6, 1) == FRAME_OTHER,
	    "TCP is other traffic");
	ok(parse_changed(&v6, IP + 4, 47, 2) == FRAME_LENGTH &&
		parse_changed(&v6, IP + 4, 49, 2) == FRAME_LENGTH &&
		parse_changed(&v6, IP + 4, 0, 2) == FRAME_LENGTH &&
		parse_changed(&v6, UDP6 + 4, 49, 2) == FRAME_LENGTH &&
		parse_changed(&v6, UDP6 + 4, 48, 2) == FRAME_UDP,
	    "wrong IPv6 lengths are detected");
	len = make_frame(p, &v4, 2);
	memset(p + len, 0xee, 16);
	ok(parse_copy(FRAME_ETHERNET, p, len + 16, len + 16, &f) == FRAME_UDP &&
	    f.payload_bytes == 2 && frame_checksums_ok(p, &f),
	    "padding after a short frame is not payload");
}

static void
test_cuts(void)
{
	enum { UDP4 = FRAME_ETH_BYTES + 20 };
	uint8_t p[512];
	struct frame f;
	size_t len = make_frame(p, &v4, 40);
	bool good = true;

	for (size_t n = 0; n < len; n++) {
		memset(&f, 0xee, sizeof(f));
		parse_copy(FRAME_ETHERNET, p, n, len, &f);
		good = good && f.flow.sport == (n < UDP4 + 2 ? 0 : v4.sport) &&
		    f.flow.dport == (n < UDP4 + 4 ? 0 : v4.dport) &&
		    f.payload_bytes == (n < UDP4 + 8 ? 0 : 40);
	}
	ok(good, "bytes that were not captured read as 0");
}

/* Parse v6 with headers before UDP; next is the number of the first one. */
static enum frame_is
parse_extended(uint8_t next, const void *ext, size_t n, struct frame *f)
{
	uint8_t p[512], q[512];
	size_t len = make_frame(p, &v6, 40), at = FRAME_ETH_BYTES + 40;

	memcpy(q, p, at);
	memcpy(q + at, ext, n);
	memcpy(q + at + n, p + at, len - at);
	q[FRAME_ETH_BYTES + 6] = next;
	bytes_put(q + FRAME_ETH_BYTES + 4, len - at + n, 2);
	for (size_t cut = 0; cut < len + n; cut++)
		parse_copy(FRAME_ETHERNET, q, cut, len + n, f);
	return parse_copy(FRAME_ETHERNET, q, len + n, len + n, f);
}

static void
test_extensions(void)
{
	static const uint8_t two[] = { 43, 1, [16] = 17, [17] = 0, [23] = 0 };
	static const uint8_t lone[] = { 17, 0, 0, 0, 1, 2, 3, 4 };
	static const uint8_t more[] = { 17, 0, 0, 1, 1, 2, 3, 4 };
	static const uint8_t late[] = { 17, 0, 0, 8, 1, 2, 3, 4 };
	static const uint8_t liar[] = { 17, 255, 0, 0, 0, 0, 0, 0 };
	static const uint8_t none[] = { 59, 0, 0, 0, 0, 0, 0, 0 };
	struct frame f;

	ok(parse_extended(0, two, sizeof(two), &f) == FRAME_UDP &&
	    f.udp_at == FRAME_ETH_BYTES + 40 + 24 && f.payload_bytes == 40,
	    "IPv6: hop-by-hop and routing headers are skipped");
	ok(parse_extended(44, lone, 8, &f) == FRAME_UDP,
	    "IPv6: a fragment header of a complete datagram is skipped");
	ok(parse_extended(44, more, 8, &f) == FRAME_FRAGMENT &&
	    parse_extended(44, late, 8, &f) == FRAME_FRAGMENT,
	    "IPv6 fragments are recognised");
	ok(parse_extended(60, liar, 8, &f) != FRAME_UDP,
	    "IPv6: a header with a wrong length is detected");
	ok(parse_extended(60, none, 8, &f) == FRAME_OTHER,
	    "IPv6: a header after which nothing follows is other traffic");
	ok(parse_extended(51, none, 8, &f) == FRAME_OTHER,
	    "IPv6: an unknown header is other traffic");
}

static void
checksums(const struct frame_flow *flow, const char *name)
{
	uint8_t p[512];
	struct frame f;
	size_t len = make_frame(p, flow, 41);
	bool good = true;
	uint16_t sum;

	parse_copy(FRAME_ETHERNET, p, len, len, &f);
	for (size_t i = flow->v6 ? 8 : 0; i < len - FRAME_ETH_BYTES; i++) {
		p[FRAME_ETH_BYTES + i] ^= 0x10;
		/*
		 * the traffic class of IPv6 is in no checksum; it was skipped
		 * above
		 */
		good = good && !frame_checksums_ok(p, &f);
		p[FRAME_ETH_BYTES + i] ^= 0x10;
	}
	ok(good, "%s: a changed bit at any place is detected", name);
	bytes_put(p + f.udp_at + 6, 0, 2);
	ok(frame_checksums_ok(p, &f), "%s: a frame without a UDP checksum is "
	    "accepted", name);
	sum = inetsum_fold(frame_pseudo_sum(p, &f));
	memcpy(p + f.udp_at + 6, &sum, 2);
	ok(frame_checksums_ok(p, &f), "%s: a checksum that is left to the "
	    "network card is accepted", name);
	p[f.udp_at + 6] ^= 1;
	ok(!frame_checksums_ok(p, &f), "%s: such a checksum with one wrong bit "
	    "is refused", name);
	good = true;
	/* a UDP checksum of 0 occurs too */
	for (unsigned v = 0; v <= 0xffff; v++) {
		bytes_put(p + f.payload_at, v, 2);
		frame_put_checksum(p, &f);
		good = good && bytes_get(p + f.udp_at + 6, 2) != 0 &&
		    frame_checksums_ok(p, &f);
	}
	ok(good, "%s: a written checksum is right and never 0", name);
}

static void
test_invented(void)
{
	uint8_t a[4], mac[6];

	frame_worker_addr(a, 0x1234, 7);
	ok(memcmp(a, "\12\x12\x34\10", 4) == 0, "worker 7 of cluster 0x1234 "
	    "has its own address");
	frame_worker_addr(a, FRAME_CLUSTERS_MAX - 1, FRAME_WORKERS_MAX - 1);
	ok(memcmp(a, "\12\376\377\376", 4) == 0,
	    "the last worker's address is below 10.255.0.0/16");
	frame_put_mac(mac, a);
	ok(memcmp(mac, "\2\0\12\376\377\376", 6) == 0,
	    "the MAC address is 02:00 and the address");
}

static void
test_noise(uint8_t *p)
{
	static const int link[] = { 0, 1, 9, 12, 50, 51, 101, 105, 108, 113,
	    127, 228, 229, 276 };
	struct rng r = rng_seed(6);
	struct frame f;
	size_t udp = 0, wrong = 0;

	for (int run = 0; run < 200000; run++) {
		size_t len = rng_below(&r, 120);
		int l = link[run % 14];
		uint32_t at = 0;
		uint16_t type = 0;

		for (size_t i = 0; i < 120; i += 8)
			bytes_put(p + i, rng_u64(&r), 8);
		if (run % 2 != 0)
			make_frame(p, run % 4 == 1 ? &v4 : &v6, 40);
		if (run % 2 != 0)
			p[rng_below(&r, 70)] = (uint8_t)rng_u64(&r);
		if (parse_copy(l, p, len, len + rng_below(&r, 9), &f) !=
		    FRAME_UDP)
			continue;
		udp++;
		frame_link_skip(l, p, len, &at, &type);
		wrong += f.payload_at + f.payload_bytes > len ||
		    f.ip_at != at || f.udp_at < at + 20;
	}
	note("%zu of 200,000 are UDP", udp);
	ok(udp > 1000 && wrong == 0, "payloads found in random bytes lie in "
	    "the frame");
}

int
main(void)
{
	uint8_t *p = malloc(ROOM);

	round_trip(p, &v4, "IPv4");
	round_trip(p, &v6, "IPv6");
	test_links();
	test_lies();
	test_cuts();
	test_extensions();
	checksums(&v4, "IPv4");
	checksums(&v6, "IPv6");
	test_invented();
	test_noise(p);
	free(p);
	return tap_end();
}
