/*
 * udp-io.h - a UDP socket that sends and receives in batches
 *
 * A struct udpio is one socket for IPv4 or IPv6.  It receives a batch of
 * messages at a time.  Each message has the kernel's receive timestamp, the ToS
 * byte and the source address.  The socket counts the packets that the kernel
 * dropped because its buffer was full (SO_RXQ_OVFL), and the reports that a
 * destination is unreachable (IP_RECVERR).  With UDP_GRO a message is a run of
 * datagrams that come from one source and share a timestamp.  All datagrams of
 * a run have the same length, except that the last one may be shorter.  Without
 * UDP_GRO a message is one datagram:
 *
 * 	for (int i = 0; i < n; i++)
 * 		for (size_t at = 0; udpio_next_datagram(&u->got[i], &at, &p);)
 * 			... p.data, p.len ...
 *
 * Runs are sent with UDP_SEGMENT, up to UDPIO_RUN_MAX datagrams per call, or
 * with sendmmsg(2) if the kernel does not support UDP_SEGMENT.  If the kernel
 * refuses UDP_SEGMENT, the run is sent without it, and UDP_SEGMENT is not tried
 * again.  A datagram of a run must fit into the path MTU.  A single datagram
 * may be larger, because IP fragments it.
 *
 * A struct udpio owns its socket and its buffers.  udpio_close() closes and
 * frees them.
 */
#ifndef INNET_NET_UDP_IO_H
#define INNET_NET_UDP_IO_H

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "common/base/atomic-file.h"
#include "common/base/message.h"
#include "common/capture/pcapio.h"
#include "common/net/timer.h"
#include "common/wire/addr.h"
#include "common/wire/flow.h"
#include "common/wire/frame.h"

enum {
	UDPIO_BATCH = 64,	     /* maximum number of messages that one call
				      * receives */
	UDPIO_BATCH_LONG = 8,	     /* maximum number of long messages that one
				      * call receives */
	UDPIO_HOT_BYTES = 512 << 10, /* size of a batch that fits into a cache,
				      * in bytes */
	UDPIO_PACKET_BYTES = 65536,
	/*
	 * distance between the starts of two message buffers; an odd multiple
	 * of a cache line spreads the buffers over the sets of a cache
	 */
	UDPIO_STRIDE_BYTES = UDPIO_PACKET_BYTES + 17 * 64,
	UDPIO_CONTROL_BYTES = 256,
	UDPIO_BUFFER_BYTES = 8 << 20, /* size of the kernel's buffers for
				       * sending and for receiving */
	UDPIO_WAIT_BYTES = 1 << 19,   /* size of the send buffer that
				       * udpio_limit_send_buffer() requests */
	UDPIO_RUN_MAX = 64,	      /* maximum number of datagrams that one
				       * call can send, a limit of the kernel */
	UDPIO_RUN_BYTES = 65535 - 28, /* maximum number of payload bytes that
				       * one call can send over IPv4 */
	UDPIO_RUN_BYTES_V6 = 65535 - 48,
	UDPIO_TEXT_BYTES = 320, /* size of the buffer for the text of
				 * udpio_describe() */
	UDPIO_OVERHEAD_BYTES = 2048, /* the kernel's memory for a datagram is at
				      * most twice its length plus this
				      * number */
	UDPIO_TRIES = 4		/* maximum number of tries if the kernel returns
				 * errors of earlier packets */
};

/* A received message, which is a run of adjacent datagrams. */
struct udpio_message {
	uint8_t *data;		/* borrowed until the next udpio_recv() */
	size_t len;		/* total length of all datagrams */
	size_t seg_bytes;	/* length of each datagram except the last;
				 * equal to len if there is only one datagram */
	uint64_t stamp_ns;	/* the kernel's timestamp, in ns since the
				 * epoch */
	uint8_t tos;
	union addr from;
	const union addr *to;	/* destination: the socket's address, or its
				 * multicast group */
};

/* One datagram. */
struct udpio_packet {
	uint8_t *data;		/* borrowed; part of the data of a message */
	size_t len;
	uint64_t stamp_ns;
	uint8_t tos;
	const union addr *from, *to;
	uint8_t *body;		/* if the bytes after the header are stored in
				 * another place (udp-scatter.h): these bytes;
				 * otherwise NULL */
};

