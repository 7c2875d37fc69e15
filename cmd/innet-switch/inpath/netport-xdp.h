/*
 * netport-xdp.h - the back-end of AF_XDP sockets, which can avoid copying
 * frames
 *
 * A program at the interface passes the selected frames to the socket of their
 * receive queue, before the kernel processes them.  The program runs in native
 * mode if the driver supports it, otherwise in generic mode.  Each queue has
 * its own memory, where frames are read in place.  Frames leave by the first
 * queue and bypass all queueing disciplines.
 *
 * Each frame that is sent is single and complete: this back-end splits runs
 * into frames and computes checksums.  A sender on the same machine may leave a
 * checksum incomplete, so that it covers only the pseudo header.  Frames have
 * no kernel timestamps.
 *
 * An interface may remove VLAN tags from received frames (rx-vlan-offload).
 * The kernel stores such a tag beside the frame, where a program of XDP cannot
 * see it, so the tag would be lost.  This back-end therefore turns the offload
 * off while the port is open.
 */
#ifndef INNET_SWITCH_INPATH_NETPORT_XDP_H
#define INNET_SWITCH_INPATH_NETPORT_XDP_H

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/if_xdp.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cmd/innet-switch/inpath/bpf-classifier.h"
#include "cmd/innet-switch/inpath/netport.h"
#include "common/net/timer.h"

enum {
	NETPORT_XDP_QUEUES = 64,
	NETPORT_XDP_CHUNK = 4096, /* number of bytes in a chunk, which holds one
				   * frame */
	NETPORT_XDP_GAP = 256, /* number of bytes before the frame:
			        * XDP_PACKET_HEADROOM */
	/* largest MTU of native drivers with pages of 4 kB */
	NETPORT_XDP_MTU = 3506,
	NETPORT_XDP_COME = 2048, /* number of chunks of each queue for received
				  * frames */
	NETPORT_XDP_LEAVE = 1024, /* number of chunks of the first queue for
				   * frames to send */
	NETPORT_XDP_KICKS = 64,
	NETPORT_XDP_TRIES = 200	/* number of attempts to bind a socket, 1 ms
				 * apart */
};

/* A ring that this process shares with the kernel. */
struct netport_xdp_ring {
	uint32_t *produced, *consumed;
	void *entries;
	uint32_t mask;
	uint32_t at;	/* position of this process in the ring */
	void *map;			/* NULL: none */
	size_t map_bytes;
};

struct netport_xdp_queue {
	int fd;
	uint8_t *memory;		/* mapped, or NULL */
	size_t memory_bytes;
	struct netport_xdp_ring fill, done, come, leave;
};

struct netport_xdp {
	struct netport_xdp_queue queue[NETPORT_XDP_QUEUES];
	uint32_t queues, next;		/* `next` is the index of the queue to
					 * read next */
	uint64_t spare[NETPORT_XDP_LEAVE];	/* chunks that are free for
						 * sending */
	uint32_t spares;
	struct {
		uint32_t queue;
		uint64_t at;
	} held[NETPORT_BATCH];		/* chunks of the last batch, which must
					 * be returned to the kernel */
	int helds;
	uint64_t reported_drops;
	bool native, zero_copy;
	bool tags;	/* the interface removed VLAN tags before this program
			 * turned the removal off; the removal is turned on
			 * again on close */
	char how[64];
};

/* The back-end. */
static const struct netport_kind netport_xdp;

/* implementation */

/* Get or set the flags of an interface.  Returns 0, or -1 with errno. */
static inline int
vlan_tags_call_ethtool(uint32_t index, struct ethtool_value *v)
{
	const int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq r = { .ifr_data = (void *)v };
	int rc = -1, saved;

	if (s == -1)
		return -1;
	if (if_indextoname(index, r.ifr_name) != NULL)
		rc = ioctl(s, SIOCETHTOOL, &r);
	saved = errno;
	close(s);
	errno = saved;
	return rc;
}

/* Does the interface remove VLAN tags?  Returns false if that is unknown. */
static inline bool
vlan_tags_are_stripped(uint32_t index, uint32_t *flags)
{
	struct ethtool_value v = { .cmd = ETHTOOL_GFLAGS };

	if (vlan_tags_call_ethtool(index, &v) == -1)
		return false;
	*flags = v.data;
	return (v.data & ETH_FLAG_RXVLAN) != 0;
}

