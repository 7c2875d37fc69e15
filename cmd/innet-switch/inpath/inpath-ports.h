/*
 * inpath-ports.h - the interfaces at which a switch in the path takes frames
 *
 * With a bridge, these interfaces are the ports of the bridge, as the kernel
 * reports them.  The switch joins a port that is added and leaves a port that
 * is removed.  It learns which host is behind which port from the kernel's
 * table and from received frames.  Two switches must not use the same port.
 * Each switch therefore locks a port by a name that the kernel keeps while the
 * process lives.
 *
 * For tools: the functions print errors, and exit with status 1 if an error
 * occurs while the path is opened.
 */
#ifndef INNET_SWITCH_INPATH_INPATH_PORTS_H
#define INNET_SWITCH_INPATH_INPATH_PORTS_H

#include <errno.h>
#include <linux/capability.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "cmd/innet-switch/inpath/netlink.h"
#include "cmd/innet-switch/inpath/netport-packet.h"
#include "cmd/innet-switch/inpath/netport-tap.h"
#include "cmd/innet-switch/inpath/netport-xdp.h"
#include "common/base/message.h"
#include "common/net/serve-sockets.h"
#include "cmd/innet-switch/inpath/bpf-classifier.h"
#include "cmd/innet-switch/inpath/stations.h"

enum {
	INPATH_PORTS = 64, INPATH_RUN_MAX = 1024,
	INPATH_HEAD_MAX = FRAME_V6_BYTES + 8
};

struct inpath_rate {
	char port[IF_NAMESIZE];
	uint64_t bps;
};

struct inpath_conf {
	const char *where;		/* name of the bridge, or names of the
					 * interfaces; NULL: the switch is not
					 * in the path */
	bool wire;			/* interfaces without a bridge */
	char only[INPATH_PORTS][IF_NAMESIZE]; /* ports to use; if there are
					       * none, use all */
	uint32_t onlys;
	struct inpath_rate rate[INPATH_PORTS];
	uint32_t rates;
	bool every;	/* --rate was given, and limits every port */
	const struct netport_kind *kind;	/* back-end; NULL: choose one */
	bool backend;			/* --backend was given */
	const char *taps;		/* folder for captures, or NULL */
};

enum inpath_count {
	INPATH_FRAMES,		/* number of received frames; a run counts as
				 * one */
	INPATH_FLOODED,		/* number of frames to a host whose port is
				 * unknown */
	INPATH_NO_PORT,		/* number of frames that were dropped as in a
				 * bridge, because they would leave by the port
				 * where they arrived or by a port that does not
				 * forward */
	INPATH_SHARED,		/* number of results that left a port as
				 * multicast */
	INPATH_COUNTS
};

/* The frame, or run of datagrams, that is being processed. */
struct inpath_frame {
	struct netport *from, *to;
	const struct netport_frame *f;
	struct frame fr, one;	/* description of the whole frame; description
				 * of one datagram */
	uint64_t vlan;	/* VLAN of the frame, as frame_vlan() returns it */
	uint64_t came_ns;		/* time of arrival */
	union addr src, dst;
	uint32_t seg_bytes, segs, seg;
	const uint8_t *head;		/* headers of the run, as received */
	uint8_t each[INPATH_HEAD_MAX];	/* headers of every datagram except the
					 * last */
	bool whole; /* the current datagram has its headers in front of it */
	uint8_t hidden[INPATH_HEAD_MAX]; /* bytes that the headers of the
					  * current datagram overwrote */
	bool changed;
	uint8_t passes[INPATH_RUN_MAX];	/* number of copies of each datagram
					 * that will be forwarded */
};

struct inpath {
	struct serve serve;		/* sockets and the clock */
	const struct inpath_conf *cf;
	struct plane *pl;
	struct bpf_classifier classifier;
	const struct netport_kind *kind;
	struct stations stations;
	struct netport port[INPATH_PORTS]; /* a port whose fd is -1 is unused */
	struct serve_source source;	/* functions with which the loop of
					 * serve.h reads the ports */
	struct port *other_port;	/* port of hosts that are behind no
					 * interface */
	struct netport_in in;
	struct netport_out out;
	int events;
	const struct pollfd *waited;	/* index of the entry for `events` in
					 * the poll set */
	uint32_t bridge;		/* interface index of the bridge */
	int lock;	/* descriptor that locks the bridge for this process */
	uint8_t mac[6];
	bool bridge_seen, filters_vlans, look, looked;
	bool tagged;	/* updates between other hosts carry tags */
	bool asked;	/* the kernel's table was already read in this second */
	uint64_t second_ns;
	struct inpath_frame now;
	uint64_t n[INPATH_COUNTS];
};

