/*
 * page.c - write the page as one HTML file that is also valid XML
 *
 * The page loads no other files and runs no scripts.  Only put_text() writes
 * text that comes from input files.  gnuplot draws the pictures, and the style
 * sheet changes their colours if the reader prefers dark pages.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/innet-plot/page.h"
#include "common/base/atomic-file.h"
#include "common/base/message.h"

enum { ARMS_NAMED = 3 }; /* maximum number of arms in a title; for more arms,
			  * the title gives a range */

static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
    "<meta charset=\"utf-8\"/>\n"
    "<meta http-equiv=\"Content-Security-Policy\" "
    "content=\"default-src 'none'; style-src 'unsafe-inline'\"/>\n"
    "<meta name=\"viewport\" content=\"width=device-width\"/>\n";

static const char style[] =
    "<style>\n"
    ":root { color-scheme: light dark; --text: #1a1a1a; --back: #fff;\n"
    "  --faint: #555; --line: #ddd }\n"
    "@media (prefers-color-scheme: dark) {\n"
    "  :root { --text: #e8e8e8; --back: #16181c; --faint: #aaa;\n"
    "    --line: #3a3d44 }\n"
    "  svg { filter: brightness(1.25) } }\n"
    "body { font: 16px/1.5 sans-serif; color: var(--text);\n"
    "  background: var(--back); max-width: 75rem; margin: 2rem auto;\n"
    "  padding: 0 1rem }\n"
    "h1 { font-size: 1.5rem; line-height: 1.25 }\n"
    "h2 { font-size: 1.1rem; margin: 2.5rem 0 0.5rem }\n"
    ".faint, caption { color: var(--faint) }\n"
    ".pictures { display: grid; gap: 2rem;\n"
    "  grid-template-columns: repeat(auto-fit, minmax(min(100%, 34rem), "
    "1fr)) }\n"
    "figure { margin: 0 }\nsvg { width: 100%; height: auto }\n"
    "svg [fill=\"black\"] { fill: var(--text) }\n"
    "svg [stroke=\"black\"] { stroke: var(--text) }\n"
    "svg [fill=\"rgb(85,85,85)\"] { fill: var(--faint) }\n"
    "svg [stroke=\"rgb( 85,  85,  85)\"] { stroke: var(--faint) }\n"
    "svg [stroke=\"rgb(221, 221, 221)\"] { stroke: var(--line) }\n"
    ".scroll { overflow-x: auto }\n"
    "table { border-collapse: collapse; font-size: 0.875rem;\n"
    "  font-variant-numeric: tabular-nums }\n"
    "caption { text-align: left; padding-bottom: 0.5rem }\n"
    "th, td { padding: 0.2rem 0.6rem; text-align: right;\n"
    "  border-bottom: 1px solid var(--line); white-space: nowrap }\n"
    "th[scope=row] { font-weight: normal }\n"
    "th:first-child { text-align: left }\n"
    "tr.all > * { font-weight: bold }\n"
    "</style>\n";

/* Write s as text; escape all characters that have a meaning in HTML. */
static void
put_text(FILE *f, const char *s)
{
	while (*s != '\0') {
		const size_t n = text_character(s);

		if (n == 0)
			fputc('?', f);
		else if (*s == '<')
			fputs("&lt;", f);
		else if (*s == '>')
			fputs("&gt;", f);
		else if (*s == '&')
			fputs("&amp;", f);
		else if (*s == '"')
			fputs("&quot;", f);
		else
			fwrite(s, 1, n, f);
		s += n == 0 ? 1 : n;
	}
}

/*
 * Write the picture that gnuplot drew, without its titles and with ids that no
 * other picture has.
 */
static void
put_svg(FILE *f, const char *s, int number)
{
	const char *link = "xlink:href='#", *id = "id='", *quoted = "id=\"";

	while (*s != '\0') {
		if (strncmp(s, "<title>", 7) == 0) {
			const char *end = strstr(s, "</title>");

			s = end != NULL ? end + 8 : s + strlen(s);
		} else if (strncmp(s, link, strlen(link)) == 0) {
			fprintf(f, "href='#p%d", number);
			s += strlen(link);
		} else if (strncmp(s, id, strlen(id)) == 0 ||
		    strncmp(s, quoted, strlen(quoted)) == 0) {
			fprintf(f, "%.4sp%d", s, number);
			s += strlen(id);
		} else {
			fputc(*s++, f);
		}
	}
}

/* The file being written. */
struct writer {
	FILE *f;
	const struct page *p;
	int pictures, rc;
	bool missing;		/* gnuplot is not installed */
};

