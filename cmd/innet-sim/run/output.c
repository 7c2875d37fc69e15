/* output.c - print results as a table, as JSON or as CSV; see output.h */
#include "config.h"

#include <csv.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/innet-sim/run/output.h"
#include "common/base/message.h"
#include "common/base/stats.h"

static const char *const by_name[] = { "group", "cluster", "switch",
	"traffic", "training" };

/* Does at least one point have this figure? */
static bool
is_shown(const struct runner *r, int fig)
{
	for (size_t i = 0; i < r->points; i++) {
		if (result_has_figure(&r->point[i].sc, r->by, fig))
			return true;
	}
	return false;
}

/*
 * The mean of a figure over all runs, and half the width of its 95 % confidence
 * interval.
 */
struct mean {
	double mean, ci;
};

static struct mean
find_mean(const struct runner *r, const struct point *p, size_t row, int fig)
{
	double *v = malloc(r->runs * sizeof(*v));
	struct mean m;

	if (v == NULL)
		err(1, "%zu runs", r->runs);
	for (size_t i = 0; i < r->runs; i++)
		v[i] = p->row[i * p->rows + row].v[fig];
	m = (struct mean){ stats_mean(v, r->runs), stats_ci95(v, r->runs) };
	free(v);
	return m;
}

static const char *
get_key(int k, const void *figures)
{
	return ((const struct result_figure *)figures)[k].key;
}

const char *
output_choose(struct output_view *v, const struct runner *r, const char *list)
{
	const struct result_figure *fig = result_figures(r->by);
	int n = 0;

	while (fig[n].key != NULL)
		n++;
	v->chosen = list != NULL;
	if (v->chosen)
		return columns_choose(&v->shows, list, n, get_key, fig);
	v->shows.n = 0;
	for (int i = 0; i < n; i++) {
		if (is_shown(r, i))
			v->shows.column[v->shows.n++] = i;
	}
	return NULL;
}

/* Return the index of the first row of p to print. */
static size_t
get_first_row(const struct point *p, const struct output_view *v)
{
	return v->total ? p->rows - 1 : 0;
}

/* Write a whole number, or a number with six significant digits. */
static void
count_digits(char *to, size_t bytes, double v)
{
	if (v == floor(v) && fabs(v) < 9e15)
		snprintf(to, bytes, "%.0f", v);
	else
		snprintf(to, bytes, fabs(v) < 1e6 ? "%.6g" : "%.0f", v);
}

/* The unit of the times in a column.  It suits the largest time. */
struct scale {
	const char *name;
	double ns;
};

static struct scale
find_scale(const struct runner *r, const struct output_view *view, int fig)
{
	static const struct scale scales[] = { { "s", 1e9 }, { "ms", 1e6 },
		{ "us", 1e3 }, { "ns", 1 } };
	double most = 0;
	int i = 0;

	if (result_figures(r->by)[fig].unit != RESULT_NS)
		return (struct scale){ "", 1 };
	for (size_t k = 0; k < r->points; k++) {
		const struct point *p = &r->point[k];

		for (size_t row = get_first_row(p, view); row < p->rows; row++)
			most = fmax(most, find_mean(r, p, row, fig).mean);
	}
	while (i < 3 && most < scales[i].ns)
		i++;
	return scales[i];
}

/*
 * Is figure `fig` in the table?  It is in the table if columns were chosen, or
 * if the figure has a title.
 */
static bool
is_in_table(const struct runner *r, const struct output_view *view, int fig)
{
	return view->chosen || result_figures(r->by)[fig].title != NULL;
}

static void
add_figure(struct columns *t, struct mean m, struct scale scale, bool several)
{
	char mean[32], ci[32];

	count_digits(mean, sizeof(mean), m.mean / scale.ns);
	snprintf(ci, sizeof(ci), m.ci / scale.ns < 1000 ? "%.3g" : "%.0f",
	    m.ci / scale.ns);
	if (isnan(m.mean))
		columns_add(t, "-");
	else
		columns_add(t, several ? "%s+-%s" : "%s", mean, ci);
}

