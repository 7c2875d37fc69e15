/* rows-print.c - print rows as a table, JSON or CSV */
#include "cmd/innet-aom/ages/rows-print.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CELL_BYTES = 32, NAME_BYTES = 2 * FORMAT_TEXT_BYTES };

/* The unit of all ages in a table, so that columns can be compared. */
struct scale {
	const char *name;
	double ns;
};

static struct scale
find_scale(const struct rows *rows)
{
	const struct value *max = &rows->row[rows->n - 1].v[MAX];
	const double ns = max->known ? (double)max->whole : 0;

	return ns < 1e5 ? (struct scale){ "ns", 1 } :
	    ns < 1e8 ? (struct scale){ "us", 1e3 } :
	    ns < 1e11 ? (struct scale){ "ms", 1e6 } :
	    (struct scale){ "s", 1e9 };
}

/*
 * Write a value to s in a form that is easy to read, in at most CELL_BYTES
 * bytes.
 */
static void
put_cell(char *s, const struct value *v, enum unit unit, struct scale scale)
{
	if (!v->known)
		snprintf(s, CELL_BYTES, "-");
	else if (unit == COUNT || (unit == NS && scale.ns == 1))
		snprintf(s, CELL_BYTES, "%" PRId64, v->whole);
	else if (unit == NS)
		snprintf(s, CELL_BYTES, "%.6g", (double)v->whole / scale.ns);
	else
		snprintf(s, CELL_BYTES, "%.6g", v->real);
}

/*
 * Print a value in a form that programs can read, with all digits of whole
 * numbers.
 */
static void
put_value(FILE *f, const struct value *v, enum unit unit, const char *unknown)
{
	if (!v->known)
		fputs(unknown, f);
	else if (unit == COUNT || unit == NS)
		fprintf(f, "%" PRId64, v->whole);
	else
		fprintf(f, "%.6g", v->real);
}

/*
 * Return the name of a cluster or worker as text.  In innet's own packets, the
 * name is a number.
 */
static const char *
name_text(const struct names *names, uint32_t n, char s[FORMAT_TEXT_BYTES])
{
	if (names != NULL)
		return format_text(names_at(names, n), s);
	snprintf(s, FORMAT_TEXT_BYTES, "%" PRIu32, n);
	return s;
}

static void
put_name(char *s, const struct rows *rows, size_t i)
{
	const struct row *row = &rows->row[i];
	char c[FORMAT_TEXT_BYTES], w[FORMAT_TEXT_BYTES];

	if (i == rows->n - 1) {
		snprintf(s, NAME_BYTES, "all");
		return;
	}
	name_text(rows->clusters, row->cluster, c);
	if (rows->grouping == BY_WORKER)
		snprintf(s, NAME_BYTES, "%s.%s", c, name_text(rows->workers,
		    row->worker, w));
	else
		snprintf(s, NAME_BYTES, "%s", c);
}

/* Return the index of the first row that is shown. */
static size_t
first_row(const struct rows *rows)
{
	return rows->view->total ? rows->n - 1 : 0;
}

/*
 * Return whether figure k is a column of the table.  Jain's index is printed
 * below the table.
 */
static bool
is_in_table(const struct rows *rows, int k)
{
	return rows->view->chosen || (k != JAIN && (rows->row[rows->n -
	    1].v[k].known || figure_name[k].unit == NS));
}

/* Add the column headings; headings of ages include the unit. */
static void
add_heads(struct columns *t, const struct rows *rows, struct scale scale)
{
	columns_add(t, rows->grouping == BY_WORKER ? "worker" : "cluster");
	for (int c = 0; c < rows->view->shows.n; c++) {
		const int k = rows->view->shows.column[c];

		if (!is_in_table(rows, k))
			continue;
		columns_add(t, figure_name[k].unit == NS ? "%s %s" : "%s",
		    figure_name[k].title, scale.name);
	}
	t->n = t->words;
}

void
rows_print_table(FILE *f, const struct rows *rows)
{
	const struct row *all = &rows->row[rows->n - 1];
	const struct scale scale = find_scale(rows);
	struct columns t = { .left = 1 };
	char s[CELL_BYTES], name[NAME_BYTES];

	add_heads(&t, rows, scale);
	for (size_t i = first_row(rows); i < rows->n; i++) {
		put_name(name, rows, i);
		columns_add(&t, "%s", name);
		for (int c = 0; c < rows->view->shows.n; c++) {
			const int k = rows->view->shows.column[c];

			if (!is_in_table(rows, k))
				continue;
			put_cell(s, &rows->row[i].v[k], figure_name[k].unit,
			    scale);
			columns_add(&t, "%s", s);
		}
	}
	columns_print(&t, f);
	columns_free(&t);
	put_cell(s, &all->v[JAIN], INDEX, scale);
	fprintf(f, "Jain's index of the mean ages: %s\n", s);
}

/*
 * Print a text without quotes if it is a number, and in quotes otherwise.  No
 * text contains characters that need escapes.
 */
