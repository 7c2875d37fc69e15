/*
 * udpio.h - UDP sockets in batches, with the kernel's stamps
 *
 * One socket, of either family, that receives up to UDPIO_BATCH packets a
 * call, each with the kernel's receive stamp, ToS byte and source, and tells
 * how many the kernel dropped for want of room (SO_RXQ_OVFL) and what was
 * unreachable (IP_RECVERR).  udpio_capture() writes what passed as a capture.
 * A struct udpio owns its socket and buffers; udpio_close().
 */
#ifndef INNET_UDPIO_H
#define INNET_UDPIO_H

#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "common/addr.h"
#include "common/frame.h"
#include "common/pcapio.h"
#include "common/whole.h"

enum {
	UDPIO_BATCH = 64,
	UDPIO_PACKET_BYTES = 65536,
	UDPIO_CONTROL_BYTES = 256,
	UDPIO_BUFFER_BYTES = 8 << 20	/* asked of the kernel each way */
};

struct udpio_packet {
	uint8_t *data;		/* borrowed until the next udpio_recv() */
	size_t len;
	uint64_t stamp_ns;	/* the kernel's, since the epoch */
	uint8_t tos;
	union addr from;
};

struct udpio {
	int fd;
	union addr local;
	uint64_t kernel_drops;		/* SO_RXQ_OVFL, as far as told */
	uint64_t unreachable;		/* errors that came back */
	union addr refused;	/* who was, last */
	uint64_t send_failed;		/* sends the kernel did not take */
	uint8_t *bytes, *control;
	struct udpio_packet got[UDPIO_BATCH];
};

static inline void
udpio_on(int fd, int level, int name, int value)
{
	/* each is a help; what is missing shows in what it would tell */
	(void)setsockopt(fd, level, name, &value, sizeof(value));
}

static inline void
udpio_options(int fd, bool v6, uint8_t tos)
{
	udpio_on(fd, SOL_SOCKET, SO_TIMESTAMPNS, 1);
	udpio_on(fd, SOL_SOCKET, SO_RXQ_OVFL, 1);
	udpio_on(fd, SOL_SOCKET, SO_RCVBUF, UDPIO_BUFFER_BYTES);
	udpio_on(fd, SOL_SOCKET, SO_RCVBUFFORCE, UDPIO_BUFFER_BYTES);
	udpio_on(fd, SOL_SOCKET, SO_SNDBUF, UDPIO_BUFFER_BYTES);
	udpio_on(fd, SOL_SOCKET, SO_SNDBUFFORCE, UDPIO_BUFFER_BYTES);
	if (v6) {
		udpio_on(fd, IPPROTO_IPV6, IPV6_RECVTCLASS, 1);
		udpio_on(fd, IPPROTO_IPV6, IPV6_RECVERR, 1);
		udpio_on(fd, IPPROTO_IPV6, IPV6_TCLASS, tos);
	} else {
		udpio_on(fd, IPPROTO_IP, IP_RECVTOS, 1);
		udpio_on(fd, IPPROTO_IP, IP_RECVERR, 1);
		udpio_on(fd, IPPROTO_IP, IP_TOS, tos);
	}
}

static inline void
udpio_close(struct udpio *u)
{
	if (u->fd >= 0)
		close(u->fd);
	free(u->bytes);
	free(u->control);
	u->fd = -1;
}

/*
 * A socket bound to a, whose packets leave with the given ToS byte.  0, or -1
 * with errno, and then nothing is held.  Buffers are touched here, not later.
 */
static inline int
udpio_open(struct udpio *u, const union addr *a, uint8_t tos)
{
	socklen_t len = sizeof(u->local);
	int saved;

	*u = (struct udpio){ .local = *a };
	u->fd = socket(a->sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC |
	    SOCK_NONBLOCK, 0);
	u->bytes = malloc((size_t)UDPIO_BATCH * UDPIO_PACKET_BYTES);
	u->control = malloc((size_t)UDPIO_BATCH * UDPIO_CONTROL_BYTES);
	if (u->fd == -1 || u->bytes == NULL || u->control == NULL ||
	    bind(u->fd, &a->sa, addr_len(a)) == -1 ||
	    getsockname(u->fd, &u->local.sa, &len) == -1) {
		saved = errno;
		udpio_close(u);
		errno = saved;
		return -1;
	}
	memset(u->bytes, 0, (size_t)UDPIO_BATCH * UDPIO_PACKET_BYTES);
	udpio_options(u->fd, a->sa.sa_family == AF_INET6, tos);
	return 0;
}

