/* A recorded run: read, cloned to more clusters, played: sources.h. */
#include "config.h"

#include <csv.h>
#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/innet-gen/sources.h"
#include "common/num.h"

enum { COLUMNS = 4, FIELD_BYTES = 64 };

struct row {
	uint64_t at_ns;
	uint32_t cluster, worker;
	float reward;
	uint32_t line;
};

struct schedule {
	struct row *row;
	size_t n, room;
};

struct reader {
	const char *path;
	struct schedule *s;
	uint32_t line;			/* being read, from 1 */
	size_t columns;			/* of this row, so far */
	char field[COLUMNS][FIELD_BYTES];
};

static void
append(struct schedule *s, const struct row *r)
{
	if (s->n == s->room) {
		s->room = s->room == 0 ? 1024 : 2 * s->room;
		s->row = reallocarray(s->row, s->room, sizeof(*s->row));
		if (s->row == NULL)
			err(1, "a schedule of %zu updates", s->room);
	}
	s->row[s->n++] = *r;
}

/* libcsv's call at the end of a field. */
static void
on_field(void *p, size_t len, void *arg)
{
	struct reader *r = arg;

	if (r->columns < COLUMNS) {
		if (len >= FIELD_BYTES)
			errx(1, "%s:%u: field of %zu bytes is too long",
			    r->path, r->line, len);
		if (len > 0)
			memcpy(r->field[r->columns], p, len);
		r->field[r->columns][len] = '\0';
	}
	r->columns++;
}

/* End unless why is NULL: "jobs.csv:12: cluster 'x': not a number". */
static void
check(const struct reader *r, const char *what, const char *field,
    const char *why)
{
	if (why != NULL)
		errx(1, "%s:%u: %s '%s': %s", r->path, r->line, what, field,
		    why);
}

static void
on_values(struct reader *r)
{
	struct row w = { .line = r->line };
	uint64_t cluster = 0, worker = 0;
	double reward = 0;

	if (r->columns != COLUMNS)
		errx(1, "%s:%u: %zu fields, not the %d of "
		    "cluster,worker,time_ns,reward", r->path, r->line,
		    r->columns, COLUMNS);
	check(r, "cluster", r->field[0], num_u64(r->field[0], 0,
	    FRAME_CLUSTERS_MAX - 1, &cluster));
	check(r, "worker", r->field[1], num_u64(r->field[1], 0,
	    FRAME_WORKERS_MAX - 1, &worker));
	check(r, "time", r->field[2], num_time(r->field[2], 0, INT64_MAX,
	    &w.at_ns));
	check(r, "reward", r->field[3], num_real(r->field[3], -3e38, 3e38,
	    &reward));
	w.cluster = (uint32_t)cluster;
	w.worker = (uint32_t)worker;
	w.reward = (float)reward;
	append(r->s, &w);
}

/* libcsv's call at each line's end, of which CR LF has two. */
static void
on_row(int end, void *arg)
{
	struct reader *r = arg;

	if (r->columns > 0 && !(r->s->n == 0 &&
	    strcmp(r->field[0], "cluster") == 0))
		on_values(r);
	r->columns = 0;
	if (end == '\n')
		r->line++;
}

static int
by_time(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	if (x->cluster != y->cluster)
		return x->cluster < y->cluster ? -1 : 1;
	if (x->worker != y->worker)
		return x->worker < y->worker ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

static int
by_worker(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->cluster != y->cluster)
		return x->cluster < y->cluster ? -1 : 1;
	if (x->worker != y->worker)
		return x->worker < y->worker ? -1 : 1;
	return by_time(a, b);
}

/* The first row behind i, rows by worker, of another cluster (or worker). */
static size_t
same(const struct schedule *s, size_t i, bool worker)
{
	size_t j = i;

	while (j < s->n && s->row[j].cluster == s->row[i].cluster &&
	    (!worker || s->row[j].worker == s->row[i].worker))
		j++;
	return j;
}

/*
 * The cycle in which a clone of rows i to j - 1, one cluster's, is turned:
 * from the first to the last of them and then as long as its busiest worker
 * waits on average.
 */
static uint64_t
cycle(const struct schedule *s, size_t i, size_t j, uint64_t *from)
{
	uint64_t to = 0, wait = 0;
	size_t most = 0;

	*from = UINT64_MAX;
	for (size_t k = i, end; k < j; k = end) {
		end = same(s, k, true);
		if (s->row[k].at_ns < *from)
			*from = s->row[k].at_ns;
		if (s->row[end - 1].at_ns > to)
			to = s->row[end - 1].at_ns;
		if (end - k > most) {
			most = end - k;
			wait = most < 2 ? 0 : (s->row[end - 1].at_ns -
			    s->row[k].at_ns) / (most - 1);
		}
	}
	return to - *from + (wait == 0 ? 1 : wait);
}

/* Rows i to j - 1, one worker's, turned by that much, as cluster's. */
static void
clone_worker(struct schedule *s, size_t i, size_t j, uint32_t cluster,
    uint64_t from, uint64_t len, uint64_t turn)
{
	size_t n = j - i, wrapped = j;

	while (wrapped > i && s->row[wrapped - 1].at_ns - from + turn >= len)
		wrapped--;
	for (size_t k = 0; k < n; k++) {
		struct row r = s->row[i + (wrapped - i + k) % n];

		r.at_ns = from + (r.at_ns - from + turn) % len;
		r.reward = s->row[i + k].reward;
		r.cluster = cluster;
		append(s, &r);
	}
}

