/* innet-ps - be the parameter server */
#include "config.h"

#include <err.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "common/num.h"
#include "common/opt.h"
#include "common/timer.h"

#include "cmd/innet-ps/server.h"

enum {
	LISTEN = OPT_LONG, RULE, RATE, GATE, AVERAGE, OPTIMIZER, REPLY,
	DESCEND, SAVE, SAVE_EVERY, LOAD, MEMORY, DURATION, PORT_FILE, JSON
};

static const struct opt opts[] = {
	{ LISTEN, "listen", "ADDR", "serve HOST:PORT (default 127.0.0.1:46638)" },
	{ RULE, "rule", "NAME", "olaf (the default, and so far the only)" },
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
	{ 'w', "write", "FILE", "capture what comes in" },
	{ DURATION, "duration", "TIME", "end after TIME" },
	{ PORT_FILE, "port-file", "FILE", "write the port there" },
	{ JSON, "json", NULL, "summary as a JSON object, one line" },
	{ 'q', "quiet", NULL, "leave out the summary" },
	OPT_HELP_VERSION,
	{ 0 }
};

static const struct opt_tool tool = {
	"innet-ps", PACKAGE_VERSION, "[--listen ADDR] [OPTION...]",
	"Keep the weights of each cluster, learn from the updates that come,\n"
	"and answer each with the model.", opts
};

struct conf {
	struct server_conf server;
	const char *capture;
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
	static const char *const rules[] = { "olaf", NULL };
	static const char *const gates[] = { "none", "ema", "last", "best",
	    NULL };
	static const char *const averages[] = { "none", "ema", NULL };
	static const char *const optimizers[] = { "sgd", "adam", NULL };
	static const char *const replies[] = { "cluster", "worker", NULL };

	switch (ch) {
	case RULE:
		opt_word("rule", optarg, rules);
		return true;
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

	switch (ch) {
	case LISTEN:
		opt_check("address", optarg, addr_parse(optarg, "46638",
		    &s->listen));
		break;
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
	case 'q': s->quiet = true; break;
	}
}

static struct conf
parse(int argc, char *argv[])
{
	struct conf cf = { .server = {
		.rule = { .rate = 0.001, .gate_ema = 0.1, .average_ema = 0.5 },
		.duration_ns = TIMER_NEVER, .memory_bytes = 1000000000,
		.save_every_ns = 10 * (uint64_t)TIMER_SECOND_NS,
		.stop = &got, .tell = &tell } };
	int ch;

	addr_parse("127.0.0.1", "46638", &cf.server.listen);
	while ((ch = opt_next(&tool, argc, argv)) != -1) {
		if (!parse_rule(ch, &cf.server.rule, &cf.server.reply_worker))
			parse_other(ch, &cf);
	}
	opt_done(&tool, argc, argv);
	return cf;
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
	rc = server_run(&cf.server);
	if (cf.capture != NULL)
		rc |= pcapio_close_or_warn(&capture);
	return rc;
}