static void
put_json_text(FILE *f, const struct names *names, uint32_t n)
{
	const bool word = names != NULL && names_at(names, n)->kind != 0;
	char s[FORMAT_TEXT_BYTES];

	fprintf(f, word ? "\"%s\"" : "%s", name_text(names, n, s));
}

/* Print "cluster":1, "cluster":1,"worker":7 or "cluster":"all". */
static void
put_json_name(FILE *f, const struct rows *rows, size_t i)
{
	fputs("\"cluster\":", f);
	if (i == rows->n - 1) {
		fputs("\"all\"", f);
		return;
	}
	put_json_text(f, rows->clusters, rows->row[i].cluster);
	if (rows->grouping == BY_WORKER) {
		fputs(",\"worker\":", f);
		put_json_text(f, rows->workers, rows->row[i].worker);
	}
}

void
rows_print_json(FILE *f, const struct rows *rows)
{
	for (size_t i = first_row(rows); i < rows->n; i++) {
		fputc('{', f);
		put_json_name(f, rows, i);
		for (int c = 0; c < rows->view->shows.n; c++) {
			const int k = rows->view->shows.column[c];

			if (k == JAIN && i < rows->n - 1)
				continue;
			fprintf(f, ",\"%s\":", figure_name[k].key);
			put_value(f, &rows->row[i].v[k], figure_name[k].unit,
			    "null");
		}
		fputs("}\n", f);
	}
}

/*
 * Print the columns that name a row: cluster, and worker if there are workers.
 */
static void
put_csv_name(FILE *f, const struct rows *rows, size_t i)
{
	char s[FORMAT_TEXT_BYTES];

	if (i == rows->n - 1)
		fputs("all", f);
	else
		fputs(name_text(rows->clusters, rows->row[i].cluster, s), f);
	if (rows->grouping == BY_WORKER && i < rows->n - 1)
		fprintf(f, ",%s", name_text(rows->workers, rows->row[i].worker,
		    s));
	else if (rows->grouping == BY_WORKER)
		fputc(',', f);
}

void
rows_print_csv(FILE *f, const struct rows *rows)
{
	fputs(rows->grouping == BY_WORKER ? "cluster,worker" : "cluster", f);
	for (int c = 0; c < rows->view->shows.n; c++)
		fprintf(f, ",%s", figure_name[rows->view->shows.column[c]].key);
	fputc('\n', f);
	for (size_t i = first_row(rows); i < rows->n; i++) {
		put_csv_name(f, rows, i);
		for (int c = 0; c < rows->view->shows.n; c++) {
			const int k = rows->view->shows.column[c];

			fputc(',', f);
			put_value(f, &rows->row[i].v[k], figure_name[k].unit,
			    "");
		}
		fputc('\n', f);
	}
}

/*
 * The indices of the rows with the same name in two runs; -1 if a run has no
 * such row.
 */
struct pair {
	ptrdiff_t a, b;
};

/*
 * Find the next pair of rows with the same name.  Return false after the last
 * pair, which has the totals of both runs.
 */
static bool
step_pair(const struct rows *a, const struct rows *b, size_t *i, size_t *k,
    struct pair *p)
{
	const bool last_a = *i + 1 >= a->n, last_b = *k + 1 >= b->n;
	const struct row *x = &a->row[last_a ? 0 : *i];
	const struct row *y = &b->row[last_b ? 0 : *k];
	uint64_t kx = (uint64_t)x->cluster << 32 | x->worker;
	uint64_t ky = (uint64_t)y->cluster << 32 | y->worker;

	if (*i >= a->n)
		return false;
	kx = last_a ? UINT64_MAX : kx;
	ky = last_b ? UINT64_MAX : ky;
	p->a = kx <= ky ? (ptrdiff_t)(*i)++ : -1;
	p->b = ky <= kx ? (ptrdiff_t)(*k)++ : -1;
	return true;
}

/* Find the next pair of rows that is shown. */
static bool
next_pair(const struct rows *a, const struct rows *b, size_t *i, size_t *k,
    struct pair *p)
{
	while (step_pair(a, b, i, k, p)) {
		if (!a->view->total || *i == a->n)
			return true;
	}
	return false;
}

static const struct value *
get_value(const struct rows *rows, ptrdiff_t i, int k)
{
	static const struct value unknown;

	return i == -1 ? &unknown : &rows->row[i].v[k];
}

static struct value
find_ratio(const struct value *a, const struct value *b, enum unit unit)
{
	const bool whole = unit == COUNT || unit == NS;
	const double x = whole ? (double)a->whole : a->real;
	const double y = whole ? (double)b->whole : b->real;

	return (struct value){ .known = a->known && b->known && y != 0,
	    .real = x / (y == 0 ? 1 : y) };
}

