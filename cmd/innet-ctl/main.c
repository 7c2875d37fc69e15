/* innet-ctl - control and watch a running switch */
#include "config.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/auth/key-file.h"
#include "common/base/message.h"
#include "common/base/num.h"
#include "common/base/opt.h"
#include "common/net/timer.h"
#include "common/wire/update.h"

#include "cmd/innet-ctl/ctl.h"

enum {
	JOB = OPT_LONG, KEY, COMMAND_KEY, GIVE_UP, BIND, JSON, PROMETHEUS,
	INTERVAL, ALL,
	TYPE, ASYNC, CLUSTER, WORKER, VECTOR, FLOATS, NEXT, OPTIONS_END
};

static const struct opt opts[] = {
	{ JOB, "job", "N", "apply the verb to job or cluster N (default 1)" },
	{ KEY, "key", "FILE", "file with the key that authenticates requests "
	    "and answers" },
	{ COMMAND_KEY, "command-key", "FILE",
	    "file with the key that the switch requires for commands" },
	{ GIVE_UP, "give-up", "TIME",
	    "fail if no answer arrives within TIME (default 5s)" },
	{ BIND, "bind", "ADDR", "send from the address HOST:PORT" },
	{ JSON, "json", NULL,
	    "print each answer as a JSON object on one line" },
	{ PROMETHEUS, "prometheus", NULL,
	    "stats: print in the text format of Prometheus" },
	{ 'v', "verbose", NULL,
	    "stats, watch: also print counters that are zero" },
	{ 'c', "count", "N", "watch: end after N repetitions" },
	{ INTERVAL, "interval", "TIME",
	    "watch: time between two repetitions (default 1s)" },
	{ ALL, "all", NULL, "reset: also remove all members" },
	{ TYPE, "type", "NAME",
	    "join: type of the member: worker (default), switch or server" },
	{ ASYNC, "async", NULL, "join: join an asynchronous job" },
	{ CLUSTER, "cluster", "N", "join: number of the cluster (default 1)" },
	{ WORKER, "worker", "N", "join: number of the worker (default 0)" },
	{ VECTOR, "vector", "VECTOR",
	    "join: length of the vector (required): a size (40kB), a number of "
	    "elements, dqn, a2c, ppo or ddpg" },
	{ FLOATS, "floats", "N",
	    "join: number of elements in a segment, or max (default: the job's "
	    "number)" },
	{ NEXT, "next", "N",
	    "join: first iteration that the member wants (default 0)" },
	OPT_HELP_VERSION,
	{ 0 }
};

static const struct opt_tool tool = {
	"innet-ctl", PACKAGE_VERSION,
	"[OPTION...] HOST:PORT VERB [ARG]",
	"Send a request to a running switch or server, and print the answer.\n"
	"VERB is jobs, members, stats, watch, join, leave [N], reset,\n"
	"set-h N, fbcast SEG, help SEG, halt, resume or regroup C/W=C[/W];\n"
	"SEG is ITERATION:INDEX, or 0x and 16 hexadecimal digits; C/W is a\n"
	"cluster and a worker.  An option whose text begins with a verb, such\n"
	"as 'join:', applies only to that verb.",
	opts
};

/*
 * The verbs, in the order of the manual.  The verb watch sends the requests of
 * other verbs.
 */
static const struct verb {
	const char *name, *arg;
	uint8_t action;
	int (*run)(const struct ctl_options *, struct ask *);
} verbs[] = {
	{ "jobs", NULL, CONTROL_JOBS, report_run },
	{ "members", NULL, CONTROL_MEMBERS, report_run },
	{ "stats", NULL, CONTROL_STATS, report_run },
	{ "watch", NULL, 0, watch_run },
	{ "join", NULL, CONTROL_JOIN, command_run },
	{ "leave", "[N]", CONTROL_LEAVE, command_run },
	{ "reset", NULL, CONTROL_RESET, command_run },
	{ "set-h", "N", CONTROL_SETH, command_run },
	{ "fbcast", "SEG", CONTROL_FBCAST, command_run },
	{ "help", "SEG", CONTROL_HELP, command_run },
	{ "halt", NULL, CONTROL_HALT, command_run },
	{ "resume", NULL, CONTROL_RESUME, command_run },
	{ "regroup", "C/W=C[/W]", CONTROL_REGROUP, command_run }
};

