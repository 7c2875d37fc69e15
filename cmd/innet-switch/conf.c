/* conf.c - the command line of innet-switch */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "cmd/innet-switch/inpath/inpath.h"
#include "common/base/message.h"
#include "common/switch/programs.h"

#include "cmd/innet-switch/conf.h"

enum {
	REGULAR = OPT_LONG, UNTIL, DEPARTURES, BRIDGE, INTERFACES, PORT_RATE,
	TAPS, BACKEND, MULTICAST
};

static struct opt table[OPT_MAX] = {
	{ 'p', "program", "NAME",
	    "program to run: olaf (default), iswitch or dlp" },
	PLANE_OPTIONS_PORTS,
	PLANE_OPTIONS_MERGE,
	{ 'w', "write-out", "FILE",
	    "write outgoing packets to a capture" },
	{ 'r', "read", "FILE",
	    "captures: read this capture (can be repeated)" },
	{ 'c', "count", "N", "captures: stop after N packets" },
	{ REGULAR, "regular", "HOW",
	    "treatment of regular traffic: bypass (default) or queued" },
	{ UNTIL, "until", "TIME",
	    "captures: stop the clock at TIME, or TIME after the first packet "
	    "(+TIME)" },
	{ DEPARTURES, "departures", "FILE",
	    "captures: send each frame at the time when it departs in the "
	    "capture FILE" },
	{ BRIDGE, "bridge", "NAME",
	    "run in the path at all ports of the Linux bridge NAME, or only at "
	    "the listed ports (NAME,PORT...)" },
	{ INTERFACES, "interfaces", "LIST",
	    "run in the path without a bridge, between the listed interfaces "
	    "(two or more: NAME,NAME...)" },
	{ PORT_RATE, "port-rate", "RULE",
	    "in the path: set the rate of the link at one port (PORT=RATE)" },
	{ BACKEND, "backend", "NAME",
	    "in the path: method of receiving and sending frames: auto "
	    "(default), packet, tap or xdp" },
	{ TAPS, "taps", "DIR",
	    "in the path: write captures of each port to this directory" },
	{ MULTICAST, "multicast", "GROUP",
	    "iswitch: send results to this multicast group: one copy to the "
	    "subnet of --listen or, in the path, one through each port" },
	PLANE_OPTIONS_LIVE,
	PLANE_OPTIONS_ALL,
	{ 'v', "verbose", NULL,
	    "print which kernel interfaces send and receive packets" },
	{ 'q', "quiet", NULL, "do not print the summary" },
};

static const struct opt_tool tool = {
	"innet-switch", PACKAGE_VERSION,
	"[-p PROGRAM] [OPTION...] [-r FILE]... [-w FILE]\n"
	"       innet-switch [-p PROGRAM] --listen ADDR [OPTION...]\n"
	"       innet-switch [-p PROGRAM] --bridge NAME [OPTION...]",
	"Queue and merge model updates on their way to the parameter server,\n"
	"or sum gradients for all workers; read captures, or serve live over\n"
	"UDP.  An option whose text begins with a program or mode, such as\n"
	"'olaf:' or 'in the path:', applies only to that program or mode.",
	table
};

/*
 * Parse an option that applies only to captures; return false if ch is another
 * option.
 */
static bool
parse_trace(int ch, struct conf *cf)
{
	const struct opt *o = table;

	switch (ch) {
	case 'r':
		if (cf->ins == CONF_READ_MAX)
			errx(2, "-r: more than %d captures were given",
			    CONF_READ_MAX);
		cf->in[cf->ins++] = optarg;
		break;
	case 'c':
		opt_check("count", optarg, num_u64(optarg, 1, UINT64_MAX,
		    &cf->trace.feed.count));
		break;
	case UNTIL:
		opt_check("time", optarg, num_instant(optarg,
		    &cf->trace.feed.until_ns,
		    &cf->trace.feed.until_relative));
		break;
	case DEPARTURES: cf->departures = optarg; break;
	default: return false;
	}
	while (o->ch != ch)
		o++;
	snprintf(cf->trace_name, sizeof(cf->trace_name), "--%s", o->name);
	cf->trace_option = cf->trace_name;
	return true;
}

/* Copy an interface name of `bytes` bytes from s to `name`. */
static void
parse_interface(const char *option, const char *s, size_t bytes,
    char name[IF_NAMESIZE])
{
	if (bytes == 0 || bytes >= IF_NAMESIZE)
		errx(2, "--%s: '%.*s' is not the name of an interface", option,
		    (int)bytes, s);
	memcpy(name, s, bytes);
	name[bytes] = '\0';
}

/* Parse the port names in `arg`.  A comma precedes each name. */
static void
parse_ports(struct inpath_conf *cf, const char *option, const char *arg)
{
	cf->onlys = 0;
	for (arg += strcspn(arg, ","); *arg != '\0'; arg += strcspn(arg, ",")) {
		arg++;
		if (cf->onlys == INPATH_PORTS)
			errx(2, "--%s: more than %d ports", option,
			    INPATH_PORTS);
		parse_interface(option, arg, strcspn(arg, ","),
		    cf->only[cf->onlys++]);
	}
}