/*
 * A socket of our own to talk to another, at the address from which the kernel
 * would reach it; *mtu, unless NULL, is the path's.  0, or -1 with errno.
 */
static inline int
udpio_open_towards(struct udpio *u, const union addr *to, uint8_t tos,
    uint64_t *mtu)
{
	const bool v6 = to->sa.sa_family == AF_INET6;
	union addr mine = *to;
	socklen_t len = sizeof(mine), size = sizeof(int);
	int fd = socket(to->sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0), got;

	if (fd == -1)
		return -1;
	if (connect(fd, &to->sa, addr_len(to)) == -1 ||
	    getsockname(fd, &mine.sa, &len) == -1) {
		got = errno;
		close(fd);
		errno = got;
		return -1;
	}
	if (mtu != NULL && getsockopt(fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP,
	    v6 ? IPV6_MTU : IP_MTU, &got, &size) == 0 && got > 0)
		*mtu = (uint64_t)got;
	close(fd);
	if (v6)
		mine.in6.sin6_port = 0;
	else
		mine.in.sin_port = 0;
	return udpio_open(u, &mine, tos);
}

/* What the kernel says beside a packet. */
static inline void
udpio_read_control(struct udpio *u, struct msghdr *m, struct udpio_packet *p)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c != NULL;
	    c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level == SOL_SOCKET &&
		    c->cmsg_type == SCM_TIMESTAMPNS) {
			struct timespec ts;

			memcpy(&ts, CMSG_DATA(c), sizeof(ts));
			p->stamp_ns = (uint64_t)ts.tv_sec * 1000000000u +
			    (uint64_t)ts.tv_nsec;
		} else if (c->cmsg_level == SOL_SOCKET &&
		    c->cmsg_type == SO_RXQ_OVFL) {
			uint32_t drops;

			memcpy(&drops, CMSG_DATA(c), sizeof(drops));
			u->kernel_drops = drops;
		} else if ((c->cmsg_level == IPPROTO_IP &&
		    c->cmsg_type == IP_TOS) ||
		    (c->cmsg_level == IPPROTO_IPV6 &&
		    c->cmsg_type == IPV6_TCLASS)) {
			p->tos = *CMSG_DATA(c);
		}
	}
}

/* Take the errors that came back: who was unreachable, and how often. */
static inline void
udpio_errors(struct udpio *u)
{
	union addr to;
	uint8_t byte, control[512];
	struct iovec v = { &byte, 1 };

	for (int i = 0; i < UDPIO_BATCH; i++) {
		struct msghdr m = { .msg_name = &to,
		    .msg_namelen = sizeof(to), .msg_iov = &v, .msg_iovlen = 1,
		    .msg_control = control, .msg_controllen = sizeof(control) };

		if (recvmsg(u->fd, &m, MSG_ERRQUEUE | MSG_DONTWAIT) == -1)
			return;
		u->unreachable++;
		u->refused = to;
	}
}

/*
 * Receive what has come, up to UDPIO_BATCH packets, into u->got: how many, 0
 * when none has.  Never waits.
 */
static inline int
udpio_recv(struct udpio *u)
{
	struct mmsghdr m[UDPIO_BATCH];
	struct iovec v[UDPIO_BATCH];
	struct timespec ts;
	int n;

	for (int i = 0; i < UDPIO_BATCH; i++) {
		struct udpio_packet *p = &u->got[i];

		p->data = u->bytes + (size_t)i * UDPIO_PACKET_BYTES;
		p->stamp_ns = 0;
		p->tos = 0;
		v[i] = (struct iovec){ p->data, UDPIO_PACKET_BYTES };
		m[i].msg_hdr = (struct msghdr){ .msg_name = &p->from,
		    .msg_namelen = sizeof(p->from), .msg_iov = &v[i],
		    .msg_iovlen = 1, .msg_control = u->control +
		    (size_t)i * UDPIO_CONTROL_BYTES,
		    .msg_controllen = UDPIO_CONTROL_BYTES };
	}
	n = recvmmsg(u->fd, m, UDPIO_BATCH, MSG_DONTWAIT, NULL);
	if (n == -1 && errno != EAGAIN && errno != EINTR) {
		udpio_errors(u);	/* a pending error was reported once */
		n = recvmmsg(u->fd, m, UDPIO_BATCH, MSG_DONTWAIT, NULL);
	}
	for (int i = 0; i < n; i++) {
		u->got[i].len = m[i].msg_len;
		udpio_read_control(u, &m[i].msg_hdr, &u->got[i]);
		if (u->got[i].stamp_ns == 0) {
			clock_gettime(CLOCK_REALTIME, &ts);
			u->got[i].stamp_ns = (uint64_t)ts.tv_sec *
			    1000000000u + (uint64_t)ts.tv_nsec;
		}
	}
	return n < 0 ? 0 : n;
}

