/*
 * netport-tap.h - the back-end of tap devices, for hosts that forbid packet
 * sockets
 *
 * A program at the ingress hook of the port redirects the selected frames to a
 * tap device of the switch, in whole runs (USO, Linux 6.2).  The switch sends a
 * frame by writing it to the tap; a program at the tap marks the frame and
 * sends it through the port.  Frames have no kernel timestamps.
 */
#ifndef INNET_SWITCH_INPATH_NETPORT_TAP_H
#define INNET_SWITCH_INPATH_NETPORT_TAP_H

#include <errno.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "cmd/innet-switch/inpath/egress-tap.h"
#include "cmd/innet-switch/inpath/netport.h"
#include "common/net/timer.h"

enum {
	NETPORT_TAP_USO = 0x20 | 0x40,	/* TUN_F_USO4, TUN_F_USO6 */
	NETPORT_TAP_OFFLOAD = TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6
};

/*
 * Load the program of a tap, which marks frames and sends them through an
 * interface.
 */
static inline int
netport_tap_load_program(uint32_t interface)
{
	enum { MARK_AT = 8 };
	struct ebpf_code c = { .n = 0 };

	ebpf_set(&c, 2, EGRESS_TAP_MARK);
	ebpf_emit(&c, EBPF_STX | EBPF_MEM | EBPF_W, 1, 2, MARK_AT, 0);
	ebpf_set(&c, 1, (int32_t)interface);
	ebpf_set(&c, 2, 0);
	ebpf_call(&c, EBPF_REDIRECT);
	ebpf_emit(&c, EBPF_JMP | EBPF_EXIT, 0, 0, 0, 0);
	return ebpf_load_program(&c, EBPF_OF_HOOK, NULL, 0);
}

/* Attach a program, then close its descriptor. */
static inline bool
netport_tap_attach_program(
    struct bpf_attach *h, int program, uint32_t interface)
{
	int saved, got;

	if (program == -1)
		return false;
	got = bpf_attach_program(h, program, interface, false);
	saved = errno;
	close(program);
	errno = saved;
	return got == 0;
}

/* netport_kind.open */
static inline int
netport_tap_open(struct netport *p, const struct bpf_classifier *s)
{
	int saved;

	p->tap_drops = 0;
	p->fd = egress_tap_create_device(
	    &p->tap, NETPORT_TAP_OFFLOAD | NETPORT_TAP_USO);
	if (p->fd == -1 && errno == EINVAL)	/* before Linux 6.2 */
		p->fd = egress_tap_create_device(&p->tap, NETPORT_TAP_OFFLOAD);
	if (p->fd != -1 &&
	    netport_tap_attach_program(
		&p->back, netport_tap_load_program(p->index), p->tap) &&
	    netport_tap_attach_program(
		&p->hook, bpf_classifier_make_redirect(s, p->tap), p->index))
		return 0;
	saved = errno;
	netport_close(p);
	errno = saved;
	return -1;
}

/* netport_kind.receive */
static inline int
netport_tap_receive(struct netport *p, struct netport_in *in)
{
	int n = 0;

	in->more = true;
	while (n < in->ask) {
		struct netport_frame *f = &in->got[n];
		struct iovec v[2] = { { &f->head, sizeof(f->head) } };
		ssize_t got;

		f->data = in->bytes + (size_t)n * NETPORT_STRIDE + NETPORT_GAP;
		v[1] = (struct iovec){ f->data, NETPORT_FRAME_BYTES };
		got = readv(p->fd, v, 2);
		in->more = got > 0;
		if (!in->more)
			break;
		if (got < (ssize_t)sizeof(f->head) + FRAME_ETH_BYTES) {
			p->kernel_drops++;	/* the bytes are not a frame */
			continue;
		}
		f->len = (uint32_t)got - (uint32_t)sizeof(f->head);
		f->stamp_ns = timer_wall_ns();
		n++;
	}
	in->ask = netport_next_batch(in, n);
	return n;
}

/* netport_kind.send */
static inline int
netport_tap_send(struct netport *p, struct mmsghdr *m, unsigned n)
{
	unsigned k = 0;

	while (k < n && writev(p->fd, m[k].msg_hdr.msg_iov,
	    (int)m[k].msg_hdr.msg_iovlen) != -1)
		k++;
	return k > 0 ? (int)k : -1;
}

/* netport_kind.count_drops: count frames that the tap's full queue dropped */
static inline uint64_t
netport_tap_count_drops(struct netport *p)
{
	char path[80 + IF_NAMESIZE], name[IF_NAMESIZE];
	unsigned long long all = p->tap_drops;
	uint64_t since;
	FILE *f;

	if (if_indextoname(p->tap, name) == NULL)
		return 0;
	snprintf(path, sizeof(path), "/sys/class/net/%s/statistics/tx_dropped",
	    name);
	f = fopen(path, "re");
	if (f == NULL)
		return 0;
	if (fscanf(f, "%llu", &all) != 1)
		all = p->tap_drops;
	fclose(f);
	since = all - p->tap_drops;
	p->tap_drops = all;
	return since;
}

static const struct netport_kind netport_tap = {
	.name = "tap",
	.about = "a tap device for each port; selected frames are sent to it "
	    "whole",
	.open = netport_tap_open, .receive = netport_tap_receive,
	.send = netport_tap_send, .count_drops = netport_tap_count_drops,
	.sets_mark = true
};

#endif
