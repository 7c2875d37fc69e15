/*
 * innet-worker - carry the gradients of one training process over the network
 */
#include "config.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/auth/key-file.h"
#include "common/base/files.h"
#include "common/base/launcher.h"
#include "common/base/message.h"
#include "common/base/num.h"
#include "common/base/opt.h"
#include "common/iswitch/job-rule.h"
#include "common/iswitch/members.h"
#include "common/net/spin.h"
#include "common/net/timer.h"
#include "common/wire/seg.h"
#include "common/wire/update.h"

#include "cmd/innet-worker/worker.h"

enum {
	SWITCH = OPT_LONG, NOWAIT, CLUSTER, WORKER, CONTROL,
	SYNTHETIC, INTERVAL, JITTER, MTU, GIVE_UP, SILENCE, DURATION, SEED,
	JSON, NO_OFFLOAD, SPIN, IMPAIR, JOB, FLOATS, WINDOW, KEY, AUTH, CHECK,
	STALENESS,
	RATE, MAXIMIZE, MINIMIZE, PACE, EVERY, REDUCE, SESSION, RESET, STDIO,
	RANKS, STRAGGLER
};

static const struct worker_mode modes[] = {
	{ .name = "olaf", .options = "--program olaf", .run = olaf_run },
	{ .name = "sync", .options = "--program iswitch", .run = sync_run },
	{ .name = "async", .options = "--program iswitch --async",
	    .run = async_run },
	{ .name = "dlp", .options = "--program dlp", .run = dlp_run,
	    .port = "1234",
	    .elements_max = DLP_ELEMENTS_MAX, .no_cluster = true },
};

/* one bit for each mode, in the order of the table */
enum { OLAF = 1, SYNC = 2, ASYNC = 4, DLP = 8 };

/* Options that only some modes have, and the modes that have them. */
static const struct { int ch; unsigned modes; } mode_options[] = {
	{ CLUSTER, OLAF | SYNC | ASYNC }, { MTU, OLAF | SYNC | ASYNC },
	{ CONTROL, OLAF }, { JOB, SYNC | ASYNC },
	{ FLOATS, SYNC | ASYNC }, { WINDOW, SYNC }, { RANKS, SYNC },
	{ KEY, OLAF | SYNC | ASYNC }, { AUTH, OLAF | SYNC | ASYNC },
	{ CHECK, SYNC }, { STALENESS, ASYNC }, { RATE, ASYNC },
	{ MAXIMIZE, OLAF | ASYNC }, { MINIMIZE, OLAF | ASYNC },
	{ PACE, ASYNC }, { EVERY, ASYNC },
	{ NOWAIT, ASYNC }, { REDUCE, SYNC | DLP }, { STRAGGLER, SYNC },
	{ SESSION, DLP }, { RESET, DLP },
};

