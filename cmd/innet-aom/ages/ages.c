/* ages.c - measure the ages of updates in captures */
#include "cmd/innet-aom/ages/ages.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/innet-aom/ages/ages-options.h"
#include "cmd/innet-aom/ages/clock-offset.h"
#include "cmd/innet-aom/ages/log.h"
#include "cmd/innet-aom/ages/rows-print.h"
#include "common/base/file-open.h"
#include "common/base/message.h"

static int
write_series(const struct run *r, const char *path)
{
	const bool out = strcmp(path, "-") == 0;
	FILE *f = out ? stdout : file_open_stream(path, true);

	if (f == NULL) {
		warn("%s", path);
		return 1;
	}
	rows_print_series(f, r);
	if (ferror(f) || fflush(f) == EOF || (!out && fclose(f) == EOF)) {
		warn("%s: output is incomplete", pcapio_name(path, true));
		return 1;
	}
	return 0;
}

/*
 * Compute the rows of r, which the caller frees, and print warnings and a
 * summary.  Write the time series if `series` is not NULL.  Return an exit
 * status.
 */
static int
conclude(const struct ages_options *options, struct run *r,
    const struct run_files *files, const char *series, struct rows *rows)
{
	bool unrecognised;
	int rc = r->rc;

	run_sort_by_name(r);
	*rows = rows_make(r, &options->view);
	if (options->verbose) {
		log_captures(&r->in_sent);
		log_captures(&r->in);
	}
	unrecognised = log_unrecognised(options, &r->in_sent);
	unrecognised |= log_unrecognised(options, &r->in);
	if (unrecognised)
		rc |= options->strict;
	log_warnings(r, files, rows);
	if (!options->quiet)
		log_summary(options, r, files, rows);
	if (series != NULL)
		rc |= write_series(r, series);
	return rc;
}

/*
 * For each sender's capture, estimate the offset that converts its timestamps
 * to the receiver's clock.
 */
static void
estimate(const struct ages_options *options, struct run_files *files)
{
	for (size_t i = 0; i < files->sent.n && files->received.n > 0; i++)
		files->sent.offset_ns[i] =
		    clock_offset_estimate(files->received.path[0],
			files->sent.path[i], options->quiet);
}

/* Read the runs and print their rows.  Return an exit status. */
static int
measure(const struct ages_options *options, const struct age_rules *rules)
{
	static void (*const print[])(FILE *, const struct rows *) = {
		rows_print_table, rows_print_json, rows_print_csv
	};
	static void (*const compare[])(FILE *, const struct rows *,
	    const struct rows *) = {
		rows_compare_table, rows_compare_json, rows_compare_csv
	};
	const bool compares = options->other.received.n > 0;
	struct run run, other;
	struct rows a, b;
	int rc;

	run_read(&run, rules, &options->run);
	if (compares)
		run_read(&other, rules, &options->other);
	if (rules->source.clusters != NULL) {
		names_rank(rules->source.clusters);
		names_rank(rules->source.workers);
	}
	rc = conclude(options, &run, &options->run, options->series, &a);
	if (compares) {
		rc |= conclude(options, &other, &options->other, NULL, &b);
		compare[options->form](stdout, &a, &b);
		free(b.row);
		run_free(&other);
	} else {
		print[options->form](stdout, &a);
	}
	free(a.row);
	run_free(&run);
	return rc;
}

static int
run_all(struct ages_options *options)
{
	const char *prefixes = options->format.prefixes;
	struct names clusters = { 0 }, workers = { 0 };
	struct clusters table = { 0 };
	struct age_rules rules = options->rules;
	int rc;

	rules.source.filter = options->filter;
	if (options->estimates) {
		estimate(options, &options->run);
		estimate(options, &options->other);
	}
	if (options->bare) {
		table = clusters_load_or_exit(options->table);
		rules.source.bare = &table;
	}
	if (options->has_format) {
		if (options->filter != NULL)
			snprintf(options->format.filter,
			    sizeof(options->format.filter), "%s",
			    options->filter);
		if (prefixes[0] != '\0')
			options->format.clusters =
			    clusters_load_or_exit(prefixes);
		rules.source.format = &options->format;
	}
	if (options->has_format || rules.table) {
		rules.source.clusters = &clusters;
		rules.source.workers = &workers;
	}
	rc = measure(options, &rules);
	clusters_free(&table);
	names_free(&clusters);
	names_free(&workers);
	format_free(&options->format);
	if (fflush(stdout) == EOF || ferror(stdout)) {
		warn("standard output");
		rc = 1;
	}
	return rc;
}

int
ages_run(int argc, char *argv[])
{
	struct ages_options options = ages_options_parse(argc, argv);

	return run_all(&options);
}
