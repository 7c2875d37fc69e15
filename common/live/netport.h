/*
 * netport.h - a network interface through a packet socket
 *
 * Frames come whole, up to 64 kB of a run of datagrams (GSO), with what the
 * kernel knows of them (virtio_net_hdr: segment size, a checksum still to be
 * made), and leave so.  A VLAN tag that the kernel took off is put back.  The
 * socket gets what its program lets through (steer.h), and nothing that leaves
 * by the interface.  Opened without a protocol, so that nothing comes before
 * the program is in.
 */
#ifndef INNET_LIVE_NETPORT_H
#define INNET_LIVE_NETPORT_H

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common/capture/pcapio-out.h"
#include "common/live/detour.h"
#include "common/live/timer.h"
#include "common/live/udpsock.h"
#include "common/plane/port.h"
#include "common/wire/frame.h"

enum {
	NETPORT_BATCH = 16,		/* frames a call, at most */
	NETPORT_LONG_BYTES = 16384,	/* of these one a call */
	NETPORT_GAP = 64,		/* before a frame: for a tag */
	NETPORT_FRAME_BYTES = 65536 + 64,
	/* not one set of a cache */
	NETPORT_STRIDE = NETPORT_GAP + NETPORT_FRAME_BYTES + 15 * 64,
	NETPORT_BUFFER_BYTES = 16 << 20,
	NETPORT_IGNORE_OUTGOING = 23,	/* PACKET_IGNORE_OUTGOING */
	NETPORT_GSO_UDP = 5		/* VIRTIO_NET_HDR_GSO_UDP_L4 */
};

struct netport {
	char name[IF_NAMESIZE];
	uint32_t index;			/* the kernel's */
	uint32_t mtu;
	int fd, hook;			/* hook: the link of steer.h */
	int lock;			/* ours alone */
	struct detour detour;		/* of what leaves, where it waits */
	bool up, forwards, isolated;
	bool seen;			/* in the last look at all interfaces */
	struct port *port;		/* of the plane; borrowed */
	struct pcapio_out *came, *left;	/* captures of --taps, or NULL */
	uint64_t kernel_drops, failed;
	uint64_t told_drops, told_failed;	/* in the switch's account */
	const struct pollfd *waited;	/* for it, and its detour behind it */
};

/* A frame that came. */
struct netport_frame {
	struct virtio_net_hdr head;
	uint8_t *data;			/* Ethernet; borrowed */
	uint32_t len;
	uint64_t stamp_ns;		/* the kernel's, since the epoch */
};

/* Room for what comes, of all ports in turn. */
struct netport_in {
	uint8_t *bytes;			/* owned */
	uint8_t control[NETPORT_BATCH][256];
	struct netport_frame got[NETPORT_BATCH];
	int ask;			/* frames of the next call */
	bool more;			/* it got all that it asked for */
};

static inline bool
netport_in_init(struct netport_in *in)
{
	const size_t bytes = (size_t)NETPORT_BATCH * NETPORT_STRIDE;

	*in = (struct netport_in){ .ask = NETPORT_BATCH,
	    .bytes = malloc(bytes) };
	if (in->bytes != NULL)
		memset(in->bytes, 0, bytes);	/* touched here, not later */
	return in->bytes != NULL;
}

/*
 * A packet socket on an interface that gets what the program lets through.  It,
 * or -1 with errno.
 */
