/*
 * netlink.h - ask the kernel about interfaces and neighbours (rtnetlink(7))
 *
 * netlink_query() reads a whole table, message by message.  A socket of
 * netlink_open_events() receives all later changes.  netlink_read_link() and
 * netlink_read_neighbour() parse the two kinds of messages that a switch on a
 * bridge needs.  The first kind describes an interface and, if it is a port of
 * a bridge, its state.  The second kind contains the port behind which a host
 * is, or the host's Ethernet address.  Fields that a message does not contain
 * are 0.
 *
 * The bytes are borrowed and not trusted.  Numbers are in host byte order, and
 * addresses are as on the wire.  On failure, functions return -1 with errno.
 */
#ifndef INNET_SWITCH_INPATH_NETLINK_H
#define INNET_SWITCH_INPATH_NETLINK_H

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/net/udp-io.h"

enum {
	/* types of messages */
	NETLINK_ERROR = 2, NETLINK_DONE = 3, NETLINK_NEW_LINK = 16,
	NETLINK_DEL_LINK = 17, NETLINK_GET_LINK = 18,
	NETLINK_NEW_NEIGHBOUR = 28, NETLINK_DEL_NEIGHBOUR = 29,
	NETLINK_GET_NEIGHBOUR = 30,
	/* address family of the tables of a bridge */
	NETLINK_FAMILY_BRIDGE = 7,
	/* sizes */
	NETLINK_HEAD_BYTES = 16, NETLINK_LINK_BYTES = 16,
	NETLINK_NEIGHBOUR_BYTES = 12, NETLINK_NAME_BYTES = 16,
	/* states of a port of a bridge (IEEE 802.1D) */
	NETLINK_PORT_FORWARDS = 3,
	/* flags of an interface: IFF_UP, IFF_LOWER_UP */
	NETLINK_UP = 1, NETLINK_LOWER_UP = 1 << 16
};

/* The unread part of a buffer of messages or attributes. */
struct netlink {
	const uint8_t *p;
	size_t left;
};

struct netlink_message {
	uint16_t type;
	const uint8_t *p;	/* bytes after the header */
	size_t bytes;
};

/* An interface. */
struct netlink_link {
	bool gone;
	uint8_t family;	/* NETLINK_FAMILY_BRIDGE if it describes a port */
	uint32_t index, flags;
	uint32_t master;	/* bridge to which the port belongs; 0: none */
	uint32_t mtu;
	char name[NETLINK_NAME_BYTES];
	uint8_t mac[6];
	bool is_bridge, filters_vlans;
	bool has_state;
	uint8_t state;		/* state of a port (IEEE 802.1D) */
	bool isolated;	/* the port is isolated: it sends no frames to other
			 * isolated ports */
};

/*
 * A neighbour: an Ethernet address that is behind a port of the bridge or
 * belongs to an IP address.
 */
struct netlink_neighbour {
	bool gone;
	uint8_t family;
	uint32_t index;		/* index of the port or interface */
	uint32_t master;	/* the bridge; 0: none */
	uint16_t state, vlan;
	uint8_t flags;
	bool has_mac;
	uint8_t mac[6];
	uint8_t ip[16];
	size_t ip_bytes;	/* length of the IP address: 4 or 16; 0: none */
};

enum { NETLINK_BUFFER_BYTES = 65536, NETLINK_EVENTS_BYTES = 4 << 20 };

typedef void netlink_handler(void *ctx, const struct netlink_message *m);

/*
 * Read a table of an address family and call the handler with each message.
 * `type` is NETLINK_GET_LINK or NETLINK_GET_NEIGHBOUR.
 */
static inline int netlink_query(uint16_t type, uint8_t family,
    netlink_handler *handler, void *ctx);

/* Return a socket that receives changes of interfaces and neighbours. */
static inline int netlink_open_events(void);

/*
 * Receive one datagram and call the handler with each message.  Returns 1 if
 * there may be more datagrams, 0 at the end of a table or if no datagram has
 * arrived, and -1 with errno on failure (ENOBUFS: messages were lost).
 */
static inline int netlink_receive(int fd, netlink_handler *handler, void *ctx);

/* Parse an interface; returns false if the message is about something else. */
static inline bool netlink_read_link(const struct netlink_message *m,
    struct netlink_link *l);

/* Parse a neighbour; returns false if the message is about something else. */
static inline bool netlink_read_neighbour(const struct netlink_message *m,
    struct netlink_neighbour *b);

/* Start to walk over a buffer of messages. */
static inline struct netlink netlink_walk(const void *p, size_t bytes);

