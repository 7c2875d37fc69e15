/* innet-agent - train an agent, alone or through the gradient stream */
#include "config.h"

#include <err.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cmd/innet-agent/child.h"
#include "cmd/innet-agent/learner.h"
#include "cmd/innet-agent/play.h"
#include "cmd/innet-agent/report.h"
#include "cmd/innet-agent/saved.h"
#include "common/num.h"
#include "common/opt.h"

enum {
	O_ALONE = OPT_LONG, O_ALGO, O_BATCH, O_CLIP, O_ENTROPY, O_ENV, O_ENVS,
	O_EPISODES, O_EPOCHS, O_EVAL, O_GAMMA, O_HORIZON, O_INIT_SEED,
	O_INTERVAL, O_JSON, O_LAMBDA, O_LOG, O_NORM, O_OPTIMIZER, O_RATE, O_SAVE, O_SEED, O_SOLVE,
	O_STEPS, O_TIMEOUT
};

static const struct opt opts[] = {
	{ O_ENV,      "env",       "NAME", "environment: cartpole (default)" },
	{ O_ALGO,     "algo",      "NAME", "a2c (default) or ppo" },
	{ O_ALONE,    "alone",     NULL,   "train without a gradient stream" },
	{ O_EVAL,     "eval",      "FILE", "play a saved policy, greedily" },
	{ O_SEED,     "seed",      "N",    "seed of all chance (default 1)" },
	{ O_INIT_SEED, "init-seed", "N",   "of the first weights (default: "
	    "--seed)" },
	{ O_STEPS,    "steps",     "N",    "end after N environment steps" },
	{ O_EPISODES, "episodes",  "N",    "end after N episodes" },
	{ O_SOLVE,    "solve",     NULL,   "end when solved" },
	{ O_LOG,      "log",       "FILE", "write a CSV row an episode" },
	{ O_SAVE,     "save",      "FILE", "write the policy at the end" },
	{ O_INTERVAL, "interval",  "TIME", "at most one gradient every TIME" },
	{ O_TIMEOUT,  "timeout",   "TIME", "wait so long for a result "
	    "(default 60s)" },
	{ O_OPTIMIZER, "optimizer", "NAME", "adam (default) or sgd" },
	{ O_RATE,     "learning-rate", "X", "step of the optimizer" },
	{ O_ENVS,     "envs",      "N",    "environments side by side" },
	{ O_HORIZON,  "horizon",   "N",    "steps of each between lessons" },
	{ O_EPOCHS,   "epochs",    "N",    "ppo: passes over a lesson" },
	{ O_BATCH,    "batch",     "N",    "ppo: samples in a gradient" },
	{ O_CLIP,     "clip",      "X",    "ppo: bound on a ratio's change" },
	{ O_GAMMA,    "gamma",     "X",    "discount per step" },
	{ O_LAMBDA,   "lambda",    "X",    "decay of advantage estimates" },
	{ O_ENTROPY,  "entropy",   "X",    "weight of the policy's entropy" },
	{ O_NORM,     "norm",      "X",    "longest gradient sent (0: any)" },
	{ O_JSON,     "json",      NULL,   "one JSON object a line on stdout" },
	{ 'q', "quiet",   NULL, "leave out the summary on standard error" },
	{ 'v', "verbose", NULL, "say more on standard error" },
	OPT_HELP_VERSION,
	{ 0 }
};

static const struct opt_tool tool = {
	.name = "innet-agent",
	.version = PACKAGE_VERSION,
	.usage = "[--alone | --eval=FILE] [--env=NAME] [--algo=NAME] ...",
	.about = "Train an agent: through the gradient stream on standard "
	    "input and output, as\ninnet-worker's child, or alone.",
	.opts = opts,
};

struct conf {
	const struct env_kind *env;
	const struct algo *algo;
	struct settings set;
	enum optim_rule rule;
	uint64_t seed, init_seed, steps, episodes, interval_ns, timeout_ns;
	const char *log, *save, *eval;
	bool alone, solve, json, quiet, verbose, init;
};

static volatile sig_atomic_t got;	/* the signal that asked us to stop */

static void
on_signal(int sig)
{
	got = sig;
}

