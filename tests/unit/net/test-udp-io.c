/*
 * Test sockets on 127.0.0.1: the data that the kernel reports about packets,
 * and their capture.
 */
#include <poll.h>
#include <sys/mman.h>

#include "common/net/timer.h"
#include "common/net/udp-io.h"
#include "tests/unit/tap.h"

enum { TOS = 0x2c, MOST = 65507 };

static bool
open_as(struct udpio *u, const char *host, bool offload)
{
	union addr a;

	return addr_parse(host, "0", &a) == NULL &&
	    udpio_open(u, &a, TOS, offload) == 0;
}

static bool
open_on(struct udpio *u, const char *host)
{
	return open_as(u, host, true);
}

/* Wait for one of the events; returns whether it happened. */
static bool
wait_for_event(const struct udpio *u, short events)
{
	struct pollfd p = { .fd = u->fd, .events = events };

	return poll(&p, 1, 10000) == 1;
}

static void
test_pair(const char *host)
{
	struct udpio a, b;
	uint64_t before, after;
	const struct udpio_message *p = &b.got[0];

	if (!open_on(&a, host) || !open_on(&b, host)) {
		ok(true, "a pair on %s # SKIP cannot listen there", host);
		return;
	}
	ok(addr_port(&a.local) != 0 && !addr_same(&a.local, &b.local),
	    "%s: the kernel gives each socket a port, which the caller "
	    "learns", host);
	ok(udpio_recv(&b) == 0, "without a packet nothing is received");
	before = timer_wall_ns();
	ok(udpio_send(&a, &b.local, TOS, "innet", 5) &&
		wait_for_event(&b, POLLIN) && udpio_recv(&b) == 1 &&
		p->len == 5 && memcmp(p->data, "innet", 5) == 0,
	    "a packet arrives unchanged");
	after = timer_wall_ns();
	ok(addr_same(&p->from, &a.local), "a packet comes with its source");
	ok(p->tos == TOS, "a packet comes with its ToS byte");
	ok(p->stamp_ns >= before && p->stamp_ns <= after,
	    "the timestamp of a packet lies between send and receive");
	ok(udpio_send(&b, &p->from, TOS, "", 0) && wait_for_event(&a, POLLIN) &&
	    udpio_recv(&a) == 1 && a.got[0].len == 0,
	    "an empty packet arrives, and its source can be answered");
	ok(a.kernel_drops == 0 && a.unreachable == 0 && a.send_failed == 0,
	    "no packet was lost");
	udpio_close(&a);
	udpio_close(&b);
	ok(a.fd == -1, "a closed socket has no descriptor");
}

static void
test_batch(void)
{
	struct udpio a, b;
	int first, second, n = UDPIO_BATCH + 1;
	bool order = true;

	open_on(&a, "127.0.0.1");
	open_on(&b, "127.0.0.1");
	for (int i = 0; i < n; i++)
		order = order && udpio_send(&a, &b.local, TOS, &i, sizeof(i));
	first = udpio_recv(&b);
	for (int i = 0; i < first; i++)
		order = order && b.got[i].len == sizeof(i) &&
		    memcmp(b.got[i].data, &i, sizeof(i)) == 0 &&
		    (i == 0 || b.got[i].stamp_ns >= b.got[i - 1].stamp_ns);
	second = udpio_recv(&b);
	ok(first == UDPIO_BATCH && second == 1 && udpio_recv(&b) == 0,
	    "%d packets arrive in a batch of %d and one of 1", n, UDPIO_BATCH);
	ok(order, "the packets and their timestamps are in order");
	udpio_close(&a);
	udpio_close(&b);
}

static void
test_sizes(void)
{
	static uint8_t big[MOST + 1];
	struct udpio a, b;

	open_on(&a, "127.0.0.1");
	open_on(&b, "127.0.0.1");
	memset(big, 0x5a, sizeof(big));
	ok(udpio_send(&a, &b.local, TOS, big, MOST) &&
		wait_for_event(&b, POLLIN) && udpio_recv(&b) == 1 &&
		b.got[0].len == MOST && memcmp(b.got[0].data, big, MOST) == 0,
	    "the largest payload, %d bytes, arrives completely", MOST);
	ok(!udpio_send(&a, &b.local, TOS, big, MOST + 1) && a.send_failed == 1,
	    "a payload of one byte more is refused and counted");
	udpio_close(&a);
	udpio_close(&b);
}

