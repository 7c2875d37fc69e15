/*
 * vlan-tags.h - have an interface leave VLAN tags in the frames that come
 *
 * Where it takes them off (rx-vlan-offload), the kernel carries them beside the
 * frame, and a program of XDP is shown a frame without: its tag would be lost.
 */
#ifndef INNET_SWITCH_INPATH_VLAN_TAGS_H
#define INNET_SWITCH_INPATH_VLAN_TAGS_H

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* Ask an interface for its flags, or set them; -1 with errno. */
static inline int
vlan_tags_flags(uint32_t index, struct ethtool_value *v)
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

/* Does the interface take tags off?  One that does not say does not. */
static inline bool
vlan_tags_taken(uint32_t index, uint32_t *flags)
{
	struct ethtool_value v = { .cmd = ETHTOOL_GFLAGS };

	if (vlan_tags_flags(index, &v) == -1)
		return false;
	*flags = v.data;
	return (v.data & ETH_FLAG_RXVLAN) != 0;
}

/* From now on it takes them off, or leaves them; false if it does not obey. */
static inline bool
vlan_tags_take(uint32_t index, bool take)
{
	struct ethtool_value v = { .cmd = ETHTOOL_SFLAGS };
	uint32_t flags = 0;

	if (vlan_tags_taken(index, &flags) == take)
		return true;
	v.data = flags ^ ETH_FLAG_RXVLAN;
	return vlan_tags_flags(index, &v) == 0 &&
	    vlan_tags_taken(index, &flags) == take;
}

#endif