/* Print in one line why the path cannot be opened, and exit. */
static inline void inpath_fail(const struct inpath *ip, const char *what);

/*
 * Lock an interface for this process.  Returns a descriptor that holds the
 * lock, or -1 with errno.
 */
static inline int inpath_lock_interface(uint32_t index);

/* Query the bridge; returns false if it does not exist. */
static inline bool inpath_query_bridge(struct inpath *ip);

/*
 * Query all interfaces, then join or leave ports; returns false if the bridge
 * does not exist.
 */
static inline bool inpath_query_ports(struct inpath *ip);

/* Ask the kernel which hosts are behind each port. */
static inline void inpath_query_neighbours(struct inpath *ip);

/*
 * netlink_handler: apply a change of a neighbour, or record that a port or the
 * bridge has changed.
 */
static inline void inpath_handle_event(void *ctx,
    const struct netlink_message *m);

/* Return the port with this interface index, or NULL. */
static inline struct netport *inpath_find_port(struct inpath *ip,
    uint32_t index);

/* Is there a port with this name? */
static inline bool inpath_has_port(const struct inpath *ip, const char *name);

/* Leave an interface. */
static inline void inpath_leave_port(struct netport *p);

/* Close the captures of a port.  Returns the exit status. */
static inline int inpath_close_taps(struct netport *p);

/* implementation */

/*
 * The Linux capabilities that the switch needs at the start, and again when a
 * port is added later.
 */
static const struct { int cap; const char *name; } inpath_needs[] = {
	{ CAP_NET_RAW, "CAP_NET_RAW" },		/* sockets that take frames */
	{ CAP_NET_ADMIN, "CAP_NET_ADMIN" },	/* attach programs, make taps */
	{ 39, "CAP_BPF" },			/* load programs */
	{ CAP_IPC_LOCK, "CAP_IPC_LOCK" }	/* memory of AF_XDP sockets */
};

/* Write the names of the missing privileges to `text`. */
static inline const char *
inpath_list_missing(const struct inpath *ip, char text[64])
{
	struct __user_cap_header_struct h = {
		.version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct have[2] = { { 0 } };
	const bool tap = ip->cf->kind != NULL && !ip->cf->kind->needs_raw;
	uint64_t caps;

	text[0] = '\0';
	if (syscall(SYS_capget, &h, have) == -1)
		return text;
	caps = (uint64_t)have[1].effective << 32 | have[0].effective;
	caps |= (caps >> CAP_SYS_ADMIN & 1) << 39;
	for (size_t i = tap ? 1 : 0; i < 3; i++) {
		if ((caps >> inpath_needs[i].cap & 1) == 0)
			snprintf(text + strlen(text), 64 - strlen(text),
			    "%s%s", text[0] == '\0' ? "" : ", ",
			    inpath_needs[i].name);
	}
	return text;
}

/* Return a text that explains an error of the back-end. */
static inline const char *
inpath_error_text(const struct inpath *ip, int error)
{
	const char *why = ip->kind->explain_error == NULL
			      ? NULL
			      : ip->kind->explain_error(error);

	return why != NULL ? why : strerror(error);
}

__attribute__((noreturn)) static inline void
inpath_fail(const struct inpath *ip, const char *what)
{
	const int saved = errno;
	char text[64];

	if (inpath_list_missing(ip, text)[0] != '\0')
		errx(1, "--%s %s: a switch in the path also needs these "
		    "privileges: %s", ip->cf->wire ? "interfaces" : "bridge",
		    ip->cf->where, text);
	errno = saved;
	if (saved == EPERM)
		errx(1, "%s: %s: not permitted; in a user namespace, CAP_BPF "
		    "has no effect", ip->cf->where, what);
	errx(
	    1, "%s: %s: %s", ip->cf->where, what, inpath_error_text(ip, saved));
}

static inline int
inpath_lock_interface(uint32_t index)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	const int n = snprintf(at.sun_path + 1, sizeof(at.sun_path) - 1,
	    "innet-switch/%u", index);
	const socklen_t len = (socklen_t)(offsetof(struct sockaddr_un,
	    sun_path) + 1 + (size_t)n);
	int saved;

	if (fd == -1 || bind(fd, (const struct sockaddr *)&at, len) == 0)
		return fd;
	saved = errno;
	close(fd);
	errno = saved;
	return -1;
}

