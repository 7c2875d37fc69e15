/*
 * udp-blast - udp-blast ADDR SECONDS [CLUSTERS [BYTES [KIND [RATE [KEY]]]]]:
 * send updates of BYTES (1024) of CLUSTERS (9) clusters as fast as possible, in
 * runs, from eight workers in turn; print the number that was sent.  With KIND
 * 3 the packets are initial weights, which pass every switch.  RATE is the
 * greatest number of updates a second (0: no limit).  With a KEY file the
 * updates have authentication tags.
 * udp-blast :PORT SECONDS sink: print the number of packets that arrive at the
 * port in SECONDS after the first one.  It looks every 0.1 ms, because waking
 * up for each run would take time from the sender.
 */
#include <err.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/auth/key-file.h"
#include "common/auth/nonce.h"
#include "common/net/timer.h"
#include "common/net/udp-io.h"
#include "common/auth/handshake-client.h"
#include "common/wire/update.h"
#include "tests/bench/number.h"

/* Receive the answer to an Open, for 10 ms. */
static void
hear(struct udpio *u, struct handshake_client *o)
{
	struct pollfd p = { .fd = u->fd, .events = POLLIN };
	struct udpio_packet q;
	struct control c;

	poll(&p, 1, 10);
	for (int i = udpio_recv(u); i-- > 0;) {
		for (size_t at = 0; udpio_next_datagram(&u->got[i], &at, &q);) {
			if (control_parse(q.data, q.len, &c))
				handshake_client_receive(o,
				    channel_client_receive(
					o->channel, q.data, q.len, &c),
				    &c, timer_mono_ns());
		}
	}
}

/* From now on the packets to that switch have authentication tags. */
static void
open_switch(struct udpio *u, const union addr *to, struct handshake_client *o)
{
	const uint64_t end = timer_mono_ns() + 10 * TIMER_SECOND_NS;
	uint8_t msg[HANDSHAKE_CLIENT_BYTES];

	handshake_client_start(o, timer_mono_ns());
	while (!o->open) {
		const uint32_t len =
		    handshake_client_next(o, 1, timer_mono_ns(), msg);

		if (len > 0)
			udpio_send(u, to, CONTROL_TOS, msg, len);
		hear(u, o);
		if (timer_mono_ns() > end)
			errx(1, "no answer to an Open in 10 s");
	}
}

/* Make a run of updates of successive clusters, with room for tags. */
static void
prepare(uint8_t *run, int n, size_t bytes, size_t stride, uint16_t clusters,
    uint8_t kind)
{
	struct update u = { .kind = kind, .merged = 1, .reward = 1,
	    .elements = (uint32_t)(bytes - UPDATE_HEADER_BYTES) / 4 };

	for (uint32_t i = 0; i < (uint32_t)n; i++) {
		uint8_t *p = run + i * stride;

		u.cluster = (uint16_t)(1 + i % clusters);
		p = update_put(p, &u);
		for (uint32_t k = 0; k < u.elements; k++)
			vec_set(p, k, 1e-3f * (float)(i + k));
	}
}

/* Renew the fields of each update: worker, time, sequence number, tag. */
static void
renew(uint8_t *run, int n, size_t bytes, size_t stride, uint32_t sequence,
    uint64_t now_ns, struct handshake_client *o)
{
	for (int i = 0; i < n; i++, run += stride) {
		bytes_put(run + 4, sequence % 8 << 8 | (uint32_t)i, 4);
		bytes_put(run + 8, sequence, 4);
		bytes_put(run + UPDATE_GENERATED_AT, now_ns, 8);
		handshake_client_tag(o, run, (uint32_t)bytes, now_ns);
	}
}

