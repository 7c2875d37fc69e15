/* timing-options.c - read the command line of the programs iswitch and dlp */
#include "cmd/innet-aom/timing/timing-options.h"

#include <stdio.h>
#include <string.h>

#include "cmd/innet-aom/options.h"
#include "common/base/files.h"
#include "common/base/message.h"
#include "common/base/num.h"

static void
add_file(struct timing_options *options, const char *path)
{
	if (options->files == PACKETS_FILES_MAX)
		errx(2, "-r: at most %d files can be given", PACKETS_FILES_MAX);
	for (size_t i = 0; i < options->files; i++)
		if (strcmp(options->path[i], path) == 0)
			errx(2, "-r %s is given twice", path);
	options->path[options->files++] = path;
}

static enum timing_grouping
parse_by(const struct timing_options *options, const char *arg)
{
	static const char *const words[2][4] = {
		[TIMING_ISWITCH] = { "job", "member", "iteration", NULL },
		[TIMING_DLP] = { "session", "worker", "step", NULL }
	};

	return (enum timing_grouping)opt_word("row", arg,
	    words[options->program]);
}

/*
 * Parse an option that both programs have.  Return false if it is another
 * option.
 */
static bool
parse_common(struct timing_options *options, const char *name, const char *arg)
{
	if (strcmp(name, "read") == 0)
		add_file(options, arg);
	else if (strcmp(name, "by") == 0)
		options->grouping = parse_by(options, arg);
	else if (strcmp(name, "from") == 0)
		opt_check("time", arg, num_instant(arg, &options->from_ns,
		    &options->relative_from));
	else if (strcmp(name, "until") == 0)
		opt_check("time", arg, num_instant(arg, &options->until_ns,
		    &options->relative_until));
	else if (strcmp(name, "json") == 0)
		options->form = FIGURES_JSON;
	else if (strcmp(name, "csv") == 0)
		options->form = FIGURES_CSV;
	else if (strcmp(name, "total") == 0)
		options->total = true;
	else if (strcmp(name, "columns") == 0)
		options->columns = arg;
	else if (strcmp(name, "strict") == 0)
		options->strict = true;
	else if (strcmp(name, "quiet") == 0)
		options->quiet = true;
	else if (strcmp(name, "verbose") == 0)
		options->verbose = true;
	else
		return strcmp(name, "program") == 0;
	return true;
}

/*
 * Parse an option that only this program has.  Return false if it is another
 * option.
 */
static bool
parse_own(struct timing_options *options, const char *name, const char *arg)
{
	uint64_t port;

	if (options->program == TIMING_ISWITCH && strcmp(name, "switch") == 0) {
		opt_check("address", arg, addr_parse(arg, "46638",
		    &options->at));
		options->has_switch = true;
	} else if (options->program == TIMING_ISWITCH &&
	    strcmp(name, "async") == 0) {
		options->async = true;
	} else if (options->program == TIMING_DLP &&
	    strcmp(name, "udp-port") == 0) {
		opt_check("port", arg, num_u64(arg, 1, 65535, &port));
		options->port = (uint16_t)port;
	} else if (options->program == TIMING_DLP &&
		   strcmp(name, "answer-early") == 0) {
		options->late = true;
	} else {
		return false;
	}
	return true;
}

static void
check_options(struct timing_options *options)
{
	struct files f = { 0 };
	struct figures s;

	if (options->files == 0)
		add_file(options, "-");
	if (options->total && options->grouping == TIMING_BY_ITERATION)
		errx(2, "--total cannot be used with rows for individual %s",
		    options->program == TIMING_DLP ? "steps" : "iterations");
	if (options->relative_from == options->relative_until &&
	    options->until_ns < options->from_ns)
		errx(2, "--until must not be before --from");
	if (options->columns != NULL)
		opt_check("columns", options->columns,
		    figures_open(&s,
			timing_columns(options->program, options->grouping),
			options->form, false, options->columns));
	for (size_t i = 0; i < options->files; i++)
		files_in(&f, "-r", options->path[i]);
	files_done(&f);
}

struct timing_options
timing_options_parse(const char *program, int argc, char *argv[])
{
	struct timing_options options = { .until_ns = INT64_MAX, .program =
	    strcmp(program, "dlp") == 0 ? TIMING_DLP : TIMING_ISWITCH };
	int ch;

	while ((ch = opt_next(&options_tool, argc, argv)) != -1) {
		const char *name = options_name(ch);

		if (!parse_common(&options, name, optarg) &&
		    !parse_own(&options, name, optarg))
			errx(2, "--%s cannot be used with --program %s", name,
			    program);
	}
	opt_done(&options_tool, argc, argv);
	check_options(&options);
	return options;
}
