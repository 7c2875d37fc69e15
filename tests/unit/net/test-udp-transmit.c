/*
 * Test packets sent through a socket, at once or through a simulated bad
 * network.
 */
#include <poll.h>
#include <sys/mman.h>

#include "common/base/rng.h"
#include "common/net/udp-transmit.h"
#include "tests/unit/tap.h"

enum { TOS = 0x2c };

static struct udpio a, b;

/* Receive the next datagram at b, if it arrives within the time. */
static bool
receive_next(uint32_t *value, int wait_ms)
{
	struct pollfd p = { .fd = b.fd, .events = POLLIN };
	static struct udpio_packet got;
	static size_t at;
	static int n, k;

	for (;;) {
		if (k < n && udpio_next_datagram(&b.got[k], &at, &got)) {
			if (got.len != sizeof(*value) || got.tos != TOS)
				return false;
			memcpy(value, got.data, sizeof(*value));
			return true;
		}
		at = 0;
		if (++k < n)
			continue;
		if (poll(&p, 1, wait_ms) != 1)
			return false;
		k = 0;
		n = udpio_recv(&b);
	}
}

static struct udp_transmit
make_transmit(const char *how, struct pcapio_out *capture)
{
	struct impair im = { .rng = rng_seed(7) };

	if (impair_parse(how, &im) != NULL)
		errx(1, "%s", how);
	return udp_transmit_over(&a, &im, capture);
}

static bool
send_one(struct udp_transmit *o, uint32_t value, uint64_t now_ns)
{
	return udp_transmit_send(
	    o, &b.local, TOS, &value, sizeof(value), now_ns);
}

static void
test_plain(void)
{
	struct udp_transmit o = make_transmit("", NULL);
	uint32_t run[100], got = 0;
	struct iovec v[200];
	bool order = true;

	ok(send_one(&o, 5, 1) &&
		udp_transmit_deadline_ns(&o) == UDP_TRANSMIT_NEVER &&
		receive_next(&got, 10000) && got == 5,
	    "over a good network a packet is sent at once");
	for (uint32_t i = 0; i < 100; i++) {
		run[i] = i;
		v[2 * i] = (struct iovec){ &run[i], 2 };
		v[2 * i + 1] = (struct iovec){ (uint8_t *)&run[i] + 2, 2 };
	}
	ok(udp_transmit_send_run(&o, &b.local, TOS, run, 4, 100, 4, 1) == 100 &&
	    udp_transmit_send_gather(&o, &b.local, TOS, v, 2, 100, 4, 1) == 100,
	    "over a good network runs are sent as runs");
	for (uint32_t i = 0; i < 200; i++)
		order = order && receive_next(&got, 10000) && got == i % 100;
	ok(order, "the datagrams of these runs arrive in order");
	udp_transmit_free(&o);
}

/* Datagrams held for random times leave by time, then in order. */
static void
test_held(void)
{
	enum { N = 20000, SPAN = 500 };
	struct udp_transmit o = make_transmit("delay=1ns", NULL);
	struct rng r = rng_seed(3);
	static uint32_t sent_at[N];
	uint32_t got = 0, before = 0, n = 0;
	bool order = true, due = true;

	for (uint32_t i = 0; i < N; i++) {
		sent_at[i] = (uint32_t)rng_below(&r, SPAN);
		send_one(&o, i, sent_at[i]);
	}
	due = udp_transmit_deadline_ns(&o) == 1;
	for (uint64_t t = 0; t <= SPAN; t++) {
		udp_transmit_flush(&o, t);
		due = due && udp_transmit_deadline_ns(&o) > t;
		while (receive_next(&got, 0)) {
			order = order && sent_at[got] + 1 == t && (n == 0 ||
			    sent_at[before] != sent_at[got] || before < got);
			before = got;
			n++;
		}
	}
	ok(due && udp_transmit_deadline_ns(&o) == UDP_TRANSMIT_NEVER && n == N,
	    "a late packet leaves at its time, not earlier: %u", n);
	ok(order, "packets leave by time, and at the same time in the order in "
	    "which they were sent");
	udp_transmit_free(&o);
}

