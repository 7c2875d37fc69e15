/*
 * udp-send.h - datagrams leave, one or a run of them
 *
 * Runs leave by UDP_SEGMENT where the kernel can, up to UDPIO_RUN_MAX
 * datagrams a call, and otherwise by sendmmsg.  What the kernel refuses is
 * tried without, and not tried again.  Over a link a datagram of a run that is
 * longer than the path's MTU is refused so; alone it is cut by IP.
 */
#ifndef INNET_NET_UDP_SEND_H
#define INNET_NET_UDP_SEND_H

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include "common/net/udp-socket.h"

/*
 * Write what is sent with other than the socket's own ToS byte, or as a run of
 * datagrams of seg bytes (0: as none), into control.  The msghdr for it.
 */
static inline struct msghdr
udpio_message_to(const struct udpio *u, const union addr *to, uint8_t tos,
    size_t seg, void *control)
{
	const bool v6 = to->sa.sa_family == AF_INET6;
	const int wide = tos;
	const uint16_t size = (uint16_t)seg;
	struct msghdr m = { .msg_name = (void *)(uintptr_t)to,
	    .msg_namelen = addr_len(to) };
	struct cmsghdr *c = control;

	if (tos != u->tos) {
		*c = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(wide)),
		    .cmsg_level = v6 ? IPPROTO_IPV6 : IPPROTO_IP,
		    .cmsg_type = v6 ? IPV6_TCLASS : IP_TOS };
		memcpy(CMSG_DATA(c), &wide, sizeof(wide));
		m.msg_controllen += CMSG_SPACE(sizeof(wide));
		c = (void *)((uint8_t *)c + CMSG_SPACE(sizeof(wide)));
	}
	if (seg > 0) {
		*c = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(size)),
		    .cmsg_level = SOL_UDP, .cmsg_type = UDP_SEGMENT };
		memcpy(CMSG_DATA(c), &size, sizeof(size));
		m.msg_controllen += CMSG_SPACE(sizeof(size));
	}
	m.msg_control = m.msg_controllen > 0 ? control : NULL;
	return m;
}

/* Room for both, aligned. */
union udpio_control {
	struct cmsghdr align;
	uint8_t room[CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(uint16_t))];
};

/* One call: a run of n datagrams of seg bytes, or one.  n, or -1. */
static inline int
udpio_send_segments(struct udpio *u, const union addr *to, uint8_t tos,
    const struct iovec *iov, int per, int n, size_t seg)
{
	union udpio_control control;
	struct msghdr m = udpio_message_to(u, to, tos, n > 1 ? seg : 0,
	    &control);

	m.msg_iov = (struct iovec *)(uintptr_t)iov;
	m.msg_iovlen = (size_t)(n * per);
	return sendmsg(u->fd, &m, MSG_DONTWAIT) == -1 ? -1 : n;
}

/* One call: n datagrams, each its own.  How many were taken, or -1. */
static inline int
udpio_send_each(struct udpio *u, const union addr *to, uint8_t tos,
    const struct iovec *iov, int per, int n)
{
	union udpio_control control;
	const struct msghdr head = udpio_message_to(u, to, tos, 0, &control);
	struct mmsghdr m[UDPIO_RUN_MAX];

	for (int i = 0; i < n; i++) {
		m[i].msg_hdr = head;
		m[i].msg_hdr.msg_iov = (struct iovec *)(uintptr_t)iov +
		    i * per;
		m[i].msg_hdr.msg_iovlen = (size_t)per;
	}
	return sendmmsg(u->fd, m, (unsigned)n, MSG_DONTWAIT);
}

/* How many datagrams of seg bytes go in one call with UDP_SEGMENT; 1: none. */
static inline int
udpio_run_max(const struct udpio *u, size_t seg)
{
	const size_t room = u->local.sa.sa_family == AF_INET6 ?
	    UDPIO_RUN_BYTES_V6 : UDPIO_RUN_BYTES;

	if (!u->gso || seg == 0 || seg > u->gso_bytes || seg > room / 2)
		return 1;
	return room / seg < UDPIO_RUN_MAX ? (int)(room / seg) : UDPIO_RUN_MAX;
}

