/* ages-options.c - the command line of innet-aom */
#include "cmd/innet-aom/ages/ages-options.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/innet-aom/format/text.h"
#include "cmd/innet-aom/options.h"
#include "common/base/files.h"
#include "common/base/num.h"

static struct instant
instant(const char *what, const char *arg)
{
	struct instant at = { .set = true };

	opt_check(what, arg, num_instant(arg, &at.ns, &at.relative));
	return at;
}

static void
parse_from(struct how *how, const char *arg)
{
	if (strcmp(arg, "first") == 0) {
		how->from = FROM_FIRST;
	} else if (strcmp(arg, "sent") == 0) {
		how->from = FROM_SENT;
	} else {
		how->from = FROM_TIME;
		how->from_at = instant("time", arg);
	}
}

/* --end: cluster, capture, or a time, which is then --until's. */
static void
parse_end(struct how *how, const char *arg)
{
	how->end = END_UNSET;
	if (strcmp(arg, "cluster") == 0)
		how->end = END_CLUSTER;
	else if (strcmp(arg, "capture") == 0)
		how->end = END_CAPTURE;
	else
		how->until = instant("end", arg);
}

static void
add_file(struct source_files *f, const char *option, const char *path)
{
	if (f->n == SOURCE_FILES_MAX)
		errx(2, "%s: more than %d files", option, SOURCE_FILES_MAX);
	for (size_t i = 0; i < f->n; i++)
		if (strcmp(f->path[i], path) == 0)
			errx(2, "%s %s is given twice", option, path);
	f->path[f->n++] = path;
}

/* Move the clock of the file in f of that name; false if there is none. */
static bool
move_clock(struct source_files *f, const char *path, size_t n, int64_t by)
{
	bool found = false;

	for (size_t i = 0; i < f->n; i++) {
		if (strncmp(f->path[i], path, n) == 0 &&
		    f->path[i][n] == '\0') {
			f->offset_ns[i] = by;
			found = true;
		}
	}
	return found;
}

/* FILE=+3.2ms, once all files are known. */
static void
parse_offset(struct conf *cf, const char *arg)
{
	const char *eq = strrchr(arg, '=');
	const size_t n = eq == NULL ? 0 : (size_t)(eq - arg);
	const bool minus = eq != NULL && eq[1] == '-';
	struct source_files *f[] = { &cf->run.received, &cf->run.sent,
	    &cf->other.received, &cf->other.sent };
	bool found = false;
	uint64_t ns;
	int64_t by;

	if (eq == NULL)
		errx(2, "offset '%s' is not FILE=TIME", arg);
	opt_check("offset", arg, num_time(eq + 1 + (minus || eq[1] == '+'), 0,
	    INT64_MAX, &ns));
	by = minus ? -(int64_t)ns : (int64_t)ns;
	for (size_t i = 0; i < 4; i++)
		found |= move_clock(f[i], arg, n, by);
	if (!found)
		errx(2, "--offset %s: no capture of that name is read", arg);
}

/* A format's file: its JSON, and the table that it names. */
static void
load_format(struct conf *cf, const char *path)
{
	struct json_reader r;
	struct stat st;
	cJSON *root;

	if (lstat(path, &st) == -1 && strpbrk(path, "./") == NULL)
		errx(2, "format '%s' is none of innet, bare, match, csv, and "
		    "no file", path);
	root = json_reader_load(&r, path);
	if (root == NULL)
		errx(1, "%s", r.why);
	if (!format_from_json(&r, root, &cf->format))
		errx(1, "%s: %s", path, r.why);
	cJSON_Delete(root);
}

static void
parse_format(struct conf *cf, const char *arg)
{
	cf->bare = strcmp(arg, "bare") == 0;
	cf->how.table = strcmp(arg, "csv") == 0;
	cf->has_format = !cf->bare && !cf->how.table &&
	    strcmp(arg, "innet") != 0;
	if (cf->has_format && strcmp(arg, "match") != 0)
		load_format(cf, arg);
	else
		cf->format.matches = cf->has_format;
}

