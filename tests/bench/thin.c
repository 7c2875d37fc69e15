/*
 * thin - the least work that processes can do with segments, for comparison in
 * T0
 *
 * thin switch PORT H GROUP: sum the segments of H workers on 127.0.0.1:PORT;
 * send each result to every worker, or once to the multicast address GROUP
 * ("-": none).
 * thin worker PORT H GROUP ID BYTES ROUNDS: take part with a vector of BYTES,
 * check the last sum, and print the median round in ns.
 *
 * There are no joins, no members that leave, a fixed window and no
 * authentication.  A worker that waits for 20 ms sends the segments without a
 * result again.
 */
#include <arpa/inet.h>
#include <err.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/base/stats.h"
#include "common/net/timer.h"
#include "common/wire/seg.h"
#include "tests/bench/number.h"

enum { F = SEG_FLOATS_V4, SEG = SEG_HEADER_BYTES + 4 * F, RUN = 44,
	WINDOW = 256, MESSAGES = 8, ROOM = 65536, SEGMENTS = 1 << 14,
	WORKERS_MAX = 8, GROUP_PORT = 100 };

struct slot { uint32_t iteration, seen, count; float sum[F]; };

static struct mmsghdr in[MESSAGES];
static struct iovec piece[MESSAGES];
static struct sockaddr_in from[MESSAGES], group;
static uint8_t *room;

static struct sockaddr_in
local(int port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
	    .sin_port = htons((uint16_t)port),
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

static int
open_socket(const struct sockaddr_in *at)
{
	const int fd = socket(AF_INET, SOCK_DGRAM, 0), on = 1;
	const int bytes = 16 << 20;
	const struct in_addr lo = { htonl(INADDR_LOOPBACK) };

	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes));
	setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes));
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &lo, sizeof(lo));
	setsockopt(fd, SOL_UDP, UDP_GRO, &on, sizeof(on));
	if (bind(fd, (const void *)at, sizeof(*at)) == -1)
		err(1, "port %d", ntohs(at->sin_port));
	return fd;
}

/* Receive messages.  Returns their number, or -1 after 20 ms (a worker). */
static int
receive(int fd)
{
	for (int i = 0; i < MESSAGES; i++) {
		piece[i] = (struct iovec){ room + (size_t)i * ROOM, ROOM };
		in[i].msg_hdr = (struct msghdr){ .msg_iov = &piece[i],
		    .msg_iovlen = 1, .msg_name = &from[i],
		    .msg_namelen = sizeof(from[i]) };
	}
	return recvmmsg(fd, in, MESSAGES, MSG_WAITFORONE, NULL);
}

/*
 * Fill in m, a run of datagrams of SEG bytes each; the last one may be shorter.
 */
static void
put_run(struct msghdr *m, struct iovec *v, size_t pieces, size_t bytes,
    const struct sockaddr_in *to, uint8_t *room_for_size)
{
	struct cmsghdr *c = (void *)room_for_size;
	const uint16_t size = SEG;

	*m = (struct msghdr){ .msg_iov = v, .msg_iovlen = pieces,
	    .msg_name = (void *)(uintptr_t)to, .msg_namelen = sizeof(*to) };
	if (bytes <= SEG)
		return;
	*c = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(size)),
	    .cmsg_level = SOL_UDP, .cmsg_type = UDP_SEGMENT };
	memcpy(CMSG_DATA(c), &size, sizeof(size));
	m->msg_control = room_for_size;
	m->msg_controllen = CMSG_SPACE(sizeof(size));
}

/*
 * Add the segment of len bytes at p to its sum.  If the sum has all H
 * contributions, write it into the segment, which becomes the result.  Return 2
 * if the sum was complete before, 1 if it is complete now, else 0.
 */
