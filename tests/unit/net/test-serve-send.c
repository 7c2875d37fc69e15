/*
 * Test that packets leave a queue in groups, each sent by one call to the
 * kernel.
 */
#include <poll.h>

#include "common/net/serve-sockets.h"
#include "tests/unit/tap.h"

enum { UPDATES = 100, BYTES = 1024, CALL = UDPIO_RUN_BYTES / BYTES };

static struct serve s;
static struct udpio b;

/* Send an update whose bytes are all k. */
static void
send_update(uint8_t k)
{
	struct slot slot = { .bytes = malloc(BYTES), .have = BYTES,
	    .room = BYTES, .to = { .to = b.local, .tos = UPDATE_TOS } };

	memset(slot.bytes, k, BYTES);
	serve_send_slot(&s, NULL, &slot, 1);
	free(slot.bytes);
}

/* Return the number of updates, from k on, in the next message. */
static size_t
count_received(uint8_t k)
{
	struct pollfd p = { .fd = b.fd, .events = POLLIN };
	struct udpio_packet d;
	size_t n = 0;

	if (poll(&p, 1, 10000) != 1)
		return 0;
	b.ask = 1;
	if (udpio_recv(&b) != 1)
		return 0;
	for (size_t at = 0; udpio_next_datagram(&b.got[0], &at, &d); n++) {
		if (d.len != BYTES || d.data[0] != (uint8_t)(k + n))
			return 0;
	}
	return n;
}

int
main(void)
{
	const union addr at = { .in = { .sin_family = AF_INET,
	    .sin_addr = { htonl(INADDR_LOOPBACK) } } };
	const struct impair none = { .loss = 0 };

	if (udpio_open(&s.own.u, &at, UPDATE_TOS, true) == -1 ||
	    udpio_open(&b, &at, UPDATE_TOS, true) == -1)
		err(1, "127.0.0.1");
	if (!s.own.u.gso || !b.gro) {
		ok(true, "runs # SKIP no UDP_SEGMENT or UDP_GRO");
		return tap_end();
	}
	s.own.out = udp_transmit_over(&s.own.u, &none, NULL);
	s.may_gather = true;
	for (int k = 0; k < UPDATES; k++)
		send_update((uint8_t)k);
	serve_send_departed(&s);
	ok(count_received(0) == CALL,
	    "a run has as many updates as one call sends");
	ok(count_received(CALL) == UPDATES - CALL,
	    "the other updates are the next run");
	ok(s.departed_count == 0 && s.departed_bytes == 0 &&
	    s.own.u.send_failed == 0, "no update is left or lost");
	for (int k = 0; k < UDPIO_RUN_MAX; k++)
		free(s.spare[k]);
	udp_transmit_free(&s.own.out);
	udpio_close(&s.own.u);
	udpio_close(&b);
	return tap_end();
}