/* Add clones until there are cf->scale clusters. */
static void
scale(struct schedule *s, const struct conf *cf)
{
	struct rng r = rng_seed(cf->seed + 0x7363616c65);
	size_t n = s->n, at = 0, clusters = 0, end;
	uint32_t name;
	uint64_t from, len, turn;

	qsort(s->row, n, sizeof(*s->row), by_worker);
	for (size_t i = 0; i < n; i = same(s, i, false))
		clusters++;
	name = s->row[n - 1].cluster;
	if (clusters > cf->scale)
		errx(2, "--scale-clusters %" PRIu64 " is fewer than the %zu "
		    "clusters of %s", cf->scale, clusters, cf->schedule);
	if (name + (cf->scale - clusters) >= FRAME_CLUSTERS_MAX)
		errx(2, "--scale-clusters %" PRIu64 " needs clusters past %d, "
		    "the last that has an address", cf->scale,
		    FRAME_CLUSTERS_MAX - 1);
	for (; clusters < cf->scale; clusters++) {
		end = at + 1;
		while (end < n && s->row[end].cluster == s->row[at].cluster)
			end++;
		len = cycle(s, at, end, &from);
		turn = rng_below(&r, len);
		name++;
		for (size_t i = at, j; i < end; i = j) {
			for (j = i + 1; j < end &&
			    s->row[j].worker == s->row[i].worker; j++)
				;
			clone_worker(s, i, j, name, from, len, turn);
		}
		at = end == n ? 0 : end;
	}
}

static void
parse_all(struct reader *r, FILE *f)
{
	struct csv_parser csv;
	char buf[65536];
	size_t len;

	if (csv_init(&csv, CSV_STRICT | CSV_STRICT_FINI | CSV_REPALL_NL) != 0)
		errx(1, "libcsv: cannot begin");
	while ((len = fread(buf, 1, sizeof(buf), f)) > 0) {
		if (csv_parse(&csv, buf, len, on_field, on_row, r) != len)
			errx(1, "%s:%u: %s", r->path, r->line,
			    csv_strerror(csv_error(&csv)));
	}
	if (ferror(f))
		err(1, "%s", r->path);
	if (csv_fini(&csv, on_field, on_row, r) != 0)
		errx(1, "%s:%u: %s", r->path, r->line,
		    csv_strerror(csv_error(&csv)));
	csv_free(&csv);
}

struct schedule *
schedule_read(const struct conf *cf)
{
	struct schedule *s = calloc(1, sizeof(*s));
	struct reader r = { .s = s, .line = 1 };
	bool std = strcmp(cf->schedule, "-") == 0;
	FILE *f = std ? stdin : fopen(cf->schedule, "r");

	r.path = std ? "standard input" : cf->schedule;
	if (f == NULL || s == NULL)
		err(1, "%s", r.path);
	parse_all(&r, f);
	if (!std)
		fclose(f);
	if (s->n == 0)
		errx(1, "%s: no update in it", r.path);
	if (cf->scale != 0)
		scale(s, cf);
	qsort(s->row, s->n, sizeof(*s->row), by_time);
	return s;
}

void
source_schedule(const struct schedule *s, struct writer *w)
{
	const size_t workers = (size_t)FRAME_CLUSTERS_MAX * FRAME_WORKERS_MAX;
	uint32_t *put = calloc(workers, sizeof(*put));

	if (put == NULL)
		err(1, "%zu workers", workers);
	w->total = s->n;
	for (size_t i = 0; i < s->n; i++) {
		const struct row *r = &s->row[i];
		struct ready u = { r->at_ns, r->cluster, r->worker,
		    ++put[r->cluster * FRAME_WORKERS_MAX + r->worker],
		    r->reward };

		if (u.due_ns >= w->cf->duration_ns || !writer_put(w, &u))
			break;
	}
	free(put);
}

void
schedule_free(struct schedule *s)
{
	if (s != NULL)
		free(s->row);
	free(s);
}

static void
table_row(FILE *f, uint32_t cluster)
{
	uint8_t a[4];

	frame_worker_addr(a, (uint16_t)cluster, 0);
	fprintf(f, "%u.%u.%u.0/24,%u\n", a[0], a[1], a[2], cluster);
}

bool
schedule_table(const struct conf *cf, const struct schedule *s)
{
	bool *seen = calloc(FRAME_CLUSTERS_MAX, sizeof(*seen));
	FILE *f = fopen(cf->table, "w");
	bool whole;

	if (seen == NULL || f == NULL) {
		warn("%s", cf->table);
		free(seen);
		return false;
	}
	for (size_t i = 0; s != NULL && i < s->n; i++)
		seen[s->row[i].cluster] = true;
	for (uint32_t c = 1; s == NULL && c <= cf->clusters; c++)
		seen[c] = true;
	fputs("prefix,cluster\n", f);
	for (uint32_t c = 0; c < FRAME_CLUSTERS_MAX; c++) {
		if (seen[c])
			table_row(f, c);
	}
	whole = fflush(f) == 0;
	whole = fclose(f) == 0 && whole;
	if (!whole)
		warn("%s", cf->table);
	free(seen);
	return whole;
}
