/*
 * options.h - the options of a switch or server, whatever its program is
 *
 * A tool has a list of programs.  The options of these programs and the options
 * below form one table.  If several programs have the same option, the table
 * has only one row for it.  It is a usage error to give an option that cannot
 * be used with the chosen program or in the way in which the switch runs.
 * These functions are for tools only: after an error message they exit with
 * status 2.
 */
#ifndef INNET_SWITCH_OPTIONS_H
#define INNET_SWITCH_OPTIONS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>

#include "common/base/files.h"
#include "common/base/launcher.h"
#include "common/base/message.h"
#include "common/base/num.h"
#include "common/base/opt.h"
#include "common/capture/rotate.h"
#include "common/queue/olaf-queue.h"
#include "common/switch/plane.h"
#include "common/auth/key-file.h"
#include "common/auth/tag.h"

enum plane_option {
	PLANE_SLOTS = OPT_LONG + 200, PLANE_RATE, PLANE_QUEUE, PLANE_PORT,
	PLANE_COMBINE, PLANE_THRESHOLD, PLANE_OVERHEAD, PLANE_WINDOW,
	PLANE_PROPAGATION, PLANE_IMPAIR, PLANE_SEED, PLANE_KEY,
	PLANE_MEMORY, PLANE_DRY_RUN, PLANE_REPORT, PLANE_LISTEN,
	PLANE_WRITE_IN, PLANE_DURATION, PLANE_PORT_FILE, PLANE_NO_OFFLOAD,
	PLANE_JSON, PLANE_ROTATE, PLANE_ALLOW, PLANE_FRAME_TIME,
	PLANE_MERGE_TIME, PLANE_AUTH, PLANE_INSECURE, PLANE_USER,
	PLANE_COMMAND_KEY, PLANE_SECRET, PLANE_SPIN,
	PLANE_OPTIONS_END
};

enum { PLANE_PROGRAM_OPTION = OPT_LONG + 300, PLANE_GIVEN_MAX = 256 };

/* Rows for the option table of a tool: the options of ports. */
#define PLANE_OPTIONS_PORTS \
	{ PLANE_RATE, "rate", "RATE", \
	    "rate of every port's link in bit/s, such as 40G" }, \
	{ PLANE_SLOTS, "slots", "N", \
	    "number of frames that the queue of each port holds" }, \
	{ PLANE_QUEUE, "queue", "NAME", \
	    "kind of queue at every port: olaf or fifo" }, \
	{ PLANE_PORT, "port", "RULE", \
	    "settings of one port, as HOST:rate=RATE,slots=N,queue=NAME" }, \
	{ PLANE_OVERHEAD, "wire-overhead", NULL, \
	    "add 24 bytes to each frame for preamble, FCS and gap" }, \
	{ PLANE_FRAME_TIME, "frame-time", "TIME", \
	    "time that each frame takes in addition to the time for its bits " \
	    "(default 0)" }, \
	{ PLANE_PROPAGATION, "propagation", "TIME", \
	    "propagation delay of every link (default 0)" }, \
	{ PLANE_IMPAIR, "impair", "LIST", \
	    "behave like a bad network: any of loss=SHARE, dup=SHARE, " \
	    "reorder=SHARE and delay=TIME" }, \
	{ PLANE_SEED, "seed", "N", \
	    "seed of the random numbers of --impair (default 1)" }

/* options of Olaf queues */
#define PLANE_OPTIONS_MERGE \
	{ PLANE_COMBINE, "combine", "HOW", \
	    "olaf: rule for merging gradients: mean (default) or sum" }, \
	{ PLANE_THRESHOLD, "reward-threshold", "X", \
	    "olaf: replace or drop an update instead of merging it if " \
	    "rewards differ by more than X" }, \
	{ PLANE_MERGE_TIME, "merge-time", "TIME", \
	    "olaf: time by which each merge delays the frame in transmission " \
	    "(default 0)" }, \
	{ PLANE_WINDOW, "active-window", "TIME", \
	    "olaf: time for which a cluster counts as active after its last " \
	    "packet (default 1s)" }