static void
test_errors(void)
{
	struct udpio a, gone, c;
	union addr there;

	open_on(&a, "127.0.0.1");
	open_on(&c, "127.0.0.1");
	ok(udpio_open(&gone, &a.local, TOS, true) == -1 &&
	    errno == EADDRINUSE && gone.fd == -1,
	    "a port that is in use is refused, and the socket is closed");
	open_on(&gone, "127.0.0.1");
	there = gone.local;
	udpio_close(&gone);
	ok(udpio_send(&a, &there, TOS, "x", 1) && wait_for_event(&a, POLLERR) &&
	    udpio_recv(&a) == 0 && a.unreachable == 1 &&
	    addr_same(&a.refused, &there),
	    "a refused packet is counted, and its destination is known");
	udpio_send(&a, &there, TOS, "x", 1);
	wait_for_event(&a, POLLERR);
	ok(udpio_send(&a, &c.local, TOS, "y", 1) && a.unreachable == 2 &&
	    a.send_failed == 0, "a sender that learns of a refusal can send "
	    "on");
	udpio_send(&a, &there, TOS, "x", 1);
	wait_for_event(&a, POLLERR);
	udpio_send(&c, &a.local, TOS, "z", 1);
	ok(wait_for_event(&a, POLLIN) && udpio_recv(&a) == 1 &&
		a.unreachable == 3 && a.got[0].data[0] == 'z',
	    "a receiver that learns of a refusal still gets packets");
	udpio_close(&a);
	udpio_close(&c);
}

/*
 * Does b receive `count` datagrams of `seg` bytes, the last shorter, equal to
 * `want`?
 */
static bool
receives_run(struct udpio *b, const uint8_t *want, size_t seg, int count,
    size_t last, uint8_t tos)
{
	struct udpio_packet p;
	bool same = true;
	int k = 0;

	while (k < count && wait_for_event(b, POLLIN)) {
		int n = udpio_recv(b);

		for (int i = 0; i < n; i++) {
			size_t left = udpio_count_datagrams(&b->got[i]);

			for (size_t at = 0;
			     udpio_next_datagram(&b->got[i], &at, &p);
			     k++, left--)
				same = same && p.tos == tos && p.stamp_ns > 0 &&
				    k < count &&
				    p.len == (k < count - 1 ? seg : last) &&
				    memcmp(p.data, want + (size_t)k * seg,
				    p.len) == 0;
			same = same && left == 0;
		}
	}
	return k == count && same;
}

/* Send a run from one buffer, and gathered from two pieces a datagram. */
static bool
carries_run(struct udpio *a, struct udpio *b, size_t seg, int count,
    size_t last, uint8_t tos)
{
	static uint8_t bytes[200 * 9000];
	static struct iovec v[400];
	const size_t head = seg < 8 ? seg : 8;

	for (size_t i = 0; i < seg * (size_t)count; i++)
		bytes[i] = (uint8_t)(i * 31 + i / 256);
	for (int k = 0; k < count; k++) {
		size_t len = k < count - 1 ? seg : last;
		size_t cut = head < len ? head : len;
		uint8_t *p = bytes + (size_t)k * seg;

		v[2 * k] = (struct iovec){ p, cut };
		v[2 * k + 1] = (struct iovec){ p + cut, len - cut };
	}
	return udpio_send_run(a, &b->local, tos, bytes, seg, count, last) ==
	    count && receives_run(b, bytes, seg, count, last, tos) &&
	    udpio_send_gather(a, &b->local, tos, v, 2, count, seg) == count &&
	    receives_run(b, bytes, seg, count, last, tos);
}

