/* innet-aom - measure age, loss and fairness from captures */
#include "config.h"

#include <err.h>
#include <inttypes.h>
#include <stdbool.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/innet-aom/rows.h"
#include "common/base/files.h"
#include "common/base/num.h"
#include "common/base/opt.h"

enum {
	O_SENT = OPT_LONG, O_BY, O_CONSTITUENTS, O_COUNTERS, O_FROM, O_UNTIL,
	O_JSON, O_CSV, O_SERIES, O_COMPARE, O_COMPARE_SENT, O_COMPARE_COUNTERS,
	O_FORMAT, O_TABLE, O_TOTAL, O_COLUMNS
};

static const struct opt opts[] = {
	{ 'r', "read", "FILE",
	    "capture at the receiver (default standard input)" },
	{ O_SENT, "sent", "FILE", "capture of what was sent" },
	{ O_COUNTERS, "counters", "FILE",
	    "the switch's report, to split what is lost" },
	{ O_BY, "by", "WHAT", "a row a cluster (default) or worker" },
	{ O_CONSTITUENTS, "constituents", "WHICH",
	    "age of the newest (default) or oldest" },
	{ O_FROM, "from", "WHEN", "age counts from first, sent or a time" },
	{ O_UNTIL, "until", "TIME", "end there, not with the capture" },
	{ O_COMPARE, "compare", "FILE",
	    "another receiver's capture, side by side" },
	{ O_COMPARE_SENT, "compare-sent", "FILE", "what was sent to it" },
	{ O_COMPARE_COUNTERS, "compare-counters", "FILE",
	    "its switch's report" },
	{ O_JSON, "json", NULL, "print one JSON object a line" },
	{ O_CSV, "csv", NULL, "print comma-separated values" },
	{ O_TOTAL, "total", NULL, "the row of all alone" },
	{ O_COLUMNS, "columns", "LIST", "these, by the names --csv has" },
	{ O_SERIES, "series", "FILE", "write the ages over time as CSV" },
	{ O_FORMAT, "format", "NAME", "packets are innet's (default) or bare" },
	{ O_TABLE, "cluster-table", "FILE",
	    "clusters of bare packets: prefix,cluster" },
	{ 'q', "quiet", NULL, "leave out the summary on standard error" },
	{ 'v', "verbose", NULL, "say what was left out, and why" },
	OPT_HELP_VERSION,
	{ 0 }
};

static const struct opt_tool tool = {
	"innet-aom", PACKAGE_VERSION,
	"[-qv] [-r FILE] [--sent FILE] [--counters FILE] [OPTION]...",
	"Measure the Age-of-Model, loss and fairness of captured updates.", opts
};

enum print { TABLE, JSON, CSV };

struct conf {
	struct inputs run, other;	/* other.received NULL: no other */
	struct how how;
	enum print print;
	const char *series, *table;
	struct view view;
	bool bare, quiet, verbose;
};

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

/* Refuse what cannot be together; settle what depends on the rest. */
static void
check(struct conf *cf)
{
	struct how *how = &cf->how;

	if (how->from == FROM_UNSET)
		how->from = cf->run.sent != NULL ? FROM_SENT : FROM_FIRST;
	if (how->from == FROM_SENT && cf->run.sent == NULL)
		errx(2, "--from sent needs --sent");
	if (how->oldest && cf->run.sent == NULL)
		errx(2, "--constituents oldest needs --sent");
	if (how->oldest && how->by == BY_WORKER)
		errx(2, "--constituents oldest cannot be told by worker");
	if (how->oldest && cf->bare)
		errx(2, "--constituents oldest cannot be told of bare packets");
	if (cf->bare != (cf->table != NULL))
		errx(2, "--format bare and --cluster-table go together");
	if (cf->other.received == NULL &&
	    (cf->other.sent != NULL || cf->other.report != NULL))
		errx(2, "--compare-sent and --compare-counters need --compare");
	if (cf->other.received != NULL && cf->run.sent != NULL &&
	    cf->other.sent == NULL)	/* the same trace, treated otherwise */
		cf->other.sent = cf->run.sent;
	if (how->from == FROM_TIME && how->until.set &&
	    how->from_at.relative == how->until.relative &&
	    how->until.ns < how->from_at.ns)
		errx(2, "--until is before --from");
}