static const struct opt opts[] = {
	{ SWITCH, "switch", "ADDR",
	    "HOST:PORT of the switch or server (required)" },
	{ 'p', "program", "NAME",
	    "program of the switch or server: olaf (default), iswitch or dlp" },
	{ NOWAIT, "async", NULL,
	    "iswitch: join an asynchronous job, in which no worker waits for "
	    "another" },
	{ JOB, "job", "N",
	    "iswitch: number of the job, 0 to 65535 (default 1)" },
	{ CLUSTER, "cluster", "N",
	    "olaf, iswitch: number of the cluster, 0 to 65534 (default 1)" },
	{ WORKER, "worker", "N",
	    "number of this worker, or auto for its rank (required in a "
	    "synchronous job, otherwise 0)" },
	{ RANKS, "ranks", "N",
	    "iswitch: begin the job with N members, and fail if one of them "
	    "leaves; auto: the number of ranks (default: the switch's -H, and "
	    "wait for a replacement)" },
	{ FLOATS, "floats", "N",
	    "iswitch: number of floats in a segment, or max (default: the "
	    "job's number)" },
	{ WINDOW, "window", "N",
	    "iswitch: maximum number of segments sent without a result yet "
	    "(default: adapted to the network)" },
	{ KEY, "key", "FILE",
	    "olaf, iswitch: file with the key that authenticates control "
	    "messages" },
	{ AUTH, "auth", "WHAT",
	    "olaf, iswitch: kinds of packets to authenticate: none, control or "
	    "all (default with --key)" },
	{ RATE, "learning-rate", "X",
	    "with --async: learning rate gamma (default 0.001)" },
	{ MAXIMIZE, "maximize", NULL,
	    "add the gradients to the weights (default with olaf)" },
	{ MINIMIZE, "minimize", NULL,
	    "subtract the gradients from the weights (default with --async)" },
	{ MAXIMIZE, "ascend", NULL, NULL },
	{ MINIMIZE, "descend", NULL, NULL },
	{ STALENESS, "staleness", "N",
	    "with --async: send no gradient that is more than N rounds old "
	    "(default 3)" },
	{ PACE, "pace", "RATE",
	    "with --async: send the segments of a gradient no faster than RATE "
	    "bit/s" },
	{ EVERY, "every", "N",
	    "with --async and --json: print a line every N rounds (default "
	    "100)" },
	{ CONTROL, "control", "NAME",
	    "olaf: transmission control, with a threshold T: none (default), "
	    "urgent[:T], fair[:T], urgent-locked[:T] or fair-locked[:T]" },
	{ REDUCE, "reduce", "HOW",
	    "rule by which gradients are combined; dlp: mean (default) or "
	    "median; iswitch, with --ranks: sum, ordered, fixed, median or "
	    "trimmed:N (default: the switch's --reduce)" },
	{ STRAGGLER, "straggler", "TIME",
	    "iswitch, with --ranks: TIME after the first gradient, the switch "
	    "completes the sum without the late ones (default: the switch's "
	    "--straggler)" },
	{ SESSION, "session", "LIST",
	    "dlp: lead the session, with settings such as "
	    "nodes=N,iterations=N,scale=N" },
	{ RESET, "reset", NULL,
	    "dlp: first end the existing session, if any" },
	{ STDIO, "stdio", NULL,
	    "instead of running a command, exchange gradients on standard "
	    "input and output" },
	{ SYNTHETIC, "synthetic", "VECTOR",
	    "instead of running a command, generate gradients of this length: "
	    "a size (40kB), a number of elements, dqn, a2c, ppo or ddpg" },
	{ INTERVAL, "interval", "TIME",
	    "time between synthetic gradients (default 100ms)" },
	{ CHECK, "check", "N",
	    "iswitch: fail if a result is not the sum of the synthetic "
	    "gradients of workers 0 to N-1" },
	{ JITTER, "jitter", "TIME",
	    "add a random time below TIME to each interval (default 0)" },
	{ 'c', "count", "N", "end after N gradients" },
	{ DURATION, "duration", "TIME", "end after this time" },
	{ GIVE_UP, "give-up", "TIME",
	    "fail if a model or result does not arrive within TIME (default "
	    "30s)" },
	{ SILENCE, "silence", "TIME",
	    "fail if the command sends nothing for TIME (default 10min)" },
	{ MTU, "mtu", "SIZE",
	    "olaf, iswitch: largest size of a packet with its IP header "
	    "(default: the MTU of the path)" },
	{ SEED, "seed", "N",
	    "seed of all random numbers (default: derived from the cluster and "
	    "worker numbers)" },
	{ 'w', "write", "FILE",
	    "write all sent and received packets to a capture" },
	{ IMPAIR, "impair", "LIST",
	    "behave like a bad network when sending: any of loss=SHARE, "
	    "dup=SHARE, reorder=SHARE and delay=TIME" },
	{ NO_OFFLOAD, "no-offload", NULL,
	    "do not use UDP_SEGMENT and UDP_GRO" },
	{ SPIN, "spin", "TIME",
	    "after a packet, poll for TIME before sleeping (default 0)" },
	{ JSON, "json", NULL,
	    "print the summary as a JSON object on one line" },
	{ 'v', "verbose", NULL,
	    "print which kernel interfaces send and receive packets" },
	{ 'q', "quiet", NULL, "do not print the summary" },
	OPT_HELP_VERSION,
	{ 0 }
};

static const struct opt_tool tool = {
	"innet-worker", PACKAGE_VERSION,
	"--switch ADDR [OPTION...] -- COMMAND [ARG...]\n"
	"       innet-worker --switch ADDR --stdio [OPTION...]\n"
	"       innet-worker --switch ADDR --synthetic VECTOR [OPTION...]",
	"Run COMMAND with the gradient stream on its standard input and\n"
	"output, and carry its gradients and models over the network.\n"
	"An option whose text begins with a program, such as 'olaf:', applies\n"
	"only to that program.", opts
};

struct conf {
	struct worker_conf worker;
	struct key key;
	const char *key_file, *capture;	/* paths; NULL: not given */
	const char *reduce;		/* argument of --reduce, or NULL */
	uint64_t seen;	/* bit set of the options that were given; bit 0 is
			 * OPT_LONG */
	bool seeded;
};