/*
 * Return the last key of a path, or the whole path if another path ends with
 * the same key.
 */
static const char *
short_path(const cJSON *values, const char *path)
{
	const char *dot = strrchr(path, '.'), *key = dot == NULL ? path :
	    dot + 1;
	const cJSON *e;

	cJSON_ArrayForEach(e, values) {
		const char *other = strrchr(e->string, '.');

		other = other == NULL ? e->string : other + 1;
		if (e->string != path && strcmp(other, key) == 0 &&
		    strcmp(e->string, path) != 0)
			return path;
	}
	return key;
}

/* Does the sweep set this path to more than one value? */
static bool
has_several_values(const struct runner *r, const char *path)
{
	const cJSON *first = cJSON_GetObjectItemCaseSensitive(
	    r->point[0].values, path);

	for (size_t k = 1; k < r->points; k++) {
		if (!cJSON_Compare(first,
		    cJSON_GetObjectItemCaseSensitive(r->point[k].values, path),
		    true))
			return true;
	}
	return false;
}

static void
add_heads(struct columns *t, const struct runner *r,
    const struct output_view *view, struct scale *scale)
{
	const struct result_figure *fig = result_figures(r->by);
	const cJSON *e;

	cJSON_ArrayForEach(e, r->point[0].values) {
		if (has_several_values(r, e->string) &&
		    t->words < COLUMNS_MAX / 4)
			columns_add(t, "%s", short_path(r->point[0].values,
			    e->string));
	}
	columns_add(t, "%s", by_name[r->by]);
	t->left = (UINT64_C(1) << t->words) - 1;
	for (int c = 0; c < view->shows.n; c++) {
		const int i = view->shows.column[c];

		if (!is_in_table(r, view, i))
			continue;
		scale[i] = find_scale(r, view, i);
		columns_add(t, "%s%s%s", fig[i].title != NULL ? fig[i].title :
		    fig[i].key, scale[i].name[0] == '\0' ? "" : " ",
		    scale[i].name);
	}
	t->n = t->words;
}

/* Add those swept values of point p that differ between points. */
static void
add_values(struct columns *t, const struct runner *r, const struct point *p)
{
	const size_t from = t->words;
	const cJSON *e;

	cJSON_ArrayForEach(e, p->values) {
		char *text;

		if (!has_several_values(r, e->string) || t->words - from >=
		    COLUMNS_MAX / 4)
			continue;
		text = cJSON_IsString(e) ? NULL : cJSON_PrintUnformatted(e);
		columns_add(t, "%s", text != NULL ? text : e->valuestring);
		free(text);
	}
}

void
output_table(FILE *f, const struct runner *r, const struct output_view *view)
{
	struct scale scale[RESULT_FIGURES];
	struct columns t = { 0 };
	char name[64];

	add_heads(&t, r, view, scale);
	for (size_t k = 0; k < r->points; k++) {
		const struct point *p = &r->point[k];

		for (size_t row = get_first_row(p, view); row < p->rows;
		     row++) {
			add_values(&t, r, p);
			result_name(&p->sc, r->by, row, name, sizeof(name));
			columns_add(&t, "%s", name);
			for (int c = 0; c < view->shows.n; c++) {
				const int i = view->shows.column[c];

				if (is_in_table(r, view, i))
					add_figure(&t, find_mean(r, p, row, i),
					    scale[i], r->runs > 1);
			}
		}
	}
	columns_print(&t, f);
	columns_free(&t);
}