struct udpio {
	int fd;
	union addr local;
	bool in_multicast_group; /* the socket also receives from a multicast
				  * group (udp-multicast.h) */
	int group_fd;
	union addr group;
	bool ready, group_ready;	/* fd may have messages; group_fd may
					 * have messages; used only if there is
					 * a group; the caller sets both flags
					 * after a wait */
	uint8_t tos;			/* default ToS byte of packets that are
					 * sent */
	bool gso, gro;			/* UDP_SEGMENT is in use; UDP_GRO is in
					 * use */
	int gso_errno, gro_errno;	/* errno value that says why UDP_SEGMENT
					 * is not in use; the same for UDP_GRO;
					 * 0: in use or not requested */
	size_t gso_bytes;		/* length of the longest datagram that a
					 * run may contain, as far as this is
					 * known */
	uint64_t rcvbuf_bytes, sndbuf_bytes;	/* sizes of the kernel's buffers
						 * in bytes, including
						 * overhead */
	uint64_t kernel_drops;		/* number of messages that the kernel
					 * has dropped (SO_RXQ_OVFL); a dropped
					 * run may count as one */
	uint32_t drops, group_drops;	/* number of messages that the kernel
					 * has dropped at fd; the same number
					 * for group_fd */
	uint64_t unreachable;		/* number of times that the kernel
					 * reported an unreachable
					 * destination */
	union addr refused;		/* last unreachable destination */
	uint64_t send_failed;		/* number of datagrams that the kernel
					 * refused to send */
	uint64_t unsent_most;		/* upper bound on the number of bytes
					 * that wait to be sent, including the
					 * kernel's overhead */
	bool link_full;			/* the last EAGAIN was returned because
					 * the queue of the link was full */
	uint8_t *bytes, *control;	/* buffers for data and for control
					 * messages; owned, unless `borrows` is
					 * set */
	bool borrows;			/* the socket uses the buffers of
					 * another socket */
	int ask;			/* number of messages to request in the
					 * next call */
	bool more;			/* the last call filled the batch */
	struct udpio_message got[UDPIO_BATCH];
};

/* Aligned room for the control messages of a send. */
union udpio_control {
	struct cmsghdr align;
	uint8_t room[CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(uint16_t))];
};

/*
 * Open a socket bound to address `a` whose packets leave with the ToS byte
 * `tos`.  If `offload` is false, the socket uses neither UDP_SEGMENT nor
 * UDP_GRO.  Returns 0, or -1 with errno; on failure no socket is open.  This
 * function writes to the buffers once, so that they cause no page faults later.
 */
static inline int udpio_open(struct udpio *u, const union addr *a, uint8_t tos,
    bool offload);

/*
 * Do the work of udpio_open() for a socket that is bound to the address from
 * which the kernel reaches `to`.  If `mtu` is not NULL, set *mtu to the path
 * MTU.
 */
static inline int udpio_open_towards(struct udpio *u, const union addr *to,
    uint8_t tos, bool offload, uint64_t *mtu);

/*
 * Do the work of udpio_open_towards(), but let the socket receive into the
 * buffers of `lender`, because a process with many sockets needs only one set
 * of buffers.  A received message is valid until the next udpio_recv() from any
 * socket that shares the buffers.  The lender must be closed last.
 */
static inline int udpio_open_beside(struct udpio *u,
    const struct udpio *lender, const union addr *to, uint8_t tos,
    bool offload);

/*
 * Open a socket that is bound to address `a` and only sends.  Packets that
 * arrive at this socket are never read; receive_bytes is the size of the
 * kernel's buffer for such packets.
 */
static inline int udpio_open_sender(struct udpio *u, const union addr *a,
    int receive_bytes, bool offload);

/*
 * Open a socket bound to address `a`; on failure exit with status 1.  Print the
 * address of the socket and, if port_file is not NULL, write the port number to
 * this file atomically.
 */
static inline void udpio_listen_or_exit(struct udpio *u, const union addr *a,
    uint8_t tos, bool offload, const char *port_file);

/* Close the socket and free its buffers. */
static inline void udpio_close(struct udpio *u);

/*
 * Set *mine to the address, with port 0, from which the kernel reaches `to`.
 * If `mtu` is not NULL, set *mtu to the path MTU.  Returns 0, or -1 with errno.
 */
static inline int udpio_find_source(const union addr *to, union addr *mine,
    uint64_t *mtu);

/*
 * Receive a batch of messages into u->got and return their number, which is 0
 * if none has arrived.  This function never waits.  It sets u->more if there
 * may be more messages.  If messages are long, the next batch is small, so that
 * all messages of a batch are still in a cache when the caller reads them.
 */
static inline int udpio_recv(struct udpio *u);

/*
 * Does the next call receive from the multicast group?  Messages of the group
 * are received first.  A control message, which arrives at the other socket,
 * may refer to results that the switch has sent to the group before.
 */
static inline bool udpio_group_is_next(const struct udpio *u);

/*
 * If there is a group, update `ready`, `group_ready` and `more` after a call of
 * udpio_recv_into() for the socket that udpio_group_is_next() had chosen.
 */
