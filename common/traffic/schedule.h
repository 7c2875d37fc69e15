/*
 * schedule.h - read a recorded run: the times at which each worker has an
 *   update
 *
 * The input is a CSV file or a capture.  A CSV file has rows of
 * cluster,worker,time_ns,reward, with or without a heading, and its times may
 * have a unit.  The times of updates in a capture are relative to the first
 * update.  Rows are sorted by time, then by cluster, by worker, and by number
 * of the line or packet.  These functions are for tools only: on failure they
 * print an error message, with the number of the line, and exit with status 1.
 * A schedule owns its rows; schedule_free() frees them.
 */
#ifndef INNET_TRAFFIC_SCHEDULE_H
#define INNET_TRAFFIC_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csv.h>

#include "common/base/file-open.h"
#include "common/base/message.h"
#include "common/base/num.h"
#include "common/capture/updates.h"

enum { SCHEDULE_COLUMNS = 4, SCHEDULE_FIELD_BYTES = 64 };

struct schedule_row {
	uint64_t at_ns;
	uint32_t cluster, worker;
	float reward;
	uint32_t line;
};

struct schedule {
	struct schedule_row *row;
	size_t n, room;
};

struct schedule_reader {
	const char *path;
	struct schedule *s;
	uint32_t clusters, workers;	/* the ids of clusters and of workers
					 * must be less than these limits */
	uint32_t line;			/* number of the line that is being
					 * read, counted from 1 */
	size_t columns;			/* number of fields of the current row
					 * that have been read */
	char field[SCHEDULE_COLUMNS][SCHEDULE_FIELD_BYTES];
};

/*
 * Read the schedule from the file at path, or from standard input if path is
 * "-".  The ids of clusters must be below `clusters`, and those of workers
 * below `workers`.  The file is a CSV file or a capture; a capture is
 * recognised by its first bytes.
 */
static inline struct schedule schedule_read_or_exit(const char *path,
    uint32_t clusters, uint32_t workers);

/* Append a copy of a row. */
static inline void schedule_append(struct schedule *s,
    const struct schedule_row *r);

/* Sort the rows. */
static inline void schedule_sort(struct schedule *s);

/* Compare two rows; this function is an argument of qsort(). */
static inline int schedule_by_time(const void *a, const void *b);

/* Free the rows. */
static inline void schedule_free(struct schedule *s);

/* implementation */

static inline void
schedule_append(struct schedule *s, const struct schedule_row *r)
{
	if (s->n == s->room) {
		s->room = s->room == 0 ? 1024 : 2 * s->room;
		s->row = reallocarray(s->row, s->room, sizeof(*s->row));
		if (s->row == NULL)
			err(1, "no memory for a schedule of %zu updates",
			    s->room);
	}
	s->row[s->n++] = *r;
}

/* Handle a field of a row.  This function is a callback of libcsv. */
static inline void
schedule_on_field(void *p, size_t len, void *arg)
{
	struct schedule_reader *r = arg;

	if (r->columns < SCHEDULE_COLUMNS) {
		if (len >= SCHEDULE_FIELD_BYTES)
			errx(1, "%s:%u: a field of %zu bytes is too long",
			    r->path, r->line, len);
		if (len > 0)
			memcpy(r->field[r->columns], p, len);
		r->field[r->columns][len] = '\0';
	}
	r->columns++;
}

/*
 * Unless why is NULL, exit with an error such as "jobs.csv:12: cluster 'x': not
 * a number".
 */
static inline void
schedule_check(const struct schedule_reader *r, const char *what,
    const char *field, const char *why)
{
	if (why != NULL)
		errx(1, "%s:%u: %s '%s': %s", r->path, r->line, what, field,
		    why);
}

static inline void
schedule_on_values(struct schedule_reader *r)
{
	struct schedule_row w = { .line = r->line };
	uint64_t cluster = 0, worker = 0;
	double reward = 0;

	if (r->columns != SCHEDULE_COLUMNS)
		errx(1, "%s:%u: the line has %zu fields; it must have %d: "
		    "cluster,worker,time_ns,reward", r->path, r->line,
		    r->columns, SCHEDULE_COLUMNS);
	schedule_check(r, "cluster", r->field[0], num_u64(r->field[0], 0,
	    r->clusters - 1, &cluster));
	schedule_check(r, "worker", r->field[1], num_u64(r->field[1], 0,
	    r->workers - 1, &worker));
	schedule_check(r, "time", r->field[2], num_time(r->field[2], 0,
	    INT64_MAX, &w.at_ns));
	schedule_check(r, "reward", r->field[3], num_real(r->field[3], -3e38,
	    3e38, &reward));
	w.cluster = (uint32_t)cluster;
	w.worker = (uint32_t)worker;
	w.reward = (float)reward;
	schedule_append(r->s, &w);
}

/*
 * Handle the end of a line.  This function is a callback of libcsv, which calls
 * it twice if the line ends with CR LF.
 */