static volatile sig_atomic_t stop_signal; /* the signal that stops the worker */
static volatile sig_atomic_t summarize;	/* set by SIGUSR1, which requests that
					 * the counters are printed */
static volatile sig_atomic_t hup;	/* set by SIGHUP if the worker uses a
					 * capture or a key file */
static volatile sig_atomic_t catches_hup;

static void
on_signal(int sig)
{
	if (sig == SIGUSR1)
		summarize = 1;
	else if (sig == SIGHUP && catches_hup)
		hup = 1;
	else if (sig != SIGCHLD)
		stop_signal = sig;
}

/* Return the mode for a program; --async is applied later. */
static const struct worker_mode *
parse_program(const char *name)
{
	static const char *const names[] = { "olaf", "iswitch", "dlp", NULL };
	static const uint8_t mode[] = { 0, 1, 3 };

	return &modes[mode[opt_word("program", name, names)]];
}

/* Parse the options about the worker and its packets. */
static bool
parse_worker(int ch, struct worker_conf *w)
{
	uint64_t v = 0;
	char *colon;

	switch (ch) {
	case SWITCH: w->to_name = optarg; return true;
	case 'p': w->mode = parse_program(optarg); return true;
	case NOWAIT: return true;
	case CLUSTER:
		opt_check("cluster", optarg, num_u64(optarg, 0, 65534, &v));
		w->cluster = (uint16_t)v;
		return true;
	case WORKER:
		if (strcmp(optarg, "auto") == 0)
			v = launcher_rank("--worker", UINT32_MAX - 1);
		else
			opt_check("worker", optarg, num_u64(optarg, 0,
			    UINT32_MAX - 1, &v));
		w->worker = (uint32_t)v;
		return true;
	case CONTROL:
		colon = strchr(optarg, ':');
		if (colon != NULL) {
			opt_check("threshold", colon + 1, num_time(colon + 1,
			    0, INT64_MAX, &w->threshold_ns));
			*colon = '\0';
		}
		w->control = (enum txctl_kind)opt_word("control", optarg,
		    txctl_words);
		return true;
	case MTU:
		opt_check("mtu", optarg, num_bytes(optarg, 128,
		    UPDATE_MTU_LOOPBACK, &w->mtu));
		return true;
	default:
		return false;
	}
}

/* Parse the options of a synchronous job. */
static bool
parse_sync(int ch, struct conf *cf)
{
	struct worker_conf *w = &cf->worker;
	uint64_t v = 0;

	switch (ch) {
	case JOB:
		opt_check("job", optarg, num_u64(optarg, 0, UINT16_MAX, &v));
		w->job = (uint16_t)v;
		return true;
	case FLOATS:
		if (strcmp(optarg, "max") == 0)
			v = WORKER_FLOATS_MAX;
		else
			opt_check("number", optarg, num_u64(optarg, 0,
			    SEG_FLOATS_MAX_V4, &v));
		w->floats = (uint32_t)v;
		return true;
	case RANKS:
		if (strcmp(optarg, "auto") == 0)
			v = launcher_size("--ranks", MEMBERS_MAX);
		else
			opt_check("number", optarg, num_u64(optarg, 1,
			    MEMBERS_MAX, &v));
		w->members = (uint16_t)v;
		return true;
	case REDUCE: cf->reduce = optarg; return true;
	case STRAGGLER:
		opt_check("time", optarg, num_time(optarg, 1000,
		    WORKER_STRAGGLER_NS, &v));
		w->rule.straggler_us = (uint32_t)(v / 1000);
		return true;
	case WINDOW:
		opt_check("window", optarg, num_u64(optarg, 1, 1 << 20, &v));
		w->window = (uint32_t)v;
		return true;
	case KEY:
		cf->key_file = optarg;
		key_load_or_exit(&cf->key, optarg, KEY_LEAST_BYTES);
		return true;
	case AUTH:
		opt_check("proofs", optarg, tag_auth_parse(optarg,
		    &w->auth));
		return true;
	case CHECK:
		opt_check("number", optarg, num_u64(optarg, 1, 4096, &v));
		w->check = (uint32_t)v;
		return true;
	default:
		return false;
	}
}

