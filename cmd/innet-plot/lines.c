/*
 * lines.c - draw columns of a table as curves, with another column as the
 * horizontal axis
 *
 * innet-sim writes a column `runs`.  There is one curve for each combination of
 * values in the columns to the left of `runs` and in the columns that contain
 * words.  If the name of a column is the name of another column with the suffix
 * "_ci95" or "_sd", the column contains the lengths of the other column's error
 * bars.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/innet-plot/plot.h"
#include "cmd/innet-plot/csv-table.h"
#include "common/base/message.h"
#include "common/base/nearest.h"
#include "common/base/num.h"

struct sheet {
	const char *path;
	char (*cell)[TABLE_FIELD_BYTES]; /* fields, row by row; the first row
					  * has the names */
	size_t rows;
	int wide;
	int x;
	int error[TABLE_COLUMNS];	/* index of the column with the error
					 * bars of this column, or -1 */
	bool key[TABLE_COLUMNS];	/* the column distinguishes curves */
	bool varies[TABLE_COLUMNS];	/* the column has several values in this
					 * file */
};

static const char *
cell_text(const struct sheet *s, size_t row, int k)
{
	return s->cell[row * (size_t)s->wide + (size_t)k];
}

static void
sheet_row(const struct table *t, void *arg)
{
	struct sheet *s = arg;
	const size_t bytes = (size_t)t->wide * TABLE_FIELD_BYTES;

	s->wide = t->wide;
	s->cell = realloc(s->cell, (s->rows + 1) * bytes);
	if (s->cell == NULL)
		err(1, "%s: no memory for %zu rows", t->path, s->rows);
	memcpy(s->cell[s->rows++ * (size_t)t->wide], t->field, bytes);
}

/* Read a number with an optional unit, in bit/s, seconds or bytes. */
static bool
read_number(const char *text, double *v)
{
	static const struct { const char *name; double one; } unit[] = {
		{ "", 1 }, { "ns", 1e-9 }, { "us", 1e-6 }, { "ms", 1e-3 },
		{ "s", 1 }, { "min", 60 }, { "h", 3600 }, { "k", 1e3 },
		{ "M", 1e6 }, { "G", 1e9 }, { "T", 1e12 }, { "B", 1 },
		{ "kB", 1e3 }, { "MB", 1e6 }, { "GB", 1e9 }, { "%", 0.01 },
		{ "bit", 1 }, { "kbit", 1e3 }, { "Mbit", 1e6 },
		{ "Gbit", 1e9 }
	};
	const size_t n = strspn(text, "0123456789.+-eE");
	char digits[TABLE_FIELD_BYTES];

	memcpy(digits, text, n);
	digits[n] = '\0';
	if (num_real(digits, -HUGE_VAL, HUGE_VAL, v) != NULL)
		return false;
	for (size_t i = 0; i < sizeof(unit) / sizeof(*unit); i++) {
		if (strcmp(text + n, unit[i].name) == 0) {
			*v *= unit[i].one;
			return true;
		}
	}
	return false;
}

/* Return the column with this name, or the column whose path ends with it. */
static int
find_column(const struct sheet *s, const char *name)
{
	int found = -1;

	for (int k = 0; k < s->wide; k++) {
		const char *dot = strrchr(cell_text(s, 0, k), '.');

		if (strcmp(cell_text(s, 0, k), name) == 0)
			return k;
		if (dot == NULL || strcmp(dot + 1, name) != 0)
			continue;
		if (found != -1)
			errx(2, "%s: '%s' and '%s' both end with %s; give the "
			    "whole name of one",
			    s->path, cell_text(s, 0, found),
			    cell_text(s, 0, k), name);
		found = k;
	}
	if (found == -1) {
		struct nearest near = { 0 };
		char hint[NEAREST_TEXT];

		for (int k = 0; k < s->wide; k++)
			nearest_offer(&near, name, cell_text(s, 0, k));
		errx(2, "%s: there is no column '%s'%s", s->path, name,
		    nearest_hint(&near, name, "", hint));
	}
	return found;
}

/*
 * If column k contains the error bars of another column, return that column;
 * otherwise return -1.
 */
static int
find_errors(const struct sheet *s, int k)
{
	static const char *const behind[] = { "_ci95", "_sd" };
	const char *name = cell_text(s, 0, k);

	for (int b = 0; b < 2; b++) {
		const size_t n = strlen(name), end = strlen(behind[b]);

		if (n <= end || strcmp(name + n - end, behind[b]) != 0)
			continue;
		for (int of = 0; of < s->wide; of++) {
			if (strlen(cell_text(s, 0, of)) == n - end && memcmp(
			    cell_text(s, 0, of), name, n - end) == 0)
				return of;
		}
	}
	return -1;
}

/* Does the column have a field that is not a number? */
static bool
has_words(const struct sheet *s, int k)
{
	double v;

	for (size_t row = 1; row < s->rows; row++) {
		if (cell_text(s, row, k)[0] != '\0' &&
		    !read_number(cell_text(s, row, k), &v))
			return true;
	}
	return false;
}

static void
classify_columns(struct sheet *s, const struct figure *fig)
{
	int runs = -1;

	s->x = find_column(s, fig->over);
	for (int k = 0; k < s->wide; k++) {
		s->error[k] = -1;
		if (strcmp(cell_text(s, 0, k), "runs") == 0)
			runs = k;
	}
	for (int k = 0; k < s->wide; k++) {
		const int of = find_errors(s, k);

		if (of != -1)
			s->error[of] = k;
		s->key[k] = k != s->x && of == -1 && k != runs && (k < runs ||
		    has_words(s, k));
		for (size_t row = 2; row < s->rows && s->key[k]; row++)
			s->varies[k] |= strcmp(cell_text(s, row, k),
					    cell_text(s, 1, k)) != 0;
	}
}