/* Count the packets that arrive at a port of any address. */
static int
sink(const char *port, uint64_t seconds)
{
	union addr at = { .in = { .sin_family = AF_INET,
	    .sin_port = htons((uint16_t)number(port + 1, 65535)) } };
	uint64_t end = UINT64_MAX, n = 0;
	const struct timespec pause = { .tv_nsec = 100000 };
	struct pollfd p = { .events = POLLIN };
	struct udpio u;
	int got;

	if (udpio_open(&u, &at, 0, true) == -1)
		err(1, "%s", port);
	p.fd = u.fd;
	while (timer_mono_ns() < end) {
		if (n == 0 && poll(&p, 1, 10000) == 0)
			errx(1, "%s: nothing comes", port);
		got = udpio_recv(&u);
		for (int i = got; i-- > 0;)
			n += udpio_count_datagrams(&u.got[i]);
		if (got == 0 && n > 0)
			nanosleep(&pause, NULL);
		if (n > 0 && end == UINT64_MAX)
			end = timer_mono_ns() + seconds * TIMER_SECOND_NS;
	}
	printf("%" PRIu64 "\n", n);
	udpio_close(&u);
	return 0;
}

int
main(int argc, char *argv[])
{
	uint64_t end, now, began, sent = 0, rate = 0;
	uint16_t clusters = 9;
	size_t bytes = 1024, stride;
	struct key key = { 0 };
	struct channel_client channel;
	struct handshake_client handshake;
	uint32_t sequence = 1;
	uint8_t kind = UPDATE_UPDATE;
	struct udpio u;
	union addr to;
	uint8_t *run;
	int n, sent_now;

	if (argc == 4 && strcmp(argv[3], "sink") == 0)
		return sink(argv[1], number(argv[2], 3600));
	if (argc < 3 || argc > 8 || addr_parse(argv[1], "46638", &to) != NULL)
		errx(2, "usage: udp-blast ADDR SECONDS "
		    "[CLUSTERS [BYTES [KIND [RATE [KEY]]]]]");
	if (argc > 3)
		clusters = (uint16_t)number(argv[3], 65534);
	if (argc > 4)
		bytes = number(argv[4], 65504) / 4 * 4;
	if (argc > 5)
		kind = (uint8_t)number(argv[5], UPDATE_WEIGHTS);
	if (argc > 6 && strcmp(argv[6], "0") != 0)
		rate = number(argv[6], UINT32_MAX);
	if (argc > 7)
		key_load_or_exit(&key, argv[7], KEY_LEAST_BYTES);
	if (bytes <= UPDATE_HEADER_BYTES)
		errx(2, "an update needs more than %d bytes",
		    UPDATE_HEADER_BYTES);
	if (udpio_open_towards(&u, &to, UPDATE_TOS, true, NULL) == -1)
		err(1, "%s", argv[1]);
	nonce_open_channel(&channel, key.set ? &key : NULL, &to);
	handshake_client_init(&handshake, key.set, &channel, &key);
	if (key.set)
		open_switch(&u, &to, &handshake);
	stride = bytes + (key.set ? TAG_TAIL_BYTES : 0);
	n = udpio_run_max(&u, stride);
	run = calloc((size_t)n, stride);
	if (run == NULL)
		err(1, "a run");
	prepare(run, n, bytes, stride, clusters, kind);
	now = began = timer_mono_ns();
	end = now + number(argv[2], 3600) * TIMER_SECOND_NS;
	for (; now < end; now = timer_mono_ns()) {
		if (rate > 0 && (double)sent > (double)(now - began) / 1e9 *
		    (double)rate)
			continue;	/* it is not time yet */
		renew(run, n, bytes, stride, kind == UPDATE_UPDATE ?
		    sequence++ : 0, timer_wall_ns(), &handshake);
		sent_now = udpio_send_run(&u, &to,
		    handshake_client_tos(&handshake), run, stride, n, stride);
		sent += (uint64_t)sent_now;
		if (sent_now < n && errno != EAGAIN && errno != ECONNREFUSED)
			err(1, "%s", argv[1]);
	}
	printf("%" PRIu64 "\n", sent);
	udpio_close(&u);
	free(run);
	return 0;
}