/*
 * Turn the removal of VLAN tags on or off.  Returns false if the interface
 * refuses the change.
 */
static inline bool
vlan_tags_set_stripping(uint32_t index, bool take)
{
	struct ethtool_value v = { .cmd = ETHTOOL_SFLAGS };
	uint32_t flags = 0;

	if (vlan_tags_are_stripped(index, &flags) == take)
		return true;
	v.data = flags ^ ETH_FLAG_RXVLAN;
	return vlan_tags_call_ethtool(index, &v) == 0 &&
	    vlan_tags_are_stripped(index, &flags) == take;
}

/* Return the number of entries that the kernel has added. */
static inline uint32_t
netport_xdp_ready(const struct netport_xdp_ring *r)
{
	return __atomic_load_n(r->produced, __ATOMIC_ACQUIRE) - r->at;
}

/* Return the number of entries that the kernel has not taken yet. */
static inline uint32_t
netport_xdp_pending(const struct netport_xdp_ring *r)
{
	return r->at - __atomic_load_n(r->consumed, __ATOMIC_ACQUIRE);
}

/* Give a chunk to the kernel as room for a received frame. */
static inline void
netport_xdp_give_chunk(struct netport_xdp_queue *q, uint64_t at)
{
	uint64_t *entry = q->fill.entries;

	entry[q->fill.at++ & q->fill.mask] = at;
	__atomic_store_n(q->fill.produced, q->fill.at, __ATOMIC_RELEASE);
}

/* Map a ring whose entries have `bytes` bytes each. */
static inline bool
netport_xdp_map_ring(int fd, struct netport_xdp_ring *r,
    const struct xdp_ring_offset *o, uint32_t entries, size_t bytes,
    uint64_t where)
{
	uint8_t *p;

	r->map_bytes = o->desc + entries * bytes;
	p = mmap(NULL, r->map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED |
	    MAP_POPULATE, fd, (off_t)where);
	if (p == MAP_FAILED)
		return false;
	r->map = p;
	r->mask = entries - 1;
	r->produced = (uint32_t *)(void *)(p + o->producer);
	r->consumed = (uint32_t *)(void *)(p + o->consumer);
	r->entries = p + o->desc;
	return true;
}

static inline void
netport_xdp_unmap_ring(struct netport_xdp_ring *r)
{
	if (r->map != NULL)
		munmap(r->map, r->map_bytes);
	r->map = NULL;
}

static inline void
netport_xdp_queue_close(struct netport_xdp_queue *q)
{
	if (q->fd != -1)
		close(q->fd);
	netport_xdp_unmap_ring(&q->fill);
	netport_xdp_unmap_ring(&q->done);
	netport_xdp_unmap_ring(&q->come);
	netport_xdp_unmap_ring(&q->leave);
	if (q->memory != NULL)
		munmap(q->memory, q->memory_bytes);
	*q = (struct netport_xdp_queue){ .fd = -1 };
}

/*
 * Create the rings of a queue for receiving.  If `sends` is true, also create
 * its rings for sending.
 */
static inline bool
netport_xdp_create_rings(struct netport_xdp_queue *q, bool sends)
{
	const int come = NETPORT_XDP_COME, leave = NETPORT_XDP_LEAVE;
	const struct xdp_umem_reg memory = { .addr = (uintptr_t)q->memory,
	    .len = q->memory_bytes, .chunk_size = NETPORT_XDP_CHUNK };
	struct xdp_mmap_offsets o;
	socklen_t len = sizeof(o);

	return setsockopt(q->fd, SOL_XDP, XDP_UMEM_REG, &memory,
	    sizeof(memory)) == 0 &&
	    setsockopt(q->fd, SOL_XDP, XDP_UMEM_FILL_RING, &come,
	    sizeof(come)) == 0 &&
	    setsockopt(q->fd, SOL_XDP, XDP_UMEM_COMPLETION_RING, &leave,
	    sizeof(leave)) == 0 &&
	    setsockopt(q->fd, SOL_XDP, XDP_RX_RING, &come, sizeof(come)) == 0 &&
	    (!sends || setsockopt(q->fd, SOL_XDP, XDP_TX_RING, &leave,
	    sizeof(leave)) == 0) &&
	    getsockopt(q->fd, SOL_XDP, XDP_MMAP_OFFSETS, &o, &len) == 0 &&
	    netport_xdp_map_ring(q->fd, &q->fill, &o.fr, NETPORT_XDP_COME,
	    sizeof(uint64_t), XDP_UMEM_PGOFF_FILL_RING) &&
	    netport_xdp_map_ring(q->fd, &q->done, &o.cr, NETPORT_XDP_LEAVE,
	    sizeof(uint64_t), XDP_UMEM_PGOFF_COMPLETION_RING) &&
	    netport_xdp_map_ring(q->fd, &q->come, &o.rx, NETPORT_XDP_COME,
	    sizeof(struct xdp_desc), XDP_PGOFF_RX_RING) &&
	    (!sends || netport_xdp_map_ring(q->fd, &q->leave, &o.tx,
	    NETPORT_XDP_LEAVE, sizeof(struct xdp_desc), XDP_PGOFF_TX_RING));
}

