/* main.c - prove or refute an objective for ages or losses */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/innet-verify/print.h"
#include "cmd/innet-verify/solve.h"
#include "cmd/innet-verify/spec.h"
#include "common/base/files.h"
#include "common/base/message.h"
#include "common/base/num.h"
#include "common/base/opt.h"
#include "common/base/progress.h"

enum { O_OBJECTIVE = OPT_LONG, O_GIVE_UP, O_HORIZON, O_EMIT, O_JSON };

static const struct opt opts[] = {
	{ O_OBJECTIVE, "objective", "WHAT",
	    "objective to verify: fair<=SHARE, fair<=TIME, peak<=TIME or "
	    "no-loss" },
	{ O_HORIZON, "horizon", "TIME",
	    "use this horizon instead of the specification's horizon" },
	{ O_GIVE_UP, "give-up", "TIME",
	    "give up after this time (default 60s)" },
	{ 'w', "write", "FILE",
	    "write a schedule that violates the objective to FILE (default: "
	    "standard output)" },
	{ O_EMIT, "emit-smt2", NULL,
	    "print the formulas in SMT-LIB 2 without solving them" },
	{ O_JSON, "json", NULL, "print the verdict as a JSON object" },
	{ 'q', "quiet", NULL, "print no verdict on standard error" },
	{ 'v', "verbose", NULL,
	    "also print the verdict of each step, and a table of the updates "
	    "if a run misses the objective" },
	OPT_HELP_VERSION,
	{ 0 }
};

static const struct opt_tool tool = {
	"innet-verify", PACKAGE_VERSION,
	"[-qv] --objective WHAT [OPTION]... SPEC",
	"Prove, or refute with a schedule, that an objective on ages or "
	"losses holds\nin every run of an Olaf switch that a specification "
	"admits.", opts
};

struct conf {
	const char *path;		/* path of the specification */
	struct objective objective;
	uint64_t horizon_ns;	/* horizon of the command line; 0: use that of
				 * the specification */
	uint64_t give_up_ns;
	bool emit;
	struct print_options print;
};

static void
parse_objective(struct conf *cf, const char *arg)
{
	opt_check("objective", arg, objective_read(arg, &cf->objective));
}

static struct conf
parse_words(int argc, char *argv[])
{
	struct conf cf = { .give_up_ns = 60000000000u };
	struct files files = { 0 };
	bool json = false;
	int ch;

	while ((ch = opt_next_word(&tool, argc, argv, &cf.path)) != -1) {
		switch (ch) {
		case O_OBJECTIVE: parse_objective(&cf, optarg); break;
		case O_HORIZON:
			opt_check("horizon", optarg, num_time(optarg, 1,
			    SPEC_TIME_MAX, &cf.horizon_ns));
			break;
		case O_GIVE_UP:
			opt_check("time", optarg, num_time(optarg, 1,
			    SPEC_TIME_MAX, &cf.give_up_ns));
			break;
		case 'w': cf.print.write = optarg; break;
		case O_EMIT: cf.emit = true; break;
		case O_JSON: json = true; break;
		case 'q': cf.print.quiet = true; break;
		case 'v': cf.print.verbose = true; break;
		}
	}
	if (cf.objective.text == NULL)
		errx(2, "--objective is missing: give the objective to prove, "
		    "for example --objective 'fair<=0.1'");
	if (cf.emit && (json || cf.print.write != NULL))
		errx(2, "--emit-smt2 only prints formulas; leave out --json "
		    "and --write");
	opt_done(&tool, argc, argv);
	if (cf.path == NULL)
		errx(2, "no specification was given; name a JSON file, or - "
		    "for standard input");
	files_in(&files, NULL, cf.path);
	files_out(&files, "-w", cf.print.write);
	if (json)
		cf.print.json = files_json(&files);
	files_done(&files);
	return cf;
}

/* Read the specification in the file at path, or exit with status 1. */
static void
read_file(const struct conf *cf, struct spec *s)
{
	struct json_reader r;
	cJSON *root = json_reader_load(&r, cf->path);

	if (root == NULL)
		errx(1, "%s", r.why);
	if (!spec_read(&r, root, cf->horizon_ns, s))
		errx(1, "%s: %s", strcmp(cf->path, "-") == 0 ?
		    "standard input" : cf->path, r.why);
	cJSON_Delete(root);
}

int
main(int argc, char *argv[])
{
	const struct conf cf = parse_words(argc, argv);
	static const int status[] = {
		[HOLDS] = 0, [FAILS] = 3, [UNKNOWN] = 4
	};
	struct answer a = { 0 };
	struct spec s;

	read_file(&cf, &s);
	if (cf.emit) {
		solve_emit(&s, &cf.objective);
	} else {
		solve(&s, &cf.objective, cf.give_up_ns, !cf.print.quiet &&
		    isatty(STDERR_FILENO) ? print_progress : NULL, &a);
		if (!cf.print.quiet && isatty(STDERR_FILENO))
			progress_clear();
		print_answer(&s, &cf.objective, &cf.print, &a);
		free(a.schedule.row);
	}
	if (fflush(stdout) == EOF || ferror(stdout))
		err(1, "standard output");
	return cf.emit ? 0 : status[a.verdict];
}
