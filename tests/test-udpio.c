/* Sockets on 127.0.0.1: what the kernel says of packets, and their capture. */
#include <poll.h>
#include <sys/mman.h>

#include "common/timer.h"
#include "common/udpio.h"
#include "tests/tap.h"

enum { TOS = 0x2c, MOST = 65507 };

static bool
listen_on(struct udpio *u, const char *host)
{
	union addr a;

	return addr_parse(host, "0", &a) == NULL &&
	    udpio_open(u, &a, TOS) == 0;
}

/* Wait for one of these events, and say whether it came. */
static bool
comes(const struct udpio *u, short events)
{
	struct pollfd p = { .fd = u->fd, .events = events };

	return poll(&p, 1, 10000) == 1;
}

static void
pair(const char *host)
{
	struct udpio a, b;
	uint64_t before, after;
	const struct udpio_packet *p = &b.got[0];

	if (!listen_on(&a, host) || !listen_on(&b, host)) {
		ok(true, "a pair on %s # SKIP cannot listen there", host);
		return;
	}
	ok(addr_port(&a.local) != 0 && !addr_same(&a.local, &b.local),
	    "%s: the kernel gives each a port, which is told", host);
	ok(udpio_recv(&b) == 0, "where nothing has come nothing is received");
	before = timer_wall_ns();
	ok(udpio_send(&a, &b.local, "innet", 5) && comes(&b, POLLIN) &&
	    udpio_recv(&b) == 1 && p->len == 5 &&
	    memcmp(p->data, "innet", 5) == 0, "a packet comes as it was sent");
	after = timer_wall_ns();
	ok(addr_same(&p->from, &a.local), "with its source");
	ok(p->tos == TOS, "its ToS byte");
	ok(p->stamp_ns >= before && p->stamp_ns <= after,
	    "and a stamp between its sending and its receipt");
	ok(udpio_send(&b, &p->from, "", 0) && comes(&a, POLLIN) &&
	    udpio_recv(&a) == 1 && a.got[0].len == 0,
	    "an empty one is a packet too, and its answer finds the way");
	ok(a.kernel_drops == 0 && a.unreachable == 0 && a.send_failed == 0,
	    "nothing was lost");
	udpio_close(&a);
	udpio_close(&b);
	ok(a.fd == -1, "a closed socket is closed");
}

static void
batch(void)
{
	struct udpio a, b;
	int first, second, n = UDPIO_BATCH + 1;
	bool order = true;

	listen_on(&a, "127.0.0.1");
	listen_on(&b, "127.0.0.1");
	for (int i = 0; i < n; i++)
		order = order && udpio_send(&a, &b.local, &i, sizeof(i));
	first = udpio_recv(&b);
	for (int i = 0; i < first; i++)
		order = order && b.got[i].len == sizeof(i) &&
		    memcmp(b.got[i].data, &i, sizeof(i)) == 0 &&
		    (i == 0 || b.got[i].stamp_ns >= b.got[i - 1].stamp_ns);
	second = udpio_recv(&b);
	ok(first == UDPIO_BATCH && second == 1 && udpio_recv(&b) == 0,
	    "%d packets come in a batch of %d and one of 1", n, UDPIO_BATCH);
	ok(order, "in order, their stamps too");
	udpio_close(&a);
	udpio_close(&b);
}

static void
sizes(void)
{
	static uint8_t big[MOST + 1];
	struct udpio a, b;

	listen_on(&a, "127.0.0.1");
	listen_on(&b, "127.0.0.1");
	memset(big, 0x5a, sizeof(big));
	ok(udpio_send(&a, &b.local, big, MOST) && comes(&b, POLLIN) &&
	    udpio_recv(&b) == 1 && b.got[0].len == MOST &&
	    memcmp(b.got[0].data, big, MOST) == 0,
	    "the largest payload, %d bytes, comes whole", MOST);
	ok(!udpio_send(&a, &b.local, big, MOST + 1) && a.send_failed == 1,
	    "one more is refused and counted");
	udpio_close(&a);
	udpio_close(&b);
}

