/* ages-options.c - read the command line of innet-aom for the program olaf */
#include "cmd/innet-aom/ages/ages-options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/innet-aom/format/text.h"
#include "cmd/innet-aom/options.h"
#include "common/base/files.h"
#include "common/base/message.h"
#include "common/base/nearest.h"
#include "common/base/num.h"

static struct instant
parse_instant(const char *what, const char *arg)
{
	struct instant at = { .set = true };

	opt_check(what, arg, num_instant(arg, &at.ns, &at.relative));
	return at;
}

static void
parse_from(struct age_rules *rules, const char *arg)
{
	if (strcmp(arg, "first") == 0) {
		rules->start = FROM_FIRST;
	} else if (strcmp(arg, "sent") == 0) {
		rules->start = FROM_SENT;
	} else {
		rules->start = FROM_TIME;
		rules->start_at = parse_instant("time", arg);
	}
}

/*
 * Parse --end, which is cluster, capture, or a time.  A time has the same
 * effect as --until.
 */
static void
parse_end(struct age_rules *rules, const char *arg)
{
	rules->end = END_UNSET;
	if (strcmp(arg, "cluster") == 0)
		rules->end = END_CLUSTER;
	else if (strcmp(arg, "capture") == 0)
		rules->end = END_CAPTURE;
	else
		rules->until = parse_instant("end", arg);
}

static void
add_file(struct source_files *f, const char *option, const char *path)
{
	if (f->n == SOURCE_FILES_MAX)
		errx(2, "%s: at most %d files can be given", option,
		    SOURCE_FILES_MAX);
	for (size_t i = 0; i < f->n; i++)
		if (strcmp(f->path[i], path) == 0)
			errx(2, "%s %s is given twice", option, path);
	f->path[f->n++] = path;
}

/*
 * Set the clock offset of the file in f whose name is the first n bytes of path
 * to `by`.  Return false if f has no such file.
 */
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

/*
 * Parse an argument such as FILE=+3.2ms.  Call this when all files are known.
 */
static void
parse_offset(struct ages_options *options, const char *arg)
{
	const char *eq = strrchr(arg, '=');
	const size_t n = eq == NULL ? 0 : (size_t)(eq - arg);
	const bool minus = eq != NULL && eq[1] == '-';
	struct source_files *f[] = { &options->run.received, &options->run.sent,
	    &options->other.received, &options->other.sent };
	bool found = false;
	uint64_t ns;
	int64_t by;

	if (eq == NULL)
		errx(2, "invalid offset '%s': give FILE=TIME, for example "
		    "sent.pcap=-20us", arg);
	opt_check("offset", arg, num_time(eq + 1 + (minus || eq[1] == '+'), 0,
	    INT64_MAX, &ns));
	by = minus ? -(int64_t)ns : (int64_t)ns;
	for (size_t i = 0; i < 4; i++)
		found |= move_clock(f[i], arg, n, by);
	if (!found)
		errx(2, "--offset %s: no capture of this name is given with -r "
		    "or --sent", arg);
}

/* Exit with a message, because `word` is neither a format nor a file. */
_Noreturn static void
refuse_format(const char *word)
{
	static const char *const formats[] = { "innet", "bare", "match",
		"csv" };
	char hint[NEAREST_TEXT];
	struct nearest near = { 0 };

	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
		nearest_offer(&near, word, formats[i]);
	errx(2, "invalid format '%s': not innet, bare, match or csv, and no "
	    "file has this name%s", word, nearest_hint(&near, word, "", hint));
}

/* Read a format from the JSON file at path. */
static void
load_format(struct ages_options *options, const char *path)
{
	struct json_reader r;
	struct stat st;
	cJSON *root;

	if (lstat(path, &st) == -1 && strpbrk(path, "./") == NULL)
		refuse_format(path);
	root = json_reader_load(&r, path);
	if (root == NULL)
		errx(1, "%s", r.why);
	if (!format_from_json(&r, root, &options->format))
		errx(1, "%s: %s", path, r.why);
	cJSON_Delete(root);
}

static void
parse_format(struct ages_options *options, const char *arg)
{
	options->bare = strcmp(arg, "bare") == 0;
	options->rules.table = strcmp(arg, "csv") == 0;
	options->has_format = !options->bare && !options->rules.table &&
	    strcmp(arg, "innet") != 0;
	if (options->has_format && strcmp(arg, "match") != 0)
		load_format(options, arg);
	else
		options->format.matches = options->has_format;
}