/* A count from lo on. */
static uint64_t
count(const char *what, uint64_t lo, uint64_t hi)
{
	uint64_t n = 0;

	opt_check(what, optarg, num_u64(optarg, lo, hi, &n));
	return n;
}

static double
real(const char *what, double lo, double hi)
{
	double x = 0;

	opt_check(what, optarg, num_real(optarg, lo, hi, &x));
	return x;
}

static uint64_t
span(const char *what)
{
	uint64_t ns = 0;

	opt_check(what, optarg, num_time(optarg, 1, 86400000000000, &ns));
	return ns;
}

/* One of the settings of learning; false if ch is none. */
static bool
setting(int ch, struct settings *s)
{
	switch (ch) {
	case O_ENVS: s->envs = count("environments", 1, 4096); break;
	case O_HORIZON: s->horizon = count("horizon", 1, 65536); break;
	case O_EPOCHS: s->epochs = count("epochs", 1, 1000); break;
	case O_BATCH: s->batch = count("batch", 1, 1 << 20); break;
	case O_CLIP: s->clip = real("clip", 0, 1); break;
	case O_GAMMA: s->gamma = real("gamma", 0, 1); break;
	case O_LAMBDA: s->lambda = real("lambda", 0, 1); break;
	case O_ENTROPY: s->entropy = real("entropy", 0, 10); break;
	case O_NORM: s->norm = real("norm", 0, 1e9); break;
	case O_RATE: s->rate = real("learning rate", 0, 10); break;
	default: return false;
	}
	return true;
}

/* What was not given is the algorithm's own; then see that it adds up. */
static void
settle(struct conf *cf)
{
	const struct settings *d = &cf->algo->defaults;
	struct settings *s = &cf->set;
	uint64_t rows;

	s->envs = s->envs == 0 ? d->envs : s->envs;
	s->horizon = s->horizon == 0 ? d->horizon : s->horizon;
	s->epochs = s->epochs == 0 ? d->epochs : s->epochs;
	s->gamma = s->gamma < 0 ? d->gamma : s->gamma;
	s->lambda = s->lambda < 0 ? d->lambda : s->lambda;
	s->entropy = s->entropy < 0 ? d->entropy : s->entropy;
	s->clip = s->clip < 0 ? d->clip : s->clip;
	s->norm = s->norm < 0 ? d->norm : s->norm;
	s->rate = s->rate < 0 ? d->rate : s->rate;
	rows = s->envs * s->horizon;
	if (s->batch == 0)
		s->batch = d->batch == 0 || d->batch > rows ? rows : d->batch;
	if (rows > 1 << 20)
		errx(2, "--envs %" PRIu64 " times --horizon %" PRIu64
		    " is more than 1048576 steps", s->envs, s->horizon);
	if (rows % s->batch != 0)
		errx(2, "--batch %" PRIu64 " does not divide the %" PRIu64
		    " steps of --envs times --horizon", s->batch, rows);
	if (cf->algo == &algo_a2c && (s->batch != rows || s->epochs != 1))
		errx(2, "--batch and --epochs are for ppo");
	if (cf->eval != NULL && (cf->alone || cf->save != NULL))
		errx(2, "--eval plays; it does not go with --alone or --save");
	if (!cf->alone && cf->eval == NULL && cf->json)
		errx(2, "--json needs --alone or --eval: standard output is "
		    "the gradient stream");
	if (cf->alone && !cf->solve && cf->steps == 0 && cf->episodes == 0) {
		cf->solve = true;
		cf->steps = 1000000;
	}
}

