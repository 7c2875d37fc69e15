/* figures.c - print rows of named figures */
#include "common/base/message.h"

#include "cmd/innet-aom/timing/figures.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { CELL_BYTES = 80 };

/* The unit of all times in a table, so that columns can be compared. */
struct scale {
	const char *name;
	double ns;
};

static const char *
key_of(int k, const void *arg)
{
	const struct figures_column *column = arg;

	return column[k].key;
}

const char *
figures_open(struct figures *s, const struct figures_column *column,
    enum figures_form form, bool at_once, const char *list)
{
	*s = (struct figures){ .column = column, .form = form,
	    .at_once = at_once, .chosen = list != NULL };
	while (column[s->n].key != NULL)
		s->n++;
	if (list != NULL)
		return columns_choose(&s->shows, list, s->n, key_of, column);
	for (int k = 0; k < s->n; k++)
		if (form != FIGURES_TABLE || column[k].title != NULL)
			s->shows.column[s->shows.n++] = k;
	return NULL;
}

/* Print a cell in a form that programs can read, with all digits of numbers. */
static void
put_cell(const struct figures_cell *c, enum figures_unit unit, bool json)
{
	if (!c->known)
		fputs(json ? "null" : "", stdout);
	else if (unit == FIGURES_TEXT)
		printf(json && c->quoted ? "\"%s\"" : "%s", c->text);
	else if (unit == FIGURES_REAL)
		printf("%.6g", c->real);
	else
		printf("%" PRIu64, c->whole);
}

static void
put_row(const struct figures *s, const struct figures_cell *cell)
{
	const bool json = s->form == FIGURES_JSON;

	for (int i = 0; i < s->shows.n; i++) {
		const int k = s->shows.column[i];

		if (json)
			printf("%s\"%s\":", i == 0 ? "{" : ",",
			    s->column[k].key);
		else if (i > 0)
			putchar(',');
		put_cell(&cell[k], s->column[k].unit, json);
	}
	puts(json ? "}" : "");
}

static void
put_keys(const struct figures *s)
{
	for (int i = 0; i < s->shows.n; i++)
		printf("%s%s", i == 0 ? "" : ",",
		    s->column[s->shows.column[i]].key);
	putchar('\n');
}

/* Write a cell to `to` in a form that is easy to read, and return the text. */
static const char *
cell_text(char to[CELL_BYTES], const struct figures_cell *c,
    enum figures_unit unit, struct scale scale)
{
	if (!c->known)
		snprintf(to, CELL_BYTES, "-");
	else if (unit == FIGURES_TEXT)
		snprintf(to, CELL_BYTES, "%s", c->text);
	else if (unit == FIGURES_REAL)
		snprintf(to, CELL_BYTES, "%.4g", c->real);
	else if (unit == FIGURES_NS && scale.ns > 1)
		snprintf(to, CELL_BYTES, "%.6g", (double)c->whole / scale.ns);
	else
		snprintf(to, CELL_BYTES, "%" PRIu64, c->whole);
	return to;
}

static const char *
title_text(char to[CELL_BYTES], const struct figures_column *c,
    struct scale scale)
{
	const char *title = c->title != NULL ? c->title : c->key;

	snprintf(to, CELL_BYTES, c->unit == FIGURES_NS ? "%s %s" : "%s", title,
	    scale.name);
	return to;
}

/* Print a row of a table immediately, in columns of fixed width. */
static void
put_line(struct figures *s, const struct figures_cell *cell)
{
	const struct scale us = { "us", 1e3 };
	char text[CELL_BYTES];

	for (int i = 0; i < s->shows.n && s->printed == 0; i++)
		printf("%s%11s", i == 0 ? "" : "  ", title_text(text,
		    &s->column[s->shows.column[i]], us));
	if (s->printed++ == 0)
		putchar('\n');
	for (int i = 0; i < s->shows.n; i++) {
		const int k = s->shows.column[i];

		printf("%s%11s", i == 0 ? "" : "  ", cell_text(text,
		    &cell[k], s->column[k].unit, us));
	}
	putchar('\n');
}

static void
keep_row(struct figures *s, const struct figures_cell *cell)
{
	if (s->rows == s->room) {
		s->room = s->room == 0 ? 16 : 2 * s->room;
		s->row = realloc(s->row, s->room * (size_t)s->n *
		    sizeof(*s->row));
		if (s->row == NULL)
			err(1, "no memory for %zu rows", s->room);
	}
	memcpy(s->row + s->rows++ * (size_t)s->n, cell, (size_t)s->n *
	    sizeof(*s->row));
}

void
figures_add_row(struct figures *s, const struct figures_cell *cell)
{
	if (s->form == FIGURES_TABLE && !s->at_once) {
		keep_row(s, cell);
	} else if (s->form == FIGURES_TABLE) {
		put_line(s, cell);
	} else {
		if (s->form == FIGURES_CSV && s->printed++ == 0)
			put_keys(s);
		put_row(s, cell);
	}
}

/* Return the unit that suits the largest time that is shown. */
static struct scale
find_scale(const struct figures *s)
{
	uint64_t most = 0;

	for (size_t r = 0; r < s->rows; r++) {
		for (int i = 0; i < s->shows.n; i++) {
			const int k = s->shows.column[i];
			const struct figures_cell *c = &s->row[r *
			    (size_t)s->n + (size_t)k];

			if (s->column[k].unit == FIGURES_NS && c->known &&
			    c->whole > most)
				most = c->whole;
		}
	}
	return most < 100000 ? (struct scale){ "ns", 1 } :
	    most < 100000000 ? (struct scale){ "us", 1e3 } :
	    most < 100000000000 ? (struct scale){ "ms", 1e6 } :
	    (struct scale){ "s", 1e9 };
}

/*
 * Return whether a column of a table is shown.  A column is shown if the user
 * chose the columns, or if at least one row has a value in it.
 */
static bool
is_column_shown(const struct figures *s, int k)
{
	for (size_t r = 0; r < s->rows; r++)
		if (s->row[r * (size_t)s->n + (size_t)k].known)
			return true;
	return s->chosen;
}

static void
put_table(const struct figures *s)
{
	const struct scale scale = find_scale(s);
	struct columns t = { .n = 0 };
	char text[CELL_BYTES];

	for (int i = 0; i < s->shows.n; i++) {
		const int k = s->shows.column[i];

		if (!is_column_shown(s, k))
			continue;
		if (s->column[k].unit == FIGURES_TEXT)
			t.left |= (uint64_t)1 << t.n;
		columns_add(&t, "%s", title_text(text, &s->column[k], scale));
		t.n++;
	}
	for (size_t r = 0; r < s->rows; r++) {
		for (int i = 0; i < s->shows.n; i++) {
			const int k = s->shows.column[i];

			if (is_column_shown(s, k))
				columns_add(&t, "%s", cell_text(text,
				    &s->row[r * (size_t)s->n + (size_t)k],
				    s->column[k].unit, scale));
		}
	}
	if (t.n > 0)
		columns_print(&t, stdout);
	columns_free(&t);
}

void
figures_close(struct figures *s)
{
	if (s->form == FIGURES_CSV && s->printed == 0)
		put_keys(s);
	if (s->rows > 0)
		put_table(s);
	free(s->row);
	s->row = NULL;
}