/*
 * Bind a socket to its queue.  Retries, because the kernel releases a queue
 * only some time after its last socket was closed.
 */
static inline bool
netport_xdp_bind_socket(int fd, const struct sockaddr_xdp *at)
{
	for (int k = 0; k < NETPORT_XDP_TRIES; k++) {
		if (bind(fd, (const struct sockaddr *)at, sizeof(*at)) == 0)
			return true;
		if (errno != EBUSY)
			return false;
		poll(NULL, 0, 1);
		errno = EBUSY;
	}
	return false;
}

/*
 * Open the socket of queue k of an interface, in zero-copy mode if the driver
 * supports it.  Returns true, or false with errno set.  After a failure,
 * nothing is open.
 */
static inline bool
netport_xdp_queue_open(struct netport_xdp_queue *q, uint32_t index,
    uint32_t k)
{
	const struct sockaddr_xdp at = { .sxdp_family = AF_XDP,
	    .sxdp_ifindex = index, .sxdp_queue_id = k };
	int saved;

	*q = (struct netport_xdp_queue){ .memory_bytes = (NETPORT_XDP_COME +
	    (k == 0 ? (size_t)NETPORT_XDP_LEAVE : 0)) * NETPORT_XDP_CHUNK,
	    .fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0) };
	if (q->fd == -1)
		return false;
	q->memory = mmap(NULL, q->memory_bytes, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (q->memory == MAP_FAILED)
		q->memory = NULL;
	if (q->memory != NULL && netport_xdp_create_rings(q, k == 0)) {
		for (uint64_t i = 0; i < NETPORT_XDP_COME; i++)
			netport_xdp_give_chunk(q, i * NETPORT_XDP_CHUNK);
		if (netport_xdp_bind_socket(q->fd, &at))
			return true;
	}
	saved = errno;
	netport_xdp_queue_close(q);
	errno = saved;
	return false;
}

/*
 * Open the sockets of all queues, and p->fd, an epoll descriptor that waits for
 * all of these sockets.
 */
static inline bool
netport_xdp_open_queues(struct netport *p, struct netport_xdp *x)
{
	struct epoll_event e = { .events = EPOLLIN };

	p->fd = epoll_create1(EPOLL_CLOEXEC);
	if (p->fd == -1)
		return false;
	while (x->queues < NETPORT_XDP_QUEUES && netport_xdp_queue_open(
	    &x->queue[x->queues], p->index, x->queues)) {
		if (epoll_ctl(p->fd, EPOLL_CTL_ADD,
		    x->queue[x->queues++].fd, &e) == -1)
			return false;
	}
	/* EINVAL: the interface has no queue with this number */
	return x->queues == NETPORT_XDP_QUEUES || (x->queues > 0 &&
	    errno == EINVAL);
}

/*
 * Attach the program in native mode, or in generic mode if the driver does not
 * support native mode.
 */