static void
put_json_row(FILE *f, const struct runner *r, const struct output_view *view,
    const struct point *p, size_t row)
{
	const struct result_figure *fig = result_figures(r->by);
	char name[64], v[40], *text;

	result_name(&p->sc, r->by, row, name, sizeof(name));
	putc('{', f);
	if (p->values != NULL) {
		text = cJSON_PrintUnformatted(p->values);
		fprintf(f, "\"point\":%s,", text == NULL ? "{}" : text);
		free(text);
	}
	fprintf(f, "\"%s\":\"%s\",\"runs\":%zu", by_name[r->by], name,
	    r->runs);
	for (int k = 0; k < view->shows.n; k++) {
		const int i = view->shows.column[k];
		struct mean m;

		m = find_mean(r, p, row, i);
		count_digits(v, sizeof(v), m.mean);
		fprintf(f, ",\"%s\":%s", fig[i].key, isnan(m.mean) ? "null" :
		    v);
		if (r->runs < 2 || isnan(m.mean))
			continue;
		count_digits(v, sizeof(v), m.ci);
		fprintf(f, ",\"%s_ci95\":%s", fig[i].key, v);
	}
	fputs("}\n", f);
}

void
output_json(FILE *f, const struct runner *r, const struct output_view *view)
{
	for (size_t k = 0; k < r->points; k++) {
		for (size_t row = get_first_row(&r->point[k], view);
		    row < r->point[k].rows; row++)
			put_json_row(f, r, view, &r->point[k], row);
	}
}

/*
 * Write a field, in quotes if necessary.  Write a comma in front of every field
 * except the first.
 */
static void
put_csv_field(FILE *f, bool first, const char *s)
{
	if (!first)
		putc(',', f);
	if (strpbrk(s, ",\"\r\n") != NULL)
		csv_fwrite(f, s, strlen(s));
	else
		fputs(s, f);
}

static void
put_csv_heading(FILE *f, const struct runner *r, const struct output_view *view)
{
	const struct result_figure *fig = result_figures(r->by);
	const cJSON *e;
	bool first = true;

	cJSON_ArrayForEach(e, r->point[0].values) {
		put_csv_field(f, first, e->string);
		first = false;
	}
	put_csv_field(f, first, by_name[r->by]);
	put_csv_field(f, false, "runs");
	for (int k = 0; k < view->shows.n; k++) {
		const int i = view->shows.column[k];

		put_csv_field(f, false, fig[i].key);
		if (r->runs > 1)
			fprintf(f, ",%s_ci95", fig[i].key);
	}
	putc('\n', f);
}

static void
put_csv_row(FILE *f, const struct runner *r, const struct output_view *view,
    const struct point *p, size_t row)
{
	const cJSON *e;
	bool first = true;
	char v[64];

	cJSON_ArrayForEach(e, p->values) {
		char *text = cJSON_IsString(e) ? NULL :
		    cJSON_PrintUnformatted(e);

		put_csv_field(f, first, text != NULL ? text : e->valuestring);
		free(text);
		first = false;
	}
	result_name(&p->sc, r->by, row, v, sizeof(v));
	put_csv_field(f, first, v);
	snprintf(v, sizeof(v), "%zu", r->runs);
	put_csv_field(f, false, v);
	for (int k = 0; k < view->shows.n; k++) {
		const int i = view->shows.column[k];
		struct mean m;

		m = find_mean(r, p, row, i);
		count_digits(v, sizeof(v), m.mean);
		put_csv_field(f, false, isnan(m.mean) ? "" : v);
		if (r->runs < 2)
			continue;
		count_digits(v, sizeof(v), m.ci);
		put_csv_field(f, false, isnan(m.mean) ? "" : v);
	}
	putc('\n', f);
}

void
output_csv(FILE *f, const struct runner *r, const struct output_view *view)
{
	put_csv_heading(f, r, view);
	for (size_t k = 0; k < r->points; k++) {
		for (size_t row = get_first_row(&r->point[k], view);
		    row < r->point[k].rows; row++)
			put_csv_row(f, r, view, &r->point[k], row);
	}
}