static int
add(struct slot *slots, uint8_t *p, size_t len, uint32_t worker, uint32_t h)
{
	const struct seg s = seg_split(bytes_get(p, 8));
	struct slot *o = &slots[(s.index % SEGMENTS) * 2 + (s.iteration & 1)];
	float *v = (void *)(p + SEG_HEADER_BYTES);
	const size_t n = (len - SEG_HEADER_BYTES) / 4;
	const bool again = o->iteration == s.iteration && o->seen >> worker & 1;

	seg_put(p, s.iteration, 0, s.index);
	if (again && o->count < h)
		return 0;
	if (again) {
		memcpy(v, o->sum, 4 * n);
	} else if (o->iteration != s.iteration) {
		if (seg_before(s.iteration, o->iteration))
			return 0;
		o->iteration = s.iteration;
		o->seen = 1U << worker;
		o->count = 1;
		memcpy(o->sum, v, 4 * n);
		return 0;	/* H is at least 2 */
	} else {
		o->seen |= 1U << worker;
		for (size_t k = 0; k < n; k++)
			o->sum[k] += v[k];
		if (++o->count < h)
			return 0;
		memcpy(v, o->sum, 4 * n);
	}
	seg_put(p, s.iteration, (uint16_t)h, s.index);
	return again ? 2 : 1;
}

static void
run_switch(int port, uint32_t h, bool to_group)
{
	static struct mmsghdr out[MESSAGES * WORKERS_MAX];
	static uint8_t size[MESSAGES * WORKERS_MAX][64];
	const struct sockaddr_in at = local(port);
	struct slot *slots = calloc(2 * SEGMENTS, sizeof(*slots));
	struct sockaddr_in to[WORKERS_MAX];
	const int fd = open_socket(&at);

	for (uint32_t w = 0; w < h; w++)
		to[w] = local(port + 1 + (int)w);
	for (;;) {
		const int n = receive(fd);
		int sends = 0, k;

		for (int i = 0; i < n; i++) {
			const size_t len = in[i].msg_len;
			const uint32_t w = (uint32_t)(ntohs(from[i].sin_port) -
			    port - 1) % WORKERS_MAX;
			int did = 0;

			piece[i].iov_len = len;
			for (size_t p = 0; p < len; p += SEG)
				did |= add(slots, room + (size_t)i * ROOM + p,
				    len - p < SEG ? len - p : SEG, w, h);
			for (uint32_t d = 0; did != 0 && d < h;
			    d += to_group ? h : 1, sends++)
				put_run(&out[sends].msg_hdr, &piece[i], 1, len,
				    to_group ? &group : &to[d], size[sends]);
		}
		for (int done = 0; done < sends; done += k) {
			k = sendmmsg(fd, out + done, (unsigned)(sends - done),
			    0);
			if (k <= 0)
				err(1, "sendmmsg");
		}
	}
}

/* The state of a worker's round. */
static uint8_t head[SEGMENTS][SEG_HEADER_BYTES], got[SEGMENTS];
static struct iovec run[2 * SEGMENTS];

/* Send the segments from `first` to before `end`, at most one run. */
static uint32_t
send_segments(int fd, const struct sockaddr_in *to, uint32_t first,
    uint32_t end)
{
	const uint32_t n = end - first < RUN ? end - first : RUN;
	uint8_t size[64];
	struct msghdr m;

	put_run(&m, &run[2 * first], 2 * n, n * SEG, to, size);
	if (sendmsg(fd, &m, 0) == -1)
		err(1, "sendmsg");
	return first + n;
}

/* Process the results in the n messages; return the number of new ones. */
static uint32_t
take(int n, uint32_t t, uint32_t h, uint32_t count, float *sum)
{
	uint32_t taken = 0;

	for (int i = 0; i < n; i++) {
		const uint8_t *p = room + (size_t)i * ROOM, *end = p +
		    in[i].msg_len;

		for (; p < end; p += SEG) {
			const struct seg s = seg_split(bytes_get(p, 8));
			const size_t len = end - p < SEG ? (size_t)(end - p) :
			    SEG;

			if (s.contributions != h || s.iteration != t ||
			    s.index >= count || got[s.index])
				continue;
			got[s.index] = 1;
			taken++;
			memcpy(sum + (size_t)s.index * F, p + SEG_HEADER_BYTES,
			    len - SEG_HEADER_BYTES);
		}
	}
	return taken;
}