static void
test_limits(void)
{
	struct udp_transmit o = make_transmit("delay=1s", NULL);
	uint32_t n = 0, got;

	for (uint32_t i = 0; i < UDP_TRANSMIT_HELD_MAX; i++)
		send_one(&o, i, 0);
	ok(o.held.count == UDP_TRANSMIT_HELD_MAX && o.impair.lost == 0,
	    "%d packets are held", UDP_TRANSMIT_HELD_MAX);
	send_one(&o, 0, 0);
	ok(o.held.count == UDP_TRANSMIT_HELD_MAX && o.impair.lost == 1,
	    "one packet more is lost and counted");
	udp_transmit_flush(&o, 999999999);
	ok(!receive_next(&got, 0) && o.held.count == UDP_TRANSMIT_HELD_MAX,
	    "no packet leaves before its time");
	udp_transmit_free(&o);
	ok(udp_transmit_deadline_ns(&o) == UDP_TRANSMIT_NEVER,
	    "freed packets are not sent");

	o = make_transmit("delay=60s", NULL);
	for (uint32_t i = 0; i < 10; i++)
		send_one(&o, i, 0);
	udp_transmit_flush(&o, UDP_TRANSMIT_NEVER);
	while (receive_next(&got, 100))
		n += got == n;
	ok(n == 10 && o.held.count == 0,
	    "at the end all held packets can be sent");
	udp_transmit_free(&o);
}

static void
test_impaired(void)
{
	struct udp_transmit o = make_transmit("dup=100%", NULL);
	uint32_t run[50], got = 0, n = 0;
	struct iovec v[50];

	for (uint32_t i = 0; i < 50; i++) {
		run[i] = i;
		v[i] = (struct iovec){ &run[i], 4 };
	}
	udp_transmit_send_run(&o, &b.local, TOS, run, 4, 50, 4, 1);
	while (receive_next(&got, 100))
		n += got == n / 2;
	ok(n == 100 && o.impair.duplicated == 50,
	    "datagrams of a run can be duplicated");
	o = make_transmit("loss=100%", NULL);
	ok(udp_transmit_send_gather(&o, &b.local, TOS, v, 1, 50, 4, 1) == 50 &&
	    o.impair.lost == 50 && !receive_next(&got, 0),
	    "datagrams of a run can be lost");
	o = make_transmit("reorder=50%", NULL);
	udp_transmit_send_gather(&o, &b.local, TOS, v, 1, 50, 4, 1);
	ok(o.held.count == o.impair.reordered && o.held.count > 10 &&
	    o.held.count < 40 &&
	    udp_transmit_deadline_ns(&o) == 1 + IMPAIR_REORDER_NS,
	    "datagrams of a run can be held back, so that others pass them");
	udp_transmit_flush(&o, UDP_TRANSMIT_NEVER);
	for (n = 0; receive_next(&got, 100); n++)
		;
	ok(n == 50, "held datagrams arrive later");
	udp_transmit_free(&o);
}

/* Return the number of frames in a capture with the payloads 0, 1, 2... */
static int
count_captured(const char *path)
{
	struct pcapio_packet p = { 0 };
	struct pcapio_in in;
	uint32_t value;
	int n = 0;

	if (pcapio_open(&in, path) != 0)
		return -1;
	while (pcapio_next(&in, &p) == 1) {
		memcpy(&value, p.data + p.caplen - 4, 4);
		if (value != (uint32_t)n % 50 || p.stamp_ns != 77)
			return -1;
		n++;
	}
	pcapio_close_in(&in);
	return n;
}

static void
test_captures(const char *how)
{
	int fd = memfd_create("capture", 0);
	struct pcapio_out out;
	struct iovec v[100];
	struct udp_transmit o;
	uint32_t run[50], got;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	pcapio_create_or_exit(&out, path);
	o = make_transmit(how, &out);
	for (uint32_t i = 0; i < 50; i++) {
		run[i] = i;
		v[2 * i] = (struct iovec){ &run[i], 1 };
		v[2 * i + 1] = (struct iovec){ (uint8_t *)&run[i] + 1, 3 };
		send_one(&o, i, 77);
	}
	udp_transmit_send_run(&o, &b.local, TOS, run, 4, 50, 4, 77);
	udp_transmit_send_gather(&o, &b.local, TOS, v, 2, 50, 4, 77);
	ok(pcapio_close(&out) == 0 && count_captured(path) == 150,
	    "\"%s\": the capture has each packet once, as it was sent", how);
	while (receive_next(&got, 100))
		;
	udp_transmit_free(&o);
	close(fd);
}

int
main(void)
{
	union addr any;

	if (addr_parse("127.0.0.1:0", "0", &any) != NULL ||
	    udpio_open(&a, &any, TOS, true) == -1 ||
	    udpio_open(&b, &any, TOS, true) == -1)
		err(1, "127.0.0.1");
	test_plain();
	test_held();
	test_limits();
	test_impaired();
	test_captures("");
	test_captures("loss=50%,dup=50%,reorder=10%,delay=1ms");
	udpio_close(&a);
	udpio_close(&b);
	return tap_end();
}