/* Find the columns to draw, at most two, and return their number. */
static int
choose_columns(const struct sheet *s, const struct figure *fig, int y[PANELS])
{
	int n = 0;

	for (const char *p = fig->columns; p != NULL && *p != '\0';) {
		char name[TABLE_FIELD_BYTES];
		const size_t len = strcspn(p, ",");

		if (n == PANELS || len >= sizeof(name))
			errx(2, "--columns: more than %d columns", PANELS);
		memcpy(name, p, len);
		name[len] = '\0';
		y[n] = find_column(s, name);
		if (s->key[y[n]] || y[n] == s->x)
			errx(2, "%s: column '%s' has no numbers to draw",
			    s->path, name);
		n++;
		p += len + (p[len] == ',');
	}
	for (int k = 0; k < s->wide && fig->columns == NULL; k++) {
		if (k == s->x || s->key[k] || find_errors(s, k) != -1 ||
		    strcmp(cell_text(s, 0, k), "runs") == 0)
			continue;
		if (n == PANELS)
			errx(2, "%s: more than %d columns have numbers; choose "
			    "some with --columns", s->path, PANELS);
		y[n++] = k;
	}
	if (n == 0)
		errx(1, "%s: no column has numbers to draw", s->path);
	return n;
}

/* Write the values that distinguish a curve from the others into its name. */
static void
make_label(const struct sheet *s, size_t row, const char *name, char *to,
    size_t room)
{
	size_t n = 0;

	to[0] = '\0';
	for (int k = 0; k < s->wide; k++) {
		if (s->varies[k] && n < room)
			n += (size_t)snprintf(to + n, room - n, "%s%s",
			    n == 0 ? "" : " ", cell_text(s, row, k));
	}
	if (name != NULL && n < room)
		snprintf(to + n, room - n, "%s%s", n == 0 ? "" : ", ", name);
}

static struct curve *
find_curve(struct figure *fig, int panel, const char *label)
{
	struct curve *c;

	for (size_t i = 0; i < fig->n; i++) {
		if (fig->curve[i].panel == panel && strcmp(
		    fig->curve[i].label, label) == 0)
			return &fig->curve[i];
	}
	c = figure_add(fig, label);
	c->panel = panel;
	return c;
}

/* Return the x of a value: the number itself, or the position of a word. */
static double
find_tick(struct figure *fig, const char *word, bool words)
{
	size_t i = 0;
	double x;

	while (i < fig->ticks && strcmp(fig->tick[i], word) != 0)
		i++;
	if (i < fig->ticks)
		return fig->tick_at[i];
	if (words || !read_number(word, &x))
		x = (double)i;
	fig->tick = realloc(fig->tick, (i + 1) * sizeof(*fig->tick));
	fig->tick_at = realloc(fig->tick_at, (i + 1) * sizeof(double));
	if (fig->tick == NULL || fig->tick_at == NULL ||
	    (fig->tick[i] = strdup(word)) == NULL)
		err(1, "no memory for %zu labels", i);
	fig->tick_at[fig->ticks++] = x;
	return x;
}

/* Return the number in a cell; exit with status 1 if it is not a number. */
static double
cell_number(const struct sheet *s, size_t row, int k)
{
	double v;

	if (!read_number(cell_text(s, row, k), &v))
		errx(1, "%s:%zu: %s '%s' is not a number", s->path, row + 1,
		    cell_text(s, 0, k), cell_text(s, row, k));
	return v;
}

static void
add_point(const struct sheet *s, struct curve *c, size_t row, double x, int k)
{
	const double y = cell_number(s, row, k), by = s->error[k] == -1 ||
	    cell_text(s, row, s->error[k])[0] == '\0' ? 0 :
	    cell_number(s, row, s->error[k]);

	if (s->error[k] != -1) {
		c->band = realloc(c->band, (c->n + 1) * sizeof(*c->band));
		if (c->band == NULL)
			err(1, "no memory for %zu points", c->n);
		c->band[c->n][0] = y - by;
		c->band[c->n][1] = y + by;
	}
	curve_point(c, x, y);
}

void
add_lines(struct figure *fig, const char *path, const char *name)
{
	struct sheet s = { .path = path };
	struct table t = { .path = path, .row = sheet_row, .arg = &s };
	int y[PANELS];
	bool words;

	table_each(&t);
	classify_columns(&s, fig);
	fig->panels = choose_columns(&s, fig, y);
	words = has_words(&s, s.x);
	for (int p = 0; p < fig->panels; p++) {
		free(fig->panel[p]);
		fig->panel[p] = strdup(cell_text(&s, 0, y[p]));
		if (fig->panel[p] == NULL)
			err(1, "no memory for labels");
	}
	for (size_t row = 1; row < s.rows; row++) {
		const double x = find_tick(fig, cell_text(&s, row, s.x), words);
		char label[256];

		make_label(&s, row, name, label, sizeof(label));
		for (int p = 0; p < fig->panels; p++) {
			if (cell_text(&s, row, y[p])[0] != '\0')
				add_point(&s, find_curve(fig, p, label), row, x,
				    y[p]);
		}
	}
	free(s.cell);
}