static inline int
netport_socket(uint32_t index, int program)
{
	const struct sockaddr_ll at = { .sll_family = AF_PACKET,
	    .sll_ifindex = (int)index, .sll_protocol = htons(ETH_P_ALL) };
	const int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC |
	    SOCK_NONBLOCK, 0);
	const struct packet_mreq all = { .mr_ifindex = (int)index,
	    .mr_type = PACKET_MR_PROMISC };
	const int on = 1;
	int saved;

	if (fd == -1)
		return -1;
	(void)setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all,
	    sizeof(all));		/* a bridge has it so already */
	udpio_on(fd, SOL_SOCKET, SO_TIMESTAMPNS, 1);
	udpio_on(fd, SOL_SOCKET, SO_RCVBUF, NETPORT_BUFFER_BYTES);
	udpio_on(fd, SOL_SOCKET, SO_RCVBUFFORCE, NETPORT_BUFFER_BYTES);
	udpio_on(fd, SOL_SOCKET, SO_SNDBUF, NETPORT_BUFFER_BYTES);
	udpio_on(fd, SOL_SOCKET, SO_SNDBUFFORCE, NETPORT_BUFFER_BYTES);
	if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_BPF, &program,
	    sizeof(program)) == 0 &&
	    setsockopt(fd, SOL_PACKET, NETPORT_IGNORE_OUTGOING, &on,
	    sizeof(on)) == 0 &&
	    setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof(on)) == 0 &&
	    setsockopt(fd, SOL_PACKET, PACKET_AUXDATA, &on, sizeof(on)) == 0 &&
	    bind(fd, (const struct sockaddr *)&at, sizeof(at)) == 0)
		return fd;
	saved = errno;
	close(fd);
	errno = saved;
	return -1;
}

/* Put back the tag that the kernel took off. */
static inline void
netport_tag(struct netport_frame *f, uint16_t tpid, uint16_t tci)
{
	f->data -= 4;
	memmove(f->data, f->data + 4, 12);
	bytes_put(f->data + 12, tpid, 2);
	bytes_put(f->data + 14, tci, 2);
	f->len += 4;
	f->head.csum_start = (uint16_t)(f->head.csum_start + 4);
	f->head.hdr_len = (uint16_t)(f->head.hdr_len + 4);
}

/* What the kernel says beside a frame. */
static inline void
netport_read_control(struct msghdr *m, struct netport_frame *f)
{
	struct tpacket_auxdata aux;
	struct timespec ts;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c != NULL;
	    c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level == SOL_SOCKET &&
		    c->cmsg_type == SCM_TIMESTAMPNS) {
			memcpy(&ts, CMSG_DATA(c), sizeof(ts));
			f->stamp_ns = timer_ns(&ts);
		} else if (c->cmsg_level == SOL_PACKET &&
		    c->cmsg_type == PACKET_AUXDATA) {
			memcpy(&aux, CMSG_DATA(c), sizeof(aux));
			if ((aux.tp_status & TP_STATUS_VLAN_VALID) != 0)
				netport_tag(f, (aux.tp_status &
				    TP_STATUS_VLAN_TPID_VALID) != 0 ?
				    aux.tp_vlan_tpid : ETH_P_8021Q,
				    aux.tp_vlan_tci);
		}
	}
}

/* How many frames the next call is to ask for: long ones stay in a cache. */
static inline int
netport_ask(const struct netport_in *in, int n)
{
	return n > 0 && in->got[n - 1].len > NETPORT_LONG_BYTES ? 1 :
	    NETPORT_BATCH;
}

/* Receive what has come, a batch, into in->got: how many.  Never waits. */
static inline int
netport_recv(struct netport *p, struct netport_in *in)
{
	struct mmsghdr m[NETPORT_BATCH];
	struct iovec v[NETPORT_BATCH][2];
	const int ask = in->ask;
	int n, kept = 0;

	for (int i = 0; i < ask; i++) {
		struct netport_frame *f = &in->got[i];

		f->data = in->bytes + (size_t)i * NETPORT_STRIDE + NETPORT_GAP;
		v[i][0] = (struct iovec){ &f->head, sizeof(f->head) };
		v[i][1] = (struct iovec){ f->data, NETPORT_FRAME_BYTES };
		m[i].msg_hdr = (struct msghdr){ .msg_iov = v[i],
		    .msg_iovlen = 2, .msg_control = in->control[i],
		    .msg_controllen = sizeof(in->control[i]) };
	}
	n = recvmmsg(p->fd, m, (unsigned)ask, MSG_DONTWAIT, NULL);
	in->more = n == ask;
	for (int i = 0; i < n; i++) {
		struct netport_frame *f = &in->got[kept];

		if (m[i].msg_len < sizeof(f->head) + FRAME_ETH_BYTES ||
		    (m[i].msg_hdr.msg_flags & MSG_TRUNC) != 0) {
			p->kernel_drops++;	/* no frame we can send */
			continue;
		}
		*f = in->got[i];
		f->len = m[i].msg_len - (uint32_t)sizeof(f->head);
		f->stamp_ns = 0;
		netport_read_control(&m[i].msg_hdr, f);
		if (f->stamp_ns == 0)
			f->stamp_ns = timer_wall_ns();
		kept++;
	}
	in->ask = netport_ask(in, kept);
	return kept;
}

