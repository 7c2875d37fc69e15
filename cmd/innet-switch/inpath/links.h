/*
 * links.h - ask the kernel about interfaces and neighbours, and be told
 *
 * links_ask() has a whole table told, message by message; links_events() is a
 * socket that says what changes from then on.  Both by rtnetlink(7); what the
 * messages say is in netlink.h.  -1 is failure, with errno.
 */
#ifndef INNET_SWITCH_INPATH_LINKS_H
#define INNET_SWITCH_INPATH_LINKS_H

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/net/udp-socket.h"
#include "cmd/innet-switch/inpath/netlink.h"

enum { LINKS_BYTES = 65536, LINKS_EVENTS_BYTES = 4 << 20 };

typedef void links_told(void *ctx, const struct netlink_message *m);

/* A socket that hears of interfaces and neighbours. */
static inline int
links_events(void)
{
	const struct sockaddr_nl at = { .nl_family = AF_NETLINK,
	    .nl_groups = RTMGRP_LINK | RTMGRP_NEIGH };
	const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC |
	    SOCK_NONBLOCK, NETLINK_ROUTE);
	int saved;

	if (fd == -1)
		return -1;
	udpio_on(fd, SOL_SOCKET, SO_RCVBUF, LINKS_EVENTS_BYTES);
	udpio_on(fd, SOL_SOCKET, SO_RCVBUFFORCE, LINKS_EVENTS_BYTES);
	if (bind(fd, (const struct sockaddr *)&at, sizeof(at)) == 0)
		return fd;
	saved = errno;
	close(fd);
	errno = saved;
	return -1;
}

/*
 * Tell the messages of one datagram.  1: there may be more, 0: the end of what
 * was asked for, or nothing has come, -1 with errno (ENOBUFS: some were lost).
 */
static inline int
links_hear(int fd, links_told *told, void *ctx)
{
	static _Alignas(8) uint8_t bytes[LINKS_BYTES];
	const ssize_t n = recv(fd, bytes, sizeof(bytes), 0);
	struct netlink_message m;
	struct netlink all;

	if (n == -1)
		return errno == EAGAIN ? 0 : errno == EINTR ? 1 : -1;
	all = netlink_over(bytes, (size_t)n);
	while (netlink_next(&all, &m)) {
		if (m.type == NETLINK_DONE)
			return 0;
		if (m.type == NETLINK_ERROR) {
			errno = m.bytes < 4 ? EPROTO :
			    -(int)netlink_u32(m.p);
			return errno == 0 ? 0 : -1;
		}
		told(ctx, &m);
	}
	return 1;
}

/* Have a table told: NETLINK_GET_LINK or _NEIGHBOUR, of a family. */
static inline int
links_ask(uint16_t type, uint8_t family, links_told *told, void *ctx)
{
	const struct timeval second = { .tv_sec = 1 };
	struct {
		struct nlmsghdr head;
		union { struct ifinfomsg link; struct ndmsg neighbour; } u;
	} q = { .head = { .nlmsg_type = type, .nlmsg_seq = 1,
	    .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP } };
	const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC,
	    NETLINK_ROUTE);
	int got = 1, saved;

	if (fd == -1)
		return -1;
	if (type == NETLINK_GET_LINK) {
		q.u.link.ifi_family = family;
		q.head.nlmsg_len = NLMSG_LENGTH(sizeof(q.u.link));
	} else {
		q.u.neighbour.ndm_family = family;
		q.head.nlmsg_len = NLMSG_LENGTH(sizeof(q.u.neighbour));
	}
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &second,
	    sizeof(second));
	if (send(fd, &q, q.head.nlmsg_len, 0) == -1)
		got = -1;
	while (got == 1)
		got = links_hear(fd, told, ctx);
	saved = errno;
	close(fd);
	errno = saved;
	return got;
}

#endif