/* --field, on top of the format; the first makes one. */
static void
parse_field(struct conf *cf, const char *arg)
{
	struct json_reader r = { .at = 0 };

	cf->has_format = true;
	if (!format_field_text(&r, arg, &cf->format))
		errx(2, "invalid field '%s': %s", arg, r.why);
}

/* Refuse what cannot be asked of packets that are not innet's. */
static void
check_format(struct conf *cf)
{
	const struct format *f = &cf->format;
	struct json_reader r = { .at = 0 };

	if (cf->how.table && (cf->run.sent.n > 0 || cf->other.sent.n > 0))
		errx(2, "--format csv has what was sent in the same table");
	if (cf->how.table && (cf->filter != NULL || cf->has_format))
		errx(2, "--format csv has no packets: no --filter, --field");
	if (cf->bare && (cf->filter != NULL || cf->has_format))
		errx(2, "--format bare has its own fields: no --filter, "
		    "--field");
	if ((cf->has_format || cf->how.table) && (cf->run.report != NULL ||
	    cf->other.report != NULL))
		errx(2, "--counters is of innet's own packets");
	if (!cf->has_format)
		return;
	if (!format_check(&r, f))
		errx(2, "the format: %s", r.why);
	if (format_needs_sent(f) && (cf->run.sent.n == 0 ||
	    (cf->other.received.n > 0 && cf->other.sent.n == 0)))
		errx(2, "updates that say nothing of when they were generated "
		    "need --sent");
	if (format_has(f, FORMAT_REWARD) && !cf->view.chosen)
		view_add_reward(&cf->view);
	if (cf->how.oldest && (!format_has(f, FORMAT_SEQUENCE) ||
	    format_needs_sent(f)))
		errx(2, "--constituents oldest needs a format with sequence "
		    "and generated");
}

/* Refuse what cannot be together; settle what depends on the rest. */
static void
check(struct conf *cf)
{
	struct how *how = &cf->how;

	if (cf->run.received.n == 0)
		add_file(&cf->run.received, "-r", "-");
	if (how->from == FROM_UNSET)
		how->from = cf->run.sent.n > 0 || how->table ? FROM_SENT :
		    FROM_FIRST;
	if (how->end == END_UNSET)
		how->end = how->until.set ? END_CAPTURE : END_CLUSTER;
	if (how->from == FROM_SENT && cf->run.sent.n == 0 && !how->table)
		errx(2, "--from sent needs --sent");
	if (how->oldest && cf->run.sent.n == 0)
		errx(2, "--constituents oldest needs --sent");
	if (how->oldest && how->by == BY_WORKER)
		errx(2, "--constituents oldest cannot be told by worker");
	if (how->oldest && cf->bare)
		errx(2, "--constituents oldest cannot be told of bare packets");
	if (cf->bare != (cf->table != NULL))
		errx(2, "--format bare and --cluster-table go together");
	if (cf->other.received.n == 0 &&
	    (cf->other.sent.n > 0 || cf->other.report != NULL))
		errx(2, "--compare-sent and --compare-counters need --compare");
	if (cf->other.received.n > 0 && cf->other.sent.n == 0)
		cf->other.sent = cf->run.sent;	/* but treated otherwise */
	if (cf->estimates && (cf->run.sent.n == 0 ||
	    cf->run.received.n > 1 || cf->other.received.n > 1))
		errx(2, "--estimate-offset needs --sent, and one capture that "
		    "was received");
	if (cf->estimates && strcmp(cf->run.received.path[0], "-") == 0)
		errx(2, "--estimate-offset reads captures twice: use -r FILE");
	check_format(cf);
	if (how->from == FROM_TIME && how->until.set &&
	    how->from_at.relative == how->until.relative &&
	    how->until.ns < how->from_at.ns)
		errx(2, "--until is before --from");
}

static void
name_files(struct files *f, const char *option, const struct source_files *in)
{
	for (size_t i = 0; i < in->n; i++)
		files_in(f, option, in->path[i]);
}

