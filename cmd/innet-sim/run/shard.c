/* shard.c - write and join parts of the runs; see shard.h */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/innet-sim/run/shard.h"
#include "common/base/atomic-file.h"
#include "common/base/counters.h"
#include "common/base/crc32c.h"
#include "common/base/files.h"
#include "common/base/launcher.h"
#include "common/base/message.h"
#include "common/base/num.h"

static const char tail[] = ".part";
static const char *const rows_by[] = { "group", "cluster", "switch",
	"traffic", "training" };

const char *
shard_parse(const char *s, struct runner_shard *to)
{
	const char *slash = strchr(s, '/'), *why;
	uint64_t at = 0, of = 0;
	char first[24];

	if (strcmp(s, "auto") == 0) {
		launcher_array("--shard", &to->at, &to->of);
		return to->of > SHARD_PARTS_MAX ? "too many tasks" : NULL;
	}
	if (slash == NULL || slash - s >= (ptrdiff_t)sizeof(first))
		return "give I/N, for example 1/4, or auto";
	memcpy(first, s, (size_t)(slash - s));
	first[slash - s] = '\0';
	why = num_u64(slash + 1, 1, SHARD_PARTS_MAX, &of);
	if (why == NULL)
		why = num_u64(first, 1, of, &at);
	*to = (struct runner_shard){ at - 1, of };
	return why;
}

/*
 * Add the bytes of a file to a CRC.  Files that cannot be read and pipes are
 * skipped.
 */
static uint32_t
add_file(uint32_t crc, const char *path)
{
	FILE *f = file_open_is_fifo(path) ? NULL : fopen(path, "re");
	char room[65536];
	size_t n;

	if (f == NULL)
		return crc;
	while ((n = fread(room, 1, sizeof(room), f)) > 0)
		crc = crc32c(crc, room, n);
	fclose(f);
	return crc;
}

/* Return a CRC of the schedule files that the scenario names. */
static uint32_t
schedules_crc(const struct runner *r)
{
	const char *last = "";
	uint32_t crc = 0;

	for (size_t i = 0; i < r->points; i++) {
		const struct scenario *sc = &r->point[i].sc;

		for (size_t k = 0; k < sc->workers.n; k++) {
			const char *path = scenario_workers(sc)[k].schedule;

			if (path[0] != '\0' && strcmp(path, last) != 0)
				crc = add_file(crc, path);
			last = path;
		}
	}
	return crc;
}

/* A part that is being written: the current line, and the CRC of all lines. */
struct part {
	FILE *to, *line;
	char *text;
	size_t bytes;
	uint32_t crc;
};

/*
 * Finish the current line and write it.  Returns false if there is no memory,
 * or no room in the file.
 */
static bool
end_line(struct part *w)
{
	bool good;

	putc('\n', w->line);
	good = fflush(w->line) == 0 && !ferror(w->line) &&
	    fwrite(w->text, 1, w->bytes, w->to) == w->bytes;
	if (good)
		w->crc = crc32c(w->crc, w->text, w->bytes);
	rewind(w->line);
	return good;
}

static bool
write_run(struct part *w, const struct runner *r, uint64_t run)
{
	const struct result_figure *fig = result_figures(r->by);
	const struct point *p = &r->point[run / r->runs];
	FILE *f = w->line;

	fprintf(f, "{\"run\":%" PRIu64 ",\"rows\":[", run);
	for (size_t i = 0; i < p->rows; i++) {
		const double *v = p->row[run % r->runs * p->rows + i].v;

		fputs(i == 0 ? "[" : ",[", f);
		for (int k = 0; fig[k].key != NULL; k++)
			fprintf(f, isnan(v[k]) ? "%snull" : "%s%.17g",
			    k == 0 ? "" : ",", v[k]);
		putc(']', f);
	}
	fputs("]}", f);
	return end_line(w);
}

