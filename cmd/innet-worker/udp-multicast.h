/*
 * udp-multicast.h - receive packets to a multicast group, too
 *
 * A struct udpio gets a second socket that is bound to the group's address and
 * port.  Other processes on this host can bind to that address and port, too.
 * udpio_recv() receives from both sockets.
 */
#ifndef INNET_WORKER_UDP_MULTICAST_H
#define INNET_WORKER_UDP_MULTICAST_H

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/net/udp-io.h"
#include "common/wire/addr.h"

/* Return the index of the interface that has the IPv6 address `local`, or 0. */
static inline unsigned
udp_multicast_interface(const union addr *local)
{
	struct ifaddrs *all, *i;
	unsigned index = 0;

	if (getifaddrs(&all) == -1)
		return 0;
	for (i = all; i != NULL && index == 0; i = i->ifa_next) {
		const struct sockaddr_in6 *a = (const void *)i->ifa_addr;

		if (a != NULL && a->sin6_family == AF_INET6 &&
		    IN6_ARE_ADDR_EQUAL(&a->sin6_addr, &local->in6.sin6_addr))
			index = if_nametoindex(i->ifa_name);
	}
	freeifaddrs(all);
	return index;
}

/* Tell the kernel to receive packets to a group on the interface of `local`. */
static inline int
udp_multicast_join(int fd, const union addr *group, const union addr *local)
{
	const struct ipv6_mreq six = {
	    .ipv6mr_multiaddr = group->in6.sin6_addr,
	    .ipv6mr_interface = udp_multicast_interface(local) };
	const struct ip_mreqn four = { .imr_multiaddr = group->in.sin_addr,
	    .imr_address = local->in.sin_addr };

	return group->sa.sa_family == AF_INET6 ?
	    setsockopt(fd, IPPROTO_IPV6, IPV6_JOIN_GROUP, &six, sizeof(six)) :
	    setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &four, sizeof(four));
}

/*
 * Let u receive packets that `from` sends to a group.  If the group has no
 * address family, leave the current group.  Returns 0, or -1 with errno set.
 * After a failure, u is in no group.
 */
static inline int
udp_multicast_set_group(struct udpio *u, const union addr *group,
    const union addr *from)
{
	const int on = 1;
	int fd, saved;

	if (u->in_multicast_group)
		close(u->group_fd);
	u->in_multicast_group = false;
	if (group->sa.sa_family == 0)
		return 0;
	fd = socket(group->sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC |
	    SOCK_NONBLOCK, 0);
	if (fd == -1)
		return -1;
	udpio_set_options(fd, group->sa.sa_family == AF_INET6, u->tos);
	if (u->gro)
		udpio_set_option(fd, SOL_UDP, UDP_GRO, 1);
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == -1 ||
	    bind(fd, &group->sa, addr_len(group)) == -1 ||
	    connect(fd, &from->sa, addr_len(from)) == -1 ||
	    udp_multicast_join(fd, group, &u->local) == -1) {
		saved = errno;
		close(fd);
		errno = saved;
		return -1;
	}
	u->in_multicast_group = true;
	u->group_fd = fd;
	u->group = *group;
	return 0;
}

/*
 * Record which of the two sockets have messages.  `n` is what ppoll() returned,
 * and `own` and `group` are the events of the two sockets.  The own socket must
 * come first in the list of ppoll().  If a message is found in the own socket,
 * all messages that were sent to the group before this message are then found
 * as well.
 */
static inline void
udp_multicast_set_ready(struct udpio *u, int n, short own, short group)
{
	u->ready = n == -1 || (n > 0 && (own & POLLIN) != 0);
	u->group_ready = n == -1 || (n > 0 && (group & POLLIN) != 0);
}

#endif