/* What is read and written, and that none of it is lost. */
static void
check_files(const struct conf *cf)
{
	const bool again = cf->other.sent == cf->run.sent;
	struct files f = { 0 };

	files_in(&f, "-r", cf->run.received);
	files_in(&f, "--sent", cf->run.sent);
	files_in(&f, "--counters", cf->run.report);
	files_in(&f, "--compare", cf->other.received);
	files_in(&f, again ? "--compare" : "--compare-sent", cf->other.sent);
	files_in(&f, "--compare-counters", cf->other.report);
	files_in(&f, "--cluster-table", cf->table);
	files_out(&f, "the table", "-");
	files_out(&f, "--series", cf->series);
	files_done(&f);
}

static struct conf
parse(int argc, char *argv[])
{
	static const char *const by[] = { "cluster", "worker", NULL };
	static const char *const which[] = { "newest", "oldest", NULL };
	static const char *const format[] = { "innet", "bare", NULL };
	struct conf cf = { .run.received = "-", .how.from = FROM_UNSET,
	    .view = view_all() };
	int ch;

	while ((ch = opt_next(&tool, argc, argv)) != -1) {
		switch (ch) {
		case 'r': cf.run.received = optarg; break;
		case O_SENT: cf.run.sent = optarg; break;
		case O_COUNTERS: cf.run.report = optarg; break;
		case O_BY: cf.how.by = opt_word("row", optarg, by); break;
		case O_CONSTITUENTS:
			cf.how.oldest = opt_word("constituents", optarg,
			    which) == 1;
			break;
		case O_FROM: parse_from(&cf.how, optarg); break;
		case O_UNTIL: cf.how.until = instant("time", optarg); break;
		case O_COMPARE: cf.other.received = optarg; break;
		case O_COMPARE_SENT: cf.other.sent = optarg; break;
		case O_COMPARE_COUNTERS: cf.other.report = optarg; break;
		case O_JSON: cf.print = JSON; break;
		case O_CSV: cf.print = CSV; break;
		case O_SERIES: cf.series = optarg; break;
		case O_TOTAL: cf.view.total = true; break;
		case O_COLUMNS:
			opt_check("columns", optarg, view_parse(&cf.view,
			    optarg));
			break;
		case O_FORMAT:
			cf.bare = opt_word("format", optarg, format) == 1;
			break;
		case O_TABLE: cf.table = optarg; break;
		case 'q': cf.quiet = true; break;
		case 'v': cf.verbose = true; break;
		}
	}
	opt_done(&tool, argc, argv);
	check(&cf);
	check_files(&cf);
	return cf;
}

/* ", 3 checksum, 1 short" of one capture, or nothing. */
static void
tell_ignored(FILE *f, const struct updates *in)
{
	for (unsigned i = 0; i < SOUNDNESS_VERDICTS; i++)
		if (in->ignored[i] != 0)
			fprintf(f, ", %" PRIu64 " %s", in->ignored[i],
			    soundness_name(i));
}

/* Ages that a trace has which was replayed as it stood say nothing. */
static void
tell_older(const struct run *r, const char *path)
{
	uint64_t packets = 0;

	for (size_t i = 0; i < r->flows; i++)
		packets += r->flow[i].got.packets;
	if (r->older == 0 || r->older < packets / 2)
		return;
	warnx("%s: %" PRIu64 " of %" PRIu64 " packets are of updates that are "
	    "older than the capture, by up to %.6g s; were they replayed with "
	    "--no-stamp?", pcapio_name(path, false), r->older, packets,
	    (double)(r->in.first_ns - r->oldest_ns) / 1e9);
}

