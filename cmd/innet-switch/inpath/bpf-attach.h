/*
 * bpf-attach.h - attach a program to a hook of an interface
 *
 * On Linux 6.6 and later the program is attached by tcx.  The kernel detaches
 * the program when the process ends, even if the process is killed.  On older
 * kernels the program is attached as a filter of the clsact queueing
 * discipline.  If the process is killed, the filter stays, but it lets every
 * frame pass (see bpf-classifier.h).  The next process replaces the filter.
 */
#ifndef INNET_SWITCH_INPATH_BPF_ATTACH_H
#define INNET_SWITCH_INPATH_BPF_ATTACH_H

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "cmd/innet-switch/inpath/ebpf.h"
#include "cmd/innet-switch/inpath/netlink.h"

enum { BPF_ATTACH_PRIORITY = 0xc001, BPF_ATTACH_BYTES = 256 };

struct bpf_attach {
	int link;			/* descriptor of the tcx link, or -1 */
	uint32_t interface;	/* interface with the filter; 0: no filter */
	bool leaving;			/* the hook is at egress (true) or at
					 * ingress (false) */
};

static const struct bpf_attach bpf_attach_none = { .link = -1 };

/* Is a program attached? */
static inline bool
bpf_attach_is_attached(const struct bpf_attach *h)
{
	return h->link != -1 || h->interface != 0;
}

/* A request to the kernel about queueing disciplines or filters. */
struct bpf_attach_request {
	struct nlmsghdr head;
	struct tcmsg tc;
	uint8_t more[BPF_ATTACH_BYTES];
};

/* Append an attribute to a request, and return the attribute. */
static inline struct rtattr *
bpf_attach_put_attribute(
    struct bpf_attach_request *q, uint16_t type, const void *p, size_t bytes)
{
	struct rtattr *a = (struct rtattr *)(void *)((uint8_t *)q +
	    NLMSG_ALIGN(q->head.nlmsg_len));

	a->rta_type = type;
	a->rta_len = (uint16_t)RTA_LENGTH(bytes);
	if (bytes > 0)
		memcpy(RTA_DATA(a), p, bytes);
	q->head.nlmsg_len = (uint32_t)(NLMSG_ALIGN(q->head.nlmsg_len) +
	    RTA_ALIGN(a->rta_len));
	return a;
}

/* Send a request to the kernel.  Returns 0, or -1 with errno. */
static inline int
bpf_attach_send_request(struct bpf_attach_request *q)
{
	const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC,
	    NETLINK_ROUTE);
	int got = -1, saved;

	if (fd == -1)
		return -1;
	if (send(fd, q, q->head.nlmsg_len, 0) != -1)
		got = netlink_receive(fd, NULL, NULL);
	saved = errno;
	close(fd);
	errno = saved;
	return got;
}

/* Return a new request about an interface. */
static inline struct bpf_attach_request
bpf_attach_make_request(uint16_t type, uint16_t flags, uint32_t interface)
{
	return (struct bpf_attach_request){ .head = { .nlmsg_type = type,
	    .nlmsg_flags = (uint16_t)(NLM_F_REQUEST | NLM_F_ACK | flags),
	    .nlmsg_len = NLMSG_LENGTH(sizeof(struct tcmsg)) },
	    .tc = { .tcm_ifindex = (int)interface } };
}

/* Return a request to create, replace or delete the filter at a hook. */
static inline struct bpf_attach_request
bpf_attach_filter_request(
    uint16_t type, uint16_t flags, const struct bpf_attach *h)
{
	struct bpf_attach_request q =
	    bpf_attach_make_request(type, flags, h->interface);

	q.tc.tcm_parent = TC_H_MAKE(TC_H_CLSACT, h->leaving ?
	    TC_H_MIN_EGRESS : TC_H_MIN_INGRESS);
	q.tc.tcm_handle = 1;
	q.tc.tcm_info = TC_H_MAKE((uint32_t)BPF_ATTACH_PRIORITY << 16,
	    htons(ETH_P_ALL));
	bpf_attach_put_attribute(&q, TCA_KIND, "bpf", 4);
	return q;
}

/* Attach a program by clsact.  Returns 0, or -1 with errno. */
static inline int
bpf_attach_as_filter(struct bpf_attach *h, int program, uint32_t interface,
    bool leaving)
{
	const uint32_t fd = (uint32_t)program, flags = TCA_BPF_FLAG_ACT_DIRECT;
	struct bpf_attach_request q = bpf_attach_make_request(
	    RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL, interface);
	struct rtattr *options;

	*h = (struct bpf_attach){ .link = -1, .interface = interface,
	    .leaving = leaving };
	q.tc.tcm_parent = TC_H_CLSACT;
	q.tc.tcm_handle = TC_H_MAKE(TC_H_CLSACT, 0);
	bpf_attach_put_attribute(&q, TCA_KIND, "clsact", 7);
	if (bpf_attach_send_request(&q) == -1 && errno != EEXIST) {
		*h = bpf_attach_none;
		return -1;
	}
	q = bpf_attach_filter_request(
	    RTM_NEWTFILTER, NLM_F_CREATE | NLM_F_REPLACE, h);
	options = bpf_attach_put_attribute(&q, TCA_OPTIONS, NULL, 0);
	bpf_attach_put_attribute(&q, TCA_BPF_FD, &fd, 4);
	bpf_attach_put_attribute(&q, TCA_BPF_NAME, "innet", 6);
	bpf_attach_put_attribute(&q, TCA_BPF_FLAGS, &flags, 4);
	options->rta_len = (uint16_t)((uint8_t *)&q + q.head.nlmsg_len -
	    (uint8_t *)options);
	if (bpf_attach_send_request(&q) == 0)
		return 0;
	*h = bpf_attach_none;
	return -1;
}

/*
 * Attach a program at ingress, or at egress if `leaving` is true.  Returns 0,
 * or -1 with errno.
 */
static inline int
bpf_attach_program(
    struct bpf_attach *h, int program, uint32_t interface, bool leaving)
{
	*h = bpf_attach_none;
	h->link = ebpf_attach_program(
	    program, interface, leaving ? EBPF_AT_EGRESS : EBPF_AT_INGRESS, 0);
	if (h->link != -1)
		return 0;
	if (errno != EINVAL && errno != EOPNOTSUPP)
		return -1;
	return bpf_attach_as_filter(h, program, interface, leaving);
}

/*
 * Detach the program.  The queueing discipline stays attached, but costs no
 * time.
 */
static inline void
bpf_attach_detach(struct bpf_attach *h)
{
	struct bpf_attach_request q;

	if (h->link != -1) {
		close(h->link);
	} else if (h->interface != 0) {
		q = bpf_attach_filter_request(RTM_DELTFILTER, 0, h);
		bpf_attach_send_request(&q);
	}
	*h = bpf_attach_none;
}

/* Return the way in which the program is attached, as text for users. */
static inline const char *
bpf_attach_describe(const struct bpf_attach *h)
{
	return h->link != -1 ? "tcx" : "clsact, because this kernel has no tcx";
}

#endif
