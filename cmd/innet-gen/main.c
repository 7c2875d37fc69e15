/* main.c - generate a capture of the updates that workers send */
#include "config.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/innet-gen/dlp.h"
#include "cmd/innet-gen/gen.h"
#include "cmd/innet-gen/segments.h"
#include "cmd/innet-gen/sources.h"
#include "cmd/innet-gen/writer.h"
#include "common/base/files.h"
#include "common/base/message.h"
#include "common/base/num.h"
#include "common/base/opt.h"
#include "common/wire/dlp.h"
#include "common/wire/frame.h"
#include "common/wire/seg.h"

/*
 * The longest interval is 104 days.  With this limit, times cannot overflow
 * even with --speeds and bursts.
 */
#define STEP_MAX_NS ((uint64_t)1 << 53)

enum {
	O_CLUSTERS = OPT_LONG, O_WORKERS, O_DURATION, O_PAYLOAD, O_VECTOR,
	O_MTU, O_INTERVAL, O_RATE, O_ARRIVALS, O_BURST, O_PORT_RATE, O_JITTER,
	O_PHASE, O_SPEEDS, O_GROUPS, O_REWARDS, O_SCHEDULE, O_SCALE, O_PROGRAM,
	O_OUT_OF_STEP, O_BACKGROUND, O_FORMAT, O_TABLE, O_START, O_SEED,
	O_JSON, O_OVERHEAD, O_FRAME_TIME, O_END
};

static const struct opt opts[] = {
	{ O_CLUSTERS, "clusters", "N",
	    "number of clusters, numbered from 1 (default 9)" },
	{ O_WORKERS, "workers", "N",
	    "number of workers in a cluster (default 3)" },
	{ 'c', "count", "N",
	    "number of updates of each worker (default 500)" },
	{ O_DURATION, "duration", "TIME",
	    "send no update after this time (default: no limit)" },
	{ O_PAYLOAD, "payload", "SIZE",
	    "size of the UDP payload (default 256B)" },
	{ O_VECTOR, "vector", "VECTOR",
	    "size of the vector: bytes (40kB), a number of elements, or "
	    "the name of an algorithm (dqn)" },
	{ O_MTU, "mtu", "SIZE",
	    "size of the largest IP packet (default 1500B)" },
	{ O_INTERVAL, "interval", "TIME",
	    "time between two updates of a worker (default 100ms)" },
	{ O_RATE, "rate", "RATE",
	    "rate of all workers' frames together, in bits per second" },
	{ O_ARRIVALS, "arrivals", "KIND",
	    "distribution of arrivals: periodic (default), poisson, "
	    "onoff, lognormal or bursts" },
	{ O_BURST, "burst", "N", "number of updates in a burst (default 8)" },
	{ O_PORT_RATE, "port-rate", "RATE",
	    "send all frames through one port of this rate (default with "
	    "bursts: 128G)" },
	{ O_OVERHEAD, "wire-overhead", NULL,
	    "with --port-rate: count 24 additional bytes for each frame" },
	{ O_FRAME_TIME, "frame-time", "TIME",
	    "with --port-rate: additional time for each frame" },
	{ O_JITTER, "jitter", "TIME",
	    "delay each update by a random time up to TIME (default 0)" },
	{ O_PHASE, "phase", "KIND",
	    "times of the workers' first updates: random (default) or "
	    "aligned" },
	{ O_SPEEDS, "speeds", "SPREAD",
	    "give each worker a random speed between 1-SPREAD and 1+SPREAD" },
	{ O_GROUPS, "groups", "LIST",
	    "intervals of groups of clusters, for example "
	    "1-5:100ms,6-10:300ms" },
	{ O_REWARDS, "rewards", "KIND",
	    "rewards of the updates: flat (default), rising or noisy" },
	{ O_SCHEDULE, "schedule", "FILE",
	    "send the updates in a CSV file (cluster,worker,time_ns,reward)" },
	{ O_SCALE, "scale-clusters", "N",
	    "copy the clusters of the schedule until there are N clusters" },
	{ O_PROGRAM, "program", "NAME",
	    "program that receives the packets: olaf (default), iswitch or "
	    "dlp" },
	{ O_OUT_OF_STEP, "async", NULL,
	    "iswitch: let the workers push asynchronously" },
	{ O_BACKGROUND, "background", "RATE",
	    "rate of additional UDP traffic, in bits per second" },
	{ O_FORMAT, "format", "NAME",
	    "format of the packets: innet (default) or bare" },
	{ O_TABLE, "cluster-table", "FILE",
	    "write the clusters of bare packets to a CSV file "
	    "(prefix,cluster)" },
	{ O_START, "start", "TIME",
	    "time of the first update, counted from 1970 (default 0)" },
	{ O_SEED, "seed", "N", "seed of the random numbers (default 1)" },
	{ 'w', "write", "FILE",
	    "write the capture to FILE (default: standard output)" },
	{ O_JSON, "json", NULL, "print the summary as a JSON object" },
	{ 'q', "quiet", NULL, "print no summary and no progress" },
	{ 'v', "verbose", NULL, "describe the traffic before generating it" },
	OPT_HELP_VERSION,
	{ 0 }
};

