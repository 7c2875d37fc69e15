/* innet-ps - be the parameter server */
#include "config.h"

#include <err.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "common/dlpserve.h"
#include "common/launcher.h"
#include "common/num.h"
#include "common/opt.h"
#include "common/timer.h"

#include "cmd/innet-ps/server.h"
#include "cmd/innet-ps/sums.h"

enum {
	LISTEN = OPT_LONG, RULE, RATE, GATE, AVERAGE, OPTIMIZER, REPLY,
	DESCEND, SAVE, SAVE_EVERY, LOAD, MEMORY, DURATION, PORT_FILE, JSON,
	NO_OFFLOAD, REDUCE, LATE, SESSION, TIMEOUT, KEY
};

enum rule { RULE_OLAF, RULE_DLP, RULE_SYNC, RULE_ASYNC };

static const char *const rules[] = { "olaf", "dlp", "sync", "async", NULL };

enum { OF_OLAF = 1 << RULE_OLAF, OF_DLP = 1 << RULE_DLP,
	OF_SYNC = 1 << RULE_SYNC, OF_SUMS = OF_SYNC | 1 << RULE_ASYNC };

/* Options that not all rules have. */
static const struct { int ch; unsigned rules; } only[] = {
	{ RATE, OF_OLAF }, { GATE, OF_OLAF }, { AVERAGE, OF_OLAF },
	{ OPTIMIZER, OF_OLAF }, { REPLY, OF_OLAF }, { DESCEND, OF_OLAF },
	{ SAVE, OF_OLAF }, { SAVE_EVERY, OF_OLAF }, { LOAD, OF_OLAF },
	{ MEMORY, OF_OLAF | OF_SUMS }, { REDUCE, OF_DLP | OF_SYNC },
	{ LATE, OF_DLP }, { SESSION, OF_DLP }, { 'H', OF_SUMS },
	{ TIMEOUT, OF_SUMS }, { KEY, OF_SUMS }
};

static const struct opt opts[] = {
	{ LISTEN, "listen", "ADDR", "serve HOST:PORT (127.0.0.1:46638; dlp: 12344)" },
	{ RULE, "rule", "NAME", "olaf (default), sync, async or dlp" },
	{ RATE, "learning-rate", "X", "step size (default 0.001)" },
	{ GATE, "gate", "NAME", "none (default), ema[:A], last or best" },
	{ AVERAGE, "average", "NAME", "ema[:A] (default ema:0.5) or none" },
	{ OPTIMIZER, "optimizer", "NAME", "sgd (default) or adam" },
	{ REPLY, "reply", "WHOM", "model to the cluster (default) or worker" },
	{ DESCEND, "descend", NULL, "gradients point down: subtract them" },
	{ SAVE, "save", "FILE", "write the weights there, on time and at exit" },
	{ SAVE_EVERY, "save-every", "TIME", "how often (default 10s)" },
	{ LOAD, "load", "FILE", "start from weights that were saved" },
	{ MEMORY, "memory", "SIZE", "for all vectors (default 1GB)" },
	{ REDUCE, "reduce", "HOW", "sync: sum, ordered, ...; dlp: mean, median" },
	{ 'H', "threshold", "N", "(a)sync: workers of a job, or auto (all)" },
	{ TIMEOUT, "member-timeout", "TIME", "(a)sync: silent is gone (10s)" },
	{ KEY, "key", "FILE", "(a)sync: control messages need this key" },
	{ LATE, "late", NULL, "dlp: answer at once, from the step before" },
	{ SESSION, "session", "LIST", "dlp: nodes=,iterations=,scale=,..." },
	{ 'w', "write", "FILE", "capture what comes in" },
	{ DURATION, "duration", "TIME", "end after TIME" },
	{ PORT_FILE, "port-file", "FILE", "write the port there" },
	{ NO_OFFLOAD, "no-offload", NULL, "no UDP_SEGMENT and no UDP_GRO" },
	{ JSON, "json", NULL, "summary as a JSON object, one line" },
	{ 'v', "verbose", NULL, "say how packets pass the kernel" },
	{ 'q', "quiet", NULL, "leave out the summary" },
	OPT_HELP_VERSION,
	{ 0 }
};

static const struct opt_tool tool = {
	"innet-ps", PACKAGE_VERSION, "[--listen ADDR] [OPTION...]",
	"Keep the weights of each cluster, learn from the updates that come,\n"
	"and answer each with the model; or be a server of sums (sync, async), or\n"
	"of a DLP session.", opts
};

struct conf {
	enum rule rule;
	struct server_conf server;
	struct dlpjob_conf job;
	struct aggport_conf sums;	/* of sync and async */
	struct mac_key key;
	const char *reduce;		/* as given, or NULL */
	const char *listen;		/* as given, or NULL */
	const char *capture;
	uint64_t seen;			/* options given, from OPT_LONG on */
};

