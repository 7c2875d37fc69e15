/*
 * serve-group.h - send a result once for all hosts of the switch's subnet
 *
 * If there is a multicast group, the switch sends a result once to this group,
 * through the interface that has the switch's own address.  The hosts in the
 * subnet of this interface receive this packet.  Every other host gets its own
 * copy.  This is a separate file because it reads the list of interfaces, which
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
#include "common/wire/networks.h"

/*
 * Prepare the switch to send to `group` through the interface that has the
 * address of the switch's own socket.  If the group has no address family, do
 * nothing.  Exits with status 1 if the interface cannot send to the group.
 */
static inline void serve_open_group(struct serve *s, const union addr *group);

/* implementation */

/* Return the network of address `a`, whose netmask is `mask`. */
static inline struct networks_one
serve_get_network(const union addr *a, const union addr *mask)
{
	const bool v6 = a->sa.sa_family == AF_INET6;
	const uint8_t *m = v6 ? mask->in6.sin6_addr.s6_addr :
	    (const uint8_t *)&mask->in.sin_addr;
	struct networks_one net = { .bits = v6 ? 0 : 96 };

	addr_bytes(a, net.base);
	for (int i = 0; i < (v6 ? 16 : 4); i++)
		net.bits += (unsigned)__builtin_popcount(m[i]);
	return net;
}

/* Is address `a` in the network? */
static inline bool
serve_network_has(const struct networks_one *net, const union addr *a)
{
	uint8_t bytes[16];

	addr_bytes(a, bytes);
	return networks_one_has(net, bytes);
}

/* Implement plane_driver.multicast_port: port 0 is the subnet. */
static inline uint32_t
serve_multicast_port(void *ctx, const union addr *at)
{
	const struct serve *s = ctx;

	return s->has_group && serve_network_has(&s->subnet, at) ? 0 :
	    PLANE_BEHIND;
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
 * Find the interface with the address `own`; the loopback interface has all
 * addresses of its subnet.  Returns the flags of the interface, or 0 if there
 * is no such interface.  Sets *index to its number and *net to its subnet.
 */
static inline unsigned
serve_find_interface(const union addr *own, unsigned *index,
    struct networks_one *net)
{
	struct ifaddrs *all;
	unsigned flags = 0;

	if (getifaddrs(&all) == -1)
		return 0;
	for (const struct ifaddrs *i = all; i != NULL; i = i->ifa_next) {
		union addr a = { 0 }, m = { 0 };
		struct networks_one of;

		if (flags != 0 || i->ifa_addr == NULL ||
		    i->ifa_netmask == NULL ||
		    i->ifa_addr->sa_family != own->sa.sa_family)
			continue;
		memcpy(&a, i->ifa_addr, addr_len(own));
		memcpy(&m, i->ifa_netmask, addr_len(own));
		of = serve_get_network(&a, &m);
		if (!addr_same_host(&a, own) &&
		    ((i->ifa_flags & IFF_LOOPBACK) == 0 ||
		    !serve_network_has(&of, own)))
			continue;
		flags = i->ifa_flags;
		*index = if_nametoindex(i->ifa_name);
		*net = of;
	}
	freeifaddrs(all);
	return flags;
}

/*
 * Does the socket fd send multicast packets through interface number `index`
 * now?
 */
static inline bool
serve_set_interface(int fd, bool v6, unsigned index)
{
	const struct ip_mreqn four = { .imr_ifindex = (int)index };

	return (v6 ? setsockopt(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, &index,
	    sizeof(index)) : setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &four,
	    sizeof(four))) == 0;
}

/* Does the kernel have a route to `group` through interface number `index`? */
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
	flags = serve_find_interface(own, &index, &s->subnet);
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

/* The driver with which the plane must be initialised for serve_run(). */
static const struct plane_driver serve_driver = {
	.send_run = serve_send_run, .send_slot = serve_send_slot,
	.flush_departed = serve_flush_departed, .clock_ns = serve_clock_ns,
	.multicast_port = serve_multicast_port,
	.send_multicast = serve_send_multicast
};

#endif
