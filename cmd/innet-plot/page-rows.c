/* page-rows.c - the table of figures by arm and cluster, and its bars */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/innet-plot/page-rows.h"
#include "common/base/message.h"
#include "common/base/stats.h"
#include "common/olaf/aom.h"

enum { SUMMARY = 5 };	/* number of bars of an arm with many clusters */

enum page_column
page_column_named(const char *name)
{
	static const char *const names[PAGE_COLUMNS] = { "sent", "received",
	    "merged", "lost", "loss_percent", "mean_age_ns", "p50_age_ns",
	    "p95_age_ns", "p99_age_ns", "max_age_ns", "jain" };
	int k = 0;

	while (k < PAGE_COLUMNS && strcmp(name, names[k]) != 0)
		k++;
	return (enum page_column)k;
}

size_t
page_arm(struct page *p, const char *name)
{
	for (size_t i = 0; i < p->arms; i++)
		if (strcmp(p->arm[i].name, name) == 0)
			return i;
	p->arm = realloc(p->arm, (p->arms + 1) * sizeof(*p->arm));
	if (p->arm == NULL)
		err(1, "no memory for %zu arms", p->arms);
	p->arm[p->arms] = (struct page_arm){ .name = strdup(name) };
	if (p->arm[p->arms].name == NULL)
		err(1, "no memory for %zu arms", p->arms);
	return p->arms++;
}

struct page_row *
page_row(struct page *p, size_t arm, const char *cluster)
{
	struct page_row *r;

	if (p->rows == p->room) {
		p->room = p->room * 2 + 64;
		p->row = realloc(p->row, p->room * sizeof(*p->row));
		if (p->row == NULL)
			err(1, "no memory for %zu rows", p->room);
	}
	r = &p->row[p->rows];
	*r = (struct page_row){ .arm = arm, .cluster = strdup(cluster),
	    .from = p->rows };
	if (r->cluster == NULL)
		err(1, "no memory for %zu rows", p->rows);
	for (int k = 0; k < PAGE_COLUMNS; k++)
		r->value[k] = NAN;
	p->rows++;
	return r;
}

/* Add a row with the ages of n clusters; return the mean age, or NAN. */
static double
age_row(struct page *p, size_t arm, const char *cluster,
    const struct aom *const set[], size_t n)
{
	struct page_row *r = page_row(p, arm, cluster);
	struct aom_figures f;

	if (aom_figures(set, n, &f) == -1)
		err(1, "no memory for percentiles");
	if (!f.known)
		return NAN;
	r->value[PAGE_MEAN] = (double)f.mean_ns;
	r->value[PAGE_P50] = (double)f.p50_ns;
	r->value[PAGE_P95] = (double)f.p95_ns;
	r->value[PAGE_P99] = (double)f.p99_ns;
	r->value[PAGE_MAX] = (double)f.max_ns;
	return (double)f.mean_ns;
}

void
page_ages(struct page *p, const char *name, const struct aom *const set[],
    char *const label[], size_t n)
{
	const size_t arm = page_arm(p, name);
	double *mean = calloc(n + 1, sizeof(*mean));

	if (mean == NULL)
		err(1, "no memory for %zu clusters", n);
	if (p->arm[arm].has_ages)
		errx(2, "two files have ages of '%s'; give one of them another "
		    "name with --group", name);
	p->arm[arm].has_ages = true;
	add_ages(&p->age, name, set, label, n);
	add_ages(&p->cdf, name, set, label, n);
	age_row(p, arm, "all", set, n);
	for (size_t i = 0; i < n; i++)
		mean[i] = age_row(p, arm, label[i], set + i, 1);
	if (n > 0)
		p->row[p->rows - n - 1].value[PAGE_JAIN] = stats_jain(mean,
		    n);
	free(mean);
}

/*
 * Order rows by arm, then by cluster ("all" first, then by number), then in
 * order of reading.
 */
static int
by_place(const void *a, const void *b)
{
	const struct page_row *x = a, *y = b;
	const bool all = strcmp(x->cluster, "all") == 0;
	const unsigned long m = strtoul(x->cluster, NULL, 10),
	    n = strtoul(y->cluster, NULL, 10);
	const int c = strcmp(x->cluster, y->cluster);

	if (x->arm != y->arm)
		return x->arm < y->arm ? -1 : 1;
	if (c != 0 && (all || strcmp(y->cluster, "all") == 0))
		return all ? -1 : 1;
	if (m != n)
		return m < n ? -1 : 1;
	return c != 0 ? c : (x->from > y->from) - (x->from < y->from);
}

