/*
 * egress-tap.h - divert the frames that leave by a port to the switch
 *
 * A program at the egress hook of the port redirects every frame to a tap
 * device of the switch.  Frames that the switch itself sends are marked, and
 * the program does not redirect them.  In this way, regular traffic can wait in
 * the same queue of the port as updates.
 *
 * Frames arrive one by one, segmented to the MTU of the link, with complete
 * checksums.  If the switch hangs, the program lets every frame pass, as in
 * bpf-classifier.h.  When the process ends, the kernel removes the program.
 */
#ifndef INNET_SWITCH_INPATH_EGRESS_TAP_H
#define INNET_SWITCH_INPATH_EGRESS_TAP_H

#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "cmd/innet-switch/inpath/ebpf.h"
#include "cmd/innet-switch/inpath/bpf-attach.h"
#include "cmd/innet-switch/inpath/bpf-classifier.h"

enum {
	EGRESS_TAP_MARK = 0x696e6e65,	/* SO_MARK of frames that must pass */
	EGRESS_TAP_QUEUE = 4096	/* number of frames that the tap can hold */
};

struct egress_tap {
	int tap;			/* -1: none */
	struct bpf_attach hook;
};

static const struct egress_tap egress_tap_none = {
    .tap = -1, .hook = { .link = -1 }};

/*
 * Write the program.  The program redirects a frame to the tap unless the frame
 * is marked or the last heartbeat is too long ago.
 */
static inline void
egress_tap_write_program(struct ebpf_code *c, int map, uint32_t tap)
{
	enum { MARK_AT = 8 };

	*c = (struct ebpf_code){ .n = 0 };
	ebpf_move(c, BPF_CLASSIFIER_CONTEXT, 1);
	ebpf_load(c, EBPF_W, 1, BPF_CLASSIFIER_CONTEXT, MARK_AT);
	ebpf_jump_to_exit(c, ebpf_jump_if(c, EBPF_JEQ, 1, EGRESS_TAP_MARK));
	ebpf_load_map_value(c, BPF_CLASSIFIER_SHARED, map);
	bpf_classifier_require_beat(c);
	ebpf_set(c, 1, (int32_t)tap);
	ebpf_set(c, 2, 0);
	ebpf_call(c, EBPF_REDIRECT);
	ebpf_finish(c, BPF_CLASSIFIER_NEXT);
}

/* Prevent the kernel from sending its own packets to the tap. */
static inline void
egress_tap_disable_ipv6(const char *name)
{
	char path[64 + IF_NAMESIZE];
	int fd;

	snprintf(path, sizeof(path), "/proc/sys/net/ipv6/conf/%s/disable_ipv6",
	    name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd == -1)
		return;			/* the kernel does not support IPv6 */
	(void)!write(fd, "1", 1);
	close(fd);
}

/*
 * Create a tap device with the offloads TUN_F_..., and set the device up.
 * Returns the descriptor of the device, or -1 with errno.
 */
static inline int
egress_tap_create_device(uint32_t *index, unsigned long offload)
{
	struct ifreq r = { .ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR };
	const int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC),
	    s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int saved, bad;

	memcpy(r.ifr_name, "innet%d", sizeof("innet%d"));
	bad = fd == -1 || s == -1 || ioctl(fd, TUNSETIFF, &r) == -1 ||
	    ioctl(fd, TUNSETOFFLOAD, offload) == -1;
	if (!bad) {
		egress_tap_disable_ipv6(r.ifr_name);
		*index = if_nametoindex(r.ifr_name);
		r.ifr_qlen = EGRESS_TAP_QUEUE;
		bad = ioctl(s, SIOCSIFTXQLEN, &r) == -1;
		r.ifr_mtu = 65535 - 14;
		bad = bad || ioctl(s, SIOCSIFMTU, &r) == -1;
		r.ifr_flags = IFF_UP | IFF_NOARP;
		bad = bad || ioctl(s, SIOCSIFFLAGS, &r) == -1;
	}
	saved = errno;
	if (s != -1)
		close(s);
	if (bad && fd != -1)
		close(fd);
	errno = saved;
	return bad ? -1 : fd;
}

static inline void
egress_tap_close(struct egress_tap *d)
{
	bpf_attach_detach(&d->hook);
	if (d->tap != -1)
		close(d->tap);
	*d = egress_tap_none;
}

/*
 * Divert the frames that leave by an interface, except those that the packet
 * socket `sender` sends (-1: none, because the back-end marks its frames
 * itself).  Returns 0, or -1 with errno set.  After a failure, nothing is open.
 */
static inline int
egress_tap_open(struct egress_tap *d, const struct bpf_classifier *s,
    uint32_t interface, int sender)
{
	const uint32_t mark = EGRESS_TAP_MARK;
	struct ebpf_code c;
	uint32_t index = 0;
	int program = -1, saved;

	*d = egress_tap_none;
	if (sender == -1 || setsockopt(sender, SOL_SOCKET, SO_MARK, &mark,
	    sizeof(mark)) == 0)
		d->tap = egress_tap_create_device(&index, 0);
	if (d->tap != -1) {
		egress_tap_write_program(&c, s->map, index);
		program = ebpf_load_program(&c, EBPF_OF_HOOK, NULL, 0);
	}
	if (program != -1)
		bpf_attach_program(&d->hook, program, interface, true);
	saved = errno;
	if (program != -1)
		close(program);
	if (bpf_attach_is_attached(&d->hook))
		return 0;
	egress_tap_close(d);
	errno = saved;
	return -1;
}

/*
 * Read the next frame, of at most `room` bytes, and return its length, or 0 if
 * there is none.
 */
static inline uint32_t
egress_tap_read_frame(struct egress_tap *d, uint8_t *to, size_t room)
{
	struct virtio_net_hdr head;
	const struct iovec v[2] = { { &head, sizeof(head) }, { to, room } };
	const ssize_t n = readv(d->tap, v, 2);

	return n <= (ssize_t)sizeof(head) ? 0 : (uint32_t)n -
	    (uint32_t)sizeof(head);
}

#endif
