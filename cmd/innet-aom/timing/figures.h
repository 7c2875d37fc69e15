/*
 * figures.h - print rows of named figures as a table, as JSON or as CSV
 *
 * A row has a cell for each column.  JSON and CSV are printed at once; a table
 * is kept until figures_close(), which knows its width and the best unit of
 * its times.  With at_once, a table that may be long is printed row by row,
 * with times in microseconds.  An unknown figure is "-", null or empty.
 */
#ifndef INNET_AOM_FIGURES_H
#define INNET_AOM_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/base/columns.h"

enum figures_unit { FIGURES_TEXT, FIGURES_COUNT, FIGURES_NS, FIGURES_REAL };
enum figures_form { FIGURES_TABLE, FIGURES_JSON, FIGURES_CSV };

enum { FIGURES_TEXT_BYTES = 64 };

struct figures_column {
	const char *key;	/* in JSON and CSV */
	const char *title;	/* in a table; NULL: with --columns only */
	enum figures_unit unit;
	int figure;		/* for the caller */
};

struct figures_cell {
	bool known;
	bool quoted;		/* JSON has the text in quotes */
	uint64_t whole;		/* COUNT and NS */
	double real;
	char text[FIGURES_TEXT_BYTES];
};

struct figures {
	const struct figures_column *column;	/* the last has no key */
	int n;
	enum figures_form form;
	bool at_once;		/* print a table row by row, too */
	bool chosen;		/* --columns chose the columns */
	struct columns_choice shows;
	struct figures_cell *row; /* rows that are kept, n cells each; owned */
	size_t rows, room;
	size_t printed;
};

/* Begin; list chooses columns unless it is NULL.  Return NULL or its error. */
const char *figures_open(struct figures *s, const struct figures_column *column,
    enum figures_form form, bool at_once, const char *list);

/* Print or keep a row of s->n cells. */
void figures_add_row(struct figures *s, const struct figures_cell *cell);

/* Print the rows that were kept and free them. */
void figures_close(struct figures *s);

/* Return a cell with a count or a time, a real number, or a text. */
static inline struct figures_cell
figures_count(uint64_t v)
{
	return (struct figures_cell){ .known = true, .whole = v };
}

static inline struct figures_cell
figures_real(double v)
{
	return (struct figures_cell){ .known = true, .real = v };
}

static inline struct figures_cell
figures_text(const char *s, bool quoted)
{
	struct figures_cell c = { .known = true, .quoted = quoted };

	snprintf(c.text, sizeof(c.text), "%s", s);
	return c;
}

#endif