/* options of live switches */
#define PLANE_OPTIONS_LIVE \
	{ PLANE_LISTEN, "listen", "ADDR", "listen on HOST:PORT" }, \
	{ PLANE_WRITE_IN, "write-in", "FILE", \
	    "write incoming packets to a capture" }, \
	{ PLANE_ROTATE, "rotate", "LIST", \
	    "start a new capture after SIZE and keep N older ones, as " \
	    "SIZE,N" }, \
	{ PLANE_DURATION, "duration", "TIME", "end after this time" }, \
	{ PLANE_PORT_FILE, "port-file", "FILE", \
	    "write the port number to this file" }, \
	{ PLANE_NO_OFFLOAD, "no-offload", NULL, \
	    "do not use UDP_SEGMENT and UDP_GRO" }, \
	{ PLANE_SPIN, "spin", "TIME", \
	    "after a packet, poll for TIME before sleeping (default 0)" }, \
	{ PLANE_INSECURE, "insecure", NULL, \
	    "listen on addresses other than loopback without --key" }, \
	{ PLANE_USER, "user", "NAME", \
	    "change to this user once the socket is open" }

/* options of all switches */
#define PLANE_OPTIONS_ALL \
	{ PLANE_KEY, "key", "FILE", \
	    "file with the key that authenticates control messages" }, \
	{ PLANE_COMMAND_KEY, "command-key", "FILE", \
	    "file with a second key, which commands such as reset and halt " \
	    "need" }, \
	{ PLANE_SECRET, "secret", "FILE", \
	    "file with the 32 bytes from which cookies and salts are " \
	    "derived (default: random bytes)" }, \
	{ PLANE_AUTH, "auth", "WHAT", \
	    "kinds of packets to authenticate: none, control or all (default " \
	    "with --key)" }, \
	{ PLANE_ALLOW, "allow", "LIST", \
	    "accept packets from these networks only" }, \
	{ PLANE_MEMORY, "memory", "SIZE", "limit the memory to SIZE" }, \
	{ PLANE_DRY_RUN, "dry-run", NULL, \
	    "print how much memory is needed, and exit" }, \
	{ PLANE_REPORT, "report", "FILE", \
	    "write all counters to this file as JSON" }, \
	{ PLANE_JSON, "json", NULL, "print the summary as a JSON object" }

struct plane_options {
	const struct program *const *programs;
	struct opt *table;		/* option table of the tool, to which
					 * rows are added */
	size_t rows;
	struct { const char *name, *arg; } given[PLANE_GIVEN_MAX];
	size_t givens;
	bool seen[PLANE_OPTIONS_END - PLANE_SLOTS];

	void *settings;			/* owned; settings of the program */
	struct plane_conf plane;
	struct impair impair;
	struct key key, commands;
	uint64_t memory_bytes;		/* value of --memory; 0: not given */
	uint64_t propagation_ns, duration_ns, spin_ns;
	const char *listen;		/* argument of --listen as the user
					 * typed it, or NULL */
	union addr listen_at;		/* address that --listen gives */
	const char *out, *write_in, *report, *port_file;
	struct rotate rotate;		/* rotation of captures */
	bool json, quiet, verbose, dry_run, no_offload, insecure;
	const char *key_path, *commands_path, *secret_path, *user;
	enum tag_auth auth;
	struct files files;		/* all files of the tool, to detect
					 * conflicts */
	FILE *json_to;			/* stream for the output of --json; NULL
					 * if --json was not given */
};

/*
 * Initialise o and add the options of all programs to `table`, which must have
 * room for OPT_MAX rows and end with an empty row.
 */
static inline void plane_options_init(struct plane_options *o,
    const struct program *const *all, struct opt *table);

/*
 * Choose the program called `name`.  If there is no such program, exit with an
 * error.
 */
static inline void plane_options_set_program(struct plane_options *o,
    const char *name);

/*
 * Parse option `ch`.  Returns false if the option belongs to the tool itself.
 */
static inline bool plane_options_parse(struct plane_options *o, int ch,
    const char *arg);

/* Was option `ch` given? */
static inline bool plane_options_given(const struct plane_options *o,
    enum plane_option ch);

/*
 * Check whether the options can be combined, and complete the settings.  Call
 * this function after the last option, and after the tool has added its own
 * files to o->files.  `live` is true if the switch serves on sockets, and false
 * if it reads traces.
 */
static inline void plane_options_check(struct plane_options *o, bool live);

/* Free the settings of the program.  Call this function after the run. */
static inline void plane_options_free(struct plane_options *o);

/* implementation */

static inline void
plane_options_init(struct plane_options *o, const struct program *const *all,
    struct opt *table)
{
	static const struct opt last[] = { OPT_HELP_VERSION, { 0 } };
	size_t n = 0, k;

