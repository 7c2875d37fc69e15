/* conf.c - the command line of innet-switch */
#include "config.h"

#include <err.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/num.h"
#include "common/opt.h"
#include "common/timer.h"

#include "cmd/innet-switch/conf.h"

enum {
	SLOTS = OPT_LONG, RATE, THRESHOLD, COMBINE, PROPAGATION, OVERHEAD,
	REGULAR, FORMAT, TABLE, UNTIL, DEPARTURES, REPORT, LISTEN, UPSTREAM,
	WRITE_OUT, IMPAIR, WINDOW, DURATION, PORT_FILE, SEED, JSON, MEMORY,
	DRY_RUN, NO_OFFLOAD, AS, LATE, PORT, SESSION
};

static const char *const programs[] = { "olaf", "fifo", "iswitch", "dlp",
    NULL };

/* The programs that have an option; what is not here all of them have. */
enum {
	QUEUES = 1 << PROGRAM_OLAF | 1 << PROGRAM_FIFO,
	AGGR = 1 << PROGRAM_ISWITCH,
	DLP = 1 << PROGRAM_DLP
};

static const struct { int ch; unsigned programs; } only[] = {
	{ SLOTS, QUEUES }, { THRESHOLD, QUEUES }, { COMBINE, QUEUES },
	{ REGULAR, QUEUES }, { FORMAT, QUEUES }, { TABLE, QUEUES },
	{ DEPARTURES, QUEUES }, { UPSTREAM, QUEUES }, { WINDOW, QUEUES },
	{ 'H', AGGR }, { AGGR_ASYNC, AGGR }, { AGGR_REDUCE, AGGR | DLP },
	{ AGGR_BITS, AGGR }, { AGGR_STRAGGLER, AGGR }, { AGGR_TIMEOUT, AGGR },
	{ AGGR_KEEP, AGGR }, { AGGR_PARENT, AGGR }, { AGGR_NUMBER, AGGR },
	{ AGGR_KEY, AGGR }, { AGGR_MEMBERS, AGGR }, { AGGR_ELEMENTS, AGGR },
	{ AGGR_FLOATS, AGGR }, { RATE, QUEUES | AGGR },
	{ PROPAGATION, QUEUES | AGGR }, { OVERHEAD, QUEUES | AGGR },
	{ MEMORY, QUEUES | AGGR }, { DRY_RUN, QUEUES | AGGR }, { AS, DLP },
	{ LATE, DLP }, { PORT, DLP }, { SESSION, DLP }
};

static const struct opt opts[] = {
	{ 'p', "program", "NAME", "olaf (default), fifo, iswitch or dlp" },
	{ SLOTS, "slots", "N", "frames the queue holds (default 8)" },
	{ RATE, "rate", "RATE", "rate of the link out, bit/s (default 40G)" },
	{ COMBINE, "combine", "HOW", "merge by mean or sum (default mean)" },
	{ THRESHOLD, "reward-threshold", "X", "replace or drop by reward" },
	{ OVERHEAD, "wire-overhead", NULL, "count 24 bytes more a frame" },
	{ WINDOW, "active-window", "TIME", "clusters seen so lately (1s)" },
	AGGR_OPTIONS,
	{ LATE, "late", NULL, "dlp: answer at once, from the step before" },
	{ AS, "as", "WHAT", "dlp: the thesis's switch (default) or server" },
	{ PORT, "port", "N", "dlp: its UDP port (1234; as server 12344)" },
	{ SESSION, "session", "LIST", "dlp: nodes=,iterations=,scale=,..." },
	{ REPORT, "report", "FILE", "write all counters as JSON" },
	{ 'r', "read", "FILE", "filter: read a capture (may be repeated)" },
	{ 'w', "write", "FILE", "filter: write to; live: capture what comes" },
	{ 'c', "count", "N", "filter: stop after N packets" },
	{ PROPAGATION, "propagation", "TIME", "filter: add to departures" },
	{ REGULAR, "regular", "HOW", "filter: bypass (default) or queued" },
	{ FORMAT, "format", "NAME", "filter: innet (default) or bare" },
	{ TABLE, "cluster-table", "FILE", "filter: prefix,cluster for bare" },
	{ UNTIL, "until", "TIME", "filter: stop then; +TIME from the first" },
	{ DEPARTURES, "departures", "FILE", "filter: departures as in FILE" },
	{ LISTEN, "listen", "ADDR", "live: serve HOST:PORT; iswitch: its own" },
	{ UPSTREAM, "upstream", "ADDR", "live: send on to HOST:PORT" },
	{ WRITE_OUT, "write-out", "FILE", "live: capture what goes out" },
	{ IMPAIR, "impair", "LIST", "live: loss=,dup=,reorder=,delay=" },
	{ DURATION, "duration", "TIME", "live: end after TIME" },
	{ PORT_FILE, "port-file", "FILE", "live: write the port there" },
	{ SEED, "seed", "N", "live: of --impair's chance (default 1)" },
	{ NO_OFFLOAD, "no-offload", NULL, "live: no UDP_SEGMENT, no UDP_GRO" },
	{ MEMORY, "memory", "SIZE", "refuse to start if more is needed" },
	{ DRY_RUN, "dry-run", NULL, "say the memory needed and exit" },
	{ JSON, "json", NULL, "summary as a JSON object, one line" },
	{ 'v', "verbose", NULL, "live: say how packets pass the kernel" },
	{ 'q', "quiet", NULL, "leave out the summary" },
	OPT_HELP_VERSION,
	{ 0 }
};