/* Write the names of the curves, for readers who cannot see the picture. */
static void
put_names(FILE *f, const struct figure *fig)
{
	for (size_t i = 0; i < fig->n; i++) {
		fputs(i == 0 ? ": " : ", ", f);
		put_text(f, fig->curve[i].label);
	}
}

/* Write a picture below its heading.  This also scales the values of fig. */
static void
put_picture(struct writer *w, struct figure *fig, const char *heading,
    struct axes axes)
{
	size_t points = 0;
	char *svg;

	for (size_t i = 0; i < fig->n; i++)
		points += fig->curve[i].n;
	if (points == 0 || w->missing)
		return;
	fprintf(w->f, "<figure><h2>%s</h2>\n", heading);
	if (fig->n > PAGE_ARMS) {
		fprintf(w->f, "<p>%zu curves are too many for a picture; the "
		    "table has them.</p></figure>\n", fig->n);
		return;
	}
	figure_colours(fig);
	if (fig->title == NULL)
		figure_title(fig);
	figure_scale(fig);
	fig->axes = axes;
	svg = w->rc == 0 ? figure_svg(fig, &w->missing) : NULL;
	if (svg == NULL) {
		w->rc |= !w->missing;
		fprintf(w->f, "<p>%s</p></figure>\n", w->missing ?
		    "No pictures: gnuplot is missing; on Debian: apt-get "
		    "install gnuplot-nox." : "No picture: gnuplot failed.");
		return;
	}
	w->pictures++;
	fprintf(w->f, "<svg viewBox=\"0 0 720 420\" role=\"img\" "
	    "aria-labelledby=\"t%d d%d\">\n<title id=\"t%d\">", w->pictures,
	    w->pictures, w->pictures);
	put_text(w->f, fig->title != NULL ? fig->title : heading);
	fprintf(w->f, "</title>\n<desc id=\"d%d\">", w->pictures);
	put_text(w->f, axes.y);
	fputs(" over ", w->f);
	put_text(w->f, axes.x);
	put_names(w->f, fig);
	fputs("</desc>\n", w->f);
	put_svg(w->f, svg, w->pictures);
	fputs("</figure>\n", w->f);
	free(svg);
}

/* Count the rows "all" with a value in the column, and find their range. */
static size_t
find_range(const struct page *p, enum page_column column, double *lo,
    double *hi)
{
	size_t n = 0;

	for (size_t i = 0; i < p->rows; i++) {
		const double x = p->row[i].value[column];

		if (strcmp(p->row[i].cluster, "all") != 0 || isnan(x))
			continue;
		*lo = n == 0 ? x : fmin(*lo, x);
		*hi = n++ == 0 ? x : fmax(*hi, x);
	}
	return n;
}

/*
 * Return a title such as "Updates lost: olaf 0 %, fifo 74.9 %".  If there are
 * many arms, the title gives their range.
 */
static char *
describe_column(const struct page *p, const char *what, enum page_column column,
    const char *unit)
{
	char *s = NULL, v[48], w[48];
	double lo = 0, hi = 0;
	size_t bytes, n = find_range(p, column, &lo, &hi), at = 0;
	FILE *f = open_memstream(&s, &bytes);

	if (f == NULL)
		err(1, "no memory for a title");
	fputs(what, f);
	put_number(v, sizeof(v), lo);
	put_number(w, sizeof(w), hi);
	if (n > ARMS_NAMED)
		fprintf(f, ": %s%s to %s%s", v, unit, w, unit);
	for (size_t i = 0; i < p->rows && n <= ARMS_NAMED; i++) {
		const double x = p->row[i].value[column];

		if (strcmp(p->row[i].cluster, "all") != 0 || isnan(x))
			continue;
		put_number(v, sizeof(v), x);
		fprintf(f, "%s %s %s%s", at++ == 0 ? ":" : ",",
		    p->arm[p->row[i].arm].name, v, unit);
	}
	if (fclose(f) != 0)
		err(1, "no memory for a title");
	return s;
}

static void
put_column_bars(struct writer *w, enum page_column column, const char *heading,
    const char *what, enum page_column of, const char *unit, const char *y)
{
	struct figure fig;

	page_bars(w->p, column, &fig);
	fig.title = describe_column(w->p, what, of, unit);
	put_picture(w, &fig, heading, (struct axes){ fig.rows, y != NULL ? y :
	    fig.age_unit, false });
	free(fig.rows);
	figure_free(&fig);
}