static inline void udpio_note_received(struct udpio *u);

/*
 * Treat the socket from which the last message came as empty, because the
 * caller expects no other message from this socket.  The next wait checks the
 * socket again.
 */
static inline void udpio_expect_no_more(struct udpio *u);

/*
 * Set *p to the next datagram of message m.  The caller sets *at to 0 before
 * the first call.  Returns false after the last datagram.
 */
static inline bool udpio_next_datagram(const struct udpio_message *m,
    size_t *at, struct udpio_packet *p);

/*
 * Return the number of datagrams in a message, which is at least 1, because an
 * empty datagram counts too.
 */
static inline size_t udpio_count_datagrams(const struct udpio_message *m);

/*
 * Receive up to `ask` messages from `fd`, which is one of the two sockets, into
 * the buffers of m, and describe these messages in u->got.  Set *dropped to the
 * number of messages that the kernel has dropped at this socket.  Returns the
 * number of messages.
 */
static inline int udpio_recv_into(struct udpio *u, int fd, const union addr *to,
    uint32_t *dropped, struct mmsghdr *m, int ask);

/*
 * Send one datagram.  If the kernel refuses it, count it in u->send_failed and
 * return false.
 */
static inline bool udpio_send(struct udpio *u, const union addr *to,
    uint8_t tos, const void *p, size_t len);

/*
 * Do the work of udpio_send_gather() for `count` datagrams that follow each
 * other in memory at `base`.  Each datagram has seg_bytes bytes, except that
 * the last datagram has last_bytes bytes.
 */
static inline int udpio_send_run(struct udpio *u, const union addr *to,
    uint8_t tos, const void *base, size_t seg_bytes, int count,
    size_t last_bytes);

/*
 * Send `count` datagrams to one address.  Datagram k consists of `per` pieces,
 * beginning at iov[k * per].  Each datagram has seg_bytes bytes.  The last
 * datagram may be shorter, but it may be empty only if it is the only one.
 * Returns the number of datagrams that were sent, which are the first ones.  If
 * some datagrams were not sent and errno is EAGAIN, the socket or the queue of
 * the link is full, and the caller may send the rest later.  If errno has
 * another value, the rest is counted as failed.  POLLOUT says that the socket
 * has room, but not that the link has room, so a caller that waits must also
 * sleep for a short time.
 */
static inline int udpio_send_gather(struct udpio *u, const union addr *to,
    uint8_t tos, const struct iovec *iov, int per, int count, size_t seg_bytes);

/*
 * Return how many datagrams of `seg` bytes one call can send with UDP_SEGMENT.
 * Returns 1 if UDP_SEGMENT is not used.
 */
static inline int udpio_run_max(const struct udpio *u, size_t seg);

/*
 * Is at least half of the send buffer in use?  If so, the caller should not
 * send further vectors yet, because the other half is for short messages, which
 * must not wait.  When less than half is in use, poll() reports POLLOUT.
 */
static inline bool udpio_is_crowded(struct udpio *u);

/*
 * Return the number of bytes in the socket that wait to be sent, including the
 * overhead of the kernel.
 */
static inline uint64_t udpio_unsent_bytes(const struct udpio *u);

/*
 * Limit the send buffer of a sender that waits for room.  The limit is smaller
 * than the queue of a link (usually 1,000 frames), because a queue that is full
 * drops packets.  The kernel doubles the limit to allow for its overhead.
 */
static inline void udpio_limit_send_buffer(struct udpio *u);

/*
 * Limit the buffers of the socket to `bytes` bytes in each direction, before
 * the kernel doubles this size.  A buffer that is smaller does not change.
 */
static inline void udpio_limit_buffers(struct udpio *u, uint64_t bytes);

/*
 * Read the errors that the kernel has queued for the socket, and count each of
 * them as an unreachable destination.
 */
static inline void udpio_read_errors(struct udpio *u);

/* Set an option of a socket.  Ignore a failure. */
static inline void udpio_set_option(int fd, int level, int name, int value);

/*
 * Write a packet that was sent or received to a capture, with the headers that
 * the packet had on the wire.
 */
static inline void udpio_capture(struct pcapio_out *out, const union addr *from,
    const union addr *to, uint8_t tos, const void *p, size_t len,
    uint64_t stamp_ns);

/* If `verbose` is set, print how the socket sends and receives. */
static inline void udpio_print_description(const struct udpio *u, bool verbose);

/*
 * If the kernel has dropped packets, print a warning, but only once.  *warned
 * is set when the warning has been printed.
 */
static inline void udpio_warn_drops(const struct udpio *u, bool *warned);

/* implementation */