static bool
write_lines(struct part *w, const struct runner *r, const char *scenario,
    double seconds)
{
	const uint64_t mine = runner_count_runs(r);
	bool good;

	fprintf(w->line, "{\"innet-sim\":\"%s\",\"of\":%" PRIu64
	    ",\"seed\":%" PRIu64 ",\"runs\":%zu,\"by\":\"%s\""
	    ",\"schedules\":%" PRIu32 ",\"scenario\":%s}", PACKAGE_VERSION,
	    r->shard.of, r->seed, r->runs, rows_by[r->by],
	    schedules_crc(r), scenario);
	good = end_line(w);
	fprintf(w->line, "{\"part\":%" PRIu64 ",\"events\":%" PRIu64
	    ",\"seconds\":%.3f,\"apart\":%.17g}", r->shard.at + 1,
	    r->events, seconds, r->apart);
	good = end_line(w) && good;
	for (uint64_t i = 0; i < mine && good; i++)
		good = write_run(w, r, r->shard.at + i * r->shard.of);
	fprintf(w->line, "{\"crc\":%" PRIu32 "}", w->crc);
	return end_line(w) && good;
}

static bool
write_all(FILE *f, const struct runner *r, const char *scenario,
    double seconds)
{
	struct part w = { .to = f };
	bool good;

	w.line = open_memstream(&w.text, &w.bytes);
	good = w.line != NULL && write_lines(&w, r, scenario, seconds);
	if (w.line != NULL)
		fclose(w.line);
	free(w.text);
	return good;
}

int
shard_write(const struct runner *r, const char *dir, const char *scenario,
    double seconds)
{
	struct files files = { 0 };
	struct atomic_file w;
	char *path;
	bool good;
	FILE *f;

	if (asprintf(&path, "%s/%" PRIu64 "-of-%" PRIu64 "%s", dir,
	    r->shard.at + 1, r->shard.of, tail) == -1)
		err(1, "%s", dir);
	if (mkdir(dir, 0777) == -1 && errno != EEXIST)
		err(1, "%s", dir);
	files_in(&files, NULL, r->scenario);
	files_out(&files, "--parts", path);
	files_done(&files);
	if (atomic_file_open(&w, path) == -1)
		err(1, "%s", path);
	f = atomic_file_stream(&w);
	if (f == NULL)
		err(1, "%s", path);
	good = write_all(f, r, scenario, seconds);
	good = fclose(f) == 0 && good;
	good = atomic_file_close(&w, good) == 0;
	if (!good)
		warn("%s", path);
	free(path);
	return good ? 0 : 1;
}

/* The lines of a part that is being read. */
struct lines {
	const char *path;
	FILE *f;
	char *line;
	size_t room;
	unsigned number;
	uint32_t crc;		/* CRC of all lines before the current line */
	uint32_t last;		/* CRC of all lines up to the current line */
};

static struct lines
open_lines(const char *path)
{
	struct lines l = { .path = path, .f =
	    file_open_stream(path, false) };

	if (l.f == NULL)
		err(1, "%s", path);
	return l;
}

static void
close_lines(struct lines *l)
{
	fclose(l->f);
	free(l->line);
}

/* Return the next line as JSON, or exit. */
static cJSON *
read_line(struct lines *l)
{
	const ssize_t n = getline(&l->line, &l->room, l->f);
	cJSON *o = NULL;

	l->number++;
	l->crc = l->last;
	if (n == -1 && ferror(l->f))
		err(1, "%s", l->path);
	if (n == -1)
		errx(1, "%s: the file ends before line %u", l->path, l->number);
	l->last = crc32c(l->crc, l->line, (size_t)n);
	if (l->line[n - 1] == '\n')
		o = cJSON_Parse(l->line);
	if (!cJSON_IsObject(o))
		errx(1, "%s:%u: this line is not valid in a part", l->path,
		    l->number);
	return o;
}

/*
 * Return the number with this key in the line.  Exits if it is missing or not
 * between lo and hi.
 */
static double
get_number(const struct lines *l, const cJSON *o, const char *key, double lo,
    double hi)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);

	if (!cJSON_IsNumber(v) || !(v->valuedouble >= lo) ||
	    !(v->valuedouble <= hi))
		errx(1, "%s:%u: '%s' is missing or not valid", l->path,
		    l->number, key);
	return v->valuedouble;
}