static inline struct netport *
inpath_find_port(struct inpath *ip, uint32_t index)
{
	for (uint32_t k = 0; k < INPATH_PORTS; k++) {
		if (ip->port[k].fd != -1 && ip->port[k].index == index)
			return &ip->port[k];
	}
	return NULL;
}

static inline bool
inpath_has_port(const struct inpath *ip, const char *name)
{
	for (uint32_t k = 0; k < INPATH_PORTS; k++) {
		if (ip->port[k].fd != -1 && strcmp(ip->port[k].name, name) == 0)
			return true;
	}
	return false;
}

static inline void
inpath_leave_port(struct netport *p)
{
	netport_count_drops(p);
	netport_close(p);
	egress_tap_close(&p->egress_tap);
	close(p->lock);
	p->lock = -1;
	p->up = p->forwards = false;
}

/* Return the rate that was given for one port, or NULL. */
static inline const struct inpath_rate *
inpath_find_rate(const struct inpath *ip, const char *name)
{
	for (uint32_t i = 0; i < ip->cf->rates; i++) {
		if (strcmp(ip->cf->rate[i].port, name) == 0)
			return &ip->cf->rate[i];
	}
	return NULL;
}

/*
 * Return the plane's port for an interface.  If the interface was removed and
 * added again, it gets its old port.
 */
static inline struct port *
inpath_get_plane_port(struct inpath *ip, const struct netport *p)
{
	const struct inpath_rate *rate = inpath_find_rate(ip, p->name);
	struct port_conf cf = ip->pl->ports_cf.all;
	uint32_t k;

	if (p->port != NULL)
		return p->port;
	if (rate != NULL)
		cf.rate_bps = rate->bps;
	k = ports_make_port(&ip->pl->ports, &cf);
	if (k == PORTS_NONE)
		err(1, "%s", p->name);
	return ip->pl->ports.port[k];
}

/* Create a capture of the frames that arrive at a port or leave by it. */
static inline struct pcapio_out *
inpath_open_tap(
    const struct inpath *ip, const struct netport *p, const char *way)
{
	const size_t bytes = strlen(ip->cf->taps) + IF_NAMESIZE + 16;
	struct pcapio_out *out = malloc(sizeof(*out));
	char *path = malloc(bytes);

	if (out == NULL || path == NULL)
		err(1, "%s", ip->cf->taps);
	snprintf(path, bytes, "%s/%s-%s.pcap", ip->cf->taps, p->name, way);
	pcapio_create_or_exit(out, path);
	return out;
}

static inline int
inpath_close_taps(struct netport *p)
{
	struct pcapio_out *const out[] = {
	    p->ingress_capture, p->egress_capture};
	int rc = 0;

	for (size_t i = 0; i < 2 && out[i] != NULL; i++) {
		char *path = (char *)(uintptr_t)out[i]->path;

		rc |= pcapio_close_or_warn(out[i]);
		free(path);
		free(out[i]);
	}
	p->ingress_capture = p->egress_capture = NULL;
	return rc;
}

/*
 * Return the entry for the port with this name: its previous entry, or a free
 * entry.  Returns NULL if all entries are in use.
 */
static inline struct netport *
inpath_find_place(struct inpath *ip, const char *name)
{
	struct netport *spare = NULL;

	for (uint32_t k = 0; k < INPATH_PORTS; k++) {
		struct netport *p = &ip->port[k];

		if (p->fd == -1 && strcmp(p->name, name) == 0)
			return p;
		if (p->fd == -1 && (spare == NULL || (spare->name[0] != '\0' &&
		    p->name[0] == '\0')))
			spare = p;
	}
	if (spare != NULL) {
		ip->serve.rc |= inpath_close_taps(spare);
		spare->port = NULL;
	}
	return spare;
}