/* What the kernel dropped since the last look. */
static inline void
netport_count_drops(struct netport *p)
{
	struct tpacket_stats s;
	socklen_t len = sizeof(s);

	if (p->fd != -1 && getsockopt(p->fd, SOL_PACKET, PACKET_STATISTICS,
	    &s, &len) == 0)
		p->kernel_drops += s.tp_drops;
}

/* Frames that are about to leave by one port. */
enum { NETPORT_OUT = 64, NETPORT_PIECES = 3 };

struct netport_out {
	struct netport *port;		/* borrowed */
	int n;
	struct mmsghdr m[NETPORT_OUT];
	struct iovec v[NETPORT_OUT][NETPORT_PIECES];
	struct virtio_net_hdr head[NETPORT_OUT];
	uint8_t own[NETPORT_OUT][FRAME_V6_BYTES + 8];	/* headers made here */
};

/*
 * Wait for room in a port, `ms` at most.  A link's own queue may be full while
 * the socket's is not: then a millisecond is slept.
 */
static inline bool
netport_room(const struct netport *p, int ms)
{
	struct pollfd f = { .fd = p->fd, .events = POLLOUT };

	return poll(&f, 1, ms) == 1 && (f.revents & POLLOUT) != 0;
}

/*
 * Send what is about to leave.  What the kernel refuses is counted in the port;
 * what finds no room is tried `tries` times, a millisecond each.
 */
static inline void
netport_send(struct netport_out *o, int tries)
{
	int done = 0, n;

	if (o->n == 0)
		return;
	while (done < o->n && o->port->fd != -1) {
		n = sendmmsg(o->port->fd, o->m + done, (unsigned)(o->n - done),
		    MSG_DONTWAIT);
		if (n > 0) {
			done += n;
		} else if ((errno == EAGAIN || errno == ENOBUFS) &&
		    tries-- > 0) {
			if (errno == ENOBUFS || !netport_room(o->port, 1))
				poll(NULL, 0, 1);
		} else {
			o->port->failed++;
			done++;
		}
	}
	o->port->failed += (uint64_t)(o->n - done);
	o->n = 0;
}

/* Room for the headers of the frame that is put next. */
static inline uint8_t *
netport_head(struct netport_out *o, struct netport *to)
{
	if (o->n == NETPORT_OUT || (o->n > 0 && o->port != to))
		netport_send(o, 0);
	o->port = to;
	return o->own[o->n];
}

/* A frame of pieces more, which are borrowed until it is sent. */
static inline void
netport_put(struct netport_out *o, struct netport *to,
    const struct virtio_net_hdr *head, const struct iovec *piece, int pieces)
{
	struct iovec *v;

	netport_head(o, to);
	v = o->v[o->n];
	o->head[o->n] = *head;
	v[0] = (struct iovec){ &o->head[o->n], sizeof(*head) };
	for (int i = 0; i < pieces; i++)
		v[i + 1] = piece[i];
	o->m[o->n++].msg_hdr = (struct msghdr){ .msg_iov = v,
	    .msg_iovlen = (size_t)pieces + 1 };
}

#endif