enum { VERBS = sizeof(verbs) / sizeof(*verbs) };

static volatile sig_atomic_t got;	/* signal that asked to stop, or 0 */

static void
on_signal(int sig)
{
	if (sig == SIGINT || sig == SIGTERM || sig == SIGHUP)
		got = sig;
}

/*
 * Parse an option about the request, such as its address, key or time limit.
 * Return false if ch is another option.
 */
static bool
parse_ask(int ch, struct ask_options *a)
{
	uint64_t v = 0;

	switch (ch) {
	case JOB:
		opt_check("job", optarg, num_u64(optarg, 0, UINT16_MAX, &v));
		a->job = (uint16_t)v;
		return true;
	case KEY:
	case COMMAND_KEY:
		key_load_or_exit(&a->key, optarg, KEY_LEAST_BYTES);
		a->commands = ch == COMMAND_KEY;
		return true;
	case GIVE_UP:
		opt_check("time", optarg, num_time(optarg, 1000000,
		    3600 * (uint64_t)TIMER_SECOND_NS, &a->give_up_ns));
		return true;
	case BIND:
		opt_check("address", optarg, addr_parse(optarg, "0",
		    &a->from));
		a->bound = true;
		return true;
	default:
		return false;
	}
}

/* Parse a number from 0 to `most`; if it is invalid, exit with status 2. */
static uint64_t
parse_number(const char *what, const char *arg, uint64_t most)
{
	uint64_t v = 0;

	opt_check(what, arg, num_u64(arg, 0, most, &v));
	return v;
}

/* Parse an option of join; return false if ch is another option. */
static bool
parse_join(int ch, struct control_join *j)
{
	static const char *const types[] = { "worker", "switch", "server",
	    NULL };
	uint64_t v = 0;

	switch (ch) {
	case TYPE:
		j->type = (uint8_t)(CONTROL_WORKER + opt_word("type", optarg,
		    types));
		return true;
	case ASYNC: j->async = true; return true;
	case CLUSTER:
		j->cluster =
		    (uint16_t)parse_number("cluster", optarg, UINT16_MAX);
		return true;
	case WORKER:
		j->worker =
		    (uint32_t)parse_number("worker", optarg, UINT32_MAX);
		return true;
	case VECTOR:
		opt_check("vector", optarg, num_vector(optarg, 1, UINT32_MAX,
		    &v));
		j->elements = (uint32_t)v;
		return true;
	case FLOATS:
		j->floats = strcmp(optarg, "max") == 0 ? SEG_FLOATS_MAX_V4 :
		    (uint16_t)parse_number("floats", optarg, UINT16_MAX);
		return true;
	case NEXT:
		j->next = (uint32_t)parse_number("iteration", optarg,
		    SEG_ITERATIONS - 1);
		return true;
	default: return false;
	}
}

/* Parse an option about the output. */
static void
parse_show(int ch, struct ctl_options *options)
{
	switch (ch) {
	case JSON: options->json = true; break;
	case PROMETHEUS: options->prometheus = true; break;
	case 'v': options->verbose = true; break;
	case ALL: options->disbands = true; break;
	case 'c':
		opt_check("count", optarg, num_u64(optarg, 1, UINT64_MAX,
		    &options->count));
		break;
	case INTERVAL:
		opt_check("interval", optarg, num_time(optarg, 1000000,
		    INT64_MAX, &options->interval_ns));
		break;
	}
}