static inline void
udpio_set_option(int fd, int level, int name, int value)
{
	/*
	 * Ignore a failure, because the socket also works without the option.
	 */
	(void)setsockopt(fd, level, name, &value, sizeof(value));
}

/* Set the options that all sockets of this file have. */
static inline void
udpio_set_options(int fd, bool v6, uint8_t tos)
{
	udpio_set_option(fd, SOL_SOCKET, SO_TIMESTAMPNS, 1);
	udpio_set_option(fd, SOL_SOCKET, SO_RXQ_OVFL, 1);
	udpio_set_option(fd, SOL_SOCKET, SO_RCVBUF, UDPIO_BUFFER_BYTES);
	udpio_set_option(fd, SOL_SOCKET, SO_RCVBUFFORCE, UDPIO_BUFFER_BYTES);
	udpio_set_option(fd, SOL_SOCKET, SO_SNDBUF, UDPIO_BUFFER_BYTES);
	udpio_set_option(fd, SOL_SOCKET, SO_SNDBUFFORCE, UDPIO_BUFFER_BYTES);
	if (v6) {
		udpio_set_option(fd, IPPROTO_IPV6, IPV6_RECVTCLASS, 1);
		udpio_set_option(fd, IPPROTO_IPV6, IPV6_RECVERR, 1);
		udpio_set_option(fd, IPPROTO_IPV6, IPV6_TCLASS, tos);
	} else {
		udpio_set_option(fd, IPPROTO_IP, IP_RECVTOS, 1);
		udpio_set_option(fd, IPPROTO_IP, IP_RECVERR, 1);
		udpio_set_option(fd, IPPROTO_IP, IP_TOS, tos);
	}
}

static inline void
udpio_limit_send_buffer(struct udpio *u)
{
	socklen_t len = sizeof(int);
	int bytes = 0;

	udpio_set_option(u->fd, SOL_SOCKET, SO_SNDBUF, UDPIO_WAIT_BYTES);
	if (getsockopt(u->fd, SOL_SOCKET, SO_SNDBUF, &bytes, &len) == 0)
		u->sndbuf_bytes = (uint64_t)bytes;
}

static inline uint64_t
udpio_unsent_bytes(const struct udpio *u)
{
	int bytes = 0;

	return ioctl(u->fd, SIOCOUTQ, &bytes) == 0 ? (uint64_t)bytes : 0;
}

static inline bool
udpio_is_crowded(struct udpio *u)
{
	if (2 * u->unsent_most < u->sndbuf_bytes || u->sndbuf_bytes == 0)
		return false;
	u->unsent_most = udpio_unsent_bytes(u);
	return 2 * u->unsent_most >= u->sndbuf_bytes;
}

static inline void
udpio_close(struct udpio *u)
{
	if (u->fd >= 0)
		close(u->fd);
	if (u->in_multicast_group)
		close(u->group_fd);
	u->in_multicast_group = false;
	if (!u->borrows) {
		free(u->bytes);
		free(u->control);
	}
	u->fd = -1;
}

/*
 * Return the value of the socket option `name`, which is a size in bytes, or 0
 * if the option is not supported.
 */
static inline uint64_t
udpio_get_size(int fd, int name)
{
	int value = 0;
	socklen_t len = sizeof(value);

	if (getsockopt(fd, SOL_SOCKET, name, &value, &len) == -1 || value < 0)
		return 0;
	return (uint64_t)value;
}

/*
 * Enable runs of datagrams for sending and for receiving.  This function must
 * be called before any packet arrives.
 */
static inline void
udpio_enable_offload(struct udpio *u)
{
	const int on = 1, none = 0;

	u->gro = setsockopt(u->fd, SOL_UDP, UDP_GRO, &on, sizeof(on)) == 0;
	u->gro_errno = u->gro ? 0 : errno;
	u->gso = setsockopt(u->fd, SOL_UDP, UDP_SEGMENT, &none,
	    sizeof(none)) == 0;
	u->gso_errno = u->gso ? 0 : errno;
	u->gso_bytes = UDPIO_PACKET_BYTES;
}

static inline void
udpio_limit_buffers(struct udpio *u, uint64_t bytes)
{
	if (2 * bytes < u->rcvbuf_bytes)
		udpio_set_option(u->fd, SOL_SOCKET, SO_RCVBUF, (int)bytes);
	if (2 * bytes < u->sndbuf_bytes)
		udpio_set_option(u->fd, SOL_SOCKET, SO_SNDBUF, (int)bytes);
	u->rcvbuf_bytes = udpio_get_size(u->fd, SO_RCVBUF);
	u->sndbuf_bytes = udpio_get_size(u->fd, SO_SNDBUF);
}