/* Send runs of every important length from one socket to another. */
static void
test_runs(const char *host, bool out, bool in)
{
	static const int count[] = { 1, 2, 44, 45, 64, 65, 200 };
	static const size_t seg[] = { 1, 8, 512, 1000, 1472, 9000 };
	struct udpio a, b;
	bool whole = true;

	if (!open_as(&a, host, out) || !open_as(&b, host, in)) {
		ok(true, "runs on %s # SKIP cannot listen there", host);
		return;
	}
	for (size_t c = 0; c < sizeof(count) / sizeof(*count); c++) {
		for (size_t s = 0; s < sizeof(seg) / sizeof(*seg); s++) {
			const size_t last[] = { 1, seg[s] - seg[s] / 3,
			    seg[s] };

			for (size_t l = 0; l < 3; l++) {
				/*
				 * 1 kB more for each datagram, because a kernel
				 * may need it
				 */
				if ((seg[s] + 1024) * (size_t)count[c] >
				    b.rcvbuf_bytes / 2 || carries_run(&a, &b,
				    seg[s], count[c], last[l], TOS))
					continue;
				note("%d of %zu, the last %zu", count[c],
				    seg[s], last[l]);
				whole = false;
			}
		}
	}
	ok(whole && a.gso == (out && a.gso_errno == 0) &&
	    a.send_failed == 0 && b.kernel_drops == 0,
	    "%s: runs of 1 to 200 datagrams of 1 to 9000 bytes, the last "
	    "shorter, arrive unchanged: %s to %s", host,
	    out ? "UDP_SEGMENT" : "sendmmsg", in ? "UDP_GRO" : "recvmmsg");
	ok(carries_run(&a, &b, 100, 50, 7, 0x0c) &&
	    carries_run(&a, &b, 100, 50, 7, 0x1c) &&
	    carries_run(&a, &b, 100, 1, 7, 0x1c) &&
	    carries_run(&a, &b, 100, 50, 7, TOS),
	    "each run has the ToS byte of its call");
	udpio_close(&a);
	udpio_close(&b);
}

/* Runs that the kernel refuses are sent one by one. */
static void
test_refused_runs(void)
{
	struct udpio a, b;
	struct iovec v[3];
	union addr all;
	const int on = 1;

	open_on(&a, "127.0.0.1");
	open_on(&b, "127.0.0.1");
	setsockopt(a.fd, SOL_SOCKET, SO_NO_CHECK, &on, sizeof(on));
	ok(carries_run(&a, &b, 1000, 45, 7, TOS) && a.gso_bytes == 999 &&
	    carries_run(&a, &b, 1000, 45, 7, TOS) && a.gso_bytes == 999 &&
	    a.send_failed == 0, "if the kernel refuses a length in a run, the "
	    "datagrams go one by one, and that length is not tried again");
	errno = EIO;
	ok(udpio_run_refused(&a, 10) && !a.gso && a.gso_errno == EIO &&
	    carries_run(&a, &b, 10, 45, 7, TOS),
	    "if the link has no segmentation, runs are not tried again");
	errno = EAGAIN;
	ok(!udpio_run_refused(&a, 10) && a.gso_bytes == 999,
	    "if there is no room, runs are tried again");
	addr_parse("255.255.255.255:9", "9", &all);
	for (int i = 0; i < 3; i++)
		v[i] = (struct iovec){ v, 8 };
	ok(udpio_send_gather(&b, &all, TOS, v, 1, 3, 8) == 0 &&
	    errno == EACCES && b.send_failed == 3,
	    "each datagram of a forbidden send is counted");
	udpio_close(&a);
	udpio_close(&b);
}

/* Return a message of len bytes with the segment size seg. */
static struct udpio_message
make_message(size_t len, int seg)
{
	union {
		struct cmsghdr c;
		uint8_t room[CMSG_SPACE(sizeof(int))];
	} control = { .c = { .cmsg_len = CMSG_LEN(sizeof(int)),
	    .cmsg_level = SOL_UDP, .cmsg_type = UDP_GRO } };
	struct msghdr m = { .msg_control = &control,
	    .msg_controllen = sizeof(control) };
	static uint8_t bytes[1000];
	struct udpio_message got = { .data = bytes, .len = len,
	    .seg_bytes = len };
	struct udpio u = { 0 };

	memcpy(CMSG_DATA(&control.c), &seg, sizeof(seg));
	udpio_read_control(&u.drops, &m, &got);
	return got;
}

