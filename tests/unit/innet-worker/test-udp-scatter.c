/* Test the reception of packets directly into their places, on 127.0.0.1. */
#include <poll.h>

#include "cmd/innet-worker/udp-scatter.h"
#include "common/net/udp-io.h"
#include "tests/unit/tap.h"

enum { TOS = 0x0c, HEAD = 8, BODY = 100, PARTS = 70, REST = 36 };

static struct udpio a, b;
static uint8_t sent[PARTS * (HEAD + BODY)], vec[PARTS * BODY];

/* Send n datagrams of `each` bytes, the last of `last`: byte i is i + salt. */
static bool
send_run(size_t n, size_t each, size_t last, uint8_t salt)
{
	struct pollfd p = { .fd = b.fd, .events = POLLIN };

	for (size_t i = 0; i < sizeof(sent); i++)
		sent[i] = (uint8_t)(i * 7 + i / 256 + salt);
	return udpio_send_run(&a, &b.local, TOS, sent, each, (int)n, last) ==
	    (int)n && poll(&p, 1, 10000) == 1;
}

/* Do the head and the body of the k-th datagram equal those that were sent? */
static bool
is_part(const struct udpio_packet *p, size_t k)
{
	const uint8_t *was = sent + k * (HEAD + BODY);

	return memcmp(p->data, was, HEAD) == 0 && memcmp(p->body, was + HEAD,
	    p->len - HEAD) == 0 && p->body == vec + k * BODY;
}

/* Check that the len received bytes are n datagrams in their place. */
static bool
test_landed(const struct udp_scatter *l, size_t n, size_t len)
{
	struct udpio_packet p;
	size_t at = 0, k = 0;
	bool good = udp_scatter_fits(&b.got[0], l) && b.got[0].len == len;

	while (udp_scatter_next(&b.got[0], l, &at, &p)) {
		good = good && is_part(&p, k) && memcmp(udp_scatter_head(
		    &b.got[0], k), p.data, HEAD) == 0;
		k++;
	}
	return good && k == n;
}

/* Check that the bytes are not in their place, and are reassembled. */
static bool
test_gathered(const struct udp_scatter *l, size_t len)
{
	const bool fits = udp_scatter_fits(&b.got[0], l);

	udp_scatter_gather(&b, l);
	return !fits && b.got[0].len == len && memcmp(b.got[0].data, sent,
	    len) == 0;
}

/* Make an empty place of `bytes` bytes. */
static struct udp_scatter
make_place(size_t bytes)
{
	memset(vec, 0xee, sizeof(vec));
	return (struct udp_scatter){ .body = vec, .bytes = bytes,
	    .head_bytes = HEAD, .body_bytes = BODY };
}

static bool
drain_from(size_t at)
{
	for (; at < sizeof(vec); at++) {
		if (vec[at] != 0xee)
			return false;
	}
	return true;
}

static void
test_lands(void)
{
	const size_t each = HEAD + BODY;
	struct udp_scatter l = make_place(10 * BODY);

	ok(udp_scatter_recv(&b, &l) == 0,
	    "without a packet nothing is received");
	ok(send_run(10, each, each, 0) && udp_scatter_recv(&b, &l) == 1 &&
	    test_landed(&l, 10, 10 * each) && drain_from(10 * BODY),
	    "a run of ten datagrams is received into its place");
	l = make_place(9 * BODY + REST);
	ok(send_run(10, each, HEAD + REST, 1) &&
		udp_scatter_recv(&b, &l) == 1 &&
		test_landed(&l, 10, 9 * each + HEAD + REST) &&
		drain_from(9 * BODY + REST),
	    "the last datagram of a vector may be shorter");
	l = make_place(60 * BODY);
	ok(send_run(4, each, each, 2) && udp_scatter_recv(&b, &l) == 1 &&
	    test_landed(&l, 4, 4 * each) && drain_from(4 * BODY),
	    "fewer datagrams than there is room for change only their own "
	    "bytes");
	l = make_place(PARTS * BODY);
	ok(send_run(1, each, each, 3) && udp_scatter_recv(&b, &l) == 1 &&
	    test_landed(&l, 1, each) && drain_from(BODY),
	    "a single datagram is received into its place");
	ok(b.got[0].tos == TOS && addr_same(&b.got[0].from, &a.local),
	    "a datagram comes with its ToS byte and source");
}

static void
test_strays(void)
{
	const size_t each = HEAD + BODY;
	struct udp_scatter l = make_place(5 * BODY);

	ok(send_run(10, each, each, 4) && udp_scatter_recv(&b, &l) == 1 &&
	    test_gathered(&l, 10 * each) && drain_from(5 * BODY),
	    "a run that is longer than its place is reassembled, and nothing "
	    "is written after the place");
	l = make_place(20 * BODY);
	ok(send_run(10, each + 4, each + 4, 5) &&
		udp_scatter_recv(&b, &l) == 1 &&
		test_gathered(&l, 10 * (each + 4)),
	    "a run of datagrams of another length is reassembled");
	l = make_place(20 * BODY);
	ok(send_run(3, each, HEAD + 4, 6) && udp_scatter_recv(&b, &l) == 1 &&
	    test_gathered(&l, 2 * each + HEAD + 4),
	    "a run that ends with a short datagram too early is reassembled");
	l = make_place(20 * BODY);
	ok(send_run(1, HEAD, HEAD, 7) && udp_scatter_recv(&b, &l) == 1 &&
	    test_gathered(&l, HEAD), "a header without a body is reassembled");
	l = make_place(20 * BODY);
	ok(send_run(1, 3, 3, 8) && udp_scatter_recv(&b, &l) == 1 &&
	    test_gathered(&l, 3), "a datagram shorter than a header is "
	    "reassembled");
	l = make_place(20 * BODY);
	ok(send_run(1, 0, 0, 9) && udp_scatter_recv(&b, &l) == 1 &&
	    test_gathered(&l, 0), "an empty datagram is reassembled");
	l = make_place(BODY);
	ok(send_run(1, sizeof(sent), sizeof(sent), 10) &&
	    udp_scatter_recv(&b, &l) == 1 && test_gathered(&l, sizeof(sent)) &&
	    drain_from(BODY), "a datagram longer than the place is "
	    "reassembled");
}

int
main(void)
{
	union addr at;

	if (addr_parse("127.0.0.1", "0", &at) != NULL ||
	    udpio_open(&a, &at, TOS, true) != 0 ||
	    udpio_open(&b, &at, TOS, true) != 0)
		ok(false, "two sockets can be opened");
	if (a.gso && b.gro) {
		test_lands();
		test_strays();
	} else {
		ok(true, "runs land # SKIP no UDP_SEGMENT or UDP_GRO");
	}
	udpio_close(&a);
	udpio_close(&b);
	return tap_end();
}