/* Open a socket with its own buffers, or with the buffers of a lender. */
static inline int
udpio_open_with(struct udpio *u, const struct udpio *lender,
    const union addr *a, uint8_t tos, bool offload)
{
	const size_t bytes = (size_t)UDPIO_BATCH * UDPIO_STRIDE_BYTES;
	socklen_t len = sizeof(u->local);
	int saved;

	*u = (struct udpio){ .local = *a, .tos = tos, .ask = UDPIO_BATCH,
	    .borrows = lender != NULL };
	u->fd = socket(a->sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC |
	    SOCK_NONBLOCK, 0);
	u->bytes = u->borrows ? lender->bytes : malloc(bytes);
	u->control = u->borrows ? lender->control :
	    malloc((size_t)UDPIO_BATCH * UDPIO_CONTROL_BYTES);
	if (u->fd != -1) {
		udpio_set_options(u->fd, a->sa.sa_family == AF_INET6, tos);
		if (offload)
			udpio_enable_offload(u);
	}
	if (u->fd == -1 || u->bytes == NULL || u->control == NULL ||
	    bind(u->fd, &a->sa, addr_len(a)) == -1 ||
	    getsockname(u->fd, &u->local.sa, &len) == -1) {
		saved = errno;
		udpio_close(u);
		errno = saved;
		return -1;
	}
	if (!u->borrows)
		memset(u->bytes, 0, bytes);
	u->rcvbuf_bytes = udpio_get_size(u->fd, SO_RCVBUF);
	u->sndbuf_bytes = udpio_get_size(u->fd, SO_SNDBUF);
	return 0;
}

static inline int
udpio_open(struct udpio *u, const union addr *a, uint8_t tos, bool offload)
{
	return udpio_open_with(u, NULL, a, tos, offload);
}

static inline int
udpio_open_sender(struct udpio *u, const union addr *a, int receive_bytes,
    bool offload)
{
	const bool v6 = a->sa.sa_family == AF_INET6;
	socklen_t len = sizeof(u->local);
	int saved;

	*u = (struct udpio){ .local = *a };
	u->fd = socket(a->sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC |
	    SOCK_NONBLOCK, 0);
	if (u->fd == -1)
		return -1;
	udpio_set_option(u->fd, SOL_SOCKET, SO_RCVBUF, receive_bytes);
	udpio_set_option(u->fd, SOL_SOCKET, SO_SNDBUF, UDPIO_BUFFER_BYTES);
	udpio_set_option(u->fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP,
	    v6 ? IPV6_RECVERR : IP_RECVERR, 1);
	if (offload)
		udpio_enable_offload(u);
	if (bind(u->fd, &a->sa, addr_len(a)) == -1 ||
	    getsockname(u->fd, &u->local.sa, &len) == -1) {
		saved = errno;
		udpio_close(u);
		errno = saved;
		return -1;
	}
	u->sndbuf_bytes = udpio_get_size(u->fd, SO_SNDBUF);
	return 0;
}

static inline int
udpio_find_source(const union addr *to, union addr *mine, uint64_t *mtu)
{
	const bool v6 = to->sa.sa_family == AF_INET6;
	socklen_t len = sizeof(*mine), size = sizeof(int);
	int fd = socket(to->sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0), got;

	if (fd == -1)
		return -1;
	if (connect(fd, &to->sa, addr_len(to)) == -1 ||
	    getsockname(fd, &mine->sa, &len) == -1) {
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
		mine->in6.sin6_port = 0;
	else
		mine->in.sin_port = 0;
	return 0;
}

static inline int
udpio_open_towards(struct udpio *u, const union addr *to, uint8_t tos,
    bool offload, uint64_t *mtu)
{
	union addr mine;

	if (udpio_find_source(to, &mine, mtu) == -1)
		return -1;
	return udpio_open(u, &mine, tos, offload);
}

static inline int
udpio_open_beside(struct udpio *u, const struct udpio *lender,
    const union addr *to, uint8_t tos, bool offload)
{
	union addr mine;

	if (udpio_find_source(to, &mine, NULL) == -1)
		return -1;
	return udpio_open_with(u, lender, &mine, tos, offload);
}

/*
 * Read the control messages of the message p, whose `len` must be set.  If the
 * segment length is impossible, ignore it and treat the message as one
 * datagram.
 */
static inline void
udpio_read_control(uint32_t *dropped, struct msghdr *m,
    struct udpio_message *p)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c != NULL;
	    c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level == SOL_SOCKET &&
		    c->cmsg_type == SCM_TIMESTAMPNS) {
			struct timespec ts;

			memcpy(&ts, CMSG_DATA(c), sizeof(ts));
			p->stamp_ns = timer_from_timespec(&ts);
		} else if (c->cmsg_level == SOL_SOCKET &&
		    c->cmsg_type == SO_RXQ_OVFL) {
			memcpy(dropped, CMSG_DATA(c), sizeof(*dropped));
		} else if ((c->cmsg_level == IPPROTO_IP &&
		    c->cmsg_type == IP_TOS) ||
		    (c->cmsg_level == IPPROTO_IPV6 &&
		    c->cmsg_type == IPV6_TCLASS)) {
			p->tos = *CMSG_DATA(c);
		} else if (c->cmsg_level == SOL_UDP &&
		    c->cmsg_type == UDP_GRO) {
			int seg;

			memcpy(&seg, CMSG_DATA(c), sizeof(seg));
			if (seg > 0 && (size_t)seg < p->len)
				p->seg_bytes = (size_t)seg;
		}
	}
}