static const struct opt_tool tool = {
	.name = "innet-gen", .version = PACKAGE_VERSION,
	.usage = "[-qv] [-c N] [-w FILE] [--OPTION=VALUE]...",
	.about = "Generate a capture of the updates that many workers send.",
	.opts = opts
};

static volatile sig_atomic_t stopped;	/* signal that asked to stop, or 0 */

static void
on_signal(int sig)
{
	stopped = sig;
}

/* Parse one item of --groups, such as "1-5:100ms" or "7:1s". */
static void
parse_group(char *word, struct conf *cf)
{
	char *colon = strchr(word, ':'), *dash;
	uint64_t from = 0, to = 0;
	struct group *g;

	if (cf->groups == GROUPS_MAX)
		errx(2, "--groups: more than %d groups", GROUPS_MAX);
	if (colon == NULL)
		errx(2, "--groups: '%s' needs a colon and an interval, as in "
		    "1-3:10ms",
		    word);
	g = &cf->group[cf->groups++];
	opt_check("interval", colon + 1, num_time(colon + 1, 1, STEP_MAX_NS,
	    &g->interval_ns));
	*colon = '\0';
	dash = strchr(word, '-');
	if (dash != NULL)
		*dash = '\0';
	opt_check("cluster", word, num_u64(word, 1, FRAME_CLUSTERS_MAX - 1,
	    &from));
	to = from;
	if (dash != NULL)
		opt_check("cluster", dash + 1, num_u64(dash + 1, from,
		    FRAME_CLUSTERS_MAX - 1, &to));
	g->from = (uint32_t)from;
	g->to = (uint32_t)to;
}

static void
parse_groups(char *list, struct conf *cf)
{
	char *word;

	while ((word = strsep(&list, ",")) != NULL)
		parse_group(word, cf);
}

/*
 * Parse a number of clusters or workers.  Each of them must have an address in
 * frame_worker_addr().
 */
static void
parse_crowd(const char *what, uint64_t most, uint64_t *n)
{
	opt_check(what, optarg, num_u64(optarg, 1, UINT64_MAX, n));
	if (*n > most)
		errx(2, "invalid %s '%s': the maximum is %" PRIu64 ", because "
		    "higher numbers have no address", what, optarg, most);
}

/*
 * Parse an option about packets, clusters and workers; return false if ch is
 * another option.
 */
static bool
parse_shape(int ch, struct conf *cf)
{
	static const char *const formats[] = { "innet", "bare", NULL };
	static const char *const rewards[] = { "flat", "rising", "noisy",
	    NULL };

	switch (ch) {
	case O_CLUSTERS:
		parse_crowd("clusters", FRAME_CLUSTERS_MAX - 1, &cf->clusters);
		break;
	case O_WORKERS:
		parse_crowd("workers", FRAME_WORKERS_MAX, &cf->workers);
		break;
	case O_PAYLOAD:
		opt_check("payload", optarg, num_bytes(optarg, 8, 65507,
		    &cf->payload_bytes));
		break;
	case O_VECTOR:
		opt_check("vector", optarg, num_vector(optarg, 1, 1u << 28,
		    &cf->elements));
		break;
	case O_MTU:
		opt_check("mtu", optarg, num_bytes(optarg, 72, 65536,
		    &cf->mtu));
		break;
	case O_REWARDS:
		cf->rewards = opt_word("rewards", optarg, rewards);
		break;
	case O_FORMAT:
		cf->bare = opt_word("format", optarg, formats) == 1;
		break;
	case O_TABLE: cf->table = optarg; break;
	default:
		return false;
	}
	return true;
}

