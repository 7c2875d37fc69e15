/*
 * netport.h - a network interface where the switch takes and sends frames
 *
 * Frames are received and sent whole.  A frame can be a run of datagrams (GSO)
 * of up to 64 kB.  The kernel adds information about each frame: the segment
 * size, and whether a checksum must be computed (virtio_net_hdr).  A back-end,
 * described by a struct netport_kind, does the work: packet sockets
 * (netport-packet.h), tap devices (netport-tap.h) or AF_XDP sockets
 * (netport-xdp.h).  Callers do not depend on the back-end.
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
	NETPORT_BATCH = 16,	/* largest number of frames in a batch */
	NETPORT_LONG_BYTES = 16384,	/* for longer frames, a batch is limited
					 * to NETPORT_BATCH_LONG */
	NETPORT_BATCH_LONG = 3,
	/*
	 * Room before a frame for a VLAN tag.  With this value, a payload that
	 * follows 42 bytes of headers starts at a cache line, which makes
	 * copies faster.
	 */
	NETPORT_GAP = 128 - 42,
	NETPORT_FRAME_BYTES = 65536 + 64,
	/*
	 * distance between frames in memory, which spreads them over the sets
	 * of a cache
	 */
	NETPORT_STRIDE = 128 + NETPORT_FRAME_BYTES + 15 * 64,
	NETPORT_GSO_UDP = 5		/* VIRTIO_NET_HDR_GSO_UDP_L4 */
};

struct netport;
struct netport_in;
struct netport_xdp;

/* The functions and properties of a back-end. */
struct netport_kind {
	const char *name, *about;
	/*
	 * Start to take frames.  p->fd becomes readable when frames arrive.
	 * Returns 0, or -1 with errno.
	 */
	int (*open)(struct netport *p, const struct bpf_classifier *s);
	/* Receive frames into in->got without waiting; returns their number. */
	int (*receive)(struct netport *p, struct netport_in *in);
	/*
	 * Send messages as sendmmsg(2) does; each message is a header and
	 * pieces.
	 */
	int (*send)(struct netport *p, struct mmsghdr *m, unsigned n);
	/*
	 * Return the number of frames dropped by the kernel since the last
	 * call.
	 */
	uint64_t (*count_drops)(struct netport *p);
	/* Free everything except p->fd and the hooks; NULL: nothing to free. */
	void (*close)(struct netport *p);
	/* Return how the port is attached; NULL: use bpf_attach_describe(). */
	const char *(*describe)(const struct netport *p);
	/*
	 * Return an error of open() in words, or NULL.  The pointer may be
	 * NULL.
	 */
	const char *(*explain_error)(int error);
	/*
	 * the frames that the back-end sends bypass an egress tap or have
	 * EGRESS_TAP_MARK
	 */
	bool sets_mark;
	bool needs_raw, needs_lock;	/* CAP_NET_RAW, CAP_IPC_LOCK */
	uint32_t mtu_max; /* largest MTU that the back-end supports; 0: any */
};

struct netport {
	const struct netport_kind *kind; /* back-end; NULL if the port was never
					  * opened */
	char name[IF_NAMESIZE];
	uint32_t index;			/* interface index */
	uint32_t mtu;
	int fd;				/* -1: not open */
	struct bpf_attach hook;		/* hook of the program that takes frames
					 * from the interface */
	struct bpf_attach back;		/* hook of the program that sends frames
					 * from the tap */
	uint32_t tap;			/* index of the tap */
	uint64_t tap_drops;	/* number of drops of the tap counted so far */
	struct netport_xdp *xdp;	/* owned by netport-xdp.h */
	int lock;			/* descriptor that locks the interface;
					 * -1: none */
	struct egress_tap egress_tap;	/* egress tap, which is open if regular
					 * traffic waits in the queue of this
					 * port */
	bool up, forwards, isolated;
	bool seen;	/* the port was seen in the last query of all ports */
	struct port *port;		/* port of the plane; borrowed */
	/* captures of --taps, or NULL */
	struct pcapio_out *ingress_capture, *egress_capture;
	uint64_t kernel_drops, failed;
	/*
	 * parts of kernel_drops and failed that the switch's counters already
	 * include
	 */
	uint64_t reported_drops, reported_failed;
	const struct pollfd *waited;	/* entries in the poll set: fd, then the
					 * tap */
};

/* A received frame. */
struct netport_frame {
	struct virtio_net_hdr head;
	uint8_t *data;			/* the Ethernet frame; borrowed */
	uint32_t len;
	uint64_t stamp_ns;	/* kernel timestamp, ns since the epoch */
};

/* Room for received frames, which all ports use in turn. */
struct netport_in {
	uint8_t *bytes;			/* owned */
	uint8_t control[NETPORT_BATCH][256];
	struct netport_frame got[NETPORT_BATCH];
	int ask;			/* number of frames to request next */
	bool more;	/* the last call returned a full batch */
};

