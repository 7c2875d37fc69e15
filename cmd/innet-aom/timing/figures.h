/*
 * figures.h - print rows of named figures as a table, as JSON or as CSV
 *
 * A row has a cell for each column.  JSON and CSV are printed immediately.  A
 * table is kept until figures_close(), because its column widths and the best
 * unit of its times are known only then.  With at_once, a table that may be
 * long is printed row by row, with times in microseconds.  An unknown figure is
 * printed as "-", null or an empty cell.
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
	const char *key;	/* name in JSON and CSV */
	const char *title;	/* heading in a table; NULL: the column is shown
				 * only with --columns */
	enum figures_unit unit;
	int figure;		/* for the caller's use */
};

struct figures_cell {
	bool known;
	bool quoted;		/* the text is printed in quotes in JSON */
	uint64_t whole;		/* value of units COUNT and NS */
	double real;
	char text[FIGURES_TEXT_BYTES];
};

struct figures {
	const struct figures_column *column;	/* the last column has no key */
	int n;
	enum figures_form form;
	bool at_once;		/* print each row immediately, even in a
				 * table */
	bool chosen;		/* --columns chose the columns */
	struct columns_choice shows;
	struct figures_cell *row; /* rows that are kept, n cells each; owned */
	size_t rows, room;
	size_t printed;
};

/*
 * Begin to print rows.  If `list` is not NULL, it chooses the columns.  Return
 * NULL, or a description of the error in `list`.
 */
const char *figures_open(struct figures *s, const struct figures_column *column,
    enum figures_form form, bool at_once, const char *list);

/* Print or keep a row of s->n cells. */
void figures_add_row(struct figures *s, const struct figures_cell *cell);

/* Print the rows that were kept, and free them. */
void figures_close(struct figures *s);

/*
 * These functions return a cell: a count or a time, a real number, or a text.
 */
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