void
page_sort(struct page *p)
{
	size_t kept = 0;

	if (p->rows == 0)
		return;
	qsort(p->row, p->rows, sizeof(*p->row), by_place);
	for (size_t i = 1; i < p->rows; i++) {
		struct page_row *to = &p->row[kept], *r = &p->row[i];

		if (to->arm != r->arm || strcmp(to->cluster, r->cluster) !=
		    0) {
			p->row[++kept] = *r;
			continue;
		}
		for (int k = 0; k < PAGE_COLUMNS; k++)
			if (!isnan(r->value[k]))
				to->value[k] = r->value[k];
		free(r->cluster);
	}
	p->rows = kept + 1;
}

/* Set the bar of curve c in group `at` to v.  Bars that are not set are NAN. */
static void
add_bar(struct figure *fig, size_t c, size_t at, double v)
{
	struct curve *of = &fig->curve[c];

	while (of->n <= at) {
		of->band = realloc(of->band, (of->n + 1) * sizeof(*of->band));
		if (of->band == NULL)
			err(1, "no memory for %zu bars", of->n);
		of->band[of->n][0] = of->band[of->n][1] = 0;
		curve_point(of, (double)of->n, NAN);
	}
	of->at[at][1] = v;
}

/* Return the group of bars with this label, or a new group. */
static size_t
find_group(struct figure *fig, const char *label)
{
	size_t i = 0;

	while (i < fig->ticks && strcmp(fig->tick[i], label) != 0)
		i++;
	if (i < fig->ticks)
		return i;
	fig->tick = realloc(fig->tick, (i + 1) * sizeof(*fig->tick));
	if (fig->tick == NULL || (fig->tick[i] = strdup(label)) == NULL)
		err(1, "no memory for %zu bars", i);
	fig->ticks++;
	return i;
}

/*
 * Add five bars that summarize the values of a column in n rows.  Ignore values
 * that are NAN.
 */
static void
add_summary(struct figure *fig, size_t c, const struct page_row *row,
    size_t n, enum page_column column)
{
	static const char *const label[SUMMARY] = { "lowest", "5 %", "half",
	    "95 %", "highest" };
	static const double share[SUMMARY] = { 0, 0.05, 0.5, 0.95, 1 };
	double *v = calloc(n, sizeof(*v));
	size_t known = 0;

	if (v == NULL)
		err(1, "no memory for %zu clusters", n);
	for (size_t i = 0; i < n; i++)
		if (!isnan(row[i].value[column]))
			v[known++] = row[i].value[column];
	for (int i = 0; i < SUMMARY && known > 0; i++)
		add_bar(fig, c, find_group(fig, label[i]),
		    stats_percentile(v, known, share[i]));
	free(v);
}

/*
 * Return the number of consecutive rows, beginning with row i, that belong to
 * the arm of row i.
 */
static size_t
rows_of_arm(const struct page *p, size_t i)
{
	size_t n = 0;

	while (i + n < p->rows && p->row[i + n].arm == p->row[i].arm)
		n++;
	return n;
}

/* Does any arm have too many clusters to show each of them? */
static bool
has_many_clusters(const struct page *p)
{
	for (size_t i = 0, n; i < p->rows; i += n) {
		n = rows_of_arm(p, i);
		if (n > PAGE_CLUSTERS + 1)
			return true;
	}
	return false;
}

void
page_bars(const struct page *p, enum page_column column, struct figure *fig)
{
	const bool many = has_many_clusters(p);

	*fig = (struct figure){ .what = BARS, .cluster = -1,
	    .nanoseconds = column == PAGE_MEAN };
	for (size_t i = 0, n; i < p->rows; i += n) {
		const struct page_row *r = &p->row[i];

		n = rows_of_arm(p, i);
		figure_add(fig, p->arm[r->arm].name);
		if (many && n > 1)	/* an arm without values has no bar */
			add_summary(fig, fig->n - 1, r + 1, n - 1, column);
		for (size_t k = 0; k < n && !many; k++) {
			if (!isnan(r[k].value[column]))
				add_bar(fig, fig->n - 1, find_group(fig,
				    r[k].cluster), r[k].value[column]);
		}
	}
	for (size_t i = 0; i < fig->n; i++)
		if (fig->curve[i].n > 0 && fig->curve[i].n < fig->ticks)
			add_bar(fig, i, fig->ticks - 1, NAN);
	fig->rows = strdup(many ? "clusters, by their place" : "cluster");
	if (fig->rows == NULL)
		err(1, "no memory for labels");
}
