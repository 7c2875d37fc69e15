/* ages.c - measure the ages of updates in captures: ages.h */
#include "cmd/innet-aom/ages/ages.h"

#include <err.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/innet-aom/ages/ages-options.h"
#include "cmd/innet-aom/ages/clock-offset.h"
#include "cmd/innet-aom/ages/log.h"
#include "cmd/innet-aom/ages/rows-print.h"
#include "common/base/file-open.h"

static int
write_series(const struct run *r, const char *path)
{
	const bool out = strcmp(path, "-") == 0;
	FILE *f = out ? stdout : file_open_stream(path, true);

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

/* Say what was read, and make rows of it; the rows are the caller's. */
static int
conclude(const struct conf *cf, struct run *r, const struct inputs *files,
    const char *series, struct rows *rows)
{
	bool unrecognised;
	int rc = r->rc;

	run_sort(r);
	*rows = rows_of(r, &cf->view);
	if (cf->verbose) {
		tell_captures(&r->in_sent);
		tell_captures(&r->in);
	}
	unrecognised = tell_unrecognised(cf, &r->in_sent);
	unrecognised |= tell_unrecognised(cf, &r->in);
	if (unrecognised)
		rc |= cf->strict;
	tell_warnings(r, files, rows);
	if (!cf->quiet)
		tell_summary(cf, r, files, rows);
	if (series != NULL)
		rc |= write_series(r, series);
	return rc;
}

/* Bring what was sent onto the clock of who received. */
static void
estimate(const struct conf *cf, struct inputs *files)
{
	for (size_t i = 0; i < files->sent.n && files->received.n > 0; i++)
		files->sent.offset_ns[i] = estimate_offset(
		    files->received.path[0], files->sent.path[i], cf->quiet);
}

/* Read the runs and print their rows. */
static int
measure(const struct conf *cf, const struct how *how)
{
	static void (*const print[])(FILE *, const struct rows *) = {
		print_table, print_json, print_csv
	};
	static void (*const compare[])(FILE *, const struct rows *,
	    const struct rows *) = {
		compare_table, compare_json, compare_csv
	};
	const bool compares = cf->other.received.n > 0;
	struct run run, other;
	struct rows a, b;
	int rc;

	run_read(&run, how, &cf->run);
	if (compares)
		run_read(&other, how, &cf->other);
	if (how->source.clusters != NULL) {
		names_rank(how->source.clusters);
		names_rank(how->source.workers);
	}
	rc = conclude(cf, &run, &cf->run, cf->series, &a);
	if (compares) {
		rc |= conclude(cf, &other, &cf->other, NULL, &b);
		compare[cf->print](stdout, &a, &b);
		free(b.row);
		run_free(&other);
	} else {
		print[cf->print](stdout, &a);
	}
	free(a.row);
	run_free(&run);
	return rc;
}

static int
run_all(struct conf *cf)
{
	const char *prefixes = cf->format.prefixes;
	struct names clusters = { 0 }, workers = { 0 };
	struct clusters table = { 0 };
	struct how how = cf->how;
	int rc;

	how.source.filter = cf->filter;
	if (cf->estimates) {
		estimate(cf, &cf->run);
		estimate(cf, &cf->other);
	}
	if (cf->bare) {
		table = clusters_load_or_exit(cf->table);
		how.source.bare = &table;
	}
	if (cf->has_format) {
		if (cf->filter != NULL)
			snprintf(cf->format.filter,
			    sizeof(cf->format.filter), "%s", cf->filter);
		if (prefixes[0] != '\0')
			cf->format.clusters = clusters_load_or_exit(prefixes);
		how.source.format = &cf->format;
	}
	if (cf->has_format || how.table) {
		how.source.clusters = &clusters;
		how.source.workers = &workers;
	}
	rc = measure(cf, &how);
	clusters_free(&table);
	names_free(&clusters);
	names_free(&workers);
	format_free(&cf->format);
	if (fflush(stdout) == EOF || ferror(stdout)) {
		warn("standard output");
		rc = 1;
	}
	return rc;
}

int
ages_run(int argc, char *argv[])
{
	struct conf cf = conf_parse(argc, argv);

	return run_all(&cf);
}
