/*
 * figures.h - rows of named figures, as a table, as JSON or as CSV
 *
 * A row has a cell for each column.  JSON and CSV are printed at once; a table
 * is kept until sheet_done(), which knows how wide it is and in which unit its
 * times are best read, unless it may be long: then it is printed at once, with
 * times in microseconds.  What is not known is "-", null or empty.
 */
#ifndef INNET_AOM_FIGURES_H
#define INNET_AOM_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/base/columns.h"

enum sheet_unit { SHEET_TEXT, SHEET_COUNT, SHEET_NS, SHEET_REAL };
enum sheet_print { SHEET_TABLE, SHEET_JSON, SHEET_CSV };

enum { SHEET_TEXT_BYTES = 64 };

struct sheet_column {
	const char *key;	/* in JSON and CSV */
	const char *title;	/* in a table; NULL: only if asked for */
	enum sheet_unit unit;
	int figure;		/* for who makes the rows */
};

struct sheet_cell {
	bool known;
	bool quoted;		/* a text that JSON has in quotes */
	uint64_t whole;		/* COUNT and NS */
	double real;
	char text[SHEET_TEXT_BYTES];
};

struct sheet {
	const struct sheet_column *column;	/* the last has no key */
	int n;
	enum sheet_print print;
	bool at_once;		/* a table, too */
	bool chosen;		/* shows is of --columns */
	struct columns_choice shows;
	struct sheet_cell *row;	/* kept ones, n each; owned */
	size_t rows, room;
	size_t printed;
};

/* Begin one; list: of columns, or NULL.  NULL, or what is wrong with it. */
const char *sheet_init(struct sheet *s, const struct sheet_column *column,
    enum sheet_print print, bool at_once, const char *list);

/* Print, or keep, a row of s->n cells. */
void sheet_row(struct sheet *s, const struct sheet_cell *cell);

/* Print what was kept, and give it back. */
void sheet_done(struct sheet *s);

/* Cells. */
static inline struct sheet_cell
sheet_count(uint64_t v)
{
	return (struct sheet_cell){ .known = true, .whole = v };
}

static inline struct sheet_cell
sheet_real(double v)
{
	return (struct sheet_cell){ .known = true, .real = v };
}

static inline struct sheet_cell
sheet_text(const char *s, bool quoted)
{
	struct sheet_cell c = { .known = true, .quoted = quoted };

	snprintf(c.text, sizeof(c.text), "%s", s);
	return c;
}

#endif