/* Send one packet; false, and counted, if the kernel did not take it. */
static inline bool
udpio_send(struct udpio *u, const union addr *to, const void *p,
    size_t len)
{
	for (int tries = 0; tries < 4; tries++) {
		if (sendto(u->fd, p, len, MSG_DONTWAIT, &to->sa,
		    addr_len(to)) >= 0)
			return true;
		if (errno != ECONNREFUSED && errno != EINTR &&
		    errno != EHOSTUNREACH && errno != ENETUNREACH)
			break;
		udpio_errors(u);	/* of an earlier packet; try again */
	}
	u->send_failed++;
	return false;
}

/* The flow of a packet from one address to another. */
static inline struct frame_flow
udpio_flow(const union addr *from, const union addr *to)
{
	struct frame_flow f = { .sport = addr_port(from),
	    .dport = addr_port(to), .v6 = from->sa.sa_family == AF_INET6 };

	if (f.v6) {
		memcpy(f.src, &from->in6.sin6_addr, 16);
		memcpy(f.dst, &to->in6.sin6_addr, 16);
	} else {
		memcpy(f.src, &from->in.sin_addr, 4);
		memcpy(f.dst, &to->in.sin_addr, 4);
	}
	return f;
}

/* Bytes of Ethernet, IP and UDP headers in front of a payload to a. */
static inline size_t
udpio_head_bytes(const union addr *a)
{
	return a->sa.sa_family == AF_INET6 ? FRAME_V6_BYTES : FRAME_V4_BYTES;
}

/* Write a packet that passed, with headers as they were on the wire. */
static inline void
udpio_capture(struct pcapio_out *out, const union addr *from,
    const union addr *to, uint8_t tos, const void *p, size_t len,
    uint64_t stamp_ns)
{
	const struct frame_flow flow = udpio_flow(from, to);
	uint8_t *q = pcapio_room(out);
	struct frame f;
	size_t head = frame_put(q, &flow, tos, len, &f);

	memcpy(q + head, p, len);
	frame_seal(q, &f);
	pcapio_commit(out, stamp_ns, (uint32_t)(head + len),
	    (uint32_t)(head + len));
}

/*
 * For tools: listen on a or exit 1; say so on stderr; write the port to
 * port_file (atomically) unless it is NULL.
 */
static inline void
udpio_listen_or_exit(struct udpio *u, const union addr *a, uint8_t tos,
    const char *port_file)
{
	char name[ADDR_NAME_BYTES], port[8];
	struct whole w;

	if (udpio_open(u, a, tos) == -1)
		err(1, "%s", addr_print(a, name));
	if (port_file != NULL) {
		snprintf(port, sizeof(port), "%u\n", addr_port(&u->local));
		if (whole_open(&w, port_file) == -1 || whole_close(&w,
		    whole_write(&w, port, strlen(port))) == -1)
			err(1, "%s", port_file);
	}
	fprintf(stderr, "listening on %s\n", addr_print(&u->local, name));
}

/* For tools: warn once when the kernel dropped packets. */
static inline void
udpio_warn_drops(const struct udpio *u, bool *warned)
{
	if (u->kernel_drops == 0 || *warned)
		return;
	*warned = true;
	warnx("the kernel dropped %" PRIu64 " packets: raise "
	    "net.core.rmem_max (sysctl -w net.core.rmem_max=%d)",
	    u->kernel_drops, UDPIO_BUFFER_BYTES);
}

#endif
