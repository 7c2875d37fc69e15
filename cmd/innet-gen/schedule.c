/* schedule.c - play a recorded run, and clone its clusters; see sources.h */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/innet-gen/sources.h"
#include "common/base/file-open.h"
#include "common/base/message.h"

/* Order two rows by cluster, worker and time. */
static int
compare_by_worker(const void *a, const void *b)
{
	const struct schedule_row *x = a, *y = b;

	if (x->cluster != y->cluster)
		return x->cluster < y->cluster ? -1 : 1;
	if (x->worker != y->worker)
		return x->worker < y->worker ? -1 : 1;
	return schedule_by_time(a, b);
}

/*
 * Return the index of the first row after row i that belongs to another cluster
 * or, if `worker` is set, to another worker.  The rows are ordered by worker.
 */
static size_t
find_run_end(const struct schedule *s, size_t i, bool worker)
{
	size_t j = i;

	while (j < s->n && s->row[j].cluster == s->row[i].cluster &&
	    (!worker || s->row[j].worker == s->row[i].worker))
		j++;
	return j;
}

/*
 * Return the length of the cycle of rows i to j - 1, which are ordered by
 * worker.  A schedule repeats after one cycle, and the rows of a clone are
 * rotated in the cycle.  The cycle begins with the earliest row, and *from is
 * set to the time of this row.  The cycle ends one mean interval of the busiest
 * worker after the latest row, and *wait is set to this interval.  If the
 * interval is 0, the cycle ends 1 ns after the latest row.
 */
static uint64_t
measure_cycle(const struct schedule *s, size_t i, size_t j, uint64_t *from,
    uint64_t *wait)
{
	uint64_t to = 0;
	size_t most = 0;

	*from = UINT64_MAX;
	*wait = 0;
	for (size_t k = i, end; k < j; k = end) {
		end = find_run_end(s, k, true);
		if (s->row[k].at_ns < *from)
			*from = s->row[k].at_ns;
		if (s->row[end - 1].at_ns > to)
			to = s->row[end - 1].at_ns;
		if (end - k > most) {
			most = end - k;
			*wait = most < 2 ? 0 : (s->row[end - 1].at_ns -
			    s->row[k].at_ns) / (most - 1);
		}
	}
	return to - *from + (*wait == 0 ? 1 : *wait);
}

/*
 * Append copies of rows i to j - 1, which belong to one worker, as rows of
 * `cluster`.  Rotate the times of these rows by `turn` ns in the cycle, which
 * begins at `from` and has the length len.
 */
static void
clone_worker(struct schedule *s, size_t i, size_t j, uint32_t cluster,
    uint64_t from, uint64_t len, uint64_t turn)
{
	size_t n = j - i, wrapped = j;

	while (wrapped > i && s->row[wrapped - 1].at_ns - from + turn >= len)
		wrapped--;
	for (size_t k = 0; k < n; k++) {
		struct schedule_row r = s->row[i + (wrapped - i + k) % n];

		r.at_ns = from + (r.at_ns - from + turn) % len;
		r.reward = s->row[i + k].reward;
		r.cluster = cluster;
		schedule_append(s, &r);
	}
}

/*
 * Clone clusters until there are cf->scale clusters.  The rows are ordered by
 * worker.  If the schedule does not repeat (again_ns is 0), the times of a
 * clone are rotated in the cycle of the original cluster.  Otherwise, they are
 * rotated in the cycle of the whole schedule, from first_ns to first_ns +
 * again_ns, so that a clone continues without a gap when the schedule repeats.
 */
static void
clone_clusters(struct schedule *s, const struct conf *cf, uint64_t first_ns,
    uint64_t again_ns)
{
	struct rng r = rng_seed(cf->seed + 0x7363616c65);
	size_t n = s->n, at = 0, clusters = 0, end;
	uint32_t name;
	uint64_t from, len, turn, wait;

	for (size_t i = 0; i < n; i = find_run_end(s, i, false))
		clusters++;
	name = s->row[n - 1].cluster;
	if (clusters > cf->scale)
		errx(2, "--scale-clusters %" PRIu64 " is less than the %zu "
		    "clusters of %s", cf->scale, clusters, cf->schedule);
	if (name + (cf->scale - clusters) >= FRAME_CLUSTERS_MAX)
		errx(2, "--scale-clusters %" PRIu64 " needs cluster numbers "
		    "above %d, which have no address", cf->scale,
		    FRAME_CLUSTERS_MAX - 1);
	for (; clusters < cf->scale; clusters++) {
		end = at + 1;
		while (end < n && s->row[end].cluster == s->row[at].cluster)
			end++;
		len = measure_cycle(s, at, end, &from, &wait);
		if (again_ns > 0) {
			from = first_ns;
			len = again_ns;
		}
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

struct schedule
source_read(const struct conf *cf, uint64_t *again_ns)
{
	struct schedule s = schedule_read_or_exit(cf->schedule,
	    FRAME_CLUSTERS_MAX, FRAME_WORKERS_MAX);
	uint64_t first, wait;

	qsort(s.row, s.n, sizeof(*s.row), compare_by_worker);
	*again_ns = measure_cycle(&s, 0, s.n, &first, &wait);
	if (cf->duration_ns == UINT64_MAX)
		*again_ns = 0;
	else if (wait == 0)
		errx(1, "%s: the schedule cannot be repeated for --duration, "
		    "because its busiest worker has fewer than two updates and "
		    "therefore no interval", cf->schedule);
	if (cf->scale != 0)
		clone_clusters(&s, cf, first, *again_ns);
	schedule_sort(&s);
	return s;
}

/*
 * Pass all updates of s to the writer.  Add `after` ns to the time of each
 * update.  Return false if --duration is over or the writer refuses an update.
 */
static bool
put_schedule(
    const struct schedule *s, struct writer *w, uint64_t after, uint32_t *put)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct schedule_row *r = &s->row[i];
		struct ready u = { after + r->at_ns, r->cluster, r->worker,
		    ++put[r->cluster * FRAME_WORKERS_MAX + r->worker],
		    r->reward };

		if (u.deadline_ns >= w->cf->duration_ns || !writer_put(w, &u))
			return false;
	}
	return true;
}

void
source_schedule(const struct schedule *s, uint64_t again_ns, struct writer *w)
{
	const size_t workers = (size_t)FRAME_CLUSTERS_MAX * FRAME_WORKERS_MAX;
	uint32_t *put = calloc(workers, sizeof(*put));
	uint64_t after = 0;

	if (put == NULL)
		err(1, "no memory for %zu workers", workers);
	if (again_ns == 0)
		w->total = s->n;
	while (put_schedule(s, w, after, put) && again_ns > 0 &&
	    again_ns < w->cf->duration_ns - after)
		after += again_ns;
	free(put);
}

/* Print the address prefix of a cluster, and its number. */
static void
print_table_row(FILE *f, uint32_t cluster)
{
	uint8_t a[4];

	frame_worker_addr(a, (uint16_t)cluster, 0);
	fprintf(f, "%u.%u.%u.0/24,%u\n", a[0], a[1], a[2], cluster);
}

bool
source_table(const struct conf *cf, const struct schedule *s)
{
	bool *seen = calloc(FRAME_CLUSTERS_MAX, sizeof(*seen));
	FILE *f = file_open_stream(cf->table, true);
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
			print_table_row(f, c);
	}
	whole = fflush(f) == 0;
	whole = fclose(f) == 0 && whole;
	if (!whole)
		warn("%s", cf->table);
	free(seen);
	return whole;
}