/* Frames that wait to be sent through one port. */
enum { NETPORT_OUT = 64, NETPORT_PIECES = 3 };

struct netport_out {
	struct netport *port;		/* borrowed */
	int n;
	struct mmsghdr m[NETPORT_OUT];
	struct iovec v[NETPORT_OUT][NETPORT_PIECES];
	struct virtio_net_hdr head[NETPORT_OUT];
	uint8_t own[NETPORT_OUT][FRAME_V6_BYTES + 8]; /* headers that the switch
						       * itself writes */
};

/* Close the interface, so that the kernel handles its frames again. */
static inline void netport_close(struct netport *p);

/* Return the way in which the interface is attached, as text for users. */
static inline const char *netport_describe(const struct netport *p);

/*
 * Add to the counter the number of frames that the kernel has dropped since the
 * last call.
 */
static inline void netport_count_drops(struct netport *p);

/* Initialize the room for received frames; returns false if out of memory. */
static inline bool netport_in_init(struct netport_in *in);

/*
 * Return the number of frames to request after a batch of n.  The number is
 * small for long frames, so that they fit into a cache.
 */
static inline int netport_next_batch(const struct netport_in *in, int n);

/* Return a buffer for the headers of the next frame that is queued. */
static inline uint8_t *netport_reserve_headers(struct netport_out *o,
    struct netport *to);

/*
 * Queue a frame that consists of a header and pieces.  The pieces are borrowed
 * until netport_flush().  Frames queued for another port are sent first.
 */
static inline void netport_queue_frame(struct netport_out *o,
    struct netport *to, const struct virtio_net_hdr *head,
    const struct iovec *piece, int pieces);

/*
 * Send the queued frames.  Frames that the kernel refuses are counted in the
 * port.  If there is no room, tries up to `tries` times, 1 ms apart.
 */
static inline void netport_flush(struct netport_out *o, int tries);

/*
 * Write the headers of a part of a run to `to`.  The part starts at datagram k
 * and has `bytes` bytes; it is one datagram if seg is 0, otherwise a run of
 * datagrams of seg bytes each.  `head` has the headers of the whole run, and
 * *fr describes that run.  Sets *one to a description of the part.  The
 * checksum covers only the pseudo header; *v tells the kernel to complete it.
 */
static inline void netport_write_headers(uint8_t *to, const uint8_t *head,
    const struct frame *fr, uint32_t k, uint32_t bytes, uint32_t seg,
    struct frame *one, struct virtio_net_hdr *v);

/* Does the checksum of a datagram cover only its pseudo header? */
static inline bool netport_lacks_checksum(const uint8_t *p,
    const struct frame *fr);

/*
 * Complete the checksum of a frame of len bytes at p, if *v says that the
 * checksum is missing.
 */
static inline void netport_finish_checksum(uint8_t *p, uint32_t len,
    const struct virtio_net_hdr *v);

/* implementation */

static inline bool
netport_in_init(struct netport_in *in)
{
	const size_t bytes = (size_t)NETPORT_BATCH * NETPORT_STRIDE;

	*in = (struct netport_in){ .ask = NETPORT_BATCH,
	    .bytes = aligned_alloc(64, bytes) };
	if (in->bytes != NULL)
		memset(in->bytes, 0, bytes); /* touch all pages now, so that no
					      * page faults occur while frames
					      * arrive */
	return in->bytes != NULL;
}

static inline int
netport_next_batch(const struct netport_in *in, int n)
{
	return n > 0 && in->got[n - 1].len > NETPORT_LONG_BYTES ?
	    NETPORT_BATCH_LONG : NETPORT_BATCH;
}

static inline void
netport_count_drops(struct netport *p)
{
	if (p->fd != -1)
		p->kernel_drops += p->kind->count_drops(p);
}

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

static inline const char *
netport_describe(const struct netport *p)
{
	return p->kind->describe != NULL ? p->kind->describe(p)
				    : bpf_attach_describe(&p->hook);
}

/*
 * Wait for room in a port, for at most ms milliseconds.  The queue of the link
 * may be full while the queue of the socket is not.
 */
static inline bool
netport_wait_for_room(const struct netport *p, int ms)
{
	struct pollfd f = { .fd = p->fd, .events = POLLOUT };

	return poll(&f, 1, ms) == 1 && (f.revents & POLLOUT) != 0;
}

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

static inline uint8_t *
netport_reserve_headers(struct netport_out *o, struct netport *to)
{
	if (o->n == NETPORT_OUT || (o->n > 0 && o->port != to))
		netport_flush(o, 0);
	o->port = to;
	return o->own[o->n];
}

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

static inline bool
netport_lacks_checksum(const uint8_t *p, const struct frame *fr)
{
	const uint16_t sum = inetsum_fold(frame_pseudo_sum(p, fr));

	return memcmp(p + fr->udp_at + 6, &sum, 2) == 0;
}

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