void
rows_compare_table(FILE *f, const struct rows *a, const struct rows *b)
{
	const struct scale sa = find_scale(a), sb = find_scale(b);
	const struct scale scale = sa.ns > sb.ns ? sa : sb;
	char s[3][CELL_BYTES], name[NAME_BYTES];
	struct pair p;
	struct value q;
	struct columns t = { .n = 5, .left = 3 };
	size_t i = 0, j = 0;

	columns_add(&t, a->grouping == BY_WORKER ? "worker" : "cluster");
	columns_add(&t, "figure");
	columns_add(&t, "run");
	columns_add(&t, "other");
	columns_add(&t, "run/other");
	while (next_pair(a, b, &i, &j, &p)) {
		put_name(name, p.a != -1 ? a : b,
		    (size_t)(p.a != -1 ? p.a : p.b));
		for (int c = 0; c < a->view->shows.n; c++) {
			const int k = a->view->shows.column[c];
			const struct value *x = get_value(a, p.a, k);
			const struct value *y = get_value(b, p.b, k);
			const enum unit unit = figure_name[k].unit;

			if (!x->known && !y->known)
				continue;
			q = find_ratio(x, y, unit);
			put_cell(s[0], x, unit, scale);
			put_cell(s[1], y, unit, scale);
			put_cell(s[2], &q, INDEX, scale);
			columns_add(&t, "%s", name);
			columns_add(&t, unit == NS ? "%s %s" : "%s",
			    figure_name[k].title, scale.name);
			for (int w = 0; w < 3; w++)
				columns_add(&t, "%s", s[w]);
		}
	}
	columns_print(&t, f);
	columns_free(&t);
}

void
rows_compare_json(FILE *f, const struct rows *a, const struct rows *b)
{
	static const char *const part[] = { "run", "other", "ratio" };
	struct pair p;
	size_t i = 0, j = 0;

	while (next_pair(a, b, &i, &j, &p)) {
		fputc('{', f);
		put_json_name(f, p.a != -1 ? a : b,
		    (size_t)(p.a != -1 ? p.a : p.b));
		for (int w = 0; w < 3; w++) {
			const char *comma = "";

			fprintf(f, ",\"%s\":{", part[w]);
			for (int c = 0; c < a->view->shows.n; c++) {
				const int k = a->view->shows.column[c];
				const enum unit unit = figure_name[k].unit;
				const struct value *x = get_value(a, p.a, k);
				const struct value *y = get_value(b, p.b, k);
				const struct value q = find_ratio(x, y, unit);

				if (k == JAIN && i < a->n)
					continue;
				fprintf(f, "%s\"%s\":", comma,
				    figure_name[k].key);
				comma = ",";
				put_value(f, w == 0 ? x : w == 1 ? y : &q,
				    w == 2 ? INDEX : unit, "null");
			}
			fputc('}', f);
		}
		fputs("}\n", f);
	}
}

void
rows_compare_csv(FILE *f, const struct rows *a, const struct rows *b)
{
	struct pair p;
	size_t i = 0, j = 0;

	fprintf(f, "cluster,%sfigure,run,other,ratio\n",
	    a->grouping == BY_WORKER ? "worker," : "");
	while (next_pair(a, b, &i, &j, &p)) {
		for (int c = 0; c < a->view->shows.n; c++) {
			const int k = a->view->shows.column[c];
			const enum unit unit = figure_name[k].unit;
			const struct value *x = get_value(a, p.a, k);
			const struct value *y = get_value(b, p.b, k);
			const struct value q = find_ratio(x, y, unit);

			if (k == JAIN && i < a->n)
				continue;
			put_csv_name(f, p.a != -1 ? a : b,
			    (size_t)(p.a != -1 ? p.a : p.b));
			fprintf(f, ",%s,", figure_name[k].key);
			put_value(f, x, unit, "");
			fputc(',', f);
			put_value(f, y, unit, "");
			fputc(',', f);
			put_value(f, &q, INDEX, "");
			fputc('\n', f);
		}
	}
}

/*
 * Write the name of a series: the cluster or "cluster.worker".  If packets of
 * the same vector follow this packet, add "/" and their number.
 */
static void
put_series_name(char *s, const struct run *r, const struct flow *f)
{
	const struct source_options *options = &r->rules->source;
	const unsigned following = f->key & 0xffff;
	char c[FORMAT_TEXT_BYTES];
	int n = snprintf(s, NAME_BYTES, "%s", name_text(options->clusters,
	    flow_cluster(f), c));

	if (r->rules->grouping == BY_WORKER)
		n += snprintf(s + n, (size_t)(NAME_BYTES - n), ".%s",
		    name_text(options->workers, flow_worker(f), c));
	if (following != 0)
		snprintf(s + n, (size_t)(NAME_BYTES - n), "/%u", following);
}

void
rows_print_series(FILE *f, const struct run *r)
{
	char s[NAME_BYTES];

	fputs("cluster,time_ns,age_ns\n", f);
	for (size_t i = 0; i < r->flows; i++) {
		const struct aom *a = &r->flow[i].age;
		uint64_t t = a->from_ns;

		put_series_name(s, r, &r->flow[i]);
		for (size_t k = 0; k < a->teeth; k++) {
			const struct aom_tooth *x = &a->tooth[k];

			fprintf(f, "%s,%" PRIu64 ",%" PRIu64 "\n", s, t,
			    x->lo_ns);
			t += x->hi_ns - x->lo_ns;
			fprintf(f, "%s,%" PRIu64 ",%" PRIu64 "\n", s, t,
			    x->hi_ns);
		}
	}
}