/*
 * Start to take frames at an interface.  Returns the port, or NULL with errno.
 */
static inline struct netport *
inpath_join_port(struct inpath *ip, const struct netlink_link *l)
{
	struct netport *p = inpath_find_place(ip, l->name);

	errno = p == NULL ? ENFILE : ERANGE;
	if (p == NULL || (ip->kind->mtu_max != 0 && l->mtu > ip->kind->mtu_max))
		return NULL;
	p->lock = inpath_lock_interface(l->index);
	if (p->lock == -1)
		return NULL;
	p->kind = ip->kind;
	p->index = l->index;
	if (p->kind->open(p, &ip->classifier) == -1) {
		const int saved = errno;

		close(p->lock);
		p->lock = -1;
		errno = saved;
		return NULL;
	}
	memcpy(p->name, l->name, sizeof(p->name));
	p->port = inpath_get_plane_port(ip, p);
	if (ip->cf->taps != NULL && p->ingress_capture == NULL) {
		p->ingress_capture = inpath_open_tap(ip, p, "in");
		p->egress_capture = inpath_open_tap(ip, p, "out");
	}
	if (ip->pl->cf->regular_queued &&
	    (ip->cf->every || inpath_find_rate(ip, p->name) != NULL) &&
	    egress_tap_open(&p->egress_tap, &ip->classifier, p->index,
		p->kind->sets_mark ? -1 : p->fd) == -1) {
		const int saved = errno;

		inpath_leave_port(p);
		errno = saved;
		return NULL;
	}
	return p;
}

/* Should the switch use the interface with this name? */
static inline bool
inpath_wants_port(const struct inpath *ip, const char *name)
{
	for (uint32_t i = 0; i < ip->cf->onlys; i++) {
		if (strcmp(ip->cf->only[i], name) == 0)
			return true;
	}
	return ip->cf->onlys == 0;
}

/* Join a port.  If that fails, print the reason and return NULL. */
static inline struct netport *
inpath_try_port(struct inpath *ip, const struct netlink_link *l)
{
	struct netport *p = inpath_join_port(ip, l);

	if (p != NULL && ip->looked)
		warnx("%s: joined %s", l->name, ip->cf->where);
	if (p != NULL)
		return p;
	if (errno == EADDRINUSE)
		errno = EBUSY;
	if (!ip->looked && errno == EBUSY)
		errx(1, "%s: another innet-switch uses port %s",
		    ip->cf->where, l->name);
	if (!ip->looked)
		inpath_fail(ip, l->name);
	warnx("%s: cannot add this port to the path: %s", l->name,
	    inpath_error_text(ip, errno));
	return NULL;
}

/* Join a port of the bridge, or update its state. */
static inline void
inpath_update_port(struct inpath *ip, const struct netlink_link *l)
{
	struct netport *p = inpath_find_port(ip, l->index);
	const uint32_t up = NETLINK_UP | NETLINK_LOWER_UP;
	const bool was = p != NULL && p->up;

	if (ip->cf->wire && l->master != 0 && !ip->looked)
		errx(1, "%s is a port of a bridge; use --bridge",
		    l->name);
	if (p != NULL && ip->kind->mtu_max != 0 && l->mtu > ip->kind->mtu_max) {
		inpath_leave_port(p);
		p = NULL;
	}
	if (p == NULL)
		p = inpath_try_port(ip, l);
	if (p == NULL)
		return;
	p->up = (l->flags & up) == up;
	p->forwards = p->up && (!l->has_state ||
	    l->state == NETLINK_PORT_FORWARDS);
	p->isolated = l->isolated;
	p->mtu = l->mtu;
	p->seen = true;
	if (ip->looked && was != p->up)
		warnx("%s: %s", p->name, p->up ? "up" : "down");
}