/* Parse the options of an asynchronous job. */
static bool
parse_async(int ch, struct worker_conf *w)
{
	switch (ch) {
	case RATE:
		opt_check("learning rate", optarg, num_real(optarg, 0, 1e9,
		    &w->gamma));
		return true;
	case MAXIMIZE: w->direction = STREAM_UP; return true;
	case MINIMIZE: w->direction = STREAM_DOWN; return true;
	case STALENESS:
		opt_check("staleness", optarg, num_u64(optarg, 0,
		    WORKER_STALENESS_MAX, &w->staleness));
		return true;
	case PACE:
		opt_check("rate", optarg, num_rate(optarg, 1, INT64_MAX,
		    &w->pace_bps));
		return true;
	case EVERY:
		opt_check("number", optarg, num_u64(optarg, 1, INT64_MAX / 2,
		    &w->every));
		return true;
	default:
		return false;
	}
}

/* Parse the options of a DLP session. */
static bool
parse_dlp(int ch, struct worker_dlp *d)
{
	switch (ch) {
	case SESSION:
		opt_check("session", optarg, dlp_session_parse(optarg,
		    &d->session));
		d->leads = true;
		return true;
	case RESET: d->resets = true; return true;
	default:
		return false;
	}
}

static void
parse_other(int ch, struct conf *cf)
{
	struct worker_conf *w = &cf->worker;
	uint64_t v = 0;

	switch (ch) {
	case SYNTHETIC:
		opt_check("vector", optarg, num_vector(optarg, 1, 1u << 28,
		    &v));
		w->synthetic = (uint32_t)v;
		break;
	case INTERVAL:
		opt_check("interval", optarg, num_time(optarg, 0, INT64_MAX,
		    &w->interval_ns));
		break;
	case JITTER:
		opt_check("jitter", optarg, num_time(optarg, 0, INT64_MAX,
		    &w->jitter_ns));
		break;
	case 'c':
		opt_check("count", optarg, num_u64(optarg, 1, UINT64_MAX,
		    &w->count));
		break;
	case DURATION:
		opt_check("duration", optarg, num_time(optarg, 1, INT64_MAX,
		    &w->duration_ns));
		break;
	case GIVE_UP:
		opt_check("time", optarg, num_time(optarg, 1, INT64_MAX,
		    &w->give_up_ns));
		break;
	case SILENCE:
		opt_check("time", optarg, num_time(optarg, 1, INT64_MAX,
		    &w->silence_ns));
		break;
	case SEED:
		opt_check("seed", optarg, num_u64(optarg, 0, UINT64_MAX, &v));
		w->rng = rng_seed(v);
		cf->seeded = true;
		break;
	case 'w': cf->capture = optarg; break;
	case IMPAIR:
		opt_check("impairment", optarg, impair_parse(optarg,
		    &w->impair));
		break;
	case NO_OFFLOAD: w->no_offload = true; break;
	case SPIN:
		opt_check("time", optarg, num_time(optarg, 0, SPIN_MAX_NS,
		    &w->spin_ns));
		break;
	case STDIO: w->stdio = true; break;
	case 'v': w->verbose = true; break;
	case 'q': w->quiet = true; break;
	}
}

/* Parse --reduce, whose words depend on the program, and check --straggler. */
static void
settle_reduce(struct conf *cf)
{
	static const char *const dlp_words[] = { "mean", "median", NULL };
	struct worker_conf *w = &cf->worker;

	if (w->mode->run == dlp_run) {
		w->dlp.median = cf->reduce != NULL &&
		    opt_word("reduction", cf->reduce, dlp_words) == 1;
		return;
	}
	if (cf->reduce != NULL)
		opt_check("reduction", cf->reduce, job_rule_parse(cf->reduce,
		    w->members > 0 ? w->members : UINT32_MAX, &w->rule));
	if (control_names_rule(&w->rule) && w->members == 0)
		errx(2, "--%s needs --ranks: the first member of a job names "
		    "both to the switch", cf->reduce != NULL ? "reduce" :
		    "straggler");
}

/*
 * Refuse options of other modes, and combinations of options that do not work.
 */