/*
 * A run was refused: remember it, if that is for its being a run.  False if
 * it is not.
 */
static inline bool
udpio_run_refused(struct udpio *u, size_t seg)
{
	if (errno == EINVAL || errno == EMSGSIZE) {
		u->gso_bytes = seg - 1;		/* too long for the path */
		return true;
	}
	if (errno != EIO && errno != ENOPROTOOPT && errno != EOPNOTSUPP)
		return false;
	u->gso = false;
	u->gso_errno = errno;
	return true;
}

/*
 * An error of a send that is an earlier packet's: take it, the send is worth
 * another try.  errno stays.
 */
static inline bool
udpio_not_ours(struct udpio *u)
{
	const int saved = errno;

	if (saved != ECONNREFUSED && saved != EINTR &&
	    saved != EHOSTUNREACH && saved != ENETUNREACH)
		return false;
	udpio_errors(u);
	errno = saved;
	return true;
}

/*
 * Send count datagrams to one address: datagram k is the `per` pieces from
 * iov[k * per] on, seg_bytes in all but in the last, which may be shorter but
 * not empty unless it is the only one.  How many were taken, from the first
 * on.  If not all, errno is EAGAIN when there is no room in the socket or on
 * the link's queue (the rest may be sent later, or be given up), or something
 * else, and then the rest is counted as failed.  POLLOUT waits for the socket
 * but not for the link: who goes on must wait a little too.
 */
static inline int
udpio_send_gather(struct udpio *u, const union addr *to, uint8_t tos,
    const struct iovec *iov, int per, int count, size_t seg_bytes)
{
	int sent = 0, tries = 0, most, n;

	while (sent < count && tries < UDPIO_TRIES) {
		const struct iovec *v = iov + sent * per;

		most = udpio_run_max(u, seg_bytes);
		if (most > 1 || count - sent == 1)
			n = udpio_send_segments(u, to, tos, v, per,
			    count - sent < most ? count - sent : most,
			    seg_bytes);
		else
			n = udpio_send_each(u, to, tos, v, per,
			    count - sent < UDPIO_RUN_MAX ? count - sent :
			    UDPIO_RUN_MAX);
		if (n > 0) {
			sent += n;
			tries = 0;
		} else if (most > 1 && count - sent > 1 &&
		    udpio_run_refused(u, seg_bytes)) {
			continue;
		} else if (udpio_not_ours(u)) {
			tries++;
		} else {
			break;
		}
	}
	if (sent == count)
		return sent;
	u->link_full = errno == ENOBUFS;
	if (u->link_full)
		errno = EAGAIN;
	if (errno != EAGAIN)
		u->send_failed += (uint64_t)(count - sent);
	return sent;
}

/*
 * The same for datagrams that lie one after another at base: count of them,
 * seg_bytes each, last_bytes the last.
 */
static inline int
udpio_send_run(struct udpio *u, const union addr *to, uint8_t tos,
    const void *base, size_t seg_bytes, int count, size_t last_bytes)
{
	uint8_t *p = (uint8_t *)(uintptr_t)base;
	struct iovec v[UDPIO_RUN_MAX];
	int sent = 0, n, k;

	assert(last_bytes <= seg_bytes);
	do {
		n = count - sent;
		k = udpio_run_max(u, seg_bytes);
		k = k == 1 ? UDPIO_RUN_MAX : k;
		n = n < k ? n : k;
		for (k = 0; k < n; k++, p += seg_bytes)
			v[k] = (struct iovec){ p, seg_bytes };
		if (sent + n == count)
			v[n - 1].iov_len = last_bytes;
		k = udpio_send_gather(u, to, tos, v, 1, n, seg_bytes);
		sent += k;
	} while (k == n && sent < count);
	return sent;
}

/* Send one packet; false, and counted, if the kernel did not take it. */
static inline bool
udpio_send(struct udpio *u, const union addr *to, uint8_t tos, const void *p,
    size_t len)
{
	const struct iovec v = { (void *)(uintptr_t)p, len };

	if (udpio_send_gather(u, to, tos, &v, 1, 1, len) == 1)
		return true;
	u->send_failed += errno == EAGAIN;
	return false;
}

#endif
