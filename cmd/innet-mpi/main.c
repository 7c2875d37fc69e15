/* innet-mpi - sum a training process's gradients over all MPI ranks */
#include "config.h"

#include <stdlib.h>
#include <unistd.h>

#include "common/base/files.h"
#include "common/base/message.h"
#include "common/base/num.h"
#include "common/base/opt.h"
#include "common/net/timer.h"
#include "common/wire/stream.h"

#include "cmd/innet-mpi/rank.h"

enum { SYNTHETIC = OPT_LONG, CHECK, GIVE_UP, SILENCE, JSON };

static const struct opt opts[] = {
	{ SYNTHETIC, "synthetic", "VECTOR",
	    "instead of running a command, generate gradients of this length: "
	    "a size (40kB), a number of elements, dqn, a2c, ppo or ddpg" },
	{ CHECK, "check", NULL,
	    "fail if a sum of synthetic gradients is wrong" },
	{ 'c', "count", "N", "end after N gradients" },
	{ GIVE_UP, "give-up", "TIME",
	    "fail if a sum does not arrive within TIME (default 30s)" },
	{ SILENCE, "silence", "TIME",
	    "fail if the command sends nothing for TIME (default 10min)" },
	{ JSON, "json", NULL,
	    "print the summary as a JSON object on one line" },
	{ 'q', "quiet", NULL, "do not print the summary" },
	OPT_HELP_VERSION,
	{ 0 }
};

static const struct opt_tool tool = {
	"innet-mpi", PACKAGE_VERSION,
	"[OPTION...] -- COMMAND [ARG...]\n"
	"       innet-mpi --synthetic VECTOR [OPTION...]",
	"Run COMMAND with the gradient stream on its standard input and\n"
	"output, and answer each gradient with the sum over all ranks, which\n"
	"MPI_Allreduce computes.  mpirun starts the ranks.", opts
};

static volatile sig_atomic_t stop_signal;	/* signal to stop, or 0 */

static void
on_signal(int sig)
{
	if (sig == SIGINT || sig == SIGTERM || sig == SIGHUP)
		stop_signal = sig;
	rank_signal(sig);
}

static void
parse_size(struct rank_conf *cf)
{
	uint64_t v = 0;

	opt_check("vector", optarg, num_vector(optarg, 1, STREAM_ELEMENTS_MAX,
	    &v));
	cf->synthetic = (uint32_t)v;
}

static struct rank_conf
parse(int argc, char *argv[])
{
	struct rank_conf cf = {.give_up_ns = 30 * (uint64_t)TIMER_SECOND_NS,
	    .silence_ns = 600 * (uint64_t)TIMER_SECOND_NS,
	    .stop = &stop_signal};
	struct files files = { 0 };
	int ch;

	while ((ch = opt_next(&tool, argc, argv)) != -1) {
		switch (ch) {
		case SYNTHETIC: parse_size(&cf); break;
		case CHECK: cf.check = true; break;
		case 'c':
			opt_check("count", optarg, num_u64(optarg, 1,
			    UINT64_MAX, &cf.count));
			break;
		case GIVE_UP:
			opt_check("time", optarg, num_time(optarg, 1,
			    INT64_MAX, &cf.give_up_ns));
			break;
		case SILENCE:
			opt_check("time", optarg, num_time(optarg, 1,
			    INT64_MAX, &cf.silence_ns));
			break;
		case JSON: cf.json = files_json(&files); break;
		case 'q': cf.quiet = true; break;
		}
	}
	if (cf.synthetic > 0)
		opt_done(&tool, argc, argv);
	else if (optind == argc)
		errx(2, "a command is missing; give one after --, or "
		    "--synthetic");
	if (cf.check && cf.synthetic == 0)
		errx(2, "--check needs --synthetic");
	files_done(&files);
	cf.argv = argv + optind;
	return cf;
}

int
main(int argc, char *argv[])
{
	struct rank_conf cf = parse(argc, argv);
	sigset_t wait_mask;

	timer_block_signals(on_signal, &wait_mask);
	cf.wait_mask = &wait_mask;
	/* the command prints its own progress */
	cf.progress = !cf.quiet && cf.synthetic > 0 &&
	    isatty(STDERR_FILENO) == 1;
	return rank_run(&cf);
}