static inline bool
netport_xdp_attach_program(struct netport *p, struct netport_xdp *x,
    const struct bpf_classifier *s)
{
	const int sockets = ebpf_create_map(EBPF_XSK_MAP, sizeof(uint32_t),
	    NETPORT_XDP_QUEUES, 0);
	const int program =
	    sockets == -1 ? -1 : bpf_classifier_make_xdp(s, sockets);
	bool good = program != -1;
	int saved;

	for (uint32_t k = 0; k < x->queues && good; k++)
		good = ebpf_map_set_fd(sockets, k, x->queue[k].fd) == 0;
	if (good) {
		p->hook.link = ebpf_attach_program(
		    program, p->index, EBPF_AT_XDP, EBPF_NATIVE);
		x->native = p->hook.link != -1;
		if (!x->native && errno == EOPNOTSUPP)
			p->hook.link = ebpf_attach_program(program, p->index,
			    EBPF_AT_XDP, EBPF_GENERIC);
	}
	saved = errno;
	if (program != -1)
		close(program);
	if (sockets != -1)
		close(sockets);
	errno = saved;
	return p->hook.link != -1;
}

/* netport_kind.close */
static inline void
netport_xdp_close(struct netport *p)
{
	struct netport_xdp *x = p->xdp;

	for (uint32_t k = 0; x != NULL && k < x->queues; k++)
		netport_xdp_queue_close(&x->queue[k]);
	if (x != NULL && x->tags)
		(void)vlan_tags_set_stripping(p->index, true);
	free(x);
	p->xdp = NULL;
}

/* netport_kind.describe */
static inline const char *
netport_xdp_describe(const struct netport *p)
{
	return p->xdp->how;
}

/*
 * Keep VLAN tags in frames while the port is open; returns false if tags would
 * be lost.
 */
static inline bool
netport_xdp_keep_vlan_tags(const struct netport *p, struct netport_xdp *x)
{
	uint32_t flags;

	x->tags = vlan_tags_are_stripped(p->index, &flags);
	if (!x->tags || vlan_tags_set_stripping(p->index, false))
		return true;
	x->tags = false;
	errno = ENOPROTOOPT;
	return false;
}

/* netport_kind.open */
static inline int
netport_xdp_open(struct netport *p, const struct bpf_classifier *s)
{
	struct netport_xdp *x = calloc(1, sizeof(*x));
	struct xdp_options o = { .flags = 0 };
	socklen_t len = sizeof(o);
	int saved;

	p->xdp = x;
	p->hook = bpf_attach_none;
	if (x != NULL && netport_xdp_open_queues(p, x) &&
	    netport_xdp_keep_vlan_tags(p, x) &&
	    netport_xdp_attach_program(p, x, s)) {
		for (; x->spares < NETPORT_XDP_LEAVE; x->spares++)
			x->spare[x->spares] = ((uint64_t)NETPORT_XDP_COME +
			    x->spares) * NETPORT_XDP_CHUNK;
		x->zero_copy = getsockopt(x->queue[0].fd, SOL_XDP, XDP_OPTIONS,
		    &o, &len) == 0 && (o.flags & XDP_OPTIONS_ZEROCOPY) != 0;
		snprintf(x->how, sizeof(x->how), "%s XDP, %s, %u queue%s",
		    x->native ? "native" : "generic", x->zero_copy ?
		    "without copies" : "copied", x->queues,
		    x->queues == 1 ? "" : "s");
		return 0;
	}
	saved = errno == EBUSY ? EEXIST : errno;
	netport_close(p);
	errno = saved;
	return -1;
}

/* netport_kind.explain_error */
static inline const char *
netport_xdp_explain_error(int error)
{
	switch (error) {
	case EAFNOSUPPORT: return "this kernel has no AF_XDP";
	case EEXIST: return "another XDP program is attached, or another "
	    "socket uses a queue";
	case ENOPROTOOPT: return "the interface removes VLAN tags from frames, "
	    "and they would be lost; turn this off with ethtool -K INTERFACE "
	    "rxvlan off";
	case ERANGE: return "XDP needs an MTU of at most 3506 bytes, on both "
	    "ends of a veth pair";
	case ENOBUFS: return "memory for frames may not be locked; give "
	    "CAP_IPC_LOCK, or raise RLIMIT_MEMLOCK";
	default: return NULL;
	}
}

/* Describe a frame that was received in place. */
static inline void
netport_xdp_set_frame(struct netport_frame *f, uint8_t *data, uint32_t len,
    uint64_t stamp_ns)
{
	struct frame fr;

	*f = (struct netport_frame){ .data = data, .len = len,
	    .stamp_ns = stamp_ns };
	if (frame_parse(FRAME_ETHERNET, data, len, len, &fr) == FRAME_UDP &&
	    netport_lacks_checksum(data, &fr))
		f->head = (struct virtio_net_hdr){ .csum_offset = 6,
		    .flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
		    .csum_start = (uint16_t)fr.udp_at };
}