static inline void
udpio_read_errors(struct udpio *u)
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

static inline int
udpio_recv_into(struct udpio *u, int fd, const union addr *to,
    uint32_t *dropped, struct mmsghdr *m, int ask)
{
	size_t bytes = 0;
	int n = recvmmsg(fd, m, (unsigned)ask, MSG_DONTWAIT, NULL);

	if (n == -1 && errno != EAGAIN && errno != EINTR) {
		udpio_read_errors(u);	/* recvmmsg() has returned the pending
					 * error of an earlier packet */
		n = recvmmsg(fd, m, (unsigned)ask, MSG_DONTWAIT, NULL);
	}
	u->more = n == ask;
	for (int i = 0; i < n; i++) {
		struct udpio_message *p = &u->got[i];

		p->stamp_ns = 0;
		p->tos = 0;
		p->len = p->seg_bytes = m[i].msg_len;
		bytes += m[i].msg_len;
		p->to = to;
		udpio_read_control(dropped, &m[i].msg_hdr, p);
		if (p->stamp_ns == 0)
			p->stamp_ns = timer_wall_ns();
	}
	u->kernel_drops = (uint64_t)u->drops + u->group_drops;
	if (n <= 0)
		return 0;
	u->ask = (int)(UDPIO_HOT_BYTES / (bytes / (size_t)n + 1));
	if (u->ask > UDPIO_BATCH)
		u->ask = UDPIO_BATCH;
	else if (u->ask < UDPIO_BATCH_LONG)
		u->ask = UDPIO_BATCH_LONG;
	return n;
}

/*
 * Do the work of udpio_recv() for `fd`, which is one of the two sockets.  Set
 * *dropped to the number of messages that the kernel has dropped at this
 * socket.
 */
static inline int
udpio_recv_from(struct udpio *u, int fd, const union addr *to,
    uint32_t *dropped)
{
	struct mmsghdr m[UDPIO_BATCH];
	struct iovec v[UDPIO_BATCH];
	const int ask = u->ask;

	for (int i = 0; i < ask; i++) {
		struct udpio_message *p = &u->got[i];

		p->data = u->bytes + (size_t)i * UDPIO_STRIDE_BYTES;
		v[i] = (struct iovec){ p->data, UDPIO_PACKET_BYTES };
		m[i].msg_hdr = (struct msghdr){ .msg_name = &p->from,
		    .msg_namelen = sizeof(p->from), .msg_iov = &v[i],
		    .msg_iovlen = 1, .msg_control = u->control +
		    (size_t)i * UDPIO_CONTROL_BYTES,
		    .msg_controllen = UDPIO_CONTROL_BYTES };
	}
	return udpio_recv_into(u, fd, to, dropped, m, ask);
}

static inline bool
udpio_group_is_next(const struct udpio *u)
{
	return u->in_multicast_group && u->group_ready;
}

static inline void
udpio_note_received(struct udpio *u)
{
	if (!u->in_multicast_group)
		return;
	if (u->group_ready)
		u->group_ready = u->more;
	else
		u->ready = u->more;
	u->more = u->group_ready || u->ready;
}

static inline void
udpio_expect_no_more(struct udpio *u)
{
	u->group_ready = false;
	u->more = u->in_multicast_group && u->ready;
}

static inline int
udpio_recv(struct udpio *u)
{
	int n = 0;

	u->more = false;
	if (udpio_group_is_next(u)) {
		n = udpio_recv_from(u, u->group_fd, &u->group,
		    &u->group_drops);
		udpio_note_received(u);
	}
	if (n == 0 && (!u->in_multicast_group || u->ready)) {
		n = udpio_recv_from(u, u->fd, &u->local, &u->drops);
		udpio_note_received(u);
	}
	return n;
}

static inline size_t
udpio_count_datagrams(const struct udpio_message *m)
{
	if (m->seg_bytes == 0 || m->seg_bytes >= m->len)
		return 1;
	return (m->len - 1) / m->seg_bytes + 1;
}