static void
check_options(struct conf *cf)
{
	struct worker_conf *w = &cf->worker;
	const struct worker_mode *mode;
	const char *why;

	if ((cf->seen >> (NOWAIT - OPT_LONG) & 1) != 0 && w->mode == modes + 1)
		w->mode++;
	mode = w->mode;
	for (size_t i = 0; i < sizeof(mode_options) / sizeof(*mode_options);
	     i++) {
		const struct opt *o = opts;

		if ((cf->seen >> (mode_options[i].ch - OPT_LONG) & 1) == 0 ||
		    (mode_options[i].modes >> (mode - modes) & 1) != 0)
			continue;
		while (o->ch != mode_options[i].ch)
			o++;
		errx(2, "--%s cannot be used with %s", o->name, mode->options);
	}
	settle_reduce(cf);
	why = tag_auth_resolve(&w->auth, cf->key.set);
	if (why != NULL)
		errx(2, "%s", why);
	if (w->to_name == NULL)
		errx(2, "--switch is missing: give the HOST:PORT of the switch "
		    "or server");
	if (mode == modes + 1 && (cf->seen >> (WORKER - OPT_LONG) & 1) == 0)
		errx(2, "--worker is missing: in a synchronous job give each "
		    "worker its own number, from 0 on, or auto");
	opt_check("address", w->to_name, addr_parse(w->to_name,
	    mode->port != NULL ? mode->port : "46638", &w->to));
	if (addr_port(&w->to) == 0)
		errx(2, "--switch %s: port 0 is not valid", w->to_name);
	if (w->stdio && w->synthetic > 0)
		errx(2, "--stdio cannot be combined with --synthetic");
	if (w->synthetic > worker_elements_max(mode))
		errx(2, "--synthetic: more than the %" PRIu32 " elements that "
		    "%s can carry",
		    worker_elements_max(mode), mode->options);
}

static struct conf
parse(int argc, char *argv[])
{
	struct conf cf = {.worker = {.mode = modes,
			      .job = 1,
			      .auth = TAG_AUTH_DEFAULT,
			      .cluster = 1,
			      .gamma = 0.001,
			      .staleness = 3,
			      .every = 100,
			      .threshold_ns = 400000000,
			      .interval_ns = 100000000,
			      .give_up_ns = 30 * (uint64_t)TIMER_SECOND_NS,
			      .silence_ns = 600 * (uint64_t)TIMER_SECOND_NS,
			      .duration_ns = TIMER_NEVER,
			      .stop = &stop_signal,
			      .summarize = &summarize,
			      .hup = &hup}};
	struct files files = { 0 };
	int ch;

	while ((ch = opt_next(&tool, argc, argv)) != -1) {
		if (ch >= OPT_LONG)
			cf.seen |= (uint64_t)1 << (ch - OPT_LONG);
		if (!parse_worker(ch, &cf.worker) && !parse_sync(ch, &cf) &&
		    !parse_async(ch, &cf.worker) &&
		    !parse_dlp(ch, &cf.worker.dlp))
			parse_other(ch, &cf);
	}
	check_options(&cf);
	files_in(&files, "--key", cf.key_file);
	files_out(&files, "-w", cf.capture);
	files_out(&files, "--stdio", cf.worker.stdio ? "-" : NULL);
	if ((cf.seen >> (JSON - OPT_LONG) & 1) != 0)
		cf.worker.json = files_json(&files);
	files_done(&files);
	if (cf.worker.synthetic > 0 || cf.worker.stdio)
		opt_done(&tool, argc, argv);
	else if (optind == argc)
		errx(2, "a command is missing; give one after --, or "
		    "--stdio, or --synthetic");
	cf.worker.argv = argv + optind;
	if (!cf.seeded)	/* different workers must draw different random
			 * numbers */
		cf.worker.rng = rng_seed((uint64_t)cf.worker.cluster << 32 |
		    cf.worker.worker);
	/*
	 * --impair uses separate random numbers, so that gradients do not
	 * depend on the network
	 */
	cf.worker.impair.rng = rng_seed(~(uint64_t)cf.worker.rng.state);
	return cf;
}

int
main(int argc, char *argv[])
{
	struct conf cf = parse(argc, argv);
	struct key_change key_change;
	struct pcapio_out capture;
	sigset_t wait_mask;
	int rc;

	cf.worker.key = &cf.key;
	key_change_init(&key_change, &cf.key, cf.key_file);
	cf.worker.key_change = &key_change;
	catches_hup = key_change.path != NULL;
	timer_block_signals(on_signal, &wait_mask);
	cf.worker.wait_mask = &wait_mask;
	/* a child prints its own progress */
	cf.worker.progress = !cf.worker.quiet && cf.worker.synthetic > 0 &&
	    isatty(STDERR_FILENO) == 1;
	/* --quiet does not suppress data */
	cf.worker.quiet &= cf.worker.json == NULL;
	if (cf.capture != NULL) {
		pcapio_create_or_exit(&capture, cf.capture);
		cf.worker.capture = &capture;
		catches_hup = 1;
	}
	rc = cf.worker.mode->run(&cf.worker);
	if (cf.worker.json != NULL)
		rc |= files_flush(cf.worker.json);
	if (cf.capture != NULL)
		rc |= pcapio_close_or_warn(&capture);
	return rc;
}