/* Give the chunks of the last batch back to the kernel. */
static inline void
netport_xdp_return_chunks(struct netport_xdp *x)
{
	for (; x->helds > 0; x->helds--)
		netport_xdp_give_chunk(&x->queue[x->held[x->helds - 1].queue],
		    x->held[x->helds - 1].at);
}

/* netport_kind.receive: read all queues in turn */
static inline int
netport_xdp_receive(struct netport *p, struct netport_in *in)
{
	const uint64_t stamp_ns = timer_wall_ns();
	struct netport_xdp *x = p->xdp;
	int n = 0;

	netport_xdp_return_chunks(x);
	for (uint32_t k = 0; k < x->queues && n < NETPORT_BATCH; k++) {
		const uint32_t now = x->next;
		struct netport_xdp_queue *q = &x->queue[now];
		const struct xdp_desc *entry = q->come.entries;
		uint32_t got = netport_xdp_ready(&q->come);

		x->next = (x->next + 1) % x->queues;
		for (; got > 0 && n < NETPORT_BATCH; got--, n++) {
			const struct xdp_desc *d =
			    &entry[q->come.at++ & q->come.mask];

			netport_xdp_set_frame(&in->got[n], q->memory + d->addr,
			    d->len, stamp_ns);
			x->held[x->helds].queue = now;
			x->held[x->helds++].at = d->addr -
			    d->addr % NETPORT_XDP_CHUNK;
		}
		__atomic_store_n(q->come.consumed, q->come.at,
		    __ATOMIC_RELEASE);
	}
	in->more = n == NETPORT_BATCH;
	return n;
}

/*
 * Copy `bytes` bytes of a message to `to`, starting at offset `from` of the
 * message.
 */
static inline void
netport_xdp_copy_bytes(uint8_t *to, const struct iovec *v, size_t pieces,
    size_t from, size_t bytes)
{
	for (size_t i = 0; i < pieces && bytes > 0; i++) {
		const size_t skip = from < v[i].iov_len ? from : v[i].iov_len,
		    have = v[i].iov_len - skip,
		    take = have < bytes ? have : bytes;

		memcpy(to, (const uint8_t *)v[i].iov_base + skip, take);
		from -= skip;
		to += take;
		bytes -= take;
	}
}

/*
 * Reserve the chunk that is sent next, with `bytes` bytes, and return its
 * memory.
 */
static inline uint8_t *
netport_xdp_reserve_chunk(struct netport_xdp *x, uint32_t bytes)
{
	struct netport_xdp_queue *q = &x->queue[0];
	struct xdp_desc *entry = q->leave.entries;
	const uint64_t at = x->spare[--x->spares];

	entry[q->leave.at++ & q->leave.mask] = (struct xdp_desc){ .addr = at,
	    .len = bytes };
	return q->memory + at;
}

/* Send a frame, or each datagram of a run, with complete checksums. */
static inline void
netport_xdp_send_message(struct netport_xdp *x,
    const struct virtio_net_hdr *head, const struct iovec *v, size_t pieces,
    uint32_t bytes)
{
	const uint32_t h = head->hdr_len, seg = head->gso_size;
	struct virtio_net_hdr w = *head;
	struct frame fr, one;

	if (head->gso_type == VIRTIO_NET_HDR_GSO_NONE) {
		uint8_t *to = netport_xdp_reserve_chunk(x, bytes);

		netport_xdp_copy_bytes(to, v, pieces, 0, bytes);
		netport_finish_checksum(to, bytes, head);
		return;
	}
	for (uint32_t k = 0, at = h; at < bytes; k++, at += seg) {
		const uint32_t n = bytes - at < seg ? bytes - at : seg;
		uint8_t *to = netport_xdp_reserve_chunk(x, h + n);

		netport_xdp_copy_bytes(to, v, pieces, 0, h);
		netport_xdp_copy_bytes(to + h, v, pieces, at, n);
		frame_parse(FRAME_ETHERNET, to, h, bytes, &fr);
		netport_write_headers(to, to, &fr, k, n, 0, &one, &w);
		netport_finish_checksum(to, h + n, &w);
	}
}