/* Parse NAME[,PORT...]. */
static void
parse_bridge(struct inpath_conf *cf, const char *arg)
{
	static char bridge[IF_NAMESIZE];

	parse_interface("bridge", arg, strcspn(arg, ","), bridge);
	cf->where = bridge;
	parse_ports(cf, "bridge", arg);
}

/* Parse NAME,NAME[,...]. */
static void
parse_interfaces(struct inpath_conf *cf, const char *arg)
{
	char first[IF_NAMESIZE];

	parse_interface("interfaces", arg, strcspn(arg, ","), first);
	parse_ports(cf, "interfaces", arg);
	if (cf->onlys == 0 || cf->onlys == INPATH_PORTS)
		errx(2, "--interfaces: give 2 to %d interfaces, as in "
		    "eth1,eth2", INPATH_PORTS);
	memcpy(cf->only[cf->onlys++], first, sizeof(first));
	cf->where = arg;
	cf->wire = true;
}

/* Parse PORT=RATE. */
static void
parse_port_rate(struct inpath_conf *cf, const char *arg)
{
	const size_t n = strcspn(arg, "=");
	struct inpath_rate *r = &cf->rate[cf->rates];

	if (cf->rates == INPATH_PORTS)
		errx(2, "--port-rate was given more than %d times",
		    INPATH_PORTS);
	if (arg[n] == '\0')
		errx(2, "invalid port rate '%s': not PORT=RATE, as in "
		    "eth1=20Mbit", arg);
	parse_interface("port-rate", arg, n, r->port);
	opt_check("port rate", arg, num_rate(arg + n + 1, 1, PORTS_RATE_MAX,
	    &r->bps));
	cf->rates++;
}

static void
parse_backend(struct inpath_conf *cf, const char *arg)
{
	static const char *const names[] = { "auto", "packet", "tap",
		"xdp", NULL };
	static const struct netport_kind *const kinds[] = { NULL,
		&netport_packet, &netport_tap, &netport_xdp };

	cf->kind = kinds[opt_word("back-end", arg, names)];
	cf->backend = true;
}

/*
 * Parse an option of a switch in the path; return false if ch is another
 * option.
 */
static bool
parse_path(int ch, struct conf *cf)
{
	static const char *const regulars[] = { "bypass", "queued", NULL };

	switch (ch) {
	case BRIDGE: parse_bridge(&cf->inpath, optarg); break;
	case INTERFACES: parse_interfaces(&cf->inpath, optarg); break;
	case BACKEND: parse_backend(&cf->inpath, optarg); break;
	case TAPS: cf->inpath.taps = optarg; break;
	case PORT_RATE: parse_port_rate(&cf->inpath, optarg); break;
	case MULTICAST: cf->multicast = optarg; break;
	case REGULAR:
		cf->o.plane.regular_queued = opt_word("regular", optarg,
		    regulars) == 1;
		cf->regular = true;
		break;
	default: return false;
	}
	return true;
}

/*
 * Check the options of a switch in the path.  Without --listen, the switch uses
 * the address of the bridge.
 */
static void
check_path(struct conf *cf)
{
	static char address[ADDR_NAME_BYTES];
	struct plane_options *o = &cf->o;

	if ((cf->inpath.rates > 0 || cf->inpath.taps != NULL ||
	    cf->inpath.backend) && cf->inpath.where == NULL)
		errx(2, "--%s needs --bridge or --interfaces",
		    cf->inpath.rates > 0 ? "port-rate" :
		    cf->inpath.taps != NULL ? "taps" : "backend");
	if (cf->inpath.wire && cf->inpath.kind != NULL &&
	    cf->inpath.kind != &netport_packet)
		errx(2, "--backend %s needs --bridge, because an interface "
		    "outside a bridge drops frames for other hosts",
		    cf->inpath.kind->name);
	if (cf->inpath.where == NULL && cf->regular &&
	    cf->trace_option == NULL)
		cf->trace_option = "--regular";
	if (cf->inpath.where == NULL)
		return;
	cf->inpath.every = plane_options_given(o, PLANE_RATE);
	if (cf->trace_option != NULL)
		errx(2, "--%s cannot be used with %s, which needs captures",
		    cf->inpath.wire ? "interfaces" : "bridge",
		    cf->trace_option);
	if (o->plane.ports.rules > 0)
		errx(2, "--port cannot be used with --bridge or --interfaces; "
		    "use --port-rate, which names a port by its interface");
	if (o->propagation_ns > 0 || o->impair.delay_ns > 0)
		errx(2, "--propagation and a delay in --impair cannot be used "
		    "with --bridge or --interfaces, where links are real");
	o->plane.place.in_path = true;
	o->plane.ports.shaped = cf->inpath.rates > 0;
	if (cf->inpath.wire && !o->plane.program->bypasses_queues)
		errx(2, "--interfaces cannot be used with --program %s, whose "
		    "workers need the address of a bridge; use --bridge",
		    o->plane.program->name);
	if (cf->inpath.wire && o->plane.regular_queued)
		errx(2, "--regular queued cannot be used with --interfaces; "
		    "use --bridge");
	if (o->listen == NULL && !cf->inpath.wire)
		o->listen = inpath_bridge_address(cf->inpath.where, address);
	if (o->listen == NULL && o->plane.program->bypasses_queues)
		o->listen = "127.0.0.1";
	if (o->listen == NULL)
		errx(1, "bridge %s has no address, but the workers of program "
		    "%s need one; give the bridge an address, or use --listen",
		    cf->inpath.where,
		    o->plane.program->name);
}

