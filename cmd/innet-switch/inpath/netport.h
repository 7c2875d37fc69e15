/*
 * netport.h - a network interface, where frames are taken and sent
 *
 * Frames come whole, up to 64 kB of a run of datagrams (GSO), with what the
 * kernel knows of them (virtio_net_hdr: segment size, a checksum still to be
 * made), and leave so.  How is a back-end's, one struct netport_kind each:
 * packet sockets (netport-packet.h), tap devices (netport-tap.h) or AF_XDP
 * sockets (netport-xdp.h).  Who takes and sends knows none of them.
 */
#ifndef INNET_SWITCH_INPATH_NETPORT_H
#define INNET_SWITCH_INPATH_NETPORT_H

#include <errno.h>
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

#include "cmd/innet-switch/inpath/bpf-attach.h"
#include "cmd/innet-switch/inpath/bpf-classifier.h"
#include "cmd/innet-switch/inpath/egress-tap.h"
#include "common/capture/pcapio-out.h"
#include "common/queue/port.h"
#include "common/wire/frame.h"

enum {
	NETPORT_BATCH = 16,		/* frames a call, at most */
	NETPORT_LONG_BYTES = 16384,	/* of these so many a call: */
	NETPORT_BATCH_LONG = 3,
	/* before a frame: for a tag, and so that a payload behind 42 bytes of
	 * headers begins a line of the cache; it is copied in less time */
	NETPORT_GAP = 128 - 42,
	NETPORT_FRAME_BYTES = 65536 + 64,
	/* not one set of a cache */
	NETPORT_STRIDE = 128 + NETPORT_FRAME_BYTES + 15 * 64,
	NETPORT_GSO_UDP = 5		/* VIRTIO_NET_HDR_GSO_UDP_L4 */
};

struct netport;
struct netport_in;
struct netport_xdp;

/* A back-end. */
struct netport_kind {
	const char *name, *about;
	/* what is taken there comes to p->fd from now on; -1 with errno */
	int (*open)(struct netport *p, const struct bpf_classifier *s);
	/* some of what has come, into in->got: how many; never waits */
	int (*receive)(struct netport *p, struct netport_in *in);
	/* as sendmmsg(2), of a head and pieces each */
	int (*send)(struct netport *p, struct mmsghdr *m, unsigned n);
	/* what the kernel dropped, since it was last asked */
	uint64_t (*count_drops)(struct netport *p);
	/* or NULL: nothing but p->fd and the hooks is held */
	void (*close)(struct netport *p);
	/* by what it is attached; NULL: as bpf_attach_describe() has it */
	const char *(*describe)(const struct netport *p);
	/* an error of open in words, or NULL; it may be NULL */
	const char *(*explain_error)(int error);
	/* what it sends does not meet a detour, or has EGRESS_TAP_MARK */
	bool sets_mark;
	uint32_t mtu_max;			/* at most; 0: any */
};

struct netport {
	const struct netport_kind *kind;	/* NULL: never opened */
	char name[IF_NAMESIZE];
	uint32_t index;			/* the kernel's */
	uint32_t mtu;
	int fd;				/* -1: not open */
	struct bpf_attach hook; /* what bpf-classifier.h takes, and how */
	struct bpf_attach back;		/* of a tap, for what leaves */
	uint32_t tap;			/* its index */
	uint64_t tap_drops;		/* that it had counted */
	struct netport_xdp *xdp;	/* owned by netport-xdp.h */
	int lock;			/* ours alone */
	struct egress_tap egress_tap;	/* of what leaves, where it waits */
	bool up, forwards, isolated;
	bool seen;			/* in the last look at all interfaces */
	struct port *port;		/* of the plane; borrowed */
	struct pcapio_out *ingress_capture,
	    *egress_capture; /* captures of --taps, or NULL */
	uint64_t kernel_drops, failed;
	uint64_t reported_drops, reported_failed; /* in the switch's account */
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
	    .bytes = aligned_alloc(64, bytes) };
	if (in->bytes != NULL)
		memset(in->bytes, 0, bytes);	/* touched here, not later */
	return in->bytes != NULL;
}

/* How many frames the next call is to ask for: long ones stay in a cache. */
static inline int
netport_next_batch(const struct netport_in *in, int n)
{
	return n > 0 && in->got[n - 1].len > NETPORT_LONG_BYTES ?
	    NETPORT_BATCH_LONG : NETPORT_BATCH;
}

/* What the kernel dropped since the last look. */
static inline void
netport_count_drops(struct netport *p)
{
	if (p->fd != -1)
		p->kernel_drops += p->kind->count_drops(p);
}

/* What was taken goes its own way again. */
static inline void
netport_close(struct netport *p)
{
	bpf_attach_detach(&p->hook);
	bpf_attach_detach(&p->back);
	if (p->kind != NULL && p->kind->close != NULL)
		p->kind->close(p);
	if (p->fd != -1)
		close(p->fd);
	p->fd = -1;
}