/* What is read and written, and that none of it is lost. */
static void
check_files(const struct conf *cf)
{
	const bool again = cf->other.sent.n > 0 && cf->run.sent.n > 0 &&
	    cf->other.sent.path[0] == cf->run.sent.path[0];
	struct files f = { 0 };

	name_files(&f, "-r", &cf->run.received);
	name_files(&f, "--sent", &cf->run.sent);
	files_in(&f, "--counters", cf->run.report);
	name_files(&f, "--compare", &cf->other.received);
	name_files(&f, again ? "--compare" : "--compare-sent",
	    &cf->other.sent);
	files_in(&f, "--compare-counters", cf->other.report);
	files_in(&f, "--cluster-table", cf->table);
	files_out(&f, "the table", "-");
	files_out(&f, "--series", cf->series);
	files_done(&f);
}

/* One option of those that say how packets are looked at. */
static void
parse_how(struct conf *cf, int ch)
{
	static const char *const by[] = { "cluster", "worker", NULL };
	static const char *const which[] = { "newest", "oldest", NULL };

	switch (ch) {
	case O_BY: cf->how.by = opt_word("row", optarg, by); break;
	case O_CONSTITUENTS:
		cf->how.oldest = opt_word("constituents", optarg, which) == 1;
		break;
	case O_FROM: parse_from(&cf->how, optarg); break;
	case O_UNTIL: cf->how.until = instant("time", optarg); break;
	case O_END: parse_end(&cf->how, optarg); break;
	case O_FORMAT: parse_format(cf, optarg); break;
	case O_TABLE: cf->table = optarg; break;
	case O_FILTER: cf->filter = optarg; break;
	case O_ESTIMATE: cf->estimates = true; break;
	case O_STRICT: cf->strict = true; break;
	}
}

struct conf
conf_parse(int argc, char *argv[])
{
	struct conf cf = { .how.from = FROM_UNSET, .how.end = END_UNSET,
	    .view = view_all(), .format = format_opaque() };
	const char *offset[2 * SOURCE_FILES_MAX], *field[FORMAT_ROLES * 2];
	size_t offsets = 0, fields = 0;
	int ch;

	while ((ch = opt_next(&options_tool, argc, argv)) != -1) {
		switch (ch) {
		case 'r': add_file(&cf.run.received, "-r", optarg); break;
		case O_SENT: add_file(&cf.run.sent, "--sent", optarg); break;
		case O_COUNTERS: cf.run.report = optarg; break;
		case O_COMPARE:
			add_file(&cf.other.received, "--compare", optarg);
			break;
		case O_COMPARE_SENT:
			add_file(&cf.other.sent, "--compare-sent", optarg);
			break;
		case O_COMPARE_COUNTERS: cf.other.report = optarg; break;
		case O_JSON: cf.print = PRINT_JSON; break;
		case O_CSV: cf.print = PRINT_CSV; break;
		case O_SERIES: cf.series = optarg; break;
		case O_TOTAL: cf.view.total = true; break;
		case O_COLUMNS:
			opt_check("columns", optarg, view_parse(&cf.view,
			    optarg));
			break;
		case O_OFFSET:
			if (offsets == 2 * SOURCE_FILES_MAX)
				errx(2, "too many --offset");
			offset[offsets++] = optarg;
			break;
		case O_FIELD:
			if (fields == FORMAT_ROLES * 2)
				errx(2, "too many --field");
			field[fields++] = optarg;
			break;
		case O_SWITCH:
		case O_OUT_OF_STEP:
		case O_UDP_PORT:
		case O_LATE:
			errx(2, "--%s does not go with --program olaf",
			    options_name(ch));
		case 'q': cf.quiet = true; break;
		case 'v': cf.verbose = true; break;
		default: parse_how(&cf, ch);
		}
	}
	opt_done(&options_tool, argc, argv);
	for (size_t i = 0; i < fields; i++)
		parse_field(&cf, field[i]);
	check(&cf);
	for (size_t i = 0; i < offsets; i++)
		parse_offset(&cf, offset[i]);
	check_files(&cf);
	return cf;
}