static inline void
schedule_on_row(int end, void *arg)
{
	struct schedule_reader *r = arg;

	if (r->columns > 0 && !(r->s->n == 0 &&
	    strcmp(r->field[0], "cluster") == 0))
		schedule_on_values(r);
	r->columns = 0;
	if (end == '\n')
		r->line++;
}

static inline int
schedule_by_time(const void *a, const void *b)
{
	const struct schedule_row *x = a, *y = b;

	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	if (x->cluster != y->cluster)
		return x->cluster < y->cluster ? -1 : 1;
	if (x->worker != y->worker)
		return x->worker < y->worker ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

static inline void
schedule_parse_all(struct schedule_reader *r, FILE *f)
{
	struct csv_parser csv;
	char buf[65536];
	size_t len;

	if (csv_init(&csv, CSV_STRICT | CSV_STRICT_FINI | CSV_REPALL_NL) != 0)
		errx(1, "no memory for the CSV reader");
	while ((len = fread(buf, 1, sizeof(buf), f)) > 0) {
		if (csv_parse(&csv, buf, len, schedule_on_field,
		    schedule_on_row, r) != len)
			errx(1, "%s:%u: %s", r->path, r->line,
			    csv_strerror(csv_error(&csv)));
	}
	if (ferror(f))
		err(1, "%s", r->path);
	if (csv_fini(&csv, schedule_on_field, schedule_on_row, r) != 0)
		errx(1, "%s:%u: %s", r->path, r->line,
		    csv_strerror(csv_error(&csv)));
	csv_free(&csv);
}

static inline void
schedule_free(struct schedule *s)
{
	free(s->row);
	*s = (struct schedule){ 0 };
}

static inline void
schedule_sort(struct schedule *s)
{
	qsort(s->row, s->n, sizeof(*s->row), schedule_by_time);
}

/*
 * Does the file fd begin like a capture?  The position in the file does not
 * change.
 */
static inline bool
schedule_is_capture(int fd)
{
	static const uint32_t magic[] = { 0xa1b2c3d4, 0xd4c3b2a1, 0xa1b23c4d,
	    0x4d3cb2a1, 0x0a0d0d0a };
	uint32_t first = 0;

	if (pread(fd, &first, sizeof(first), 0) != sizeof(first))
		return false;
	for (size_t i = 0; i < sizeof(magic) / sizeof(magic[0]); i++)
		if (first == magic[i])
			return true;
	return false;
}

/* Append an update of a capture to the schedule. */
static inline void
schedule_on_update(struct schedule_reader *r, const struct update *u,
    uint64_t at_ns)
{
	const struct schedule_row w = { .at_ns = at_ns, .cluster = u->cluster,
	    .worker = u->worker, .reward = u->reward, .line = r->line };

	if (u->cluster >= r->clusters || u->worker >= r->workers)
		errx(1, "%s: packet %u: worker %u of cluster %u: the worker "
		    "must be less than %u and the cluster less than %u",
		    r->path, r->line, u->worker, u->cluster,
		    r->workers, r->clusters);
	schedule_append(r->s, &w);
}

/*
 * Read the updates of the capture fd.  If a vector has several packets, only
 * its last packet counts.
 */
static inline void
schedule_from_capture(struct schedule_reader *r, int fd)
{
	struct updates in = { .until_ns = UINT64_MAX, .headers = true };
	struct update u = { 0 };
	uint64_t t, first_ns = 0, merged = 0;
	int got;

	if (pcapio_open_fd(&in.in, fd, r->path) == -1)
		errx(1, "%s: %s", r->path, in.in.why);
	while ((got = updates_next(&in, &t, &u)) == 1) {
		if (u.kind != UPDATE_UPDATE || u.following != 0)
			continue;
		if (r->s->n == 0)
			first_ns = t;
		r->line = (uint32_t)in.in.packets;
		schedule_on_update(r, &u, t - first_ns);
		merged += u.merged > 1;
	}
	updates_warn_odd(&in);
	if (got == -1)
		errx(1, "%s: packet %llu: %s", r->path,
		    (unsigned long long)in.in.packets + 1, in.in.why);
	if (merged > 0)
		warnx("%s: %llu of %zu packets contain several updates, and "
		    "each counts as one; capture the packets before the switch "
		    "merges them", r->path,
		    (unsigned long long)merged, r->s->n);
	updates_close(&in);
}

static inline struct schedule
schedule_read_or_exit(const char *path, uint32_t clusters, uint32_t workers)
{
	struct schedule s = { 0 };
	struct schedule_reader r = { .s = &s, .line = 1, .clusters = clusters,
	    .workers = workers };
	FILE *f;
	int fd;

	r.path = strcmp(path, "-") == 0 ? "standard input" : path;
	fd = file_open_again(path);
	if (fd == -1)
		err(1, "%s", r.path);
	if (schedule_is_capture(fd)) {
		schedule_from_capture(&r, fd);
	} else {
		f = fdopen(fd, "r");
		if (f == NULL)
			err(1, "%s", r.path);
		schedule_parse_all(&r, f);
		fclose(f);
	}
	if (s.n == 0)
		errx(1, "%s: contains no update", r.path);
	schedule_sort(&s);
	return s;
}

#endif