/* Does a message split into count datagrams, with all of its bytes? */
static bool
splits_into(struct udpio_message m, size_t count, size_t first, size_t last)
{
	struct udpio_packet p = { 0 };
	size_t n = 0, bytes = 0, one = 0;

	for (size_t at = 0; n <= count && udpio_next_datagram(&m, &at, &p);
	     n++) {
		one = n == 0 ? p.len : one;
		if (p.data != m.data + bytes)
			return false;
		bytes += p.len;
	}
	return n == count && udpio_count_datagrams(&m) == count &&
	       bytes == m.len && one == first && p.len == last;
}

static void
test_split(void)
{
	ok(splits_into(make_message(0, 0), 1, 0, 0) &&
		splits_into(make_message(0, 5), 1, 0, 0),
	    "an empty message is one empty datagram");
	ok(splits_into(make_message(1000, 100), 10, 100, 100),
	    "an exact multiple of the segment size has no rest");
	ok(splits_into(make_message(901, 100), 10, 100, 1) &&
		splits_into(make_message(999, 100), 10, 100, 99) &&
		splits_into(make_message(101, 100), 2, 100, 1),
	    "the last datagram is the rest");
	ok(splits_into(make_message(100, 100), 1, 100, 100) &&
	    splits_into(make_message(99, 100), 1, 99, 99) &&
	    splits_into(make_message(99, INT32_MAX), 1, 99, 99) &&
	    splits_into(make_message(99, 0), 1, 99, 99) &&
	    splits_into(make_message(99, -1), 1, 99, 99) &&
	    splits_into(make_message(99, INT32_MIN), 1, 99, 99),
	    "an invalid segment size leaves one datagram");
	ok(splits_into(make_message(1000, 1), 1000, 1, 1),
	    "a segment size of 1 gives as many datagrams as bytes");
	ok(splits_into((struct udpio_message){ .len = 9 }, 1, 9, 9),
	    "a segment size of 0 leaves one datagram");
}

static void
test_descriptions(void)
{
	char text[UDPIO_TEXT_BYTES];
	struct udpio u = { .gso = true, .gro = true,
	    .gso_bytes = UDPIO_PACKET_BYTES, .rcvbuf_bytes = 16777216,
	    .sndbuf_bytes = 425984 }, plain;

	ok(strcmp(udpio_describe(&u, text), "sends by UDP_SEGMENT, 44 segments "
	    "of 1472 bytes in a call; receives by UDP_GRO; buffers 0.4 MB out, "
	    "16.8 MB in") == 0, "a line describes how a socket sends and "
	    "receives");
	u.gso = u.gro = false;
	u.gro_errno = ENOPROTOOPT;
	ok(strcmp(udpio_describe(&u, text), "sends by sendmmsg; receives by "
	    "recvmmsg, no UDP_GRO here (Protocol not available); buffers "
	    "0.4 MB out, 16.8 MB in") == 0, "a line describes what the kernel "
	    "lacks");
	open_as(&plain, "127.0.0.1", false);
	ok(!plain.gso && !plain.gro && plain.gso_errno == 0 &&
	    plain.rcvbuf_bytes > 0 && plain.sndbuf_bytes > 0,
	    "features that were not requested are not missing, and buffers "
	    "have the granted size");
	udpio_close(&plain);
}

static void
test_source(void)
{
	struct udpio a, b;
	uint64_t mtu = 0;

	open_on(&b, "127.0.0.1");
	ok(udpio_open_towards(&a, &b.local, 0x0c, true, &mtu) == 0 &&
	    addr_port(&a.local) != addr_port(&b.local) &&
	    a.local.in.sin_addr.s_addr == htonl(INADDR_LOOPBACK) && mtu > 0,
	    "a socket towards a peer has the address from which the peer is "
	    "reached, and the path's MTU");
	ok(udpio_send(&a, &b.local, 0x0c, "x", 1) &&
		wait_for_event(&b, POLLIN) && udpio_recv(&b) == 1 &&
		b.got[0].tos == 0x0c && addr_same(&b.got[0].from, &a.local),
	    "packets of that socket come from this address");
	udpio_close(&a);
	udpio_close(&b);
}

