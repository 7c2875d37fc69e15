/* What came out, for people, as JSON or as CSV: output.h. */
#include "config.h"

#include <csv.h>
#include <err.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/innet-sim/output.h"
#include "common/base/stats.h"

static const char *const by_name[] = { "group", "cluster", "switch",
	"traffic", "training" };

/* Is that figure of any of the points? */
static bool
shows(const struct runner *r, int fig)
{
	for (size_t i = 0; i < r->points; i++) {
		if (result_has(&r->point[i].sc, r->by, fig))
			return true;
	}
	return false;
}

/* A figure of a row over all runs: its mean and half its interval. */
struct mean {
	double mean, ci;
};

static struct mean
mean_of(const struct runner *r, const struct point *p, size_t row, int fig)
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

/* A number with the digits that it has: whole ones, or six decimals. */
static void
digits(char *to, size_t bytes, double v)
{
	if (v == floor(v) && fabs(v) < 9e15)
		snprintf(to, bytes, "%.0f", v);
	else
		snprintf(to, bytes, "%.6f", v);
}

/* The same, with a unit that suits it. */
static void
readable(char *to, size_t bytes, double v, enum result_unit unit)
{
	static const struct { double one; const char *name; } times[] = {
		{ 1e9, "s" }, { 1e6, "ms" }, { 1e3, "us" }, { 1, "ns" }
	};
	int i = 0;

	if (isnan(v)) {
		snprintf(to, bytes, "-");
	} else if (unit == RESULT_NS) {
		while (i < 3 && fabs(v) < times[i].one)
			i++;
		snprintf(to, bytes, "%.4g%s", v / times[i].one,
		    times[i].name);
	} else if (unit == RESULT_COUNT) {
		snprintf(to, bytes, v == floor(v) ? "%.0f" : "%.1f", v);
	} else {
		snprintf(to, bytes, unit == RESULT_INDEX ? "%.3f" : "%.2f",
		    v);
	}
}

static void
table_row(FILE *f, const struct runner *r, const struct point *p, size_t row)
{
	const struct result_figure *fig = result_figures(r->by);
	char name[64], mean[32], ci[32], both[64];

	result_name(&p->sc, r->by, row, name, sizeof(name));
	fprintf(f, "%-10s", name);
	for (int i = 0; fig[i].key != NULL; i++) {
		struct mean m;

		if (fig[i].title == NULL)
			continue;
		m = mean_of(r, p, row, i);
		readable(mean, sizeof(mean), m.mean, fig[i].unit);
		readable(ci, sizeof(ci), m.ci, fig[i].unit);
		snprintf(both, sizeof(both), r->runs > 1 && !isnan(m.mean) ?
		    "%s+-%s" : "%s", mean, ci);
		fprintf(f, " %*s", r->runs > 1 ? 17 : 10, both);
	}
	putc('\n', f);
}

void
output_table(FILE *f, const struct runner *r)
{
	const struct result_figure *fig = result_figures(r->by);

	for (size_t k = 0; k < r->points; k++) {
		const struct point *p = &r->point[k];
		char *text = p->values == NULL ? NULL :
		    cJSON_PrintUnformatted(p->values);

		if (text != NULL)
			fprintf(f, "%s%s\n", k == 0 ? "" : "\n", text);
		free(text);
		fprintf(f, "%-10s", by_name[r->by]);
		for (int i = 0; fig[i].key != NULL; i++) {
			if (fig[i].title != NULL)
				fprintf(f, " %*s", r->runs > 1 ? 17 : 10,
				    fig[i].title);
		}
		putc('\n', f);
		for (size_t row = 0; row < p->rows; row++)
			table_row(f, r, p, row);
	}
}

static void
json_row(FILE *f, const struct runner *r, const struct point *p, size_t row)
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
	for (int i = 0; fig[i].key != NULL; i++) {
		struct mean m;

		if (!shows(r, i))
			continue;
		m = mean_of(r, p, row, i);
		digits(v, sizeof(v), m.mean);
		fprintf(f, ",\"%s\":%s", fig[i].key, isnan(m.mean) ? "null" :
		    v);
		if (r->runs < 2 || isnan(m.mean))
			continue;
		digits(v, sizeof(v), m.ci);
		fprintf(f, ",\"%s_ci95\":%s", fig[i].key, v);
	}
	fputs("}\n", f);
}

void
output_json(FILE *f, const struct runner *r)
{
	for (size_t k = 0; k < r->points; k++) {
		for (size_t row = 0; row < r->point[k].rows; row++)
			json_row(f, r, &r->point[k], row);
	}
}

/* A field, quoted where it must be, with a comma before all but the first. */
static void
field(FILE *f, bool first, const char *s)
{
	if (!first)
		putc(',', f);
	if (strpbrk(s, ",\"\r\n") != NULL)
		csv_fwrite(f, s, strlen(s));
	else
		fputs(s, f);
}

static void
csv_heading(FILE *f, const struct runner *r)
{
	const struct result_figure *fig = result_figures(r->by);
	const cJSON *e;
	bool first = true;

	cJSON_ArrayForEach(e, r->point[0].values) {
		field(f, first, e->string);
		first = false;
	}
	field(f, first, by_name[r->by]);
	field(f, false, "runs");
	for (int i = 0; fig[i].key != NULL; i++) {
		if (!shows(r, i))
			continue;
		field(f, false, fig[i].key);
		if (r->runs > 1)
			fprintf(f, ",%s_ci95", fig[i].key);
	}
	putc('\n', f);
}

static void
csv_row(FILE *f, const struct runner *r, const struct point *p, size_t row)
{
	const struct result_figure *fig = result_figures(r->by);
	const cJSON *e;
	bool first = true;
	char v[64];

	cJSON_ArrayForEach(e, p->values) {
		char *text = cJSON_IsString(e) ? NULL :
		    cJSON_PrintUnformatted(e);

		field(f, first, text != NULL ? text : e->valuestring);
		free(text);
		first = false;
	}
	result_name(&p->sc, r->by, row, v, sizeof(v));
	field(f, first, v);
	snprintf(v, sizeof(v), "%zu", r->runs);
	field(f, false, v);
	for (int i = 0; fig[i].key != NULL; i++) {
		struct mean m;

		if (!shows(r, i))
			continue;
		m = mean_of(r, p, row, i);
		digits(v, sizeof(v), m.mean);
		field(f, false, isnan(m.mean) ? "" : v);
		if (r->runs < 2)
			continue;
		digits(v, sizeof(v), m.ci);
		field(f, false, isnan(m.mean) ? "" : v);
	}
	putc('\n', f);
}

void
output_csv(FILE *f, const struct runner *r)
{
	csv_heading(f, r);
	for (size_t k = 0; k < r->points; k++) {
		for (size_t row = 0; row < r->point[k].rows; row++)
			csv_row(f, r, &r->point[k], row);
	}
}