/* The summary line of a run. */
static void
summary(const struct run *r, const struct rows *rows, const char *path)
{
	const struct value *v = rows->row[rows->n - 1].v;
	uint64_t ahead = 0, ignored = updates_ignored(&r->in) +
	    updates_ignored(&r->in_sent);
	char *line = NULL;
	size_t room = 0;
	FILE *f = open_memstream(&line, &room);

	if (f == NULL)
		err(1, "summary");
	fprintf(f, "%" PRId64 " updates of %" PRId64 " constituents",
	    v[RECEIVED].whole, v[MERGED].whole);
	if (v[LOST].known)
		fprintf(f, "; %" PRId64 " of %" PRId64 " lost", v[LOST].whole,
		    v[SENT].whole);
	if (rows->packets_known)
		fprintf(f, ", %" PRId64 " packets fewer", rows->packets_lost);
	if (v[LOSS_PERCENT].known)
		fprintf(f, "; loss %.2f %% counts %s", v[LOSS_PERCENT].real,
		    v[DROPPED].known ? "dropped alone" :
		    "dropped and superseded alike");
	for (size_t i = 0; i < r->flows; i++)
		ahead += r->flow[i].age.ahead;
	if (ahead > 0)
		fprintf(f, "; clock_ahead %" PRIu64, ahead);
	if (r->in.backwards + r->in_sent.backwards > 0)
		fprintf(f, "; time_backwards %" PRIu64, r->in.backwards +
		    r->in_sent.backwards);
	if (r->unmatched > 0)
		fprintf(f, "; unmatched %" PRIu64, r->unmatched);
	fprintf(f, "; ignored %" PRIu64, ignored);
	tell_ignored(f, &r->in);
	tell_ignored(f, &r->in_sent);
	fclose(f);
	warnx("%s: %s", pcapio_name(path, false), line);
	free(line);
}

/* -v: what each capture held. */
static void
tell_capture(const struct updates *in)
{
	if (in->in.path == NULL)
		return;
	warnx("%s: %" PRIu64 " packets, %" PRIu64 " regular, %" PRIu64
	    " ignored, %" PRIu64 " with time going backwards",
	    pcapio_name(in->in.path, false), in->in.packets, in->regular,
	    updates_ignored(in), in->backwards);
}

static int
write_series(const struct run *r, const char *path)
{
	const bool out = strcmp(path, "-") == 0;
	FILE *f = out ? stdout : fopen(path, "w");

	if (f == NULL) {
		warn("%s", path);
		return 1;
	}
	print_series(f, r);
	if (ferror(f) || fflush(f) == EOF || (!out && fclose(f) == EOF)) {
		warn("%s: output is incomplete", pcapio_name(path, true));
		return 1;
	}
	return 0;
}

/* Read one run and tell what it was; the rows are the caller's. */
static int
take(const struct conf *cf, const struct inputs *files, const char *series,
    struct rows *rows)
{
	struct run r;
	int rc;

	run_read(&r, &cf->how, files);
	*rows = rows_of(&r, &cf->view);
	rc = r.rc;
	if (cf->verbose) {
		tell_capture(&r.in_sent);
		tell_capture(&r.in);
	}
	tell_older(&r, files->received);
	if (!cf->quiet)
		summary(&r, rows, files->received);
	if (series != NULL)
		rc |= write_series(&r, series);
	run_free(&r);
	return rc;
}

static int
run(struct conf *cf)
{
	static void (*const print[])(FILE *, const struct rows *) = {
		print_table, print_json, print_csv
	};
	static void (*const compare[])(FILE *, const struct rows *,
	    const struct rows *) = {
		compare_table, compare_json, compare_csv
	};
	struct clusters table = { 0 };
	struct rows a, b;
	int rc;

	if (cf->bare) {
		table = clusters_load_or_exit(cf->table);
		cf->how.bare = &table;
	}
	rc = take(cf, &cf->run, cf->series, &a);
	if (cf->other.received != NULL) {
		rc |= take(cf, &cf->other, NULL, &b);
		compare[cf->print](stdout, &a, &b);
		free(b.row);
	} else {
		print[cf->print](stdout, &a);
	}
	free(a.row);
	clusters_free(&table);
	if (fflush(stdout) == EOF || ferror(stdout)) {
		warn("standard output");
		rc = 1;
	}
	return rc;
}

int
main(int argc, char *argv[])
{
	struct conf cf = parse(argc, argv);

	signal(SIGPIPE, SIG_IGN);	/* a closed pipe is said, in a line */
	return run(&cf);
}