static inline bool
udpio_next_datagram(
    const struct udpio_message *m, size_t *at, struct udpio_packet *p)
{
	const size_t seg = m->seg_bytes == 0 ? m->len : m->seg_bytes;

	if (*at >= m->len && *at > 0)
		return false;
	/* the data of an empty message may be NULL */
	*p = (struct udpio_packet){ m->len == 0 ? m->data : m->data + *at,
	    m->len - *at < seg ? m->len - *at : seg, m->stamp_ns, m->tos,
	    &m->from, m->to, NULL };
	*at += p->len > 0 ? p->len : 1;
	return true;
}

/*
 * Return a msghdr for a send to address `to`.  The control messages of the
 * msghdr are written to `control`.  They contain the ToS byte if it is not the
 * default of the socket, and the length `seg` of the datagrams if the datagrams
 * form a run (0: no run).
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

/*
 * Send a run of n datagrams of `seg` bytes, or one datagram, with one call.
 * The bytes of the datagrams are in `pieces` pieces.  Returns n, or -1 with
 * errno.
 */
static inline int
udpio_send_segments(struct udpio *u, const union addr *to, uint8_t tos,
    const struct iovec *iov, int pieces, int n, size_t seg)
{
	union udpio_control control;
	struct msghdr m = udpio_message_to(u, to, tos, n > 1 ? seg : 0,
	    &control);

	m.msg_iov = (struct iovec *)(uintptr_t)iov;
	m.msg_iovlen = (size_t)pieces;
	if (sendmsg(u->fd, &m, MSG_DONTWAIT) == -1)
		return -1;
	u->unsent_most += (uint64_t)n * (2 * seg + UDPIO_OVERHEAD_BYTES);
	return n;
}

/*
 * Send n separate datagrams with one call.  Returns the number of datagrams
 * that were sent, or -1 with errno.
 */
static inline int
udpio_send_each(struct udpio *u, const union addr *to, uint8_t tos,
    const struct iovec *iov, int per, int n, size_t seg)
{
	union udpio_control control;
	const struct msghdr head = udpio_message_to(u, to, tos, 0, &control);
	struct mmsghdr m[UDPIO_RUN_MAX];
	int sent;

	for (int i = 0; i < n; i++) {
		m[i].msg_hdr = head;
		m[i].msg_hdr.msg_iov = (struct iovec *)(uintptr_t)iov +
		    i * per;
		m[i].msg_hdr.msg_iovlen = (size_t)per;
	}
	sent = sendmmsg(u->fd, m, (unsigned)n, MSG_DONTWAIT);
	if (sent > 0)
		u->unsent_most += (uint64_t)sent *
		    (2 * seg + UDPIO_OVERHEAD_BYTES);
	return sent;
}

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
 * Handle a run that the kernel refused.  If the kernel would have accepted the
 * datagrams of the run one by one, record why it refused the run, and return
 * true.
 */
static inline bool
udpio_run_refused(struct udpio *u, size_t seg)
{
	if (errno == EINVAL || errno == EMSGSIZE) {
		u->gso_bytes = seg - 1;		/* the datagrams are too long
						 * for the path MTU */
		return true;
	}
	if (errno != EIO && errno != ENOPROTOOPT && errno != EOPNOTSUPP)
		return false;
	u->gso = false;
	u->gso_errno = errno;
	return true;
}

/*
 * If errno is the error of an earlier packet, remove this error from the socket
 * and return true, because the caller should repeat the send.  errno does not
 * change.
 */
static inline bool
udpio_skip_old_error(struct udpio *u)
{
	const int saved = errno;

	if (saved != ECONNREFUSED && saved != EINTR &&
	    saved != EHOSTUNREACH && saved != ENETUNREACH)
		return false;
	udpio_read_errors(u);
	errno = saved;
	return true;
}