static void
round_once(int fd, int results, const struct sockaddr_in *to, uint32_t t,
    uint32_t h, uint32_t count, float *sum)
{
	uint32_t sent = 0, left = count, whole = 0;
	int n;

	memset(got, 0, count);
	for (uint32_t i = 0; i < count; i++)
		seg_put(head[i], t, 1, i);
	while (left > 0) {
		while (sent < count && sent - whole < WINDOW)
			sent = send_segments(fd, to, sent, count - sent <
			    WINDOW - (sent - whole) ? count : whole + WINDOW);
		n = receive(results);
		left -= take(n, t, h, count, sum);
		for (uint32_t i = whole; n <= 0 && i < sent; i++) {
			if (!got[i])
				send_segments(fd, to, i, i + 1);
		}
		while (whole < count && got[whole])
			whole++;
	}
}

static void
run_worker(int port, uint32_t h, bool to_group, int id, uint32_t floats,
    uint32_t rounds)
{
	const struct sockaddr_in to = local(port), me = local(port + 1 + id);
	const uint32_t count = (floats + F - 1) / F;
	const struct timeval wait = { 0, 20000 };
	struct ip_mreqn join = { .imr_multiaddr = group.sin_addr,
	    .imr_address = to.sin_addr };
	float *grad = calloc(floats, 4), *sum = calloc(floats, 4);
	double *took = calloc(rounds, sizeof(*took));
	const int fd = open_socket(&me),
		  results = to_group ? open_socket(&group) : fd;

	if (to_group && setsockopt(results, IPPROTO_IP, IP_ADD_MEMBERSHIP,
	    &join, sizeof(join)) == -1)
		err(1, "group");
	setsockopt(results, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	for (uint32_t i = 0; i < floats; i++)
		grad[i] = (float)(i % 512 + (uint32_t)id);
	for (uint32_t i = 0; i < count; i++) {
		run[2 * i] = (struct iovec){ head[i], SEG_HEADER_BYTES };
		run[2 * i + 1] = (struct iovec){ grad + (size_t)i * F, 4 *
		    (size_t)(floats - i * F < F ? floats - i * F : F) };
	}
	for (uint32_t t = 0; t < rounds; t++) {
		const uint64_t began = timer_mono_ns();

		round_once(fd, results, &to, t + 1, h, count, sum);
		took[t] = (double)(timer_mono_ns() - began);
	}
	for (uint32_t i = 0; i < floats; i++) {
		if (sum[i] != (float)(i % 512 * h + h * (h - 1) / 2))
			errx(1, "element %u: the sum is %g", i,
			    (double)sum[i]);
	}
	qsort(took, rounds, sizeof(*took), stats_compare);
	printf("%.0f\n", took[rounds / 2]);
}

int
main(int argc, char *argv[])
{
	const bool worker = argc == 8 && strcmp(argv[1], "worker") == 0;
	int port;
	uint32_t h;

	if (!worker && (argc != 5 || strcmp(argv[1], "switch") != 0))
		errx(2, "usage: thin switch PORT H GROUP, or "
		    "thin worker PORT H GROUP ID BYTES ROUNDS");
	port = (int)number(argv[2], 65000);
	h = (uint32_t)number(argv[3], WORKERS_MAX);
	group = local(port + GROUP_PORT);
	if (argv[4][0] != '-' &&
	    inet_pton(AF_INET, argv[4], &group.sin_addr) != 1)
		errx(2, "not a group: %s", argv[4]);
	room = aligned_alloc(64, (size_t)MESSAGES * ROOM);
	if (worker)
		run_worker(port, h, argv[4][0] != '-', atoi(argv[5]),
		    (uint32_t)number(argv[6], (uint64_t)SEGMENTS * F * 4) / 4,
		    (uint32_t)number(argv[7], 1000000));
	else
		run_switch(port, h, argv[4][0] != '-');
	return 0;
}