static struct conf
parse(int argc, char *argv[])
{
	struct conf cf = {
		.env = env_kinds[0], .algo = &algo_a2c, .seed = 1,
		.timeout_ns = 60000000000, .set = { .gamma = -1, .lambda = -1,
		    .entropy = -1, .clip = -1, .norm = -1, .rate = -1 },
	};
	const uint64_t all = UINT64_MAX;
	int ch;

	while ((ch = opt_next(&tool, argc, argv)) != -1) {
		if (setting(ch, &cf.set))
			continue;
		switch (ch) {
		case O_ALONE: cf.alone = true; break;
		case O_ALGO:
			cf.algo = algo_all[opt_word("algorithm", optarg,
			    algo_names())];
			break;
		case O_ENV:
			cf.env = env_kinds[opt_word("environment", optarg,
			    env_names())];
			break;
		case O_OPTIMIZER:
			cf.rule = (enum optim_rule)opt_word("optimizer",
			    optarg, optim_names);
			break;
		case O_EPISODES: cf.episodes = count("episodes", 1, all); break;
		case O_STEPS: cf.steps = count("steps", 1, all); break;
		case O_SEED: cf.seed = count("seed", 0, all); break;
		case O_INIT_SEED:
			cf.init_seed = count("seed", 0, all);
			cf.init = true;
			break;
		case O_INTERVAL: cf.interval_ns = span("interval"); break;
		case O_TIMEOUT: cf.timeout_ns = span("time-out"); break;
		case O_EVAL: cf.eval = optarg; break;
		case O_LOG: cf.log = optarg; break;
		case O_SAVE: cf.save = optarg; break;
		case O_SOLVE: cf.solve = true; break;
		case O_JSON: cf.json = true; break;
		case 'q': cf.quiet = true; break;
		case 'v': cf.verbose = true; break;
		}
	}
	opt_done(&tool, argc, argv);
	settle(&cf);
	return cf;
}

/* Train until it is over; the child's stream is opened and closed here. */
static enum ascent_result
climb(const struct conf *cf, struct learner *l, struct report *rep)
{
	struct optim optim = optim_open(cf->rule, l->net.kern, cf->set.rate,
	    l->net.params);
	struct child child = {
		.in = STDIN_FILENO, .out = STDOUT_FILENO, .stop = &got,
		.timeout_ns = cf->timeout_ns, .verbose = cf->verbose,
		.optim = &optim, .params = l->net.params,
	};
	enum ascent_result rc = ASCENT_ON;

	l->up = optim_ascent(&optim);
	if (!cf->alone) {
		l->up = child_ascent(&child);
		rep->child = &child;
		rc = child_open(&child, cf->env->name, cf->algo->name, l->w);
	}
	if (rc == ASCENT_ON)
		rc = learner_run(l, report_progress, rep);
	report_end(rep);
	if (!cf->alone)
		child_close(&child, rc == ASCENT_END && tally_over(l->tally));
	optim_close(&optim);
	return rc;
}

static int
train(const struct conf *cf)
{
	struct tally tally = {
		.steps_end = cf->steps, .episodes_end = cf->episodes,
		.solve = cf->solve, .solved = cf->env->solved, .stop = &got,
	};
	struct report rep = {
		.tally = &tally, .json = cf->json, .quiet = cf->quiet,
	};
	struct learner l;
	int rc = 0;

	if (cf->save != NULL && saved_check(cf->save) == -1)
		return 1;
	tally_open(&tally, cf->log);
	learner_open(&l, cf->env, cf->algo, &cf->set, cf->seed,
	    cf->init ? &cf->init_seed : NULL, &tally);
	l.interval_ns = cf->interval_ns;
	if (cf->verbose)
		warnx("%s, %s, %zu weights, %s kernels", cf->env->name,
		    cf->algo->name, l.net.params, l.net.kern->name);
	if (climb(cf, &l, &rep) == ASCENT_FAILED || rep.bad)
		rc = 1;
	if (cf->solve && cf->alone && !got && !tally_is_solved(&tally)) {
		warnx("not solved: mean reward of the last %d episodes %.1f, "
		    "%g wanted", TALLY_LAST, tally_mean(&tally, TALLY_LAST),
		    tally.solved);
		rc = 1;
	}
	if (tally_close(&tally) == -1)
		rc = 1;
	if (cf->save != NULL && saved_write(cf->save, cf->env->name,
	    cf->algo->name, l.w, l.net.params) == -1)
		rc = 1;
	learner_close(&l);
	return rc;
}

int
main(int argc, char *argv[])
{
	const struct conf cf = parse(argc, argv);
	const struct sigaction sa = { .sa_handler = on_signal };

	signal(SIGPIPE, SIG_IGN);
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	if (cf.eval != NULL)
		return play(cf.eval, cf.episodes == 0 ? 100 : cf.episodes,
		    cf.seed, cf.json, &got);
	if (!cf.alone && isatty(STDOUT_FILENO))
		errx(2, "standard output is a terminal; give --alone, or run "
		    "under innet-worker");
	return train(&cf);
}