/*
 * Set *m to the next message; returns false at the end, or if the bytes are not
 * a message.
 */
static inline bool netlink_next_message(struct netlink *n,
    struct netlink_message *m);

/* implementation */

static inline struct netlink
netlink_walk(const void *p, size_t bytes)
{
	return (struct netlink){ .p = p, .left = bytes };
}

static inline uint32_t
netlink_u32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint16_t
netlink_u16(const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline bool
netlink_next_message(struct netlink *n, struct netlink_message *m)
{
	size_t bytes, whole;

	if (n->left < NETLINK_HEAD_BYTES)
		return false;
	bytes = netlink_u32(n->p);
	if (bytes < NETLINK_HEAD_BYTES || bytes > n->left)
		return false;
	*m = (struct netlink_message){ .type = netlink_u16(n->p + 4),
	    .p = n->p + NETLINK_HEAD_BYTES,
	    .bytes = bytes - NETLINK_HEAD_BYTES };
	whole = (bytes + 3) & ~(size_t)3;
	if (whole > n->left)
		whole = n->left;
	n->p += whole;
	n->left -= whole;
	return true;
}

/* Set *type and *in to the next attribute; returns false at the end. */
static inline bool
netlink_next_attribute(struct netlink *n, uint16_t *type, struct netlink *in)
{
	size_t bytes, whole;

	if (n->left < 4)
		return false;
	bytes = netlink_u16(n->p);
	if (bytes < 4 || bytes > n->left)
		return false;
	*type = netlink_u16(n->p + 2) & 0x3fff;
	*in = netlink_walk(n->p + 4, bytes - 4);
	whole = (bytes + 3) & ~(size_t)3;
	if (whole > n->left)
		whole = n->left;
	n->p += whole;
	n->left -= whole;
	return true;
}

/*
 * Set *v to the number in the attribute if the attribute has at least 4 bytes.
 */
static inline void
netlink_get_number(const struct netlink *in, uint32_t *v)
{
	if (in->left >= 4)
		*v = netlink_u32(in->p);
}

/* Read the attributes of a port of a bridge. */
static inline void
netlink_read_port(struct netlink n, struct netlink_link *l)
{
	enum { STATE = 1, ISOLATED = 33 };
	struct netlink in;
	uint16_t type;

	while (netlink_next_attribute(&n, &type, &in)) {
		if (in.left < 1)
			continue;
		if (type == STATE) {
			l->has_state = true;
			l->state = *in.p;
		} else if (type == ISOLATED) {
			l->isolated = *in.p != 0;
		}
	}
}

/* Read the attributes of a bridge. */
static inline void
netlink_read_bridge(struct netlink n, struct netlink_link *l)
{
	enum { KIND = 1, DATA = 2, VLAN_FILTERING = 7 };
	struct netlink in, data = { 0 };
	uint16_t type;

	while (netlink_next_attribute(&n, &type, &in)) {
		if (type == KIND)
			l->is_bridge = in.left >= 6 &&
			    memcmp(in.p, "bridge", 6) == 0;
		else if (type == DATA)
			data = in;
	}
	while (l->is_bridge && netlink_next_attribute(&data, &type, &in)) {
		if (type == VLAN_FILTERING && in.left >= 1)
			l->filters_vlans = *in.p != 0;
	}
}

static inline bool
netlink_read_link(const struct netlink_message *m, struct netlink_link *l)
{
	enum { ADDRESS = 1, NAME = 3, MTU = 4, MASTER = 10, PORT = 12,
	    INFO = 18 };
	struct netlink n, in;
	uint16_t type;

	if ((m->type != NETLINK_NEW_LINK && m->type != NETLINK_DEL_LINK) ||
	    m->bytes < NETLINK_LINK_BYTES)
		return false;
	*l = (struct netlink_link){ .gone = m->type == NETLINK_DEL_LINK,
	    .family = m->p[0], .index = netlink_u32(m->p + 4),
	    .flags = netlink_u32(m->p + 8) };
	n = netlink_walk(m->p + NETLINK_LINK_BYTES,
	    m->bytes - NETLINK_LINK_BYTES);
	while (netlink_next_attribute(&n, &type, &in)) {
		switch (type) {
		case ADDRESS:
			if (in.left == 6)
				memcpy(l->mac, in.p, 6);
			break;
		case NAME:
			memset(l->name, 0, sizeof(l->name));
			memcpy(l->name, in.p, in.left < sizeof(l->name) - 1 ?
			    in.left : sizeof(l->name) - 1);
			break;
		case MTU: netlink_get_number(&in, &l->mtu); break;
		case MASTER: netlink_get_number(&in, &l->master); break;
		case PORT: netlink_read_port(in, l); break;
		case INFO: netlink_read_bridge(in, l); break;
		}
	}
	return true;
}

static inline bool
netlink_read_neighbour(const struct netlink_message *m,
    struct netlink_neighbour *b)
{
	enum { DST = 1, ADDRESS = 2, VLAN = 5, MASTER = 9 };
	struct netlink n, in;
	uint16_t type;

	if ((m->type != NETLINK_NEW_NEIGHBOUR &&
	    m->type != NETLINK_DEL_NEIGHBOUR) ||
	    m->bytes < NETLINK_NEIGHBOUR_BYTES)
		return false;
	*b = (struct netlink_neighbour){
	    .gone = m->type == NETLINK_DEL_NEIGHBOUR, .family = m->p[0],
	    .index = netlink_u32(m->p + 4), .state = netlink_u16(m->p + 8),
	    .flags = m->p[10] };
	n = netlink_walk(m->p + NETLINK_NEIGHBOUR_BYTES,
	    m->bytes - NETLINK_NEIGHBOUR_BYTES);
	while (netlink_next_attribute(&n, &type, &in)) {
		switch (type) {
		case DST:
			if (in.left == 4 || in.left == 16) {
				b->ip_bytes = in.left;
				memcpy(b->ip, in.p, in.left);
			}
			break;
		case ADDRESS:
			b->has_mac = in.left == 6;
			if (b->has_mac)
				memcpy(b->mac, in.p, 6);
			break;
		case VLAN:
			if (in.left >= 2)
				b->vlan = netlink_u16(in.p);
			break;
		case MASTER: netlink_get_number(&in, &b->master); break;
		}
	}
	return true;
}

static inline int
netlink_open_events(void)
{
	const struct sockaddr_nl at = { .nl_family = AF_NETLINK,
	    .nl_groups = RTMGRP_LINK | RTMGRP_NEIGH };
	const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC |
	    SOCK_NONBLOCK, NETLINK_ROUTE);
	int saved;

	if (fd == -1)
		return -1;
	udpio_set_option(fd, SOL_SOCKET, SO_RCVBUF, NETLINK_EVENTS_BYTES);
	udpio_set_option(fd, SOL_SOCKET, SO_RCVBUFFORCE, NETLINK_EVENTS_BYTES);
	if (bind(fd, (const struct sockaddr *)&at, sizeof(at)) == 0)
		return fd;
	saved = errno;
	close(fd);
	errno = saved;
	return -1;
}