/* Parse a segment: "12:3", or 0x and 16 digits.  Return NULL, or the error. */
static const char *
parse_seg(const char *s, uint64_t *seg)
{
	char left[16];
	const char *colon = strchr(s, ':'), *why;
	uint64_t iteration, index;

	if (strncmp(s, "0x", 2) == 0) {
		if (strlen(s + 2) != 16 ||
		    strspn(s + 2, "0123456789abcdefABCDEF") != 16)
			return "not 0x and 16 hexadecimal digits";
		*seg = strtoull(s + 2, NULL, 16);
		return NULL;
	}
	if (colon == NULL || (size_t)(colon - s) >= sizeof(left))
		return "not ITERATION:INDEX";
	memcpy(left, s, (size_t)(colon - s));
	left[colon - s] = '\0';
	why = num_u64(left, 0, SEG_ITERATIONS - 1, &iteration);
	if (why == NULL)
		why = num_u64(colon + 1, 0, SEG_INDEX_MAX, &index);
	if (why == NULL)
		*seg = seg_word((uint32_t)iteration, 0, (uint32_t)index);
	return why;
}

/* Parse "3/7" (cluster 3, worker 7) or "3" (cluster 3). */
static const char *
parse_worker(const char *s, uint16_t *cluster, uint32_t *worker)
{
	char left[16];
	const size_t len = strcspn(s, "/");
	uint64_t c, w = *worker;
	const char *why;

	if (len >= sizeof(left))
		return "the number of the cluster is too long";
	memcpy(left, s, len);
	left[len] = '\0';
	why = num_u64(left, 0, UINT16_MAX, &c);
	if (why == NULL && s[len] == '/')
		why = num_u64(s + len + 1, 0, UPDATE_ALL_WORKERS - 1u, &w);
	if (why == NULL) {
		*cluster = (uint16_t)c;
		*worker = (uint32_t)w;
	}
	return why;
}

/*
 * Parse "1/2=7/0": worker 2 of cluster 1 becomes worker 0 of cluster 7.  If the
 * last number is missing, the worker keeps its number.
 */
static const char *
parse_regroup(const char *s, struct ctl_options *options)
{
	const size_t len = strcspn(s, "=");
	struct control_regroup *r = &options->regroup;
	char left[32];
	const char *why;

	if (s[len] == '\0' || len >= sizeof(left) || memchr(s, '/', len) ==
	    NULL)
		return "not CLUSTER/WORKER=CLUSTER[/WORKER]";
	memcpy(left, s, len);
	left[len] = '\0';
	why = parse_worker(left, &options->regrouped, &r->worker);
	r->as = r->worker;
	return why != NULL ? why : parse_worker(s + len + 1, &r->cluster,
	    &r->as);
}

/* Print the usage error, point to --help, and exit with status 2. */
__attribute__((format(printf, 1, 2), noreturn)) static void
misuse(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vwarnx(fmt, ap);
	va_end(ap);
	opt_misuse(&tool);
	exit(2);
}

/* Parse the arguments HOST:PORT VERB [ARG]. */
static const struct verb *
parse_words(struct ctl_options *options, char *word[], int words)
{
	const char *names[VERBS + 1] = { NULL };
	const struct verb *v;

	if (words == 0)
		misuse("HOST:PORT is missing");
	opt_check("address", word[0], addr_parse(word[0], "46638",
	    &options->ask.to));
	if (addr_port(&options->ask.to) == 0)
		errx(2, "%s: port 0 is not valid", word[0]);
	if (words == 1)
		misuse("a verb is missing after %s; give one, such as jobs or "
		    "stats",
		    word[0]);
	for (int i = 0; i < VERBS; i++)
		names[i] = verbs[i].name;
	v = &verbs[opt_word("verb", word[1], names)];
	if (v->arg != NULL && v->arg[0] != '[' && words == 2)
		misuse("%s needs %s", v->name, v->arg);
	if (words > 2 + (v->arg != NULL))
		misuse("unexpected argument '%s'", word[2 + (v->arg != NULL)]);
	if (v->action == CONTROL_SETH)
		options->h =
		    (uint16_t)parse_number("threshold", word[2], UINT16_MAX);
	else if (v->action == CONTROL_REGROUP)
		opt_check("worker", word[2], parse_regroup(word[2], options));
	else if (v->action == CONTROL_LEAVE && words > 2)
		options->expelled = parse_number("worker", word[2], UINT32_MAX);
	else if (v->arg != NULL && words > 2)
		opt_check("segment", word[2], parse_seg(word[2],
		    &options->seg));
	options->action = v->action;
	return v;
}