	*o = (struct plane_options){ .programs = all, .table = table,
	    .duration_ns = UINT64_MAX,
	    .auth = TAG_AUTH_DEFAULT, .impair = { .rng = rng_seed(1) },
	    .plane = { .program = all[0] } };
	o->plane.ports.all = (struct port_conf){ .threshold = NAN,
	    .active_window_ns = 1000000000 };
	while (table[n].name != NULL)
		n++;
	o->rows = n;
	for (size_t i = 0; all[i] != NULL; i++) {
		for (const struct opt *r = all[i]->options; r != NULL &&
		    r->name != NULL; r++) {
			for (k = 0; k < n && strcmp(table[k].name, r->name) !=
			    0; k++)
				;
			assert(n + 3 < OPT_MAX);
			if (k < n)
				continue;
			table[n] = *r;
			if (r->ch < OPT_LONG && (r->ch < 'A' || r->ch > 'z'))
				table[n].ch = PLANE_PROGRAM_OPTION + (int)n;
			n++;
		}
	}
	memcpy(&table[n], last, sizeof(last));
}

static inline void
plane_options_set_program(struct plane_options *o, const char *name)
{
	const char *names[16] = { NULL };
	size_t n;

	for (n = 0; o->programs[n] != NULL && n < 15; n++)
		names[n] = o->programs[n]->name;
	o->plane.program = o->programs[opt_word("program", name, names)];
}

/* Set an option that concerns ports. */
static inline void
plane_options_set_port(struct plane_options *o, int ch, const char *arg)
{
	static const char *const queues[] = { "fifo", "olaf", NULL };
	static const char *const combines[] = { "mean", "sum", NULL };
	struct ports_conf *ports = &o->plane.ports;
	struct port_conf *p = &ports->all;
	uint64_t v = 0;

	switch (ch) {
	case PLANE_SLOTS:
		opt_check("slots", arg, num_u64(arg, 1, 1u << 24, &v));
		p->slots = (uint32_t)v;
		break;
	case PLANE_RATE:
		opt_check("rate", arg, num_rate(arg, 1, PORTS_RATE_MAX,
		    &p->rate_bps));
		break;
	case PLANE_QUEUE:
		p->queue = (enum port_queue)opt_word("queue", arg, queues);
		break;
	case PLANE_PORT:
		opt_check("port", arg, ports_add_rule(ports, arg));
		break;
	case PLANE_COMBINE:
		p->combine = (enum olaf_queue_combine)opt_word("combine", arg,
		    combines);
		break;
	case PLANE_THRESHOLD:
		opt_check("reward threshold", arg, num_real(arg, 0, 1e30,
		    &p->threshold));
		break;
	case PLANE_OVERHEAD:
		p->extra_bytes = FRAME_WIRE_EXTRA_BYTES;
		break;
	case PLANE_FRAME_TIME:
		opt_check("frame time", arg, num_time(arg, 0,
		    3600 * (uint64_t)1000000000, &p->frame_ns));
		break;
	case PLANE_MERGE_TIME:
		opt_check("merge time", arg, num_time(arg, 0,
		    3600 * (uint64_t)1000000000, &p->merge_ns));
		break;
	case PLANE_WINDOW:
		opt_check("active window", arg, num_time(arg, 1,
		    3600 * (uint64_t)1000000000, &p->active_window_ns));
		break;
	}
}

