/* Test the reception of a multicast group beside a socket, on 127.0.0.1. */
#include <poll.h>

#include "cmd/innet-worker/udp-multicast.h"
#include "cmd/innet-worker/udp-scatter.h"
#include "common/net/udp-io.h"
#include "tests/unit/tap.h"

enum { TOS = 0x1c, RESULT = 1, MESSAGE = 2, HEAD = 8 };

static struct udpio from, u;

/* Send one datagram of `len` bytes, which are all `byte`. */
static bool
send_byte(const union addr *to, uint8_t byte, size_t len)
{
	uint8_t p[256];

	memset(p, byte, sizeof(p));
	return udpio_send(&from, to, TOS, p, len);
}

/* Wait as a worker does. */
static void
wait_for_both(void)
{
	struct pollfd p[2] = { { .fd = u.fd, .events = POLLIN },
		{ .fd = u.group_fd, .events = POLLIN } };
	const int n = poll(p, 2, 10000);

	udp_multicast_set_ready(&u, n, p[0].revents, p[1].revents);
}

/* Receive one batch.  Is it one message of `len` bytes that are all `byte`? */
static bool
receives(uint8_t byte, size_t len)
{
	return udpio_recv(&u) == 1 && u.got[0].len == len &&
	    u.got[0].data[0] == byte && u.got[0].data[len - 1] == byte;
}

static void
test_order(const union addr *group)
{
	ok(send_byte(group, RESULT, 100) && send_byte(&u.local, MESSAGE, 8),
	    "a result is sent to the group, then a message to the socket");
	wait_for_both();
	ok(receives(RESULT, 100) && u.more, "the result arrives first");
	ok(receives(MESSAGE, 8), "then the message arrives");
	ok(udpio_recv(&u) == 0 && !u.more, "then no packet is left");
	send_byte(group, RESULT, 100);
	ok(udpio_recv(&u) == 0, "a packet that arrives after the wait is not "
	    "received yet");
	wait_for_both();
	ok(receives(RESULT, 100) && udpio_recv(&u) == 0,
	    "the next wait receives this packet");
}

static void
test_place(const union addr *group)
{
	uint8_t body[100] = { 0 };
	const struct udp_scatter l = { .body = body, .bytes = sizeof(body),
	    .head_bytes = HEAD, .body_bytes = sizeof(body) };

	send_byte(group, RESULT, HEAD + sizeof(body));
	send_byte(&u.local, MESSAGE, 8);
	wait_for_both();
	ok(udpio_group_is_next(&u) && udp_scatter_recv(&u, &l) == 1 &&
		udp_scatter_fits(&u.got[0], &l) && body[0] == RESULT &&
		body[99] == RESULT,
	    "a result of the group is received into its place");
	ok(udp_scatter_fills(&u.got[0], &l) && u.more,
	    "the result fills the place, and the group may have more");
	udpio_expect_no_more(&u);
	ok(!udpio_group_is_next(&u) && u.more,
	    "no other result is expected, but the socket may have more");
	ok(receives(MESSAGE, 8) && !u.more, "the message is not lost");
}

int
main(void)
{
	const struct in_addr lo = { htonl(INADDR_LOOPBACK) };
	union addr at = { 0 }, group = { 0 };

	if (addr_parse("127.0.0.1:0", NULL, &at) != NULL ||
	    udpio_open(&from, &at, TOS, true) == -1 ||
	    udpio_open(&u, &at, TOS, true) == -1)
		return 1;
	setsockopt(from.fd, IPPROTO_IP, IP_MULTICAST_IF, &lo, sizeof(lo));
	group.in = (struct sockaddr_in){ .sin_family = AF_INET,
	    .sin_port = u.local.in.sin_port,
	    .sin_addr.s_addr = htonl(0xef4d0001) };
	ok(udp_multicast_set_group(&u, &group, &from.local) == 0,
	    "a socket joins a group");
	test_order(&group);
	test_place(&group);
	udpio_close(&from);
	udpio_close(&u);
	return tap_end();
}