/* Parse --field, which adds a field to the format or starts a new format. */
static void
parse_field(struct ages_options *options, const char *arg)
{
	struct json_reader r = { .at = 0 };

	options->has_format = true;
	if (!format_field_text(&r, arg, &options->format))
		errx(2, "invalid field '%s': %s", arg, r.why);
}

/* Refuse options that cannot be used with the format of the packets. */
static void
check_format(struct ages_options *options)
{
	const struct format *f = &options->format;
	struct json_reader r = { .at = 0 };

	if (options->rules.table &&
	    (options->run.sent.n > 0 || options->other.sent.n > 0))
		errx(2, "--sent cannot be used with --format csv: the table "
		    "also has the updates that were sent");
	if (options->rules.table &&
	    (options->filter != NULL || options->has_format))
		errx(2, "--filter and --field cannot be used with --format "
		    "csv, which reads a table");
	if (options->bare && (options->filter != NULL || options->has_format))
		errx(2, "--filter and --field cannot be used with --format "
		    "bare, whose fields are fixed");
	if ((options->has_format || options->rules.table) &&
	    (options->run.report != NULL || options->other.report != NULL))
		errx(2, "--counters needs packets in innet's own format; leave "
		    "out --field and --format");
	if (!options->has_format)
		return;
	if (!format_check(&r, f))
		errx(2, "invalid format: %s", r.why);
	if (format_needs_sent(f) && (options->run.sent.n == 0 ||
	    (options->other.received.n > 0 && options->other.sent.n == 0)))
		errx(2, "these updates do not carry the time when they were "
		    "generated; give a capture of the sender with --sent");
	if (format_has(f, FORMAT_REWARD) && !options->view.chosen)
		view_add_reward(&options->view);
	if (options->rules.oldest && (!format_has(f, FORMAT_SEQUENCE) ||
	    format_needs_sent(f)))
		errx(2, "--constituents oldest needs a format with the fields "
		    "sequence and generated");
}

/*
 * Refuse contradictory options, and set defaults that depend on other options.
 */
static void
check_options(struct ages_options *options)
{
	struct age_rules *rules = &options->rules;

	if (options->run.received.n == 0)
		add_file(&options->run.received, "-r", "-");
	if (rules->start == FROM_UNSET)
		rules->start = options->run.sent.n > 0 || rules->table ?
		    FROM_SENT : FROM_FIRST;
	if (rules->end == END_UNSET)
		rules->end = rules->until.set ? END_CAPTURE : END_CLUSTER;
	if (rules->start == FROM_SENT && options->run.sent.n == 0 &&
	    !rules->table)
		errx(2, "--from sent needs --sent");
	if (rules->oldest && options->run.sent.n == 0)
		errx(2, "--constituents oldest needs --sent");
	if (rules->oldest && rules->grouping == BY_WORKER)
		errx(2, "--constituents oldest cannot be used with --by "
		    "worker");
	if (rules->oldest && options->bare)
		errx(2, "--constituents oldest cannot be used with --format "
		    "bare");
	if (options->bare != (options->table != NULL))
		errx(2, "--format bare and --cluster-table must be given "
		    "together");
	if (options->other.received.n == 0 &&
	    (options->other.sent.n > 0 || options->other.report != NULL))
		errx(2, "--compare-sent and --compare-counters need --compare");
	if (options->other.received.n > 0 && options->other.sent.n == 0)
		options->other.sent =
		    options->run.sent; /* see check_files() */
	if (options->estimates && (options->run.sent.n == 0 ||
	    options->run.received.n > 1 || options->other.received.n > 1))
		errx(2, "--estimate-offset needs --sent and exactly one "
		    "capture with -r");
	if (options->estimates &&
	    strcmp(options->run.received.path[0], "-") == 0)
		errx(2, "--estimate-offset reads captures twice, so it cannot "
		    "use standard input; give -r FILE");
	check_format(options);
	if (rules->start == FROM_TIME && rules->until.set &&
	    rules->start_at.relative == rules->until.relative &&
	    rules->until.ns < rules->start_at.ns)
		errx(2, "--until must not be before --from");
}