/* Take back the chunks that the kernel has sent. */
static inline void
netport_xdp_collect_sent(struct netport_xdp *x)
{
	struct netport_xdp_ring *r = &x->queue[0].done;
	const uint64_t *entry = r->entries;

	for (uint32_t n = netport_xdp_ready(r); n > 0; n--)
		x->spare[x->spares++] = entry[r->at++ & r->mask];
	__atomic_store_n(r->consumed, r->at, __ATOMIC_RELEASE);
}

/*
 * Make the kernel send frames.  For each call, the kernel sends a few dozen
 * frames.
 */
static inline void
netport_xdp_wake_kernel(struct netport_xdp *x)
{
	struct netport_xdp_queue *q = &x->queue[0];

	for (int k = 0;
	     k < NETPORT_XDP_KICKS && netport_xdp_pending(&q->leave) > 0; k++) {
		if (sendto(q->fd, NULL, 0, MSG_DONTWAIT, NULL, 0) == -1 &&
		    errno != EAGAIN && errno != EBUSY)
			break;
		if (x->zero_copy) /* the driver now sends the rest by itself */
			break;
	}
	netport_xdp_collect_sent(x);
}

/* netport_kind.send: send messages while there are free chunks */
static inline int
netport_xdp_send(struct netport *p, struct mmsghdr *m, unsigned n)
{
	struct netport_xdp *x = p->xdp;
	struct netport_xdp_queue *q = &x->queue[0];
	unsigned k = 0;

	errno = EAGAIN;
	netport_xdp_collect_sent(x);
	for (; k < n; k++) {
		const struct virtio_net_hdr *head =
		    m[k].msg_hdr.msg_iov->iov_base;
		const struct iovec *v = m[k].msg_hdr.msg_iov + 1;
		const size_t pieces = m[k].msg_hdr.msg_iovlen - 1;
		size_t bytes = 0, frames = 1, longest;

		for (size_t i = 0; i < pieces; i++)
			bytes += v[i].iov_len;
		longest = bytes;
		if (head->gso_type != VIRTIO_NET_HDR_GSO_NONE) {
			frames = (bytes - head->hdr_len - 1) / head->gso_size +
			    1;
			longest = head->hdr_len + (size_t)head->gso_size;
		}
		if (longest > NETPORT_XDP_CHUNK ||
		    frames > NETPORT_XDP_LEAVE) {
			errno = EMSGSIZE;
			break;
		}
		if (frames > x->spares)
			break;
		netport_xdp_send_message(x, head, v, pieces, (uint32_t)bytes);
	}
	__atomic_store_n(q->leave.produced, q->leave.at, __ATOMIC_RELEASE);
	if (k > 0 || errno == EAGAIN)
		netport_xdp_wake_kernel(x);
	return k > 0 ? (int)k : -1;
}

/*
 * netport_kind.count_drops: count frames that found no room or were too long
 * for a chunk
 */
static inline uint64_t
netport_xdp_count_drops(struct netport *p)
{
	struct netport_xdp *x = p->xdp;
	uint64_t all = 0, since;

	for (uint32_t k = 0; k < x->queues; k++) {
		struct xdp_statistics s = { .rx_dropped = 0 };
		socklen_t len = sizeof(s);

		if (getsockopt(x->queue[k].fd, SOL_XDP, XDP_STATISTICS, &s,
		    &len) == 0)
			all += s.rx_dropped + s.rx_ring_full;
	}
	netport_xdp_wake_kernel(x); /* repeat the request to send, because a
				     * busy device did not send all frames */
	since = all - x->reported_drops;
	x->reported_drops = all;
	return since;
}

static const struct netport_kind netport_xdp = {
	.name = "xdp",
	.about = "AF_XDP sockets; selected frames arrive before the kernel "
	    "processes them",
	.open = netport_xdp_open, .receive = netport_xdp_receive,
	.send = netport_xdp_send, .count_drops = netport_xdp_count_drops,
	.close = netport_xdp_close, .describe = netport_xdp_describe,
	.explain_error = netport_xdp_explain_error, .sets_mark = true,
	.needs_raw = true, .needs_lock = true,
	.mtu_max = NETPORT_XDP_MTU
};

#endif