/* Is a packet of len bytes captured and read back unchanged? */
static bool
is_captured(const char *from, const char *to, uint8_t tos, size_t len)
{
	const uint64_t stamp = 1700000000123456789;
	int fd = memfd_create("capture", 0);
	static uint8_t payload[MOST];
	struct pcapio_packet p = { 0 };
	struct pcapio_out out;
	struct pcapio_in in;
	union addr a, b;
	struct frame f;
	char path[64];
	bool same;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	memset(payload, 0xa7, sizeof(payload));
	pcapio_create_or_exit(&out, path);
	same = addr_parse(from, "1", &a) == NULL &&
	    addr_parse(to, "1", &b) == NULL;
	udpio_capture(&out, &a, &b, tos, payload, len, stamp);
	same = pcapio_close(&out) == 0 && pcapio_open(&in, path) == 0 && same &&
	    pcapio_next(&in, &p) == 1 && p.stamp_ns == stamp &&
	    p.caplen == flow_head_bytes(&a) + len && p.len == p.caplen &&
	    frame_parse(in.link, p.data, p.caplen, p.len, &f) == FRAME_UDP &&
	    f.tos == tos && f.payload_bytes == len &&
	    memcmp(p.data + f.payload_at, payload, len) == 0 &&
	    f.flow.sport == addr_port(&a) && f.flow.dport == addr_port(&b) &&
	    f.flow.v6 == (a.sa.sa_family == AF_INET6) &&
	    (f.flow.v6 ? memcmp(f.flow.src, &a.in6.sin6_addr, 16) == 0 &&
	    memcmp(f.flow.dst, &b.in6.sin6_addr, 16) == 0 :
	    memcmp(f.flow.src, &a.in.sin_addr, 4) == 0 &&
	    memcmp(f.flow.dst, &b.in.sin_addr, 4) == 0);
	/*
	 * the checksum is there, right, and not only that of the pseudo header
	 */
	same = same && memcmp(p.data + f.udp_at + 6, "\0", 2) != 0 &&
	    frame_checksums_ok(p.data, &f) &&
	    inetsum_fold(inetsum_add(frame_pseudo_sum(p.data, &f),
	    p.data + f.udp_at, len + FRAME_UDP_BYTES)) == 0xffff &&
	    pcapio_next(&in, &p) == 0;
	pcapio_close_in(&in);
	close(fd);
	return same;
}

static void
test_captures(void)
{
	static const size_t len[] = { 0, 1, 5, 1472, MOST };

	for (size_t i = 0; i < sizeof(len) / sizeof(*len); i++)
		ok(is_captured(
		       "10.1.2.3:4", "192.0.2.255:65535", TOS, len[i]) &&
			is_captured(
			    "[2001:db8::1]:4", "[::ffff]:1", 0xff, len[i]),
		    "a packet of %zu bytes is captured with its addresses, "
		    "ToS, stamp and right checksums",
		    len[i]);
}

static void
test_port_file(void)
{
	char dir[] = "/tmp/innet-udpio-XXXXXX", path[64], line[16] = "";
	struct udpio u;
	union addr a;
	FILE *f;

	if (mkdtemp(dir) == NULL || addr_parse(":0", "0", &a) != NULL)
		err(1, "%s", dir);
	snprintf(path, sizeof(path), "%s/port", dir);
	udpio_listen_or_exit(&u, &a, TOS, true, path);
	f = fopen(path, "r");
	ok(f != NULL && fgets(line, sizeof(line), f) != NULL &&
	    strtoul(line, NULL, 10) == addr_port(&u.local),
	    "the port file has the port that the kernel gave");
	if (f != NULL)
		fclose(f);
	unlink(path);
	ok(rmdir(dir) == 0, "no other file is left");
	udpio_close(&u);
}

int
main(void)
{
	struct udpio u = { .kernel_drops = 0 };
	bool warned = false;

	test_pair("127.0.0.1");
	test_pair("[::1]");
	test_batch();
	test_sizes();
	test_errors();
	for (int k = 0; k < 4; k++) {
		test_runs("127.0.0.1", (k & 1) == 0, (k & 2) == 0);
		test_runs("[::1]", (k & 1) == 0, (k & 2) == 0);
	}
	test_refused_runs();
	test_split();
	test_descriptions();
	test_source();
	test_captures();
	test_port_file();
	udpio_warn_drops(&u, &warned);
	ok(!warned, "without drops there is no warning");
	u.kernel_drops = 1;
	udpio_warn_drops(&u, &warned);
	ok(warned, "with one drop there is a warning");
	return tap_end();
}