static int
is_part(const struct dirent *d)
{
	const size_t n = strlen(d->d_name), m = sizeof(tail) - 1;

	return d->d_name[0] != '.' && n > m &&
	    strcmp(d->d_name + n - m, tail) == 0;
}

/* Print in one line how a part differs from the first part, and exit. */
static void
refuse_part(const struct shard_parts *s, const char *path, const cJSON *o)
{
	static const char *const what[][2] = { { "innet-sim", "version" },
		{ "of", "number of parts" }, { "seed", "seed" },
		{ "runs", "number of runs" }, { "by", "--by" },
		{ "schedules", "schedule" } };
	cJSON *first = cJSON_Parse(s->what);

	for (size_t i = 0; i < sizeof(what) / sizeof(*what); i++) {
		if (!cJSON_Compare(cJSON_GetObjectItemCaseSensitive(first,
		    what[i][0]), cJSON_GetObjectItemCaseSensitive(o,
		    what[i][0]), true))
			errx(1, "%s: the %s differs from that of %s", path,
			    what[i][1],
			    s->path[0]);
	}
	errx(1, "%s: the scenario differs from that of %s", path, s->path[0]);
}

/* Open all parts and return their first line, which must be the same in all. */
static cJSON *
open_all(struct shard_parts *s)
{
	cJSON *whole = NULL;

	for (size_t i = 0; i < s->n; i++) {
		struct lines l = open_lines(s->path[i]);
		cJSON *o = read_line(&l);

		if (i == 0) {
			whole = o;
			s->of = (uint64_t)get_number(&l, o, "of", 1,
			    SHARD_PARTS_MAX);
			s->what = strdup(l.line);
			if (s->what == NULL)
				err(1, "%s", l.path);
		} else {
			if (strcmp(s->what, l.line) != 0)
				refuse_part(s, l.path, o);
			cJSON_Delete(o);
		}
		close_lines(&l);
	}
	return whole;
}

cJSON *
shard_open(struct shard_parts *s, const char *dir, struct runner *r)
{
	struct dirent **entry = NULL;
	const int n = scandir(dir, &entry, is_part, versionsort);
	const cJSON *by;
	cJSON *whole, *root;
	struct lines l = { .number = 1 };

	if (n == -1)
		err(1, "%s", dir);
	if (n == 0)
		errx(1, "%s: the folder has no parts; write them with --shard "
		    "and --parts", dir);
	*s = (struct shard_parts){ .dir = dir, .n = (size_t)n };
	s->path = calloc(s->n, sizeof(*s->path));
	for (size_t i = 0; i < s->n; i++) {
		if (s->path == NULL || asprintf(&s->path[i], "%s/%s", dir,
		    entry[i]->d_name) == -1)
			err(1, "%s", dir);
		free(entry[i]);
	}
	free(entry);
	whole = open_all(s);
	l.path = s->path[0];
	r->seed = (uint64_t)get_number(&l, whole, "seed", 0, 9007199254740992);
	r->runs = (size_t)get_number(&l, whole, "runs", 1, 1 << 20);
	by = cJSON_GetObjectItemCaseSensitive(whole, "by");
	r->by = RESULT_GROUP;
	while (r->by <= RESULT_TRAINING && (!cJSON_IsString(by) ||
	    strcmp(by->valuestring, rows_by[r->by]) != 0))
		r->by++;
	if (r->by > RESULT_TRAINING)
		errx(1, "%s:1: 'by' is missing or not valid", l.path);
	root = cJSON_DetachItemFromObjectCaseSensitive(whole, "scenario");
	if (root == NULL)
		errx(1, "%s:1: 'scenario' is missing", l.path);
	cJSON_Delete(whole);
	return root;
}

