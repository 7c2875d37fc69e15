/*
 * inpath.h - run a plane in the path of a bridge, between its ports
 *
 *	host A -- p0 \                     / p2 -- server
 *	host B -- p1  > the kernel's bridge <
 *	              marked frames are taken at p0, p1, p2 before it
 *
 * Regular traffic stays in the kernel's bridge.  Marked frames
 * (bpf-classifier.h) arrive here through a back-end (netport.h).  The plane
 * gets the datagrams of these frames one at a time.  Packets that the plane
 * forwards or sends leave by the port that leads to their destination
 * (inpath-frames.h).  A packet for the switch itself is passed to the plane
 * without its frame, as if it came from a socket.  A real socket serves the
 * hosts that are behind no port.
 *
 * The loop of serve.h calls this driver.  Frames to a host whose port is
 * unknown leave by all ports, as in a bridge.  For tools: the functions print
 * errors, and exit with status 1 if an error occurs while the path is opened.
 */
#ifndef INNET_SWITCH_INPATH_INPATH_H
#define INNET_SWITCH_INPATH_INPATH_H

#include <ifaddrs.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "cmd/innet-switch/inpath/inpath-frames.h"
#include "common/base/message.h"
#include "common/net/serve.h"
#include "common/net/service.h"

enum { INPATH_ROUNDS = 64 };	/* number of event datagrams to read per call */

/*
 * Serve in the path until the end, as service_run() does on sockets.  Returns
 * the exit status.
 */
static inline int inpath_run(struct inpath *ip, const struct inpath_conf *cf,
    struct service *v, struct plane_options *o, const struct serve_conf *conf);

/*
 * Write the address of a bridge to `text` in the form of --listen and return
 * `text`, or return NULL if the bridge has no address.  Exits if there is no
 * such interface.
 */
static inline const char *inpath_bridge_address(const char *bridge,
    char text[ADDR_NAME_BYTES]);

/* implementation */

/* Process the kernel's events about interfaces and neighbours. */
static inline void
inpath_read_events(struct inpath *ip)
{
	int got = 1;

	for (int k = 0; k < INPATH_ROUNDS && got == 1; k++)
		got = netlink_receive(ip->events, inpath_handle_event, ip);
	ip->look |= got == -1;		/* events were lost */
	ip->stations.forgot |= got == -1;
	if (ip->look && !inpath_query_ports(ip)) {
		warnx("%s: the bridge was removed", ip->cf->where);
		ip->serve.broken = true;
		ip->serve.rc = 1;
		return;
	}
	if (ip->stations.forgot)
		inpath_query_neighbours(ip);
	bpf_classifier_set_own(
	    &ip->classifier, ip->mac, addr_port(&ip->serve.own.u.local));
}

/* Add the losses of the ports to the loss counters of the switch. */
static inline void
inpath_count_losses(struct inpath *ip)
{
	struct serve_account *all = &ip->serve.gone;

	for (uint32_t k = 0; k < INPATH_PORTS; k++) {
		struct netport *p = &ip->port[k];

		netport_count_drops(p);
		all->kernel += p->kernel_drops - p->reported_drops;
		all->send_failed += p->failed - p->reported_failed;
		p->reported_drops = p->kernel_drops;
		p->reported_failed = p->failed;
	}
}

/* serve_source.receive */
static inline void
inpath_receive(void *ctx)
{
	struct inpath *ip = ctx;

	bpf_classifier_beat(&ip->classifier);
	if (ip->waited != NULL && ip->waited->revents != 0)
		inpath_read_events(ip);
	for (uint32_t k = 0; k < INPATH_PORTS; k++) {
		struct netport *p = &ip->port[k];
		const struct pollfd *w = p->waited;

		p->waited = NULL;
		if (w == NULL || p->fd == -1)
			continue;
		if (w[0].revents != 0)
			inpath_receive_port(ip, p);
		if (p->egress_tap.tap != -1 && w[1].revents != 0)
			inpath_receive_egress(ip, p);
	}
	if (ip->serve.clock.now_ns - ip->second_ns >= TIMER_SECOND_NS) {
		ip->second_ns = ip->serve.clock.now_ns;
		ip->asked = false;
		inpath_count_losses(ip);
		for (uint32_t k = 0; k < INPATH_PORTS; k++) {
			struct netport *p = &ip->port[k];

			if (p->ingress_capture == NULL)
				continue;
			ip->serve.broken |=
			    pcapio_flush_or_warn(p->ingress_capture);
			ip->serve.broken |=
			    pcapio_flush_or_warn(p->egress_capture);
		}
	}
}

