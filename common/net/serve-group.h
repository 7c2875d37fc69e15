/*
 * serve-group.h - send a result once for all hosts of the switch's subnet
 *
 * With a multicast group, the socket of the switch's own address sends a result
 * once to this group, through the interface that has the address.  The hosts in
 * the subnet of this interface receive it there; every other host needs its own
 * copy.  This is a separate file because it needs the list of interfaces, which
 * no other socket of the switch needs.
 */
#ifndef INNET_NET_SERVE_GROUP_H
#define INNET_NET_SERVE_GROUP_H

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "common/base/message.h"
#include "common/net/serve-sockets.h"
#include "common/wire/addr.h"

/*
 * Let the switch send to `group` through the interface that has the address of
 * its own socket.  If the group has no address family, do nothing.  Exits with
 * status 1 if the interface cannot send to the group.
 */
static inline void serve_open_group(struct serve *s, const union addr *group);

/* implementation */

/* Are two addresses equal where `mask` has bits? */
static inline bool
serve_same_subnet(const union addr *a, const union addr *b,
    const union addr *mask)
{
	const uint8_t *x = a->in6.sin6_addr.s6_addr,
		      *y = b->in6.sin6_addr.s6_addr,
		      *m = mask->in6.sin6_addr.s6_addr;
	bool same = true;

	if (a->sa.sa_family != b->sa.sa_family)
		return false;
	if (a->sa.sa_family != AF_INET6)
		return ((a->in.sin_addr.s_addr ^ b->in.sin_addr.s_addr) &
		    mask->in.sin_addr.s_addr) == 0;
	for (int i = 0; i < 16; i++)
		same &= ((x[i] ^ y[i]) & m[i]) == 0;
	return same;
}

/* Implement plane_driver.multicast_port: port 0 is the subnet. */
static inline uint32_t
serve_multicast_port(void *ctx, const union addr *at)
{
	const struct serve *s = ctx;

	return s->has_group && serve_same_subnet(at, &s->own.u.local,
	    &s->subnet_mask) ? 0 : PLANE_BEHIND;
}

/* Implement plane_driver.send_multicast. */
static inline void
serve_send_multicast(void *ctx, uint32_t port, const union addr *group,
    const struct post *p, uint64_t now_ns)
{
	struct serve *s = ctx;

	(void)port;
	s->shared += p->count;
	serve_send_run(s, PACKET_SOCKET_OWN, NULL, group, p, now_ns);
}

/*
 * Find the interface with the address `own`; the loopback has all addresses of
 * its subnet.  Returns its flags, or 0 if there is none.  Sets *index and
 * *mask, the netmask of the address.
 */
static inline unsigned
serve_find_interface(const union addr *own, unsigned *index, union addr *mask)
{
	struct ifaddrs *all;
	unsigned flags = 0;

	if (getifaddrs(&all) == -1)
		return 0;
	for (const struct ifaddrs *i = all; i != NULL; i = i->ifa_next) {
		union addr a = { 0 }, m = { 0 };

		if (flags != 0 || i->ifa_addr == NULL ||
		    i->ifa_netmask == NULL ||
		    i->ifa_addr->sa_family != own->sa.sa_family)
			continue;
		memcpy(&a, i->ifa_addr, addr_len(own));
		memcpy(&m, i->ifa_netmask, addr_len(own));
		if (!addr_same_host(&a, own) &&
		    ((i->ifa_flags & IFF_LOOPBACK) == 0 ||
		    !serve_same_subnet(&a, own, &m)))
			continue;
		flags = i->ifa_flags;
		*index = if_nametoindex(i->ifa_name);
		*mask = m;
	}
	freeifaddrs(all);
	return flags;
}

/* Does the socket fd send multicast through interface number `index` now? */
static inline bool
serve_set_interface(int fd, bool v6, unsigned index)
{
	const struct ip_mreqn four = { .imr_ifindex = (int)index };

	return (v6 ? setsockopt(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, &index,
	    sizeof(index)) : setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &four,
	    sizeof(four))) == 0;
}

/* Does the kernel know a way to `group` through interface number `index`? */
static inline bool
serve_reaches_group(const union addr *group, unsigned index)
{
	const bool v6 = group->sa.sa_family == AF_INET6;
	const int fd = socket(group->sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC,
	    0);
	bool reaches;
	int saved;

	reaches = fd != -1 && serve_set_interface(fd, v6, index) &&
	    connect(fd, &group->sa, addr_len(group)) == 0;
	saved = errno;
	if (fd != -1)
		close(fd);
	errno = saved;
	return reaches;
}

static inline void
serve_open_group(struct serve *s, const union addr *group)
{
	const union addr *own = &s->own.u.local;
	const unsigned can = IFF_MULTICAST | IFF_LOOPBACK;
	char name[ADDR_NAME_BYTES], at[ADDR_NAME_BYTES];
	unsigned index = 0, flags;

	if (group->sa.sa_family == 0)
		return;
	addr_print(group, name);
	flags = serve_find_interface(own, &index, &s->subnet_mask);
	if (flags == 0)
		errx(1, "--multicast %s: no interface has the address %s",
		    name, addr_print(own, at));
	if ((flags & can) == 0)
		errx(1, "--multicast %s: the interface with the address %s "
		    "cannot send multicast", name, addr_print(own, at));
	if (!serve_reaches_group(group, index) ||
	    !serve_set_interface(s->own.u.fd,
	    group->sa.sa_family == AF_INET6, index))
		err(1, "--multicast %s: the group cannot be reached from %s",
		    name, addr_print(own, at));
	s->has_group = true;
}

/* The driver of a plane that may have a multicast group. */
static const struct plane_driver serve_group_driver = {
	.send_run = serve_send_run, .send_slot = serve_send_slot,
	.flush_departed = serve_flush_departed, .clock_ns = serve_clock_ns,
	.multicast_port = serve_multicast_port,
	.send_multicast = serve_send_multicast
};

#endif