static void
put_pictures(struct writer *w, struct page *p)
{
	static const char *const over[] = { "step", "episode",
	    "time in seconds" };

	fputs("<div class=\"pictures\">\n", w->f);
	put_picture(w, &p->age, "Age over time", (struct axes){
	    p->age.time_unit, p->age.age_unit, false });
	put_picture(w, &p->cdf, "Distribution of ages", (struct axes){
	    p->cdf.age_unit, "share of time", false });
	put_column_bars(w, PAGE_MEAN, "Fairness",
	    "Jain's index of the clusters' "
	    "mean ages",
	    PAGE_JAIN, "", NULL);
	put_column_bars(w, PAGE_LOSS, "Loss", "Updates lost", PAGE_LOSS, " %",
	    "updates lost, %");
	put_picture(w, &p->merged, "Aggregations", (struct axes){
	    "aggregations in a packet", "share of packets", true });
	put_picture(w, &p->rewards, "Rewards", (struct axes){
	    over[p->rewards.axis], "mean reward", false });
	fputs("</div>\n", w->f);
}

static void
put_value(FILE *f, enum page_column column, double v)
{
	char text[48];

	if (isnan(v)) {
		fputs("<td></td>", f);
		return;
	}
	if (column >= PAGE_MEAN && column <= PAGE_MAX)
		put_time(text, sizeof(text), v);
	else if (column == PAGE_LOSS || column == PAGE_JAIN)
		put_number(text, sizeof(text), v);
	else
		snprintf(text, sizeof(text), "%.15g", v);
	fprintf(f, "<td><data value=\"%.15g\">%s%s</data></td>", v, text,
	    column == PAGE_LOSS ? " %" : "");
}

/* Find the columns that have a value in any row. */
static void
find_columns(const struct page *p, bool has[PAGE_COLUMNS])
{
	for (size_t i = 0; i < p->rows; i++)
		for (int k = 0; k < PAGE_COLUMNS; k++)
			has[k] |= !isnan(p->row[i].value[k]);
}

/*
 * Does row i describe a cluster that exceeds the limit for its arm?  *of_arm
 * counts the rows of the arm before row i.
 */
static bool
is_left_out(const struct page *p, size_t i, size_t *of_arm)
{
	*of_arm = i > 0 && p->row[i - 1].arm == p->row[i].arm ? *of_arm + 1 :
	    0;
	return *of_arm > PAGE_CLUSTERS;
}

static void
put_figures_head(FILE *f, const bool has[PAGE_COLUMNS])
{
	static const char *const heading[PAGE_COLUMNS] = { "sent", "received",
	    "updates in them", "lost", "lost, %", "mean age", "median age",
	    "95th percentile", "99th percentile", "greatest age",
	    "Jain's index" };

	fputs("<h2>Figures</h2>\n<div class=\"scroll\"><table id=\"figures\">"
	    "\n<caption>Counts are of packets and updates; each age has its "
	    "unit, and its nanoseconds as its value.</caption>\n"
	    "<thead><tr><th scope=\"col\">arm</th><th scope=\"col\">cluster"
	    "</th>", f);
	for (int k = 0; k < PAGE_COLUMNS; k++)
		if (has[k])
			fprintf(f, "<th scope=\"col\">%s</th>", heading[k]);
	fputs("</tr></thead>\n<tbody>\n", f);
}

static void
put_row(FILE *f, const struct page *p, const struct page_row *r,
    const bool has[PAGE_COLUMNS])
{
	fprintf(f, "<tr%s><th scope=\"row\">", strcmp(r->cluster, "all") ==
	    0 ? " class=\"all\"" : "");
	put_text(f, p->arm[r->arm].name);
	fputs("</th><td>", f);
	put_text(f, r->cluster);
	fputs("</td>", f);
	for (int k = 0; k < PAGE_COLUMNS; k++)
		if (has[k])
			put_value(f, (enum page_column)k, r->value[k]);
	fputs("</tr>\n", f);
}

static void
put_figures(FILE *f, const struct page *p)
{
	bool has[PAGE_COLUMNS] = { false };
	size_t shown = 0, left = 0, of_arm = 0;

	if (p->rows == 0)
		return;
	find_columns(p, has);
	put_figures_head(f, has);
	for (size_t i = 0; i < p->rows; i++) {
		if (is_left_out(p, i, &of_arm) || shown == PAGE_ROWS) {
			left++;
			continue;
		}
		shown++;
		put_row(f, p, &p->row[i], has);
	}
	fputs("</tbody></table></div>\n", f);
	if (left > 0)
		fprintf(f, "<p>%zu more rows are not shown.</p>\n", left);
}