static inline int
udpio_send_gather(struct udpio *u, const union addr *to, uint8_t tos,
    const struct iovec *iov, int per, int count, size_t seg_bytes)
{
	int sent = 0, tries = 0, most, n;

	while (sent < count && tries < UDPIO_TRIES) {
		const struct iovec *v = iov + sent * per;

		most = udpio_run_max(u, seg_bytes);
		n = count - sent < most ? count - sent : most;
		if (most > 1 || count - sent == 1)
			n = udpio_send_segments(u, to, tos, v, n * per, n,
			    seg_bytes);
		else
			n = udpio_send_each(u, to, tos, v, per,
			    count - sent < UDPIO_RUN_MAX ? count - sent :
			    UDPIO_RUN_MAX, seg_bytes);
		if (n > 0) {
			sent += n;
			tries = 0;
		} else if (most > 1 && count - sent > 1 &&
		    udpio_run_refused(u, seg_bytes)) {
			continue;
		} else if (udpio_skip_old_error(u)) {
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
 * Send n datagrams that follow each other at p with one call and as one piece,
 * which takes the kernel less time than a piece for each datagram.  If this is
 * not possible, send nothing and return false.
 */
static inline bool
udpio_send_adjacent(struct udpio *u, const union addr *to, uint8_t tos,
    uint8_t *p, size_t seg, int n, size_t last)
{
	const struct iovec whole = { p, (size_t)(n - 1) * seg + last };

	return last > 0 && n <= udpio_run_max(u, seg) &&
	    udpio_send_segments(u, to, tos, &whole, 1, n, seg) == n;
}

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
		if (n > 1 && udpio_send_adjacent(u, to, tos, p, seg_bytes, n,
		    sent + n == count ? last_bytes : seg_bytes)) {
			sent += n;
			p += (size_t)n * seg_bytes;
			k = n;
			continue;
		}
		for (k = 0; k < n; k++, p += seg_bytes)
			v[k] = (struct iovec){ p, seg_bytes };
		if (sent + n == count)
			v[n - 1].iov_len = last_bytes;
		k = udpio_send_gather(u, to, tos, v, 1, n, seg_bytes);
		sent += k;
	} while (k == n && sent < count);
	return sent;
}

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

/*
 * Write a description of how this socket sends and receives to `text`, for -v,
 * and return `text`.  The description of runs assumes datagrams that fill an
 * MTU of 1,500 bytes.
 */
static inline const char *
udpio_describe(const struct udpio *u, char text[UDPIO_TEXT_BYTES])
{
	const bool v6 = u->local.sa.sa_family == AF_INET6;
	const size_t seg = v6 ? 1452 : 1472;
	char out[96] = "sendmmsg", in[96] = "recvmmsg";

	if (u->gso)
		snprintf(out, sizeof(out), "UDP_SEGMENT, %d segments of %zu "
		    "bytes in a call", udpio_run_max(u, seg), seg);
	else if (u->gso_errno != 0)
		snprintf(out, sizeof(out), "sendmmsg, no UDP_SEGMENT here "
		    "(%s)", strerror(u->gso_errno));
	if (u->gro)
		snprintf(in, sizeof(in), "UDP_GRO");
	else if (u->gro_errno != 0)
		snprintf(in, sizeof(in), "recvmmsg, no UDP_GRO here (%s)",
		    strerror(u->gro_errno));
	snprintf(text, UDPIO_TEXT_BYTES, "sends by %s; receives by %s; "
	    "buffers %.1f MB out, %.1f MB in", out, in,
	    (double)u->sndbuf_bytes / 1e6, (double)u->rcvbuf_bytes / 1e6);
	return text;
}

static inline void
udpio_capture(struct pcapio_out *out, const union addr *from,
    const union addr *to, uint8_t tos, const void *p, size_t len,
    uint64_t stamp_ns)
{
	const struct frame_flow flow = flow_from_addrs(from, to);
	uint8_t *q = pcapio_room(out);
	struct frame f;
	size_t head = frame_put(q, &flow, tos, len, &f);

	memcpy(q + head, p, len);
	frame_put_checksum(q, &f);
	pcapio_commit(out, stamp_ns, (uint32_t)(head + len),
	    (uint32_t)(head + len));
}

static inline void
udpio_listen_or_exit(struct udpio *u, const union addr *a, uint8_t tos,
    bool offload, const char *port_file)
{
	char name[ADDR_NAME_BYTES], port[8];
	struct atomic_file w;

	if (udpio_open(u, a, tos, offload) == -1)
		err(1, "%s", addr_print(a, name));
	if (port_file != NULL) {
		snprintf(port, sizeof(port), "%u\n", addr_port(&u->local));
		if (atomic_file_open(&w, port_file) == -1 ||
		    atomic_file_close(&w,
		    atomic_file_write(&w, port, strlen(port))) == -1)
			err(1, "%s", port_file);
	}
	fprintf(stderr, "listening on %s\n", addr_print(&u->local, name));
}

static inline void
udpio_print_description(const struct udpio *u, bool verbose)
{
	char text[UDPIO_TEXT_BYTES];

	if (verbose)
		warnx("%s", udpio_describe(u, text));
}

static inline void
udpio_warn_drops(const struct udpio *u, bool *warned)
{
	if (u->kernel_drops == 0 || *warned)
		return;
	*warned = true;
	warnx("the kernel dropped %" PRIu64 " packets; raise its buffer with "
	    "sysctl -w net.core.rmem_max=%d",
	    u->kernel_drops, UDPIO_BUFFER_BYTES);
}

#endif