static inline int
netlink_receive(int fd, netlink_handler *handler, void *ctx)
{
	static _Alignas(8) uint8_t bytes[NETLINK_BUFFER_BYTES];
	const ssize_t n = recv(fd, bytes, sizeof(bytes), 0);
	struct netlink_message m;
	struct netlink all;

	if (n == -1)
		return errno == EAGAIN ? 0 : errno == EINTR ? 1 : -1;
	all = netlink_walk(bytes, (size_t)n);
	while (netlink_next_message(&all, &m)) {
		if (m.type == NETLINK_DONE)
			return 0;
		if (m.type == NETLINK_ERROR) {
			errno = m.bytes < 4 ? EPROTO :
			    -(int)netlink_u32(m.p);
			return errno == 0 ? 0 : -1;
		}
		handler(ctx, &m);
	}
	return 1;
}

static inline int
netlink_query(
    uint16_t type, uint8_t family, netlink_handler *handler, void *ctx)
{
	const struct timeval second = { .tv_sec = 1 };
	struct {
		struct nlmsghdr head;
		union { struct ifinfomsg link; struct ndmsg neighbour; } u;
	} q = { .head = { .nlmsg_type = type, .nlmsg_seq = 1,
	    .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP } };
	const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC,
	    NETLINK_ROUTE);
	int got = 1, saved;

	if (fd == -1)
		return -1;
	if (type == NETLINK_GET_LINK) {
		q.u.link.ifi_family = family;
		q.head.nlmsg_len = NLMSG_LENGTH(sizeof(q.u.link));
	} else {
		q.u.neighbour.ndm_family = family;
		q.head.nlmsg_len = NLMSG_LENGTH(sizeof(q.u.neighbour));
	}
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &second,
	    sizeof(second));
	if (send(fd, &q, q.head.nlmsg_len, 0) == -1)
		got = -1;
	while (got == 1)
		got = netlink_receive(fd, handler, ctx);
	saved = errno;
	close(fd);
	errno = saved;
	return got;
}

#endif