/*
 * Parse an option about times and rates; return false if ch is another option.
 */
static bool
parse_times(int ch, struct conf *cf)
{
	static const char *const arrivals[] = { "periodic", "poisson",
	    "onoff", "lognormal", "bursts", NULL };
	static const char *const phases[] = { "random", "aligned", NULL };
	uint64_t *t = ch == O_INTERVAL ? &cf->interval_ns :
	    ch == O_DURATION ? &cf->duration_ns : &cf->jitter_ns;
	const char *what = ch == O_INTERVAL ? "interval" :
	    ch == O_DURATION ? "duration" : "jitter";
	uint64_t *rate = ch == O_RATE ? &cf->rate :
	    ch == O_PORT_RATE ? &cf->port_rate : &cf->regular;

	switch (ch) {
	case O_DURATION:
	case O_INTERVAL:
	case O_JITTER:
		opt_check(what, optarg, num_time(optarg, ch != O_JITTER,
		    ch == O_INTERVAL ? STEP_MAX_NS : INT64_MAX / 2, t));
		break;
	case O_RATE:
	case O_PORT_RATE:
	case O_BACKGROUND:
		opt_check(ch == O_RATE ? "rate" : ch == O_PORT_RATE ?
		    "port rate" : "background rate", optarg,
		    num_rate(optarg, 1, 1000000000000000, rate));
		break;
	case O_OVERHEAD: cf->extra_bytes = FRAME_WIRE_EXTRA_BYTES; break;
	case O_FRAME_TIME:
		opt_check("frame time", optarg, num_time(optarg, 0,
		    3600 * (uint64_t)1000000000, &cf->frame_ns));
		break;
	case O_ARRIVALS:
		cf->arrivals = opt_word("arrivals", optarg, arrivals);
		break;
	case O_BURST:
		opt_check("burst", optarg, num_u64(optarg, 1, UINT32_MAX,
		    &cf->burst));
		break;
	case O_PHASE:
		cf->aligned = opt_word("phase", optarg, phases) == 1;
		break;
	case O_SPEEDS:
		opt_check("speeds", optarg, num_real(optarg, 0, 0.99,
		    &cf->speeds));
		break;
	case O_GROUPS: parse_groups(optarg, cf); break;
	case O_START:
		opt_check("start", optarg, num_time(optarg, 0,
		    4294967295000000000, &cf->start_ns));
		break;
	default:
		return false;
	}
	return true;
}

static void
parse_program(const char *name, struct conf *cf)
{
	static const char *const names[] = { "olaf", "iswitch", "dlp", NULL };
	const int which = opt_word("program", name, names);

	cf->iswitch = which == 1;
	cf->dlp = which == 2;
}

static void
parse_one(int ch, struct conf *cf)
{
	switch (ch) {
	case 'c':
		opt_check("count", optarg, num_u64(optarg, 1, UINT32_MAX,
		    &cf->count));
		break;
	case O_SCHEDULE: cf->schedule = optarg; break;
	case O_SCALE:
		parse_crowd("clusters", FRAME_CLUSTERS_MAX, &cf->scale);
		break;
	case O_PROGRAM: parse_program(optarg, cf); break;
	case O_OUT_OF_STEP: cf->async = true; break;
	case O_SEED:
		opt_check("seed", optarg, num_u64(optarg, 0, UINT64_MAX,
		    &cf->seed));
		break;
	case 'w': cf->out = optarg; break;
	case 'q': cf->quiet = true; break;
	case 'v': cf->verbose = true; break;
	}
}

