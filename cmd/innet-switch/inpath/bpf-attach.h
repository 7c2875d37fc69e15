/*
 * bpf-attach.h - a program at a hook of an interface, as long as it is held
 *
 * By tcx (Linux 6.6), which goes with the process, however it ends; before
 * that by a filter of the clsact queueing discipline.  That one stays when the
 * process is killed, and passes everything then, as bpf-classifier.h has it; the next
 * process takes its place.
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
#include "cmd/innet-switch/inpath/links.h"

enum { HOOK_PRIORITY = 0xc001, HOOK_BYTES = 256 };

struct hook {
	int link;			/* -1: none, or a filter: */
	uint32_t interface;		/* 0: none */
	bool leaving;			/* where frames leave, else come */
};

static const struct hook hook_none = { .link = -1 };

static inline bool
hook_held(const struct hook *h)
{
	return h->link != -1 || h->interface != 0;
}

/* A request about queueing or filters, being written. */
struct hook_request {
	struct nlmsghdr head;
	struct tcmsg tc;
	uint8_t more[HOOK_BYTES];
};

/* Add an attribute; its place. */
static inline struct rtattr *
hook_put(struct hook_request *q, uint16_t type, const void *p, size_t bytes)
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

/* Ask the kernel for it: 0, or -1 with errno. */
static inline int
hook_ask(struct hook_request *q)
{
	const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC,
	    NETLINK_ROUTE);
	int got = -1, saved;

	if (fd == -1)
		return -1;
	if (send(fd, q, q->head.nlmsg_len, 0) != -1)
		got = links_hear(fd, NULL, NULL);
	saved = errno;
	close(fd);
	errno = saved;
	return got;
}

static inline struct hook_request
hook_request(uint16_t type, uint16_t flags, uint32_t interface)
{
	return (struct hook_request){ .head = { .nlmsg_type = type,
	    .nlmsg_flags = (uint16_t)(NLM_F_REQUEST | NLM_F_ACK | flags),
	    .nlmsg_len = NLMSG_LENGTH(sizeof(struct tcmsg)) },
	    .tc = { .tcm_ifindex = (int)interface } };
}

/* The filter at a hook: made, replaced or deleted. */
static inline struct hook_request
hook_filter(uint16_t type, uint16_t flags, const struct hook *h)
{
	struct hook_request q = hook_request(type, flags, h->interface);

	q.tc.tcm_parent = TC_H_MAKE(TC_H_CLSACT, h->leaving ?
	    TC_H_MIN_EGRESS : TC_H_MIN_INGRESS);
	q.tc.tcm_handle = 1;
	q.tc.tcm_info = TC_H_MAKE((uint32_t)HOOK_PRIORITY << 16,
	    htons(ETH_P_ALL));
	hook_put(&q, TCA_KIND, "bpf", 4);
	return q;
}

/* Attach by clsact: 0, or -1 with errno. */
static inline int
hook_attach_filter(struct hook *h, int program, uint32_t interface,
    bool leaving)
{
	const uint32_t fd = (uint32_t)program, flags = TCA_BPF_FLAG_ACT_DIRECT;
	struct hook_request q = hook_request(RTM_NEWQDISC, NLM_F_CREATE |
	    NLM_F_EXCL, interface);
	struct rtattr *options;

	*h = (struct hook){ .link = -1, .interface = interface,
	    .leaving = leaving };
	q.tc.tcm_parent = TC_H_CLSACT;
	q.tc.tcm_handle = TC_H_MAKE(TC_H_CLSACT, 0);
	hook_put(&q, TCA_KIND, "clsact", 7);
	if (hook_ask(&q) == -1 && errno != EEXIST) {
		*h = hook_none;
		return -1;
	}
	q = hook_filter(RTM_NEWTFILTER, NLM_F_CREATE | NLM_F_REPLACE, h);
	options = hook_put(&q, TCA_OPTIONS, NULL, 0);
	hook_put(&q, TCA_BPF_FD, &fd, 4);
	hook_put(&q, TCA_BPF_NAME, "innet", 6);
	hook_put(&q, TCA_BPF_FLAGS, &flags, 4);
	options->rta_len = (uint16_t)((uint8_t *)&q + q.head.nlmsg_len -
	    (uint8_t *)options);
	if (hook_ask(&q) == 0)
		return 0;
	*h = hook_none;
	return -1;
}

/* Attach a program where frames come, or leave: 0, or -1 with errno. */
static inline int
hook_attach(struct hook *h, int program, uint32_t interface, bool leaving)
{
	*h = hook_none;
	h->link = ebpf_attach(program, interface, leaving ? EBPF_AT_EGRESS :
	    EBPF_AT_INGRESS, 0);
	if (h->link != -1)
		return 0;
	if (errno != EINVAL && errno != EOPNOTSUPP)
		return -1;
	return hook_attach_filter(h, program, interface, leaving);
}

/* The program goes; the queueing discipline, which takes no time, stays. */
static inline void
hook_close(struct hook *h)
{
	struct hook_request q;

	if (h->link != -1) {
		close(h->link);
	} else if (h->interface != 0) {
		q = hook_filter(RTM_DELTFILTER, 0, h);
		hook_ask(&q);
	}
	*h = hook_none;
}

/* How it is attached, in words. */
static inline const char *
hook_how(const struct hook *h)
{
	return h->link != -1 ? "tcx" : "clsact, as this kernel has no tcx";
}

#endif