/* How a port is attached, in words. */
static inline const char *
netport_describe(const struct netport *p)
{
	return p->kind->describe != NULL ? p->kind->describe(p)
				    : bpf_attach_describe(&p->hook);
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
netport_wait_for_room(const struct netport *p, int ms)
{
	struct pollfd f = { .fd = p->fd, .events = POLLOUT };

	return poll(&f, 1, ms) == 1 && (f.revents & POLLOUT) != 0;
}

/*
 * Send what is about to leave.  What the kernel refuses is counted in the port;
 * what finds no room is tried `tries` times, a millisecond each.
 */
static inline void
netport_flush(struct netport_out *o, int tries)
{
	int done = 0, n;

	if (o->n == 0)
		return;
	while (done < o->n && o->port->fd != -1) {
		n = o->port->kind->send(o->port, o->m + done,
		    (unsigned)(o->n - done));
		if (n > 0) {
			done += n;
		} else if ((errno == EAGAIN || errno == ENOBUFS) &&
		    tries-- > 0) {
			if (errno == ENOBUFS ||
			    !netport_wait_for_room(o->port, 1))
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
netport_reserve_headers(struct netport_out *o, struct netport *to)
{
	if (o->n == NETPORT_OUT || (o->n > 0 && o->port != to))
		netport_flush(o, 0);
	o->port = to;
	return o->own[o->n];
}

/* A frame of pieces more, which are borrowed until it is sent. */
static inline void
netport_queue_frame(struct netport_out *o, struct netport *to,
    const struct virtio_net_hdr *head, const struct iovec *piece, int pieces)
{
	struct iovec *v;

	netport_reserve_headers(o, to);
	v = o->v[o->n];
	o->head[o->n] = *head;
	v[0] = (struct iovec){ &o->head[o->n], sizeof(*head) };
	for (int i = 0; i < pieces; i++)
		v[i + 1] = piece[i];
	o->m[o->n++].msg_hdr = (struct msghdr){ .msg_iov = v,
	    .msg_iovlen = (size_t)pieces + 1 };
}

/*
 * Write at `to` the headers of datagrams k and on of the run whose own are in
 * head: of one of `bytes`, or a run of them whose datagrams have `seg` each
 * (0: it is one).  *fr describes the whole run and *one becomes what was
 * written.  The checksum is that of the pseudo header, for the kernel to go on
 * with: *v says so.
 */
static inline void
netport_write_headers(uint8_t *to, const uint8_t *head, const struct frame *fr,
    uint32_t k, uint32_t bytes, uint32_t seg, struct frame *one,
    struct virtio_net_hdr *v)
{
	uint8_t *ip = to + fr->ip_at, *udp = to + fr->udp_at;
	const uint32_t udp_bytes = bytes + FRAME_UDP_BYTES;
	uint16_t sum;

	if (to != head)
		memcpy(to, head, fr->payload_at);
	*one = *fr;
	one->payload_bytes = bytes;
	if (fr->flow.v6) {
		bytes_put(ip + 4, fr->udp_at - fr->ip_at - 40 + udp_bytes, 2);
	} else {
		bytes_put(ip + 2, fr->udp_at - fr->ip_at + udp_bytes, 2);
		bytes_put(ip + 4, bytes_get(ip + 4, 2) + k, 2);
		memset(ip + 10, 0, 2);
		sum = (uint16_t)~inetsum_fold(inetsum_add(0, ip,
		    (ip[0] & 15u) * 4));
		memcpy(ip + 10, &sum, 2);
	}
	bytes_put(udp + 4, udp_bytes, 2);
	sum = inetsum_fold(frame_pseudo_sum(to, one));
	memcpy(udp + 6, &sum, 2);
	*v = (struct virtio_net_hdr){ .flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
	    .csum_start = (uint16_t)fr->udp_at, .csum_offset = 6 };
	if (seg == 0)
		return;
	v->gso_type = NETPORT_GSO_UDP;
	v->gso_size = (uint16_t)seg;
	v->hdr_len = (uint16_t)fr->payload_at;
}

/* Is a datagram's checksum that of its pseudo header: still to be made? */
static inline bool
netport_lacks_checksum(const uint8_t *p, const struct frame *fr)
{
	const uint16_t sum = inetsum_fold(frame_pseudo_sum(p, fr));

	return memcmp(p + fr->udp_at + 6, &sum, 2) == 0;
}

/* Make the checksum that a frame of len bytes at p still needs. */
static inline void
netport_finish_checksum(
    uint8_t *p, uint32_t len, const struct virtio_net_hdr *v)
{
	uint16_t sum;

	if ((v->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM) == 0)
		return;
	sum = (uint16_t)~inetsum_fold(inetsum_add(0, p + v->csum_start,
	    len - v->csum_start));
	if (sum == 0)
		sum = 0xffff;
	memcpy(p + v->csum_start + v->csum_offset, &sum, 2);
}

#endif