/* Exit with status 2 if an option is not allowed with --program iswitch. */
static void
refuse_for_iswitch(const bool *given, const struct conf *cf)
{
	enum { ALWAYS = 7, IN_STEP = 12 };
	static const int none[IN_STEP] = { O_RATE, O_REWARDS, O_SCHEDULE,
	    O_SCALE, O_BACKGROUND, O_FORMAT, O_TABLE, O_ARRIVALS, O_BURST,
	    O_PHASE, O_SPEEDS, O_GROUPS };

	for (int i = 0; i < (cf->async ? ALWAYS : IN_STEP); i++) {
		const struct opt *o = opts;

		if (!given[none[i] - OPT_LONG])
			continue;
		while (o->ch != none[i])
			o++;
		errx(2, "--%s cannot be used with --program iswitch%s", o->name,
		    i < ALWAYS ? "" : " without --async");
	}
	if (cf->arrivals == ARRIVALS_BURSTS)
		errx(2, "--arrivals bursts cannot be used with --program "
		    "iswitch");
}

/* Exit with status 2 if options were given that exclude each other. */
static void
refuse_pairs(const bool *given, const struct conf *cf)
{
	static const struct { int a, b; } pairs[] = {
		{ O_VECTOR, O_PAYLOAD }, { O_RATE, O_INTERVAL },
		{ O_RATE, O_GROUPS }, { O_SCHEDULE, O_CLUSTERS },
		{ O_SCHEDULE, O_WORKERS }, { O_SCHEDULE, O_INTERVAL },
		{ O_SCHEDULE, O_RATE }, { O_SCHEDULE, O_ARRIVALS },
		{ O_SCHEDULE, O_BURST }, { O_SCHEDULE, O_JITTER },
		{ O_SCHEDULE, O_PHASE }, { O_SCHEDULE, O_SPEEDS },
		{ O_SCHEDULE, O_GROUPS }, { O_SCHEDULE, O_REWARDS }
	};
	const struct opt *o;
	const char *a = NULL, *b = NULL;

	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		if (!given[pairs[i].a - OPT_LONG] ||
		    !given[pairs[i].b - OPT_LONG])
			continue;
		for (o = opts; o->name != NULL; o++) {
			a = o->ch == pairs[i].a ? o->name : a;
			b = o->ch == pairs[i].b ? o->name : b;
		}
		errx(2, "give --%s or --%s, not both", a, b);
	}
	if (cf->scale != 0 && cf->schedule == NULL)
		errx(2, "--scale-clusters needs --schedule FILE");
	if (cf->speeds > 0 && cf->arrivals == ARRIVALS_BURSTS)
		errx(2, "--speeds does not apply to --arrivals bursts, because "
		    "all workers of a cluster send together");
	if (given[O_BURST - OPT_LONG] && cf->arrivals != ARRIVALS_BURSTS &&
	    cf->arrivals != ARRIVALS_ONOFF)
		errx(2, "--burst applies only to --arrivals bursts or onoff");
	if (cf->clusters * cf->workers > UINT32_MAX)
		errx(2, "--clusters %" PRIu64 " and --workers %" PRIu64
		    " make more than %" PRIu32 " workers; lower one of them",
		    cf->clusters, cf->workers, UINT32_MAX);
}

/*
 * Exit with status 2 if an option is not allowed with --program dlp, or if the
 * session is too large.
 */
static void
refuse_for_dlp(const bool *given, const struct conf *cf)
{
	static const int has[] = { O_WORKERS, O_INTERVAL, O_JITTER, O_PROGRAM,
	    O_START, O_SEED, O_JSON, O_VECTOR };
	const size_t n = sizeof(has) / sizeof(*has);

	for (const struct opt *o = opts; o->name != NULL; o++) {
		size_t k = 0;

		while (k < n && has[k] != o->ch)
			k++;
		if (o->ch >= OPT_LONG && given[o->ch - OPT_LONG] && k == n)
			errx(2, "--%s cannot be used with --program dlp",
			    o->name);
	}
	if (cf->workers > DLP_NODES_MAX)
		errx(2, "--workers %" PRIu64 ": a DLP session has at most %d "
		    "workers",
		    cf->workers, DLP_NODES_MAX);
	if (cf->elements > DLP_ELEMENTS_MAX)
		errx(2, "--vector: %" PRIu64 " elements are too many; a DLP "
		    "vector has at most %d",
		    cf->elements, DLP_ELEMENTS_MAX);
	if (cf->count > INT32_MAX)
		errx(2, "--count %" PRIu64 ": a DLP session has at most %d "
		    "steps", cf->count, INT32_MAX);
	if (cf->jitter_ns >= cf->interval_ns)
		errx(2, "--jitter must be less than --interval in a DLP "
		    "session");
}

