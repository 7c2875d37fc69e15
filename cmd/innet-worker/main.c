/* innet-worker - carry one training process's gradients over the network */
#include "config.h"

#include <err.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/num.h"
#include "common/opt.h"
#include "common/timer.h"
#include "common/update.h"

#include "cmd/innet-worker/worker.h"

enum {
	SWITCH = OPT_LONG, MODE, CLUSTER, WORKER, CONTROL, THRESHOLD,
	SYNTHETIC, INTERVAL, JITTER, MTU, GIVE_UP, SILENCE, DURATION, SEED, JSON
};

static const struct opt opts[] = {
	{ SWITCH, "switch", "ADDR", "the switch, or server (needed)" },
	{ MODE, "mode", "NAME", "olaf (the default, and so far the only)" },
	{ CLUSTER, "cluster", "N", "cluster, 0 to 65534 (default 1)" },
	{ WORKER, "worker", "N", "number in it, or auto (default 0)" },
	{ CONTROL, "control", "NAME", "none (default), urgent or fair" },
	{ THRESHOLD, "threshold", "TIME", "of --control (default 400ms)" },
	{ SYNTHETIC, "synthetic", "SIZE", "make up gradients of SIZE bytes" },
	{ INTERVAL, "interval", "TIME", "between those (default 100ms)" },
	{ JITTER, "jitter", "TIME", "add up to TIME to each interval" },
	{ 'c', "count", "N", "end after N gradients" },
	{ DURATION, "duration", "TIME", "end after TIME" },
	{ GIVE_UP, "give-up", "TIME", "fail if nothing comes (default 30s)" },
	{ SILENCE, "silence", "TIME", "of the command, at most (default 10min)" },
	{ MTU, "mtu", "SIZE", "cut vectors for it (default: the path's)" },
	{ SEED, "seed", "N", "of all that is left to chance" },
	{ 'w', "write", "FILE", "capture what is sent and comes back" },
	{ JSON, "json", NULL, "summary as a JSON object, one line" },
	{ 'q', "quiet", NULL, "leave out the summary" },
	OPT_HELP_VERSION,
	{ 0 }
};

static const struct opt_tool tool = {
	"innet-worker", PACKAGE_VERSION,
	"--switch ADDR [OPTION...] -- COMMAND [ARG...]\n"
	"       innet-worker --switch ADDR --synthetic SIZE [OPTION...]",
	"Run COMMAND with the gradient stream on its standard input and output\n"
	"and carry its gradients and models over the network.", opts
};

struct conf {
	struct worker_conf worker;
	const char *capture;
	bool seeded;
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

/* The rank that a job launcher gave this process, or exit 2. */
static uint64_t
launcher_rank(void)
{
	static const char *const names[] = { "SLURM_PROCID",
	    "OMPI_COMM_WORLD_RANK", "PMI_RANK" };
	uint64_t rank = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *s = getenv(names[i]);

		if (s == NULL)
			continue;
		opt_check(names[i], s, num_u64(s, 0, UINT32_MAX - 1, &rank));
		return rank;
	}
	errx(2, "--worker auto: none of SLURM_PROCID, OMPI_COMM_WORLD_RANK "
	    "and PMI_RANK is set");
}

/* Who this worker is, and how it sends. */
static bool
parse_worker(int ch, struct worker_conf *w)
{
	static const char *const modes[] = { "olaf", NULL };
	static const char *const controls[] = { "none", "urgent", "fair",
	    NULL };
	uint64_t v = 0;

	switch (ch) {
	case SWITCH:
		opt_check("address", optarg, addr_parse(optarg, "46638",
		    &w->to));
		w->to_name = optarg;
		return true;
	case MODE:
		opt_word("mode", optarg, modes);
		return true;
	case CLUSTER:
		opt_check("cluster", optarg, num_u64(optarg, 0, 65534, &v));
		w->cluster = (uint16_t)v;
		return true;
	case WORKER:
		if (strcmp(optarg, "auto") == 0)
			v = launcher_rank();
		else
			opt_check("worker", optarg, num_u64(optarg, 0,
			    UINT32_MAX - 1, &v));
		w->worker = (uint32_t)v;
		return true;
	case CONTROL:
		w->control = (enum txctl_kind)opt_word("control", optarg,
		    controls);
		return true;
	case THRESHOLD:
		opt_check("threshold", optarg, num_time(optarg, 0, INT64_MAX,
		    &w->threshold_ns));
		return true;
	case MTU:
		opt_check("mtu", optarg, num_bytes(optarg, 128,
		    UPDATE_MTU_LOOPBACK, &w->mtu));
		return true;
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
		opt_check("size", optarg, num_bytes(optarg, 4, 4u << 28, &v));
		if (v % 4 != 0)
			errx(2, "--synthetic %s is not a multiple of 4 bytes",
			    optarg);
		w->synthetic = (uint32_t)(v / 4);
		break;
	case INTERVAL:
		opt_check("interval", optarg, num_time(optarg, 1, INT64_MAX,
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
	case JSON: w->json = true; break;
	case 'q': w->quiet = true; break;
	}
}

static struct conf
parse(int argc, char *argv[])
{
	struct conf cf = { .worker = { .cluster = 1,
		.threshold_ns = 400000000, .interval_ns = 100000000,
		.give_up_ns = 30 * (uint64_t)TIMER_SECOND_NS,
		.silence_ns = 600 * (uint64_t)TIMER_SECOND_NS,
		.duration_ns = TIMER_NEVER, .stop = &got, .tell = &tell } };
	int ch;

	while ((ch = opt_next(&tool, argc, argv)) != -1) {
		if (!parse_worker(ch, &cf.worker))
			parse_other(ch, &cf);
	}
	if (cf.worker.to_name == NULL)
		errx(2, "--switch is needed: where gradients go");
	if (addr_port(&cf.worker.to) == 0)
		errx(2, "--switch %s: port 0 is nobody's", cf.worker.to_name);
	if (cf.worker.synthetic > 0)
		opt_done(&tool, argc, argv);
	else if (optind == argc)
		errx(2, "a command is needed, or --synthetic");
	cf.worker.argv = argv + optind;
	if (!cf.seeded)		/* workers must not act in step */
		cf.worker.rng = rng_seed((uint64_t)cf.worker.cluster << 32 |
		    cf.worker.worker);
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
	cf.worker.wait_mask = &wait_mask;
	cf.worker.progress = !cf.worker.quiet && isatty(STDERR_FILENO) == 1;
	if (cf.capture != NULL) {
		pcapio_create_or_exit(&capture, cf.capture);
		cf.worker.capture = &capture;
	}
	rc = worker_run(&cf.worker);
	if (cf.capture != NULL)
		rc |= pcapio_close_or_warn(&capture);
	return rc;
}