static void
put_counters_head(FILE *f, const struct page *p, const bool *has)
{
	fputs("<h2>Counters</h2>\n<div class=\"scroll\"><table "
	    "id=\"counters\">\n<caption>Counters of the reports, without those "
	    "that are 0.</caption>\n<thead><tr><th scope=\"col\">counter</th>",
	    f);
	for (size_t a = 0; a < p->arms; a++) {
		if (!has[a])
			continue;
		fputs("<th scope=\"col\">", f);
		put_text(f, p->arm[a].name);
		fputs("</th>", f);
	}
	fputs("</tr></thead>\n<tbody>\n", f);
}

/* Write a counter as a row, with a field for each arm that has counters. */
static void
put_counter(FILE *f, const struct page_counter *c, size_t arms,
    const bool *has)
{
	fputs("<tr><th scope=\"row\">", f);
	put_text(f, c->name);
	fputs("</th>", f);
	for (size_t a = 0; a < arms; a++) {
		if (has[a] && a < c->arms && !isnan(c->value[a]))
			fprintf(f, "<td>%.15g</td>", c->value[a]);
		else if (has[a])
			fputs("<td>0</td>", f);
	}
	fputs("</tr>\n", f);
}

static void
put_counters(FILE *f, const struct page *p)
{
	bool *has = calloc(p->arms + 1, sizeof(*has));

	if (has == NULL)
		err(1, "no memory for %zu arms", p->arms);
	for (size_t i = 0; i < p->counters; i++)
		for (size_t a = 0; a < p->counter[i].arms; a++)
			has[a] |= !isnan(p->counter[i].value[a]);
	if (p->counters > 0) {
		put_counters_head(f, p, has);
		for (size_t i = 0; i < p->counters; i++)
			put_counter(f, &p->counter[i], p->arms, has);
		fputs("</tbody></table></div>\n", f);
	}
	if (p->more_counters > 0)
		fprintf(f, "<p>%zu more counters are not shown.</p>\n",
		    p->more_counters);
	free(has);
}

static void
put_files(FILE *f, const struct page *p)
{
	fputs("<p class=\"faint\">From ", f);
	for (size_t i = 0; i < p->paths && i < PAGE_CLUSTERS; i++) {
		const char *slash = strrchr(p->path[i], '/');

		fputs(i == 0 ? "" : ", ", f);
		put_text(f, slash != NULL ? slash + 1 : p->path[i]);
	}
	if (p->paths > PAGE_CLUSTERS)
		fprintf(f, " and %zu more files", p->paths - PAGE_CLUSTERS);
	fputs(".</p>\n", f);
}

static void
put_page(struct writer *w, struct page *p)
{
	figure_title(&p->age);
	fputs(head, w->f);
	fputs("<title>", w->f);
	put_text(w->f, p->age.title != NULL ? p->age.title : "innet");
	fputs("</title>\n", w->f);
	fputs(style, w->f);
	fputs("</head>\n<body>\n<main>\n<h1>", w->f);
	put_text(w->f, p->age.title != NULL ? p->age.title :
	    "What was measured");
	fputs("</h1>\n", w->f);
	put_files(w->f, p);
	put_pictures(w, p);
	put_figures(w->f, p);
	put_counters(w->f, p);
	fputs("</main>\n</body>\n</html>\n", w->f);
}

int
page_write(struct page *p, const char *path)
{
	struct atomic_file a;
	struct writer w = { .p = p };
	int rc = 1;

	for (size_t i = 0; i < p->arms; i++) {
		if (p->arm[i].rewards.n == 0)
			continue;
		p->arm[i].rewards.name = p->arm[i].name;
		group_draw(&p->rewards, &p->arm[i].rewards);
	}
	page_sort(p);
	if (atomic_file_open(&a, path) == -1 ||
	    (w.f = atomic_file_stream(&a)) == NULL) {
		warn("%s", path);
		return 1;
	}
	put_page(&w, p);
	if (fclose(w.f) == 0)
		rc = 0;
	else
		warn("%s", path);
	if (atomic_file_close(&a, rc == 0) == -1 && rc == 0) {
		warn("%s", path);
		rc = 1;
	}
	return rc | w.rc;
}

void
page_free(struct page *p)
{
	struct figure *const all[] = { &p->age, &p->cdf, &p->merged,
	    &p->rewards };

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		figure_free(all[i]);
	for (size_t i = 0; i < p->arms; i++)
		free(p->arm[i].name);
	for (size_t i = 0; i < p->rows; i++)
		free(p->row[i].cluster);
	for (size_t i = 0; i < p->counters; i++) {
		free(p->counter[i].name);
		free(p->counter[i].value);
	}
	free(p->arm);
	free(p->row);
	free(p->counter);
}