/* Compute how a vector is split into packets. */
static void
cut_vector(struct conf *cf)
{
	uint64_t head = cf->iswitch ? SEG_HEADER_BYTES : cf->bare ? 4 :
	    UPDATE_HEADER_BYTES;
	uint64_t most = cf->iswitch ? seg_floats(cf->mtu, false) :
	    update_floats(cf->mtu, false);

	if (cf->bare)		/* bare packets need no room for a model's
				 * header */
		most += (UPDATE_MODEL_BYTES - head) / 4;
	if (cf->elements != 0) {
		cf->floats = cf->elements < most ? cf->elements : most;
		if (cf->bare && cf->floats < cf->elements)
			errx(2, "--format bare sends a vector in one packet, "
			    "with at most %" PRIu64 " floats, but the vector "
			    "has %" PRIu64 " floats", most, cf->elements);
		if (!cf->iswitch && (cf->elements - 1) / most > UINT16_MAX)
			errx(2, "--mtu %" PRIu64 " splits the vector into more "
			    "than 65,536 packets; choose a larger MTU",
			    cf->mtu);
		return;
	}
	if (cf->payload_bytes < head + 4 || (cf->payload_bytes - head) % 4 != 0)
		errx(2, "--payload %" PRIu64 ": the size must be the "
		    "%" PRIu64 " bytes of the header plus a multiple of 4 "
		    "bytes for the floats",
		    cf->payload_bytes, head);
	cf->floats = cf->elements = (cf->payload_bytes - head) / 4;
	if (cf->floats > most)
		errx(2, "--payload %" PRIu64 " does not fit into --mtu %"
		    PRIu64 ": the maximum is %" PRIu64,
		    cf->payload_bytes, cf->mtu,
		    head + 4 * most);
}

/* Check that no output overwrites another file; set the stream of --json. */
static void
check_files(struct conf *cf, bool json)
{
	struct files f = { 0 };

	files_in(&f, "--schedule", cf->schedule);
	files_out(&f, "-w", cf->out);
	files_out(&f, "--cluster-table", cf->table);
	if (json)
		cf->json = files_json(&f);
	files_done(&f);
}

/*
 * Set the rate of the port, if there is a port, and check that the port is fast
 * enough: the frames of an update must leave before the next update is due.
 */
static void
check_port(const bool *given, struct conf *cf)
{
	const char *of = given[O_FRAME_TIME - OPT_LONG] ? "frame-time" :
	    given[O_OVERHEAD - OPT_LONG] ? "wire-overhead" : NULL;
	double bits, seconds;

	if (cf->iswitch && cf->port_rate == 0)
		cf->port_rate = 10000000000;
	if (cf->arrivals == ARRIVALS_BURSTS && cf->port_rate == 0)
		cf->port_rate = 128000000000;
	if (of != NULL && cf->port_rate == 0)
		errx(2, "--%s describes a port, so it needs --port-rate, the "
		    "rate of that port", of);
	if (cf->rate == 0 || cf->port_rate == 0)
		return;
	if (cf->rate >= cf->port_rate)
		errx(2, "--rate %" PRIu64 " must be less than --port-rate "
		    "%" PRIu64 " (in bits per second)", cf->rate,
		    cf->port_rate);
	if (of == NULL)
		return;
	bits = (double)writer_update_bits(cf);
	seconds = writer_port_ns(cf) / 1e9;
	if ((double)cf->rate * seconds >= bits)
		errx(2, "--rate %" PRIu64 " is too high for --port-rate %"
		    PRIu64 " with --%s; it must be less than %.0f bits per "
		    "second", cf->rate, cf->port_rate, of, bits / seconds);
}