static volatile sig_atomic_t got;	/* the signal that asked us to stop */
static volatile sig_atomic_t tell;	/* SIGUSR1 asked for counters */

static void
on_signal(int sig)
{
	if (sig == SIGUSR1)
		tell = 1;
	else if (sig != SIGCHLD)
		got = sig;
}

/* "ema:0.1" or "ema": the share in *a; false if s is another word. */
static bool
parse_ema(const char *what, const char *s, double *a)
{
	if (strncmp(s, "ema", 3) != 0 || (s[3] != '\0' && s[3] != ':'))
		return false;
	if (s[3] == ':')
		opt_check(what, s, num_real(s + 4, 1e-9, 1, a));
	return true;
}

/* How updates become weights. */
static bool
parse_rule(int ch, struct psrule_conf *rule, bool *reply_worker)
{
	static const char *const gates[] = { "none", "ema", "last", "best",
	    NULL };
	static const char *const averages[] = { "none", "ema", NULL };
	static const char *const optimizers[] = { "sgd", "adam", NULL };
	static const char *const replies[] = { "cluster", "worker", NULL };

	switch (ch) {
	case RATE:
		opt_check("learning rate", optarg, num_real(optarg, 0, 1e9,
		    &rule->rate));
		return true;
	case GATE:
		if (parse_ema("gate", optarg, &rule->gate_ema))
			rule->gate = PSRULE_EMA;
		else
			rule->gate = (enum psrule_gate)opt_word("gate",
			    optarg, gates);
		return true;
	case AVERAGE:
		rule->average_ema = 0.5;
		if (!parse_ema("average", optarg, &rule->average_ema) &&
		    opt_word("average", optarg, averages) == 0)
			rule->average_ema = 1;
		return true;
	case OPTIMIZER:
		rule->optimizer = (enum psrule_optimizer)opt_word("optimizer",
		    optarg, optimizers);
		return true;
	case REPLY:
		*reply_worker = opt_word("reply", optarg, replies) == 1;
		return true;
	case DESCEND: rule->descend = true; return true;
	default:
		return false;
	}
}

static void
parse_other(int ch, struct conf *cf)
{
	struct server_conf *s = &cf->server;
	struct job_conf *job = &cf->sums.iswitch.job;
	uint64_t v = 0;

	switch (ch) {
	case RULE:
		cf->rule = (enum rule)opt_word("rule", optarg, rules);
		break;
	case REDUCE: cf->reduce = optarg; break;
	case 'H':
		if (strcmp(optarg, "auto") == 0)
			v = launcher_size("-H", MEMBERS_MAX);
		else
			opt_check("threshold", optarg, num_u64(optarg, 1,
			    MEMBERS_MAX, &v));
		job->h = (uint16_t)v;
		break;
	case TIMEOUT:
		opt_check("time", optarg, num_time(optarg, TIMER_SECOND_NS,
		    65535 * (uint64_t)TIMER_SECOND_NS,
		    &job->member_timeout_ns));
		break;
	case KEY: mac_load_or_exit(&cf->key, optarg); break;
	case LATE: cf->job.late = true; break;
	case SESSION:
		opt_check("session", optarg, dlp_session_parse(optarg,
		    &cf->job.session));
		break;
	case LISTEN: cf->listen = optarg; break;
	case SAVE: s->save = optarg; break;
	case LOAD: s->load = optarg; break;
	case SAVE_EVERY:
		opt_check("time", optarg, num_time(optarg, TIMER_SECOND_NS,
		    INT64_MAX, &s->save_every_ns));
		break;
	case MEMORY:
		opt_check("memory", optarg, num_bytes(optarg, 1, INT64_MAX,
		    &s->memory_bytes));
		break;
	case DURATION:
		opt_check("duration", optarg, num_time(optarg, 1, INT64_MAX,
		    &s->duration_ns));
		break;
	case PORT_FILE: s->port_file = optarg; break;
	case JSON: s->json = true; break;
	case 'w': cf->capture = optarg; break;
	case NO_OFFLOAD: s->no_offload = true; break;
	case 'v': s->verbose = true; break;
	case 'q': s->quiet = true; break;
	}
}

/* What --reduce means depends on the rule. */
static void
settle_reduce(struct conf *cf)
{
	static const char *const of_dlp[] = { "mean", "median", NULL };
	struct job_conf *job = &cf->sums.iswitch.job;

	if (cf->rule == RULE_DLP && cf->reduce != NULL)
		cf->job.median = opt_word("reduction", cf->reduce,
		    of_dlp) == 1;
	if (cf->rule != RULE_SYNC)
		return;
	if (cf->reduce != NULL)
		opt_check("reduction", cf->reduce, reduce_parse(cf->reduce,
		    &job->reduce));
	if (job->reduce.kind == REDUCE_SUM) {	/* when all are there */
		job->reduce.kind = REDUCE_ORDERED;
		job->as_came = true;
	}
}