/* Set an option of this file that does not concern ports. */
static inline void
plane_options_set(struct plane_options *o, int ch, const char *arg)
{
	uint64_t v = 0;

	switch (ch) {
	case PLANE_PROPAGATION:
		opt_check("propagation", arg, num_time(arg, 0,
		    3600 * (uint64_t)1000000000, &o->propagation_ns));
		break;
	case PLANE_IMPAIR:
		opt_check("impairment", arg, impair_parse(arg, &o->impair));
		break;
	case PLANE_SEED:
		opt_check("seed", arg, num_u64(arg, 0, UINT64_MAX, &v));
		o->impair.rng = rng_seed(v);
		break;
	case PLANE_KEY:
		key_load_or_exit(&o->key, arg, KEY_LEAST_BYTES);
		o->key_path = arg;
		break;
	case PLANE_COMMAND_KEY:
		key_load_or_exit(&o->commands, arg, KEY_LEAST_BYTES);
		o->commands_path = arg;
		break;
	case PLANE_SECRET: o->secret_path = arg; break;
	case PLANE_AUTH:
		opt_check("authentication", arg, tag_auth_parse(arg, &o->auth));
		break;
	case PLANE_ALLOW:
		opt_check("networks", arg, networks_parse(&o->plane.allow,
		    arg));
		break;
	case PLANE_MEMORY:
		opt_check("memory", arg, num_bytes(arg, 1, INT64_MAX,
		    &o->memory_bytes));
		break;
	case PLANE_DRY_RUN: o->dry_run = true; break;
	case PLANE_REPORT: o->report = arg; break;
	case PLANE_LISTEN: o->listen = arg; break;
	case PLANE_WRITE_IN: o->write_in = arg; break;
	case PLANE_ROTATE:
		opt_check("rotation", arg, rotate_parse(arg, &o->rotate));
		break;
	case PLANE_DURATION:
		opt_check("duration", arg, num_time(arg, 1, INT64_MAX,
		    &o->duration_ns));
		break;
	case PLANE_PORT_FILE: o->port_file = arg; break;
	case PLANE_NO_OFFLOAD: o->no_offload = true; break;
	case PLANE_SPIN:
		opt_check("time", arg, num_time(arg, 0, 1000000000,
		    &o->spin_ns));
		break;
	case PLANE_INSECURE: o->insecure = true; break;
	case PLANE_USER: o->user = arg; break;
	case PLANE_JSON: o->json = true; break;
	case 'w': o->out = arg; break;
	case 'v': o->verbose = true; break;
	case 'q': o->quiet = true; break;
	default:
		plane_options_set_port(o, ch, arg);
		break;
	}
}

static inline bool
plane_options_parse(struct plane_options *o, int ch, const char *arg)
{
	const struct opt *r = o->table;

	if (ch >= PLANE_SLOTS && ch < PLANE_OPTIONS_END)
		o->seen[ch - PLANE_SLOTS] = true;
	if ((ch >= PLANE_SLOTS && ch < PLANE_OPTIONS_END) || ch == 'w' ||
	    ch == 'v' || ch == 'q') {
		plane_options_set(o, ch, arg);
		return true;
	}
	while (r->ch != ch)
		r++;
	if (r < o->table + o->rows)
		return false;
	if (o->givens == PLANE_GIVEN_MAX)
		errx(2, "more than %d options of the program were given",
		    PLANE_GIVEN_MAX);
	o->given[o->givens].name = r->name;
	o->given[o->givens++].arg = arg;
	return true;
}

static inline bool
plane_options_given(const struct plane_options *o, enum plane_option ch)
{
	return o->seen[ch - PLANE_SLOTS];
}

/* Pass the options of the program to the program. */
static inline void
plane_options_set_settings(struct plane_options *o)
{
	const struct program *pr = o->plane.program;
	const char *why;
	char size[16];

	o->settings = calloc(1, pr->conf_bytes + 1);
	if (o->settings == NULL)
		err(1, "settings");
	if (pr->set_defaults != NULL)
		pr->set_defaults(o->settings);
	for (size_t i = 0; i < o->givens; i++) {
		const struct opt *r = pr->options;
		const char *arg = o->given[i].arg;

		while (r != NULL && r->name != NULL && strcmp(r->name,
		    o->given[i].name) != 0)
			r++;
		if (r == NULL || r->name == NULL)
			errx(2, "--%s cannot be used with --program %s",
			    o->given[i].name, pr->name);
		if (strcmp(r->name, "threshold") == 0 && arg != NULL &&
		    strcmp(arg, "auto") == 0) {
			snprintf(size, sizeof(size), "%u",
			    (unsigned)launcher_size("-H", UINT16_MAX));
			arg = size;
		}
		why = pr->set_option(o->settings, r->ch, arg);
		if (why != NULL)	/* the message names the option as the
					 * user typed it */
			errx(2, "--%s: invalid value '%s': %s", r->name,
			    arg == NULL ? "" : arg, why);
	}
	o->plane.settings = o->settings;
}

/*
 * If one of the options in the list `ch` was given, exit with the error that
 * this option needs the option `with`.  The list ends with 0.
 */
static inline void
plane_options_refuse_given(const struct plane_options *o, const int *ch,
    const char *with)
{
	for (; *ch != 0; ch++) {
		const struct opt *r = o->table;

		if (!plane_options_given(o, (enum plane_option)*ch))
			continue;
		while (r->ch != *ch)
			r++;
		errx(2, "--%s needs %s", r->name, with);
	}
}

/*
 * Set the defaults of ports for this program, and check the options of ports.
 */
