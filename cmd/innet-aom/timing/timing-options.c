/* timing-options.c - read the command line: timing-options.h */
#include "cmd/innet-aom/timing/timing-options.h"

#include <err.h>
#include <stdio.h>
#include <string.h>

#include "cmd/innet-aom/options.h"
#include "common/base/files.h"
#include "common/base/num.h"

static void
add_file(struct timing_conf *cf, const char *path)
{
	if (cf->files == PACKETS_FILES_MAX)
		errx(2, "-r: more than %d files", PACKETS_FILES_MAX);
	for (size_t i = 0; i < cf->files; i++)
		if (strcmp(cf->path[i], path) == 0)
			errx(2, "-r %s is given twice", path);
	cf->path[cf->files++] = path;
}

static enum timing_by
parse_by(const struct timing_conf *cf, const char *arg)
{
	static const char *const words[2][4] = {
		[TIMING_ISWITCH] = { "job", "member", "iteration", NULL },
		[TIMING_DLP] = { "session", "worker", "step", NULL }
	};

	return (enum timing_by)opt_word("row", arg, words[cf->program]);
}

/* One of both programs; false if it is none. */
static bool
parse_common(struct timing_conf *cf, const char *name, const char *arg)
{
	if (strcmp(name, "read") == 0)
		add_file(cf, arg);
	else if (strcmp(name, "by") == 0)
		cf->by = parse_by(cf, arg);
	else if (strcmp(name, "from") == 0)
		opt_check("time", arg, num_instant(arg, &cf->from_ns,
		    &cf->relative_from));
	else if (strcmp(name, "until") == 0)
		opt_check("time", arg, num_instant(arg, &cf->until_ns,
		    &cf->relative_until));
	else if (strcmp(name, "json") == 0)
		cf->print = SHEET_JSON;
	else if (strcmp(name, "csv") == 0)
		cf->print = SHEET_CSV;
	else if (strcmp(name, "total") == 0)
		cf->total = true;
	else if (strcmp(name, "columns") == 0)
		cf->columns = arg;
	else if (strcmp(name, "strict") == 0)
		cf->strict = true;
	else if (strcmp(name, "quiet") == 0)
		cf->quiet = true;
	else if (strcmp(name, "verbose") == 0)
		cf->verbose = true;
	else
		return strcmp(name, "program") == 0;
	return true;
}

/* One of this program's own; false if it is none. */
static bool
parse_own(struct timing_conf *cf, const char *name, const char *arg)
{
	uint64_t port;

	if (cf->program == TIMING_ISWITCH && strcmp(name, "switch") == 0) {
		opt_check("address", arg, addr_parse(arg, "46638", &cf->at));
		cf->has_switch = true;
	} else if (cf->program == TIMING_ISWITCH &&
	    strcmp(name, "async") == 0) {
		cf->async = true;
	} else if (cf->program == TIMING_DLP &&
	    strcmp(name, "udp-port") == 0) {
		opt_check("port", arg, num_u64(arg, 1, 65535, &port));
		cf->port = (uint16_t)port;
	} else if (cf->program == TIMING_DLP && strcmp(name, "late") == 0) {
		cf->late = true;
	} else {
		return false;
	}
	return true;
}

static void
check(struct timing_conf *cf)
{
	struct files f = { 0 };
	struct sheet s;

	if (cf->files == 0)
		add_file(cf, "-");
	if (cf->total && cf->by == TIMING_ITERATION)
		errx(2, "--total has no row of single %s",
		    cf->program == TIMING_DLP ? "steps" : "iterations");
	if (cf->relative_from == cf->relative_until &&
	    cf->until_ns < cf->from_ns)
		errx(2, "--until is before --from");
	if (cf->columns != NULL)
		opt_check("columns", cf->columns, sheet_init(&s,
		    timing_columns(cf->program, cf->by), cf->print, false,
		    cf->columns));
	for (size_t i = 0; i < cf->files; i++)
		files_in(&f, "-r", cf->path[i]);
	files_done(&f);
}

struct timing_conf
timing_parse(const char *program, int argc, char *argv[])
{
	struct timing_conf cf = { .until_ns = INT64_MAX, .program =
	    strcmp(program, "dlp") == 0 ? TIMING_DLP : TIMING_ISWITCH };
	int ch;

	while ((ch = opt_next(&options_tool, argc, argv)) != -1) {
		const char *name = options_name(ch);

		if (!parse_common(&cf, name, optarg) &&
		    !parse_own(&cf, name, optarg))
			errx(2, "--%s does not go with --program %s", name,
			    program);
	}
	opt_done(&options_tool, argc, argv);
	check(&cf);
	return cf;
}