static struct conf
parse(int argc, char *argv[])
{
	struct conf cf = { .out = "-", .clusters = 9, .workers = 3,
	    .payload_bytes = 256, .mtu = 1500, .interval_ns = 100000000,
	    .duration_ns = UINT64_MAX, .burst = 8, .seed = 1,
	    .stop = &stopped };
	bool given[O_END - OPT_LONG] = { false };
	int ch;

	while ((ch = opt_next(&tool, argc, argv)) != -1) {
		if (ch >= OPT_LONG)
			given[ch - OPT_LONG] = true;
		if (!parse_shape(ch, &cf) && !parse_times(ch, &cf))
			parse_one(ch, &cf);
	}
	opt_done(&tool, argc, argv);
	refuse_pairs(given, &cf);
	check_files(&cf, given[O_JSON - OPT_LONG]);
	if (cf.iswitch)
		refuse_for_iswitch(given, &cf);
	else if (cf.async && !cf.dlp)
		errx(2, "--async needs --program iswitch");
	if (cf.dlp && cf.elements == 0)
		cf.elements = DLP_PARAMS;
	cut_vector(&cf);
	for (size_t i = 0; i < cf.groups; i++) {
		if (cf.group[i].to > cf.clusters)
			errx(2, "--groups: cluster %u does not exist, because "
			    "--clusters is %" PRIu64, cf.group[i].to,
			    cf.clusters);
	}
	if (cf.count == 0)
		cf.count = cf.duration_ns == UINT64_MAX ? 500 : UINT32_MAX;
	if (cf.dlp)
		refuse_for_dlp(given, &cf);
	if (source_step(&cf, 1) * cf.burst >> 32 > STEP_MAX_NS << 8)
		errx(2, "--rate %" PRIu64 " and --burst %" PRIu64 " result in "
		    "years between updates; raise --rate or lower --burst",
		    cf.rate, cf.burst);
	check_port(given, &cf);
	return cf;
}

static void
print_plan(const struct conf *cf)
{
	uint64_t bits = writer_update_bits(cf);

	warnx("each update has %" PRIu64 " floats, and all its frames "
	    "together have %" PRIu64 " bits",
	    cf->elements, bits);
	if (cf->schedule == NULL)
		warnx("%" PRIu64 " clusters of %" PRIu64 " workers, %.6g us "
		    "between updates of a worker of cluster 1", cf->clusters,
		    cf->workers, (double)source_step(cf, 1) * 0x1p-32 / 1e3);
}

static int
generate(const struct conf *cf)
{
	struct schedule s = { 0 };
	struct writer w;
	uint64_t again_ns = 0;
	int rc = 0;

	if (cf->iswitch)
		return segments_write(cf);
	if (cf->dlp)
		return dlp_session(cf);
	if (cf->verbose)
		print_plan(cf);
	if (cf->schedule != NULL)
		s = source_read(cf, &again_ns);
	writer_open(&w, cf);
	if (cf->count < UINT32_MAX && cf->duration_ns == UINT64_MAX)
		w.total = cf->count * cf->clusters * cf->workers;
	if (cf->table != NULL && !source_table(cf, cf->schedule == NULL ?
	    NULL : &s))
		rc = 1;
	else if (s.n > 0)
		source_schedule(&s, again_ns, &w);
	else if (cf->arrivals == ARRIVALS_BURSTS)
		source_bursts(cf, &w);
	else
		source_workers(cf, &w);
	rc = writer_close(&w, rc);
	schedule_free(&s);
	return rc;
}

int
main(int argc, char *argv[])
{
	const struct conf cf = parse(argc, argv);
	struct sigaction sa = { .sa_handler = on_signal };
	int rc;

	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	signal(SIGPIPE, SIG_IGN);	/* let a write to a closed pipe fail
					 * instead of ending the program */
	rc = generate(&cf);
	if (stopped) {	/* the output is complete, so end by the signal */
		signal(stopped, SIG_DFL);
		raise(stopped);
	}
	return rc;
}