/* Read the rows of a run from its line, or exit. */
static void
read_run(struct lines *l, struct runner *r, uint64_t run)
{
	const struct result_figure *fig = result_figures(r->by);
	struct point *p = &r->point[run / r->runs];
	cJSON *o = read_line(l);
	const cJSON *row = cJSON_GetObjectItemCaseSensitive(o, "rows"), *v;

	(void)get_number(l, o, "run", (double)run, (double)run);
	row = row == NULL ? NULL : row->child;
	for (size_t i = 0; i < p->rows; i++) {
		double *to = p->row[run % r->runs * p->rows + i].v;

		v = row == NULL ? NULL : row->child;
		for (int k = 0; fig[k].key != NULL; k++) {
			if (v == NULL)
				errx(1, "%s:%u: figures are missing", l->path,
				    l->number);
			if (!cJSON_IsNumber(v) && !cJSON_IsNull(v))
				errx(1, "%s:%u: a figure is not a number",
				    l->path,
				    l->number);
			to[k] = cJSON_IsNumber(v) ? v->valuedouble : NAN;
			v = v->next;
		}
		if (v != NULL)
			errx(1, "%s:%u: there are more figures than expected",
			    l->path, l->number);
		row = row->next;
	}
	if (row != NULL)
		errx(1, "%s:%u: there are more rows than expected", l->path,
		    l->number);
	cJSON_Delete(o);
}

/*
 * Print the numbers of the missing parts, in the form of sbatch --array, and
 * exit.
 */
static void
name_missing(const struct shard_parts *s, const bool *have)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *f = open_memstream(&text, &bytes);
	uint64_t n = 0, to;

	if (f == NULL)
		err(1, "%s", s->dir);
	for (uint64_t i = 0; i < s->of; i = to + 1) {
		for (to = i; to < s->of && !have[to]; to++)
			n++;
		if (to == i)
			continue;
		fprintf(f, n == to - i ? "%" PRIu64 : ",%" PRIu64, i + 1);
		if (to > i + 1)
			fprintf(f, "-%" PRIu64, to);
	}
	if (fclose(f) == EOF)
		err(1, "%s", s->dir);
	errx(1, "%s: missing part%s %s of %" PRIu64, s->dir, plural(n), text,
	    s->of);
}

/* Read one part: its summary and its runs.  Returns its index. */
static uint64_t
read_part(struct shard_parts *s, struct runner *r, struct lines *l)
{
	cJSON *o = read_line(l); /* description of the whole simulation */
	uint64_t mine;
	double apart;

	cJSON_Delete(o);
	o = read_line(l);
	r->shard = (struct runner_shard){ (uint64_t)get_number(l, o, "part", 1,
	    (double)s->of) - 1, s->of };
	r->events += (uint64_t)get_number(l, o, "events", 0, 9007199254740992);
	s->seconds += get_number(l, o, "seconds", 0, INFINITY);
	apart = get_number(l, o, "apart", -INFINITY, INFINITY);
	if (fabs(apart) > fabs(r->apart))
		r->apart = apart;
	cJSON_Delete(o);
	mine = runner_count_runs(r);
	for (uint64_t i = 0; i < mine; i++)
		read_run(l, r, r->shard.at + i * s->of);
	o = read_line(l);
	if (get_number(l, o, "crc", 0, UINT32_MAX) != (double)l->crc)
		errx(1, "%s: the file is damaged: its checksum is wrong",
		    l->path);
	cJSON_Delete(o);
	if (getc(l->f) != EOF)
		errx(1, "%s: the file has more lines than expected", l->path);
	return r->shard.at;
}

void
shard_read(struct shard_parts *s, struct runner *r)
{
	bool *have = calloc(s->of, sizeof(*have));
	uint64_t n = 0;

	if (have == NULL)
		err(1, "no memory for %" PRIu64 " parts", s->of);
	runner_rows(r);
	for (size_t i = 0; i < s->n; i++) {
		struct lines l = open_lines(s->path[i]);
		const uint64_t at = read_part(s, r, &l);

		if (have[at])
			errx(1, "%s: part %" PRIu64 " exists twice", l.path,
			    at + 1);
		have[at] = true;
		n++;
		close_lines(&l);
	}
	if (n < s->of)
		name_missing(s, have);
	r->shard = (struct runner_shard){ 0, 1 };
	for (size_t i = 0; i < s->n; i++)
		free(s->path[i]);
	free(s->path);
	free(s->what);
	free(have);
}