static void
name_files(struct files *f, const char *option, const struct source_files *in)
{
	for (size_t i = 0; i < in->n; i++)
		files_in(f, option, in->path[i]);
}

/* Refuse files that would be written twice, or both read and written. */
static void
check_files(const struct ages_options *options)
{
	const bool again =
	    options->other.sent.n > 0 && options->run.sent.n > 0 &&
	    options->other.sent.path[0] == options->run.sent.path[0];
	struct files f = { 0 };

	name_files(&f, "-r", &options->run.received);
	name_files(&f, "--sent", &options->run.sent);
	files_in(&f, "--counters", options->run.report);
	name_files(&f, "--compare", &options->other.received);
	name_files(&f, again ? "--compare" : "--compare-sent",
	    &options->other.sent);
	files_in(&f, "--compare-counters", options->other.report);
	files_in(&f, "--cluster-table", options->table);
	files_out(&f, "the table", "-");
	files_out(&f, "--series", options->series);
	files_done(&f);
}

/*
 * Parse an option that determines how packets are read or how ages are counted.
 */
static void
parse_rule(struct ages_options *options, int ch)
{
	static const char *const by[] = { "cluster", "worker", NULL };
	static const char *const which[] = { "newest", "oldest", NULL };

	switch (ch) {
	case O_BY: options->rules.grouping = opt_word("row", optarg, by); break;
	case O_CONSTITUENTS:
		options->rules.oldest =
		    opt_word("constituents", optarg, which) == 1;
		break;
	case O_FROM: parse_from(&options->rules, optarg); break;
	case O_UNTIL:
		options->rules.until = parse_instant("time", optarg);
		break;
	case O_END: parse_end(&options->rules, optarg); break;
	case O_FORMAT: parse_format(options, optarg); break;
	case O_TABLE: options->table = optarg; break;
	case O_FILTER: options->filter = optarg; break;
	case O_ESTIMATE: options->estimates = true; break;
	case O_STRICT: options->strict = true; break;
	}
}

struct ages_options
ages_options_parse(int argc, char *argv[])
{
	struct ages_options options = { .rules.start = FROM_UNSET,
	    .rules.end = END_UNSET,
	    .view = view_all(),
	    .format = format_opaque() };
	const char *offset[2 * SOURCE_FILES_MAX], *field[FORMAT_ROLES * 2];
	size_t offsets = 0, fields = 0;
	int ch;

	while ((ch = opt_next(&options_tool, argc, argv)) != -1) {
		switch (ch) {
		case 'r': add_file(&options.run.received, "-r", optarg); break;
		case O_SENT:
			add_file(&options.run.sent, "--sent", optarg);
			break;
		case O_COUNTERS: options.run.report = optarg; break;
		case O_COMPARE:
			add_file(&options.other.received, "--compare", optarg);
			break;
		case O_COMPARE_SENT:
			add_file(&options.other.sent, "--compare-sent", optarg);
			break;
		case O_COMPARE_COUNTERS: options.other.report = optarg; break;
		case O_JSON: options.form = PRINT_JSON; break;
		case O_CSV: options.form = PRINT_CSV; break;
		case O_SERIES: options.series = optarg; break;
		case O_TOTAL: options.view.total = true; break;
		case O_COLUMNS:
			opt_check("columns", optarg, view_parse(&options.view,
			    optarg));
			break;
		case O_OFFSET:
			if (offsets == 2 * SOURCE_FILES_MAX)
				errx(2, "--offset is given too many times");
			offset[offsets++] = optarg;
			break;
		case O_FIELD:
			if (fields == FORMAT_ROLES * 2)
				errx(2, "--field is given too many times");
			field[fields++] = optarg;
			break;
		case O_SWITCH:
		case O_OUT_OF_STEP:
		case O_UDP_PORT:
		case O_ANSWER_EARLY:
			errx(2, "--%s cannot be used with --program olaf",
			    options_name(ch));
		case 'q': options.quiet = true; break;
		case 'v': options.verbose = true; break;
		default: parse_rule(&options, ch);
		}
	}
	opt_done(&options_tool, argc, argv);
	for (size_t i = 0; i < fields; i++)
		parse_field(&options, field[i]);
	check_options(&options);
	for (size_t i = 0; i < offsets; i++)
		parse_offset(&options, offset[i]);
	check_files(&options);
	return options;
}