/* An option of another rule is misuse; the port depends on the rule. */
static void
settle(struct conf *cf)
{
	const char *port = cf->rule == RULE_DLP ? "12344" : "46638";
	const char *listen = cf->listen == NULL ? "127.0.0.1" : cf->listen;

	for (size_t i = 0; i < sizeof(only) / sizeof(*only); i++) {
		const struct opt *o = opts;

		if ((cf->seen >> (only[i].ch == 'H' ? 63 : only[i].ch -
		    OPT_LONG) & 1) == 0 || (only[i].rules >> cf->rule & 1) !=
		    0)
			continue;
		while (o->ch != only[i].ch)
			o++;
		errx(2, "--%s does not go with --rule %s", o->name,
		    rules[cf->rule]);
	}
	opt_check("address", listen, addr_parse(listen, port,
	    &cf->server.listen));
	settle_reduce(cf);
}

static struct conf
parse(int argc, char *argv[])
{
	struct conf cf = { .server = {
		.rule = { .rate = 0.001, .gate_ema = 0.1, .average_ema = 0.5 },
		.duration_ns = TIMER_NEVER, .memory_bytes = 1000000000,
		.save_every_ns = 10 * (uint64_t)TIMER_SECOND_NS,
		.stop = &got, .tell = &tell },
		.sums.iswitch.job = { .keep = 16, .keep_bytes = 1,
		.reduce = { .kind = REDUCE_SUM, .fixed_bits = 24 },
		.member_timeout_ns = 10 * (uint64_t)TIMER_SECOND_NS } };
	int ch;

	while ((ch = opt_next(&tool, argc, argv)) != -1) {
		if (ch >= OPT_LONG || ch == 'H')
			cf.seen |= (uint64_t)1 << (ch == 'H' ? 63 :
			    ch - OPT_LONG);
		if (!parse_rule(ch, &cf.server.rule, &cf.server.reply_worker))
			parse_other(ch, &cf);
	}
	opt_done(&tool, argc, argv);
	settle(&cf);
	return cf;
}

/* The thesis's server instead: it keeps no weights. */
static int
run_dlp(const struct conf *cf)
{
	static struct dlpserve s;
	const struct server_conf *sv = &cf->server;
	struct dlpserve_conf sc = { .tool = "innet-ps", .job = cf->job,
	    .listen = sv->listen, .duration_ns = sv->duration_ns,
	    .port_file = sv->port_file, .ingress = sv->capture,
	    .stop = sv->stop, .tell = sv->tell, .wait_mask = sv->wait_mask,
	    .no_offload = sv->no_offload, .quiet = sv->quiet,
	    .verbose = sv->verbose, .json = sv->json, .progress = sv->progress };

	sc.job.as = DLPJOB_SERVER;
	return dlpserve_run(&s, &sc);
}

/* A server of sums, on the bytes of an aggregation switch. */
static int
run_sums(struct conf *cf)
{
	const struct server_conf *sv = &cf->server;
	const bool v6 = sv->listen.sa.sa_family == AF_INET6;
	struct aggport_conf *ac = &cf->sums;
	struct iswitch_conf *is = &ac->iswitch;

	is->job.whole = cf->rule == RULE_SYNC;
	is->job.async = is->job.server = cf->rule == RULE_ASYNC;
	is->floats = v6 ? SEG_FLOATS_V6 : SEG_FLOATS_V4;
	is->floats_max = v6 ? SEG_FLOATS_MAX_V6 : SEG_FLOATS_MAX_V4;
	is->memory_bytes = sv->memory_bytes;
	is->key = cf->key.set ? &cf->key : NULL;
	ac->listen = sv->listen;
	ac->duration_ns = sv->duration_ns;
	ac->port_file = sv->port_file;
	ac->ingress = sv->capture;
	ac->stop = sv->stop;
	ac->tell = sv->tell;
	ac->wait_mask = sv->wait_mask;
	ac->no_offload = sv->no_offload;
	ac->quiet = sv->quiet;
	ac->verbose = sv->verbose;
	ac->progress = sv->progress;
	return sums_run(ac, sv->json);
}

int
main(int argc, char *argv[])
{
	struct conf cf = parse(argc, argv);
	struct pcapio_out capture;
	sigset_t wait_mask;
	int rc;

	timer_signals(on_signal, &wait_mask);
	cf.server.wait_mask = &wait_mask;
	cf.server.progress = !cf.server.quiet &&
	    isatty(STDERR_FILENO) == 1;
	if (cf.capture != NULL) {
		pcapio_create_or_exit(&capture, cf.capture);
		cf.server.capture = &capture;
	}
	rc = cf.rule == RULE_DLP ? run_dlp(&cf) : cf.rule == RULE_OLAF ?
	    server_run(&cf.server) : run_sums(&cf);
	if (cf.capture != NULL)
		rc |= pcapio_close_or_warn(&capture);
	return rc;
}