static void
errors(void)
{
	struct udpio a, gone, c;
	union addr there;

	listen_on(&a, "127.0.0.1");
	listen_on(&c, "127.0.0.1");
	ok(udpio_open(&gone, &a.local, TOS) == -1 && errno == EADDRINUSE &&
	    gone.fd == -1, "a port that is taken is refused, and nothing "
	    "held");
	listen_on(&gone, "127.0.0.1");
	there = gone.local;
	udpio_close(&gone);
	ok(udpio_send(&a, &there, "x", 1) && comes(&a, POLLERR) &&
	    udpio_recv(&a) == 0 && a.unreachable == 1 &&
	    addr_same(&a.refused, &there),
	    "nobody there: counted, and who it was is known");
	udpio_send(&a, &there, "x", 1);
	comes(&a, POLLERR);
	ok(udpio_send(&a, &c.local, "y", 1) && a.unreachable == 2 &&
	    a.send_failed == 0, "a sender that learns of it sends on");
	udpio_send(&a, &there, "x", 1);
	comes(&a, POLLERR);
	udpio_send(&c, &a.local, "z", 1);
	ok(comes(&a, POLLIN) && udpio_recv(&a) == 1 && a.unreachable == 3 &&
	    a.got[0].data[0] == 'z',
	    "a receiver that learns of it gets what has come as well");
	udpio_close(&a);
	udpio_close(&c);
}

static void
towards(void)
{
	struct udpio a, b;
	uint64_t mtu = 0;

	listen_on(&b, "127.0.0.1");
	ok(udpio_open_towards(&a, &b.local, 0x0c, &mtu) == 0 &&
	    addr_port(&a.local) != addr_port(&b.local) &&
	    a.local.in.sin_addr.s_addr == htonl(INADDR_LOOPBACK) && mtu > 0,
	    "a socket towards another has the address from which it is "
	    "reached, and the path's MTU");
	ok(udpio_send(&a, &b.local, "x", 1) && comes(&b, POLLIN) &&
	    udpio_recv(&b) == 1 && b.got[0].tos == 0x0c &&
	    addr_same(&b.got[0].from, &a.local), "its packets come from there");
	udpio_close(&a);
	udpio_close(&b);
}

/* The capture of a packet of len bytes, read back. */
static bool
captured(const char *from, const char *to, uint8_t tos, size_t len)
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
	    p.caplen == udpio_head_bytes(&a) + len && p.len == p.caplen &&
	    frame_parse(in.link, p.data, p.caplen, p.len, &f) == FRAME_UDP &&
	    f.tos == tos && f.payload_bytes == len &&
	    memcmp(p.data + f.payload_at, payload, len) == 0 &&
	    f.flow.sport == addr_port(&a) && f.flow.dport == addr_port(&b) &&
	    f.flow.v6 == (a.sa.sa_family == AF_INET6) &&
	    (f.flow.v6 ? memcmp(f.flow.src, &a.in6.sin6_addr, 16) == 0 &&
	    memcmp(f.flow.dst, &b.in6.sin6_addr, 16) == 0 :
	    memcmp(f.flow.src, &a.in.sin_addr, 4) == 0 &&
	    memcmp(f.flow.dst, &b.in.sin_addr, 4) == 0);
	/* a sum that is there, right, and not the pseudo header's alone */
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
captures(void)
{
	static const size_t len[] = { 0, 1, 5, 1472, MOST };

	for (size_t i = 0; i < sizeof(len) / sizeof(*len); i++)
		ok(captured("10.1.2.3:4", "192.0.2.255:65535", TOS, len[i]) &&
		    captured("[2001:db8::1]:4", "[::ffff]:1", 0xff, len[i]),
		    "a packet of %zu bytes is captured with its addresses, "
		    "ToS, stamp and right checksums", len[i]);
}

static void
port_file(void)
{
	char dir[] = "/tmp/innet-udpio-XXXXXX", path[64], line[16] = "";
	struct udpio u;
	union addr a;
	FILE *f;

	if (mkdtemp(dir) == NULL || addr_parse(":0", "0", &a) != NULL)
		err(1, "%s", dir);
	snprintf(path, sizeof(path), "%s/port", dir);
	udpio_listen_or_exit(&u, &a, TOS, path);
	f = fopen(path, "r");
	ok(f != NULL && fgets(line, sizeof(line), f) != NULL &&
	    strtoul(line, NULL, 10) == addr_port(&u.local),
	    "the port file holds the port that was given");
	if (f != NULL)
		fclose(f);
	unlink(path);
	ok(rmdir(dir) == 0, "and nothing else is left beside it");
	udpio_close(&u);
}

int
main(void)
{
	struct udpio u = { .kernel_drops = 0 };
	bool warned = false;

	pair("127.0.0.1");
	pair("[::1]");
	batch();
	sizes();
	errors();
	towards();
	captures();
	port_file();
	udpio_warn_drops(&u, &warned);
	ok(!warned, "without drops there is no warning");
	u.kernel_drops = 1;
	udpio_warn_drops(&u, &warned);
	ok(warned, "with one there is");
	return tap_end();
}