/* netlink_handler: update the bridge or a port. */
static inline void
inpath_update_link(void *ctx, const struct netlink_message *m)
{
	struct inpath *ip = ctx;
	struct netlink_link l;

	if (!netlink_read_link(m, &l) || l.gone)
		return;
	if (ip->cf->wire) {
		if (l.family != NETLINK_FAMILY_BRIDGE &&
		    inpath_wants_port(ip, l.name))
			inpath_update_port(ip, &l);
	} else if (l.index == ip->bridge && l.family != NETLINK_FAMILY_BRIDGE) {
		ip->bridge_seen = l.is_bridge;
		ip->filters_vlans = l.filters_vlans;
		memcpy(ip->mac, l.mac, sizeof(ip->mac));
	} else if (l.family == NETLINK_FAMILY_BRIDGE &&
	    l.master == ip->bridge && inpath_wants_port(ip, l.name)) {
		inpath_update_port(ip, &l);
	}
}

static inline bool
inpath_query_bridge(struct inpath *ip)
{
	ip->bridge_seen = false;
	if (ip->cf->wire)
		return true;
	return netlink_query(NETLINK_GET_LINK, 0, inpath_update_link, ip) !=
		   -1 &&
	       ip->bridge_seen;
}

/* netlink_handler: update the port or the address of a host. */
static inline void
inpath_update_neighbour(void *ctx, const struct netlink_message *m)
{
	enum { PERMANENT = 0x80 };
	struct inpath *ip = ctx;
	struct netlink_neighbour b;
	struct station_at at = { .vlan = 0 };
	struct netport *p;
	union addr host = { 0 };

	if (!netlink_read_neighbour(m, &b) || !b.has_mac)
		return;
	p = inpath_find_port(ip, b.index);
	if (b.family == NETLINK_FAMILY_BRIDGE && (p != NULL || b.index ==
	    ip->bridge)) {
		const uint32_t k = (b.state & PERMANENT) != 0 || p == NULL ?
		    STATIONS_HERE : (uint32_t)(p - ip->port);

		if (b.gone)
			stations_forget_port(&ip->stations, b.mac, k);
		else
			stations_set_port(&ip->stations, b.mac, k);
	} else if (b.index == ip->bridge && !b.gone && b.ip_bytes != 0) {
		flow_addr(&host, b.ip, 0, b.ip_bytes == 16);
		memcpy(at.mac, b.mac, 6);
		stations_set_host(&ip->stations, &host, &at);
	}
}

static inline void
inpath_query_neighbours(struct inpath *ip)
{
	ip->stations.forgot = false;
	ip->asked = true;
	if (ip->cf->wire)
		return;	/* the switch learns all hosts from frames */
	if (netlink_query(NETLINK_GET_NEIGHBOUR, NETLINK_FAMILY_BRIDGE,
		inpath_update_neighbour, ip) == -1 ||
	    netlink_query(
		NETLINK_GET_NEIGHBOUR, 0, inpath_update_neighbour, ip) == -1)
		warn("%s: neighbours", ip->cf->where);
}

static inline bool
inpath_query_ports(struct inpath *ip)
{
	ip->look = false;
	for (uint32_t k = 0; k < INPATH_PORTS; k++)
		ip->port[k].seen = false;
	if (!inpath_query_bridge(ip))
		return false;
	if (netlink_query(NETLINK_GET_LINK, ip->cf->wire ? 0 :
	    NETLINK_FAMILY_BRIDGE, inpath_update_link, ip) == -1)
		return false;
	for (uint32_t k = 0; k < INPATH_PORTS; k++) {
		struct netport *p = &ip->port[k];

		if (p->fd == -1 || p->seen)
			continue;
		warnx("%s: left %s", p->name, ip->cf->where);
		inpath_leave_port(p);
		hashmap_free(&ip->stations.port_of);
		ip->stations.forgot = true;
	}
	return true;
}

static inline void
inpath_handle_event(void *ctx, const struct netlink_message *m)
{
	struct inpath *ip = ctx;
	struct netlink_link l;

	if (!netlink_read_link(m, &l))
		inpath_update_neighbour(ip, m);
	else if (inpath_find_port(ip, l.index) != NULL || (ip->cf->wire ?
	    inpath_wants_port(ip, l.name) : l.index == ip->bridge ||
	    l.master == ip->bridge))
		ip->look = true;
}

#endif