/* Refuse options that do not apply to the verb. */
static void
check_use(const struct ctl_options *options, const struct verb *v,
    uint64_t used)
{
	for (const struct opt *o = opts; o->name != NULL; o++) {
		const char *only = o->ch == 'c' || o->ch == INTERVAL ?
		    "watch" : o->ch == PROMETHEUS ? "stats" :
		    o->ch == ALL ? "reset" :
		    o->ch >= TYPE ? "join" : NULL;

		if ((used >> (o - opts) & 1) != 0 && only != NULL &&
		    strcmp(only, v->name) != 0)
			misuse("--%s applies only to %s", o->name, only);
	}
	if (options->verbose && v->action != CONTROL_STATS &&
	    v->run != watch_run)
		misuse("--verbose applies only to stats and watch");
	if (options->has_job && (v->action == CONTROL_JOBS || v->action ==
	    CONTROL_REGROUP))
		misuse("--job cannot be used with %s", v->name);
	if (options->json && options->prometheus)
		misuse("give --json or --prometheus, not both");
	if (options->action == CONTROL_JOIN && options->join.elements == 0)
		misuse("join needs --vector");
	if (options->ask.bound && options->ask.from.sa.sa_family !=
	    options->ask.to.sa.sa_family)
		errx(2, "--bind and HOST:PORT must both be IPv4 or both IPv6");
}

static const struct verb *
parse_options(int argc, char *argv[], struct ctl_options *options)
{
	char *word[4];
	const struct verb *v;
	uint64_t used = 0;
	int ch, words = 0;

	do {	/* options may come before, between and after the arguments */
		while ((ch = opt_next(&tool, argc, argv)) != -1) {
			options->has_job |= ch == JOB;
			for (int i = 0; opts[i].name != NULL; i++)
				if (opts[i].ch == ch)
					used |= (uint64_t)1 << i;
			if (!parse_ask(ch, &options->ask) &&
			    !parse_join(ch, &options->join))
				parse_show(ch, options);
		}
		if (optind < argc)
			word[words++] = argv[optind++];
	} while (optind < argc && words < 4);
	v = parse_words(options, word, words);
	check_use(options, v, used);
	return v;
}

int
main(int argc, char *argv[])
{
	struct ctl_options options = { .expelled = -1,
		.ask = { .job = 1, .give_up_ns = 5 * (uint64_t)TIMER_SECOND_NS,
		.stop = &got }, .interval_ns = TIMER_SECOND_NS,
		.join = { .type = CONTROL_WORKER, .cluster = 1 } };
	const struct verb *v = parse_options(argc, argv, &options);
	sigset_t wait_mask;
	struct ask a;
	int rc;

	timer_block_signals(on_signal, &wait_mask);
	/* end silently if the reader closes the pipe */
	signal(SIGPIPE, SIG_DFL);
	options.ask.wait_mask = &wait_mask;
	ask_open(&a, &options.ask);
	rc = v->run(&options, &a);
	ask_close(&a);
	if (fflush(stdout) == EOF || ferror(stdout))
		err(1, "standard output");
	if (got && v->action != 0) { /* a signal is the normal end of watch */
		sigprocmask(SIG_SETMASK, &wait_mask, NULL);
		signal(got, SIG_DFL);
		raise(got);
	}
	return rc;
}