/*
 * serve_source.stop_receiving: from now on, leave arriving frames to the
 * kernel.
 */
static inline void
inpath_stop_receiving(void *ctx)
{
	struct inpath *ip = ctx;

	bpf_classifier_release_all(&ip->classifier);
	for (uint32_t k = 0; k < INPATH_PORTS; k++) {
		if (ip->port[k].fd != -1)
			inpath_receive_port(ip, &ip->port[k]);
	}
	inpath_count_losses(ip);
}

/* serve_source.add_pollfds */
static inline uint32_t
inpath_add_pollfds(void *ctx, struct pollfd *p)
{
	struct inpath *ip = ctx;
	uint32_t n = 0;

	ip->waited = p;
	p[n++] = (struct pollfd){ .fd = ip->events, .events = POLLIN };
	for (uint32_t k = 0; k < INPATH_PORTS; k++) {
		struct netport *port = &ip->port[k];

		port->waited = port->fd == -1 ? NULL : &p[n];
		if (port->fd == -1)
			continue;
		p[n++] = (struct pollfd){ .fd = port->fd, .events = POLLIN };
		if (port->egress_tap.tap != -1)
			p[n++] = (struct pollfd){ .events = POLLIN,
			    .fd = port->egress_tap.tap };
	}
	return n;
}

static inline const char *
inpath_bridge_address(const char *bridge, char text[ADDR_NAME_BYTES])
{
	struct ifaddrs *all, *i;
	int best = 0;

	if (if_nametoindex(bridge) == 0)
		errx(1, "--bridge: no interface '%s'", bridge);
	if (getifaddrs(&all) == -1)
		err(1, "%s", bridge);
	for (i = all; i != NULL; i = i->ifa_next) {
		const int family = i->ifa_addr == NULL ? 0 :
		    i->ifa_addr->sa_family;
		const int rank = family == AF_INET ? 2 : family == AF_INET6 ?
		    1 : 0;
		union addr a;

		if (strcmp(i->ifa_name, bridge) != 0 || rank <= best)
			continue;
		memcpy(&a, i->ifa_addr, rank == 2 ? sizeof(a.in) :
		    sizeof(a.in6));
		if (rank == 1 && IN6_IS_ADDR_LINKLOCAL(&a.in6.sin6_addr))
			continue;
		best = rank;
		addr_print(&a, text);
		*strrchr(text, ':') = '\0';	/* remove the port number from
						 * the text */
	}
	freeifaddrs(all);
	return best == 0 ? NULL : text;
}

/* Open the bridge and lock it for this process. */
static inline void
inpath_open_bridge(struct inpath *ip)
{
	const char *name = ip->cf->where;

	ip->bridge = if_nametoindex(name);
	if (ip->bridge == 0)
		errx(1, "--bridge: no interface '%s'", name);
	if (!inpath_query_bridge(ip))
		errx(1, "--bridge: '%s' is not a bridge", name);
	if (ip->filters_vlans)
		errx(1, "%s filters VLANs, which a switch in the path cannot "
		    "do; turn vlan_filtering off", name);
	ip->lock = inpath_lock_interface(ip->bridge);
	if (ip->lock == -1 && errno == EADDRINUSE)
		errx(1, "%s: another innet-switch runs at this bridge", name);
	if (ip->lock == -1)
		err(1, "%s", name);
}

/*
 * Return the default back-end: packet sockets if they are permitted, otherwise
 * tap devices.
 */
static inline const struct netport_kind *
inpath_choose_backend(void)
{
	const int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

	if (fd == -1)
		return &netport_tap;
	close(fd);
	return &netport_packet;
}

/*
 * Open everything except the ports.  The caller then initializes the plane with
 * inpath_driver and ip.
 */
static inline void
inpath_open(struct inpath *ip, const struct inpath_conf *cf,
    const struct serve_conf *sc, const struct program *pr,
    const struct bpf_classifier_rules *rules, union addr *own)
{

	memset(ip, 0, sizeof(*ip));
	ip->cf = cf;
	ip->kind = cf->kind != NULL ? cf->kind : inpath_choose_backend();
	for (uint32_t k = 0; k < INPATH_PORTS; k++) {
		ip->port[k].fd = ip->port[k].lock = -1;
		ip->port[k].hook = ip->port[k].back = bpf_attach_none;
		ip->port[k].egress_tap = egress_tap_none;
	}
	ip->lock = -1;
	if (!cf->wire)
		inpath_open_bridge(ip);
	for (uint32_t i = 0; i < cf->onlys && cf->wire; i++) {
		if (if_nametoindex(cf->only[i]) == 0)
			errx(1, "--interfaces: no interface '%s'",
			    cf->only[i]);
	}
	ip->tagged = rules->tagged;
	if (bpf_classifier_open(&ip->classifier, rules) == -1)
		inpath_fail(ip, "program that selects frames");
	ip->events = netlink_open_events();
	if (ip->events == -1 || !netport_in_init(&ip->in))
		inpath_fail(ip, "interfaces");
	serve_open(&ip->serve, sc, pr, own);
	ip->source = (struct serve_source){ .ctx = ip,
	    .max_sleep_ns = BPF_CLASSIFIER_BEAT_NS,
	    .add_pollfds = inpath_add_pollfds, .receive = inpath_receive,
	    .stop_receiving = inpath_stop_receiving };
	ip->serve.source = &ip->source;
}