static const struct opt_tool tool = {
	"innet-switch", PACKAGE_VERSION,
	"[-p PROGRAM] [OPTION...] [-r FILE]... [-w FILE]\n"
	"       innet-switch --listen ADDR --upstream ADDR [OPTION...]\n"
	"       innet-switch -p iswitch|dlp --listen ADDR [OPTION...]",
	"Queue and merge model updates on their way to the parameter server, or\n"
	"sum gradients for all workers: as a filter on captures, or live on a UDP\n"
	"socket.", opts
};

static const uint64_t hour_ns = 3600 * (uint64_t)TIMER_SECOND_NS;

/* Options of the queue and the link, which both modes share. */
static bool
parse_queue(int ch, struct conf *cf)
{
	static const char *const combines[] = { "mean", "sum", NULL };
	uint64_t v = 0;

	switch (ch) {
	case 'p':
		cf->program = (enum program)opt_word("program", optarg,
		    programs);
		cf->egress.program = cf->program == PROGRAM_FIFO ?
		    EGRESS_FIFO : EGRESS_OLAF;
		return true;
	case SLOTS:
		opt_check("slots", optarg, num_u64(optarg, 1, 1u << 24, &v));
		cf->egress.slots = (uint32_t)v;
		return true;
	case RATE:
		opt_check("rate", optarg, num_rate(optarg, 1,
		    1000000000000000, &cf->egress.rate_bps));
		return true;
	case THRESHOLD:
		opt_check("reward threshold", optarg, num_real(optarg, 0,
		    1e30, &cf->egress.threshold));
		return true;
	case COMBINE:
		cf->egress.combine = (enum olafq_combine)opt_word("combine",
		    optarg, combines);
		return true;
	case OVERHEAD:
		cf->egress.extra_bytes = FRAME_WIRE_EXTRA_BYTES;
		return true;
	case WINDOW:
		opt_check("active window", optarg, num_time(optarg, 1,
		    hour_ns, &cf->egress.active_window_ns));
		return true;
	default:
		return false;
	}
}

/* Options of DLP. */
static bool
parse_dlp(int ch, struct conf *cf)
{
	static const char *const whats[] = { "switch", "server", NULL };
	uint64_t port = 0;

	switch (ch) {
	case AS:
		cf->dlp.job.as = (enum dlpjob_as)opt_word("word", optarg,
		    whats);
		return true;
	case LATE: cf->dlp.job.late = true; return true;
	case PORT:
		opt_check("port", optarg, num_u64(optarg, 1, 65535, &port));
		cf->dlp.port = (uint16_t)port;
		return true;
	case SESSION:
		opt_check("session", optarg, dlp_session_parse(optarg,
		    &cf->dlp.job.session));
		return true;
	default:
		return false;
	}
}

