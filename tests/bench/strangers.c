/*
 * strangers - strangers ADDR SECONDS RATE SOURCES: send RATE Joins a second,
 * which prove no address, from SOURCES forged addresses in turn, which begin at
 * 10.99.0.1.  ADDR is IPv4.  The program prints the number of Joins that it
 * sent.  It needs root, or its own network namespace.
 */
#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/net/timer.h"
#include "common/wire/addr.h"
#include "common/wire/control.h"
#include "common/wire/frame.h"
#include "common/auth/cookie.h"
#include "tests/bench/number.h"

enum { RUN = 64, JOIN_BYTES = 22, HEAD_BYTES = 28,
	PACKET_BYTES = HEAD_BYTES + CONTROL_HEADER_BYTES + JOIN_BYTES +
	    COOKIE_BYTES };

/*
 * The packet of the first address: IP, UDP without a checksum, a Join and a
 * cookie.
 */
static void
prepare(uint8_t p[PACKET_BYTES], const union addr *to)
{
	const struct control_join j = { .type = CONTROL_WORKER, .worker = 1,
	    .elements = 1000, .floats = 366 };
	const uint8_t nonce[COOKIE_NONCE_BYTES] = "nonce--";
	uint8_t *q = p;

	memset(p, 0, PACKET_BYTES);
	q = bytes_put(q, 0x4500 | CONTROL_TOS, 2);
	q = bytes_put(q, PACKET_BYTES, 2);
	q = bytes_put(q, 0, 4);
	q = bytes_put(q, 64 << 8 | IPPROTO_UDP, 2);
	q = bytes_put(q, 0, 2);		/* the kernel computes the checksum */
	q = bytes_put(q, 0x0a630001, 4);
	memcpy(q, &to->in.sin_addr, 4);
	q = bytes_put(q + 4, 4000, 2);
	q = bytes_put(q, addr_port(to), 2);
	q = bytes_put(q, PACKET_BYTES - 20, 2);
	q = control_put(bytes_put(q, 0, 2), CONTROL_JOIN, 1, 7);
	p[HEAD_BYTES + 1] |= CONTROL_HAS_COOKIE;
	q = control_put_join(q, &j);
	cookie_init(q, nonce);
}

int
main(int argc, char *argv[])
{
	static uint8_t packet[RUN][PACKET_BYTES];
	struct iovec iov[RUN];
	struct mmsghdr m[RUN];
	uint64_t now, began, end, rate, sources, sent = 0;
	union addr to;
	int fd, n;

	if (argc != 5 || addr_parse(argv[1], "46638", &to) != NULL ||
	    to.sa.sa_family != AF_INET)
		errx(2, "usage: strangers ADDR SECONDS RATE SOURCES");
	rate = number(argv[3], UINT32_MAX);
	sources = number(argv[4], 1 << 17);
	fd = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW);
	if (fd == -1 || connect(fd, &to.sa, addr_len(&to)) == -1)
		err(1, "%s", argv[1]);
	for (int i = 0; i < RUN; i++) {
		prepare(packet[i], &to);
		iov[i] = (struct iovec){ packet[i], PACKET_BYTES };
		m[i] = (struct mmsghdr){ .msg_hdr = { .msg_iov = &iov[i],
		    .msg_iovlen = 1 } };
	}
	now = began = timer_mono_ns();
	end = now + number(argv[2], 3600) * TIMER_SECOND_NS;
	for (; now < end; now = timer_mono_ns()) {
		if ((double)sent > (double)(now - began) / 1e9 * (double)rate) {
			usleep(100);
			continue;	/* it is not time yet */
		}
		for (int i = 0; i < RUN; i++)
			bytes_put(packet[i] + 12, 0x0a630001 + (sent +
			    (uint64_t)i) % sources, 4);
		n = sendmmsg(fd, m, RUN, 0);
		if (n == -1 && errno != EAGAIN && errno != ENOBUFS)
			err(1, "%s", argv[1]);
		sent += n > 0 ? (uint64_t)n : 0;
	}
	printf("%" PRIu64 "\n", sent);
	return 0;
}