/* Print the ports; with `verbose`, print the back-end, too. */
static inline void
inpath_print_ports(const struct inpath *ip, bool verbose)
{
	char text[INPATH_PORTS * (IF_NAMESIZE + 2)] = "";
	const char *printed = NULL;
	size_t n = 0;

	for (uint32_t k = 0; k < INPATH_PORTS; k++) {
		if (ip->port[k].fd != -1)
			n += (size_t)snprintf(text + n, sizeof(text) - n,
			    "%s%s", n == 0 ? "" : ", ", ip->port[k].name);
	}
	fputs("in the path of ", stderr);
	message_put(stderr, ip->cf->where);
	fprintf(stderr, ": %s\n", n == 0 ? "no port yet" : text);
	for (uint32_t k = 0; k < INPATH_PORTS && verbose; k++) {
		const char *how;

		if (ip->port[k].fd == -1)
			continue;
		how = netport_describe(&ip->port[k]);
		if (printed == NULL || strcmp(printed, how) != 0)
			warnx("back-end %s: %s; port %s and the ports after it "
			    "use %s",
			    ip->kind->name, ip->kind->about, ip->port[k].name,
			    how);
		printed = how;
	}
}

/*
 * Pin the process to its current processor.  The kernel has a queue for each
 * processor, so a later frame could overtake an earlier one if the process
 * moved.
 */
static inline void
inpath_pin_processor(void)
{
	const int cpu = sched_getcpu();
	cpu_set_t one;

	CPU_ZERO(&one);
	if (cpu < 0 || cpu >= CPU_SETSIZE)
		return;
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one) == -1)
		warn("cannot stay on processor %d, so frames may be reordered",
		    cpu);
}

/* Join the ports and take frames from now on. */
static inline void
inpath_start(struct inpath *ip, struct plane *pl, bool verbose)
{
	struct port_conf none = { .hash_seed = pl->ports_cf.hash_seed };
	uint32_t k;

	ip->pl = pl;
	inpath_pin_processor();
	k = ports_make_port(&pl->ports, &none);
	if (k == PORTS_NONE)
		err(1, "%s", ip->cf->where);
	ip->other_port = pl->ports.port[k];
	if (!inpath_query_ports(ip))
		err(1, "%s", ip->cf->where);
	for (uint32_t i = 0; i < ip->cf->onlys && !ip->cf->wire; i++) {
		if (!inpath_has_port(ip, ip->cf->only[i]))
			errx(1, "--bridge: '%s' is not a port of %s",
			    ip->cf->only[i], ip->cf->where);
	}
	for (uint32_t i = 0; i < ip->cf->rates; i++) {
		if (!inpath_has_port(ip, ip->cf->rate[i].port))
			warnx("--port-rate: %s has no port '%s' yet",
			    ip->cf->where, ip->cf->rate[i].port);
	}
	ip->looked = true;
	inpath_query_neighbours(ip);
	bpf_classifier_set_own(
	    &ip->classifier, ip->mac, addr_port(&ip->serve.own.u.local));
	inpath_print_ports(ip, verbose);
	bpf_classifier_beat(&ip->classifier);
}

/*
 * Close everything, so that the kernel handles all frames again.  Returns 0, or
 * 1 if a capture could not be written.
 */
static inline int
inpath_close(struct inpath *ip)
{
	int rc = 0;

	bpf_classifier_release_all(&ip->classifier);
	for (uint32_t k = 0; k < INPATH_PORTS; k++) {
		if (ip->port[k].fd != -1)
			inpath_leave_port(&ip->port[k]);
		rc |= inpath_close_taps(&ip->port[k]);
	}
	bpf_classifier_close(&ip->classifier);
	close(ip->events);
	if (ip->lock != -1)
		close(ip->lock);
	free(ip->in.bytes);
	stations_free(&ip->stations);
	serve_close(&ip->serve);
	return rc;
}