static inline void
plane_options_check_ports(struct plane_options *o)
{
	static const int merging[] = { PLANE_COMBINE, PLANE_THRESHOLD,
	    PLANE_MERGE_TIME, 0 };
	static const int waiting[] = { PLANE_SLOTS, PLANE_QUEUE,
	    PLANE_OVERHEAD, PLANE_FRAME_TIME, PLANE_MERGE_TIME, 0 };
	const struct program *pr = o->plane.program;
	struct ports_conf *ports = &o->plane.ports;
	struct port_conf *p = &ports->all;

	if (!plane_options_given(o, PLANE_RATE))
		p->rate_bps = pr->rate_bps;
	if (!plane_options_given(o, PLANE_QUEUE))
		p->queue = pr->merges_updates ? PORT_OLAF : PORT_FIFO;
	if (!plane_options_given(o, PLANE_SLOTS))
		p->slots = p->queue == PORT_FIFO && !pr->merges_updates ? 0 :
		    o->plane.place.in_path ? PORTS_SLOTS_IN_PATH : PORTS_SLOTS;
	ports_complete_rules(ports);
	if (!pr->merges_updates && plane_options_given(o, PLANE_WINDOW))
		errx(2, "--active-window cannot be used with --program %s, "
		    "whose answers contain no queue status", pr->name);
	if (!ports_use_olaf(ports))
		plane_options_refuse_given(o, merging, "--queue olaf");
	for (uint32_t i = 0; i < ports->rules; i++) {
		if (ports->rule[i].conf.rate_bps == 0)
			errx(2, "--port needs a rate, because without a rate "
			    "no packet waits; give rate= in the rule, or "
			    "--rate");
	}
	if (!ports_can_queue(ports))
		plane_options_refuse_given(o, waiting,
		    "--rate: without a rate no packet waits");
}

/*
 * Return the name of an option that was given and can be used only with a live
 * switch, or NULL.
 */
static inline const char *
plane_options_find_live(const struct plane_options *o)
{
	return o->write_in != NULL ? "--write-in" :
	    o->rotate.bytes != 0 ? "--rotate" :
	    o->duration_ns != UINT64_MAX ? "--duration" :
	    o->port_file != NULL ? "--port-file" :
	    o->no_offload ? "--no-offload" :
	    o->spin_ns != 0 ? "--spin" :
	    o->insecure ? "--insecure" : o->user != NULL ? "--user" :
	    o->verbose ? "-v" : NULL;
}

/*
 * Check that no output file overwrites another file.  If the switch reads a
 * trace, it writes the packets that leave to standard output by default.
 */
static inline void
plane_options_check_files(struct plane_options *o, bool live)
{
	struct files *f = &o->files;

	files_in(f, "--key", o->key_path);
	files_in(f, "--command-key", o->commands_path);
	files_in(f, "--secret", o->secret_path);
	for (size_t i = 0; i < o->givens; i++) {
		if (strcmp(o->given[i].name, "cluster-table") == 0)
			files_in(f, "--cluster-table", o->given[i].arg);
	}
	files_out(f, "-w", o->out == NULL && !live ? "-" : o->out);
	files_out(f, "--write-in", o->write_in);
	files_out(f, "--report", o->report);
	files_out(f, "--port-file", o->port_file);
	o->json_to = o->json ? files_json(f) : NULL;
	files_done(f);
}

/* Read the switch's secret from a file.  Exits on failure. */
static inline void
plane_options_read_secret(struct plane_options *o, const char *path)
{
	uint8_t buf[KEY_MOST_BYTES + 1];
	const size_t n = key_read_or_exit(path, sizeof(o->plane.place.secret),
	    buf);

	if (n > sizeof(o->plane.place.secret))
		errx(1, "%s: the file has %zu bytes, but a secret must have "
		    "exactly %zu", path, n, sizeof(o->plane.place.secret));
	memcpy(o->plane.place.secret, buf, n);
	explicit_bzero(buf, sizeof(buf));
	o->plane.place.secret_known = true;
}

/*
 * Return the first xid of a switch.  The xid is derived from the secret of the
 * switch, so that it is the same when a trace of this switch is processed.
 */
static inline uint32_t
plane_options_derive_xid(const struct program_place *place)
{
	struct key secret;
	uint8_t xid[4];

	key_set(&secret, place->secret, sizeof(place->secret));
	key_hash_of(&secret, "innet 1 xid", "", 0, xid, sizeof(xid));
	return (uint32_t)bytes_get(xid, sizeof(xid)) | 1;
}