/* Options of the filter alone. */
static bool
parse_filter(int ch, struct conf *cf)
{
	static const char *const regulars[] = { "bypass", "queued", NULL };
	static const char *const formats[] = { "innet", "bare", NULL };

	switch (ch) {
	case 'r':
		if (cf->ins == CONF_READ_MAX)
			errx(2, "more than %d files to read", CONF_READ_MAX);
		cf->in[cf->ins++] = optarg;
		break;
	case 'c':
		opt_check("count", optarg, num_u64(optarg, 1, UINT64_MAX,
		    &cf->filter.feed.count));
		break;
	case PROPAGATION:
		opt_check("propagation", optarg, num_time(optarg, 0, hour_ns,
		    &cf->filter.propagation_ns));
		break;
	case REGULAR:
		cf->filter.regular_queued = opt_word("regular", optarg,
		    regulars) == 1;
		break;
	case FORMAT:
		cf->bare = opt_word("format", optarg, formats) == 1;
		break;
	case TABLE: cf->table = optarg; break;
	case UNTIL:
		opt_check("time", optarg, num_instant(optarg,
		    &cf->filter.feed.until_ns,
		    &cf->filter.feed.until_relative));
		break;
	case DEPARTURES: cf->departures = optarg; break;
	default:
		return false;
	}
	cf->filters = true;
	return true;
}

/* Options of the live switch alone. */
static bool
parse_live(int ch, struct conf *cf)
{
	uint64_t seed = 0;

	switch (ch) {
	case LISTEN:
		cf->listen = optarg;
		cf->listens = true;
		return true;
	case UPSTREAM:
		opt_check("address", optarg, addr_parse(optarg, "46638",
		    &cf->live.upstream));
		cf->upstream = true;
		return true;
	case WRITE_OUT: cf->write_out = optarg; return true;
	case IMPAIR:
		opt_check("impairment", optarg, impair_parse(optarg,
		    &cf->live.impair));
		cf->impaired = true;
		return true;
	case DURATION:
		opt_check("duration", optarg, num_time(optarg, 1, INT64_MAX,
		    &cf->live.duration_ns));
		return true;
	case PORT_FILE: cf->live.port_file = optarg; return true;
	case NO_OFFLOAD: cf->live.no_offload = true; return true;
	case SEED:
		opt_check("seed", optarg, num_u64(optarg, 0, UINT64_MAX,
		    &seed));
		cf->live.impair.rng = rng_seed(seed);
		return true;
	default:
		return false;
	}
}

/* What both modes write and say. */
static void
parse_other(int ch, struct conf *cf)
{
	switch (ch) {
	case 'w': cf->out = optarg; break;
	case REPORT: cf->report = optarg; break;
	case MEMORY:
		opt_check("memory", optarg, num_bytes(optarg, 1, INT64_MAX,
		    &cf->memory_bytes));
		break;
	case DRY_RUN: cf->dry_run = true; break;
	case JSON: cf->json = true; break;
	case 'v': cf->verbose = true; break;
	case 'q': cf->quiet = true; break;
	}
}

/* An option that the program does not have is misuse. */
static void
check_program(enum program program, const bool seen[])
{
	for (size_t i = 0; i < sizeof(only) / sizeof(*only); i++) {
		const struct opt *o = opts;

		if (!seen[only[i].ch] || (only[i].programs >> program & 1) != 0)
			continue;
		while (o->ch != only[i].ch)
			o++;
		errx(2, "--%s does not go with --program %s", o->name,
		    programs[program]);
	}
}

/* What DLP's words mean together; the port it is known by, in port. */
static void
settle_dlp(struct conf *cf, char port[8])
{
	static const char *const reduces[] = { "mean", "median", NULL };

	if (cf->aggr.reduce != NULL)
		cf->dlp.job.median = opt_word("reduction", cf->aggr.reduce,
		    reduces) == 1;
	if (cf->dlp.port == 0)
		cf->dlp.port = cf->dlp.job.as == DLPJOB_SERVER ?
		    DLP_SERVER_PORT : DLP_SWITCH_PORT;
	snprintf(port, 8, "%u", cf->dlp.port);
}