/*
 * Add counters of the bytes that left through the port's queue, and the share
 * of regular traffic in these bytes.
 */
static inline void
inpath_put_bytes(const struct port *p, struct counters *c)
{
	const uint64_t own = p->n[PORT_PROGRAM].bytes,
	    regular = p->n[PORT_REGULAR].bytes;

	if (p->link.rate_bps == 0)
		return;
	counters_put(c, "own_bytes", own);
	counters_put(c, "regular_bytes", regular);
	counters_put(c, "regular_permille", own + regular == 0 ? 0 :
	    regular * 1000 / (own + regular));
}

/* service.put_extra: add the counters of the ports. */
static inline void
inpath_put_report(const void *ctx, struct counters *c)
{
	const struct inpath *ip = ctx;

	counters_in(c, "interfaces");
	counters_put(c, "frames", ip->n[INPATH_FRAMES]);
	counters_put(c, "flooded", ip->n[INPATH_FLOODED]);
	counters_put(c, "no_way", ip->n[INPATH_NO_PORT]);
	counters_put(c, "shared", ip->n[INPATH_SHARED]);
	for (uint32_t k = 0; k < INPATH_PORTS; k++) {
		const struct netport *p = &ip->port[k];

		if (p->name[0] == '\0')
			continue;
		counters_in(c, p->name);
		counters_put(c, "kernel", p->kernel_drops);
		counters_put(c, "send_failed", p->failed);
		inpath_put_bytes(p->port, c);
		counters_out(c);
	}
	counters_out(c);
}

/*
 * Drop all privileges except those that a port needs when it is added later:
 * the capabilities of the back-end, and the devices and files of a tap.
 */
static inline void
inpath_enter_sandbox(const struct inpath *ip, const struct service *v)
{
	const bool taps = !ip->kind->needs_raw || ip->pl->cf->regular_queued;
	char names[80] = "", folder[PATH_MAX];
	struct sandbox s = { .capabilities = 0 };

	for (size_t i = 0; i < sizeof(inpath_needs) / sizeof(*inpath_needs);
	    i++) {
		const int cap = inpath_needs[i].cap;

		if ((cap == CAP_NET_RAW && !ip->kind->needs_raw) ||
		    (cap == CAP_IPC_LOCK && !ip->kind->needs_lock))
			continue;
		s.capabilities |= (uint64_t)1 << cap;
		snprintf(names + strlen(names), sizeof(names) - strlen(names),
		    "%s%s", names[0] == '\0' ? "" : ", ",
		    inpath_needs[i].name);
	}
	if (taps) {
		sandbox_add_system(&s, "/dev/net/tun");
		sandbox_add_system(&s, "/proc/sys/net/ipv6/conf");
		sandbox_add_system(&s, "/sys/devices/virtual/net");
	}
	if (ip->cf->taps != NULL) {
		snprintf(folder, sizeof(folder), "%s/-in.pcap", ip->cf->taps);
		sandbox_add_file(&s, folder);
	}
	service_enter_sandbox(v, s);
	if (v->o->user != NULL && v->o->verbose)
		warnx("running as %s with %s", v->o->user, names);
}

static inline int
inpath_run(struct inpath *ip, const struct inpath_conf *cf, struct service *v,
    struct plane_options *o, const struct serve_conf *conf)
{
	const struct program *pr = o->plane.program;
	const struct program_place *place = &o->plane.place;
	const struct bpf_classifier_rules rules = { .all = cf->wire,
	    .passing = pr->merges_updates || ports_use_olaf(&o->plane.ports),
	    .marked = pr->tos != 0,
	    .tagged = pr->retag_update != NULL && place->tagged &&
		      place->key != NULL};
	int rc;

	service_init(v, o, conf);
	stations_seed(&ip->stations, &o->plane.place.hash_seed);
	v->serve = &ip->serve;
	v->put_extra = inpath_put_report;
	v->extra_ctx = ip;
	inpath_open(ip, cf, &v->conf, pr, &rules, &o->plane.place.address);
	o->plane.place.sockets = serve_raise_socket_limit(&ip->serve);
	if (!plane_init(&v->plane, &o->plane, &inpath_driver, ip))
		err(1, "%s", pr->name);
	inpath_start(ip, &v->plane, o->verbose);
	inpath_enter_sandbox(ip, v);
	rc = service_finish(v, serve_run(&ip->serve, &v->plane));
	return rc | inpath_close(ip);
}

#endif