/* Determine which packets are authenticated, and set the switch's secret. */
static inline void
plane_options_check_auth(struct plane_options *o, bool live)
{
	struct program_place *place = &o->plane.place;
	const bool able = o->plane.program->supports_tags;
	const char *why;

	if (o->auth == TAG_AUTH_ALL && !able)
		errx(2, "--auth all cannot be used with program %s, whose data "
		    "has no authentication tags", o->plane.program->name);
	if (o->auth == TAG_AUTH_DEFAULT && o->key.set && !able)
		o->auth = TAG_AUTH_CONTROL;
	why = tag_auth_resolve(&o->auth, o->key.set);
	if (why != NULL)
		errx(2, "%s", why);
	place->tagged = o->auth == TAG_AUTH_ALL;
	if (o->secret_path != NULL)
		plane_options_read_secret(o, o->secret_path);
	if (o->commands.set && !o->key.set)
		errx(2, "--command-key needs --key");
	place->command_key = o->commands.set ? &o->commands : NULL;
	if (place->secret_known && o->key.set)
		place->xid = plane_options_derive_xid(place);
	if (live && !place->secret_known && getrandom(place->secret,
	    sizeof(place->secret), 0) != sizeof(place->secret))
		err(1, "getrandom");
}

/*
 * Exit with an error if everyone could take part: the switch would listen on an
 * address other than loopback, and there is no key or the program ignores keys.
 * --insecure permits this.
 */
static inline void
plane_options_check_exposure(const struct plane_options *o)
{
	const struct program *pr = o->plane.program;
	char name[ADDR_NAME_BYTES];

	if (o->insecure || o->dry_run || o->listen_at.sa.sa_family == 0 ||
	    addr_is_loopback(&o->listen_at) || (o->key.set && !pr->ignores_key))
		return;
	addr_print(&o->listen_at, name);
	if (pr->ignores_key)
		errx(1, "--listen %s: every host that can reach this address "
		    "could take part, because packets of program %s have no "
		    "authentication tags; give --insecure (with or without "
		    "--key), or listen on 127.0.0.1",
		    name, pr->name);
	errx(1, "--listen %s: every host that can reach this address could "
	    "take part; give --key FILE or --insecure, or listen on 127.0.0.1",
	    name);
}

static inline void
plane_options_check(struct plane_options *o, bool live)
{
	const struct program *pr = o->plane.program;
	struct program_place *place = &o->plane.place;
	const char *listen = o->listen, *why;
	char port[8];

	plane_options_set_settings(o);
	plane_options_check_ports(o);
	plane_options_check_files(o, live);
	snprintf(port, sizeof(port), "%u", pr->default_port(o->settings));
	if (listen == NULL && !live)
		listen = pr->trace_address;
	if (listen != NULL)
		opt_check("address", listen, addr_parse(listen, port,
		    &o->listen_at));
	if (!live && o->listen != NULL && addr_port(&o->listen_at) == 0)
		errx(2, "--listen: port 0 is not valid with captures; give the "
		    "port that the switch has in them");
	if (!live && plane_options_find_live(o) != NULL)
		errx(2, "%s needs a live switch (--listen)",
		    plane_options_find_live(o));
	if (o->rotate.bytes != 0 && o->write_in == NULL && o->out == NULL)
		errx(2, "--rotate needs --write-in or -w, whose captures it "
		    "rotates");
	if (plane_options_given(o, PLANE_SEED) && !impair_any(&o->impair))
		errx(2, "--seed needs --impair");
	place->address = o->listen_at;
	place->live = place->needs_cookie = live;
	place->replayed = !live;
	place->key = o->key.set ? &o->key : NULL;
	plane_options_check_auth(o, live);
	place->memory_bytes = o->memory_bytes;
	place->dry_run = o->dry_run;
	if (place->xid == 0)
		place->xid = 1;
	why = pr->check_settings == NULL
		  ? NULL
		  : pr->check_settings(o->settings, place);
	if (why != NULL)
		errx(2, "%s", why);
	if (live)
		plane_options_check_exposure(o);
	o->plane.impair = o->impair;
	o->plane.impair.delay_ns = 0;	/* --impair never delays arriving
					 * packets */
	o->plane.impair.rng = rng_seed(rng_u64(&o->plane.impair.rng));
}

static inline void
plane_options_free(struct plane_options *o)
{
	if (o->plane.program->free_settings != NULL)
		o->plane.program->free_settings(o->settings);
	free(o->settings);
}

#endif