/* Did the user give the program option `name` with this value? */
static bool
is_given(const struct plane_options *o, const char *name, const char *value)
{
	for (size_t i = 0; i < o->givens; i++)
		if (strcmp(o->given[i].name, name) == 0 &&
		    strcmp(o->given[i].arg, value) == 0)
			return true;
	return false;
}

/* Is `a` the unspecified address, 0.0.0.0 or :: ? */
static bool
is_any(const union addr *a)
{
	static const union addr four = { .in.sin_family = AF_INET },
	    six = { .in6.sin6_family = AF_INET6 };

	return addr_same_host(a, &four) || addr_same_host(a, &six);
}

/* Check --multicast GROUP[:PORT].  The default port is that of the program. */
static void
check_group(struct conf *cf)
{
	struct plane_options *o = &cf->o;
	union addr *group = &o->plane.place.group;
	char port[8];

	if (cf->multicast == NULL)
		return;
	if (o->plane.program->multicast_group == NULL)
		errx(2, "--multicast cannot be used with --program %s, which "
		    "sends each result to one host", o->plane.program->name);
	snprintf(port, sizeof(port), "%u",
	    o->plane.program->default_port(o->settings));
	opt_check("group", cf->multicast, addr_parse(cf->multicast, port,
	    group));
	if (!addr_is_group(group) || addr_port(group) == 0)
		errx(2, "invalid group '%s': not a multicast address, such as "
		    "239.1.2.3 or 239.1.2.3:PORT", cf->multicast);
	if (group->sa.sa_family != o->listen_at.sa.sa_family)
		errx(2, "--multicast %s: the group and the address of the "
		    "switch must both be IPv4 or both IPv6", cf->multicast);
	if (cf->inpath.where != NULL)
		return;
	if (!cf->live)
		errx(2, "--multicast needs --listen, --bridge or "
		    "--interfaces");
	if (is_any(&o->listen_at))
		errx(2, "--multicast needs an address in --listen, as in "
		    "--listen 10.0.0.1, because the address determines the "
		    "subnet of the group");
	if (ports_can_queue(&o->plane.ports))
		errx(2, "--multicast cannot be used with --rate or --port, "
		    "which give every worker a link of its own");
}

/* Refuse combinations of options that plane_options_check() accepts. */
static void
check_combinations(const struct conf *cf)
{
	const struct plane_options *o = &cf->o;

	if (cf->departures != NULL && o->plane.regular_queued)
		errx(2, "--departures cannot be used with --regular queued");
	if (cf->departures != NULL && is_given(o, "format", "bare"))
		errx(2, "--departures cannot be used with --format bare, "
		    "because bare packets have no number that identifies them");
	if (o->plane.regular_queued && (cf->inpath.where == NULL ?
	    !ports_can_queue(&o->plane.ports) : !cf->inpath.every &&
	    cf->inpath.rates == 0))
		errx(2, "--regular queued needs --rate: without a rate no "
		    "packet waits");
}

void
conf_parse(struct conf *cf, int argc, char *argv[])
{
	int ch;

	*cf = (struct conf){ .trace.feed.until_ns = UINT64_MAX };
	plane_options_init(&cf->o, programs, table);
	while ((ch = opt_next(&tool, argc, argv)) != -1) {
		if (ch == 'p')
			plane_options_set_program(&cf->o, optarg);
		else if (!parse_path(ch, cf) && !parse_trace(ch, cf))
			plane_options_parse(&cf->o, ch, optarg);
	}
	opt_done(&tool, argc, argv);
	for (size_t i = 0; i < cf->ins; i++)
		files_in(&cf->o.files, "-r", cf->in[i]);
	files_in(&cf->o.files, "--departures", cf->departures);
	check_path(cf);
	cf->live = cf->o.listen != NULL && cf->trace_option == NULL;
	if (!cf->live && cf->ins == 0)
		files_in(&cf->o.files, "-r", "-");
	plane_options_check(&cf->o, cf->live);
	check_group(cf);
	cf->trace.propagation_ns = cf->o.propagation_ns;
	cf->trace.impair = cf->o.impair;
	cf->trace.unsized = is_given(&cf->o, "format", "bare");
	check_combinations(cf);
}