/* Filter or live?  And what follows from the program and its address. */
static void
settle(struct conf *cf)
{
	const bool aggr = cf->program == PROGRAM_ISWITCH;
	char port[8] = "46638";

	cf->serves = cf->listens && !(aggr && cf->filters);
	if (cf->program == PROGRAM_DLP)
		settle_dlp(cf, port);
	if (cf->listens)
		opt_check("address", cf->listen, addr_parse(cf->listen, port,
		    &cf->live.listen));
	else if (aggr)
		opt_check("address", "10.255.255.1", addr_parse("10.255.255.1",
		    port, &cf->live.listen));
	if (aggr)
		aggr_check(&cf->aggr, &cf->live.listen);
}

/* What --program iswitch has of options that do not go together. */
static void
check_aggr(const struct conf *cf)
{
	if (cf->dry_run != (cf->aggr.elements > 0))
		errx(2, "--dry-run and --elements go together");
	if (cf->aggr.floats > 0 && !cf->dry_run)
		errx(2, "--floats goes with --dry-run");
	if (cf->serves && cf->aggr.iswitch.implicit > 0)
		errx(2, "--members goes with the filter; workers join");
	if (!cf->serves && addr_port(&cf->live.listen) == 0)
		errx(2, "--listen: port 0 is nobody's in a trace");
	if (!cf->serves && cf->aggr.iswitch.job.child &&
	    addr_port(&cf->live.listen) == UINT16_MAX)
		errx(2, "--listen: no port behind it for a job with --parent");
}

/* Options that do not go together. */
static void
check(const struct conf *cf)
{
	if (cf->serves && cf->filters)
		errx(2, "--listen does not go with options of the filter");
	if (cf->serves && !cf->upstream && (cf->program == PROGRAM_OLAF ||
	    cf->program == PROGRAM_FIFO))
		errx(2, "--listen needs --upstream, where updates go on to");
	if (!cf->serves && (cf->upstream || cf->impaired ||
	    cf->write_out != NULL || cf->live.port_file != NULL ||
	    cf->live.no_offload ||
	    cf->live.duration_ns != TIMER_NEVER))
		errx(2, "options of the live switch need --listen");
	if (cf->upstream && addr_port(&cf->live.upstream) == 0)
		errx(2, "--upstream: port 0 is nobody's");
	if (!cf->serves && cf->report != NULL && strcmp(cf->report, "-") == 0
	    && (cf->out == NULL || strcmp(cf->out, "-") == 0))
		errx(2, "--report - and the capture both go to the standard "
		    "output; use -w FILE");
	if (cf->departures != NULL && (cf->bare || cf->filter.regular_queued))
		errx(2, "--departures goes with innet's own packets alone in "
		    "the queue");
	if (cf->bare != (cf->table != NULL))
		errx(2, "--format bare and --cluster-table go together");
	if (cf->upstream && cf->live.listen.sa.sa_family !=
	    cf->live.upstream.sa.sa_family)
		errx(2, "--listen and --upstream must both be IPv4 or IPv6");
}

struct conf
conf_parse(int argc, char *argv[])
{
	struct conf cf = {
		.egress = { .slots = 8, .rate_bps = 40000000000,
		    .threshold = NAN, .active_window_ns = TIMER_SECOND_NS },
		.filter = { .feed = { .until_ns = UINT64_MAX } },
		.live = { .duration_ns = TIMER_NEVER,
		    .impair = { .rng = rng_seed(1) } },
	};
	bool seen[OPT_LONG + 128] = { false };
	int ch;

	aggr_defaults(&cf.aggr);
	while ((ch = opt_next(&tool, argc, argv)) != -1) {
		seen[ch] = true;
		if (!parse_queue(ch, &cf) && !parse_filter(ch, &cf) &&
		    !parse_live(ch, &cf) && !aggr_parse(ch, &cf.aggr) &&
		    !parse_dlp(ch, &cf))
			parse_other(ch, &cf);
	}
	opt_done(&tool, argc, argv);
	check_program(cf.program, seen);
	settle(&cf);
	if (cf.program == PROGRAM_ISWITCH)
		check_aggr(&cf);
	check(&cf);
	return cf;
}
