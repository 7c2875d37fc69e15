/*
 * dlpplay - the DLP packets of a capture, as text or as a client, for tests
 *
 *	dlpplay FILE		source_port destination_port 60 hex digits
 *	dlpplay FILE PORT HOST:PORT	what went to PORT, each sender from a
 *		socket of its own, goes to HOST:PORT in the order captured;
 *		what came from PORT must come from there, byte for byte, in the
 *		order captured for each worker, and nothing else
 */
#include <err.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/net/udp-io.h"
#include "common/wire/dlp.h"

enum { WORKERS_MAX = 64, PATIENCE_MS = 10000, LINGER_MS = 200 };

struct client {
	uint16_t port;		/* in the capture */
	int fd;
};

static struct client clients[WORKERS_MAX];
static int n_clients;

/* The socket that stands for the worker at this port. */
static int
socket_of(uint16_t port, const union addr *to)
{
	for (int i = 0; i < n_clients; i++) {
		if (clients[i].port == port)
			return clients[i].fd;
	}
	if (n_clients == WORKERS_MAX)
		errx(1, "more than %d workers", WORKERS_MAX);
	clients[n_clients].port = port;
	clients[n_clients].fd = socket(to->sa.sa_family, SOCK_DGRAM, 0);
	if (connect(clients[n_clients].fd, &to->sa, addr_len(to)) == -1)
		err(1, "socket");
	return clients[n_clients++].fd;
}

static void
put_hex(const char *what, const uint8_t *p, size_t n)
{
	fputs(what, stdout);
	for (size_t i = 0; i < n; i++)
		printf("%02x", p[i]);
}

/* The next answer at fd is want, or the end. */
static void
expect(int fd, uint64_t packet, const uint8_t want[DLP_BYTES])
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	uint8_t got[DLP_BYTES + 1];
	ssize_t n;

	if (poll(&p, 1, PATIENCE_MS) != 1)
		errx(1, "packet %llu: not answered within %d ms",
		    (unsigned long long)packet, PATIENCE_MS);
	n = recv(fd, got, sizeof(got), 0);
	if (n == DLP_BYTES && memcmp(got, want, DLP_BYTES) == 0)
		return;
	put_hex("got  ", got, n < 0 ? 0 : (size_t)n);
	put_hex("\nwant ", want, DLP_BYTES);
	putchar('\n');
	errx(1, "packet %llu: another answer", (unsigned long long)packet);
}

/* Nothing more may come. */
static void
expect_silence(void)
{
	struct pollfd p[WORKERS_MAX];

	for (int i = 0; i < n_clients; i++)
		p[i] = (struct pollfd){ clients[i].fd, POLLIN, 0 };
	if (poll(p, (nfds_t)n_clients, LINGER_MS) != 0)
		errx(1, "an answer that was not captured");
}

int
main(int argc, char *argv[])
{
	struct pcapio_packet p = { 0 };
	struct pcapio_in in;
	struct frame f = { 0 };
	union addr to;
	uint16_t port = 0;
	unsigned long sent = 0, answered = 0;

	if (argc != 2 && (argc != 4 ||
	    addr_parse(argv[3], "0", &to) != NULL))
		errx(2, "usage: dlpplay FILE [PORT HOST:PORT]");
	if (argc == 4)
		port = (uint16_t)atoi(argv[2]);
	pcapio_open_or_exit(&in, argv[1]);
	while (pcapio_next(&in, &p) == 1) {
		const uint8_t *bytes;

		if (frame_parse(in.link, p.data, p.caplen, p.len, &f) !=
		    FRAME_UDP || f.payload_bytes != DLP_BYTES)
			continue;
		bytes = p.data + f.payload_at;
		if (argc == 2) {
			printf("%u %u", f.flow.sport, f.flow.dport);
			put_hex(" ", bytes, DLP_BYTES);
			putchar('\n');
		} else if (f.flow.dport == port) {
			sent += send(socket_of(f.flow.sport, &to), bytes,
			    DLP_BYTES, 0) == DLP_BYTES;
		} else if (f.flow.sport == port) {
			expect(socket_of(f.flow.dport, &to), in.packets,
			    bytes);
			answered++;
		}
	}
	if (argc == 4) {
		expect_silence();
		printf("%lu sent, %lu answers as captured\n", sent, answered);
	}
	pcapio_close_in(&in);
	return 0;
}
