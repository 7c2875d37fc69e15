/*
 * netport-packet.h - the back-end of packet sockets
 *
 * The socket receives the frames that its program selects (bpf-classifier.h),
 * but no frames that leave by the interface.  A program at the ingress hook of
 * the port then drops the same frames, so that the kernel does not process them
 * again.  If the kernel has removed a VLAN tag, this back-end restores it.  The
 * socket is opened without a protocol, so that no frame arrives before the
 * program is attached.
 */
#ifndef INNET_SWITCH_INPATH_NETPORT_PACKET_H
#define INNET_SWITCH_INPATH_NETPORT_PACKET_H

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cmd/innet-switch/inpath/netport.h"
#include "common/net/timer.h"
#include "common/net/udp-io.h"

enum {
	NETPORT_BUFFER_BYTES = 16 << 20,
	NETPORT_IGNORE_OUTGOING = 23	/* PACKET_IGNORE_OUTGOING */
};

/*
 * Return a packet socket on an interface that receives the frames selected by
 * the program, or -1 with errno.
 */
static inline int
netport_packet_open_socket(uint32_t index, int program)
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
	    sizeof(all));		/* an error is harmless: a bridge has
					 * already set promiscuous mode */
	udpio_set_option(fd, SOL_SOCKET, SO_TIMESTAMPNS, 1);
	udpio_set_option(fd, SOL_SOCKET, SO_RCVBUF, NETPORT_BUFFER_BYTES);
	udpio_set_option(fd, SOL_SOCKET, SO_RCVBUFFORCE, NETPORT_BUFFER_BYTES);
	udpio_set_option(fd, SOL_SOCKET, SO_SNDBUF, NETPORT_BUFFER_BYTES);
	udpio_set_option(fd, SOL_SOCKET, SO_SNDBUFFORCE, NETPORT_BUFFER_BYTES);
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

/* netport_kind.open */
static inline int
netport_packet_open(struct netport *p, const struct bpf_classifier *s)
{
	int saved;

	p->fd = netport_packet_open_socket(p->index, s->of_socket);
	if (p->fd != -1 && bpf_attach_program(&p->hook, s->of_hook, p->index,
	    false) == 0)
		return 0;
	saved = errno;
	netport_close(p);
	errno = saved;
	return -1;
}

/* Restore the VLAN tag that the kernel removed. */
static inline void
netport_packet_restore_tag(struct netport_frame *f, uint16_t tpid, uint16_t tci)
{
	f->data -= 4;
	memmove(f->data, f->data + 4, 12);
	bytes_put(f->data + 12, tpid, 2);
	bytes_put(f->data + 14, tci, 2);
	f->len += 4;
	f->head.csum_start = (uint16_t)(f->head.csum_start + 4);
	f->head.hdr_len = (uint16_t)(f->head.hdr_len + 4);
}

/* Read the control messages of a frame. */
static inline void
netport_packet_read_control(struct msghdr *m, struct netport_frame *f)
{
	struct tpacket_auxdata aux;
	struct timespec ts;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c != NULL;
	    c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level == SOL_SOCKET &&
		    c->cmsg_type == SCM_TIMESTAMPNS) {
			memcpy(&ts, CMSG_DATA(c), sizeof(ts));
			f->stamp_ns = timer_from_timespec(&ts);
		} else if (c->cmsg_level == SOL_PACKET &&
		    c->cmsg_type == PACKET_AUXDATA) {
			memcpy(&aux, CMSG_DATA(c), sizeof(aux));
			if ((aux.tp_status & TP_STATUS_VLAN_VALID) != 0)
				netport_packet_restore_tag(f, (aux.tp_status &
				    TP_STATUS_VLAN_TPID_VALID) != 0 ?
				    aux.tp_vlan_tpid : ETH_P_8021Q,
				    aux.tp_vlan_tci);
		}
	}
}

/* netport_kind.receive */
static inline int
netport_packet_receive(struct netport *p, struct netport_in *in)
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
			p->kernel_drops++; /* the frame could not be sent */
			continue;
		}
		*f = in->got[i];
		f->len = m[i].msg_len - (uint32_t)sizeof(f->head);
		f->stamp_ns = 0;
		netport_packet_read_control(&m[i].msg_hdr, f);
		if (f->stamp_ns == 0)
			f->stamp_ns = timer_wall_ns();
		kept++;
	}
	in->ask = netport_next_batch(in, kept);
	return kept;
}

/* netport_kind.send */
static inline int
netport_packet_send(struct netport *p, struct mmsghdr *m, unsigned n)
{
	return sendmmsg(p->fd, m, n, MSG_DONTWAIT);
}

/* netport_kind.count_drops */
static inline uint64_t
netport_packet_count_drops(struct netport *p)
{
	struct tpacket_stats s;
	socklen_t len = sizeof(s);

	return getsockopt(p->fd, SOL_PACKET, PACKET_STATISTICS, &s,
	    &len) == 0 ? s.tp_drops : 0;
}

static const struct netport_kind netport_packet = {
	.name = "packet", .about = "packet sockets with PACKET_VNET_HDR; the "
	    "kernel drops its copies of selected frames",
	.open = netport_packet_open, .receive = netport_packet_receive,
	.send = netport_packet_send, .count_drops = netport_packet_count_drops,
	.needs_raw = true
};

#endif
